//! How far away a table is, and what is asked for because of that, how early. All of it was measured
//! (`docs/performance.md`).

use std::time::Duration;

use super::trial::{MOST_AFAR, SOME_AFAR, TRIED_LANES, are_tried, time_loads};
use crate::kernel::cache::Caches;
use crate::kernel::combine::Combine;
use crate::kernel::offsets::Word;
use crate::kernel::simd::LINE;

/// Lanes between asking for a slot and replacing it.
pub(crate) const AHEAD: usize = 32;

/// Bytes of the first-level cache, on the machine that was measured.
const FIRST_LEVEL: usize = 48 << 10;

/// Bytes of that which lanes and values take as they pass through.
const PASSING: usize = 24 << 10;

/// Lanes of a run of which only blocks are seen.
pub(super) const MANY: usize = usize::MAX;

/// True if the slots of so many lanes have to be asked for. Sums and the like begin with a load, and the core keeps many of
/// those under way; stores are carried out one after the other. Those into a far table wait for the addresses of its pages,
/// and longer if they are asked for; unless there are [many](FAR_LANES) and all of them are known, which is not so of blocks.
/// Where the last level is near, asking takes longer than waiting.
#[inline(always)]
pub(super) fn asks_ahead<const N: usize, C: Combine<N>>(table: &[[u8; N]], lanes: usize) -> bool {
    !C::READS && !is_near(table, lanes) && !is_far(table) && Caches::get().is_l3_far()
}

/// True if what so many lanes touch stays in the first-level cache: a line of the table each,
/// themselves, in 4 bytes mostly, and their values.
#[inline(always)]
fn is_near<const N: usize>(table: &[[u8; N]], lanes: usize) -> bool {
    let lines = lanes.saturating_mul(LINE).min(size_of_val(table));
    let passing = lanes.saturating_mul(4 + N).min(PASSING);
    lines + passing <= FIRST_LEVEL
}

/// Of larger tables most slots come from beyond the second-level cache.
const FAR_BYTES: usize = 1 << 23;

/// Lanes between asking for a slot of a far table and combining it. It is asked for into the second-level cache, which waits
/// for more lines at a time than the first.
pub(crate) const FAR: usize = 128;

/// True if what few lanes touch of a table of so many bytes is not far away.
#[inline(always)]
pub(crate) fn is_at_hand(bytes: usize) -> bool {
    bytes <= FAR_BYTES || !Caches::get().is_l3_far()
}

/// True if so many bytes of words that were just looked at are found again as quickly as if they were asked for, and values come
/// in time by themselves.
pub(super) fn stay_at_hand(caches: Caches, bytes: usize) -> bool {
    caches.brings_in_time() && bytes <= caches.l2 / 2
}

/// True if whoever goes to the table waits for the addresses of its pages, and longer if anything is asked for on the way. Few
/// lanes do so as well, unless they are the same ones again and again.
#[inline(always)]
pub(super) fn waits_for_pages<const N: usize>(table: &[[u8; N]]) -> bool {
    is_far(table) && Caches::get().is_l3_far()
}

#[inline(always)]
pub(super) fn is_far<const N: usize>(table: &[[u8; N]]) -> bool {
    table.len() > FAR_BYTES / N
}

/// Lanes from which on their slots of a far table are asked for [far ahead](FAR), with a far last level, or where they are
/// replaced. Shorter runs wait for the addresses of its pages more than for its slots, and asking for anything takes up to a third
/// longer.
const FAR_LANES: usize = 1 << 20;

/// As [`FAR_LANES`] for gathers, with a far last level.
const FAR_GATHERED: usize = 3 << 10;

/// Whether slots are asked for [far ahead](FAR).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Never,
    /// If loads of [some](time_loads) take as long: they come from memory then. The same lanes again and again find their slots in the
    /// last level, where asking takes up to half as long again; fresh ones do not, and asking halves the time.
    IfAfar(Duration),
    Always,
}

impl Asked {
    /// True if the slots of these words, all of a run or none that are known, are to be asked for.
    #[inline(always)]
    fn holds_for<const N: usize, W: Word>(self, table: &[[u8; N]], words: &[W]) -> bool {
        match self {
            Self::Never => false,
            Self::IfAfar(time) => words.len() >= TRIED_LANES && time_loads((table.as_flattened(), N), words) >= time,
            Self::Always => true,
        }
    }
}

/// Lanes between asking for a slot and combining it, at most, in a run of some length of which a part is known at a time.
#[inline(always)]
pub(crate) fn lookahead<const N: usize, C: Combine<N>>(table: &[[u8; N]], length: usize) -> usize {
    lookahead_of::<N, C, [u8; 4]>(table, length, &[])
}

