//! The rules for every comparison between runs: the digits of its tests, and its possible outcomes.

use repro_core::decimal::format_float;
use repro_core::source::codes;
use repro_report::outcome::Outcome;
use repro_stats::Refused;

/// The significant digits of test statistics in reports.
const TEST_DIGITS: usize = 4;

/// A test statistic in the digits of reports.
pub fn digits(value: f64) -> String {
    format_float(value, TEST_DIGITS)
}

/// The rule of orders between single runs.
pub const ORDER: &str = "order";

codes! {
    WRONG_WAY = "order::wrong-way", "the evidence shows the opposite order", "correct the text";
    DISAGREE = "stats::disagree", "two implementations of a distribution disagree, so neither is used", "report the values to the maintainers of `repro`; `repro stats` with the same numbers shows both";
    ONE_RUN = "order::one-run", "one run per arm, seed noise unknown", "repeat the runs with other seeds, or write `printed(a) < printed(b)`";
    OF_MEANS = "order::summary-comparison", "the comparison is between summaries of several runs (means, extremes, standard deviations)", "compare the groups, `a.loss < b.loss`, to test against noise; or write `printed(max(a.loss)) < printed(min(b.loss))`";
    WITHIN_NOISE = "order::within-noise", "the difference is within the noise between runs", "add runs, or describe the result as open";
    NO_FAMILY = "order::unlisted-family", "the plan adjusts this comparison's p over a family of tests", "list the family: `significant(p(a, b), family = [p(a, b), ...])`";
    COARSE = "order::too-coarse", "the printed digits are too few to decide the comparison", "publish the numbers with more digits";
    NOT_EQUAL = "order::not-equal", "two values that should be equal differ", "correct the text";
    ARE_EQUAL = "order::equal", "two values that should differ are equal", "correct the text";
}

/// The outcome of a comparison without a test.
pub fn untested(why: &Refused) -> Outcome {
    let code = match why {
        Refused::Disagree { .. } => &DISAGREE,
        _ => &WITHIN_NOISE,
    };
    Outcome::inconclusive(code, why.to_string())
}
