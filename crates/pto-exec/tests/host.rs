//! The host engine on arrays against the reference executor: every element and index type, every policy, slices and
//! strided views, every instruction set, 1, 2, 3 and 8 threads, each way of a scatter; buffers between guard words.

use std::num::NonZeroUsize;
use std::sync::OnceLock;

use proptest::prelude::*;
use proptest::sample::select;
use pto_exec::host::{Backend, Engine, Fault, Index, Method, View, ViewMut};
use pto_exec::{Lanes, Memory, Schedule, reference};
use pto_isa::{
    Atomic, Coalesce, Element, ElementClass, ElementType, Instruction, Launch, OutOfBounds, Policy, Target, Tensor,
    TensorLayout, Tile, with_element_type,
};

const GUARD: usize = 16;

/// Every instruction set, on one thread in source order and on several in each other way.
fn engines() -> &'static [Engine] {
    static ENGINES: OnceLock<Vec<Engine>> = OnceLock::new();
    ENGINES.get_or_init(|| {
        // No call has more threads than there are. Where tests share a process, the first has made them.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(8).build_global();
        let ways = [
            (1, Method::Direct),
            (1, Method::Partitioned),
            (2, Method::Owned),
            (2, Method::Merged),
            (2, Method::Partitioned),
            (3, Method::Owned),
            (3, Method::Merged),
            (3, Method::Partitioned),
            (8, Method::Owned),
            (8, Method::Merged),
            (8, Method::Partitioned),
        ];
        let engine = |backend, (threads, method)| {
            let threads = NonZeroUsize::new(threads).expect("not zero");
            Engine::new().with_backend(backend).with_threads(threads).with_method(method)
        };
        let forced = Backend::available().flat_map(|backend| ways.map(|way| engine(backend, way)));
        forced.chain([Engine::new()]).collect()
    })
}

/// One transfer; `rows` by `cols` of payload, the table's and the payload's rows with a gap.
#[derive(Clone, Debug)]
struct Call {
    element: ElementType,
    index: ElementType,
    scatter: bool,
    by_row: bool,
    atomic: Atomic,
    oob: OutOfBounds,
    payload: (usize, usize, usize),
    table: (usize, usize, usize),
    index_gap: usize,
    indices: Vec<i128>,
    seed: u64,
}

impl Call {
    fn capacity(&self) -> usize {
        if self.by_row { self.table.0 } else { self.table.0 * self.table.1 }
    }
}

fn span((rows, cols, gap): (usize, usize, usize)) -> usize {
    if rows == 0 { 0 } else { (rows - 1) * (cols + gap) + cols }
}

