use repro_report::meaning::LintKind;

use super::check;

#[test]
fn a_value_is_of_the_step_that_the_words_name() {
    let early = "is = ['_ a step', 'mean(moe.loss @ 242)']";
    check(
        LintKind::Step,
        &[
            ("at step 484 the MoE has 2.117", early),
            ("the MoE's loss is 2.117", "is = 'mean(moe.loss @ 242)'"),
        ],
        &[("at step 242 the MoE has 2.117", early)],
    );
}

#[test]
fn a_loss_is_of_the_split_that_the_words_name() {
    check(
        LintKind::Split,
        &[("a training loss of 1.7015", "is = 'mean(moe.loss)'")],
        &[("a validation loss of 1.7015", "is = 'mean(moe.loss)'")],
    );
}

#[test]
fn a_value_is_of_the_arm_that_the_words_name() {
    check(
        LintKind::Arm,
        &[
            ("dense ends at 1.7015", "is = 'mean(moe.loss)'"),
            ("the control ends at 1.7015", "is = 'mean(moe.loss)'"),
            ("the mixture ends at 1.7186", "is = 'mean(dense.loss)'"),
        ],
        &[
            ("the mixture ends at 1.7015", "is = 'mean(moe.loss)'"),
            ("the control ends at 1.7186", "is = 'mean(dense.loss)'"),
        ],
    );
}
