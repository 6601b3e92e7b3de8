//! Which way a scatter goes: the cost rule.
//!
//! Four ways, all with the same result:
//! - **Direct**: one thread, in source order.
//! - **Owned**: each thread owns a part of the table, reads all index lanes, and carries out those that fall into its
//!   part. Reading a lane of another's costs about a quarter of carrying one out.
//! - **Merged**: each thread takes its share of the lanes and carries them out in a table of its own; then these are merged.
//!   Only where that gives the same bits: replacements, maxima, minima and sums of integers, not sums of floats.
//! - **Partitioned**: lanes are first sorted by destination, see [`partition`](crate::kernel::partition). Each lane is
//!   read and written once more, but then every part of the table is visited once, in cache.
//!
//! The rule, with the sizes that were measured (`docs/performance.md`):
//! 1. What one thread does before others are awake does not pay for waking them ([`Work::pays_help`]): one thread.
//! 2. A partition pays when the table is far beyond the second-level cache ([`SPILL`] times; half as often for a
//!    scatter on one thread) and the near part of the last level ([`Caches::near_l3`]), when there are enough lanes to fill the
//!    buckets ([`PARTITION_LANES`], or [`PARTITION_LANES_NEAR`] and one for each line of the table; [`BUCKET_LANES`]), and when
//!    lanes are spread. A gather is only sorted where the last level is far: a near one answers single loads as quickly as they
//!    can be sorted. A scatter on one thread, which shares the second pass with nobody, and a gather, which takes a third one,
//!    want more lanes of each thread, the fewer the larger the table is ([`FILL`], [`FILL_GATHERED`]). If more than an eighth of
//!    a sample repeats other lanes of it, the hot slots are in cache anyway; if one bucket gets more than half of it, one thread
//!    would have most of the work left to do after all have sorted.
//! 3. Otherwise Merged with several threads, where that may be: with tables of the threads' own that take [`MERGED_BYTES`] for
//!    each lane at the most and stay at hand, each in the second-level cache, or all of them in half of the near part of the last
//!    level.
//! 4. Otherwise Owned with several threads, unless the table is within the first-level cache ([`NEAR_BYTES`]), where one thread
//!    updates it as fast as lanes can be read, or more than seven eighths of a sample go to one slot, which leaves nothing for the
//!    others to do; Direct with one.
//!
//! Rows are Owned or Direct: a row that is worth its own cache lines gains nothing from being copied twice. Long ones that replace
//! others are [dealt out](crate::kernel::dealt) by where they come from instead, where the last level is near ([`pays_dealing`]), and
//! there two threads leave short ones to one ([`pays_owning_rows`]).

use super::cuts;
use crate::kernel::apply::Asks;
use crate::kernel::buckets::{BUCKET_LANES, ROOMY_LANES};
use crate::kernel::cache::Caches;
use crate::kernel::simd::LINE;

/// Lanes of an elementwise transfer below which one thread is quicker, whatever the table: choosing a way must not take longer than
/// going it.
pub(crate) const PARALLEL_LANES: usize = 1 << 15;

/// Nanoseconds on one thread from which on others help with what is cut into pieces. Waking one takes 30 to 60 microseconds, up
/// to 500 on a shared machine; the caller goes on meanwhile, piece by piece.
pub(crate) const HELPED_PIECES: u64 = 100_000;

/// As [`HELPED_PIECES`] for what has as many parts as there are threads: whoever comes late is waited for.
pub(crate) const HELPED_PARTS: u64 = 300_000;

/// Picoseconds that looking at a lane takes, about: 4 bytes of a stream.
const LOOK_TIME: u64 = 100;

/// Picoseconds that moving a byte of a row takes, about.
const ROW_BYTE_TIME: u64 = 100;

/// True if looking whether so many lanes are in range takes one thread so long that waking others pays.
pub(crate) fn look_pays_help(lanes: usize) -> bool {
    takes(lanes, LOOK_TIME, HELPED_PIECES)
}

/// True if gathering so many bytes of rows takes one thread so long that waking others pays.
pub(crate) fn gathered_rows_pay_help(bytes: usize) -> bool {
    takes(bytes, ROW_BYTE_TIME, HELPED_PIECES)
}

