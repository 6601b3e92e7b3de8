//! Row workloads: 16,384 rows of 1 KiB out of 64 MiB, and 2^18 rows of 128 bytes out of 128 MiB.

use half::f16;
use pto_exec::host::{Engine, View, ViewMut};
use pto_isa::{Atomic, Element, OutOfBounds};

use crate::data::{small, uniform};
use crate::measure::{Case, digest};
use crate::plain::{self, Value};
use crate::{Array, Error};

/// What is done with rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Gather,
    Scatter,
    Add,
}

pub(crate) struct Rows<T> {
    table: Array<T>,
    payload: Array<T>,
    indices: Array<i32>,
    cols: usize,
    operation: Operation,
}

/// f32, 65,536 x 256, 16,384 rows.
pub(crate) fn dense(operation: Operation) -> Result<Rows<f32>, Error> {
    Rows::new((1 << 16, 256), 1 << 14, |value| value, operation)
}

/// f16, 2^20 x 64, 2^18 rows.
pub(crate) fn embedding(operation: Operation) -> Result<Rows<f16>, Error> {
    Rows::new((1 << 20, 64), 1 << 18, f16::from_f32, operation)
}

impl<T: Value> Rows<T> {
    fn new(
        (rows, cols): (usize, usize),
        lanes: usize,
        convert: fn(f32) -> T,
        operation: Operation,
    ) -> Result<Self, Error> {
        Ok(Self {
            table: Array::from_values(rows * cols, small(2).map(convert))?,
            payload: Array::from_values(lanes * cols, small(3).map(convert))?,
            indices: Array::from_values(lanes, uniform(1, rows as u64).map(|x| x as i32))?,
            cols,
            operation,
        })
    }
}

impl<T: Value + Element> Case for Rows<T> {
    fn elements(&self) -> usize {
        self.payload.len()
    }

    fn payload_bytes(&self) -> usize {
        self.payload.len() * size_of::<T>()
    }

    fn table_bytes(&self) -> usize {
        self.table.len() * size_of::<T>()
    }

    fn run(&mut self, engine: &Engine) -> Result<(), Error> {
        let (rows, lanes, cols) = (self.table.len() / self.cols, self.indices.len(), self.cols);
        let (indices, oob) = (&*self.indices, OutOfBounds::Undefined);
        match self.operation {
            Operation::Gather => {
                let table = View::new(&self.table, rows, cols)?;
                engine.gather_rows(ViewMut::new(&mut self.payload, lanes, cols)?, table, indices, oob)?;
            }
            Operation::Scatter | Operation::Add => {
                let atomic = if self.operation == Operation::Add { Atomic::Add } else { Atomic::None };
                let source = View::new(&self.payload, lanes, cols)?;
                engine.scatter_rows(ViewMut::new(&mut self.table, rows, cols)?, source, indices, atomic, oob)?;
            }
        }
        Ok(())
    }

    fn plain(&mut self) {
        let Self { table, payload, indices, cols, operation } = self;
        match operation {
            Operation::Gather => plain::gather_rows(payload, table, *cols, indices),
            Operation::Scatter => plain::scatter_rows(table, payload, *cols, indices, Atomic::None),
            Operation::Add => plain::scatter_rows(table, payload, *cols, indices, Atomic::Add),
        }
    }

    fn settle(&mut self) -> u64 {
        let written = if self.operation == Operation::Gather { &mut self.payload } else { &mut self.table };
        let sum = digest(bytemuck::cast_slice(written));
        written.fill(T::zeroed());
        sum
    }
}