fn random(seed: u64) -> impl Iterator<Item = u64> {
    (1u64..).map(move |i| {
        let mut z = seed.wrapping_add(i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}

/// The elements that lie in some bytes.
fn from_bytes<T: Element>(bytes: &[u8]) -> Vec<T> {
    bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()
}

fn values<T: Element>(seed: u64, length: usize) -> Vec<T> {
    let bytes: Vec<u8> = random(seed).map(|x| x as u8).take(length * size_of::<T>()).collect();
    from_bytes(&bytes)
}

/// What the reference makes of the call: counts or the fault's lane and index, and the written operand.
fn expected<T: Element, I: Index>(call: &Call, written: &[T], read: &[T], idx: &[I]) -> (Result<Lanes, Fault>, Vec<T>) {
    let (table_rows, table_cols, table_gap) = call.table;
    let (rows, cols, gap) = call.payload;
    let stride = (table_cols + table_gap) as u64;
    let shape = [1, 1, 1, table_rows as u64, table_cols as u64];
    let outer = stride * table_rows as u64;
    let table = Tensor::strided(T::TYPE, shape, [outer, outer, outer, stride, 1], TensorLayout::Nd);
    let tile = |element, rows: usize, cols: usize, gap: usize| {
        Tile::new(element, rows as u64, (cols + gap) as u64).with_valid(rows as u64, cols as u64)
    };
    let payload = tile(T::TYPE, rows, cols, gap);
    let lanes = if call.by_row { tile(I::TYPE, 1, rows, 0) } else { tile(I::TYPE, rows, cols, call.index_gap) };
    let mode = if call.by_row { Coalesce::Row } else { Coalesce::Elem };
    let policy = Policy::coalesce(mode).with_oob(call.oob);
    // The reference wants whole allocations: the last row padded to its stride.
    let pad = |values: &[T], length: u64| {
        let mut bytes = bytemuck::cast_slice(values).to_vec();
        bytes.resize(length as usize * size_of::<T>(), 0);
        bytes
    };
    let mut idx_bytes = bytemuck::cast_slice(idx).to_vec();
    idx_bytes.resize(lanes.bytes().expect("small") as usize, 0);
    let (instruction, mut to, from) = if call.scatter {
        let instruction =
            Instruction::MScatter { table, src: payload, idx: lanes, policy: policy.with_atomic(call.atomic) };
        (instruction, pad(written, outer), pad(read, payload.elements().expect("small")))
    } else {
        let instruction = Instruction::MGather { dst: payload, table, idx: lanes, policy };
        (instruction, pad(written, payload.elements().expect("small")), pad(read, outer))
    };
    let memory = if call.scatter {
        Memory::MScatter { table: &mut to, src: &from, idx: &idx_bytes }
    } else {
        Memory::MGather { dst: &mut to, table: &from, idx: &idx_bytes }
    };
    let outcome = reference::execute(&instruction, Target::Host, Launch::default(), memory, Schedule::InOrder);
    let outcome = outcome.map_err(|fault| match fault {
        pto_exec::Fault::Lane { lane, index, capacity, .. } => Fault::Lane { lane, index, capacity },
        other => panic!("{other}"),
    });
    (outcome, from_bytes(&to[..size_of_val(written)]))
}

/// Equal bits, or both the NaN of an arithmetic operation.
fn same<T: Element>(call: &Call, a: &[T], b: &[T]) -> bool {
    let computed = call.scatter && call.atomic != Atomic::None && T::TYPE.class() == ElementClass::Float;
    let bytes = |x: &T| bytemuck::bytes_of(x).to_vec();
    // A NaN is what no number is ordered with, itself included.
    let is_nan = |x: &T| !core::iter::once(x).eq(core::iter::once(x));
    a.iter().zip(b).all(|(x, y)| bytes(x) == bytes(y) || (computed && is_nan(x) && is_nan(y)))
}

fn run<T: Element, I: Index>(call: &Call) -> Result<(), TestCaseError> {
    let idx: Vec<I> = {
        let (rows, cols) = if call.by_row { (1, call.payload.0) } else { (call.payload.0, call.payload.1) };
        let mut lanes = vec![0i128; span((rows, cols, call.index_gap))];
        for (k, index) in call.indices.iter().enumerate().take(rows * cols) {
            lanes[k / cols * (cols + call.index_gap) + k % cols] = *index;
        }
        let bytes: Vec<u8> = lanes.iter().flat_map(|x| x.to_le_bytes()[..size_of::<I>()].to_vec()).collect();
        from_bytes(&bytes)
    };
    let (written_shape, read_shape) =
        if call.scatter { (call.table, call.payload) } else { (call.payload, call.table) };
    let written: Vec<T> = values(call.seed, span(written_shape));
    let read: Vec<T> = values(call.seed ^ 0xff, span(read_shape));
    let (outcome, result) = expected(call, &written, &read, &idx);
    let view = |(rows, cols, gap): (usize, usize, usize)| (rows, cols, cols + gap);
    for engine in engines() {
        let guards: Vec<T> = values(99, GUARD);
        let mut buffer = [&guards, &written, &guards].map(Vec::as_slice).concat();
        let target = &mut buffer[GUARD..][..written.len()];
        let ((rows, cols, stride), (read_rows, read_cols, read_stride)) = (view(written_shape), view(read_shape));
        let to = ViewMut::strided(target, rows, cols, stride).expect("long enough");
        let from = View::strided(&read, read_rows, read_cols, read_stride).expect("long enough");
        let (rows, cols) = if call.by_row { (1, call.payload.0) } else { (call.payload.0, call.payload.1) };
        let lanes = View::strided(&idx, rows, cols, cols + call.index_gap).expect("long enough");
        let actual = match (call.scatter, call.by_row) {
            (false, false) => engine.gather(to, from, lanes, call.oob),
            (false, true) => engine.gather_rows(to, from, lanes, call.oob),
            (true, false) => engine.scatter(to, from, lanes, call.atomic, call.oob),
            (true, true) => engine.scatter_rows(to, from, lanes, call.atomic, call.oob),
        };
        prop_assert_eq!(&actual, &outcome, "{:?}", engine);
        if !call.scatter && !call.by_row && outcome.is_err() {
            // The elements of the view may be anything, what lies between its rows may not.
            for at in (0..call.payload.0).flat_map(|row| row * stride..row * stride + cols) {
                buffer[GUARD + at] = result[at];
            }
        }
        prop_assert!(same(call, &buffer[GUARD..][..written.len()], &result), "{:?}", engine);
        for end in [&buffer[..GUARD], &buffer[GUARD + written.len()..]] {
            prop_assert!(
                bytemuck::cast_slice::<_, u8>(end) == bytemuck::cast_slice::<_, u8>(&guards),
                "a guard was touched"
            );
        }
    }
    Ok(())
}

/// Each element type with a narrow and a wide index, one of them signed, and one element type with all: an index is made a
/// word of its width before it meets an element, and every pair here is compiled for itself.
fn dispatch(call: &Call) -> Result<(), TestCaseError> {
    match (call.element, call.index) {
        (ElementType::F32, ElementType::U32) => run::<f32, u32>(call),
        (ElementType::F32, ElementType::I64) => run::<f32, i64>(call),
        (element, ElementType::I32 | ElementType::U32) => with_element_type!(element, T => run::<T, i32>(call)),
        (element, _) => with_element_type!(element, T => run::<T, u64>(call)),
    }
}

const INDICES: [ElementType; 4] = [ElementType::I32, ElementType::U32, ElementType::I64, ElementType::U64];

fn bounds(index: ElementType) -> (i128, i128) {
    match index {
        ElementType::I32 => (i32::MIN.into(), i32::MAX.into()),
        ElementType::U32 => (0, u32::MAX.into()),
        ElementType::I64 => (i64::MIN.into(), i64::MAX.into()),
        _ => (0, u64::MAX.into()),
    }
}

fn calls() -> impl Strategy<Value = Call> {
    let kinds = (select(&ElementType::ALL[..]), select(&INDICES[..]), any::<bool>(), any::<bool>());
    let policies = (select(Atomic::ALL), select(OutOfBounds::ALL));
    let shapes = ((1..40usize, 1..70usize, 0..3usize), (1..60usize, 0..3usize), 0..2usize, 0..5u8, any::<u64>());
    (kinds, policies, shapes).prop_map(
        |(
            (element, index, scatter, by_row),
            (atomic, oob),
            (payload, (table_rows, table_gap), index_gap, how, seed),
        )| {
            let atomic = if element.class() == ElementClass::Float8 { Atomic::None } else { atomic };
            let oob = match (scatter, oob) {
                (true, OutOfBounds::Zero) => OutOfBounds::Skip,
                (false, OutOfBounds::Skip) => OutOfBounds::Zero,
                _ => oob,
            };
            let table_cols = if by_row { payload.1 } else { 1 + seed as usize % 90 };
            let mut call = Call {
                element,
                index,
                scatter,
                by_row,
                atomic,
                oob,
                payload,
                table: (table_rows, table_cols, table_gap),
                index_gap: if by_row { 0 } else { index_gap },
                indices: Vec::new(),
                seed,
            };
            let (capacity, (low, high)) = (call.capacity() as i128, bounds(index));
            let edges = [capacity - 1, capacity, capacity + 1, 1 << 31, low, high, -1];
            let lane = |x: u64| match how {
                0 => i128::from(x) % capacity,
                1 => i128::from(x) % capacity.min(2),
                2 => edges[x as usize % edges.len()],
                3 => low + (i128::from(x) << 8) % (high - low),
                _ if x.is_multiple_of(97) => capacity,
                _ => i128::from(x) % capacity,
            };
            let lanes = if by_row { payload.0 } else { payload.0 * payload.1 };
            call.indices = random(seed).map(lane).map(|x| x.clamp(low, high)).take(lanes).collect();
            call
        },
    )
}

/// Cases to try: fewer where `PROPTEST_CASES` says so, as it does under a sanitizer.
fn cases(most: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(most)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(1_250), ..ProptestConfig::default() })]

    #[test]
    fn transfers_agree_with_the_reference(call in calls()) {
        dispatch(&call)?;
    }
}

