//! The instructions of a vector core.
//!
//! Each one: the legality of what the types say, at compile time; the operands as they are now; the rules again, for
//! what the types left open, and the execution, both in `pto-exec`.

use core::panic::Location;

use pto_exec::{Memory, transfer};
use pto_isa::Instruction;

use crate::arch::Arch;
use crate::error::Error;
use crate::event::Event;
use crate::legal;
use crate::policy::{GatherPolicy, Mask, ScatterPolicy};
use crate::support::{
    AtomicElement, ConflictOn, HasAtomic, HasMask, MemoryIndex, Payload, Same, TileIndex, TilePayload,
};
use crate::tensor::{Table, TableMut};
use crate::tile::TileOperand;
use crate::ub::with_tiles;
use crate::vector_core::{Done, VectorCore, range};

impl<A: Arch> VectorCore<A> {
    /// Scatters a tile into a table in global memory (`MSCATTER`): rows or elements, replaced or combined.
    ///
    /// # Errors
    /// If dynamic extents or addresses break a rule, or an index is out of range under
    /// [`Undefined`](crate::Undefined). Nothing is written then.
    ///
    /// ```
    /// use pto::prelude::*;
    /// let mut memory = [10i32; 16];
    /// let mut table = GlobalTensor::<i32, Shape<1, 1, 1, 1, 16>>::new(&mut memory)?;
    /// let (src, idx) = (Tile::<i32, 1, 8>::new(), Tile::<u32, 1, 8>::new());
    /// let mut core = VectorCore::<A5>::new();
    /// core.write(&src, &[1; 8])?;
    /// core.write(&idx, &[0, 0, 0, 5, 5, 15, 16, 17])?;
    /// let event = core.mscatter((Elem, Add, Clamp), &mut table, &src, &idx)?;
    /// assert_eq!(event.lanes().clamped, 2);
    /// assert_eq!(memory, [13, 10, 10, 10, 10, 12, 10, 10, 10, 10, 10, 10, 10, 10, 10, 13]);
    /// # Ok::<(), pto::Error>(())
    /// ```
    ///
    /// What the target lacks does not compile:
    ///
    /// ```compile_fail
    /// # use pto::prelude::*;
    /// # let mut memory = [10i32; 16];
    /// # let mut table = GlobalTensor::<i32, Shape<1, 1, 1, 1, 16>>::new(&mut memory)?;
    /// # let (src, idx) = (Tile::<i32, 1, 8>::new(), Tile::<u32, 1, 8>::new());
    /// let mut core = VectorCore::<A2A3>::new();
    /// core.mscatter((Elem, Max), &mut table, &src, &idx)?; // `A2A3` has no atomic `Max`
    /// # Ok::<(), pto::Error>(())
    /// ```
    #[track_caller]
    pub fn mscatter<P, G, S, I>(&mut self, policy: P, table: &mut G, src: &S, idx: &I) -> Result<Event, Error>
    where
        P: ScatterPolicy,
        A: HasAtomic<P::Atomic>,
        P::Conflict: ConflictOn<A>,
        S: TileOperand<Element: Payload<A> + AtomicElement<P::Atomic, A> + Same<G::Element>>,
        I: TileOperand<Element: MemoryIndex<A>>,
        G: TableMut,
    {
        const {
            legal::assert_legal::<A>(Instruction::MScatter {
                table: G::STATIC,
                src: S::STATIC,
                idx: I::STATIC,
                policy: P::POLICY,
            });
        }
        let _ = policy;
        let place = Location::caller();
        if let Some(recorder) = self.recorder.as_deref_mut() {
            return recorder.mscatter(place, P::POLICY, table, src, idx);
        }
        self.issue(place, |core| {
            let (src, idx) = (core.ub.resolve::<A>(src)?, core.ub.resolve::<A>(idx)?);
            let instruction = Instruction::MScatter { table: table.operand(), src, idx, policy: P::POLICY };
            let ub = core.ub.bytes();
            let memory = Memory::MScatter { table: table.bytes_mut(), src: &ub[range(&src)], idx: &ub[range(&idx)] };
            core.plans.of::<A>(&instruction)?.run(memory, core.schedule)
        })
    }

