//! Charts, drawn as SVG.

use std::fmt::Write as _;

const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 120.0;

/// One line of a chart, or its bars: numbers from the oldest to the newest.
pub(crate) struct Series<'a> {
    /// The class that gives it its colour.
    pub(crate) class: &'static str,
    pub(crate) values: &'a [f64],
}

/// A chart of lines. All have the same scale, from 0 to the highest value.
pub(crate) fn lines(series: &[Series<'_>], label: &str) -> String {
    let top = series.iter().flat_map(|one| one.values).copied().fold(0.0, f64::max);
    let mut svg = begin(label);
    for Series { class, values } in series {
        let _ = write!(svg, "<polyline class=\"{class}\" points=\"");
        for (x, y) in points(values, top) {
            let _ = write!(svg, "{x:.1},{y:.1} ");
        }
        svg.push_str("\"/>");
    }
    svg.push_str("</svg>");
    svg
}

fn begin(label: &str) -> String {
    // A label is a text of the console.
    format!(
        "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{label}\">"
    )
}

#[expect(clippy::cast_precision_loss, reason = "a chart has a few hundred points")]
fn points(values: &[f64], top: f64) -> impl Iterator<Item = (f64, f64)> {
    let step = WIDTH / values.len().saturating_sub(1).max(1) as f64;
    let scale = if top > 0.0 { (HEIGHT - 4.0) / top } else { 0.0 };
    values.iter().enumerate().map(move |(place, value)| (place as f64 * step, HEIGHT - 2.0 - value * scale))
}

/// The height of a bar as a share of the highest one, in percent.
pub(crate) fn percent(value: u64, top: u64) -> u64 {
    if value == 0 { 0 } else { (value.saturating_mul(100) / top.max(1)).max(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_value_is_at_the_top() {
        let svg = lines(&[Series { class: "a", values: &[0.0, 5.0, 10.0] }], "Jobs");
        assert!(svg.contains("points=\"0.0,118.0 300.0,60.0 600.0,2.0 \""), "{svg}");
        assert!(lines(&[Series { class: "a", values: &[0.0] }], "").contains("0.0,118.0"));
        assert_eq!([percent(0, 9), percent(1, 1000), percent(9, 9), percent(1, 0)], [0, 1, 100, 100]);
    }
}