/// One odd index at every lane of body and tail, for each policy, each operation and each index type.
#[test]
fn one_odd_index_at_every_lane() {
    let lengths = if cases(1_250) < 1_250 { vec![1usize, 17, 33] } else { vec![1, 15, 17, 33, 65] };
    for index in INDICES {
        let (low, high) = bounds(index);
        for odd in [19, 20, 21, 1i128 << 31, i128::from(u32::MAX), low, high, -1].map(|x| x.clamp(low, high)) {
            for (scatter, oob) in [
                (false, OutOfBounds::Undefined),
                (false, OutOfBounds::Zero),
                (false, OutOfBounds::Clamp),
                (true, OutOfBounds::Skip),
                (true, OutOfBounds::Wrap),
                (true, OutOfBounds::Undefined),
            ] {
                for &length in &lengths {
                    // Every second lane of long runs: the odd and even ones of a register are handled alike.
                    for at in (0..length).step_by(1 + length / 40) {
                        let mut indices: Vec<i128> = (0..length as i128).map(|k| k % 20).collect();
                        indices[at] = odd;
                        let call = Call {
                            element: ElementType::F32,
                            index,
                            scatter,
                            by_row: false,
                            atomic: Atomic::Add,
                            oob,
                            payload: (1, length, 0),
                            table: (1, 20, 0),
                            index_gap: 0,
                            indices,
                            seed: at as u64,
                        };
                        dispatch(&call).expect("agrees");
                    }
                }
            }
        }
    }
}

/// Tables and lane counts on both sides of every crossover, as the engine itself decides, against one plain loop.
#[test]
fn long_scatters_are_the_same_on_any_number_of_threads() {
    for (lanes, size) in [(1usize << 15, 1usize << 12), ((1 << 17) + 5, (6 << 20) + 1), ((1 << 18) + 3, 1 << 23)] {
        let indices: Vec<i32> = random(5).map(|x| (x % size as u64) as i32).take(lanes).collect();
        let hot: Vec<i32> =
            random(6).map(|x| if x % 3 == 0 { 7 } else { (x % size as u64) as i32 }).take(lanes).collect();
        let source: Vec<f32> = random(7).map(|x| (x as u32) as f32 * 1e-3).take(lanes).collect();
        for indices in [indices, hot] {
            let mut expected = vec![0.1f32; size];
            source.iter().zip(&indices).for_each(|(value, index)| expected[*index as usize] += value);
            for threads in [1, 2, 3, 8] {
                let engine = Engine::new().with_threads(NonZeroUsize::new(threads).expect("not zero"));
                let mut table = vec![0.1f32; size];
                engine.scatter(&mut table, &source, &indices, Atomic::Add, OutOfBounds::Undefined).expect("in range");
                assert!(table == expected, "{threads} threads, {lanes} lanes, {size} slots");
                let mut read = vec![0f32; lanes];
                engine.gather(&mut read, &table, &indices, OutOfBounds::Undefined).expect("in range");
                assert!(read.iter().zip(&indices).all(|(value, index)| *value == expected[*index as usize]));
            }
        }
    }
}

/// Where lanes go that all, or all but some, go to one slot, and what comes out, whatever their type.
fn hot_lanes<I: Index>(number: fn(usize) -> I, slots: &[fn(usize) -> usize]) {
    engines();
    // So large that saving the table costs more than looking at the lanes.
    let (capacity, lanes) = (1usize << 21, (1usize << 20) + 100);
    let values: Vec<f32> = random(5).take(lanes).map(|x| (x % 1000) as f32 / 7.0).collect();
    for slot in slots {
        let indices: Vec<I> = (0..lanes).map(|lane| number(slot(lane))).collect();
        let mut expected = vec![1f32; capacity];
        (0..lanes).zip(&values).for_each(|(lane, value)| expected[slot(lane)] += value);
        for threads in [1, 2, 3, 8] {
            let engine = Engine::new().with_threads(NonZeroUsize::new(threads).expect("not zero"));
            let mut table = vec![1f32; capacity];
            engine.scatter(&mut table, &values, &indices, Atomic::Add, OutOfBounds::Undefined).expect("all in range");
            assert!(table == expected, "{threads} threads");
            for odd in [0, 700, lanes / 2, lanes - 1] {
                let mut indices = indices.clone();
                indices[odd] = number(capacity);
                let fault = engine.scatter(&mut table, &values, &indices, Atomic::Add, OutOfBounds::Undefined);
                assert_eq!(
                    fault.err(),
                    Some(Fault::Lane { lane: odd as u64, index: capacity as i128, capacity: capacity as u64 })
                );
                assert!(table == expected, "a fault leaves no trace");
            }
        }
    }
}

