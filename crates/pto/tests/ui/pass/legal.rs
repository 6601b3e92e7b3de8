//! The legal twins of what `bounds` and `rules` refuse.

use pto::prelude::*;

fn main() -> Result<(), pto::Error> {
    let mut memory = vec![0f32; 64 * 32];
    let src = Tile::<f32, 8, 32>::new();
    let row_index = Tile::<i32, 1, 8>::new();
    let column_index = Tile::<i32, 8, 1>::new();
    let elem_index = Tile::<u32, 8, 32>::new();

    let mut table = GlobalTensor::<f32, Shape<1, 1, 1, 64, 32>>::new(&mut memory)?;
    let mut a5 = VectorCore::<A5>::new();
    a5.mscatter((Row, Max), &mut table, &src, &column_index)?;
    a5.mscatter((Row, AtomicNone, Skip, Last), &mut table, &src, &row_index)?;
    a5.mscatter((Elem, Add, Wrap, DefaultConflict), &mut table, &src, &elem_index)?;

    let (src, row_index) = (Tile::<f32, 8, 32>::new(), Tile::<i32, 1, 8>::new());
    let mut a2a3 = VectorCore::<A2A3>::new();
    a2a3.mscatter((Row, Add, Clamp), &mut table, &src, &row_index)?;

    let (src, idx) = (Tile::<f32, 3072, 8>::new(), Tile::<i32, 3072, 8>::new());
    VectorCore::<A5<{ 200 * 1024 }>>::new().mscatter(Elem, &mut table, &src, &idx)?;

    let mut wide = vec![0f64; 64 * 7];
    let mut wide = GlobalTensor::<f64, Shape<1, 1, 1, 64, 7>>::new(&mut wide)?;
    let (src, idx) = (Tile::<f64, 8, 7>::new(), Tile::<i64, 1, 8>::new());
    VectorCore::<Host>::new().mscatter((Row, Min), &mut wide, &src, &idx)?;

    let (mut dst, src, idx) = (Tile::<f32, 16, 16>::new(), Tile::<f32, 16, 16>::new(), Tile::<u16, 16, 16>::new());
    VectorCore::<Cpu>::new().tscatter(&mut dst, &src, &idx)?;
    Ok(())
}
