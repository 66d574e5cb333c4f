use std::rc::Rc;

use num_rational::BigRational;
use repro_claim::quote::{ItemKind, items};
use repro_core::decimal::{Interval, Printed};
use repro_report::meaning::Reading;
use repro_report::outcome::{EvidenceRef, Verdict};

use super::super::{NumberInQuote, judge};
use crate::value::{Leaf, LeafKind, Quantity};

/// A value as one leaf gives it.
fn value(text: &str, kind: LeafKind) -> Quantity {
    Quantity::stated(&Printed::parse(text).unwrap(), kind)
}

/// A field of a configuration.
fn setting(text: &str, field: &str) -> Quantity {
    let evidence = EvidenceRef {
        bundle: "b".to_owned(),
        file: "config.json".to_owned(),
        pointer: format!("/{field}"),
        document: None,
        printed_at: None,
    };
    let leaf = Leaf::without_place(LeafKind::Setting, text.to_owned());
    let leaf = Leaf { evidence: Some(evidence), ..leaf };
    Quantity { leaves: vec![Rc::new(leaf)], ..value(text, LeafKind::Setting) }
}

/// Judges the last number of a quote.
fn read(quote: &str, declared: Option<Reading>, given: &Quantity) -> (Reading, Verdict) {
    let item = items(quote).pop().unwrap_or_else(|| panic!("no number in {quote}"));
    let (ItemKind::Number(claimed) | ItemKind::Spread(claimed)) = &item.kind else {
        panic!("no number in {quote}")
    };
    let number = NumberInQuote {
        quote,
        item: &item,
        range_start: None,
        declared,
        between: None,
        scale: None,
    };
    let (outcome, reading) = judge(number, claimed, given);
    (reading.reading, outcome.verdict)
}

const HOLDS: Verdict = Verdict::Verified;
const DIFFERS: Verdict = Verdict::Refuted;

/// Checks a table of quotes against recorded values.
fn check(kind: LeafKind, rows: &[(&str, &str, Reading, Verdict)]) {
    for (quote, text, reading, verdict) in rows {
        let found = read(quote, None, &value(text, kind));
        assert_eq!(found, (*reading, *verdict), "{quote} for {text}");
    }
}

#[test]
fn measured_values_are_rounded_at_the_last_digit() {
    use Reading::Rounded;
    check(
        LeafKind::Recorded,
        &[
            ("1.7016", "1.70160005", Rounded, HOLDS),
            ("1.70", "1.7016", Rounded, HOLDS),
            ("1.71", "1.7016", Rounded, DIFFERS),
            ("1.7017", "1.70160005", Rounded, DIFFERS),
            // An exact half may be rounded either way.
            ("1.7", "1.65", Rounded, HOLDS),
            ("1.6", "1.65", Rounded, HOLDS),
            ("1.8", "1.65", Rounded, DIFFERS),
            ("0.34", "0.335", Rounded, HOLDS),
            ("0.33", "0.335", Rounded, HOLDS),
            // A binary float cannot state every half.
            ("1.5", "1.4499999999999993", Rounded, HOLDS),
            ("1.5", "1.4499", Rounded, DIFFERS),
            ("-0.015", "-0.015162", Rounded, HOLDS),
            ("0.015", "-0.015162", Rounded, DIFFERS),
        ],
    );
}

#[test]
fn trailing_zeros_count_unless_a_size_stands_behind_them() {
    use Reading::{Exact, Rounded};
    check(
        LeafKind::Recorded,
        &[
            ("1.2M tokens", "1209344", Rounded, HOLDS),
            ("1.21M tokens", "1209344", Rounded, HOLDS),
            ("1.20M tokens", "1209344", Rounded, DIFFERS),
            ("2,476,032 tokens", "2476032", Exact, HOLDS),
            ("2,476,000 tokens", "2476032", Exact, DIFFERS),
            ("1,930 steps", "1929", Exact, DIFFERS),
            ("330k tokens", "329280", Rounded, HOLDS),
            ("330k tokens", "345000", Rounded, DIFFERS),
            ("12.0", "12.04", Rounded, HOLDS),
            ("12.0", "12.4", Rounded, DIFFERS),
        ],
    );
}

#[test]
fn about_allows_five_percent_or_half_a_digit() {
    use Reading::About;
    check(
        LeafKind::Recorded,
        &[
            ("≈2", "1.802", About, HOLDS),
            ("≈2", "1.45", About, DIFFERS),
            ("about 1.7", "1.7803", About, HOLDS),
            ("about 1.7", "1.79", About, DIFFERS),
            ("roughly 200 steps", "209", About, HOLDS),
            ("roughly 200 steps", "211", About, DIFFERS),
        ],
    );
    // "Double" states a factor without a word that softens it.
    assert_eq!(read("double", None, &value("1.802", LeafKind::Recorded)).1, DIFFERS);
}

#[test]
fn limits_hold_on_their_side() {
    use Reading::{Above, AtLeast, AtMost, Below};
    check(
        LeafKind::Recorded,
        &[
            ("at least 1.70", "1.7016", AtLeast, HOLDS),
            ("at least 1.71", "1.7016", AtLeast, DIFFERS),
            // A limit that the value reaches may be printed rounded.
            ("up to 1.724", "1.72432", AtMost, HOLDS),
            ("up to 1.72", "1.726", AtMost, DIFFERS),
            ("above 1.70", "1.7016", Above, HOLDS),
            ("above 1.702", "1.7016", Above, DIFFERS),
            ("below 1.71", "1.7016", Below, HOLDS),
            ("below 1.7016", "1.7016", Below, DIFFERS),
            (">1,200 steps", "1209", Above, HOLDS),
            (">1,400 steps", "1209", Above, DIFFERS),
        ],
    );
    let found = read("none of them ends above 1.73", None, &value("1.7243", LeafKind::Recorded));
    assert_eq!(found, (Above, Verdict::Inconclusive));
}