/// As [`gathered_rows_pay_help`] for a scatter.
pub(crate) fn scattered_rows_pay_help(bytes: usize) -> bool {
    takes(bytes, ROW_BYTE_TIME, HELPED_PARTS)
}

/// True if saving a table of so many bytes costs less than looking at all lanes, index words of so many bytes, before the first is carried
/// out. Either way a lane out of range leaves no trace.
pub(crate) fn pays_saving(caches: Caches, table_bytes: usize, index_bytes: usize) -> bool {
    let worth = match () {
        () if table_bytes <= NEAR_BYTES => index_bytes,
        // Words that were looked at are found again in the last level, sooner than those that are first seen between two slots.
        () if caches.brings_in_time() && index_bytes <= caches.l3 / 4 => 0,
        () if index_bytes < caches.l2 => index_bytes / 4,
        () => index_bytes / 2,
    };
    table_bytes <= worth
}

/// True if so many, each of so many picoseconds, take so many nanoseconds.
fn takes(count: usize, picoseconds: u64, nanoseconds: u64) -> bool {
    (count as u64).saturating_mul(picoseconds) / 1000 >= nanoseconds
}

/// Bytes of a table that one thread updates as fast as several can look for their lanes.
pub(crate) const NEAR_BYTES: usize = 1 << 15;

/// Lanes from which on a partition pays.
pub(crate) const PARTITION_LANES: usize = 1 << 17;

/// As [`PARTITION_LANES`] where the last level is near and what is shared out or carried out directly finds its slots quickly.
pub(crate) const PARTITION_LANES_NEAR: usize = 1 << 21;

/// How many times the second-level cache a table must be for a partition to pay.
pub(crate) const SPILL: usize = 8;

/// Lanes of each thread from which on a partition on one thread pays, times how often the table is as large as the second-level
/// cache.
pub(crate) const FILL: usize = 1 << 23;

/// As [`FILL`] for a gather in the order of the table.
pub(crate) const FILL_GATHERED: usize = 1 << 26;

/// Parts of the lanes that are sorted apart, for each thread, at the most, provided that each has [`ROOMY_LANES`].
pub(crate) const SORTED_PARTS: usize = 4;

/// Lanes for each line of a table from which on the lines are asked for in order, where the last level is near and the second small.
pub(crate) const IN_ORDER: usize = 2;

/// Lanes for each line of a table from which on none is asked for, where the last level is near.
pub(crate) const REVISITED: usize = 32;

/// Bytes of such tables for each lane, all together, up to which they pay.
pub(crate) const MERGED_BYTES: usize = 2;

/// Bytes of the shortest rows that are written past the caches.
pub(crate) const STREAMED_ROW: usize = 128;

/// Rows from which on waiting for their stores to arrive does not matter.
pub(crate) const STREAMED_ROWS: usize = 32;

/// True if gathered rows of so many bytes, all together, are written past the caches. Where the last level is near and [nothing waits
/// for it](Caches::reaches_l3), two threads are held up by memory that is written past it, and one is not.
pub(crate) fn pays_streaming_rows(caches: Caches, bytes: usize, threads: usize) -> bool {
    bytes > if caches.reaches_l3() && threads > 1 { caches.near_l3() } else { caches.l2 }
}

/// As [`pays_streaming_rows`] for single elements from a table of so many bytes. Where the last level [is reached](Caches::reaches_l3)
/// and the table is beyond it, its lines and those that are written past the caches wait for the same memory.
pub(crate) fn pays_streaming_elements(caches: Caches, bytes: usize, table_bytes: usize) -> bool {
    let is_beyond = caches.reaches_l3() && table_bytes > caches.near_l3();
    !is_beyond && bytes > caches.l2
}

/// Shares of rows that replace others, for each thread: one that is held up takes fewer.
pub(crate) const DEALT_SHARES: usize = 4;

/// How many times the bytes that mark rows those of the rows themselves have to be, for marking to cost little.
pub(crate) const DEALT_BYTES: usize = 16;

/// True if rows of so many bytes that replace others are dealt out to threads by where they come from, with marks of so many bytes for
/// the rows that they go to. Where the last level is far, threads that own parts of the table are as quick as memory.
pub(crate) fn pays_dealing(caches: Caches, marks: usize, bytes: usize) -> bool {
    !caches.is_l3_far() && marks.saturating_mul(DEALT_BYTES) <= bytes
}