    /// Gathers from a table in global memory into a tile (`MGATHER`): rows or elements.
    ///
    /// # Errors
    /// If dynamic extents or addresses break a rule, or an index is out of range under
    /// [`Undefined`](crate::Undefined). Nothing is written then.
    ///
    /// ```
    /// use pto::prelude::*;
    /// let memory: Vec<f32> = (0..32).map(|i| i as f32).collect();
    /// let table = GlobalRef::<f32, Shape<1, 1, 1, 4, 8>>::new(&memory)?;
    /// let (mut dst, idx) = (Tile::<f32, 2, 8>::new(), Tile::<i32, 1, 2>::new());
    /// let mut core = VectorCore::<A2A3>::new();
    /// core.write(&idx, &[2, 4])?;
    /// core.mgather((Row, Zero), &mut dst, &table, &idx)?;
    /// let rows = core.read(&dst)?;
    /// assert_eq!(rows[..8], memory[16..24]);
    /// assert_eq!(rows[8..], [0.0; 8]);
    /// # Ok::<(), pto::Error>(())
    /// ```
    #[track_caller]
    pub fn mgather<P, D, G, I>(&mut self, policy: P, dst: &mut D, table: &G, idx: &I) -> Result<Event, Error>
    where
        P: GatherPolicy,
        D: TileOperand<Element: Payload<A> + Same<G::Element>>,
        I: TileOperand<Element: MemoryIndex<A>>,
        G: Table,
    {
        const {
            legal::assert_legal::<A>(Instruction::MGather {
                dst: D::STATIC,
                table: G::STATIC,
                idx: I::STATIC,
                policy: P::POLICY,
            });
        }
        let _ = policy;
        let place = Location::caller();
        if let Some(recorder) = self.recorder.as_deref_mut() {
            return recorder.mgather(place, P::POLICY, dst, table, idx);
        }
        self.issue(place, |core| {
            let (dst, idx) = (core.ub.resolve::<A>(dst)?, core.ub.resolve::<A>(idx)?);
            let instruction = Instruction::MGather { dst, table: table.operand(), idx, policy: P::POLICY };
            let (plan, schedule) = (core.plans.of::<A>(&instruction)?, core.schedule);
            with_tiles(core.ub.bytes_mut(), range(&dst), [range(&idx)], |dst, [idx]| {
                plan.run(Memory::MGather { dst, table: table.bytes(), idx }, schedule)
            })
        })
    }

    /// Scatters a tile into a tile by flat offsets (`TSCATTER`, index form).
    ///
    /// What no lane writes is zero on `A2A3` and `A5`, which clear the destination first, and unchanged elsewhere.
    ///
    /// # Errors
    /// If dynamic extents or addresses break a rule, or an offset is beyond the destination. Nothing is written then.
    ///
    /// ```
    /// use pto::prelude::*;
    /// let (mut dst, src, idx) = (Tile::<f16, 1, 16>::new(), Tile::<f16, 1, 16, RowMajor, 1, 2>::new(),
    ///     Tile::<u16, 1, 16, RowMajor, 1, 2>::new());
    /// let mut core = VectorCore::<A5>::new();
    /// core.write(&src, &[f16::ONE, f16::NEG_ONE])?;
    /// core.write(&idx, &[15, 0])?;
    /// core.tscatter(&mut dst, &src, &idx)?;
    /// let row = core.read(&dst)?;
    /// assert_eq!((row[0], row[15]), (f16::NEG_ONE, f16::ONE));
    /// # Ok::<(), pto::Error>(())
    /// ```
    #[track_caller]
    pub fn tscatter<D, S, I>(&mut self, dst: &mut D, src: &S, idx: &I) -> Result<Event, Error>
    where
        S: TileOperand<Element: TilePayload<A>>,
        D: TileOperand<Element: Same<S::Element>>,
        I: TileOperand<Element: TileIndex<S::Element, A>>,
    {
        const {
            legal::assert_legal::<A>(Instruction::TScatter { dst: D::STATIC, src: S::STATIC, idx: I::STATIC });
        }
        let place = Location::caller();
        if let Some(recorder) = self.recorder.as_deref_mut() {
            return recorder.tscatter(place, dst, src, idx);
        }
        self.issue(place, |core| {
            let (dst, src) = (core.ub.resolve::<A>(dst)?, core.ub.resolve::<A>(src)?);
            let idx = core.ub.resolve::<A>(idx)?;
            let instruction = Instruction::TScatter { dst, src, idx };
            let (plan, schedule) = (core.plans.of::<A>(&instruction)?, core.schedule);
            with_tiles(core.ub.bytes_mut(), range(&dst), [range(&src), range(&idx)], |dst, [src, idx]| {
                plan.run(Memory::TScatter { dst, src, idx }, schedule)
            })
        })
    }

