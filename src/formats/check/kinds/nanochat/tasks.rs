//! nanochat's evaluation tasks: the number of problems, the chance level, and the possible scores.

use repro_claim::relation::{PrintedRange, RelationNumber};

use crate::check::stated::StatedRow;

/// A task: its name, its number of problems, and its chance accuracy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NanochatTask {
    pub name: &'static str,
    pub problems: u32,
    pub baseline: f64,
}

const fn task(name: &'static str, problems: u32, baseline: f64) -> NanochatTask {
    NanochatTask { name, problems, baseline }
}

/// The tasks of chat models, with plain accuracies.
pub const CHAT: &[NanochatTask] = &[
    task("ARC-Easy", 2376, 0.25),
    task("ARC-Challenge", 1172, 0.25),
    task("MMLU", 14_042, 0.25),
    task("GSM8K", 1319, 0.0),
    task("HumanEval", 164, 0.0),
    task("SpellingBee", 256, 0.0),
];

/// The tasks of CORE, with centered accuracies.
pub const CORE: &[NanochatTask] = &[
    task("hellaswag_zeroshot", 10_042, 0.25),
    task("jeopardy", 2117, 0.0),
    task("bigbench_qa_wikidata", 20_321, 0.0),
    task("arc_easy", 2376, 0.25),
    task("arc_challenge", 1172, 0.25),
    task("copa", 100, 0.5),
    task("commonsense_qa", 1221, 0.2),
    task("piqa", 1838, 0.5),
    task("openbook_qa", 500, 0.25),
    task("lambada_openai", 5153, 0.0),
    task("hellaswag", 10_042, 0.25),
    task("winograd", 273, 0.5),
    task("winogrande", 1267, 0.5),
    task("bigbench_dyck_languages", 1000, 0.0),
    task("agi_eval_lsat_ar", 230, 0.2),
    task("bigbench_cs_algorithms", 1320, 0.0),
    task("bigbench_operators", 210, 0.0),
    task("bigbench_repeat_copy_logic", 32, 0.0),
    task("squad", 10_570, 0.0),
    task("coqa", 7983, 0.0),
    task("boolq", 3270, 0.62),
    task("bigbench_language_identification", 10_000, 0.091),
];

/// The error of a float32 mean, which decides the rounding of a score whose next digit is a 5.
const SLACK: f64 = 4e-7;

/// A printed score and its task.
#[derive(Debug, Clone, Copy)]
pub struct PrintedScore {
    pub task: NanochatTask,
    pub score: PrintedRange,
    /// Whether the score is centered.
    pub is_centred: bool,
}

impl PrintedScore {
    fn chance(&self) -> f64 {
        if self.is_centred { self.task.baseline } else { 0.0 }
    }

    fn problems(&self, most: u32) -> f64 {
        f64::from(self.task.problems.min(most.max(1)))
    }

    /// The possible score closest to the printed one, and its number of solved problems.
    fn nearest(&self, most: u32) -> (f64, f64) {
        let (chance, all) = (self.chance(), self.problems(most));
        let accuracy = self.score.middle() * (1.0 - chance) + chance;
        let solved = (accuracy * all).round().max(0.0).min(all);
        ((solved / all - chance) / (1.0 - chance), solved)
    }

    fn is_possible(&self, most: u32) -> bool {
        let [low, high] = self.score.ends();
        let (nearest, _) = self.nearest(most);
        low - SLACK <= nearest && nearest <= high + SLACK
    }

    /// Records the facts known about the score in its row.
    fn state(&self, row: &mut StatedRow, most: u32) {
        let (mut nearest, solved) = self.nearest(most);
        if self.is_possible(most) {
            let [low, high] = self.score.ends();
            nearest = nearest.max(low).min(high);
        }
        let how = format!("{solved} of {} problems", self.problems(most));
        row.compute_number("nearest", nearest, how);
        row.compute_number("asked", self.problems(most), "the number of evaluated problems");
    }
}

/// The maximum number of problems per task that explains the scores: all of them, or fewer if the evaluation was
/// limited. Some number explains almost any two scores, so a smaller number counts only if it explains nearly all of
/// them.
fn most_problems(scores: &[PrintedScore]) -> (u32, usize) {
    const NEARLY_ALL: f64 = 0.8;
    let possible = |most: u32| scores.iter().filter(|score| score.is_possible(most)).count();
    let largest = scores.iter().map(|score| score.task.problems).max().unwrap_or(0);
    let whole = (largest, possible(largest));
    let mut best = whole;
    for most in (1..largest).rev() {
        if best.1 == scores.len() {
            break;
        }
        let count = possible(most);
        if count > best.1 {
            best = (most, count);
        }
    }
    if best.1 as f64 >= NEARLY_ALL * scores.len() as f64 { best } else { whole }
}

/// Records the possible values of each score in an evaluation, given the stated maximum number of problems per task, if
/// any. Returns the number of possible scores.
pub fn state(rows: &mut [StatedRow], scores: &[PrintedScore], stated: Option<u32>) -> usize {
    let possible = |most: u32| scores.iter().filter(|score| score.is_possible(most)).count();
    let (most, count) = match stated {
        Some(most) => (most, possible(most)),
        None => most_problems(scores),
    };
    for (row, score) in std::iter::zip(rows, scores) {
        score.state(row, most);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(name: &str, score: &str, is_centred: bool) -> PrintedScore {
        let tasks = if is_centred { CORE } else { CHAT };
        let task = *tasks.iter().find(|task| task.name == name).unwrap();
        PrintedScore { task, score: PrintedRange::printed(score).unwrap(), is_centred }
    }

    #[test]
    fn scores_are_whole_numbers_of_problems() {
        assert!(printed("GSM8K", "0.0455", false).is_possible(u32::MAX));
        assert!(!printed("GSM8K", "0.0456", false).is_possible(u32::MAX));
        assert!(printed("HumanEval", "0.0500", false).is_possible(20));
        assert!(printed("copa", "0.3400", true).is_possible(u32::MAX));
        assert!(printed("bigbench_repeat_copy_logic", "0.0312", true).is_possible(u32::MAX));
        assert!(printed("bigbench_repeat_copy_logic", "0.0313", true).is_possible(u32::MAX));
        assert!(!printed("copa", "0.3500", true).is_possible(u32::MAX));
    }

    #[test]
    fn fewer_problems_are_found_where_they_explain_all_scores() {
        let few = [
            printed("copa", "0.3750", true),
            printed("winogrande", "-0.1250", true),
            printed("arc_easy", "-0.0833", true),
            printed("commonsense_qa", "-0.0938", true),
        ];
        assert_eq!(most_problems(&few).1, 4);
        let odd = [
            printed("HumanEval", "0.0630", false),
            printed("MMLU", "0.3566", false),
            printed("ARC-Easy", "0.3687", false),
        ];
        assert_eq!(most_problems(&odd), (14_042, 2));
    }
}
