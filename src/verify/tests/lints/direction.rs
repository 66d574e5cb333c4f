use repro_report::meaning::LintKind;

use super::check;

#[test]
fn sides_are_lower_and_better_as_the_words_say() {
    let gap = "is = 'mean(dense.loss) - mean(moe.loss)'";
    check(
        LintKind::Direction,
        &[
            ("dense beats the MoE by 0.0170", gap),
            ("the MoE's loss is 0.0170 higher than that of dense", gap),
        ],
        &[
            ("the MoE beats dense by 0.0170", gap),
            ("the MoE's loss is 0.0170 lower than that of dense", gap),
            ("the larger mixture is 0.0170 below dense", gap),
        ],
    );
}

#[test]
fn two_numbers_stand_in_the_order_of_the_words() {
    let both = "is = ['mean(moe.loss)', 'mean(dense.loss)']";
    check(
        LintKind::Direction,
        &[("the MoE (1.7015) is worse than dense (1.7186)", both)],
        &[("the MoE (1.7015) is better than dense (1.7186)", both)],
    );
}

#[test]
fn a_passive_turns_the_sides_around() {
    let both = "is = ['mean(moe.loss)', 'mean(dense.loss)']";
    check(
        LintKind::Direction,
        &[("the MoE is beaten by dense, 1.7015 against 1.7186", both)],
        &[("the MoE beats dense, 1.7015 against 1.7186", both)],
    );
}

#[test]
fn numbers_of_two_kinds_stand_in_the_order_of_the_words() {
    let both = "is = ['mean(dense.loss) - mean(moe.loss)', 'sd(moe.loss)']";
    check(
        LintKind::Direction,
        &[("the gap is below the sd (0.0170 against 0.0072)", both)],
        &[("the gap is above the sd (0.0170 against 0.0072)", both)],
    );
}

#[test]
fn what_grows_ends_higher() {
    let both = "is = ['mean(moe.loss @ 242)', 'mean(moe.loss)']";
    check(
        LintKind::Direction,
        &[("early on the loss grows from 2.117 to 1.702", both)],
        &[("early on the loss falls from 2.117 to 1.702", both)],
    );
}

#[test]
fn what_changes_between_two_steps_goes_the_way_of_the_words() {
    let change = "is = 'mean(moe.loss @ 242) - mean(moe.loss)'";
    check(
        LintKind::Direction,
        &[("the loss climbs by 0.415", change)],
        &[("the loss falls by 0.415", change)],
    );
}
