//! Operations as each spelling writes them.

use pto_ir::{Arithmetic, Collective, Constant, Extend, Flag, For, If, Op, OpKind, Operand, Type, ValueId};
use pto_isa::{Direction, ElementType, Policy, bf16, f16};

use super::{Form, Writer};
use crate::elaborate::PREDICATES;
use crate::regular::{Regular, Signature};

/// The names of integer arithmetic.
const ARITHMETIC: [(Arithmetic, &str); 20] = [
    (Arithmetic::Add, "addi"),
    (Arithmetic::Sub, "subi"),
    (Arithmetic::Mul, "muli"),
    (Arithmetic::Div, "divsi"),
    (Arithmetic::Rem, "remsi"),
    (Arithmetic::Max, "maxsi"),
    (Arithmetic::Min, "minsi"),
    (Arithmetic::And, "andi"),
    (Arithmetic::Or, "ori"),
    (Arithmetic::Xor, "xori"),
    (Arithmetic::CeilDiv, "ceildivsi"),
    (Arithmetic::FloorDiv, "floordivsi"),
    (Arithmetic::DivUnsigned, "divui"),
    (Arithmetic::RemUnsigned, "remui"),
    (Arithmetic::CeilDivUnsigned, "ceildivui"),
    (Arithmetic::MaxUnsigned, "maxui"),
    (Arithmetic::MinUnsigned, "minui"),
    (Arithmetic::ShiftLeft, "shli"),
    (Arithmetic::ShiftRight, "shrsi"),
    (Arithmetic::ShiftRightUnsigned, "shrui"),
];

impl<'m> Writer<'m> {
    pub(super) fn name(&self, value: ValueId) -> String {
        format!("%{}", self.names.get(value.0 as usize).map_or("?", String::as_str))
    }

    pub(super) fn type_of(&mut self, value: ValueId) -> String {
        match self.function.and_then(|function| function.values.get(value.0 as usize)) {
            Some(value) => self.types.of(&self.module.types, value.ty, self.form),
            None => "none".into(),
        }
    }

