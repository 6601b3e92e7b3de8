//! Plans of instructions that a run may come to again: a loop whose tiles take turns needs each of them many times.
//!
//! Whether an instruction is legal depends on where its tiles are; how it runs does not. So each place is looked at once,
//! and those that take turns share a plan, which is in the nearest cache when it is needed.

use std::collections::BTreeMap;
use std::rc::Rc;

use pto_exec::Plan;
use pto_isa::{Instruction, Tile};

/// Legal instructions that are kept at a time, those of all steps together.
const KEPT: usize = 1024;

/// Bytes of the plans that are kept at a time. Most take a few dozen, but a tile whose columns are not side by side has a
/// piece for each of them. One that is larger than all of this stays until the next is made.
const BYTES: usize = 1 << 24;

/// Instructions of one step on tiles at the same addresses: what may still differ between them are extents.
const ALIKE: usize = 8;

/// Plans that are looked through for one to share, the last ones first.
const SHARED: usize = 16;

/// A step and the addresses of its tiles: cheap to compare, and mostly one plan each.
type Key = (u32, [Option<u64>; 3]);

/// A plan for instructions that differ in addresses at most.
#[derive(Debug)]
struct Shared {
    /// What they have in common.
    unplaced: Instruction,
    plan: Rc<Plan>,
}

#[derive(Debug, Default)]
pub(crate) struct Plans {
    legal: BTreeMap<Key, Vec<Rc<Shared>>>,
    /// How many these are in all.
    count: usize,
    /// The last plans that were made.
    made: Vec<Rc<Shared>>,
    /// Bytes of all plans that were made since there were none.
    bytes: usize,
}

/// The instruction without the addresses of its tiles, and these.
fn split(instruction: &Instruction) -> (Instruction, [Option<u64>; 3]) {
    let mut unplaced = *instruction;
    let take = |tile: &mut Tile| tile.address.take();
    let addresses = match &mut unplaced {
        Instruction::MGather { dst: payload, idx, .. } | Instruction::MScatter { src: payload, idx, .. } => {
            [take(payload), take(idx), None]
        }
        Instruction::TScatter { dst, src, idx } => [take(dst), take(src), take(idx)],
        Instruction::TScatterMask { dst, src, .. } => [take(dst), take(src), None],
    };
    (unplaced, addresses)
}

impl Plans {
    /// A plan that runs the instruction of a step, if it was found legal before.
    pub(crate) fn get(&self, instruction: &Instruction, step: u32) -> Option<Rc<Plan>> {
        let (unplaced, addresses) = split(instruction);
        let alike = self.legal.get(&(step, addresses))?;
        alike.iter().find(|shared| shared.unplaced == unplaced).map(|shared| Rc::clone(&shared.plan))
    }

    /// Keeps the plan of an instruction that is not here yet. Where there is no room for it, all others go: making each
    /// of them once more costs less than keeping track of which was used last.
    pub(crate) fn keep(&mut self, plan: &Rc<Plan>, step: u32) {
        if self.count == KEPT {
            *self = Self::default();
        }
        let (unplaced, addresses) = split(plan.instruction());
        let made = self.made.iter().rev().find(|shared| shared.unplaced == unplaced).cloned();
        let shared = made.unwrap_or_else(|| self.make(unplaced, plan));
        let alike = self.legal.entry((step, addresses)).or_default();
        if alike.len() == ALIKE {
            alike.remove(0);
            self.count -= 1;
        }
        alike.push(shared);
        self.count += 1;
    }

