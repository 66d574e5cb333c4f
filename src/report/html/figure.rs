//! What pictures have in common: their size, their colours, how they stand in a page.

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