/// Then one thread carries them out, and all look at them first: these are more than a second-level cache holds.
#[test]
fn lanes_that_mostly_go_to_one_slot_are_combined_in_order() {
    hot_lanes(|slot| slot as i32, &[|lane| if lane % 32 == 5 { lane * 7 % (1 << 20) } else { 77_777 }]);
}

/// These are carried out before the others are looked at, but beside the table.
#[test]
fn lanes_that_go_to_one_slot_at_first_are_combined_in_order() {
    let slots: [fn(usize) -> usize; 4] = [
        |_| 77_777,
        |lane| if lane < 2047 { 77_777 } else { 77_777 + lane % 2 },
        |lane| if lane < 1 << 19 { 0 } else { lane * 7 % (1 << 20) },
        |lane| if lane == 1 << 20 { 5 } else { (1 << 20) - 1 },
    ];
    hot_lanes(|slot| slot as i32, &slots);
    hot_lanes(|slot| slot as u64, &slots);
}

/// The same for every kind of element and operation, in rows with gaps between them, against one call for each lane.
#[test]
fn rows_of_lanes_that_go_to_one_slot_are_combined_in_order() {
    fn check<T: Element, I: Index>(number: fn(u64) -> I) {
        let (rows, cols, gap, capacity) = (2, 5000, 3, 300);
        let length = rows * (cols + gap);
        let numbers = |seed, length| -> Vec<T> {
            let bytes: Vec<u8> = random(seed).map(|x| (x % 64) as u8).take(length * size_of::<T>()).collect();
            from_bytes(&bytes)
        };
        let indices: Vec<I> =
            random(3).map(|x| if x % 2000 == 0 { x % 300 } else { 299 }).map(number).take(length).collect();
        let source = numbers(4, length);
        for atomic in [Atomic::None, Atomic::Add, Atomic::Max, Atomic::Min] {
            let mut expected = numbers(5, capacity);
            let mut table = expected.clone();
            for lane in (0..rows).flat_map(|row| (0..cols).map(move |col| row * (cols + gap) + col)) {
                let (value, index) = (&source[lane..=lane], &indices[lane..=lane]);
                Engine::shared()
                    .scatter(&mut expected, value, index, atomic, OutOfBounds::Undefined)
                    .expect("in range");
            }
            for backend in Backend::available() {
                let first = table.clone();
                // No memory to save the table in.
                let engine = Engine::new().with_backend(backend).with_method(Method::Direct).with_memory_cap(0);
                let source = View::strided(&source, rows, cols, cols + gap).expect("a shape");
                let indices = View::strided(&indices, rows, cols, cols + gap).expect("a shape");
                engine.scatter(&mut table, source, indices, atomic, OutOfBounds::Undefined).expect("in range");
                let bytes = |table: &[T]| bytemuck::cast_slice::<T, u8>(table).to_vec();
                assert_eq!(bytes(&table), bytes(&expected), "{atomic} {:?}", T::TYPE);
                table = first;
            }
        }
    }
    check::<i8, i32>(|x| x as i32);
    check::<u16, u64>(|x| x);
    check::<half::f16, u32>(|x| x as u32);
    check::<half::bf16, i64>(|x| x as i64);
    check::<f32, i64>(|x| x as i64);
    check::<i32, i32>(|x| x as i32);
    check::<f64, i32>(|x| x as i32);
    check::<u64, u64>(|x| x);
}

/// Tables of the threads' own begin with a value that stands for none: what has it nevertheless arrives like any other.
#[test]
fn no_value_gets_lost_when_tables_are_merged() {
    fn agree<T: Element>(odd: &[T]) {
        let (slots, lanes) = (400, 600);
        let numbers = |seed| values::<T>(seed, lanes);
        let indices: Vec<i32> = random(5).map(|x| (x % slots as u64) as i32).take(lanes).collect();
        let engine = |threads, method| {
            Engine::new().with_threads(NonZeroUsize::new(threads).expect("not zero")).with_method(method)
        };
        for (seed, at) in [0, 1, 299, 300, 301, 599, lanes].into_iter().enumerate() {
            let (mut source, table) = (numbers(seed as u64), numbers(90)[..slots].to_vec());
            // The last time there are none of them.
            for (k, odd) in odd.iter().enumerate().filter(|_| at < lanes) {
                source[(at + k) % lanes] = *odd;
                source[(at + 7 * k + lanes / 2) % lanes] = *odd;
            }
            // Sums of floats are never merged, and the bits of a NaN among them are unspecified.
            let is_float = T::TYPE.class() == ElementClass::Float;
            for (atomic, table) in [Atomic::None, Atomic::Add, Atomic::Max, Atomic::Min]
                .into_iter()
                .filter(|atomic| !(is_float && *atomic == Atomic::Add))
                .flat_map(|atomic| [(atomic, table.clone()), (atomic, vec![odd[1]; slots])])
            {
                let on = |engine: &Engine| {
                    let mut table = table.clone();
                    engine.scatter(&mut table, &source, &indices, atomic, OutOfBounds::Undefined).expect("in range");
                    bytemuck::cast_slice::<_, u8>(&table).to_vec()
                };
                let expected = on(&engine(1, Method::Direct));
                for threads in [2, 3, 8] {
                    assert_eq!(
                        on(&engine(threads, Method::Merged)),
                        expected,
                        "{atomic}, {threads} threads, {}",
                        T::TYPE
                    );
                }
            }
        }
    }
    const NONE: u8 = 0xa7;
    agree::<u32>(&[u32::from_le_bytes([NONE; 4]), 0, u32::MAX]);
    agree::<i32>(&[i32::from_le_bytes([NONE; 4]), i32::MIN, i32::MAX]);
    agree::<u64>(&[u64::from_le_bytes([NONE; 8]), 0, u64::MAX]);
    agree::<i8>(&[i8::from_le_bytes([NONE]), i8::MIN, i8::MAX]);
    agree::<f32>(&[f32::from_le_bytes([NONE; 4]), f32::NAN, -f32::NAN, 0.0, -0.0, f32::INFINITY, -f32::INFINITY]);
    agree::<f64>(&[f64::from_le_bytes([NONE; 8]), f64::NAN, 0.0, -0.0, f64::NEG_INFINITY]);
    agree::<half::f16>(&[half::f16::from_le_bytes([NONE; 2]), half::f16::NAN, half::f16::NEG_INFINITY]);
    agree::<half::bf16>(&[half::bf16::NAN, half::bf16::from_bits(0x7f81), half::bf16::from_bits(0x8000)]);
}