    fn ir_type(&self, value: ValueId) -> Option<&'m Type> {
        let value = self.function?.values.get(value.0 as usize)?;
        Some(self.module.types.get(value.ty))
    }

    fn operand(&self, operand: Operand) -> String {
        match operand {
            Operand::Value(value) => self.name(value),
            Operand::Number(number) => number.to_string(),
        }
    }

    fn operands(&self, operands: &[Operand]) -> String {
        operands.iter().map(|operand| self.operand(*operand)).collect::<Vec<_>>().join(", ")
    }

    fn values(&self, values: &[ValueId]) -> String {
        values.iter().map(|value| self.name(*value)).collect::<Vec<_>>().join(", ")
    }

    fn types(&mut self, values: &[ValueId]) -> String {
        values.iter().map(|value| self.type_of(*value)).collect::<Vec<_>>().join(", ")
    }

    /// `%a : T`, or nothing.
    fn typed(&mut self, values: &[ValueId]) -> String {
        if values.is_empty() { String::new() } else { format!(" {} : {}", self.values(values), self.types(values)) }
    }

    /// The name of an operation of the dialect: PTO-AS leaves the prefix out.
    fn dialect(&self, name: &str) -> String {
        if self.form == Form::As { name.into() } else { format!("pto.{name}") }
    }

    pub(super) fn op(&mut self, op: &'m Op) {
        if let OpKind::AllocTile { result, .. } = op.kind
            && self.defined.contains(result)
        {
            // The instruction that writes it defines it.
            return;
        }
        self.comments_up_to(op.place.start);
        if let Some(regular) = Regular::of(&op.kind) {
            let text = self.regular(&regular);
            return self.line(&text);
        }
        match &op.kind {
            OpKind::For(inner) => self.for_loop(op, inner),
            OpKind::If(inner) => self.conditional(op, inner),
            OpKind::Unknown(unknown) => {
                let message =
                    format!("`{}` is not part of this instruction set, and cannot be written anew", unknown.name);
                self.refuse(op.place, message);
            }
            kind => {
                let text = self.plain(kind);
                self.line(&text);
            }
        }
    }

    /// An instruction in the form of the spelling.
    fn regular(&mut self, regular: &Regular) -> String {
        let Regular { name, ins, out, policy, mask } = regular;
        let writes_tile = Signature::of(name).is_some_and(|signature| signature.writes_tile);
        let mask = mask.map(|pattern| format!("{{maskPattern = #pto.mask_pattern<{pattern}>}}"));
        if !self.form.defines_tiles() {
            let (values, types) = (self.values(ins), self.types(ins));
            let (out_name, out_type) = (self.name(*out), self.type_of(*out));
            let ins = match mask {
                Some(mask) => format!("{values}, {mask} : {types}, \"row\""),
                None => format!("{values} : {types}"),
            };
            return format!("pto.{name} ins({ins}) outs({out_name} : {out_type}){}", attributes(name, *policy));
        }
        let suffixes = if self.form == Form::As { suffixes(*policy) } else { String::new() };
        let attributes = match (self.form, mask) {
            (_, Some(mask)) => format!(" {mask}"),
            (Form::As, None) => String::new(),
            (_, None) => attributes(name, *policy),
        };
        if writes_tile {
            let result = self.name(*out);
            let valid = ["valid_row", "valid_col"].into_iter().zip(self.defined.valid(*out));
            let given = valid.filter_map(|(key, extent)| Some(format!(", {key} = {}", self.operand(extent?))));
            let attributes = given.collect::<String>() + &attributes;
            let (values, types, ty) = (self.values(ins), self.types(ins), self.type_of(*out));
            return format!("{result} = {}{suffixes} {values}{attributes} : ({types}) -> {ty}", self.dialect(name));
        }
        let [src, idx] = ins[..] else {
            let both = [ins.as_slice(), &[*out]].concat();
            let arrow = if self.form == Form::As { "" } else { " -> ()" };
            return format!("{} {} : ({}){arrow}", self.dialect(name), self.values(&both), self.types(&both));
        };
        match (self.form, suffixes.is_empty()) {
            // Without suffixes PTO-AS has the source first, and the types in another order.
            (Form::As, true) => {
                let (values, types) = (self.values(&[src, *out, idx]), self.types(&[*out, src, idx]));
                format!("{name} {values} : {types}")
            }
            (Form::As, false) => {
                let order = [*out, src, idx];
                format!("{name}{suffixes} {} : ({})", self.values(&order), self.types(&order))
            }
            _ => {
                let order = [src, idx, *out];
                format!("pto.{name} {}{attributes} : ({}) -> ()", self.values(&order), self.types(&order))
            }
        }
    }

    fn plain(&mut self, kind: &OpKind) -> String {
        let own = |writer: &Self, name: &str| writer.dialect(name);
        match kind {
            OpKind::Yield(values) => format!("scf.yield{}", self.typed(values)),
            OpKind::Return(values) => format!("return{}", self.typed(values)),
            OpKind::MakeView { result, pointer, shape, strides, layout } => {
                let strides = if strides.is_empty() {
                    String::new()
                } else {
                    format!(", strides = [{}]", self.operands(strides))
                };
                let layout = layout.map_or_else(String::new, |layout| format!(" {{layout = #pto.layout<{layout}>}}"));
                let (name, ty) = (own(self, "make_tensor_view"), self.type_of(*result));
                let (result, pointer, shape) = (self.name(*result), self.name(*pointer), self.operands(shape));
                format!("{result} = {name} {pointer}, shape = [{shape}]{strides}{layout} : {ty}")
            }
            OpKind::PartitionView { result, view, offsets, sizes } => {
                let (name, from, to) = (own(self, "partition_view"), self.type_of(*view), self.type_of(*result));
                let (offsets, sizes) = (self.operands(offsets), self.operands(sizes));
                let (result, view) = (self.name(*result), self.name(*view));
                format!("{result} = {name} {view}, offsets = [{offsets}], sizes = [{sizes}] : {from} -> {to}")
            }
            OpKind::MakeGroup { result, members } => {
                let (name, types, ty) = (own(self, "make_group"), self.types(members), self.type_of(*result));
                format!("{} = {name} {} : ({types}) -> {ty}", self.name(*result), self.values(members))
            }
            OpKind::AllocTile { result, address, valid_rows, valid_cols } => {
                let keys = [("addr", address), ("valid_row", valid_rows), ("valid_col", valid_cols)];
                let given =
                    keys.iter().filter_map(|(key, operand)| Some(format!(" {key} = {}", self.operand((**operand)?))));
                let given: String = given.collect();
                let ty = self.type_of(*result);
                format!("{} = {}{given} : {ty}", self.name(*result), own(self, "alloc_tile"))
            }
            OpKind::Assign { tile, address } => {
                let (name, tile_name) = (own(self, "tassign"), self.name(*tile));
                match address {
                    Operand::Number(address) => format!("{name} {tile_name}, @tile(0x{address:x})"),
                    Operand::Value(value) => {
                        let (ty, of) = (self.type_of(*tile), self.type_of(*value));
                        format!("{name} {tile_name}, {} : {ty}, {of}", self.name(*value))
                    }
                }
            }
            OpKind::Subview { result, source, offsets, sizes } => {
                let (name, from, to) = (own(self, "subview"), self.type_of(*source), self.type_of(*result));
                let (offsets, sizes) = (self.operands(offsets), self.operands(sizes));
                format!(
                    "{} = {name} {}[{offsets}] sizes [{sizes}] : {from} -> {to}",
                    self.name(*result),
                    self.name(*source)
                )
            }
            OpKind::SetValidShape { tile, rows, cols } => {
                let ty = self.type_of(*tile);
                format!(
                    "{} {}, {} : {ty}",
                    own(self, "set_validshape"),
                    self.name(*tile),
                    self.operands(&[*rows, *cols])
                )
            }
            _ => self.computed(kind),
        }
    }

    /// Constants and arithmetic.
    fn computed(&mut self, kind: &OpKind) -> String {
        match kind {
            OpKind::Constant { result, value } => self.constant(*result, *value),
            OpKind::Arithmetic { result, op, lhs, rhs } => {
                let name = ARITHMETIC.iter().find(|(known, _)| known == op).map_or("addi", |(_, name)| *name);
                let ty = self.type_of(*lhs);
                format!("{} = arith.{name} {} : {ty}", self.name(*result), self.values(&[*lhs, *rhs]))
            }
            OpKind::Compare { result, predicate, lhs, rhs } => {
                let name = PREDICATES.iter().find(|(_, known)| known == predicate).map_or("eq", |(name, _)| *name);
                let ty = self.type_of(*lhs);
                format!("{} = arith.cmpi {name}, {} : {ty}", self.name(*result), self.values(&[*lhs, *rhs]))
            }
            OpKind::Select { result, condition, then, otherwise } => {
                let ty = self.type_of(*result);
                let values = self.values(&[*condition, *then, *otherwise]);
                format!("{} = arith.select {values} : {ty}", self.name(*result))
            }
            OpKind::Cast { result, value, extend } => {
                let (from, to) = (self.type_of(*value), self.type_of(*result));
                let name = self.cast_name(*value, *result, *extend);
                format!("{} = arith.{name} {} : {from} to {to}", self.name(*result), self.name(*value))
            }
            _ => self.access(kind),
        }
    }

    /// Scalar accesses, collectives, synchronisation.
    fn access(&mut self, kind: &OpKind) -> String {
        match kind {
            OpKind::LoadScalar { result, pointer, offset } => {
                let (name, from, to) = (self.dialect("load_scalar"), self.type_of(*pointer), self.type_of(*result));
                format!(
                    "{} = {name} {}[{}] : {from} -> {to}",
                    self.name(*result),
                    self.name(*pointer),
                    self.operand(*offset)
                )
            }
            OpKind::StoreScalar { pointer, offset, value } => {
                let (name, to, from) = (self.dialect("store_scalar"), self.type_of(*pointer), self.type_of(*value));
                format!(
                    "{name} {}, {}[{}] : {to}, {from}",
                    self.name(*value),
                    self.name(*pointer),
                    self.operand(*offset)
                )
            }
            OpKind::GetValue { result, tile, offset } => {
                let (name, ty, of, scalar) =
                    (self.dialect("tgetval"), self.type_of(*tile), self.offset_type(*offset), self.type_of(*result));
                let (result, tile, offset) = (self.name(*result), self.name(*tile), self.operand(*offset));
                format!("{result} = {name} ins({tile}, {offset} : {ty}, {of}) outs : {scalar}")
            }
            OpKind::SetValue { tile, offset, value } => {
                let (name, ty, of, scalar) =
                    (self.dialect("tsetval"), self.type_of(*tile), self.offset_type(*offset), self.type_of(*value));
                let (value, tile, offset) = (self.name(*value), self.name(*tile), self.operand(*offset));
                format!("{name} ins({offset}, {value} : {of}, {scalar}) outs({tile} : {ty})")
            }
            OpKind::Collective(call) => self.collective(call),
            OpKind::Rank { result } => self.defining(*result, "comm.rank"),
            OpKind::Ranks { result } => self.defining(*result, "comm.ranks"),
            OpKind::RankBarrier => self.dialect("comm.barrier"),
            OpKind::Notify { signal, value, op } => {
                let attribute = format!("notifyOp = #pto<notify_op {}>", op.name());
                self.signal("comm.tnotify", *signal, *value, &attribute)
            }
            OpKind::Wait { signal, value, compare } => {
                let attribute = format!("cmp = #pto<wait_cmp {}>", compare.name());
                self.signal("comm.twait", *signal, *value, &attribute)
            }
            OpKind::SetFlag(flag) => self.flag("set_flag", *flag),
            OpKind::WaitFlag(flag) => self.flag("wait_flag", *flag),
            OpKind::Barrier(pipe) => format!("{} <{}>", self.dialect("barrier"), pipe.name()),
            OpKind::FlushCache => self.dialect("dcci"),
            OpKind::DataBarrier => self.dialect("dsb"),
            _ => String::new(),
        }
    }

    fn defining(&mut self, result: ValueId, name: &str) -> String {
        let ty = self.type_of(result);
        format!("{} = {} : {ty}", self.name(result), self.dialect(name))
    }

    fn signal(&mut self, name: &str, signal: ValueId, value: ValueId, attribute: &str) -> String {
        let (name, of) = (self.dialect(name), self.type_of(value));
        let (ty, signal, value) = (self.type_of(signal), self.name(signal), self.name(value));
        format!("{name}({signal}, {value} : {ty}, {of}) {{{attribute}}}")
    }

    fn flag(&self, name: &str, flag: Flag) -> String {
        let Flag { from, to, event } = flag;
        format!("{}[\"{}\", \"{}\", \"EVENT_ID{event}\"]", self.dialect(name), from.name(), to.name())
    }

    fn offset_type(&mut self, offset: Operand) -> String {
        offset.value().map_or_else(|| "index".into(), |value| self.type_of(value))
    }

    fn constant(&mut self, result: ValueId, value: Constant) -> String {
        let ty = self.type_of(result);
        let literal = match (value, self.ir_type(result)) {
            (Constant::Integer(value), Some(Type::Boolean)) => (value & 1 == 1).to_string(),
            (Constant::Integer(value), Some(Type::Scalar(ElementType::U64))) => (value as u64).to_string(),
            (Constant::Integer(value), _) => value.to_string(),
            (Constant::Float(value), ty) => float(value, ty),
        };
        let name = self.name(result);
        match (self.form, ty.as_str()) {
            (Form::As, _) => format!(".const {name} = {literal} : {ty}"),
            (_, "i1") => format!("{name} = arith.constant {literal}"),
            _ => format!("{name} = arith.constant {literal} : {ty}"),
        }
    }

    fn cast_name(&self, from: ValueId, to: ValueId, extend: Extend) -> &'static str {
        let width = |value| match self.ir_type(value)? {
            Type::Boolean => Some(1),
            Type::Scalar(element) => Some(8 * element.size()),
            _ => None,
        };
        match (width(from), width(to), extend) {
            (Some(from), Some(to), Extend::Sign) if from < to => "extsi",
            (Some(from), Some(to), Extend::Zero) if from < to => "extui",
            (Some(from), Some(to), Extend::Sign) if from > to => "trunci",
            (_, _, Extend::Sign) => "index_cast",
            (_, _, Extend::Zero) => "index_castui",
        }
    }

    fn collective(&mut self, call: &Collective) -> String {
        let Collective { direction, local, group, staging, root } = call;
        let name = match direction {
            Direction::Scatter => "tscatter",
            Direction::Gather => "tgather",
        };
        let root = match root {
            Operand::Value(value) => format!(" root = {}", self.name(*value)),
            Operand::Number(0) if self.form == Form::As => String::new(),
            Operand::Number(root) => format!(" {{root = {root} : i32}}"),
        };
        let one_group = matches!(group[..], [group] if matches!(self.ir_type(group), Some(Type::Group(_))));
        if self.form == Form::As && one_group && staging.is_empty() {
            let order = [group[0], *local];
            return format!("{name} {}{root} : ({})", self.values(&order), self.types(&order));
        }
        let all = [&[*local], staging.as_slice(), group.as_slice()].concat();
        let (types, name) = (self.types(&all), self.dialect(&format!("comm.{name}")));
        let recv = if staging.is_empty() { String::new() } else { format!(", recv({})", self.values(staging)) };
        format!("{name}({}{recv}, group({}) : {types}){root}", self.name(*local), self.values(group))
    }

    fn for_loop(&mut self, op: &'m Op, inner: &'m For) {
        if self.form == Form::As {
            return self.refuse(
                op.place,
                "expected a straight line of instructions, as PTO-AS has no control flow, found a loop",
            );
        }
        let For { induction, lower, upper, step, carried, body } = inner;
        let results: Vec<ValueId> = carried.iter().map(|carried| carried.result).collect();
        let mut head = if results.is_empty() { String::new() } else { format!("{} = ", self.values(&results)) };
        let [first, from, to, by] = [induction, lower, upper, step].map(|value| self.name(*value));
        head += &format!("scf.for {first} = {from} to {to} step {by}");
        if !carried.is_empty() {
            let pairs =
                carried.iter().map(|carried| format!("{} = {}", self.name(carried.inner), self.name(carried.initial)));
            let pairs = pairs.collect::<Vec<_>>().join(", ");
            head += &format!(" iter_args({pairs}) -> ({})", self.types(&results));
        }
        let ty = self.type_of(*induction);
        if ty != "index" {
            head += &format!(" : {ty}");
        }
        self.line(&(head + " {"));
        self.region(body);
        self.line("}");
    }

    fn conditional(&mut self, op: &'m Op, inner: &'m If) {
        if self.form == Form::As {
            let message =
                "expected a straight line of instructions, as PTO-AS has no control flow, found a conditional";
            return self.refuse(op.place, message);
        }
        let mut head =
            if inner.results.is_empty() { String::new() } else { format!("{} = ", self.values(&inner.results)) };
        head += &format!("scf.if {}", self.name(inner.condition));
        if !inner.results.is_empty() {
            head += &format!(" -> ({})", self.types(&inner.results));
        }
        self.line(&(head + " {"));
        self.region(&inner.then);
        if !inner.otherwise.ops.is_empty() {
            self.line("} else {");
            self.region(&inner.otherwise);
        }
        self.line("}");
    }
}

