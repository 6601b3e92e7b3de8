//! The way from lanes to slots: an arrow each while they can be told apart, ribbons between bands beyond that.

use std::fmt::Write;

use crate::canvas::Canvas;
use crate::grid::Grid;
use crate::traffic::{Fate, Traffic};

/// Lanes up to which each has its arrow.
pub(crate) const ARROWS: usize = 96;
/// Bands on the side of the lanes and on the side of the table.
const BANDS: (usize, usize) = (12, 16);

/// Draws the way between the grid of the index lanes and that of the table.
pub(crate) fn draw(canvas: &mut Canvas, traffic: &Traffic<'_>, lanes: &Grid, table: &Grid) {
    if traffic.lanes() <= ARROWS {
        arrows(canvas, traffic, lanes, table);
    } else {
        ribbons(canvas, traffic, lanes, table);
    }
}

/// The side of a grid that faces the other.
fn facing(grid: &Grid, other: &Grid) -> f64 {
    if grid.at.0 < other.at.0 { grid.at.0 + grid.size().0 } else { grid.at.0 }
}

fn arrows(canvas: &mut Canvas, traffic: &Traffic<'_>, lanes: &Grid, table: &Grid) {
    let (near, far) = (facing(lanes, table), facing(table, lanes));
    // The plain ones first, so that the remarkable ones lie on top.
    let mut order: Vec<usize> = (0..traffic.lanes()).collect();
    order.sort_by_key(|lane| traffic.fates[*lane]);
    for lane in order {
        let Some(slot) = traffic.slot(lane) else { continue };
        let [x, y, width, height] = lanes.rect(lanes.cell_of(lane as u64));
        let from = (if near > lanes.at.0 { x + width } else { x }, y + height / 2.0);
        let [x, y, width, height] = table.rect(table.cell_of(slot));
        let to = (if far > table.at.0 { x + width } else { x }, y + height / 2.0);
        let middle = f64::midpoint(near, far);
        let fate = traffic.fates[lane];
        let hue = traffic.hue(lane as f64);
        let path = format!(
            "M{:.1} {:.1}H{near:.1}C{middle:.1} {:.1} {middle:.1} {:.1} {far:.1} {:.1}H{:.1}",
            from.0, from.1, from.1, to.1, to.1, to.0
        );
        canvas.tag("path").attr("class", format_args!("arrow s{hue}{}", fate.class())).attr("d", path).empty();
        // The head points at what is written: the slot, or the lane of a gather.
        let (head, towards) = if traffic.gather { (from, far < near) } else { (to, near < far) };
        let back = if towards { -6.0 } else { 6.0 };
        let head = format!("M{:.1} {:.1}l{back} -3v6z", head.0, head.1);
        canvas.tag("path").attr("class", format_args!("head g{hue}{}", fate.class())).attr("d", head).empty();
    }
}

/// The band of a row of cells.
fn band(grid: &Grid, cell: usize, bands: usize) -> usize {
    cell / grid.shown.1 * bands / grid.shown.0
}

fn ribbons(canvas: &mut Canvas, traffic: &Traffic<'_>, lanes: &Grid, table: &Grid) {
    let (near, far) = (facing(lanes, table), facing(table, lanes));
    let bands = (BANDS.0.min(lanes.shown.0), BANDS.1.min(table.shown.0));
    let mut counts = vec![vec![0u64; bands.1]; bands.0];
    let mut sizes = vec![0u64; bands.0];
    for lane in 0..traffic.lanes() {
        let from = band(lanes, lanes.cell_of(lane as u64), bands.0);
        sizes[from] += 1;
        if let Some(slot) = traffic.slot(lane) {
            counts[from][band(table, table.cell_of(slot), bands.1)] += 1;
        }
    }
    let totals: Vec<u64> = (0..bands.1).map(|to| counts.iter().map(|row| row[to]).sum()).collect();
    // Both ends fill their side: the fullest band has the full height.
    let most = |sizes: &[u64]| sizes.iter().copied().max().unwrap_or(0).max(1) as f64;
    let heights = (lanes.size().1 / bands.0 as f64, table.size().1 / bands.1 as f64);
    let scale = ((heights.0 - 2.0).max(1.0) / most(&sizes), (heights.1 - 2.0).max(1.0) / most(&totals));
    let middle = f64::midpoint(near, far);
    let gap = if near < far { 3.0 } else { -3.0 };
    let (near, far) = (near + gap, far - gap);
    let mut filled = vec![0u64; bands.1];
    for (from, row) in counts.iter().enumerate() {
        let mut used = 0;
        let hue = from * 8 / bands.0;
        for (to, count) in row.iter().copied().enumerate().filter(|(_, count)| *count > 0) {
            let left = lanes.at.1 + from as f64 * heights.0 + 1.0 + used as f64 * scale.0;
            let right = table.at.1 + to as f64 * heights.1 + 1.0 + filled[to] as f64 * scale.1;
            let (left_end, right_end) = (left + count as f64 * scale.0, right + count as f64 * scale.1);
            let mut path = String::new();
            let _ =
                write!(path, "M{near:.1} {left:.1}C{middle:.1} {left:.1} {middle:.1} {right:.1} {far:.1} {right:.1}");
            let _ = write!(path, "V{right_end:.1}C{middle:.1} {right_end:.1} {middle:.1} {left_end:.1}");
            let _ = write!(path, " {near:.1} {left_end:.1}z");
            let words = format!("{count} of {} lanes of this band", sizes[from]);
            canvas.tag("path").attr("class", format_args!("ribbon g{hue}")).attr("d", path).hover(words);
            used += count;
            filled[to] += count;
        }
    }
}

/// True if a lane's arrow would be drawn with this mark: the legend explains what is there.
pub(crate) fn has(traffic: &Traffic<'_>, fate: Fate) -> bool {
    traffic.fates.contains(&fate)
}