    /// Takes a plan that no other can stand for.
    fn make(&mut self, unplaced: Instruction, plan: &Rc<Plan>) -> Rc<Shared> {
        let bytes = plan.list_bytes();
        if self.bytes.saturating_add(bytes) > BYTES {
            *self = Self::default();
        }
        self.bytes += bytes;
        if self.made.len() == SHARED {
            self.made.remove(0);
        }
        let shared = Rc::new(Shared { unplaced, plan: Rc::clone(plan) });
        self.made.push(Rc::clone(&shared));
        shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pto_isa::{BLayout, ElementType, Launch, Policy, Target, Tensor};

    /// A scatter whose index tile is at an address and has so many valid columns.
    fn scatter(address: u64, lanes: u64) -> Instruction {
        Instruction::MScatter {
            table: Tensor::packed(ElementType::F32, [1, 1, 1, 64, 64]),
            src: Tile::new(ElementType::F32, 64, 64).with_valid(1, lanes).at(0),
            idx: Tile::new(ElementType::I32, 64, 64).with_valid(1, lanes).at(address),
            policy: Policy::coalesce(pto_isa::Coalesce::Elem),
        }
    }

    fn plan(instruction: &Instruction) -> Rc<Plan> {
        Rc::new(Plan::new(instruction, Target::Host, Launch::default()).expect("a legal instruction"))
    }

    #[test]
    fn a_plan_is_found_for_its_own_instruction_and_step_alone() {
        let mut plans = Plans::default();
        let (one, shorter, elsewhere) = (scatter(1 << 14, 64), scatter(1 << 14, 32), scatter(1 << 15, 64));
        plans.keep(&plan(&one), 3);
        plans.keep(&plan(&shorter), 3);
        for instruction in [&one, &shorter] {
            assert_eq!(plans.get(instruction, 3).expect("it was kept").instruction(), instruction);
            assert!(plans.get(instruction, 4).is_none());
        }
        // One that was not looked at yet, though another place of it was.
        assert!(plans.get(&elsewhere, 3).is_none());
        plans.keep(&plan(&elsewhere), 3);
        let (here, there) = (plans.get(&one, 3).expect("it was kept"), plans.get(&elsewhere, 3).expect("it was kept"));
        assert!(Rc::ptr_eq(&here, &there));
    }

    #[test]
    fn as_many_as_take_turns_stay_and_no_more_than_there_is_room_for() {
        let mut plans = Plans::default();
        for address in 0..64 {
            plans.keep(&plan(&scatter(address << 14, 64)), 0);
        }
        assert!((0..64).all(|address| plans.get(&scatter(address << 14, 64), 0).is_some()));
        for address in 0..5000 {
            plans.keep(&plan(&scatter(address << 14, 1 + address % 64)), 1);
            plans.keep(&plan(&scatter(0, 1 + address % 64)), 2);
            let held: usize = plans.legal.values().map(Vec::len).sum();
            assert!(held == plans.count && held <= KEPT && plans.made.len() <= SHARED);
            assert!(plans.legal.values().all(|alike| alike.len() <= ALIKE));
        }
    }

    /// A loop over windows of a tile in column-major order: each plan has a piece for every column.
    #[test]
    fn plans_of_many_pieces_stay_within_their_bytes() {
        const COLUMNS: u64 = 20_000;
        let gather = |address: u64, columns: u64| Instruction::MGather {
            dst: Tile { blayout: BLayout::ColMajor, ..Tile::new(ElementType::F32, 8, COLUMNS) }
                .with_valid(8, columns)
                .at(address),
            table: Tensor::packed(ElementType::F32, [1, 1, 1, 4, COLUMNS]),
            idx: Tile::new(ElementType::I32, 1, 8).at(0),
            policy: Policy::coalesce(pto_isa::Coalesce::Row),
        };
        let mut plans = Plans::default();
        let mut largest = 0;
        for round in 0..100 {
            let plan = plan(&gather(32 + 32 * round, COLUMNS - round));
            assert!(plan.list_bytes() as u64 >= 8 * COLUMNS);
            plans.keep(&plan, 0);
            assert!(plans.get(plan.instruction(), 0).is_some());
            let held: BTreeMap<_, _> =
                plans.legal.values().flatten().map(|shared| (Rc::as_ptr(shared), shared.plan.list_bytes())).collect();
            let bytes = held.values().sum::<usize>();
            assert!(bytes <= BYTES && bytes == plans.bytes, "{bytes} in round {round}");
            largest = largest.max(held.len());
        }
        assert!(largest > 8, "{largest}");
    }
}
