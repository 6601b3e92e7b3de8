//! The caches of this machine, read once, and what they say about it.
//!
//! Everything was measured on machines of these kinds (`docs/performance.md`): those whose cores have a large second-level cache
//! of their own and share a last level with many others, far away (a mesh: Sapphire and Emerald Rapids, Ice Lake servers), and those whose
//! cores share a last level with few others, close by (a chiplet), with a small second level (Zen 3) or a large one (Zen 4).

use std::fs::read_to_string;
use std::sync::OnceLock;

use crate::kernel::buckets::{LEAST_BUCKETS, MOST_BUCKETS};

/// Sizes of the data caches in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Caches {
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
    pub(crate) const USUAL: Self = Self { l2: 1 << 20, l3: 16 << 20, is_chiplet: false };

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
        let l2 = level(2)?;
        Some(Self { l2, l3: level(3).unwrap_or(l2), is_chiplet: is_chiplet() })
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
    fn two_kinds_of_machines_are_told_apart() {
        let mesh = Caches { l2: 2 << 20, l3: 260 << 20, is_chiplet: false };
        let small_mesh = Caches { l2: 1280 << 10, l3: 48 << 20, is_chiplet: false };
        let chiplet = Caches { l2: 512 << 10, l3: 32 << 20, is_chiplet: true };
        assert!(small_mesh.is_l3_far() && !Caches { l3: LARGEST_RING, ..small_mesh }.is_l3_far());
        assert!(!Caches { l3: 96 << 20, ..chiplet }.is_l3_far());
        assert_eq!((mesh.is_l3_far(), mesh.near_l3()), (true, 8 << 20));
        assert_eq!((chiplet.is_l3_far(), chiplet.near_l3()), (false, 8 << 20));
        assert_eq!((Caches::USUAL.is_l3_far(), Caches::USUAL.near_l3()), (false, 8 << 20));
        let large = Caches { l2: 1 << 20, ..chiplet };
        assert_eq!((large.is_l3_far(), large.near_l3()), (false, 16 << 20));
        assert_eq!(
            [mesh, small_mesh, chiplet, large].map(|caches| caches.brings_in_time()),
            [false, false, false, true]
        );
        let buckets = |caches: Caches| [16, 32, 64, 65, 256, 1024].map(|mega| caches.buckets(mega << 20));
        assert_eq!(buckets(mesh), [64; 6]);
        assert_eq!(buckets(Caches { l2: 256 << 10, l3: 35 << 20, is_chiplet: false }), [64, 128, 128, 128, 128, 128]);
        assert_eq!(buckets(chiplet), [64, 64, 128, 128, 128, 128]);
        assert_eq!(buckets(Caches { l2: 1 << 20, ..chiplet }), [64, 64, 128, 128, 128, 128]);
        assert_eq!(buckets(Caches::USUAL), [64, 64, 128, 128, 128, 128]);
        assert_eq!(Caches { l2: 0, l3: 0, is_chiplet: false }.buckets(usize::MAX), 128);
    }
}
