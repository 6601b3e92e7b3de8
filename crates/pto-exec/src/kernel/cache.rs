//! The caches of this machine, read once, and what they say about it.
//!
//! Everything was measured on machines of these kinds (`docs/performance.md`): those whose cores have a large second-level cache
//! of their own and share a last level with many others, far away (a mesh: Sapphire and Emerald Rapids, Ice Lake servers), and those whose
//! cores share a last level with few others, close by (a chiplet), with a small second level (Zen 3) or a large one (Zen 4), and of these the
//! ones with a large first level, too (Zen 5).

use std::fs::read_to_string;
use std::sync::OnceLock;

use crate::kernel::buckets::{LEAST_BUCKETS, MOST_BUCKETS};

/// Sizes of the data caches in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Caches {
    /// First level: a core's own.
    pub(crate) l1: usize,
    /// Second level: a core's own.
    pub(crate) l2: usize,
    /// Last level: shared. What a core can count on is less.
    pub(crate) l3: usize,
    /// The last level is that of a few cores on one chip of several, however large it is.
    pub(crate) is_chiplet: bool,
}

/// The largest last level of cores on a ring, where it is near to all of them.
const LARGEST_RING: usize = 36 << 20;

impl Caches {
    /// What most machines of the last ten years have at least; used where the machine does not say.
    pub(crate) const USUAL: Self = Self { l1: 32 << 10, l2: 1 << 20, l3: 16 << 20, is_chiplet: false };

    /// The caches of the first core.
    pub(crate) fn get() -> Self {
        static CACHES: OnceLock<Caches> = OnceLock::new();
        *CACHES.get_or_init(|| Self::read("/sys/devices/system/cpu/cpu0/cache").unwrap_or(Self::USUAL))
    }

    /// True if the last level is one of many cores: reaching it takes so long that what is there is as good as in memory.
    pub(crate) fn is_l3_far(&self) -> bool {
        !self.is_chiplet && (self.l3 > self.l2.saturating_mul(64) || self.l3 > LARGEST_RING)
    }

    /// True if the last level is near and the second one large: lines that are asked for into it come in time and stay there. So
    /// they do on Zen 4, and are taken to do wherever caches are of these sizes; on Zen 3 that was not so, or not tried.
    pub(crate) fn brings_in_time(&self) -> bool {
        !self.is_l3_far() && self.is_l2_large()
    }

    /// True if, besides, a core keeps so many loads and stores under way that it waits for no slot of the last level, asked for or
    /// not; what it waits for are lanes and values from further away. So it is on Zen 5, which is told from Zen 4 by its larger
    /// first level.
    pub(crate) fn reaches_l3(&self) -> bool {
        self.brings_in_time() && self.is_chiplet && self.l1 > 32 << 10
    }

    /// Lanes between asking for lanes and values and carrying them out, where many follow each other.
    pub(crate) fn passing_lanes(&self) -> usize {
        if self.reaches_l3() { 1024 } else { 256 }
    }

    fn is_l2_large(&self) -> bool {
        self.l2 >= 1 << 20
    }

    /// Bytes of a table that is at hand in the last level, whatever else is.
    pub(crate) fn near_l3(&self) -> usize {
        if self.brings_in_time() { self.l3 / 2 } else { (self.l3 / 4).min(8 << 20) }
    }

    /// Into how many parts a table of so many bytes is sorted. A part should fit the second-level cache, and leave room for what
    /// passes through it; but with twice as many write streams sorting takes longer, where the second level is large and the
    /// last one far a sixth to a half (`docs/performance.md`).
    pub(crate) fn buckets(&self, table_bytes: usize) -> usize {
        if self.is_l3_far() && self.is_l2_large() {
            return LEAST_BUCKETS;
        }
        let parts = table_bytes.div_ceil(self.l2.clamp(1, 512 << 10)).min(MOST_BUCKETS);
        parts.next_power_of_two().max(LEAST_BUCKETS)
    }

