//! In the place of `candle` in a program without the second engine.

use super::account::SecondOutcome;
use super::course::Course;
use super::machine::Machine;
use crate::model::PartRows;
use repro_core::source::{Error, Location};
use repro_model::replay::NO_CANDLE;

/// Refuses.
pub fn execute(_: &Course, _: &Machine) -> Result<SecondOutcome, Error> {
    Err(missing())
}

/// Refuses.
pub fn rows_of_parts(_: &Course, _: &Machine) -> Result<Vec<PartRows<f64>>, Error> {
    Err(missing())
}

fn missing() -> Error {
    NO_CANDLE.at(
        Location::file("--engine"),
        "a program built with the feature `candle`",
        "a program built without it",
    )
}
