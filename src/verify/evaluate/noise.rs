//! What every order between runs goes by: the digits of its tests, and what it can come to.

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
    WRONG_WAY = "order::wrong-way", "the evidence has the opposite order", "correct the text";
    DISAGREE = "stats::disagree", "two implementations of a distribution give other numbers, so that neither is believed", "report the values to the maintainers of `repro`; `repro stats` with the same numbers shows both";
    ONE_RUN = "order::one-run", "one run on a side: the noise between runs is not known", "repeat the runs with other seeds, or say `printed(a) < printed(b)`";
    OF_MEANS = "order::of-means", "an order of what sums up several runs: means, extremes, spreads", "compare the groups, `a.loss < b.loss`, so that their noise is judged; or say `printed(max(a.loss)) < printed(min(b.loss))`";
    WITHIN_NOISE = "order::within-noise", "the noise between runs does not decide the order", "add runs, or say that it is open";
    NO_FAMILY = "order::no-family", "the plan adjusts the p of this order over a family of tests", "name the family: `significant(p(a, b), family = [p(a, b), ...])`";
    COARSE = "order::too-coarse", "the digits do not decide the relation", "publish the numbers with more digits";
    NOT_EQUAL = "order::not-equal", "two values that are said to be equal are not", "correct the text";
    ARE_EQUAL = "order::equal", "two values that are said to differ are equal", "correct the text";
}

/// What an order comes to of which there is no test.
pub fn untested(why: &Refused) -> Outcome {
    let code = match why {
        Refused::Disagree { .. } => &DISAGREE,
        _ => &WITHIN_NOISE,
    };
    Outcome::inconclusive(code, why.to_string())
}
