//! The instructions with operands to read and one to write: one reading for all spellings.
//!
//! | spelling | read | written |
//! | --- | --- | --- |
//! | `pto.mgather ins(%m, %i : A, B) outs(%d : C)` | `ins` | `outs` |
//! | `%d = pto.mgather %m, %i : (A, B) -> C` | operands | the result: a tile allocated there |
//! | `pto.mscatter %s, %i, %m : (A, B, C) -> ()` | all operands but the view | the view |
//! | `mscatter.row %m, %s, %i`, `mscatter %s, %m, %i` | the same | the same |

use pto_ir::{OpKind, Type, TypeId, ValueId};
use pto_isa::{Atomic, Coalesce, Conflict, MaskPattern, OutOfBounds, Policy, Tile};

use super::call::{Arg, Call, values};
use super::name::Enumerator;
use super::{Elaborator, count};
use crate::diagnostic::Diagnostic;
use crate::regular::{Regular, Signature};
use crate::rules;
use crate::syntax::Kind;

impl<'t> Elaborator<'t> {
    pub(super) fn instruction(&mut self, call: &Call<'t>) -> Option<OpKind> {
        let name = call.op.name();
        let signature = Signature::of(name.strip_prefix("pto.").unwrap_or(name).split('.').next().unwrap_or(name))?;
        let (mut ins, outs) = match call.ins {
            Some(ins) => (values(ins), call.outs.map_or_else(Vec::new, values)),
            None => (call.typed_operands(), Vec::new()),
        };
        self.check_types(call)?;
        self.table_first(call, &mut ins);
        let mut read: Vec<ValueId> = ins.iter().map(|arg| self.value(*arg)).collect();
        let mut written: Vec<ValueId> = outs.iter().map(|arg| self.value(*arg)).collect();
        let mask = self.mask(call)?;
        let policy = self.policy(call, signature);
        let has_result = call.op.results().next().is_some();
        if has_result && (call.ins.is_some() || !signature.writes_tile) {
            return self.malformed(call, "expected no result: it writes one of its operands");
        }
        let extents = ["valid_row", "valid_col"].into_iter().find_map(|key| call.entry(key));
        if let (Some(entry), false) = (extents, has_result) {
            let message = format!("`{}` takes `{}` only where it defines its tile", call.op.name(), entry.name());
            let found = Diagnostic::new(&rules::ATTRIBUTE, message).at(entry.key.span());
            self.report(found.with_help("give the valid extents where the tile is allocated"));
        }
        if has_result {
            self.arrange(signature, &mut read);
            self.operand_count(call, signature, read.len(), mask)?;
            let ty = self.tile_type(call, signature, &read)?;
            written = vec![self.allocated(call, ty)?];
        } else if call.ins.is_none() {
            self.operand_count(call, signature, read.len().saturating_sub(1), mask)?;
            written = vec![self.written_operand(call, signature, &mut read)?];
        } else {
            self.operand_count(call, signature, read.len(), mask)?;
        }
        let [out] = written[..] else {
            let message = format!("expected one value in `outs(...)`, found {}", written.len());
            return self.malformed(call, message);
        };
        let regular = Regular { name: signature.name, ins: read, out, policy, mask };
        regular.into_op()
    }

    /// In every form with types, there is one for each value.
    fn check_types(&mut self, call: &Call<'t>) -> Option<()> {
        let lists = [call.ins, call.outs].into_iter().flatten().map(|group| {
            let values = group.node().children().filter(|term| term.kind() == Kind::Value).count();
            (values, group.types().len(), group.node().span())
        });
        let plain = (call.ins.is_none()).then(|| (call.operands.len(), call.types.len(), call.op.name_span()));
        let mut sound = Some(());
        for (values, types, span) in lists.chain(plain).collect::<Vec<_>>() {
            if types != 0 && types != values {
                let message = format!(
                    "`{}`: expected {} for {}, found {types}",
                    call.op.name(),
                    count(values, "type"),
                    count(values, "operand")
                );
                self.report(Diagnostic::new(&rules::OPERANDS, message).at(span));
                sound = None;
            }
        }
        sound
    }

