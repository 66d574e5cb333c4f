//! Named sets of tasks, as DCLM's evaluation defines them.

/// The 22 tasks of CORE (DCLM calls them its low-variance set; nanochat evaluates the same ones).
pub const CORE: [&str; 22] = [
    "agi_eval_lsat_ar",
    "arc_challenge",
    "arc_easy",
    "bigbench_cs_algorithms",
    "bigbench_dyck_languages",
    "bigbench_language_identification",
    "bigbench_operators",
    "bigbench_qa_wikidata",
    "bigbench_repeat_copy_logic",
    "boolq",
    "commonsense_qa",
    "copa",
    "coqa",
    "hellaswag",
    "hellaswag_zeroshot",
    "jeopardy",
    "lambada_openai",
    "openbook_qa",
    "piqa",
    "squad",
    "winograd",
    "winogrande",
];

/// Six tasks that separate small models.
const SMALL: [&str; 6] =
    ["arc_challenge", "arc_easy", "boolq", "copa", "hellaswag_zeroshot", "winogrande"];

/// CORE but for one task, and two more: tasks that lie above chance at 99%.
const ABOVE_CHANCE_99: [&str; 2] = ["enterprise_pii_classification", "pubmed_qa_labeled"];

/// Five more that lie above chance at 95%.
const ABOVE_CHANCE_95: [&str; 5] = [
    "bbq",
    "bigbench_conceptual_combinations",
    "bigbench_novel_concepts",
    "bigbench_strategy_qa",
    "logi_qa",
];

/// The tasks of an aggregate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TaskSet<'a> {
    /// The 22 of CORE.
    Core,
    /// Every task of the table that the baselines know.
    All,
    /// Six tasks.
    Small,
    /// Those above chance at 95%.
    AboveChance95,
    /// Those above chance at 99%.
    AboveChance99,
    /// One category of the baseline file.
    Category(&'a str),
}

impl TaskSet<'_> {
    /// Whether a task of this name and category belongs to the set.
    pub fn holds(self, task: &str, category: Option<&str>) -> bool {
        let core = || CORE.contains(&task);
        let above99 = || {
            ABOVE_CHANCE_99.contains(&task) || core() && task != "bigbench_language_identification"
        };
        match self {
            Self::All => true,
            Self::Core => core(),
            Self::Small => SMALL.contains(&task),
            Self::AboveChance99 => above99(),
            Self::AboveChance95 => above99() || ABOVE_CHANCE_95.contains(&task),
            Self::Category(name) => category == Some(name),
        }
    }
}

/// The quantity that an aggregate averages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Accuracies.
    Accuracy,
    /// Centered accuracies.
    Centered,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sets_have_their_sizes() {
        let all = CORE.iter().chain(&SMALL).chain(&ABOVE_CHANCE_95).chain(&ABOVE_CHANCE_99);
        let mut all: Vec<_> = all.copied().collect();
        all.sort_unstable();
        all.dedup();
        let count = |set: TaskSet| all.iter().filter(|task| set.holds(task, None)).count();
        assert_eq!(count(TaskSet::Core), 22);
        assert_eq!(count(TaskSet::Small), 6);
        assert_eq!(count(TaskSet::AboveChance99), 23);
        assert_eq!(count(TaskSet::AboveChance95), 28);
        assert!(TaskSet::Category("safety").holds("bbq", Some("safety")));
        assert!(!TaskSet::Category("safety").holds("bbq", None));
    }
}
