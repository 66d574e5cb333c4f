//! Printed numbers, exact rational intervals, and the rules that compare the two.
//!
//! A printed number is a string: its last digit says how well the value was known, so it is kept as
//! printed ([`Printed`]) and stands for a closed [`Interval`] with exact rational ends. Binary floats
//! never decide; [`nearest_f64`] exists only for fields that call themselves exact. Which value is to
//! be compared with which is left to the modules above.

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
