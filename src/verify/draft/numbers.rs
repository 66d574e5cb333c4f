//! Printed numbers, and the values that they allow.

use repro_claim::quote::{ItemKind, QuoteItem};
use repro_core::decimal::{Interval, Printed, about_tolerance, nearest_f64};

/// The values that a printed number allows, in units of one.
pub fn range(printed: &Printed, is_about: bool) -> [f64; 2] {
    let whole: Interval = match is_about || printed.approximate() {
        true => printed.about(&about_tolerance()),
        false => printed.interval(),
    };
    let plain = whole.scaled(&printed.unit().per_one().recip());
    let ends = [nearest_f64(plain.low()), nearest_f64(plain.high())];
    let slack = 1e-12 * ends.iter().fold(0.0_f64, |most, end| most.max(end.abs()));
    [ends[0] - slack, ends[1] + slack]
}

/// The number of an item, whether it stands behind ±.
pub fn printed(item: &QuoteItem) -> Option<(&Printed, bool)> {
    match &item.kind {
        ItemKind::Number(printed) => Some((printed, false)),
        ItemKind::Spread(printed) => Some((printed, true)),
        ItemKind::Date(_) => None,
    }
}
