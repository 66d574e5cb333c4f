//! A printed number on a line: its tolerance interval, and the value from the evidence.

use super::figure::digits;
use crate::outcome::Measured;

/// The width of the line, in units of the picture.
const WIDTH: f64 = 400.0;
/// The margin at both ends.
const EDGE: f64 = 12.0;
/// An interval narrower than this is drawn as a point.
const POINT: f64 = 3.0;

/// Adds the line of one number; nothing where there is nothing to compare.
pub fn draw(page: &mut String, measured: &Measured) {
    let Measured { claimed, unit, value, interval, allowed, .. } = measured;
    let given = interval.or(value.map(|value| [value, value]));
    let (Some(claimed), Some([low, high])) = (*claimed, given) else { return };
    let [from, to] = allowed.unwrap_or([claimed, claimed]);
    let ends = [low, high, from, to, claimed];
    if ends.iter().any(|end| !end.is_finite()) {
        return;
    }
    let least = ends.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ends.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if most <= least {
        return;
    }
    if [low, high] == [claimed; 2] {
        // The words above say that they are equal.
        return;
    }
    let at = |value: f64| EDGE + (WIDTH - 2.0 * EDGE) * ((value - least) / (most - least));
    let band = (at(to) - at(from)).max(1.0);
    page.push_str(&format!(
        "<figure class=\"line\"><svg viewBox=\"0 0 {WIDTH} 34\" aria-hidden=\"true\">\
         <path class=\"axis\" d=\"M0 17h{WIDTH}\"/>\
         <rect class=\"band\" x=\"{:.2}\" y=\"9\" width=\"{band:.2}\" height=\"16\" rx=\"2\"/>\
         <path class=\"text\" d=\"M{:.2} 5v24\"/>",
        at(from),
        at(claimed),
    ));
    match at(high) - at(low) {
        width if width >= POINT => page.push_str(&format!(
            "<rect class=\"evidence\" x=\"{:.2}\" y=\"14\" width=\"{width:.2}\" height=\"6\" rx=\"3\"/>",
            at(low)
        )),
        _ => page.push_str(&format!(
            "<circle class=\"evidence\" cx=\"{:.2}\" cy=\"17\" r=\"5\"/>",
            at(f64::midpoint(low, high))
        )),
    }
    let [claimed, from, to, low, high] = [claimed, from, to, low, high].map(|end| digits(end, 10));
    let given = if low == high {
        format!("dot: the evidence, {low}")
    } else {
        format!("bar: the evidence, {low} to {high}")
    };
    page.push_str(&format!(
        "</svg><figcaption>vertical line: the text, {claimed}{unit}; band: agreement, {from} to {to}; {given}</figcaption></figure>",
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(claimed: f64, given: [f64; 2], allowed: Option<[f64; 2]>) -> String {
        let mut page = String::new();
        let (claimed, interval) = (Some(claimed), Some(given));
        draw(&mut page, &Measured { claimed, interval, allowed, ..Measured::default() });
        page
    }

    #[test]
    fn what_agrees_lies_in_the_band() {
        let page = drawn(1.5, [1.52, 1.52], Some([1.45, 1.55]));
        assert!(
            page.contains("class=\"band\" x=\"12.00\"") && page.contains("width=\"376.00\""),
            "{page}"
        );
        assert!(page.contains("cx=\"275.20\""), "{page}");
        assert!(drawn(1.5, [1.4, 1.6], Some([1.45, 1.55])).contains("<rect class=\"evidence\""));
    }

    #[test]
    fn what_has_no_width_is_not_drawn() {
        assert_eq!(drawn(2.0, [2.0, 2.0], None), "");
        assert_eq!(drawn(2.0, [f64::NAN, 2.0], None), "");
        assert_eq!(drawn(2.0, [3.0, f64::INFINITY], None), "");
    }
}
