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
            ("beta2 was 0.9", "is = 'one.config.adam_beta1'"),
            ("dropout is 0.1", "is = 'one.config.weight_decay'"),
            ("grad clip 0.1, and nothing else", "is = 'one.config.weight_decay'"),
            ("every token is sent to 4 experts", "is = 'one.config.num_experts'"),
        ],
        &[
            ("a loss of 1.7015 for the MoE", "is = 'mean(moe.loss)'"),
            ("trained for 1,209 steps", "is = 'one.config.steps'"),
            ("329,280 parameters", "is = 'total(one)'"),
            ("beta1 was 0.9", "is = 'one.config.adam_beta1'"),
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

#[test]
fn a_value_follows_from_no_number_of_its_own() {
    check(
        LintKind::Quantity,
        &[("the MoE reaches 1.5015", "is = 'mean(moe.loss) - 0.2'")],
        &[(
            "0.2 below 1.7015 is 1.5015",
            "is = ['_ a margin', 'mean(moe.loss)', 'mean(moe.loss) - 0.2']",
        )],
    );
}
