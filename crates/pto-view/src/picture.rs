//! The picture of one gather or scatter: payload, index lanes, table, and the way between them.
//!
//! A lane keeps the colour of its place in the payload, so that a slot shows where its value came from.

use crate::canvas::Canvas;
use crate::flow::{self, ARROWS};
use crate::grid::Grid;
use crate::text::{compact, shorten, thousands};
use crate::traffic::{Fate, Traffic};

/// Width of every picture.
pub(crate) const WIDTH: f64 = 1080.0;
/// Room for the numbers of rows beside a grid, and above one for its title and the numbers of columns.
const MARGIN: (f64, f64) = (40.0, 44.0);
/// Width of a digit, in the widest of the fonts that a browser may choose.
const CHARACTER: f64 = 7.4;
/// Collisions that are listed in words.
const LISTED: usize = 4;

/// Where the numbers of rows stand.
#[derive(Clone, Copy)]
enum Side {
    Left,
    Right,
}

/// What a cell stands for, summed up.
#[derive(Clone, Default)]
struct Cell {
    lanes: u64,
    dropped: u64,
    sum: f64,
    slots: f64,
    worst: Fate,
    first: Vec<usize>,
}

impl Cell {
    fn add(&mut self, traffic: &Traffic<'_>, lane: usize) {
        self.lanes += 1;
        self.sum += lane as f64;
        self.worst = self.worst.max(traffic.fates[lane]);
        match traffic.slot(lane) {
            Some(slot) => self.slots += slot as f64,
            None => self.dropped += 1,
        }
        if self.first.len() < 4 {
            self.first.push(lane);
        }
    }

    fn mean(&self) -> f64 {
        self.sum / self.lanes.max(1) as f64
    }
}

/// The cells of a grid with what falls into them.
fn cells(traffic: &Traffic<'_>, grid: &Grid, item: impl Fn(usize) -> Option<u64>) -> Vec<Cell> {
    let mut cells = vec![Cell::default(); grid.cells()];
    for lane in 0..traffic.lanes() {
        if let Some(item) = item(lane) {
            cells[grid.cell_of(item)].add(traffic, lane);
        }
    }
    cells
}

/// Draws the picture at the top left and returns its height.
pub(crate) fn draw(canvas: &mut Canvas, traffic: &Traffic<'_>) -> f64 {
    let (mut payload, mut index, mut table) = grids(traffic);
    let height = arrange(traffic, &mut payload, &mut index, &mut table);
    let op = traffic.op;

    // Numbers stand on the side where no arrow passes.
    let (tile_side, table_side) = if traffic.gather { (Side::Right, Side::Left) } else { (Side::Left, Side::Right) };
    let (rows, cols) = op.payload;
    let what = if traffic.gather { "destination tile" } else { "source tile" };
    frame(
        canvas,
        &payload,
        &format!("{what} {}×{}", compact(rows), compact(cols)),
        tile_side,
        traffic.by_row.then_some(cols),
    );
    frame(canvas, &index, "index", tile_side, None);
    let (name, rows, cols) = &op.table;
    let title = format!("{} {}×{}", shorten(name, 24), compact(*rows), compact(*cols));
    frame(canvas, &table, &title, table_side, traffic.by_row.then_some(*cols));

    let slots = cells(traffic, &table, |lane| traffic.slot(lane));
    let lanes = cells(traffic, &payload, |lane| Some(lane as u64));
    for (at, cell) in slots.iter().enumerate().filter(|(_, cell)| cell.lanes == 0) {
        // Only where cells are large enough to be seen one by one; the frame's ground stands for the others.
        if table.cells() <= 256 && table.first_item(at).is_some() {
            canvas.rect("cell empty", table.rect(at)).num("rx", 2.0).hover(slot_name(traffic, &table, at, cell));
        }
    }
    flow::draw(canvas, traffic, &index, &table);
    for (at, cell) in lanes.iter().enumerate().filter(|(_, cell)| cell.lanes > 0) {
        payload_cell(canvas, traffic, &payload, at, cell);
    }
    let widest = op.indices.iter().map(|index| index.to_string().len()).max().unwrap_or(0);
    let legible = index.is_exact() && fits(index.rect(0), widest);
    if !legible {
        // Shades are translucent: no arrow shall show through.
        let ((x, y), (width, height)) = (index.at, index.size());
        canvas.rect("ground", [x, y, width, height]).empty();
    }
    for (at, cell) in cells(traffic, &index, |lane| Some(lane as u64)).iter().enumerate() {
        if cell.lanes > 0 {
            index_cell(canvas, traffic, &index, at, cell, legible);
        }
    }
    let fullest = slots.iter().map(|cell| cell.lanes).max().unwrap_or(1).max(1);
    for (at, cell) in slots.iter().enumerate().filter(|(_, cell)| cell.lanes > 0) {
        table_cell(canvas, traffic, &table, at, cell, fullest);
    }
    caption(canvas, traffic, (&index, legible), &table, height)
}