    /// Reads Linux's description of the caches of a core.
    fn read(directory: &str) -> Option<Self> {
        let level = |wanted: u32| {
            (0..8).find_map(|i| {
                let entry = |name: &str| read_to_string(format!("{directory}/index{i}/{name}")).ok();
                let level: u32 = entry("level")?.trim().parse().ok()?;
                let holds_data = entry("type")?.trim() != "Instruction";
                (level == wanted && holds_data).then(|| size(entry("size")?.trim()))?
            })
        };
        let (l1, l2) = (level(1).unwrap_or(Self::USUAL.l1), level(2)?);
        Some(Self { l1, l2, l3: level(3).unwrap_or(l2), is_chiplet: is_chiplet() })
    }
}

/// True if the machine is one of AMD's, or of the same design.
fn is_chiplet() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        let vendor = core::arch::x86_64::__cpuid(0);
        let name = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes);
        matches!(name.as_flattened(), b"AuthenticAMD" | b"HygonGenuine")
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// `2048K` or `30M` in bytes.
fn size(text: &str) -> Option<usize> {
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let unit = match unit {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<usize>().ok()?.checked_mul(unit)
}

/// A machine of each kind that was measured.
#[cfg(test)]
impl Caches {
    pub(crate) const MESH: Self = Self { l1: 48 << 10, l2: 2 << 20, l3: 260 << 20, is_chiplet: false };
    pub(crate) const SMALL_MESH: Self = Self { l1: 48 << 10, l2: 1280 << 10, l3: 48 << 20, is_chiplet: false };
    pub(crate) const ZEN3: Self = Self { l1: 32 << 10, l2: 512 << 10, l3: 32 << 20, is_chiplet: true };
    pub(crate) const ZEN4: Self = Self { l2: 1 << 20, ..Self::ZEN3 };
    pub(crate) const ZEN5: Self = Self { l1: 48 << 10, ..Self::ZEN4 };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units() {
        assert_eq!(size("48K"), Some(48 << 10));
        assert_eq!(size("260M"), Some(260 << 20));
        assert_eq!(size("512"), Some(512));
        assert_eq!((size("1T"), size(""), size("K")), (None, None, None));
        assert_eq!(Caches::read("no such place"), None);
        assert!(Caches::get().l2 > 0);
    }

    #[test]
    fn kinds_of_machines_are_told_apart() {
        let all = [Caches::MESH, Caches::SMALL_MESH, Caches::ZEN3, Caches::ZEN4, Caches::ZEN5, Caches::USUAL];
        assert_eq!(all.map(|caches| caches.is_l3_far()), [true, true, false, false, false, false]);
        assert_eq!(all.map(|caches| caches.near_l3() >> 20), [8, 8, 8, 16, 16, 8]);
        assert_eq!(all.map(|caches| caches.brings_in_time()), [false, false, false, true, true, true]);
        assert_eq!(all.map(|caches| caches.reaches_l3()), [false, false, false, false, true, false]);
        assert_eq!(all.map(|caches| caches.passing_lanes()), [256, 256, 256, 256, 1024, 256]);
        assert!(!Caches { l3: LARGEST_RING, ..Caches::SMALL_MESH }.is_l3_far());
        assert!(!Caches { l3: 96 << 20, ..Caches::ZEN3 }.is_l3_far());
        let buckets = |caches: Caches| [16, 32, 64, 65, 256, 1024].map(|mega| caches.buckets(mega << 20));
        assert_eq!(buckets(Caches::MESH), [64; 6]);
        let small = Caches { l2: 256 << 10, l3: 35 << 20, ..Caches::MESH };
        for caches in [small, Caches::ZEN3, Caches::ZEN4, Caches::ZEN5, Caches::USUAL] {
            let sizes = if caches == small { [64, 128, 128, 128, 128, 128] } else { [64, 64, 128, 128, 128, 128] };
            assert_eq!(buckets(caches), sizes, "{caches:?}");
        }
        assert_eq!(Caches { l2: 0, l3: 0, ..Caches::MESH }.buckets(usize::MAX), 128);
    }
}
