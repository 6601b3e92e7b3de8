//! Rules of the collectives.

use super::memory::{BUDGET_DYN_UB, BUDGET_UB};
use super::shape::SHAPE_OVERFLOW;
use super::{Finding, Launch, opcode_of};
use crate::{Collective, Extent, Location, Role, Rule, Severity, Target, Tensor, Tile};

macro_rules! comm_rules {
    ($($constant:ident = $name:literal { $summary:literal help $help:literal spec $spec:literal })*) => {
        $(
            #[doc = $summary]
            pub const $constant: &Rule =
                &Rule { name: $name, severity: Severity::Error, summary: $summary, help: $help, spec: $spec };
        )*
        pub(super) const COLLECTIVE: &[&Rule] = &[$($constant),*];
    };
}

comm_rules! {
    COMM_ROOT = "comm.root" {
        "the root is a rank of the group"
        help "use a root between 0 and the number of ranks less one"
        spec "SPEC: Root out of range: refused."
    }
    COMM_CALLER = "comm.caller" {
        "only the root calls a collective"
        help "guard the call by a comparison of the rank with the root"
        spec "003: Only the root needs to execute TSCATTER. Calling TSCATTER on non-root ranks is undefined behavior."
    }
    COMM_HOLE = "comm.hole" {
        "every rank of the group has a tensor"
        help "give the group one tensor per rank, in rank order"
        spec "003: parallelGroup.tensors[r] must refer to rank r's destination buffer. SPEC: a group with a hole: a clear error."
    }
    COMM_ELEMENT = "comm.element" {
        "the element type must be one that the target moves between ranks"
        help "use one of the listed element types"
        spec "003 names no element types of its own: a target moves between ranks what its MSCATTER moves (001)."
    }
    COMM_GROUP_TYPE = "comm.group-type" {
        "the ranks' tensors have the element type of the root's tensor"
        help "declare all tensors of the collective with one element type"
        spec "003: ParallelGroup::value_type::RawDType must equal GlobalSrcData::RawDType."
    }
    COMM_STAGING_TYPE = "comm.staging-type" {
        "the staging tile has the element type of the tensors"
        help "declare the staging tile with the tensors' element type"
        spec "003: TileData::DType must equal GlobalSrcData::RawDType."
    }
    COMM_STAGING_COUNT = "comm.staging-count" {
        "a collective stages through one tile, or two for ping-pong"
        help "pass one staging tile or a ping and a pong tile"
        spec "003: the C++ intrinsic requires explicit stagingTileData (or pingTile / pongTile) operand(s)."
    }
    COMM_STAGING_LOCATION = "comm.staging-location" {
        "staging tiles are row-major vector tiles in UB"
        help "declare the staging tile with location vec, row_major, none_box"
        spec "003: stagingTileData (or pingTile / pongTile) must be pre-allocated in UB."
    }
    COMM_STAGING_VALID = "comm.staging-valid" {
        "a staging tile's valid extents lie between 1 and the padded ones"
        help "enlarge the padded tile, or reduce the valid extents"
        spec "SPEC: Chunking is by the staging tile's valid extents over dims 3 and 4."
    }
    COMM_PING_PONG = "comm.ping-pong" {
        "ping and pong have one type and one shape, valid extents included"
        help "declare both staging tiles alike"
        spec "SPEC: Ping and pong have one type and one shape, valid extents included."
    }
    COMM_RANK_SHAPES = "comm.rank-shapes" {
        "all ranks' tensors have the same shape and strides"
        help "declare the same tensor on every rank"
        spec "003: All destination tensors are assumed to have the same shape and strides; behavior is undefined if they differ."
    }
    COMM_ROOT_DIMS = "comm.root-dims" {
        "dimensions 0, 1, 2 and 4 agree between the root's tensor and the ranks'"
        help "only dimension 3 is divided among the ranks; make the others equal"
        spec "003: The local source tensor has shape (D0, D1, D2, N x H, W); SPEC: Dims 0..2 and 4 agree between root and ranks."
    }
    COMM_ROOT_ROWS = "comm.root-rows" {
        "dimension 3 of the root's tensor holds the rows of all ranks"
        help "enlarge the root's tensor to at least ranks * rows"
        spec "003: srcGlobalData.GetShape(DIM_3) must be >= N x H where H is each rank's GetShape(DIM_3)."
    }
    COMM_DIVIDE_ROWS = "comm.divide-rows" {
        "a static number of valid rows divides the rows of a rank, or covers them"
        help "use a staging tile with a dynamic valid row count for partial chunks"
        spec "003: If TileData has static ValidRow, GetShape(DIM_3) of each rank's destination must be divisible by ValidRow. SPEC: or at least as large."
    }
    COMM_DIVIDE_COLS = "comm.divide-cols" {
        "a static number of valid columns divides the columns of a row, or covers them"
        help "use a staging tile with a dynamic valid column count for partial chunks"
        spec "003: If TileData has static ValidCol, GetShape(DIM_4) must be divisible by ValidCol. SPEC: or at least as large."
    }
}