/// Slots of large tables are asked for ahead, and those of the last lanes are not: any number of lanes, on the direct ways.
#[test]
fn any_number_of_lanes_into_a_large_table() {
    fn agree<T: Element + Default + PartialEq>(number: fn(u64) -> T, add: fn(T, T) -> T) {
        let size = (16 << 20) / size_of::<T>() + 3;
        let mut expected: Vec<T> = random(3).map(|x| number(x % 100)).take(size).collect();
        let mut table = expected.clone();
        let direct = [1, 2].map(|threads| {
            let engine = Engine::new().with_threads(NonZeroUsize::new(threads).expect("not zero"));
            engine.with_method(if threads == 1 { Method::Direct } else { Method::Owned })
        });
        for lanes in [1, 31, 32, 33, 64, 127, 128, 129, 130, 160, 161, 255, 256, 257, 384, 385, 4097, (1 << 20) + 5] {
            let indices: Vec<u32> =
                random(lanes).map(|x| (x % (size as u64 + 9)) as u32).take(lanes as usize).collect();
            let inside: Vec<u32> = indices.iter().map(|index| index % size as u32).collect();
            let source: Vec<T> = random(lanes + 1).map(|x| number(x % 100)).take(indices.len()).collect();
            for engine in &direct {
                for (atomic, indices, oob) in [
                    (Atomic::None, &inside, OutOfBounds::Undefined),
                    (Atomic::Add, &inside, OutOfBounds::Undefined),
                    (Atomic::None, &indices, OutOfBounds::Skip),
                    (Atomic::Add, &indices, OutOfBounds::Skip),
                ] {
                    engine.scatter(&mut table, &source, indices, atomic, oob).expect("a policy");
                    for (index, value) in indices.iter().zip(&source) {
                        if let Some(slot) = expected.get_mut(*index as usize) {
                            *slot = if atomic == Atomic::Add { add(*slot, *value) } else { *value };
                        }
                    }
                    let mut read = vec![T::default(); inside.len()];
                    engine.gather(&mut read, &table, &inside, OutOfBounds::Undefined).expect("in range");
                    let same = read.iter().zip(&inside).all(|(value, index)| *value == expected[*index as usize]);
                    assert!(same, "{lanes} lanes, {atomic:?}, {oob:?}, {engine:?}");
                }
            }
        }
        assert!(table == expected, "a slot that no lane names");
    }
    agree::<f32>(|x| x as f32, |a, b| a + b);
    agree::<half::f16>(|x| half::f16::from_f32(x as f32), |a, b| half::f16::from_f32(a.to_f32() + b.to_f32()));
    agree::<i64>(|x| x as i64, i64::wrapping_add);
}

/// Blocks of lanes without and with NaNs and zeros of either sign, into tables of which hardly anything is in a cache.
#[test]
fn maxima_into_a_large_table_mind_special_values() {
    let size = (16 << 20) / 4 + 3;
    let special = [f32::NAN, 0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, -1.0, 1.0];
    let best = |atomic, old: f32, new: f32| {
        let wins = if atomic == Atomic::Max { new.total_cmp(&old).is_gt() } else { new.total_cmp(&old).is_lt() };
        if old.is_nan() || (wins && !new.is_nan()) { new } else { old }
    };
    let one = || Engine::new().with_threads(NonZeroUsize::MIN);
    for engine in [one(), one().with_method(Method::Direct)] {
        for (lanes, atomic) in [40usize, 300, 5000, 9000].into_iter().flat_map(|n| [(n, Atomic::Max), (n, Atomic::Min)])
        {
            // Few slots, so that each is combined several times, far apart.
            let indices: Vec<u32> = random(7).map(|x| (x % 61 * 68_000) as u32).take(lanes).collect();
            let odd = |lane: usize| lane / 256 % 2 == 1 || lane < 9;
            let values = random(9).map(|x| special[(x % 7) as usize]).enumerate();
            let source: Vec<f32> = values.map(|(k, x)| if odd(k) { x } else { k as f32 + 1.0 }).take(lanes).collect();
            let mut table: Vec<f32> = random(11).map(|x| special[(x % 7) as usize]).take(size).collect();
            let mut expected = table.clone();
            for (index, value) in indices.iter().zip(&source) {
                expected[*index as usize] = best(atomic, expected[*index as usize], *value);
            }
            engine.scatter(&mut table, &source, &indices, atomic, OutOfBounds::Undefined).expect("in range");
            let same = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
            assert!(table.iter().zip(&expected).all(same), "{lanes} lanes, {atomic:?}, {engine:?}");
        }
    }
}

