//! Plans of instructions that a run may come to again: a loop whose tiles take turns needs each of them many times.

use std::collections::BTreeMap;
use std::rc::Rc;

use pto_exec::Plan;
use pto_isa::{Instruction, Tile};

/// Plans that are kept at a time, those of all steps together.
const KEPT: usize = 1024;

/// Plans of one step on tiles at the same addresses: what may still differ between them are extents.
const ALIKE: usize = 8;

/// A step and the addresses of its tiles: cheap to compare, and mostly one plan each.
type Key = (u32, [Option<u64>; 3]);

#[derive(Debug, Default)]
pub(crate) struct Plans {
    plans: BTreeMap<Key, Vec<Rc<Plan>>>,
    /// How many these are in all.
    count: usize,
}

fn key(instruction: &Instruction, step: u32) -> Key {
    let address = |tile: &Tile| tile.address;
    let addresses = match instruction {
        Instruction::MGather { dst: payload, idx, .. } | Instruction::MScatter { src: payload, idx, .. } => {
            [address(payload), address(idx), None]
        }
        Instruction::TScatter { dst, src, idx } => [address(dst), address(src), address(idx)],
        Instruction::TScatterMask { dst, src, .. } => [address(dst), address(src), None],
    };
    (step, addresses)
}

impl Plans {
    /// The plan of an instruction at a step, if it was kept.
    pub(crate) fn get(&self, instruction: &Instruction, step: u32) -> Option<Rc<Plan>> {
        let alike = self.plans.get(&key(instruction, step))?;
        alike.iter().find(|plan| plan.instruction() == instruction).cloned()
    }

    /// Keeps a plan that is not here yet. Where there is no room for it, all others go: making each of them once more
    /// costs less than keeping track of which was used last.
    pub(crate) fn keep(&mut self, plan: &Rc<Plan>, step: u32) {
        if self.count == KEPT {
            *self = Self::default();
        }
        let alike = self.plans.entry(key(plan.instruction(), step)).or_default();
        if alike.len() == ALIKE {
            alike.remove(0);
            self.count -= 1;
        }
        alike.push(Rc::clone(plan));
        self.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pto_isa::{ElementType, Launch, Policy, Target, Tensor};

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
        assert!(plans.get(&elsewhere, 3).is_none());
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
            let held: usize = plans.plans.values().map(Vec::len).sum();
            assert!(held == plans.count && held <= KEPT && plans.plans.values().all(|alike| alike.len() <= ALIKE));
        }
    }
}
