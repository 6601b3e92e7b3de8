//! The unified buffer: real bytes at real addresses, and who lives where.
//!
//! Addresses are judged by the rules of `pto-isa`; what is decided here is only where a tile goes that nobody placed:
//! the lowest gap between the tiles that are still in scope.

use core::ops::Range;
use std::borrow::Cow;
use std::sync::{Arc, Weak};

use pto_isa::tile::BLOCK_BYTES;
use pto_isa::{Finding, Instruction, Launch, MaskPattern, Role, Severity, Target, Tile, check, rules};

use crate::arch::Arch;
use crate::error::Cause;
use crate::tile::TileOperand;

/// A 32-byte block, so that tiles are aligned for every element type.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(32))]
struct Block([u8; BLOCK_BYTES as usize]);

/// Where a tile lives, and with which core.
#[derive(Debug)]
pub struct Slot {
    pub(crate) core: u64,
    pub(crate) home: Home,
}

/// Where a tile lives.
#[derive(Debug)]
pub(crate) enum Home {
    /// At an address; the core forgets the place when the last tile there is gone.
    Bytes { address: u64, _alive: Arc<()> },
    /// In a recording, by its number there; at an address if it was assigned one.
    Recorded { tile: u32, address: Option<u64> },
}

impl Slot {
    pub(crate) fn address(&self) -> Option<u64> {
        match self.home {
            Home::Bytes { address, .. } => Some(address),
            Home::Recorded { address, .. } => address,
        }
    }
}

/// A place in use.
struct Tenant {
    start: u64,
    end: u64,
    alive: Weak<()>,
}

pub(crate) struct UnifiedBuffer {
    core: u64,
    blocks: Vec<Block>,
    tenants: Vec<Tenant>,
}

impl UnifiedBuffer {
    /// The whole buffer of a device; an empty one that grows elsewhere.
    pub(crate) fn of<A: Arch>(core: u64) -> Self {
        let bytes = A::TARGET.profile().ub.map_or(0, |ub| ub.size);
        let blocks = vec![Block([0; BLOCK_BYTES as usize]); (bytes / BLOCK_BYTES) as usize];
        Self { core, blocks, tenants: Vec::new() }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.blocks)
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.blocks)
    }

    /// The tile with its address, placed now if it was not; its bytes exist.
    pub(crate) fn resolve<A: Arch>(&mut self, tile: &impl TileOperand) -> Result<Tile, Cause> {
        let home = tile.slot().borrow().as_ref().map(|slot| slot.core);
        match home {
            Some(core) if core != self.core => return Err(Cause::ForeignTile),
            Some(_) => {}
            None => {
                let address = self.gap(tile.operand().allocation());
                self.assign::<A>(tile, address)?;
            }
        }
        Ok(tile.operand())
    }

    /// Places a tile at an address, wherever it was before.
    pub(crate) fn assign<A: Arch>(&mut self, tile: &impl TileOperand, address: u64) -> Result<(), Cause> {
        let placed = Tile { address: Some(address), ..tile.operand() };
        judge_place(placed, A::TARGET, A::LAUNCH)?;
        let (start, end) = placed.range().ok_or(Cause::OutOfMemory { bytes: u64::MAX })?;
        self.reserve(end)?;
        let alive = Arc::new(());
        self.tenants.retain(|tenant| tenant.alive.strong_count() > 0);
        self.tenants.push(Tenant { start, end, alive: Arc::downgrade(&alive) });
        *tile.slot().borrow_mut() = Some(Slot { core: self.core, home: Home::Bytes { address, _alive: alive } });
        Ok(())
    }

    /// The lowest address with room for so many bytes between the tiles in scope.
    fn gap(&mut self, bytes: Option<u64>) -> u64 {
        let bytes = bytes.unwrap_or(u64::MAX);
        self.tenants.retain(|tenant| tenant.alive.strong_count() > 0);
        self.tenants.sort_unstable_by_key(|tenant| tenant.start);
        let mut address = 0u64;
        for tenant in &self.tenants {
            if address.saturating_add(bytes) <= tenant.start {
                break;
            }
            // Tiles are within the buffer, so their ends cannot overflow when rounded up.
            address = address.max(tenant.end.next_multiple_of(BLOCK_BYTES));
        }
        address
    }

    /// Makes the buffer reach up to `end`. Devices have all of theirs from the start.
    fn reserve(&mut self, end: u64) -> Result<(), Cause> {
        let error = Cause::OutOfMemory { bytes: end };
        let Ok(needed) = usize::try_from(end.div_ceil(BLOCK_BYTES)) else { return Err(error) };
        if needed > self.blocks.len() {
            if self.blocks.try_reserve(needed - self.blocks.len()).is_err() {
                return Err(error);
            }
            self.blocks.resize(needed, Block([0; BLOCK_BYTES as usize]));
        }
        Ok(())
    }
}

/// Holds the rules on placement against one tile.
///
/// The rules speak of instructions; a move of the tile onto itself is one that has nothing else to it, and only what
/// concerns the place of a tile is listened to.
pub(crate) fn judge_place(tile: Tile, target: Target, launch: Launch) -> Result<(), Cause> {
    let on_placement = [rules::ALIGN_ADDRESS, rules::BUDGET_UB, rules::BUDGET_DYN_UB, rules::SHAPE_OVERFLOW];
    let concerns =
        |f: &Finding| f.rule.severity == Severity::Error && f.role != Role::Dst && on_placement.contains(&f.rule);
    let itself = Instruction::TScatterMask { dst: tile, src: tile, pattern: MaskPattern::P1111 };
    let findings: Vec<Finding> = check(&itself, target, launch).into_iter().filter(concerns).collect();
    if findings.is_empty() { Ok(()) } else { Err(Cause::Placement(findings)) }
}

/// Lends out a tile to write and others to read. Those that share bytes with the first are read as they were before.
pub(crate) fn with_tiles<const N: usize, R>(
    bytes: &mut [u8],
    written: Range<usize>,
    read: [Range<usize>; N],
    run: impl FnOnce(&mut [u8], [&[u8]; N]) -> R,
) -> R {
    let apart = |range: &Range<usize>| range.end <= written.start || written.end <= range.start;
    let copies = read.each_ref().map(|range| if apart(range) { None } else { Some(bytes[range.clone()].to_vec()) });
    let (before, rest) = bytes.split_at_mut(written.start);
    let (written_bytes, after) = rest.split_at_mut(written.len());
    let (before, after) = (&*before, &*after);
    let mut lent = read.into_iter().zip(copies).map(|(range, copy)| match copy {
        Some(copy) => Cow::Owned(copy),
        None if range.end <= written.start => Cow::Borrowed(&before[range]),
        None => Cow::Borrowed(&after[range.start - written.end..range.end - written.end]),
    });
    let lent: [Cow<'_, [u8]>; N] = core::array::from_fn(|_| lent.next().unwrap_or_default());
    run(written_bytes, lent.each_ref().map(|part| &**part))
}
