//! Holding a result against its golden.

use half::{bf16, f16};
use pto_isa::{ElementType, F8E4M3, F8E5M2, HiF8};

/// How two arrays are held against each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Comparison {
    pub(crate) element: ElementType,
    /// Any NaN equals any NaN: the payload bits after an atomic on floats are unspecified.
    pub(crate) any_nan: bool,
    /// Largest absolute difference, in element units; 0 is bit for bit.
    pub(crate) tolerance: f64,
}

impl Comparison {
    /// The first difference, as a sentence.
    pub(crate) fn difference(&self, golden: &[u8], actual: &[u8]) -> Option<String> {
        let size = self.element.size() as usize;
        let pairs = golden.chunks_exact(size).zip(actual.chunks_exact(size));
        let mut differing = pairs.enumerate().filter(|(_, (g, a))| !self.equal(g, a));
        let (position, (g, a)) = differing.next()?;
        let more = differing.count();
        let more = if more == 0 { String::new() } else { format!(" (and {more} more)") };
        let (golden, actual) = (self.value(g), self.value(a));
        Some(format!("element {position}: expected {golden} ({}), found {actual} ({}){more}", hex(g), hex(a)))
    }

    pub(crate) fn equal(&self, golden: &[u8], actual: &[u8]) -> bool {
        if golden == actual {
            return true;
        }
        let (golden, actual) = (self.value(golden), self.value(actual));
        (self.any_nan && golden.is_nan() && actual.is_nan())
            || (self.tolerance > 0.0 && (golden - actual).abs() <= self.tolerance)
    }

    fn value(&self, bytes: &[u8]) -> f64 {
        let mut padded = [0; 8];
        padded[..bytes.len()].copy_from_slice(bytes);
        let bits = u64::from_le_bytes(padded);
        match self.element {
            ElementType::I8 => f64::from(bits as i8),
            ElementType::U8 => f64::from(bits as u8),
            ElementType::I16 => f64::from(bits as i16),
            ElementType::U16 => f64::from(bits as u16),
            ElementType::I32 => f64::from(bits as i32),
            ElementType::U32 => f64::from(bits as u32),
            ElementType::I64 => bits as i64 as f64,
            ElementType::U64 => bits as f64,
            ElementType::F16 => f16::from_bits(bits as u16).to_f64(),
            ElementType::BF16 => bf16::from_bits(bits as u16).to_f64(),
            ElementType::F32 => f64::from(f32::from_bits(bits as u32)),
            ElementType::F64 => f64::from_bits(bits),
            ElementType::F8E4M3 => f64::from(F8E4M3::from_bits(bits as u8).to_f32()),
            ElementType::F8E5M2 => f64::from(F8E5M2::from_bits(bits as u8).to_f32()),
            ElementType::HiF8 => f64::from(HiF8::from_bits(bits as u8).to_f32()),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().rev().map(|b| format!("{b:02x}")).collect();
    format!("0x{digits}")
}