/// As [`lookahead`] of a run of which these words are known, and may be tried if they are enough.
#[inline(always)]
pub(super) fn lookahead_of<const N: usize, C: Combine<N>, W: Word>(
    table: &[[u8; N]],
    length: usize,
    known: &[W],
) -> usize {
    let asked = are_slots_asked(Caches::get(), (size_of_val(table), N), (length, !known.is_empty()), C::READS);
    if !C::WIDENS && asked.holds_for(table, known) { FAR } else { AHEAD }
}

/// Whether the slots of a run of some length, whose words are known beforehand or are not, of a table and elements of so many bytes, are asked for.
#[inline(always)]
fn are_slots_asked(
    caches: Caches,
    (bytes, size): (usize, usize),
    (length, are_known): (usize, bool),
    reads: bool,
) -> Asked {
    let is_asked = match caches.brings_in_time() {
        // Nothing waits for a slot of the last level, which may have kept as many as it has lines: asking for these takes a tenth longer.
        // Lanes that are not known beforehand cannot be tried, and are asked for sooner.
        true if caches.reaches_l3() => {
            bytes > caches.near_l3() && length > if are_known { caches.l3 } else { caches.l2 } / LINE
        }
        // A last level that has kept what lanes touch, from a call before, is as quick without being asked: loads overlap, and
        // stores are taken as they come. Unless lanes and values come from memory, and slots of the table wait behind them.
        true if reads && bytes <= FAR_BYTES => bytes > caches.l2 && length >= caches.near_l3() / (4 + size),
        true if reads => length >= FAR_BYTES / LINE,
        true => bytes > caches.l2 && length > caches.l3 / LINE,
        // Stores that wait for nothing are taken by a near last level as they come.
        false => bytes > FAR_BYTES && if reads { are_asked(caches, length, FAR_LANES) } else { length >= FAR_LANES },
    };
    // A last level takes stores without a wait: only many from memory take longer than asking.
    asked_or_tried(caches, (bytes, length), is_asked, if reads { SOME_AFAR } else { MOST_AFAR })
}

/// What is asked for at any rate; else, where that was measured, if it takes so long.
#[inline(always)]
fn asked_or_tried(caches: Caches, (bytes, lanes): (usize, usize), is_asked: bool, time: Duration) -> Asked {
    match is_asked {
        true => Asked::Always,
        false if are_tried(caches, bytes, lanes) => Asked::IfAfar(time),
        false => Asked::Never,
    }
}

/// True if the slots of so many lanes are worth asking for far ahead, before they are loaded: as many as were found to be with a
/// far last level, or, where it is near and keeps what lanes touch, those that touch more than [`FAR_BYTES`]; where it
/// [is reached](Caches::reaches_l3) without a wait, more than all of its lines.
#[inline(always)]
fn are_asked(caches: Caches, lanes: usize, with_far_l3: usize) -> bool {
    match () {
        () if caches.is_l3_far() => lanes >= with_far_l3,
        () if caches.reaches_l3() => lanes > caches.l3 / LINE,
        () => lanes >= FAR_BYTES / LINE,
    }
}

/// Lanes that are read by the vector unit's gather instruction from any table: the addresses of so few pages are at hand.
const GATHER_LANES: usize = 1 << 11;

/// True if the gather instruction reads such a table: elements of 4 bytes, not from far away, where the vector unit waits for
/// the slowest of its lanes and single loads overlap better.
#[inline(always)]
pub(crate) fn is_gathered<const N: usize>(table: &[[u8; N]]) -> bool {
    N == 4 && !is_far(table)
}

/// As [`is_gathered`], of a run of some length.
#[inline(always)]
pub(crate) fn are_gathered<const N: usize>(table: &[[u8; N]], length: usize) -> bool {
    is_gathered(table) || (N == 4 && length < GATHER_LANES)
}

/// True if so many elements of a table of so many bytes are asked for while those before them are gathered.
#[inline(always)]
fn are_gathers_asked(caches: Caches, bytes: usize, lanes: usize) -> bool {
    let is_beyond = bytes > if caches.reaches_l3() { caches.near_l3() } else { FAR_BYTES };
    is_beyond && are_asked(caches, lanes, FAR_GATHERED)
}

