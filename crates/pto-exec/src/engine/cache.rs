//! The cache sizes of this machine, read once.

use std::fs::read_to_string;
use std::sync::OnceLock;

/// Sizes of the data caches in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Caches {
    /// Second level: a core's own.
    pub(crate) l2: usize,
    /// Last level: shared. What a core can count on is less.
    pub(crate) l3: usize,
}

impl Caches {
    /// What most machines of the last ten years have at least; used where the machine does not say.
    pub(crate) const USUAL: Self = Self { l2: 1 << 20, l3: 16 << 20 };

    /// The caches of the first core.
    pub(crate) fn get() -> Self {
        static CACHES: OnceLock<Caches> = OnceLock::new();
        *CACHES.get_or_init(|| Self::read("/sys/devices/system/cpu/cpu0/cache").unwrap_or(Self::USUAL))
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
        Some(Self { l2, l3: level(3).unwrap_or(l2) })
    }
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
}