struct Report<'a> {
    call: &'a Collective,
    target: Target,
    findings: Vec<Finding>,
}

impl Report<'_> {
    fn add(&mut self, rule: &'static Rule, role: Role, expected: impl Into<String>, found: impl ToString) {
        self.findings.push(Finding {
            rule,
            opcode: opcode_of(self.call.direction),
            target: self.target,
            role,
            expected: expected.into(),
            found: found.to_string(),
        });
    }
}

pub(super) fn check(call: &Collective, target: Target, launch: Launch) -> Vec<Finding> {
    let mut report = Report { call, target, findings: Vec::new() };
    check_group(&mut report);
    check_tensors(&mut report);
    check_staging(&mut report);
    check_budget(&mut report, launch);
    report.findings
}

/// The first rule that a collective breaks by what the types of its operands say; `None` if they break none.
///
/// `staging` is one of the staging tiles, which are all alike, and `count` how many there are. What only the run knows,
/// the ranks, the root and dynamic extents, is judged by [`check_collective`](crate::check_collective).
///
/// ```
/// use pto_isa::{ElementType::F32, Launch, Target, Tensor, Tile, first_broken_collective, rules};
/// let (local, rank) = (Tensor::packed(F32, [1, 1, 1, 12, 32]), Tensor::packed(F32, [1, 1, 1, 6, 32]));
/// let broken = |tile| first_broken_collective(&local, &rank, &tile, 1, Target::A5, Launch::default());
/// assert_eq!(broken(Tile::new(F32, 2, 32)), None);
/// assert_eq!(broken(Tile::new(F32, 4, 32)), Some(rules::COMM_DIVIDE_ROWS)); // 6 rows in chunks of 4
/// ```
pub const fn first_broken_collective(
    local: &Tensor,
    rank: &Tensor,
    staging: &Tile,
    count: u64,
    target: Target,
    launch: Launch,
) -> Option<&'static Rule> {
    if !target.profile().memory_elements.contains(local.element) {
        return Some(COMM_ELEMENT);
    }
    if !rank.element.is(local.element) {
        return Some(COMM_GROUP_TYPE);
    }
    if !staging.element.is(local.element) {
        return Some(COMM_STAGING_TYPE);
    }
    if !is_staging_place(staging) {
        return Some(COMM_STAGING_LOCATION);
    }
    if !has_staging_extents(staging) {
        return Some(COMM_STAGING_VALID);
    }
    let mut i = 0;
    while i < UNDIVIDED.len() {
        if rank.shape[UNDIVIDED[i]].differs(local.shape[UNDIVIDED[i]]) {
            return Some(COMM_ROOT_DIMS);
        }
        i += 1;
    }
    if !cuts(staging.valid_rows, rank.shape[3]) {
        return Some(COMM_DIVIDE_ROWS);
    }
    if !cuts(staging.valid_cols, rank.shape[4]) {
        return Some(COMM_DIVIDE_COLS);
    }
    match (staging.allocation(), launch.ub_limit(target)) {
        (Some(bytes), Some(limit)) if bytes.saturating_mul(count) > limit => Some(BUDGET_UB),
        (None, _) => Some(SHAPE_OVERFLOW),
        _ => None,
    }
}

