//! What became of every lane of a gather or scatter.

use std::collections::BTreeMap;

use pto_isa::Coalesce;
use pto_sim::Operation;

use crate::text::{count, thousands};

/// What became of a lane, the most remarkable last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fate {
    /// Went where its index says.
    #[default]
    Plain,
    /// Went elsewhere: clamped or wrapped.
    Remapped,
    /// Skipped, or filled with zero.
    Dropped,
    /// Its slot is not in the table.
    Outside,
    /// Shares its slot with another lane that writes it.
    Collides,
}

impl Fate {
    /// The class of cells and arrows with this fate.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Remapped => " moved",
            Self::Dropped => " drop",
            Self::Outside => " out",
            Self::Collides => " hit",
        }
    }
}

/// The lanes of one operation and what became of them.
pub(crate) struct Traffic<'a> {
    pub(crate) op: &'a Operation,
    /// From the table into the payload.
    pub(crate) gather: bool,
    /// A lane is a row of the payload and goes to a row of the table.
    pub(crate) by_row: bool,
    /// Slots of the table: rows or elements.
    pub(crate) capacity: u64,
    /// One per lane.
    pub(crate) fates: Vec<Fate>,
    /// Slots that several lanes write, with those lanes.
    pub(crate) collisions: BTreeMap<u64, Vec<usize>>,
}

impl<'a> Traffic<'a> {
    pub(crate) fn new(op: &'a Operation) -> Self {
        let gather = op.name.contains("gather");
        let by_row = op.mode == Some(Coalesce::Row);
        let (_, rows, cols) = op.table;
        let capacity = if by_row { rows } else { rows.saturating_mul(cols) };
        let lanes = op.indices.len().min(op.slots.len());

        let mut order: Vec<(u64, usize)> = Vec::new();
        if !gather {
            let inside = |slot: u64| (slot < capacity).then_some(slot);
            order.extend((0..lanes).filter_map(|lane| Some((op.slots[lane].and_then(inside)?, lane))));
            order.sort_unstable();
        }
        let shared = order.chunk_by(|a, b| a.0 == b.0).filter(|lanes| lanes.len() > 1);
        let collisions: BTreeMap<u64, Vec<usize>> =
            shared.map(|lanes| (lanes[0].0, lanes.iter().map(|(_, lane)| *lane).collect())).collect();

        let mut fates: Vec<Fate> = (0..lanes)
            .map(|lane| match op.slots[lane] {
                None => Fate::Dropped,
                Some(slot) if slot >= capacity => Fate::Outside,
                Some(slot) if u64::try_from(op.indices[lane]) != Ok(slot) => Fate::Remapped,
                Some(_) => Fate::Plain,
            })
            .collect();
        for lane in collisions.values().flatten() {
            fates[*lane] = Fate::Collides;
        }
        Self { op, gather, by_row, capacity, fates, collisions }
    }

    /// Number of lanes.
    pub(crate) fn lanes(&self) -> usize {
        self.fates.len()
    }

    /// The slot of a lane, if it is in the table.
    pub(crate) fn slot(&self, lane: usize) -> Option<u64> {
        self.op.slots[lane].filter(|slot| *slot < self.capacity)
    }

    /// Rows and columns of lanes.
    pub(crate) fn shape(&self) -> (u64, u64) {
        let cols = if self.by_row { 1 } else { self.op.payload.1.max(1) };
        ((self.lanes() as u64).div_ceil(cols).max(1), cols)
    }

    /// A lane as its reader knows it: row, or row and column.
    pub(crate) fn lane_name(&self, lane: usize) -> String {
        let (_, cols) = self.shape();
        let (row, col) = (lane as u64 / cols, lane as u64 % cols);
        if self.by_row { format!("row {row}") } else { format!("({row},{col})") }
    }

