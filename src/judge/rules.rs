//! What counts as agreement, by the rule that a verdict names. One rule means the same in every post.

/// A rule of agreement.
#[derive(Debug)]
pub struct Rule {
    /// Its name in reports.
    pub name: &'static str,
    /// What it is for.
    pub summary: &'static str,
    /// When a claim agrees, and what happens where it does not.
    pub meaning: &'static str,
}

/// Every rule, in the order of lists.
pub static RULES: &[Rule] = &[
    Rule {
        name: "rounding_interval",
        summary: "measured and computed numbers: printed digits carry their rounding",
        meaning: "The numbers that round to the print, half a unit of its last digit to either side, must meet the \
numbers that the evidence can stand for. All ends are exact fractions. Where the evidence allows more than ten times \
the width of the print, the claim is inconclusive: value::too-coarse.",
    },
    Rule {
        name: "exact_integer",
        summary: "whole numbers that are counted: equal",
        meaning: "A whole number of the text against a whole number of the evidence: they are equal or not.",
    },
    Rule {
        name: "exact_setting",
        summary: "fields of a configuration: equal, however they are printed",
        meaning: "A setting is stated, not measured: 1.80e-3 is 0.0018, and 0.002 is not. A print that only rounds the \
setting is inconclusive: value::other-setting.",
    },
    Rule {
        name: "same_print",
        summary: "two prints of one precision: the same digits",
        meaning: "A number that was typed from a print with as many digits states the same number only if the digits \
are the same: the intervals of two neighbours touch, and mean different prints.",
    },
    Rule {
        name: "float_4ulp",
        summary: "binary floats printed in full: within 4 units in the last place",
        meaning: "A number with a point and at least 15 significant digits is a binary float in full. Two ways to \
compute it may differ in its last bits: up to 4 units in the last place agree.",
    },
    Rule {
        name: "about",
        summary: "\"about\", \"roughly\", \"nearly\", \"~\": within 5%, and within 5 of the last digit",
        meaning: "The whole interval of the evidence lies within 5% of the number, and within five of its last digit: \
\"about 1.64\" is 1.59 to 1.69, \"about 1,200\" is 1,140 to 1,260, as zeros at its end are no digits. Up to 25% off is a \
matter of taste, and inconclusive; beyond that it is refuted. No post can declare another meaning.",
    },
    Rule {
        name: "cut_off",
        summary: "digits with dots behind them, `1.716...`: cut off, not rounded",
        meaning: "The value begins with these digits. Where it only rounds to them, the claim is inconclusive: \
value::straddles.",
    },
    Rule {
        name: "limit",
        summary: "\"at least\", \"up to\", \"more than\", \"below\": the whole interval on the stated side",
        meaning: "Every value that the evidence can stand for lies on the stated side. Where only some do, or only the \
rounded number does (\"up to 8\" for 8.3), the claim is \
inconclusive: value::straddles.",
    },
    Rule {
        name: "nearly_fixed",
        summary: "\"almost the same\" of several values: the largest within 2% of the smallest",
        meaning: "Or within what the words state. What the author of a post adds as `within` can only be stricter.",
    },
    Rule {
        name: "exact",
        summary: "relations of numbers without noise: by their whole intervals",
        meaning: "An order or an equality of settings, counts, literals, or of what is only said to be printed.",
    },
    Rule {
        name: "order",
        summary: "orders of single runs: contradicted or open",
        meaning: "One run on a side shows nothing of the noise between runs. What is printed in the other order refutes \
the sentence; what is printed as said leaves it open: order::one-run.",
    },
    Rule {
        name: "test",
        summary: "relations between groups of runs: by the test that the design fixes",
        meaning: "Two-sided at 0.05, with Holm's adjustment where a family is named: paired where the registered plan of \
the post's study names the paired test and the runs saw the same data in the same order, else Welch's.",
    },
    Rule {
        name: "possible",
        summary: "necessary conditions: they refute, and never verify",
        meaning: "A share that no count gives, an entropy above its maximum, a step between two evaluations cannot be. \
What can be is no more than possible: possible::only.",
    },
    Rule {
        name: "algebra",
        summary: "relations of formulas: for all values of their variables",
        meaning: "A counterexample refutes. A relation is verified only by exact algebra of quotients of polynomials; \
points that agree are not enough.",
    },
    Rule {
        name: "same",
        summary: "words: the same words",
        meaning: "Apart from white space. Words that were typed from the quoted place are single source.",
    },
    Rule {
        name: "bitwise",
        summary: "steps executed again in portable arithmetic: equal bits",
        meaning: "Losses, gradient norms, routing and every tensor come out with the same bits.",
    },
    Rule {
        name: "calibrated",
        summary: "steps of other trainers executed again: within 8 times the spread of rounding",
        meaning: "The spread is measured here, and must be below half the effect of 1% of the learning rate; else the \
replay decides nothing.",
    },
    Rule {
        name: "sha-256",
        summary: "bundles: equal digests",
        meaning: "Files, sizes, digests and receipt of a bundle agree.",
    },
];

/// The rule of this name.
pub fn find(name: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.name == name)
}