/// Bytes of the shortest rows that two threads look for in all of the source, where the last level is near and the table
/// [beyond what is at hand there](Caches::near_l3).
pub(crate) const OWNED_ROW: usize = 512;

/// True if threads that own parts of a table are quicker than one, with rows and a table of so many bytes. Each thread skips
/// the rows of the others, but a near last level's prefetchers bring them all along: of short ones twice what one thread reads. More
/// than two threads were not measured.
pub(crate) fn pays_owning_rows(caches: Caches, (row, table): (usize, usize), threads: usize) -> bool {
    caches.is_l3_far() || row >= OWNED_ROW || table <= caches.near_l3() || threads > 2
}

/// How a scatter is carried out; see [`Engine::with_method`](crate::host::Engine::with_method).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// One thread, in source order.
    Direct,
    /// Each thread carries out the lanes that fall into its part of the table.
    Owned,
    /// Each thread carries out its share of the lanes in a table of its own, and these are merged: replacements of 4 bytes or
    /// more, maxima, minima and sums of integers. Others are owned.
    Merged,
    /// Lanes are sorted by destination first. Rows that replace others are dealt out by where they come from; other rows are
    /// owned.
    Partitioned,
}

/// What the rule looks at beforehand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    pub(crate) lanes: usize,
    pub(crate) table_bytes: usize,
    pub(crate) threads: usize,
    pub(crate) caches: Caches,
    /// Values come out of the table: a sorted gather goes through its lanes a third time.
    pub(crate) gathers: bool,
    /// Threads may have tables of their own that are merged.
    pub(crate) merges: bool,
}

/// What the rule knows about the lanes, from a sample of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Skew {
    pub(crate) sampled: usize,
    /// Lanes in the fullest bucket.
    pub(crate) crowd: usize,
    /// Lanes on a slot that a lane of the sample before them goes to.
    pub(crate) repeats: usize,
    /// Lanes on the slot that most go to.
    pub(crate) hottest: usize,
}

impl Work {
    /// About how many picoseconds a lane takes on one thread. For scatters into near tables it is what others could take off:
    /// each thread reads all lanes.
    fn lane_time(&self) -> u64 {
        let [gathered, scattered] = match self.table_bytes {
            bytes if bytes <= NEAR_BYTES => [300, 300],
            bytes if bytes <= self.caches.l2 / 4 => [400, 400],
            bytes if bytes <= self.caches.l2 => [600, 1300],
            bytes if bytes <= self.caches.near_l3() => [1500, 2000],
            _ => [2500, 4000],
        };
        if self.gathers { gathered } else { scattered }
    }

    /// True if one thread takes so long that waking others pays.
    pub(crate) fn pays_help(&self) -> bool {
        let least = if self.gathers { HELPED_PIECES } else { HELPED_PARTS };
        self.threads > 1 && takes(self.lanes, self.lane_time(), least)
    }

    /// True if a partition pays, provided that the lanes are spread.
    pub(crate) fn pays_partition(&self) -> bool {
        let alone = self.threads == 1 && !self.gathers;
        let spill = self.caches.l2.saturating_mul(if alone { SPILL / 2 } else { SPILL });
        let times = self.table_bytes / self.caches.l2.max(1);
        let of_each = self.lanes / self.threads.max(1);
        let fill = match () {
            () if self.gathers => FILL_GATHERED,
            () if alone => FILL,
            () => 0,
        };
        let is_filled = of_each.saturating_mul(times) >= fill;
        let least = match self.caches.is_l3_far() {
            true => PARTITION_LANES,
            // With fewer than a lane for each line, parts of the table are hardly visited less often than slots are.
            false => PARTITION_LANES_NEAR.max(self.table_bytes / LINE),
        };
        let enough = self.lanes >= least && of_each >= BUCKET_LANES * self.buckets() && is_filled;
        let is_far = self.table_bytes > spill.max(self.caches.near_l3());
        enough && is_far && (!self.gathers || self.caches.is_l3_far())
    }

    /// Into how many parts the table is sorted.
    pub(crate) fn buckets(&self) -> usize {
        self.caches.buckets(self.table_bytes)
    }