    /// Where a lane went and why.
    pub(crate) fn lane_story(&self, lane: usize) -> String {
        let start = format!("lane {}: index {}", self.lane_name(lane), self.op.indices[lane]);
        let dropped = if self.gather { "filled with zero" } else { "skipped" };
        match (self.fates[lane], self.op.slots[lane]) {
            (Fate::Dropped, _) | (_, None) => format!("{start}, {dropped}"),
            (Fate::Outside, Some(slot)) => format!("{start}, slot {slot} is outside the table"),
            (fate, Some(slot)) => {
                let arrow = if self.gather { "from" } else { "to" };
                let moved = u64::try_from(self.op.indices[lane]) != Ok(slot);
                let moved = if moved { " (clamped or wrapped)" } else { "" };
                let meets = if fate == Fate::Collides { ", which other lanes write too" } else { "" };
                format!("{start}, {arrow} slot {slot}{moved}{meets}")
            }
        }
    }

    /// The colour of a lane, by its place in the payload: 0 to 7.
    pub(crate) fn hue(&self, lane: f64) -> usize {
        let lanes = self.lanes().max(1) as f64;
        ((lane * 8.0 / lanes) as usize).min(7)
    }

    fn fate(&self, fate: Fate) -> u64 {
        self.fates.iter().filter(|f| **f == fate).count() as u64
    }

    /// The whole in a sentence.
    pub(crate) fn sentence(&self) -> String {
        let unit = if self.by_row { ", one per row" } else { "" };
        let mut words = vec![format!("{}{unit}", count(self.lanes() as u64, "lane"))];
        let dropped = if self.gather { "filled with zero" } else { "skipped" };
        let fates =
            [(Fate::Remapped, "clamped or wrapped"), (Fate::Dropped, dropped), (Fate::Outside, "outside the table")];
        for (fate, what) in fates {
            if self.fate(fate) > 0 {
                words.push(format!("{} {what}", thousands(self.fate(fate))));
            }
        }
        if !self.collisions.is_empty() {
            let slots = count(self.collisions.len() as u64, "slot");
            let verb = if self.collisions.len() == 1 { "is" } else { "are" };
            words.push(format!("{slots} {verb} written by {}", count(self.fate(Fate::Collides), "lane")));
        }
        words.join(" · ")
    }

    /// The first collisions, one text each, and how many more there are.
    pub(crate) fn collision_list(&self, most: usize) -> (Vec<String>, usize) {
        let one = |(slot, lanes): (&u64, &Vec<usize>)| {
            let mut names: Vec<String> = lanes.iter().take(5).map(|lane| self.lane_name(*lane)).collect();
            if lanes.len() > 5 {
                names.push(format!("{} more", thousands(lanes.len() as u64 - 5)));
            }
            format!("slot {slot} ← {}", names.join(", "))
        };
        let list = self.collisions.iter().take(most).map(one).collect();
        (list, self.collisions.len().saturating_sub(most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(name: &'static str, indices: &[i64], slots: &[Option<u64>]) -> Operation {
        Operation {
            name,
            place: Default::default(),
            mode: Some(Coalesce::Elem),
            table: ("t".into(), 2, 4),
            payload: (2, 3),
            indices: indices.to_vec(),
            slots: slots.to_vec(),
        }
    }

    #[test]
    fn every_lane_has_its_fate() {
        use Fate::*;
        let indices = [0, 1, 9, -1, 1, 8];
        let slots = [Some(0), Some(1), Some(7), None, Some(1), Some(8)];
        let op = op("mscatter", &indices, &slots);
        let traffic = Traffic::new(&op);
        assert_eq!(traffic.fates, [Plain, Collides, Remapped, Dropped, Collides, Outside]);
        assert_eq!(traffic.collisions, BTreeMap::from([(1, vec![1, 4])]));
        assert_eq!(traffic.collision_list(3), (vec!["slot 1 ← (0,1), (1,1)".to_owned()], 0));
        assert!(traffic.sentence().ends_with("1 slot is written by 2 lanes"), "{}", traffic.sentence());
    }

    #[test]
    fn lanes_of_a_gather_do_not_collide() {
        let op = op("mgather", &[1, 1], &[Some(1), Some(1)]);
        assert_eq!(Traffic::new(&op).fates, [Fate::Plain, Fate::Plain]);
    }
}