#[test]
fn digits_are_cut_off_or_rounded_up_where_that_is_said() {
    check(
        LeafKind::Recorded,
        &[
            ("1.716…", "1.71676", Reading::Floor, HOLDS),
            ("1.717…", "1.71676", Reading::Floor, DIFFERS),
        ],
    );
    let given = value("1.7016", LeafKind::Recorded);
    for (quote, reading, verdict) in [
        ("1.71", Reading::Ceil, HOLDS),
        ("1.70", Reading::Ceil, DIFFERS),
        ("1.70", Reading::Floor, HOLDS),
        ("1.71", Reading::Floor, DIFFERS),
        // A declared reading is stronger than the word next to the number.
        ("about 1.72", Reading::Rounded, DIFFERS),
        ("1.65", Reading::About, HOLDS),
    ] {
        assert_eq!(read(quote, Some(reading), &given), (reading, verdict), "{quote}");
    }
}

#[test]
fn sizes_of_contexts_and_files_may_be_binary() {
    let context = setting("131072", "max_position_embeddings");
    assert_eq!(read("a context of 128K", None, &context), (Reading::Binary, HOLDS));
    assert_eq!(read("a context of 131K", None, &context), (Reading::Rounded, HOLDS));
    assert_eq!(read("a context of 129K", None, &context).1, DIFFERS);
    // No other field is counted in powers of two.
    assert_eq!(read("128K steps", None, &setting("131072", "steps")).1, DIFFERS);
}

#[test]
fn names_of_models_are_nominal() {
    let total = value("755534592", LeafKind::Counted);
    assert_eq!(read("the 755M model", None, &total), (Reading::Nominal, HOLDS));
    assert_eq!(read("the 756M model", None, &total), (Reading::Nominal, HOLDS));
    assert_eq!(read("the 765M model", None, &total), (Reading::Nominal, DIFFERS));
    assert_eq!(read("stores 755M parameters", None, &total), (Reading::Rounded, DIFFERS));
    // Another print of the same precision states its own digits alone.
    let size = Printed::parse("2B").unwrap();
    let printed = Quantity {
        interval: size.interval(),
        last_place: Some(size.last_place().clone()),
        ..value("2B", LeafKind::Printed)
    };
    assert_eq!(read("at 2B scale", None, &printed), (Reading::Nominal, HOLDS));
    assert_eq!(read("at 3B scale", None, &printed), (Reading::Nominal, DIFFERS));
}

#[test]
fn percentages_and_points_are_hundredths() {
    use Reading::Rounded;
    check(
        LeafKind::Recorded,
        &[
            ("32.4%", "0.324", Rounded, HOLDS),
            ("32.4%", "0.3246", Rounded, DIFFERS),
            ("33.9%", "0.3385", Rounded, HOLDS),
            ("1.5 pp", "0.0148", Rounded, HOLDS),
            ("2.5 pp", "0.0148", Rounded, DIFFERS),
            ("1.5 points", "1.45", Rounded, HOLDS),
            // A lone number is literal.
            ("32.4", "0.324", Rounded, DIFFERS),
        ],
    );
}

#[test]
fn spreads_are_rounded_by_their_own_digits() {
    use Reading::Rounded;
    check(
        LeafKind::Recorded,
        &[
            ("1.7016 ± 0.0134", "0.013427", Rounded, HOLDS),
            ("1.7016 ± 0.1343", "0.013427", Rounded, DIFFERS),
            ("1.7016 +/- 0.013", "0.013427", Rounded, HOLDS),
            ("1.702(13)", "0.013427", Rounded, HOLDS),
            ("1.702(31)", "0.013427", Rounded, DIFFERS),
        ],
    );
}

#[test]
fn zero_is_a_number() {
    check(
        LeafKind::Recorded,
        &[
            ("0.00", "0.0034", Reading::Rounded, HOLDS),
            ("0.00", "0.0083", Reading::Rounded, DIFFERS),
            ("0 steps", "0", Reading::Exact, HOLDS),
            ("0 steps", "1", Reading::Exact, DIFFERS),
            ("about 0", "0", Reading::About, HOLDS),
        ],
    );
    assert_eq!(read("dropout 0.0", None, &setting("0", "dropout")), (Reading::Exact, HOLDS));
    assert_eq!(read("dropout 0.1", None, &setting("0", "dropout")).1, DIFFERS);
}

#[test]
fn coarse_inputs_decide_nothing() {
    let half = BigRational::new(1.into(), 2.into());
    let one = BigRational::from_integer(1.into());
    let given =
        Quantity { interval: Interval::around(&one, &half), ..value("1", LeafKind::Recorded) };
    assert_eq!(read("1.01", None, &given).1, Verdict::Inconclusive);
    assert_eq!(read("above 1.2", None, &given).1, Verdict::Inconclusive);
    assert_eq!(read("above 2", None, &given).1, DIFFERS);
}