/// A lane out of range at the very end of a long scatter leaves the table as it was, whatever the way.
#[test]
fn a_late_fault_leaves_no_trace() {
    let lanes = 100_001;
    for size in [500usize, 200_000] {
        let mut indices: Vec<u32> = random(5).map(|x| (x % size as u64) as u32).take(lanes).collect();
        indices[lanes - 1] = size as u32;
        let (before, source) = (vec![3i64; size], vec![1i64; lanes]);
        for engine in engines() {
            let mut table = before.clone();
            let fault = engine.scatter(&mut table, &source, &indices, Atomic::Add, OutOfBounds::Undefined);
            let (lane, index, capacity) = (lanes as u64 - 1, size as i128, size as u64);
            assert_eq!(fault, Err(Fault::Lane { lane, index, capacity }));
            assert!(table == before, "{engine:?}");
            let mut read = vec![9i64; lanes];
            let fault = engine.gather(&mut read, &before, &indices, OutOfBounds::Undefined);
            assert_eq!(fault, Err(Fault::Lane { lane, index, capacity }));
        }
    }
}

/// So many lanes that slots are asked for ahead on every kind of machine, by words that nobody has looked at yet, and that more
/// parts of them are sorted than there are threads; into tables that threads save, own or merge.
#[test]
fn more_lanes_than_any_cache_keeps_are_carried_out_in_order_or_not_at_all() {
    let (size, lanes) = (1usize << 20, (1 << 21) + 77);
    let words: Vec<u32> = random(6).map(|x| (x % size as u64) as u32).take(lanes).collect();
    let source: Vec<i32> = random(8).map(|x| x as i32).take(lanes).collect();
    let before: Vec<i32> = (0..size as i32).collect();
    let combine = |atomic, old: i32, new: i32| match atomic {
        Atomic::None => new,
        Atomic::Add => old.wrapping_add(new),
        Atomic::Max => old.max(new),
        Atomic::Min => old.min(new),
    };
    for atomic in [Atomic::None, Atomic::Add, Atomic::Max] {
        let mut expected = before.clone();
        for (word, new) in words.iter().zip(&source) {
            expected[*word as usize] = combine(atomic, expected[*word as usize], *new);
        }
        for (threads, method) in
            [(1, Method::Direct), (2, Method::Owned), (2, Method::Merged), (2, Method::Partitioned)]
        {
            let engine = Engine::new().with_threads(NonZeroUsize::new(threads).expect("not zero")).with_method(method);
            let mut table = before.clone();
            engine.scatter(&mut table, &source, &words, atomic, OutOfBounds::Undefined).expect("all in range");
            assert!(table == expected, "{atomic:?} {engine:?}");
            let mut read = vec![0; lanes];
            engine.gather(&mut read, &table, &words, OutOfBounds::Undefined).expect("all in range");
            assert!(read.iter().zip(&words).all(|(found, word)| *found == expected[*word as usize]), "{engine:?}");
            for (lane, odd) in [(lanes - 1, u32::MAX), (1 << 20, size as u32)] {
                let mut words = words.clone();
                words[lane] = odd;
                let fault = engine.scatter(&mut table, &source, &words, atomic, OutOfBounds::Undefined);
                let (lane, capacity) = (lane as u64, size as u64);
                assert_eq!(fault, Err(Fault::Lane { lane, index: odd.into(), capacity }), "{atomic:?} {engine:?}");
                assert!(table == expected, "a fault leaves no trace: {atomic:?} {engine:?}");
                let fault = engine.gather(&mut read, &table, &words, OutOfBounds::Undefined);
                assert_eq!(fault, Err(Fault::Lane { lane, index: odd.into(), capacity }), "{engine:?}");
            }
        }
    }
}

/// One lane out of range among those of a gather from a table beyond the caches, early and late, with any index.
#[test]
fn a_fault_in_a_far_table_is_named() {
    fn check<I: Index>(number: fn(usize) -> I) {
        let size = (1 << 21) + 3;
        let table: Vec<u32> = (0..size as u32).collect();
        for (lanes, lane) in [(5000, 0), (5000, 4999), (70_000, 66_000), (150_000, 149_990)] {
            for odd in [size - 1, size] {
                let mut numbers: Vec<usize> = random(7).map(|x| x as usize % size).take(lanes).collect();
                numbers[lane] = odd;
                let indices: Vec<I> = numbers.iter().map(|x| number(*x)).collect();
                for engine in engines() {
                    let mut read = vec![0u32; lanes];
                    engine.gather(&mut read, &table, &indices, OutOfBounds::Clamp).expect("a policy");
                    let nearest = |x: &usize| (*x).min(size - 1);
                    assert!(numbers.iter().zip(&read).all(|(x, found)| nearest(x) == *found as usize), "{engine:?}");
                    let done = engine.gather(&mut read, &table, &indices, OutOfBounds::Undefined);
                    if odd < size {
                        assert!(done.is_ok() && numbers.iter().zip(&read).all(|(x, found)| *x == *found as usize));
                    } else {
                        let (lane, capacity) = (lane as u64, size as u64);
                        assert_eq!(done, Err(Fault::Lane { lane, index: odd as i128, capacity }), "{engine:?}");
                    }
                }
            }
        }
    }
    check::<i32>(|x| x as i32);
    check::<u64>(|x| x as u64);
}

