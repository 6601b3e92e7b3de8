//! Drawn programs with a collective between ranks, and what every byte of every rank must be after them, computed here by
//! the definition alone.
#![allow(dead_code, reason = "each test uses a part of it")]

pub mod kernels;

use std::fmt::Write;
use std::path::Path;

/// A small generator: the same cases everywhere.
pub struct Draw(u64);

impl Draw {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    pub fn chance(&mut self, one_in: u64) -> bool {
        self.below(one_in) == 0
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.below(256) as u8).collect()
    }
}

/// Extents and strides in elements.
#[derive(Clone, Debug)]
struct View {
    shape: [u64; 5],
    strides: [u64; 5],
}

impl View {
    /// Gaps between elements, rows and matrices, drawn.
    fn draw(draw: &mut Draw, shape: [u64; 5]) -> Self {
        let mut strides = [0; 5];
        let mut step = if draw.chance(5) { 2 } else { 1 };
        for at in (0..5).rev() {
            strides[at] = step;
            step = step * shape[at].max(1) + if draw.chance(2) { draw.below(5) } else { 0 };
        }
        Self { shape, strides }
    }

    fn at(&self, index: [u64; 5]) -> usize {
        index.iter().zip(self.strides).map(|(i, s)| i * s).sum::<u64>() as usize
    }

    fn length(&self) -> usize {
        if self.shape.contains(&0) { 0 } else { self.at(self.shape.map(|extent| extent - 1)) + 1 }
    }
}

/// One program with a collective.
#[derive(Debug)]
pub struct Case {
    pub ranks: usize,
    pub root: usize,
    pub target: &'static str,
    gather: bool,
    element: &'static str,
    size: usize,
    /// The root's tensor and each rank's.
    local: View,
    each: View,
    /// Padded rows and columns of a staging tile, and its valid ones.
    tile: (u64, u64),
    valid: (u64, u64),
    dynamic: bool,
    slots: usize,
    /// The bytes before: the root's array, and each rank's window.
    before: (Vec<u8>, Vec<Vec<u8>>),
}

impl Case {
    pub fn draw(seed: u64) -> Self {
        let ranks = 1 + Draw::new(seed).below(8) as usize;
        Self::draw_for(seed, ranks)
    }

    pub fn draw_for(seed: u64, ranks: usize) -> Self {
        let mut draw = Draw::new(seed);
        draw.below(8);
        let target = ["a5", "a2a3", "host", "cpu"][draw.below(4) as usize];
        let (element, size) = [("f32", 4), ("f16", 2), ("i32", 4), ("i16", 2)][draw.below(4) as usize];
        let outer = || 1;
        let mut outers = [outer(), outer(), outer()];
        outers.iter_mut().for_each(|extent| *extent = if draw.chance(3) { 1 + draw.below(2) } else { 1 });
        let rows = if draw.chance(12) { 0 } else { 1 + draw.below(7) };
        let cols = 1 + draw.below(40);
        let extra = if draw.chance(3) { draw.below(4) } else { 0 };
        let [a, b, c] = outers;
        let each = View::draw(&mut draw, [a, b, c, rows, cols]);
        let local = View::draw(&mut draw, [a, b, c, rows * ranks as u64 + extra, cols]);
        let lane = 32 / size as u64;
        let tile = (1 + draw.below(6), lane * (1 + draw.below(2)));
        let dynamic = !draw.chance(3);
        // A static valid extent divides the dimension or covers it; a dynamic one may be anything.
        let divides = |extent: u64, valid: u64| valid >= extent || extent.is_multiple_of(valid);
        let mut valid = (1 + draw.below(tile.0), 1 + draw.below(tile.1));
        if !dynamic {
            while !divides(rows, valid.0) {
                valid.0 -= 1;
            }
            while !divides(cols, valid.1) {
                valid.1 -= 1;
            }
        }
        let bytes = |view: &View| view.length() * size;
        let before = (draw.bytes(bytes(&local)), (0..ranks).map(|_| draw.bytes(bytes(&each))).collect());
        let (root, gather, slots) = (draw.below(ranks as u64) as usize, draw.chance(2), 1 + draw.below(2) as usize);
        Self { ranks, root, target, gather, element, size, local, each, tile, valid, dynamic, slots, before }
    }

