//! Dates as points in time.

use jiff::civil::{Date, DateTime};
use num_bigint::BigInt;
use num_rational::BigRational;
use repro_core::decimal::Interval;

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);
/// The last second of a day, counted from its first.
const LAST_OF_DAY: i64 = 86_399;

/// The last second of a minute, counted from its first.
const LAST_OF_MINUTE: i64 = 59;
/// So many seconds lie between the clocks of two places at most.
const BETWEEN_ZONES: i64 = 14 * 3600;

/// Clocks differ by quarters of an hour.
const QUARTER: i64 = 900;

/// How a date of a text stands to a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateAgreement {
    /// It has the moment.
    Same,
    /// The moment is known less finely than the date.
    Coarse,
    /// It lies as far away as the clocks of two time zones, and it does not say which it has.
    OtherZone,
    /// It lies elsewhere.
    Other,
}

/// Whether these are the seconds of a date without a time.
pub fn is_day(seconds: &Interval) -> bool {
    seconds.high() - seconds.low() == BigRational::from_integer(LAST_OF_DAY.into())
}

/// How a date stands to a moment in UTC, or to one whose zone nobody says; none if it is not a date.
pub fn agreement(date: &str, moment: &Interval) -> Option<DateAgreement> {
    let own = seconds(date)?;
    let is_zoned = date.ends_with('Z');
    let far = BigRational::from_integer(BETWEEN_ZONES.into());
    let in_another_zone = || {
        let quarter = BigRational::from_integer(QUARTER.into());
        let least = (moment.low() - own.high()).max(-&far);
        let most = (moment.low() - own.low()).min(far);
        (least / &quarter).ceil() * quarter <= most
    };
    Some(match () {
        () if own.hull(moment) == own => DateAgreement::Same,
        () if own.meets(moment) => DateAgreement::Coarse,
        () if !is_zoned && in_another_zone() => DateAgreement::OtherZone,
        () => DateAgreement::Other,
    })
}

/// The seconds since the start of 1970 in UTC that a date stands for; a day without a time stands for all of it, and
/// a time without seconds for all of its minute.
pub fn seconds(text: &str) -> Option<Interval> {
    let text = text.trim_end_matches('Z');
    let whole = |seconds: i64| BigRational::from_integer(BigInt::from(seconds));
    if let Ok(day) = text.parse::<Date>()
        && text.len() == "0000-00-00".len()
    {
        let first = day.to_datetime(jiff::civil::Time::midnight()).duration_since(EPOCH).as_secs();
        return Some(Interval::between(whole(first), whole(first + LAST_OF_DAY)));
    }
    let moment: DateTime = text.parse().ok()?;
    let first = moment.duration_since(EPOCH).as_secs();
    match text.len() == "0000-00-00 00:00".len() {
        true => Some(Interval::between(whole(first), whole(first + LAST_OF_MINUTE))),
        false => Some(Interval::point(whole(first))),
    }
}

#[cfg(test)]
mod tests {
    use super::{DateAgreement, agreement, seconds};
    use num_rational::BigRational;

    #[test]
    fn a_date_is_its_second_in_utc() {
        let point = |text: &str| seconds(text).filter(|s| s.is_point()).map(|s| s.low().clone());
        let of = |seconds: i64| Some(BigRational::from_integer(seconds.into()));
        assert_eq!(point("2026-01-09 04:17:48"), of(1_767_932_268));
        assert_eq!(point("1970-01-01T00:01:00Z"), of(60));
        let day = seconds("1970-01-02").unwrap();
        assert_eq!((Some(day.low().clone()), Some(day.high().clone())), (of(86_400), of(172_799)));
        let to = |date: &str| agreement(date, &seconds("2026-01-09 02:08:10").unwrap()).unwrap();
        assert_eq!(to("2026-01-08 18:08:10"), DateAgreement::OtherZone);
        assert_eq!(to("2026-01-08 18:08:10Z"), DateAgreement::Other);
        assert_eq!(
            (to("2026-01-08"), to("2026-01-07")),
            (DateAgreement::OtherZone, DateAgreement::Other)
        );
        assert_eq!(
            (to("2026-01-09 02:08"), to("2026-01-09 02:07")),
            (DateAgreement::Same, DateAgreement::Other)
        );
        assert!(seconds("2026-13-01 00:00:00").is_none() && seconds("yesterday").is_none());
    }
}