    /// The un-suffixed `mscatter %src, %mem, %idx` lists its types in another order: memory, source, index.
    fn table_first(&mut self, call: &Call<'t>, args: &mut [Arg<'t>]) {
        let [first, second, _] = args else { return };
        if call.ins.is_some() || !call.op.name().starts_with("mscatter") {
            return;
        }
        let (Some(a), Some(b)) = (first.ty, second.ty) else { return };
        let memory = |this: &mut Self, node| {
            let id = this.read_type(node);
            matches!(this.ty(id), Type::View(_))
        };
        let unsuffixed = call.suffixes.is_empty() && memory(self, a) && !memory(self, b);
        if unsuffixed && !matches!(self.visible_type(first.node), Some(Type::View(_))) {
            (first.ty, second.ty) = (Some(b), Some(a));
        }
    }

    fn is_memory(&self, value: ValueId) -> bool {
        matches!(self.type_of(value), Type::View(_) | Type::Pointer(_) | Type::Group(_))
    }

    /// Puts the table of a gather first, where its operands are written the other way round.
    fn arrange(&self, signature: &Signature, read: &mut [ValueId]) {
        if let ("mgather", [first, second]) = (signature.name, read)
            && !self.is_memory(*first)
            && self.is_memory(*second)
        {
            std::mem::swap(first, second);
        }
    }

    /// Takes the operand that is written out of all operands of a form without `outs(...)`.
    fn written_operand(&mut self, call: &Call<'t>, signature: &Signature, read: &mut Vec<ValueId>) -> Option<ValueId> {
        if read.is_empty() {
            return self.malformed(call, "expected operands, found none");
        }
        let memory: Vec<usize> = (0..read.len()).filter(|at| self.is_memory(read[*at])).collect();
        let at = match memory[..] {
            // What goes to memory is written there, wherever the operand stands.
            [at] if !signature.writes_tile => at,
            // PTO-AS writes it first behind suffixes, and second without.
            _ if call.op.name().starts_with("mscatter") => usize::from(call.suffixes.is_empty()).min(read.len() - 1),
            // The generic form of TSCATTER has its destination before the index.
            _ if call.op.is_generic() && signature.name == "tscatter" => 1.min(read.len() - 1),
            _ => read.len() - 1,
        };
        Some(read.remove(at))
    }

    fn operand_count(
        &mut self,
        call: &Call<'t>,
        signature: &Signature,
        found: usize,
        mask: Option<MaskPattern>,
    ) -> Option<()> {
        let expected = if mask.is_some() { 1 } else { signature.reads };
        if found == expected {
            return Some(());
        }
        let roles = &signature.roles[..expected.min(signature.roles.len())];
        let message = format!("expected {} to read ({}), found {found}", count(expected, "operand"), roles.join(", "));
        self.malformed(call, message)
    }

    /// The tile that an instruction defines: allocated directly before it.
    fn allocated(&mut self, call: &Call<'t>, ty: TypeId) -> Option<ValueId> {
        let valid_rows = self.optional(call, "valid_row")?;
        let valid_cols = self.optional(call, "valid_col")?;
        let result = self.result(call, ty)?;
        let alloc = OpKind::AllocTile { result, address: None, valid_rows, valid_cols };
        self.push(alloc, call.op.name_span());
        Some(result)
    }

    /// The type of the tile that an instruction defines. Where the text leaves it out, as 004 does, the operands say it.
    fn tile_type(&mut self, call: &Call<'t>, signature: &Signature, read: &[ValueId]) -> Option<TypeId> {
        if let Some(ty) = call.result_types.first() {
            return Some(self.read_type(*ty));
        }
        let types: Vec<&Type> = read.iter().map(|value| self.type_of(*value)).collect();
        let tile = match (signature.name, types.as_slice()) {
            ("tmov" | "tscatter", [Type::Tile(src), ..]) => Some(*src),
            ("mgather", [Type::View(table), Type::Tile(idx)]) => {
                let columns = if idx.cols == 1 { table.shape.last().copied().flatten() } else { Some(idx.cols) };
                columns.map(|cols| Tile::new(table.element, idx.rows, cols))
            }
            _ => None,
        };
        match tile {
            Some(tile) => Some(self.module.types.intern(Type::Tile(tile))),
            None => self.malformed(call, "expected the type of its result behind `->`, found none"),
        }
    }

    /// The mask pattern of a tile scatter; the outer `None` if it could not be read.
    fn mask(&mut self, call: &Call<'t>) -> Option<Option<MaskPattern>> {
        match call.attribute("maskPattern").and_then(|entry| entry.value) {
            Some(value) => self.take(MaskPattern::read(value)).map(Some),
            None => Some(None),
        }
    }

    /// The policies, from attributes and from the suffixes of PTO-AS.
    fn policy(&mut self, call: &Call<'t>, signature: &Signature) -> Policy {
        let mut policy = Policy::default();
        for entry in &call.attributes {
            let Some(value) = entry.value else { continue };
            match entry.name() {
                "coalesce" => policy.coalesce = self.take(Coalesce::read(value)),
                "gatherOob" | "scatterOob" => policy.oob = self.take(OutOfBounds::read(value)),
                "scatterAtomicOp" => policy.atomic = self.take(Atomic::read(value)),
                "scatterConflict" => policy.conflict = self.take(Conflict::read(value)),
                _ => {}
            }
        }
        for suffix in call.suffixes.split('.').filter(|suffix| !suffix.is_empty()) {
            self.suffix(call, signature, suffix, &mut policy);
        }
        policy
    }

    fn suffix(&mut self, call: &Call<'t>, signature: &Signature, suffix: &str, policy: &mut Policy) {
        let atomic = suffix.strip_prefix("atomic_").and_then(Atomic::named);
        let twice = if let Some(mode) = Coalesce::named(suffix) {
            policy.coalesce.replace(mode).is_some()
        } else if let Some(oob) = OutOfBounds::named(suffix) {
            policy.oob.replace(oob).is_some()
        } else if let Some(atomic) = atomic {
            policy.atomic.replace(atomic).is_some()
        } else if let Some(conflict) = Conflict::named(suffix) {
            policy.conflict.replace(conflict).is_some()
        } else {
            let message = format!("`{}` has no suffix `.{suffix}`", signature.name);
            let mut found = Diagnostic::new(&rules::ENUMERATOR, message).at(call.op.name_span());
            if let Some(near) = crate::suggest(suffix, SUFFIXES) {
                found = found.with_help(format!("did you mean `.{near}`?"));
            } else {
                found = found.with_help(format!("the suffixes are .{}", SUFFIXES.join(", .")));
            }
            return self.report(found);
        };
        if twice {
            let message =
                format!("`{}`: expected one policy of each kind, found `.{suffix}` besides another", call.op.name());
            self.report(Diagnostic::new(&rules::ENUMERATOR, message).at(call.op.name_span()));
        }
    }
}

const SUFFIXES: [&str; 13] = [
    "row",
    "elem",
    "undefined",
    "skip",
    "clamp",
    "wrap",
    "zero",
    "atomic_none",
    "atomic_add",
    "atomic_max",
    "atomic_min",
    "last",
    "default",
];