/// The policies as attributes.
fn attributes(name: &str, policy: Policy) -> String {
    let oob = if name == "mgather" { ("gatherOob", "gather_oob") } else { ("scatterOob", "scatter_oob") };
    let all = [
        policy.coalesce.map(|value| format!("coalesce = #pto<coalesce {value}>")),
        policy.oob.map(|value| format!("{} = #pto<{} {value}>", oob.0, oob.1)),
        policy.atomic.map(|value| format!("scatterAtomicOp = #pto<scatter_atomic_op {value}>")),
        policy.conflict.map(|value| format!("scatterConflict = #pto<scatter_conflict {value}>")),
    ];
    let all: Vec<String> = all.into_iter().flatten().collect();
    if all.is_empty() { String::new() } else { format!(" {{{}}}", all.join(", ")) }
}

/// The policies as suffixes.
fn suffixes(policy: Policy) -> String {
    let all = [
        policy.coalesce.map(|value| format!(".{value}")),
        policy.oob.map(|value| format!(".{value}")),
        policy.atomic.map(|value| format!(".atomic_{value}")),
        policy.conflict.map(|value| format!(".{value}")),
    ];
    all.into_iter().flatten().collect()
}

/// A float that reads back as the same: with a point, or its bits where it is no number.
fn float(value: f64, ty: Option<&Type>) -> String {
    if value.is_finite() {
        let text = format!("{value:?}");
        return match text.split_once('e') {
            Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0e{exponent}"),
            _ => text,
        };
    }
    match ty {
        Some(Type::Scalar(ElementType::F16)) => format!("0x{:04X}", f16::from_f64(value).to_bits()),
        Some(Type::Scalar(ElementType::BF16)) => format!("0x{:04X}", bf16::from_f64(value).to_bits()),
        Some(Type::Scalar(ElementType::F64)) => format!("0x{:016X}", value.to_bits()),
        _ => format!("0x{:08X}", (value as f32).to_bits()),
    }
}
