//! Elementwise workloads: 2^22 indices.

use bytemuck::Pod;
use pto_exec::host::{Engine, Index};
use pto_isa::{Atomic, Element, OutOfBounds};

use crate::data::{small, uniform, zipf};
use crate::measure::{Case, digest};
use crate::plain::{self, Value};
use crate::workload::Spread;
use crate::{Array, Error};

/// Indices of every elementwise workload.
const LANES: usize = 1 << 22;

/// `destination[i] = table[indices[i]]`.
pub(crate) struct Gather<I> {
    destination: Array<f32>,
    table: Array<f32>,
    indices: Array<I>,
    oob: OutOfBounds,
    /// What one would write instead.
    plain: fn(&mut [f32], &[f32], &[I]),
}

/// A gather from a table of `size` elements.
pub(crate) fn gather(size: usize) -> Result<Gather<i32>, Error> {
    let indices = uniform(1, size as u64).map(|x| x as i32);
    Gather::new(size, indices, OutOfBounds::Undefined, plain::gather)
}

/// A gather with indices modulo 1,000,003.
pub(crate) fn wrap() -> Result<Gather<u32>, Error> {
    let indices = uniform(1, 1 << 32).map(|x| x as u32);
    Gather::new(1_000_003, indices, OutOfBounds::Wrap, plain::gather_wrapped)
}

impl<I: Index> Gather<I> {
    fn new(
        size: usize,
        indices: impl Iterator<Item = I>,
        oob: OutOfBounds,
        plain: fn(&mut [f32], &[f32], &[I]),
    ) -> Result<Self, Error> {
        Ok(Self {
            destination: Array::zeroed(LANES)?,
            table: Array::from_values(size, small(2))?,
            indices: Array::from_values(LANES, indices)?,
            oob,
            plain,
        })
    }
}

impl<I: Index> Case for Gather<I> {
    fn elements(&self) -> usize {
        LANES
    }

    fn payload_bytes(&self) -> usize {
        LANES * 4
    }

    fn table_bytes(&self) -> usize {
        self.table.len() * 4
    }

    fn run(&mut self, engine: &Engine) -> Result<(), Error> {
        engine.gather(&mut *self.destination, &*self.table, &*self.indices, self.oob)?;
        Ok(())
    }

    fn plain(&mut self) {
        (self.plain)(&mut self.destination, &self.table, &self.indices);
    }

    fn settle(&mut self) -> u64 {
        let sum = digest(bytemuck::cast_slice(&self.destination));
        self.destination.fill(0.0);
        sum
    }
}

/// `table[indices[i]] = source[i]`, or combined.
pub(crate) struct Scatter<T> {
    table: Array<T>,
    source: Array<T>,
    indices: Array<i32>,
    atomic: Atomic,
    oob: OutOfBounds,
}

/// An f32 scatter into a table of `size` elements.
pub(crate) fn scatter(size: usize, atomic: Atomic, spread: Spread) -> Result<Scatter<f32>, Error> {
    let bound = size as u64;
    let indices: Box<dyn Iterator<Item = u64>> = match spread {
        Spread::Uniform => Box::new(uniform(1, bound)),
        Spread::Zipf => Box::new(zipf(1, bound, 1.1)),
        Spread::Same => Box::new(std::iter::repeat(bound / 3)),
    };
    Scatter::new(size, |value| value, indices, atomic, OutOfBounds::Undefined)
}

/// A sum of 16-bit floats into 2^18 elements.
pub(crate) fn half<T: Value>(narrow: fn(f32) -> T) -> Result<Scatter<T>, Error> {
    Scatter::new(1 << 18, narrow, uniform(1, 1 << 18), Atomic::Add, OutOfBounds::Undefined)
}

/// An f32 scatter of which half the indices are out of range.
pub(crate) fn skip_half() -> Result<Scatter<f32>, Error> {
    Scatter::new(1 << 20, |value| value, uniform(1, 1 << 21), Atomic::None, OutOfBounds::Skip)
}

impl<T: Pod> Scatter<T> {
    fn new(
        size: usize,
        convert: fn(f32) -> T,
        indices: impl Iterator<Item = u64>,
        atomic: Atomic,
        oob: OutOfBounds,
    ) -> Result<Self, Error> {
        Ok(Self {
            table: Array::zeroed(size)?,
            source: Array::from_values(LANES, small(3).map(convert))?,
            indices: Array::from_values(LANES, indices.map(|x| x as i32))?,
            atomic,
            oob,
        })
    }
}

impl<T: Value + Element> Case for Scatter<T> {
    fn elements(&self) -> usize {
        LANES
    }

    fn payload_bytes(&self) -> usize {
        LANES * size_of::<T>()
    }

    fn table_bytes(&self) -> usize {
        self.table.len() * size_of::<T>()
    }

    fn run(&mut self, engine: &Engine) -> Result<(), Error> {
        engine.scatter(&mut *self.table, &*self.source, &*self.indices, self.atomic, self.oob)?;
        Ok(())
    }

    fn plain(&mut self) {
        plain::scatter(&mut self.table, &self.source, &self.indices, self.atomic, self.oob);
    }

    fn settle(&mut self) -> u64 {
        let sum = digest(bytemuck::cast_slice(&self.table));
        self.table.fill(T::zeroed());
        sum
    }
}