    /// Into how many parts lanes are cut to be sorted. A thread that is held up takes fewer.
    pub(crate) fn sorted_parts(&self) -> usize {
        let each = self.lanes / self.threads / (self.buckets() * ROOMY_LANES);
        if self.threads == 1 { 1 } else { self.threads * each.clamp(1, SORTED_PARTS) }
    }

    /// What a thread asks for while it carries out the `bucket`-th part of the table, of so many. Each thread has parts that follow each
    /// other, and takes the last ones of others when it has no more.
    ///
    /// The next part in order, where the last level is near and the second one small: memory is quicker so, but lines that no lane
    /// goes to come along. Elsewhere that gains as much as it costs, or less.
    pub(crate) fn asks(&self, bucket: usize, buckets: usize) -> Asks {
        let visits = |times: usize| self.lanes / times >= self.table_bytes / LINE;
        match () {
            () if self.caches.is_l3_far() => Asks::Slots,
            () if visits(REVISITED) => Asks::Nothing,
            () if visits(IN_ORDER) && !self.caches.brings_in_time() => {
                let cuts = cuts(buckets, self.threads);
                let is_first = |bucket| cuts.iter().any(|(first, _)| *first == bucket);
                let next = bucket + 1 < buckets && !is_first(bucket + 1);
                Asks::InOrder { is_first: is_first(bucket), next: next.then_some(1) }
            }
            () => Asks::Slots,
        }
    }

    /// True if tables of the threads' own pay, where they [may be](Self::merges): each is at hand, and clearing and merging them
    /// costs less than looking for one's lanes among all.
    fn pays_merge(&self) -> bool {
        let own = self.table_bytes.saturating_mul(self.threads);
        let is_at_hand = match self.caches.is_l3_far() {
            true => self.table_bytes <= self.caches.l2,
            false => own <= self.caches.near_l3() / 2,
        };
        let enough = own <= self.lanes.saturating_mul(MERGED_BYTES);
        self.merges && self.pays_help() && is_at_hand && enough
    }