fn grids(traffic: &Traffic<'_>) -> (Grid, Grid, Grid) {
    let (_, rows, cols) = traffic.op.table;
    let shape = if traffic.by_row { (rows, 1) } else { (rows, cols) };
    let most = if traffic.by_row { (24, 24) } else { (20, 20) };
    let mut payload = Grid::fit(traffic.shape(), most, false);
    let mut index = payload.clone();
    let mut table = Grid::fit(shape, (24, 32), true);
    let bar = |grid: &Grid| grid.shown.1 == 1;
    let wide = |grid: &Grid, width: f64| (if bar(grid) { width } else { 34.0 }, 22.0);
    payload.scale((250.0, 320.0), wide(&payload, 180.0));
    // A lane of -1 is 4294967295 on a device.
    let widest = traffic.op.indices.iter().map(|index| index.to_string().len()).max().unwrap_or(0);
    index.scale((230.0, 320.0), wide(&index, (widest as f64 * CHARACTER + 8.0).clamp(64.0, 160.0)));
    table.scale((310.0, 320.0), wide(&table, if traffic.by_row { 240.0 } else { 64.0 }));
    (payload, index, table)
}

/// Puts the grids side by side in the direction of the data and returns the height that they take.
fn arrange(traffic: &Traffic<'_>, payload: &mut Grid, index: &mut Grid, table: &mut Grid) -> f64 {
    let height = payload.size().1.max(index.size().1).max(table.size().1);
    let widths = payload.size().0 + index.size().0 + table.size().0;
    let way = (WIDTH - widths - 3.0 * MARGIN.0 - 20.0).clamp(120.0, 400.0);
    let middle = |grid: &Grid| MARGIN.1 + (height - grid.size().1) / 2.0;
    for grid in [&mut *payload, &mut *index, &mut *table] {
        grid.at.1 = middle(grid);
    }
    if traffic.gather {
        table.at.0 = MARGIN.0;
        index.at.0 = table.at.0 + table.size().0 + way;
        payload.at.0 = index.at.0 + index.size().0 + MARGIN.0;
    } else {
        payload.at.0 = MARGIN.0;
        index.at.0 = payload.at.0 + payload.size().0 + MARGIN.0;
        table.at.0 = index.at.0 + index.size().0 + way;
    }
    MARGIN.1 + height
}

/// Ground, title and numbers of a grid.
fn frame(canvas: &mut Canvas, grid: &Grid, title: &str, side: Side, columns: Option<u64>) {
    let ((x, y), (width, height)) = (grid.at, grid.size());
    canvas.rect("ground", [x - 2.0, y - 2.0, width + 4.0, height + 4.0]).num("rx", 4.0).empty();
    let rise = if grid.column_labels().is_empty() { 8.0 } else { 20.0 };
    canvas.label("name", x, y - rise, title);
    for (number, middle) in grid.row_labels() {
        let number = compact(number);
        match side {
            Side::Left => canvas.label("mark end", x - 6.0, middle + 3.5, number),
            Side::Right => canvas.label("mark", x + width + 6.0, middle + 3.5, number),
        }
    }
    for (number, middle) in grid.column_labels() {
        canvas.label("mark mid", middle, y - 7.0, number);
    }
    // A row is one cell; its columns are only hinted at.
    let columns = columns.filter(|columns| grid.shown.1 == 1 && *columns <= 32).unwrap_or(0);
    for col in 1..columns {
        let at = x + width * col as f64 / columns as f64;
        canvas.line("rule", [at, y, at, y + height]);
    }
}