/// A small cap makes a partition go in rounds, a tiny one rules it out; the memory is bounded and can be given back.
#[test]
fn the_memory_cap_holds_and_changes_nothing() {
    // So many that, without a cap, more parts of them are sorted than there are threads.
    let (lanes, size) = (1usize << 21, 1usize << 16);
    let indices: Vec<u64> = random(5).map(|x| x % size as u64).take(lanes).collect();
    let source: Vec<f64> = random(7).map(|x| x as f64).take(lanes).collect();
    let mut expected = vec![0f64; size];
    source.iter().zip(&indices).for_each(|(value, index)| expected[*index as usize] += value);
    for (cap, most) in [(1 << 30, lanes * 16 * 2), (5 << 20, 5 << 20), (1 << 20, 0)] {
        let threads = NonZeroUsize::new(2).expect("not zero");
        let engine = Engine::new().with_threads(threads).with_memory_cap(cap).with_method(Method::Partitioned);
        let mut table = vec![0f64; size];
        engine.scatter(&mut table, &source, &indices, Atomic::Add, OutOfBounds::Undefined).expect("in range");
        assert!(table == expected, "cap {cap}");
        let held = engine.held_memory();
        assert!(held <= most && (held > 0) == (most > 0), "{held} bytes held under a cap of {cap}");
        engine.release_memory();
        assert_eq!(engine.held_memory(), 0);
    }
}

/// Rows that replace each other, dealt out by where they come from or by where they go: of several for one place the last has to
/// stay, and nothing else may change, wherever the table begins and however far its last row reaches.
fn rows_end_with_the_last<I: Index>(engine: &Engine, number: fn(u64) -> I, threads: usize, cap: usize) {
    const LINE: usize = 16;
    for (cols, gap, rows, lanes) in
        [(16, 0, 1, 40), (16, 16, 7, 1000), (32, 0, 64, 64), (32, 32, 65, 500), (48, 16, 3000, 2000), (32, 0, 5, 0)]
    {
        let stride = cols + gap;
        let source = values::<f32>(6, lanes * stride);
        let old = values::<f32>(7, rows * stride + 2 * LINE);
        for (oob, away) in [OutOfBounds::Undefined, OutOfBounds::Skip, OutOfBounds::Wrap]
            .into_iter()
            .flat_map(|oob| [0, 1].map(|away| (oob, away)))
        {
            // Under a policy every third row or so is out of range.
            let bound = if oob == OutOfBounds::Undefined { rows } else { rows + rows / 2 + 1 } as u64;
            let mut lanes_at: Vec<u64> = random(5).map(|x| x % bound).take(lanes).collect();
            for is_bad in [false, true] {
                if is_bad && (oob != OutOfBounds::Undefined || lanes == 0) {
                    continue;
                }
                if is_bad {
                    lanes_at[lanes - 1] = rows as u64;
                }
                let mut memory = old.clone();
                let start = memory.as_ptr().align_offset(4 * LINE) + away;
                let mut expected = memory.clone();
                for (lane, row) in lanes_at.iter().enumerate().filter(|_| !is_bad) {
                    let row = if oob == OutOfBounds::Wrap { row % rows as u64 } else { *row } as usize;
                    if row < rows {
                        let new = &source[lane * stride..][..cols];
                        expected[start + row * stride..][..cols].copy_from_slice(new);
                    }
                }
                let table = &mut memory[start..][..rows * stride - gap];
                let to = ViewMut::strided(table, rows, cols, stride).expect("long enough");
                let from = View::strided(&source, lanes, cols, stride).expect("long enough");
                let indices: Vec<I> = lanes_at.iter().map(|row| number(*row)).collect();
                let done = engine.scatter_rows(to, from, &indices, Atomic::None, oob);
                assert_eq!(done.is_err(), is_bad);
                let what = format!("{cols}+{gap} x {rows}, {lanes} lanes, {oob:?}, {away} away, {engine:?}");
                assert!(bytemuck::cast_slice::<_, u8>(&memory) == bytemuck::cast_slice::<_, u8>(&expected), "{what}");
                // Marks take memory, which is kept: only so are rows dealt out.
                let is_dealt = threads > 1 && oob == OutOfBounds::Undefined && !is_bad && cap > 0;
                assert_eq!(engine.held_memory() > 0, is_dealt, "{what}");
                engine.release_memory();
            }
        }
    }
}

#[test]
fn rows_that_replace_each_other_end_with_the_last() {
    for (threads, backend) in
        [1, 2, 3, 8].into_iter().flat_map(|threads| Backend::available().map(move |it| (threads, it)))
    {
        for cap in [0, Engine::DEFAULT_MEMORY_CAP] {
            let engine = Engine::new().with_threads(NonZeroUsize::new(threads).expect("some")).with_memory_cap(cap);
            let engine = engine.with_backend(backend).with_method(Method::Partitioned);
            rows_end_with_the_last(&engine, |row| row as i32, threads, cap);
            rows_end_with_the_last(&engine, |row| row, threads, cap);
        }
    }
}

/// However many threads are asked for, there are no more than those of the pool and the caller.
#[test]
fn any_number_of_threads_may_be_asked_for() {
    let (lanes, rows) = (1 << 16, 1 << 10);
    let indices: Vec<u32> = random(1).map(|x| (x % 50_000) as u32).take(lanes).collect();
    let row_indices: Vec<u32> = indices.iter().map(|index| index % rows as u32).collect();
    let source = values::<i32>(2, lanes);
    let few = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    let run = |engine: &Engine| {
        let (mut table, mut read) = (values::<i32>(3, 50_000), vec![0; lanes]);
        engine.scatter(&mut table, &source, &indices, Atomic::Add, OutOfBounds::Undefined).expect("in range");
        engine.gather(&mut read, &table, &indices, OutOfBounds::Undefined).expect("in range");
        let mut by_row = vec![0; rows * 8];
        let (to, from) = (ViewMut::new(&mut by_row, rows, 8), View::new(&source, lanes / 8, 8));
        let row_indices = &row_indices[..lanes / 8];
        let (to, from) = (to.expect("fits"), from.expect("fits"));
        engine.scatter_rows(to, from, row_indices, Atomic::Add, OutOfBounds::Undefined).expect("in range");
        let mut found = vec![0; lanes];
        let (to, from) = (ViewMut::new(&mut found, lanes / 8, 8), View::new(&by_row, rows, 8));
        let (to, from) = (to.expect("fits"), from.expect("fits"));
        engine.gather_rows(to, from, row_indices, OutOfBounds::Undefined).expect("in range");
        (table, read, by_row, found)
    };
    let alone = run(&Engine::new().with_threads(NonZeroUsize::MIN));
    for method in [None, Some(Method::Owned), Some(Method::Merged), Some(Method::Partitioned)] {
        let engine = Engine::new().with_threads(NonZeroUsize::MAX);
        let engine = method.into_iter().fold(engine, Engine::with_method);
        assert!(run(&engine) == alone, "{method:?}");
        assert!(few.install(|| run(&engine)) == alone, "{method:?} in a pool of one");
    }
}

