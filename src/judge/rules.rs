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
        summary: "measured and computed numbers: rounded at the last printed digit",
        meaning: "The numbers that round to the print, half a unit of its last digit to either side, must meet the \
numbers that the evidence can stand for. All ends are exact fractions, and both neighbours hold at an exact half. Zeros \
before a suffix are no digits, within 5%: `330k` is rounded at ten thousands. Where the evidence allows more than ten \
times the width of the print, the claim is inconclusive: value::too-coarse.",
    },
    Rule {
        name: "exact_integer",
        summary: "whole numbers that are counted: equal",
        meaning: "A whole number of the text against a whole number of the evidence: they are equal or not.",
    },
    Rule {
        name: "exact_setting",
        summary: "fields of a configuration: equal, however they are printed",
        meaning: "A setting is stated, not measured: 1.80e-3 is 0.0018, and 0.002 is refuted. A setting with a suffix, \
`1.5M`, is rounded at its last digit.",
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
        summary: "\"about\", \"roughly\", \"nearly\", \"~\", \"half\", \"double\": within 5%, or half a unit of the last digit",
        meaning: "The whole interval of the evidence lies within 5% of the number, or within half a unit of its last \
digit if that is wider: \"about 1.64\" is 1.558 to 1.722, \"~2\" is 1.5 to 2.5, and \"double\", which has no digit, is \
1.9 to 2.1. Beyond that it is refuted.",
    },
    Rule {
        name: "floor",
        summary: "`1.716...`, or `as = \"floor\"`: digits that are cut off",
        meaning: "The value begins with these digits. A value that only rounds to them is refuted.",
    },
    Rule {
        name: "ceil",
        summary: "`as = \"ceil\"`: rounded up",
        meaning: "The smallest number with these digits that is not below the value.",
    },
    Rule {
        name: "binary",
        summary: "K, M and G as powers of 1,024: context lengths, vocabularies, bytes, or `as = \"binary\"`",
        meaning: "A whole number with a suffix that is bound to a context length, a vocabulary or a batch in tokens, and \
any number of bytes with a suffix, agrees under 10^3 or under 2^10; the report says which. The fields are those of the lexicon.",
    },
    Rule {
        name: "nominal",
        summary: "the size in the name of a model: \"the 755M model\", `as = \"nominal\"`",
        meaning: "A size without decimals beside \"model\", \"-parameter\" or \"scale\" agrees if it is rounded, cut off, or \
short of its trailing zeros by at most 10%.",
    },
    Rule {
        name: "limit",
        summary: "\"at least\", \"up to\", \"more than\", \"below\": the whole interval on the stated side",
        meaning: "Every value that the evidence can stand for lies on the stated side, else the claim is refuted. Where \
only some do, or \"at most\" and \"at least\" hold only of the rounded number (\"up to 8\" for 8.3), it is inconclusive: \
value::straddles. Settings, constants and numbers of seeds, runs and steps keep their own reading.",
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
