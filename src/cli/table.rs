//! Text in columns. What a cell holds acts on no terminal, and begins no line.

use super::output::plain_line;

/// A table: the first column stands left, the others right, with two spaces between them.
pub(super) fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
    aligned_on(rows, &mut [0; N])
}

/// As [`aligned`], with columns that are at least as wide as these, which grow with the rows.
pub(super) fn aligned_on<const N: usize>(rows: &[[String; N]], widths: &mut [usize; N]) -> String {
    let rows: Vec<[String; N]> = rows.iter().map(|row| row.each_ref().map(|cell| plain_line(cell))).collect();
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.len().max(*width);
        }
    }
    let mut text = String::new();
    for row in &rows {
        let mut cells = row.iter().zip(*widths);
        let first = cells.next().map(|(cell, width)| format!("{cell:<width$}"));
        let others = cells.map(|(cell, width)| format!("  {cell:>width$}"));
        text.extend(first.into_iter().chain(others));
        text.push('\n');
    }
    text
}