    /// Spreads each row of a tile over a wider one, zeros between (`TSCATTER`, mask form).
    ///
    /// # Errors
    /// If dynamic extents or addresses break a rule. Nothing is written then.
    ///
    /// ```
    /// use pto::prelude::*;
    /// let (mut dst, src) = (Tile::<i32, 1, 8>::new(), Tile::<i32, 1, 4>::new());
    /// let mut core = VectorCore::<A5>::new();
    /// core.write(&src, &[1, 2, 3, 4])?;
    /// core.tscatter_mask(P1010, &mut dst, &src)?;
    /// assert_eq!(core.read(&dst)?, [0, 1, 0, 2, 0, 3, 0, 4]);
    /// # Ok::<(), pto::Error>(())
    /// ```
    #[track_caller]
    pub fn tscatter_mask<M, D, S>(&mut self, mask: M, dst: &mut D, src: &S) -> Result<Event, Error>
    where
        M: Mask,
        A: HasMask,
        S: TileOperand<Element: TilePayload<A>>,
        D: TileOperand<Element: Same<S::Element>>,
    {
        const {
            legal::assert_legal::<A>(Instruction::TScatterMask { dst: D::STATIC, src: S::STATIC, pattern: M::PATTERN });
        }
        let _ = mask;
        let place = Location::caller();
        if let Some(recorder) = self.recorder.as_deref_mut() {
            return recorder.tscatter_mask(place, M::PATTERN, dst, src);
        }
        self.issue(place, |core| {
            let (dst, src) = (core.ub.resolve::<A>(dst)?, core.ub.resolve::<A>(src)?);
            let instruction = Instruction::TScatterMask { dst, src, pattern: M::PATTERN };
            let (plan, schedule) = (core.plans.of::<A>(&instruction)?, core.schedule);
            with_tiles(core.ub.bytes_mut(), range(&dst), [range(&src)], |dst, [src]| {
                plan.run(Memory::TScatterMask { dst, src }, schedule)
            })
        })
    }

    /// Loads a tile's valid region from a tensor and fills its padding (`TLOAD`).
    ///
    /// The tensor is read as a matrix, from its first row and column: dimensions 0 to 3 are rows, dimension 4 is
    /// columns; for NZ, the logical matrix of its blocks. Storage orders of tile and tensor may differ.
    ///
    /// # Errors
    /// If the tile's valid region is larger than the tensor. Nothing is written then.
    ///
    /// ```
    /// use pto::prelude::*;
    /// let memory = [1i32, 2, 3, 4, 5, 6];
    /// let tensor = GlobalRef::<i32, Shape<1, 1, 1, 2, 3>>::new(&memory)?;
    /// let mut tile = Tile::<i32, 2, 8, RowMajor, 2, 3, PadMin>::new();
    /// let mut core = VectorCore::<A5>::new();
    /// core.tload(&mut tile, &tensor)?;
    /// assert_eq!(core.read(&tile)?, memory);
    /// # Ok::<(), pto::Error>(())
    /// ```
    #[track_caller]
    pub fn tload<D, G>(&mut self, dst: &mut D, src: &G) -> Result<Event, Error>
    where
        D: TileOperand<Element: Same<G::Element>>,
        G: Table,
    {
        const { legal::assert_fits(D::STATIC, G::STATIC) }
        let place = Location::caller();
        if let Some(recorder) = self.recorder.as_deref_mut() {
            return recorder.tload(place, dst, src);
        }
        self.issue(place, |core| {
            let tile = core.ub.resolve::<A>(dst)?;
            let bytes = &mut core.ub.bytes_mut()[range(&tile)];
            transfer::load(&tile, bytes, &src.operand(), src.bytes())?;
            transfer::fill_padding(&tile, bytes)?;
            Ok(Done::default())
        })
    }