#[test]
fn calls_that_make_no_sense_are_refused() {
    let engine = Engine::shared();
    let shape = engine.gather(&mut [0u8; 3], &[1u8; 4], &[0i32; 2], OutOfBounds::Undefined);
    assert!(matches!(shape, Err(Fault::Shape { .. })));
    let skip = engine.gather(&mut [0u8; 2], &[1u8; 4], &[0i32; 2], OutOfBounds::Skip);
    assert_eq!(skip, Err(Fault::Policy(OutOfBounds::Skip)));
    let zero = engine.scatter(&mut [0u8; 2], &[1u8; 2], &[0i32; 2], Atomic::None, OutOfBounds::Zero);
    assert_eq!(zero, Err(Fault::Policy(OutOfBounds::Zero)));
    let empty = engine.scatter(&mut [0u8; 0], &[1u8; 2], &[0i32; 2], Atomic::None, OutOfBounds::Wrap);
    assert_eq!(empty, Err(Fault::EmptyTable(OutOfBounds::Wrap)));
    let nothing = engine.scatter(&mut [0u8; 0], &[0u8; 0], &[0i32; 0], Atomic::Add, OutOfBounds::Undefined);
    assert_eq!(nothing.map(|lanes| lanes.written), Ok(0));
    let table = [pto_isa::HiF8::from_bits(0); 1];
    let sum = engine.scatter(&mut table.clone(), &table, &[0u64], Atomic::Add, OutOfBounds::Skip);
    assert!(matches!(sum, Err(Fault::Arithmetic { .. })));
    let mut out = [0u8; 6];
    let rows = engine.gather_rows(
        ViewMut::new(&mut out, 3, 2).expect("fits"),
        View::new(&[0u8; 6], 2, 3).expect("fits"),
        &[0i32; 3],
        OutOfBounds::Zero,
    );
    assert!(matches!(rows, Err(Fault::Shape { .. })));
    assert!(matches!(View::strided(&[0u8; 9], 2, 4, 3), Err(Fault::Overlap { .. })));
    assert!(matches!(View::strided(&[0u8; 9], 3, 3, usize::MAX), Err(Fault::View { .. })));
    // No signed index reaches the last of these rows.
    assert!(matches!(View::<u8>::strided(&[], usize::MAX, 0, 0), Err(Fault::View { .. })));
    assert!(View::<u8>::strided(&[], isize::MAX as usize, 0, 0).is_ok());
}

/// Tables without columns, payloads without rows: nothing to do, and nothing done.
#[test]
fn a_lower_cap_gives_memory_back() {
    let engine = Engine::new().with_threads(NonZeroUsize::MIN).with_method(Method::Partitioned);
    let indices: Vec<u32> = random(1).map(|x| (x % 1000) as u32).take(1 << 16).collect();
    let mut table = vec![0u32; 1000];
    engine.scatter(&mut table, &indices, &indices, Atomic::Add, OutOfBounds::Undefined).expect("in range");
    let held = engine.held_memory();
    assert!(held > 0);
    let engine = engine.with_memory_cap(held);
    assert_eq!(engine.held_memory(), held);
    assert_eq!(engine.with_memory_cap(held - 1).held_memory(), 0);
}

#[test]
fn empty_shapes_are_fine() {
    for engine in engines() {
        let rows = engine.scatter_rows(
            ViewMut::new(&mut [0u8; 0], 4, 0).expect("fits"),
            View::new(&[0u8; 0], 2, 0).expect("fits"),
            &[1i32, 3],
            Atomic::Add,
            OutOfBounds::Undefined,
        );
        assert_eq!(rows.map(|lanes| lanes.written), Ok(2));
        let none = engine.gather_rows(
            ViewMut::new(&mut [0u8; 0], 0, 4).expect("fits"),
            View::new(&[0u8; 8], 2, 4).expect("fits"),
            &[0i64; 0],
            OutOfBounds::Clamp,
        );
        assert_eq!(none.map(|lanes| lanes.written), Ok(0));
        let outside = engine.gather(&mut [1u8; 2], &[0u8; 0], &[0i32; 2], OutOfBounds::Zero);
        assert_eq!(outside.map(|lanes| lanes.zeroed), Ok(2));
    }
}

/// The distance of a table's only row to the next does not matter, however large, on any number of threads.
#[test]
fn the_stride_of_a_single_row_is_not_used() {
    let cols = 1 << 17;
    let source: Vec<f32> = (0..cols).map(|x| x as f32).collect();
    for engine in engines() {
        for stride in [cols, 1 << 62, usize::MAX] {
            let mut table = vec![0f32; cols];
            let row = ViewMut::strided(&mut table, 1, cols, stride).expect("long enough");
            let source = View::new(&source, 1, cols).expect("fits");
            let done = engine.scatter_rows(row, source, &[0i32], Atomic::None, OutOfBounds::Undefined);
            assert_eq!(done.map(|lanes| lanes.written), Ok(1));
            assert_eq!(table[cols - 1], (cols - 1) as f32);
        }
    }
}
