//! The properties that all pictures share: their size, colours and position in a page.

use std::ops::Range;

use plotters::prelude::*;

use super::escaped::escaped;

/// The size of a picture, in units that a browser stretches.
pub const SIZE: (u32, u32) = (640, 300);

/// Colours for which the style of the page has its own, light and dark.
pub const INK: RGBColor = RGBColor(1, 0, 0);
pub const GRID: RGBColor = RGBColor(2, 0, 0);
pub const ARMS: [RGBColor; 8] = [
    RGBColor(3, 0, 0),
    RGBColor(4, 0, 0),
    RGBColor(5, 0, 0),
    RGBColor(6, 0, 0),
    RGBColor(7, 0, 0),
    RGBColor(8, 0, 0),
    RGBColor(9, 0, 0),
    RGBColor(10, 0, 0),
];

/// Whether a picture could be drawn.
pub type Drawn<'s> =
    Result<(), DrawingAreaErrorKind<<SVGBackend<'s> as DrawingBackend>::ErrorType>>;

/// One picture with its words, which are its text alternative.
pub fn figure(page: &mut String, title: &str, svg: &str, height: u32, caption: &str) {
    let Some((_, inside)) = svg.split_once('>') else { return };
    let title = escaped(title);
    let width = SIZE.0;
    page.push_str(&format!(
        "<figure>\n<svg class=\"chart\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{title}\">{inside}\n\
         <figcaption><strong>{title}</strong>{caption}</figcaption>\n</figure>\n"
    ));
}

/// The least and the greatest of some numbers, with a little room.
pub fn extent(numbers: impl Iterator<Item = f64>) -> Option<Range<f64>> {
    let mut ends = (f64::INFINITY, f64::NEG_INFINITY);
    for number in numbers {
        ends = (ends.0.min(number), ends.1.max(number));
    }
    let room = 0.03 * (ends.1 - ends.0);
    (room > 0.0).then_some(ends.0 - room..ends.1 + room)
}

/// A number with so many digits that matter and no zeros behind them; a small one with a power of ten.
pub fn digits(value: f64, count: usize) -> String {
    if !value.is_finite() || value.fract() == 0.0 && value.abs() < 1e15 {
        return format!("{value}");
    }
    let magnitude = value.abs().log10().floor();
    if !(-4.0..15.0).contains(&magnitude) {
        return format!("{value:.0$e}", count.saturating_sub(1));
    }
    let places = (count as f64 - 1.0 - magnitude).max(0.0);
    let shown = format!("{value:.0$}", places as usize);
    match shown.contains('.') {
        true => shown.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_that_matter_are_shown() {
        let shown = [0.013427417741550868, 22.0, 1.5, 1234.567, 6.38e-6, 0.1 + 0.2];
        assert_eq!(
            shown.map(|value| digits(value, 3)),
            ["0.0134", "22", "1.5", "1235", "6.38e-6", "0.3"]
        );
        assert_eq!(digits(0.1 + 0.2, 10), "0.3");
        assert_eq!(digits(4_362_076_160.0, 3), "4362076160");
    }
}