    /// The program: every rank runs it, and the root alone calls.
    pub fn text(&self) -> String {
        let Self { element, tile, valid, .. } = self;
        let (mut text, mut numbers) = (String::new(), std::collections::BTreeSet::from([0, 1]));
        let mut number = |value: u64| {
            numbers.insert(value);
            format!("%c{value}")
        };
        let mut view = |name: &str, pointer: &str, view: &View| {
            let mut list = |values: [u64; 5]| values.map(&mut number).join(", ");
            let (shape, strides) = (list(view.shape), list(view.strides));
            let ty = format!("!pto.tensor_view<{}x{element}>", view.shape.map(|extent| extent.to_string()).join("x"));
            let line =
                format!("  {name} = pto.make_tensor_view {pointer}, shape = [{shape}], strides = [{strides}] : {ty}\n");
            (line, ty)
        };
        let (line, local_type) = view("%local", "%array", &self.local);
        let mut body = line;
        let mut member_type = String::new();
        for rank in 0..self.ranks {
            let (line, ty) = view(&format!("%w{rank}"), &format!("%p{rank}"), &self.each);
            body += &line;
            member_type = ty;
        }
        let (valid_words, tile_type) = if self.dynamic {
            let words = format!("valid_row = {} valid_col = {} ", number(valid.0), number(valid.1));
            (words, format!("!pto.tile_buf<vec, {}x{}x{element}, valid=?x?>", tile.0, tile.1))
        } else {
            (
                String::new(),
                format!("!pto.tile_buf<vec, {}x{}x{element}, valid={}x{}>", tile.0, tile.1, valid.0, valid.1),
            )
        };
        let staging: Vec<String> = (0..self.slots).map(|slot| format!("%t{slot}")).collect();
        for tile in &staging {
            let _ = writeln!(body, "  {tile} = pto.alloc_tile {valid_words}: {tile_type}");
        }
        let members: Vec<String> = (0..self.ranks).map(|rank| format!("%w{rank}")).collect();
        let types = [vec![local_type], vec![tile_type; self.slots], vec![member_type; self.ranks]].concat().join(", ");
        let root = number(self.root as u64);
        let _ = write!(
            body,
            "  %me = pto.comm.rank : index
  %is_root = arith.cmpi eq, %me, {root} : index
  pto.comm.barrier
  scf.if %is_root {{
    pto.comm.{}(%local, recv({}), group({}) : {types}) {{root = {} : i32}}
  }}
  pto.comm.barrier
  return\n",
            if self.gather { "tgather" } else { "tscatter" },
            staging.join(", "),
            members.join(", "),
            self.root,
        );
        let parameters: Vec<String> =
            ["array".into()].into_iter().chain((0..self.ranks).map(|rank| format!("p{rank}"))).collect();
        let parameters =
            parameters.iter().map(|name| format!("%{name}: !pto.ptr<{element}>")).collect::<Vec<_>>().join(", ");
        let _ = writeln!(text, "func.func @spread({parameters}) {{");
        for value in numbers {
            let _ = writeln!(text, "  %c{value} = arith.constant {value} : index");
        }
        text + &body + "}\n"
    }

    /// What every byte must be after: the array of each rank, and each window.
    pub fn expected(&self) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        let (local, mut windows) = self.before.clone();
        let mut arrays = vec![local; self.ranks];
        let [d0, d1, d2, rows, cols] = self.each.shape;
        for (rank, window) in windows.iter_mut().enumerate() {
            for (a, b, c) in (0..d0).flat_map(|a| (0..d1).flat_map(move |b| (0..d2).map(move |c| (a, b, c)))) {
                for (i, j) in (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j))) {
                    let here = self.each.at([a, b, c, i, j]) * self.size;
                    let there = self.local.at([a, b, c, rank as u64 * rows + i, j]) * self.size;
                    for byte in 0..self.size {
                        if self.gather {
                            arrays[self.root][there + byte] = window[here + byte];
                        } else {
                            window[here + byte] = arrays[self.root][there + byte];
                        }
                    }
                }
            }
        }
        (arrays, windows)
    }

    /// Writes the program and its inputs into a folder; returns the arguments of `pto run`, without `--ranks`.
    pub fn write(&self, folder: &Path, tag: &str) -> Vec<String> {
        std::fs::write(folder.join("k.pto"), self.text()).expect("a program");
        std::fs::write(folder.join("array.bin"), &self.before.0).expect("an array");
        let path = |name: &str| folder.join(name).display().to_string();
        let mut arguments: Vec<String> =
            ["run", &path("k.pto"), "--json", "--target", self.target].map(String::from).into();
        let mut bind = |flag: &str, value: String| arguments.extend([flag.to_owned(), value]);
        bind("--arg", format!("array={}", path("array.bin")));
        for (rank, window) in self.before.1.iter().enumerate() {
            std::fs::write(folder.join(format!("p{rank}.bin")), window).expect("a window");
            bind("--arg", format!("p{rank}={}", path(&format!("p{rank}.bin"))));
            bind("--out", format!("p{rank}={}", path(&format!("{tag}.p{rank}.bin"))));
            bind("--out", format!("array@{rank}={}", path(&format!("{tag}.array{rank}.bin"))));
        }
        arguments
    }

    /// Reads what a run left.
    pub fn after(&self, folder: &Path, tag: &str) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        let read = |name: String| std::fs::read(folder.join(name)).expect("an output");
        let arrays = (0..self.ranks).map(|rank| read(format!("{tag}.array{rank}.bin"))).collect();
        (arrays, (0..self.ranks).map(|rank| read(format!("{tag}.p{rank}.bin"))).collect())
    }
}