    /// The way of a scatter.
    pub(crate) fn method(&self, skew: Skew) -> Method {
        let spread = skew.crowd * 2 <= skew.sampled && skew.repeats * 8 <= skew.sampled;
        if self.pays_partition() && spread {
            Method::Partitioned
        } else if self.pays_merge() {
            Method::Merged
        } else if self.pays_help() && self.table_bytes > NEAR_BYTES && skew.hottest * 8 <= skew.sampled * 7 {
            Method::Owned
        } else {
            Method::Direct
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESH: Caches = Caches { l2: 1 << 20, l3: 65 << 20, ..Caches::MESH };
    const CHIPLET: Caches = Caches::ZEN3;
    const WORK: Work =
        Work { lanes: 1 << 22, table_bytes: 64 << 20, threads: 2, caches: MESH, gathers: false, merges: false };

    /// The way of lanes that are spread.
    fn spread(work: Work) -> Method {
        work.method(Skew { sampled: 512, crowd: 8, repeats: 0, hottest: 1 })
    }

    #[test]
    fn the_way_changes_at_each_crossover_and_nowhere_else() {
        use Method::{Direct, Owned, Partitioned};
        assert_eq!(spread(WORK), Partitioned);
        // Table size.
        let spill = SPILL * MESH.l2;
        assert_eq!(spread(Work { table_bytes: spill + 1, ..WORK }), Partitioned);
        assert_eq!(spread(Work { table_bytes: spill, ..WORK }), Owned);
        let alone = Work { threads: 1, lanes: 1 << 23, caches: Caches::MESH, ..WORK };
        assert_eq!(spread(Work { table_bytes: spill + 1, ..alone }), Partitioned);
        assert_eq!(spread(Work { table_bytes: spill, ..alone }), Direct);
        assert_eq!(spread(Work { table_bytes: NEAR_BYTES + 1, ..WORK }), Owned);
        assert_eq!(spread(Work { table_bytes: NEAR_BYTES, ..WORK }), Direct);
        // Lanes.
        assert_eq!(spread(Work { lanes: PARTITION_LANES, ..WORK }), Partitioned);
        assert_eq!(spread(Work { lanes: PARTITION_LANES - 1, ..WORK }), Owned);
        assert_eq!(spread(Work { lanes: 75_000, ..WORK }), Owned);
        assert_eq!(spread(Work { lanes: 74_999, ..WORK }), Direct);
        assert_eq!(spread(Work { lanes: PARTITION_LANES - 1, threads: 1, ..WORK }), Direct);
        assert_eq!(spread(Work { threads: 1, ..WORK }), Partitioned);
        assert_eq!(spread(Work { lanes: 8 * 64 * BUCKET_LANES, threads: 8, ..WORK }), Partitioned);
        assert_eq!(spread(Work { lanes: 8 * 64 * BUCKET_LANES - 8, threads: 8, ..WORK }), Owned);
        // One thread: 2^17 lanes into 64 times the second-level cache, a little more into 63 times.
        let alone = |lanes, times: usize| spread(Work { threads: 1, lanes, table_bytes: times << 20, ..WORK });
        assert_eq!((alone(FILL / 64, 64), alone(FILL / 64 - 1, 64)), (Partitioned, Direct));
        assert_eq!((alone(FILL / 63 + 1, 63), alone(FILL / 63, 63)), (Partitioned, Direct));
        assert_eq!((alone(FILL / 9 + 1, 9), alone(FILL / 9, 9)), (Partitioned, Direct));
        // A machine that says nothing about its caches is one with usual ones.
        assert_eq!(spread(Work { caches: Caches::USUAL, ..WORK }), Partitioned);
    }

    #[test]
    fn a_table_is_saved_where_that_costs_less_than_a_look() {
        let least = |caches, table_bytes| {
            let least = (1..1 << 14).map(|kib| kib << 10).find(|bytes| pays_saving(caches, table_bytes, *bytes));
            assert!(pays_saving(caches, table_bytes, usize::MAX));
            least.map(|bytes| bytes >> 10)
        };
        let large = Caches::ZEN4;
        for (caches, of_64k, of_1m) in [(MESH, 256, 2048), (CHIPLET, 256, 2048), (large, 8193, 8193)] {
            assert_eq!(least(caches, NEAR_BYTES), Some(32));
            assert_eq!((least(caches, 64 << 10), least(caches, 1 << 20)), (Some(of_64k), Some(of_1m)), "{caches:?}");
        }
    }

    #[test]
    fn rows_are_dealt_out_where_marks_are_few_and_owned_where_they_are_long() {
        let pays =
            |caches| [0, 1, 64].map(|marks| pays_dealing(caches, marks, 64 * DEALT_BYTES - usize::from(marks == 1)));
        assert_eq!((pays(CHIPLET), pays(MESH)), ([true; 3], [false; 3]));
        let owns = |caches, row| [8 << 20, (8 << 20) + 1].map(|bytes| pays_owning_rows(caches, (row, bytes), 2));
        assert!(pays_owning_rows(CHIPLET, (1, 1 << 30), 3));
        assert_eq!((owns(CHIPLET, OWNED_ROW), owns(CHIPLET, OWNED_ROW - 1)), ([true; 2], [true, false]));
        assert_eq!(owns(MESH, 1), [true; 2]);
        assert!(!pays_dealing(CHIPLET, 65, 65 * DEALT_BYTES - 1) && !pays_dealing(CHIPLET, usize::MAX, 1 << 40));
    }

    #[test]
    fn threads_are_woken_for_what_takes_one_long_enough() {
        let least = |gathers, table_bytes| {
            let pays = |lanes| Work { lanes, table_bytes, gathers, ..WORK }.pays_help();
            let least = (0..1 << 21).step_by(1000).find(|lanes| pays(*lanes)).unwrap();
            assert!(pays(1 << 40) && !Work { lanes: 1 << 40, table_bytes, gathers, threads: 1, ..WORK }.pays_help());
            // Fewer are not asked about.
            assert!(least > PARALLEL_LANES);
            least
        };
        let (near, l2, l3) = (NEAR_BYTES, MESH.l2, MESH.near_l3());
        let sizes = [1, near, near + 1, l2 / 4, l2 / 4 + 1, l2, l2 + 1, l3, l3 + 1, usize::MAX];
        let pairs = |each: [usize; 5]| each.into_iter().flat_map(|least| [least; 2]).collect::<Vec<_>>();
        assert_eq!(sizes.map(|bytes| least(true, bytes)).to_vec(), pairs([334_000, 250_000, 167_000, 67_000, 40_000]));
        assert_eq!(
            sizes.map(|bytes| least(false, bytes)).to_vec(),
            pairs([1_000_000, 750_000, 231_000, 150_000, 75_000])
        );
        assert!(look_pays_help(1_000_000) && !look_pays_help(999_999));
        assert!(gathered_rows_pay_help(1_000_000) && !gathered_rows_pay_help(999_999));
        assert!(scattered_rows_pay_help(3_000_000) && !scattered_rows_pay_help(2_999_999));
    }

    #[test]
    fn gathers_are_sorted_where_the_last_level_is_far() {
        use Method::{Direct, Owned, Partitioned};
        let gather = |lanes, times: usize, threads| {
            spread(Work { threads, lanes, table_bytes: times << 20, gathers: true, merges: false, caches: MESH })
        };
        let filled = FILL_GATHERED / 32;
        assert_eq!((gather(filled, 32, 1), gather(filled - 1, 32, 1)), (Partitioned, Direct));
        assert_eq!((gather(2 * filled, 32, 2), gather(2 * filled - 2, 32, 2)), (Partitioned, Owned));
        assert_eq!((gather(1 << 30, SPILL + 1, 1), gather(1 << 30, SPILL, 1)), (Partitioned, Direct));
        assert_eq!(spread(Work { gathers: true, lanes: 1 << 30, caches: CHIPLET, ..WORK }), Owned);
    }

    #[test]
    fn several_threads_sort_more_parts_than_there_are_threads() {
        let parts = |lanes, threads| Work { lanes, threads, ..WORK }.sorted_parts();
        // Of a part and a bucket, in a table of 64 of these.
        let least = 64 * ROOMY_LANES;
        assert_eq!((parts(1, 2), parts(4 * least - 1, 2), parts(4 * least, 2)), (2, 2, 4));
        assert_eq!((parts(8 * least - 1, 2), parts(8 * least, 2), parts(usize::MAX, 2)), (6, 8, 8));
        assert_eq!((parts(usize::MAX, 1), parts(usize::MAX, 3), parts(16 * least, 8)), (1, 12, 16));
    }

    #[test]
    fn a_near_last_level_keeps_tables_at_hand() {
        use Method::{Direct, Owned, Partitioned};
        let work = Work { caches: CHIPLET, ..WORK };
        let near = CHIPLET.near_l3();
        assert!(near > CHIPLET.l2 * SPILL);
        assert_eq!(spread(Work { table_bytes: near + 1, ..work }), Partitioned);
        assert_eq!(spread(Work { table_bytes: near, ..work }), Owned);
        assert_eq!(spread(Work { table_bytes: near, threads: 1, ..work }), Direct);
        assert_eq!(spread(Work { lanes: PARTITION_LANES_NEAR, ..work }), Partitioned);
        assert_eq!(spread(Work { lanes: PARTITION_LANES_NEAR - 1, ..work }), Owned);
        assert_eq!(spread(Work { lanes: PARTITION_LANES_NEAR - 1, threads: 1, ..work }), Direct);
        let large = |lanes| spread(Work { lanes, table_bytes: 256 << 20, ..work });
        assert_eq!((large(1 << 22), large((1 << 22) - 1)), (Partitioned, Owned));
        // Its small second levels want more buckets, each with as many lanes.
        assert_eq!(spread(Work { lanes: 32 * 128 * BUCKET_LANES, threads: 32, ..work }), Partitioned);
        assert_eq!(spread(Work { lanes: 32 * 128 * BUCKET_LANES - 32, threads: 32, ..work }), Owned);
    }

    #[test]
    fn what_is_asked_for_depends_on_visits_a_line_and_the_second_level() {
        let (lines, in_order) = (WORK.table_bytes / LINE, |is_first, next| Asks::InOrder { is_first, next });
        let small = |lanes| Work { caches: CHIPLET, lanes, ..WORK };
        let large = |lanes| Work { caches: Caches::ZEN4, lanes, ..WORK };
        let asks = |work: Work, bucket| work.asks(bucket, 64);
        // Two threads with half of them each.
        let ordered =
            [(0, true, Some(1)), (30, false, Some(1)), (31, false, None), (32, true, Some(1)), (63, false, None)];
        for (bucket, is_first, next) in ordered {
            assert_eq!(asks(small(IN_ORDER * lines), bucket), in_order(is_first, next));
        }
        assert_eq!(asks(small(IN_ORDER * lines - 1), 0), Asks::Slots);
        assert_eq!(asks(large(IN_ORDER * lines), 0), Asks::Slots);
        let often = REVISITED * lines;
        assert_eq!((asks(small(often), 0), asks(large(often), 0)), (Asks::Nothing, Asks::Nothing));
        assert_eq!((asks(small(often - 1), 0), asks(large(often - 1), 0)), (in_order(true, Some(1)), Asks::Slots));
        assert_eq!(asks(Work { lanes: 1 << 40, ..WORK }, 0), Asks::Slots);
    }

    #[test]
    fn rows_are_streamed_beyond_the_second_level_or_half_of_one_that_is_reached() {
        let streamed = |caches: Caches, threads| {
            [1 << 20, (1 << 20) + 1, 16 << 20, (16 << 20) + 1].map(|bytes| pays_streaming_rows(caches, bytes, threads))
        };
        for threads in [1, 2, 8] {
            assert_eq!(streamed(Caches::ZEN4, threads), [false, true, true, true]);
            assert_eq!(streamed(Caches::ZEN5, threads), [false, threads == 1, threads == 1, true]);
        }
    }

    #[test]
    fn elements_are_streamed_beyond_the_second_level_but_not_from_a_table_that_is_waited_for() {
        let streamed = |caches: Caches, table| {
            [1 << 20, (1 << 20) + 1, usize::MAX].map(|bytes| pays_streaming_elements(caches, bytes, table))
        };
        for (table, is_near) in [(1 << 10, true), (16 << 20, true), ((16 << 20) + 1, false)] {
            assert_eq!(streamed(Caches::ZEN4, table), [false, true, true]);
            assert_eq!(streamed(Caches::ZEN5, table), [false, is_near, is_near]);
        }
    }

    #[test]
    fn small_tables_are_merged() {
        use Method::{Direct, Merged, Owned};
        let work = Work { merges: true, table_bytes: 1 << 20, caches: MESH, ..WORK };
        assert_eq!((spread(work), spread(Work { merges: false, ..work })), (Merged, Owned));
        // Each in a second-level cache, or all in half of what is near of the last level.
        assert_eq!(spread(Work { table_bytes: (1 << 20) + 1, ..work }), Owned);
        let chiplet = Work { caches: CHIPLET, ..work };
        assert_eq!(spread(Work { table_bytes: 2 << 20, ..chiplet }), Merged);
        assert_eq!(spread(Work { table_bytes: (2 << 20) + 1, ..chiplet }), Owned);
        assert_eq!(spread(Work { threads: 3, table_bytes: 2 << 20, ..chiplet }), Owned);
        // Lanes.
        assert_eq!(
            (spread(Work { lanes: 1 << 20, ..work }), spread(Work { lanes: (1 << 20) - 1, ..work })),
            (Merged, Owned)
        );
        let least = Work { table_bytes: NEAR_BYTES, lanes: 1_000_000, ..work };
        assert_eq!((spread(least), spread(Work { lanes: 999_999, ..least })), (Merged, Direct));
        assert_eq!(spread(Work { threads: 1, ..least }), Direct);
        // Whatever the skew.
        assert_eq!(least.method(Skew { sampled: 512, crowd: 512, repeats: 511, hottest: 512 }), Merged);
        assert_eq!(spread(Work { table_bytes: usize::MAX, ..work }), Method::Partitioned);
    }

    #[test]
    fn skew_keeps_lanes_in_place() {
        let skew = |crowd, repeats, hottest| WORK.method(Skew { sampled: 512, crowd, repeats, hottest });
        assert_eq!((skew(256, 0, 1), skew(257, 0, 1)), (Method::Partitioned, Method::Owned));
        assert_eq!((skew(8, 64, 1), skew(8, 65, 1)), (Method::Partitioned, Method::Owned));
        assert_eq!((skew(512, 511, 448), skew(512, 511, 449)), (Method::Owned, Method::Direct));
        let alone = Work { threads: 1, ..WORK };
        let one_slot = Skew { sampled: 512, crowd: 512, repeats: 511, hottest: 512 };
        assert_eq!(alone.method(one_slot), Method::Direct);
    }
}