/// True if a cell has room for so many characters.
fn fits([_, _, width, height]: [f64; 4], characters: usize) -> bool {
    characters as f64 * CHARACTER <= width - 1.0 && height >= 11.0
}

/// A text in a cell, if there is room for it.
fn inscribe(canvas: &mut Canvas, class: &str, rect: [f64; 4], text: &str) {
    if fits(rect, text.chars().count()) {
        let [x, y, width, height] = rect;
        canvas.label(class, x + width / 2.0, y + height / 2.0 + 3.5, text);
    }
}

/// A cell of lanes in words: its story, or where it begins and how many of its lanes went nowhere.
fn stories(traffic: &Traffic<'_>, cell: &Cell) -> String {
    let first = cell.first[0];
    if cell.lanes == 1 {
        return traffic.lane_story(first);
    }
    let mut words = format!("{} lanes from {}", thousands(cell.lanes), traffic.lane_name(first));
    if cell.dropped > 0 {
        words.push_str(&format!(", {} without a slot", thousands(cell.dropped)));
    }
    if cell.worst == Fate::Collides {
        words.push_str(", with collisions");
    }
    words
}

fn payload_cell(canvas: &mut Canvas, traffic: &Traffic<'_>, grid: &Grid, at: usize, cell: &Cell) {
    let rect = grid.rect(at);
    let all_dropped = cell.dropped == cell.lanes;
    let class = if all_dropped { "hollow".to_owned() } else { format!("g{}", traffic.hue(cell.mean())) };
    let class = format!("cell {class}{}", cell.worst.class());
    canvas.rect(&class, rect).num("rx", 2.0).hover(stories(traffic, cell));
    if !grid.is_exact() {
        return;
    }
    match (all_dropped, traffic.gather) {
        (true, true) => inscribe(canvas, "ink mid warn", rect, "0"),
        (true, false) => inscribe(canvas, "ink mid warn", rect, "✕"),
        _ => inscribe(canvas, "on mid", rect, traffic.lane_name(cell.first[0]).trim_matches(['(', ')'])),
    }
}

/// The index itself where all of them are legible, else a shade: darker where slots are higher.
fn index_cell(canvas: &mut Canvas, traffic: &Traffic<'_>, grid: &Grid, at: usize, cell: &Cell, legible: bool) {
    let rect = grid.rect(at);
    if legible {
        let class = format!("cell index{}", cell.worst.class());
        canvas.rect(&class, rect).num("rx", 2.0).hover(stories(traffic, cell));
        let text = traffic.op.indices[cell.first[0]].to_string();
        inscribe(canvas, if cell.dropped > 0 { "ink mid struck" } else { "ink mid" }, rect, &text);
    } else {
        let kept = (cell.lanes - cell.dropped).max(1) as f64;
        let share = (cell.slots / kept / traffic.capacity.max(1) as f64).clamp(0.0, 1.0);
        let ground = if cell.dropped == cell.lanes { "hollow drop" } else { "shade" };
        let shade = format!("{:.2}", 0.06 + 0.8 * share);
        let tag = canvas.rect(&format!("cell {ground}"), rect).attr("fill-opacity", shade);
        tag.hover(stories(traffic, cell));
    }
}

