//! Matching: the size that makes one model comparable with another.
//!
//! The primary match keeps depth, width, heads and attention, and solves for the inner width of the dense feed-forward
//! block in steps of 1; the router counts like every other parameter. The second one, `model_width`, scales the whole
//! model.

use serde_json::{Map, Value as Json, json};

use super::NO_MATCH;
use super::model::objects;
use crate::params::{Convention, ParameterCount, ParameterCounts};
use repro_core::source::{Error, Location};

/// The largest relative error of a match, in thousandths: half a per cent.
const MISMATCH_THOUSANDTHS: u64 = 5;
/// The same as text.
pub const MISMATCH_PERCENT: &str = "0.5%";
/// The largest width that is tried.
const WIDTH_CAP: u64 = 1 << 20;

/// The matched quantity, and the size that is changed for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Nothing.
    None,
    /// A parameter count, by the inner width of the dense feed-forward block.
    FfnWidth(ParameterCount),
    /// The width of the feed-forward blocks that one token passes through; nothing is changed, so it must already match.
    ActiveFfnWidth,
    /// A parameter count, by the width of the whole model; its heads stay equally many and even.
    ModelWidth(ParameterCount),
}

impl Mode {
    /// The word in receipts.
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::FfnWidth(ParameterCount::Active) => "active",
            Self::FfnWidth(ParameterCount::Total) => "total",
            Self::ActiveFfnWidth => "active_ffn_width",
            Self::ModelWidth(ParameterCount::Active) => "model_width_active",
            Self::ModelWidth(ParameterCount::Total) => "model_width_total",
        }
    }

    /// Whether a size is solved, so that the arm does not state its model in full.
    pub fn solves(self) -> bool {
        matches!(self, Self::FfnWidth(_) | Self::ModelWidth(_))
    }
}

/// The match of an arm, and the remaining mismatch.
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    /// The matched quantity.
    pub mode: Mode,
    /// The arm that it is equal to.
    pub target: Option<String>,
    /// The relative mismatch.
    pub mismatch: Option<f64>,
}

/// The model that matches `target` best, with the relative mismatch; a mismatch above 0.5% is an error.
pub fn solve(
    mode: Mode,
    model: &Map<String, Json>,
    target: &ParameterCounts,
    place: &Location,
) -> Result<(Map<String, Json>, f64), Error> {
    let (solved, object) = match mode {
        Mode::None => return Ok((model.clone(), 0.0)),
        Mode::ActiveFfnWidth => {
            let own = objects(model, place)?.active_ffn_width;
            let mismatch = checked(own, target.active_ffn_width, "active FFN width", place)?;
            return Ok((model.clone(), mismatch));
        }
        Mode::FfnWidth(object) => (inner_width(model, object, target, place)?, object),
        Mode::ModelWidth(object) => {
            let scaled = model_width(model, object, target, place)?;
            (inner_width(&scaled, object, target, place)?, object)
        }
    };
    let own = objects(&solved, place)?.count(object, Convention::Default);
    let wanted = target.count(object, Convention::Default);
    let name = if object == ParameterCount::Active { "P_active" } else { "P_total" };
    let mismatch = checked(own, wanted, name, place)?;
    Ok((solved, mismatch))
}

/// The relative error of `own`, unless it is too large.
fn checked(own: u64, wanted: u64, name: &str, place: &Location) -> Result<f64, Error> {
    let error = own.abs_diff(wanted);
    if u128::from(error) * 1000 > u128::from(wanted) * u128::from(MISMATCH_THOUSANDTHS) {
        let expected = format!("{name} within {MISMATCH_PERCENT} of {wanted}");
        return Err(NO_MATCH.at(place.clone(), expected, format!("{own} at the nearest size")));
    }
    // Both are below 2^53 in every model that is trained, so this is the nearest float.
    Ok(error as f64 / wanted as f64)
}

/// The inner width of the dense blocks with the nearest count.
fn inner_width(
    model: &Map<String, Json>,
    object: ParameterCount,
    target: &ParameterCounts,
    place: &Location,
) -> Result<Map<String, Json>, Error> {
    let with = |width: u64| {
        let mut model = model.clone();
        model.insert("intermediate_size".to_owned(), json!(width));
        Ok(model)
    };
    nearest(
        object,
        target,
        place,
        with,
        "a dense feed-forward block with a width that changes the count",
    )
}

/// The width of the model with the nearest count, the inner width staying in proportion.
fn model_width(
    model: &Map<String, Json>,
    object: ParameterCount,
    target: &ParameterCounts,
    place: &Location,
) -> Result<Map<String, Json>, Error> {
    let number = |field: &str| {
        model.get(field).and_then(Json::as_u64).filter(|number| *number > 0).ok_or_else(|| {
            NO_MATCH.at(place.clone(), format!("`{field}`, which the match scales"), "none")
        })
    };
    let (width, heads) = (number("hidden_size")?, number("num_attention_heads")?);
    let inner = number("intermediate_size")?;
    let with = |pairs: u64| {
        // Rotary positions turn pairs, so a head grows by two.
        let head = pairs.saturating_mul(2);
        let hidden = head.saturating_mul(heads);
        let scaled = u128::from(inner) * u128::from(hidden) / u128::from(width);
        let mut model = model.clone();
        model.insert("head_dim".to_owned(), json!(head));
        model.insert("hidden_size".to_owned(), json!(hidden));
        let scaled = u64::try_from(scaled).unwrap_or(u64::MAX).max(1);
        model.insert("intermediate_size".to_owned(), json!(scaled));
        Ok(model)
    };
    nearest(object, target, place, with, "a model with a width that changes the count")
}

/// The model among `with(1)`, `with(2)`, … with the nearest count to the target's; the counts rise.
fn nearest(
    object: ParameterCount,
    target: &ParameterCounts,
    place: &Location,
    with: impl Fn(u64) -> Result<Map<String, Json>, Error>,
    needs: &str,
) -> Result<Map<String, Json>, Error> {
    let wanted = target.count(object, Convention::Default);
    let count = |size: u64| -> Result<u64, Error> {
        Ok(objects(&with(size)?, place)?.count(object, Convention::Default))
    };
    if count(1)? == count(2)? {
        return Err(NO_MATCH.at(place.clone(), needs, "none"));
    }
    // The largest size that is not too large lies in low..high.
    let (mut low, mut high) = (1, 2);
    while high < WIDTH_CAP && count(high)? <= wanted {
        (low, high) = (high, high * 2);
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if count(middle)? <= wanted { low = middle } else { high = middle }
    }
    let best =
        if count(high)?.abs_diff(wanted) < count(low)?.abs_diff(wanted) { high } else { low };
    with(best)
}
