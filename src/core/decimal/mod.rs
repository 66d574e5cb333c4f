//! Printed numbers, exact rational intervals, and the rules that compare the two.
//!
//! A printed number is a string, because its last digit shows the precision. It is kept as printed ([`Printed`]) and
//! represents a closed [`Interval`] with exact rational ends. Binary floats never decide; [`nearest_f64`] is only used for
//! fields that are declared exact. Other modules choose the values to compare.

mod agreement;
mod elementary;
mod float;
mod grammar;
mod interval;
mod printed;
mod rational;
mod render;

pub use agreement::{Agreement, about_tolerance, ceils_to, compare, rounds_to, truncates_to};
pub use float::{nearest_f64, ulp_distance};
pub use interval::Interval;
pub use printed::{Bound, Flaw, NotPrinted, Printed, Unit};
pub use render::{format_float, format_significant, grouped};