    /// Stores a tile's valid region into a tensor (`TSTORE`).
    ///
    /// # Errors
    /// If the tile's valid region is larger than the tensor. Nothing is written then.
    ///
    /// ```
    /// use pto::prelude::*;
    /// let mut memory = [0i32; 8];
    /// let mut column = GlobalTensor::<i32, Shape<1, 1, 1, 4, 1>, Stride<8, 8, 8, 2, 1>>::new(&mut memory)?;
    /// let tile = Tile::<i32, 4, 8, RowMajor, 4, 1>::new();
    /// let mut core = VectorCore::<A5>::new();
    /// core.write(&tile, &[1, 2, 3, 4])?;
    /// core.tstore(&mut column, &tile)?;
    /// assert_eq!(memory, [1, 0, 2, 0, 3, 0, 4, 0]);
    /// # Ok::<(), pto::Error>(())
    /// ```
    #[track_caller]
    pub fn tstore<G, S>(&mut self, dst: &mut G, src: &S) -> Result<Event, Error>
    where
        S: TileOperand<Element: Same<G::Element>>,
        G: TableMut,
    {
        const { legal::assert_fits(S::STATIC, G::STATIC) }
        let place = Location::caller();
        if let Some(recorder) = self.recorder.as_deref_mut() {
            return recorder.tstore(place, dst, src);
        }
        self.issue(place, |core| {
            let tile = core.ub.resolve::<A>(src)?;
            let (tensor, bytes) = (dst.operand(), &core.ub.bytes()[range(&tile)]);
            transfer::store(&tensor, dst.bytes_mut(), &tile, bytes)?;
            Ok(Done::default())
        })
    }

    /// Copies the valid region of one tile to another (`TMOV`); storage orders may differ.
    ///
    /// # Errors
    /// If the valid regions differ. Nothing is written then.
    ///
    /// ```
    /// use pto::prelude::*;
    /// let (mut dst, src) = (Tile::<i32, 8, 8, ColMajor>::new(), Tile::<i32, 8, 8>::new());
    /// let mut core = VectorCore::<A5>::new();
    /// core.write(&src, &(0..64).collect::<Vec<_>>())?;
    /// core.tmov(&mut dst, &src)?;
    /// assert_eq!(core.read(&dst)?, core.read(&src)?);
    /// # Ok::<(), pto::Error>(())
    /// ```
    #[track_caller]
    pub fn tmov<D, S>(&mut self, dst: &mut D, src: &S) -> Result<Event, Error>
    where
        S: TileOperand,
        D: TileOperand<Element: Same<S::Element>>,
    {
        let place = Location::caller();
        if let Some(recorder) = self.recorder.as_deref_mut() {
            return recorder.tmov(place, dst, src);
        }
        self.issue(place, |core| {
            let (dst, src) = (core.ub.resolve::<A>(dst)?, core.ub.resolve::<A>(src)?);
            with_tiles(core.ub.bytes_mut(), range(&dst), [range(&src)], |to, [from]| {
                transfer::copy(&dst, to, &src, from)?;
                Ok(Done::default())
            })
        })
    }
}
