//! The rules that only a whole program can break; those of single instructions are [`pto_isa::rules`].

use pto_isa::{Rule, Severity};

macro_rules! rules {
    ($($id:ident = $name:literal $severity:ident { $summary:literal help $help:literal spec $spec:literal })*) => {
        $(
            #[doc = $summary]
            pub static $id: Rule = Rule {
                name: $name, severity: Severity::$severity, summary: $summary, help: $help, spec: $spec,
            };
        )*

        /// Every rule of this module.
        pub static RULES: &[&Rule] = &[$(&$id),*];
    };
}

rules! {
    OPERAND = "type.operand" Error {
        "an operand is of the kind that its operation takes"
        help "pass a value of the expected kind: tiles come from alloc_tile, views from make_tensor_view and partition_view"
        spec "SPEC, Text: SSA names and types are checked. 001: src and idx are UB tiles, table is a GM GlobalTensor."
    }
    UNDEFINED = "type.undefined" Error {
        "a value is defined before it is used, in the same region or one around it"
        help "define the value before this operation, or hand it out of the inner region with a yield"
        spec "MLIR Language Reference: SSA dominance: a value is visible in its region and the regions inside, after its definition."
    }
    REDEFINED = "type.redefined" Error {
        "a value is defined once"
        help "give the second definition a name of its own"
        spec "MLIR Language Reference: values are in static single assignment form."
    }
    ARITHMETIC = "type.arithmetic" Error {
        "arithmetic, comparisons and constants have operands and results of one fitting type"
        help "cast one side with arith.index_cast so that both have the same integer type"
        spec "SPEC, Text: arith.constant/addi/subi/muli/divsi/remsi/maxsi/minsi/cmpi/index_cast on index and iN."
    }
    LOOP = "type.loop" Error {
        "the bounds and the step of a loop, and its carried values, have matching types"
        help "give lower bound, upper bound, step and induction variable one integer type, and each carried value one type throughout"
        spec "SPEC, Text: scf.for (with iter_args)."
    }
    STEP = "bounds.step" Error {
        "the step of a loop is positive"
        help "count upwards with a positive step and compute the descending value inside"
        spec "MLIR scf dialect: scf.for: the step is required to be positive."
    }
    YIELD = "type.yield" Error {
        "a region yields as many values as its operation hands out, of the same types"
        help "end the region in a scf.yield of one value per result or carried value"
        spec "SPEC, Text: scf.for (with iter_args), scf.if/else, scf.yield."
    }
    TERMINATOR = "type.terminator" Error {
        "a yield ends a region, a return ends a function, and nothing follows them"
        help "move the operation to the end of its region, or remove what follows it"
        spec "MLIR Language Reference: the last operation of a block is its terminator."
    }
    RETURN = "type.return" Error {
        "a kernel returns nothing"
        help "store results to global memory and return without values"
        spec "SPEC, Text: func.func @k(...) { ... return }."
    }
    VIEW = "type.view" Error {
        "a view has the element type and as many dimensions as what it is made from"
        help "use the element type of the pointer or view, and one extent, stride or offset per dimension"
        spec "SPEC, Text: pto.make_tensor_view %p, shape = [...], strides = [...]; pto.partition_view %v, offsets = [...], sizes = [...]."
    }
    RANK = "shape.rank" Error {
        "a view has one to five dimensions"
        help "fold dimensions together until at most five are left"
        spec "SPEC, Text: !pto.partition_tensor_view<8x32xf32> (rank 1 to 5)."
    }
    VIEW_SHAPE = "shape.view" Error {
        "a constant extent or stride is the one in the type"
        help "make the constant and the type agree, or write ? in the type"
        spec "SPEC, Verifier: value ranges folded where constants allow."
    }
    PARTITION = "bounds.partition" Error {
        "a window lies inside its view"
        help "reduce the offset or the size so that offset + size is at most the view's extent"
        spec "SPEC: Nothing is ever written outside a buffer; issue 3: a partition_view whose constant offsets leave its view."
    }
    SUBVIEW = "bounds.subview" Error {
        "a window of a tile lies inside the tile"
        help "reduce the offset or the size so that offset + size is at most the tile's padded extent"
        spec "SPEC: Nothing is ever written outside a buffer, on any target, in any mode."
    }
    ELEMENT = "bounds.element" Error {
        "a scalar access stays inside its tile or buffer"
        help "use an offset between 0 and the number of elements less one"
        spec "SPEC: Nothing is ever written outside a buffer, on any target, in any mode."
    }
    TRANSFER_TYPE = "type.transfer" Error {
        "TLOAD, TSTORE and TMOV move elements of one type"
        help "declare both sides with one element type; a transfer does not convert"
        spec "Decided here: as for MGATHER and MSCATTER (001: GlobalTable::DType == __gm__ T)."
    }
    TRANSFER_SHAPE = "shape.transfer" Error {
        "the valid region of a transferred tile lies inside the view, and both sides of a TMOV have the same one"
        help "make the view at least as large as the tile's valid rows and columns, or reduce those"
        spec "Decided here: the tile's valid region decides what moves; dims 0..3 of the view are its rows and dim 4 its columns (NZ: whole block rows and columns)."
    }
    VALID_STATIC = "shape.valid-static" Error {
        "set_validshape changes only extents that the type leaves open"
        help "write ? for the valid extent in the tile's type, or keep the type's value"
        spec "SPEC, Text: v_row=8, v_col=?; pto.set_validshape gives a tile with dynamic valid extents new ones."
    }
    ALIAS_LIVE = "alias.live" Error {
        "two tiles do not share bytes while both hold data that is still read"
        help "place one of the tiles elsewhere, or finish using the first before the second is written"
        spec "SPEC, Device model: Addresses and overlaps are real: two tiles at one address share bytes. 002: Code must not overlap that destination UB allocation with other live data."
    }
    ALIAS_MIXED = "alias.mixed-placement" Warning {
        "some tiles of a function have addresses and others have none"
        help "give every tile an address (manual mode), or none (auto mode); the tool places the others around those that have one"
        spec "SPEC, Text: Level 3: level 2 with every address given."
    }
    UNASSIGNED = "uninit.address" Error {
        "a tile that is assigned its address by TASSIGN is used only afterwards"
        help "move the tassign before the first use of the tile"
        spec "001, Manual Mode: resources must be bound explicitly before issuing the instruction."
    }
    DIRECT = "launch.direct-dispatch" Error {
        "an instruction that launches SIMT hangs in a kernel that is entered by a direct function-pointer call"
        help "use the standard launch: remove pto.dispatch = \"direct\""
        spec "001, Runtime Dispatch Requirement (A5): a direct C function-pointer call skips the SIMT context init, so the first async_invoke inside MSCATTER has no warp scheduler to dispatch into and hangs."
    }
    TARGET_MISMATCH = "target.mismatch" Note {
        "the program names another target than the one it is judged for"
        help "judge it without a target, or change pto.target_arch"
        spec "SPEC, CLI: Without --target: the module's pto.target_arch, else all targets."
    }
    EVENT_RANGE = "sync.event-range" Error {
        "there are eight events per pair of pipes, 0 to 7"
        help "use EVENT_ID0 to EVENT_ID7"
        spec "SPEC, Device model: eight event ids per pair."
    }
    SAME_PIPE = "sync.same-pipe" Error {
        "a flag is between two different pipes"
        help "remove the flag: a pipe runs its instructions in order; use a barrier where something must drain"
        spec "SPEC, Device model: instructions run asynchronously on their pipe, and are ordered only by flags, barriers, events."
    }
    FLAG_PIPE = "sync.pipe" Error {
        "a flag names two single pipes; PIPE_ALL is for barriers"
        help "name the pipe that sets and the pipe that waits"
        spec "SPEC, Text: pto.set_flag[\"PIPE_MTE2\", \"PIPE_V\", \"EVENT_ID0\"], pto.barrier <PIPE_ALL>."
    }
    OP = "unsupported.op" Error {
        "an operation is part of this instruction set"
        help "remove the operation, or compute its result elsewhere and load it"
        spec "SPEC, Text: Any other pto.* op parses and prints back; checking or running a program that needs it says which op, where, and that it is not part of this instruction set."
    }
    NESTING = "unsupported.nesting" Error {
        "loops and conditionals nest at most 256 deep"
        help "flatten the inner loops or conditionals"
        spec "A limit of the tool: it keeps hostile programs from exhausting the stack."
    }
}
