//! The instructions that every spelling writes alike: operands to read, one to write, policies.
//!
//! One table for reading and writing: what [`Regular::into_op`] makes of the parts, [`Regular::of`] takes apart again.

use pto_ir::{OpKind, ValueId};
use pto_isa::{MaskPattern, Policy};

/// What an instruction reads and writes.
pub(crate) struct Signature {
    pub(crate) name: &'static str,
    /// Operands that it reads, in the order of `ins(...)`.
    pub(crate) reads: usize,
    /// What they are, for messages.
    pub(crate) roles: &'static [&'static str],
    /// Whether it writes a tile, which SSA spellings define there, or memory.
    pub(crate) writes_tile: bool,
}

static SIGNATURES: [Signature; 6] = [
    Signature { name: "mgather", reads: 2, roles: &["table", "idx"], writes_tile: true },
    Signature { name: "mscatter", reads: 2, roles: &["src", "idx"], writes_tile: false },
    Signature { name: "tload", reads: 1, roles: &["src"], writes_tile: true },
    Signature { name: "tmov", reads: 1, roles: &["src"], writes_tile: true },
    Signature { name: "tscatter", reads: 2, roles: &["src", "idx"], writes_tile: true },
    Signature { name: "tstore", reads: 1, roles: &["src"], writes_tile: false },
];

impl Signature {
    /// The signature of an instruction by its name without prefix.
    pub(crate) fn of(name: &str) -> Option<&'static Self> {
        SIGNATURES.iter().find(|signature| signature.name == name)
    }
}

/// An instruction as all spellings see it.
pub(crate) struct Regular {
    pub(crate) name: &'static str,
    pub(crate) ins: Vec<ValueId>,
    pub(crate) out: ValueId,
    pub(crate) policy: Policy,
    pub(crate) mask: Option<MaskPattern>,
}

impl Regular {
    /// The parts of an instruction; `None` for other operations.
    pub(crate) fn of(op: &OpKind) -> Option<Self> {
        let plain = |name, ins: &[ValueId], out: &ValueId| Self {
            name,
            ins: ins.to_vec(),
            out: *out,
            policy: Policy::default(),
            mask: None,
        };
        Some(match op {
            OpKind::Load { src, dst } => plain("tload", &[*src], dst),
            OpKind::Store { src, dst } => plain("tstore", &[*src], dst),
            OpKind::Move { src, dst } => plain("tmov", &[*src], dst),
            OpKind::MGather { dst, table, idx, policy } => {
                Self { policy: *policy, ..plain("mgather", &[*table, *idx], dst) }
            }
            OpKind::MScatter { table, src, idx, policy } => {
                Self { policy: *policy, ..plain("mscatter", &[*src, *idx], table) }
            }
            OpKind::TScatter { dst, src, idx } => plain("tscatter", &[*src, *idx], dst),
            OpKind::TScatterMask { dst, src, pattern } => {
                Self { mask: Some(*pattern), ..plain("tscatter", &[*src], dst) }
            }
            _ => return None,
        })
    }

    /// The instruction that the parts make; `None` if their number does not fit.
    pub(crate) fn into_op(self) -> Option<OpKind> {
        let Self { out, policy, .. } = self;
        Some(match (self.name, self.ins.as_slice(), self.mask) {
            ("tload", [src], None) => OpKind::Load { src: *src, dst: out },
            ("tstore", [src], None) => OpKind::Store { src: *src, dst: out },
            ("tmov", [src], None) => OpKind::Move { src: *src, dst: out },
            ("mgather", [table, idx], None) => OpKind::MGather { dst: out, table: *table, idx: *idx, policy },
            ("mscatter", [src, idx], None) => OpKind::MScatter { table: out, src: *src, idx: *idx, policy },
            ("tscatter", [src, idx], None) => OpKind::TScatter { dst: out, src: *src, idx: *idx },
            ("tscatter", [src], Some(pattern)) => OpKind::TScatterMask { dst: out, src: *src, pattern },
            _ => return None,
        })
    }
}