/// The dimensions that the root's tensor has in common with the ranks'.
const UNDIVIDED: [usize; 4] = [0, 1, 2, 4];

const fn is_staging_place(tile: &Tile) -> bool {
    tile.location.is(Location::Vec) && tile.is_row_major()
}

const fn has_staging_extents(tile: &Tile) -> bool {
    const fn within(valid: Extent, padded: u64) -> bool {
        match valid.known() {
            Some(valid) => 1 <= valid && valid <= padded,
            None => true,
        }
    }
    within(tile.valid_rows, tile.rows) && within(tile.valid_cols, tile.cols)
}

/// A static valid extent leaves no partial chunk of a dimension.
const fn cuts(valid: Extent, dimension: Extent) -> bool {
    match (valid, dimension.known()) {
        (Extent::Static(valid), Some(extent)) => valid == 0 || valid >= extent || extent.is_multiple_of(valid),
        _ => true,
    }
}

fn check_group(report: &mut Report<'_>) {
    let call = report.call;
    let ranks = call.ranks();
    if call.root >= ranks {
        report.add(COMM_ROOT, Role::Group, format!("a root below {ranks}"), call.root);
    } else if call.caller != call.root {
        report.add(
            COMM_CALLER,
            Role::Group,
            format!("a call by the root, rank {}", call.root),
            format!("rank {}", call.caller),
        );
    }
    for (rank, tensor) in call.group.iter().enumerate() {
        if tensor.is_none() {
            report.add(COMM_HOLE, Role::Group, format!("a tensor for rank {rank}"), "none");
        }
    }
}

fn check_tensors(report: &mut Report<'_>) {
    let (call, local_role) = (report.call, report.call.local_role());
    let elements = report.target.profile().memory_elements;
    if !elements.contains(call.local.element) {
        report.add(COMM_ELEMENT, local_role, format!("an element type of {{{elements}}}"), call.local.element);
    }
    check_overflow(report, local_role, &call.local);
    let mut tensors = call.group.iter().enumerate().filter_map(|(rank, tensor)| Some((rank, tensor.as_ref()?)));
    let Some((first_rank, first)) = tensors.next() else { return };
    check_overflow(report, Role::Group, first);
    if first.element != call.local.element {
        report.add(
            COMM_GROUP_TYPE,
            Role::Group,
            format!("the root's element type {}", call.local.element),
            first.element,
        );
    }
    for (rank, tensor) in tensors {
        check_overflow(report, Role::Group, tensor);
        if tensor.element != first.element {
            let expected = format!("rank {rank}'s element type to be {}", first.element);
            report.add(COMM_GROUP_TYPE, Role::Group, expected, tensor.element);
        }
        let differs =
            (0..5).any(|i| tensor.shape[i].differs(first.shape[i]) || tensor.strides[i].differs(first.strides[i]));
        if differs || tensor.layout != first.layout {
            let expected = format!("rank {rank}'s tensor to be rank {first_rank}'s, {first}");
            report.add(COMM_RANK_SHAPES, Role::Group, expected, tensor);
        }
    }
    for dimension in UNDIVIDED {
        if first.shape[dimension].differs(call.local.shape[dimension]) {
            let expected = format!("dimension {dimension} to be the ranks' {}", first.shape[dimension]);
            report.add(COMM_ROOT_DIMS, local_role, expected, call.local.shape[dimension]);
        }
    }
    let rows = first.shape[3].known().map(|rows| rows.saturating_mul(call.ranks()));
    if let (Some(needed), Some(rows)) = (rows, call.local.shape[3].known())
        && rows < needed
    {
        let expected =
            format!("dimension 3 to be at least {} ranks * {} rows = {needed}", call.ranks(), first.shape[3]);
        report.add(COMM_ROOT_ROWS, local_role, expected, rows);
    }
}

