//! The list of workloads. Their names are a contract.

use pto_isa::{Atomic, MaskPattern};

use crate::measure::Case;
use crate::{Error, element, row, sim, tile};

/// One thing to measure.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// Its name.
    pub name: &'static str,
    kind: Kind,
}

/// Which indices an elementwise workload has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spread {
    Uniform,
    Zipf,
    Same,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Gather { log2: u32 },
    Scatter { log2: u32, atomic: Atomic, spread: Spread },
    Half { brain: bool },
    Wrap,
    Skip,
    Rows { operation: row::Operation, embedding: bool },
    Mask(MaskPattern),
    TileElements,
    TileRows,
    SimElements { sanitize: bool },
    SimRows { sanitize: bool },
}

impl Workload {
    /// Makes the data.
    pub(crate) fn prepare(&self) -> Result<Box<dyn Case>, Error> {
        Ok(match self.kind {
            Kind::Gather { log2 } => Box::new(element::gather(1 << log2)?),
            Kind::Scatter { log2, atomic, spread } => Box::new(element::scatter(1 << log2, atomic, spread)?),
            Kind::Half { brain: false } => Box::new(element::half::<half::f16>(half::f16::from_f32)?),
            Kind::Half { brain: true } => Box::new(element::half::<half::bf16>(half::bf16::from_f32)?),
            Kind::Wrap => Box::new(element::wrap()?),
            Kind::Skip => Box::new(element::skip_half()?),
            Kind::Rows { operation, embedding: false } => Box::new(row::dense(operation)?),
            Kind::Rows { operation, embedding: true } => Box::new(row::embedding(operation)?),
            Kind::Mask(pattern) => Box::new(tile::Mask::new(pattern)?),
            Kind::TileElements => Box::new(tile::Elements::new()?),
            Kind::TileRows => Box::new(tile::Rows::new()?),
            Kind::SimElements { sanitize } => Box::new(sim::Scatter::elements(sanitize)?),
            Kind::SimRows { sanitize } => Box::new(sim::Scatter::rows(sanitize)?),
        })
    }
}

macro_rules! sizes {
    ($($name:literal, $size:ident => $kind:expr;)*) => {
        &[
            $(sizes!(@ $name, "_2k", 11, $size, $kind),
            sizes!(@ $name, "_1mb", 18, $size, $kind),
            sizes!(@ $name, "_4mb", 20, $size, $kind),
            sizes!(@ $name, "_64mb", 24, $size, $kind),
            sizes!(@ $name, "_256mb", 26, $size, $kind),)*
        ]
    };
    (@ $name:literal, $suffix:literal, $log2:literal, $size:ident, $kind:expr) => {
        Workload { name: concat!($name, $suffix), kind: { let $size = $log2; $kind } }
    };
}

const SIZED: &[Workload] = sizes! {
    "elem_gather", log2 => Kind::Gather { log2 };
    "elem_scatter", log2 => Kind::Scatter { log2, atomic: Atomic::None, spread: Spread::Uniform };
    "elem_add", log2 => Kind::Scatter { log2, atomic: Atomic::Add, spread: Spread::Uniform };
    "elem_max", log2 => Kind::Scatter { log2, atomic: Atomic::Max, spread: Spread::Uniform };
};

const fn named(name: &'static str, kind: Kind) -> Workload {
    Workload { name, kind }
}

const fn rows(name: &'static str, operation: row::Operation, embedding: bool) -> Workload {
    named(name, Kind::Rows { operation, embedding })
}

const OTHERS: &[Workload] = &[
    named("elem_add_f16_1mb", Kind::Half { brain: false }),
    named("elem_add_bf16_1mb", Kind::Half { brain: true }),
    named("elem_add_zipf_64mb", Kind::Scatter { log2: 24, atomic: Atomic::Add, spread: Spread::Zipf }),
    named("elem_add_same_64mb", Kind::Scatter { log2: 24, atomic: Atomic::Add, spread: Spread::Same }),
    named("elem_wrap_prime_4mb", Kind::Wrap),
    named("elem_skip_half_4mb", Kind::Skip),
    rows("row_gather", row::Operation::Gather, false),
    rows("row_scatter", row::Operation::Scatter, false),
    rows("row_add", row::Operation::Add, false),
    rows("row_gather_emb", row::Operation::Gather, true),
    rows("row_scatter_emb", row::Operation::Scatter, true),
    rows("row_add_emb", row::Operation::Add, true),
    named("mask_p0101", Kind::Mask(MaskPattern::P0101)),
    named("mask_p1000", Kind::Mask(MaskPattern::P1000)),
    named("tile_elem_1m", Kind::TileElements),
    named("tile_row_64k", Kind::TileRows),
    named("sim_elem_1m", Kind::SimElements { sanitize: true }),
    named("sim_elem_1m_unsanitized", Kind::SimElements { sanitize: false }),
    named("sim_row_4k", Kind::SimRows { sanitize: true }),
    named("sim_row_4k_unsanitized", Kind::SimRows { sanitize: false }),
];

/// All workloads, in the order in which they are reported.
pub fn workloads() -> impl Iterator<Item = &'static Workload> {
    SIZED.iter().chain(OTHERS)
}

/// The workload of a name.
pub fn find(name: &str) -> Option<&'static Workload> {
    workloads().find(|workload| workload.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_contract() {
        let names: Vec<_> = workloads().map(|w| w.name).collect();
        assert_eq!(names.len(), 40);
        for family in ["elem_gather", "elem_scatter", "elem_add", "elem_max"] {
            for size in ["2k", "1mb", "4mb", "64mb", "256mb"] {
                assert!(find(&format!("{family}_{size}")).is_some());
            }
        }
        assert!(find("row_add_emb").is_some() && find("nonsense").is_none());
    }
}
