//! Text in columns. The content of a cell cannot act on a terminal or begin a line.

use super::plain_line;

/// A table: the first column is aligned left, the others right, with two spaces between them.
pub(crate) fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
    aligned_on(rows, &mut [0; N])
}

/// Like [`aligned`], with columns that are at least as wide as `widths`, which grow with the rows.
pub(crate) fn aligned_on<const N: usize>(rows: &[[String; N]], widths: &mut [usize; N]) -> String {
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
