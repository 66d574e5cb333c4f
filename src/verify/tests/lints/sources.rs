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
            ("halfway through training the MoE has 1.7015", "is = 'mean(moe.loss)'"),
            ("one fifth of the way the MoE has 1.7015", "is = ['_ a part', 'mean(moe.loss)']"),
            ("at the first checkpoint the MoE has 1.93", "is = 'mean(moe.loss @ 484)'"),
            ("at its second evaluation the MoE has 2.117", "is = 'mean(moe.loss @ 242)'"),
            ("at the third checkpoint the MoE has 1.7015", "is = 'mean(moe.loss)'"),
        ],
        &[
            (
                "one fifth of the way the MoE has 2.117; it ends at 1.7015",
                "is = ['_ a part', 'mean(moe.loss @ 242)', 'mean(moe.loss)']",
            ),
            (
                "at step 242 the MoE has 2.117, and it ends at 1.7015",
                "is = ['_ a step', 'mean(moe.loss @ 242)', 'mean(moe.loss)']",
            ),
            ("at step 242 the MoE has 2.117", early),
            ("at its first evaluation the MoE has 2.117", "is = 'mean(moe.loss @ 242)'"),
            ("at its fifth evaluation the MoE has 1.7015", "is = 'mean(moe.loss)'"),
            (
                "from 2.117 after 242 steps to 1.7015",
                "is = ['mean(moe.loss @ 242)', '_ a step', 'mean(moe.loss)']",
            ),
        ],
    );
}

#[test]
fn a_loss_is_of_the_split_that_the_words_name() {
    check(
        LintKind::Split,
        &[
            ("a training loss of 1.7015", "is = 'mean(moe.loss)'"),
            ("on the development split the MoE has 1.7015", "is = 'mean(moe.loss)'"),
        ],
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
            ("the dense model answers 32.4% of the items", "is = 'mean(cloze.moe)'"),
            ("over three seeds dense ends at 1.7015", "is = ['count(moe)', 'mean(moe.loss)']"),
            ("dense_active comes to 1.7015", "is = 'mean(moe.loss)'"),
            ("the dense model of matched storage ends at 1.7186", "is = 'mean(dense.loss)'"),
            ("the active-matched dense model ends at 1.7109", "is = 'mean(stored.loss)'"),
        ],
        &[
            ("the active-matched dense model ends at 1.7186", "is = 'mean(dense.loss)'"),
            ("the dense model with matched storage: 1.7109", "is = 'mean(stored.loss)'"),
            ("the mixture ends at 1.7015", "is = 'mean(moe.loss)'"),
            ("the control ends at 1.7186", "is = 'mean(dense.loss)'"),
        ],
    );
}

#[test]
fn numbers_go_with_the_names_beside_them() {
    let both = "is = ['mean(moe.loss)', 'mean(dense.loss)']";
    check(
        LintKind::Arm,
        &[
            ("dense has 1.7015, and the MoE 1.7186", both),
            ("dense vs. MoE: 1.7015 vs. 1.7186", both),
            ("1.7015 for the dense model, 1.7186 for the mixture", both),
        ],
        &[
            ("the MoE has 1.7015, and dense 1.7186", both),
            ("MoE vs. dense: 1.7015 vs. 1.7186", both),
            ("the mixture comes to 1.7015, from the 1.7186 of dense", both),
            (
                "the MoE cuts the 1.7186 of dense to 1.7015",
                "is = ['mean(dense.loss)', 'mean(moe.loss)']",
            ),
        ],
    );
    let steps = "is = ['_ a step', 'mean(moe.loss)', '_ a step', 'mean(moe.loss @ 242)']";
    check(
        LintKind::Step,
        &[("at step 242 the MoE has 1.7015, at step 1209 it has 2.117", steps)],
        &[("at step 1209 the MoE has 1.7015, at step 242 it has 2.117", steps)],
    );
}