fn check_overflow(report: &mut Report<'_>, role: Role, tensor: &Tensor) {
    let fits = |elements: Option<u64>| {
        elements
            .and_then(|elements| elements.checked_mul(tensor.element.size()))
            .is_some_and(|bytes| i64::try_from(bytes).is_ok())
    };
    if tensor.is_known() && !(fits(tensor.span()) && fits(tensor.elements())) {
        report.add(SHAPE_OVERFLOW, role, "a size of at most 2^63 - 1 bytes", tensor);
    }
}

fn check_staging(report: &mut Report<'_>) {
    let call = report.call;
    if !(1..=2).contains(&call.staging.len()) {
        report.add(COMM_STAGING_COUNT, Role::Staging, "one or two staging tiles", call.staging.len());
    }
    for (tile, role) in call.staging.iter().zip([Role::Staging, Role::Pong]) {
        check_staging_tile(report, role, tile);
    }
    if let [ping, pong] = call.staging.as_slice() {
        let same_type = Tile { address: None, valid_rows: pong.valid_rows, valid_cols: pong.valid_cols, ..*ping }
            == Tile { address: None, ..*pong };
        if !same_type || ping.valid_rows.differs(pong.valid_rows) || ping.valid_cols.differs(pong.valid_cols) {
            report.add(COMM_PING_PONG, Role::Pong, format!("the ping tile's {ping}"), pong);
        }
        if let (Some((ping_start, ping_end)), Some((pong_start, pong_end))) = (ping.range(), pong.range())
            && ping_start < pong_end
            && pong_start < ping_end
        {
            let expected = format!("bytes apart from the ping tile's [0x{ping_start:x}, 0x{ping_end:x})");
            report.add(COMM_PING_PONG, Role::Pong, expected, format!("[0x{pong_start:x}, 0x{pong_end:x})"));
        }
    }
}

fn check_staging_tile(report: &mut Report<'_>, role: Role, tile: &Tile) {
    if tile.element != report.call.local.element {
        let expected = format!("the tensors' element type {}", report.call.local.element);
        report.add(COMM_STAGING_TYPE, role, expected, tile.element);
    }
    if !is_staging_place(tile) {
        report.add(COMM_STAGING_LOCATION, role, "a row-major vec tile", tile);
    }
    if !has_staging_extents(tile) {
        let expected = format!("valid extents between 1x1 and {}x{}", tile.rows, tile.cols);
        report.add(COMM_STAGING_VALID, role, expected, format!("{}x{}", tile.valid_rows, tile.valid_cols));
    }
    let Some(rank) = report.call.group.iter().flatten().next() else { return };
    for (rule, valid, dimension) in
        [(COMM_DIVIDE_ROWS, tile.valid_rows, rank.shape[3]), (COMM_DIVIDE_COLS, tile.valid_cols, rank.shape[4])]
    {
        if !cuts(valid, dimension) {
            report.add(rule, role, format!("a static valid extent that divides {dimension} or covers it"), valid);
        }
    }
}

fn check_budget(report: &mut Report<'_>, launch: Launch) {
    let Some(limit) = launch.ub_limit(report.target) else { return };
    if let (Some(most), Some(asked)) = (report.target.profile().ub.and_then(|ub| ub.max_dynamic), launch.dyn_ub)
        && asked > most
    {
        report.add(BUDGET_DYN_UB, Role::Launch, format!("a dynUBufSize of at most {most} bytes"), asked);
    }
    let bytes = report.call.staging.iter().try_fold(0u64, |sum, tile| {
        let end = tile.address.unwrap_or(0).checked_add(tile.allocation()?)?;
        if tile.address.is_some() { Some(sum.max(end)) } else { sum.checked_add(end) }
    });
    if bytes.is_none_or(|bytes| bytes > limit) {
        let found = bytes.map_or("more than 2^64".into(), |b| b.to_string());
        report.add(BUDGET_UB, Role::Launch, format!("staging tiles within {limit} bytes"), found);
    }
}