/// A cell of the table in words.
fn slot_name(traffic: &Traffic<'_>, grid: &Grid, at: usize, cell: &Cell) -> String {
    let first = grid.first_item(at).unwrap_or(0);
    let last = first.saturating_add(grid.items_per_cell() - 1);
    let what = if traffic.by_row { "row" } else { "slot" };
    let touched = if traffic.gather { "read" } else { "written" };
    let slots = if grid.is_exact() { format!("{what} {first}") } else { format!("{what}s {first} to {last}") };
    match cell.lanes {
        0 => format!("{slots}: not {touched}"),
        lanes => {
            let names: Vec<String> = cell.first.iter().map(|lane| traffic.lane_name(*lane)).collect();
            let more = if lanes > names.len() as u64 { ", ..." } else { "" };
            format!("{slots}: {touched} by {} lanes: {}{more}", thousands(lanes), names.join(", "))
        }
    }
}

fn table_cell(canvas: &mut Canvas, traffic: &Traffic<'_>, grid: &Grid, at: usize, cell: &Cell, fullest: u64) {
    let rect = grid.rect(at);
    // Where a cell is many slots, it is the fuller the more lanes it holds.
    let density = if grid.is_exact() { 1.0 } else { 0.3 + 0.7 * (cell.lanes as f64 / fullest as f64).sqrt() };
    let worst = if cell.worst == Fate::Collides { Fate::Collides } else { Fate::Plain };
    let class = format!("cell g{}{}", traffic.hue(cell.mean()), worst.class());
    let tag = canvas.rect(&class, rect).num("rx", 2.0).attr("fill-opacity", format_args!("{density:.2}"));
    tag.hover(slot_name(traffic, grid, at, cell));
    if !grid.is_exact() {
        return;
    }
    let text = match cell.lanes {
        1 => traffic.lane_name(cell.first[0]).trim_matches(['(', ')']).to_owned(),
        lanes => format!("×{lanes}"),
    };
    inscribe(canvas, "on mid", rect, &text);
}

/// What the picture shows, in words, with a legend of the marks that it has; returns the height reached.
fn caption(canvas: &mut Canvas, traffic: &Traffic<'_>, (index, legible): (&Grid, bool), table: &Grid, top: f64) -> f64 {
    let mut y = top + 26.0;
    canvas.label("ink", MARGIN.0, y, traffic.sentence());
    let mut x = WIDTH - 20.0;
    let dropped = if traffic.gather { "filled with zero" } else { "skipped" };
    let marks = [
        (Fate::Collides, "collision", "cell g3 hit"),
        (Fate::Dropped, dropped, "cell hollow drop"),
        (Fate::Outside, "outside the table", "cell hollow out"),
        (Fate::Remapped, "clamped or wrapped", "cell g3 moved"),
    ];
    for (_, words, class) in marks.into_iter().filter(|(fate, ..)| flow::has(traffic, *fate)) {
        x -= words.len() as f64 * 6.2 + 34.0;
        canvas.rect(class, [x, y - 10.0, 12.0, 12.0]).num("rx", 2.0).empty();
        canvas.label("mark", x + 18.0, y, words);
    }
    let mut notes = Vec::new();
    if !table.is_exact() {
        let what = if traffic.by_row { "rows" } else { "slots" };
        let cell = thousands(table.items_per_cell());
        notes.push(format!("a cell of the table is {cell} {what}, stronger where more lanes meet"));
    } else if table.shown.1 > 1 && traffic.by_row {
        notes.push("a cell of the table is one row".to_owned());
    }
    if !index.is_exact() {
        let cell = thousands(index.items_per_cell());
        notes.push(format!("a cell of the tiles is up to {cell} lanes"));
    }
    if !legible {
        notes.push("the index is darker where slots are higher".to_owned());
    }
    if traffic.lanes() > ARROWS {
        notes.push("ribbons are as wide as the lanes they carry".to_owned());
    }
    let (list, more) = traffic.collision_list(LISTED);
    let mut lines: Vec<(&str, String)> = Vec::new();
    if !notes.is_empty() {
        lines.push(("mark", notes.join("; ")));
    }
    lines.extend(list.into_iter().map(|line| ("mark bad", line)));
    if more > 0 {
        lines.push(("mark", format!("and {} more slots with collisions", thousands(more as u64))));
    }
    for (class, line) in lines {
        y += 17.0;
        canvas.label(class, MARGIN.0, y, line);
    }
    y + 12.0
}