/// The words whose elements are to be asked for while those before them are gathered.
#[inline(always)]
pub(crate) fn far_gathers<'a, const N: usize, W: Word>(table: &[[u8; N]], words: &'a [W]) -> &'a [W] {
    let caches = Caches::get();
    let is_asked = are_gathers_asked(caches, size_of_val(table), words.len());
    let asked = asked_or_tried(caches, (size_of_val(table), words.len()), is_asked, SOME_AFAR);
    words.get(FAR..).filter(|_| asked.holds_for(table, words)).unwrap_or(&[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_asked_for_from_so_many_lanes_on_each_kind_of_machine() {
        let [mesh, chiplet, large] = [Caches::MESH, Caches::ZEN3, Caches::ZEN4];
        let stays = |caches| [1 << 19, (1 << 19) + 1].map(|bytes| stay_at_hand(caches, bytes));
        assert_eq!([mesh, chiplet, large].map(stays), [[false; 2], [false; 2], [true, false]]);
        // The fewest lanes whose slots are asked for, of 4 bytes each.
        let least = |caches, bytes, reads| {
            let asked = |length: usize| are_slots_asked(caches, (bytes, 4), (length, true), reads) == Asked::Always;
            let least =
                (0..30).flat_map(|log| [(1 << log) - 1, 1 << log, (1 << log) + 1]).find(|length| asked(*length));
            assert_eq!(least.is_some(), asked(usize::MAX), "once they are asked for, they always are");
            least
        };
        let [many, most, some] = [Some(1 << 20), Some((1 << 19) + 1), Some(1 << 17)];
        for (machine, replaced, summed) in [
            (mesh, [None, None, None, many, many], [None, None, None, many, many]),
            (chiplet, [None, None, None, many, many], [None, None, None, some, some]),
            (large, [None, most, most, most, most], [None, Some(1 << 21), Some(1 << 21), some, some]),
            (Caches::ZEN5, [None, None, None, None, most], [None, None, None, None, most]),
        ] {
            let sizes = [1 << 20, (1 << 20) + 4, FAR_BYTES, FAR_BYTES + 4, (16 << 20) + 4];
            assert_eq!(sizes.map(|bytes| least(machine, bytes, false)), replaced, "{machine:?}");
            assert_eq!(sizes.map(|bytes| least(machine, bytes, true)), summed, "{machine:?}");
        }
    }

    #[test]
    fn gathered_slots_are_asked_for_where_no_last_level_has_kept_them() {
        let machines = [Caches::MESH, Caches::ZEN3, Caches::ZEN4, Caches::ZEN5];
        let least = [FAR_GATHERED, 1 << 17, 1 << 17, (1 << 19) + 1];
        let beyond = [FAR_BYTES, FAR_BYTES, FAR_BYTES, 16 << 20];
        for ((caches, least), beyond) in machines.into_iter().zip(least).zip(beyond) {
            let asked = [(beyond + 1, least - 1), (beyond + 1, least), (beyond, usize::MAX)];
            assert_eq!(asked.map(|(bytes, lanes)| are_gathers_asked(caches, bytes, lanes)), [false, true, false]);
        }
    }

    #[test]
    fn slots_of_lanes_that_are_not_known_are_asked_for_sooner() {
        let asked = |caches, length, are_known| are_slots_asked(caches, (17 << 20, 4), (length, are_known), true);
        assert_eq!(
            [1 << 14, (1 << 14) + 1].map(|lanes| asked(Caches::ZEN5, lanes, false) == Asked::Always),
            [false, true]
        );
        assert_ne!(asked(Caches::ZEN5, 1 << 19, true), Asked::Always);
        assert_eq!(asked(Caches::ZEN4, (1 << 17) - 1, false), asked(Caches::ZEN4, (1 << 17) - 1, true));
    }

    #[test]
    fn slots_are_tried_where_that_was_measured_and_there_are_enough_of_them() {
        let [mesh, chiplet, large] = [Caches::MESH, Caches::ZEN3, Caches::ZEN4];
        let asked = |caches, reads| {
            [1 << 20, (1 << 20) + 4].map(|bytes| are_slots_asked(caches, (bytes, 4), (5000, true), reads))
        };
        assert_eq!([mesh, chiplet].map(|caches| asked(caches, true)), [[Asked::Never; 2]; 2]);
        let tried = |time| if cfg!(target_arch = "x86_64") { Asked::IfAfar(time) } else { Asked::Never };
        assert_eq!(asked(large, true), [Asked::Never, tried(SOME_AFAR)]);
        assert_eq!(asked(large, false), [Asked::Never, tried(MOST_AFAR)]);
        let (table, words) = ([[0u8; 4]; 8], [[0u8; 4]; TRIED_LANES]);
        let holds =
            |time: u64, lanes: usize| Asked::IfAfar(Duration::from_nanos(time)).holds_for(&table, &words[..lanes]);
        assert_eq!([holds(0, 0), holds(0, TRIED_LANES - 1), holds(0, TRIED_LANES)], [false, false, true]);
        assert!(!holds(u64::MAX, TRIED_LANES));
        assert!(Asked::Always.holds_for(&table, &words[..0]) && !Asked::Never.holds_for(&table, &words));
    }
}
