use repro_report::meaning::LintKind;

use super::check;

#[test]
fn a_number_counts_what_the_words_say() {
    check(
        LintKind::Quantity,
        &[
            ("an accuracy of 1.7015 for the MoE", "is = 'mean(moe.loss)'"),
            ("trained for 1,209 tokens", "is = 'one.config.steps'"),
            ("329,280 active parameters", "is = 'total(one)'"),
        ],
        &[
            ("a loss of 1.7015 for the MoE", "is = 'mean(moe.loss)'"),
            ("trained for 1,209 steps", "is = 'one.config.steps'"),
            ("329,280 parameters", "is = 'total(one)'"),
        ],
    );
}

#[test]
fn a_loss_has_the_unit_of_the_words() {
    check(
        LintKind::Quantity,
        &[("1.7015 bits on average", "is = 'mean(moe.loss)'")],
        &[("1.7015 nats on average", "is = 'mean(moe.loss)'")],
    );
}
