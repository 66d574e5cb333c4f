//! Tasks under a scorer: which item came out right, and what receipts say of it.
//!
//! Of several passages the one that is cheapest by the task's rule is chosen, the first of equals; a text
//! is completed where each token of the continuation was the most likely one. The table and the outcomes
//! are those that the functions `core`, `grim` and `mcnemar` of posts read.

use num_rational::BigRational;
use serde_json::{Map, Value as Json, json};

use super::{ChoiceRule, ItemForm, Suite, Task, Tokenize, questions};
use crate::scorer::{ContinuationScore, ScoreRequest, Scorer};
use repro_core::decimal::{Interval, format_significant, nearest_f64};
use repro_core::digest::{Digest, NotCanonical, canonical};
use repro_core::source::Error;
use repro_model::scores;
use repro_model::tasks::CORE;

/// The tokens of requests that are held at a time.
const HELD: usize = 1 << 20;
/// The digits of baselines in tables.
const DIGITS: usize = 12;

/// One task, scored.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskScore {
    /// Its name.
    pub name: String,
    /// The kind of its items.
    pub form: ItemForm,
    /// How choices were made.
    pub rule: ChoiceRule,
    /// The score of guessing.
    pub baseline: BigRational,
    /// Whether each item came out right.
    pub outcomes: Vec<bool>,
    /// How many items lost the beginning of a context that was too long.
    pub cut: u64,
}

/// A suite of tasks, scored.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskScores {
    /// The tasks, in the order of the suite.
    pub tasks: Vec<TaskScore>,
    /// The seed with which the examples of prompts were drawn.
    pub seed: u64,
    /// The identity of all questions.
    pub suite: Digest,
    /// The digest of the file of baselines, where one was given.
    pub baselines: Option<Digest>,
}

impl Suite {
    /// Scores all tasks.
    pub fn evaluate<S: Scorer>(
        &self,
        scorer: &mut S,
        tokenizer: &impl Tokenize,
    ) -> Result<TaskScores, S::Failure>
    where
        S::Failure: From<Error>,
    {
        let mut tasks = Vec::with_capacity(self.tasks.len());
        for task in &self.tasks {
            let (outcomes, cut) = outcomes(task, self.seed, scorer, tokenizer)?;
            let (name, form, rule) = (task.name.clone(), task.form, task.rule);
            let baseline = self.baseline(task);
            tasks.push(TaskScore { name, form, rule, baseline, outcomes, cut });
        }
        let baselines = self.baselines().map(|file| file.sha256);
        Ok(TaskScores { tasks, seed: self.seed, suite: self.digest(), baselines })
    }
}

fn outcomes<S: Scorer>(
    task: &Task,
    seed: u64,
    scorer: &mut S,
    tokenizer: &impl Tokenize,
) -> Result<(Vec<bool>, u64), S::Failure>
where
    S::Failure: From<Error>,
{
    let (mut outcomes, mut cut) = (Vec::with_capacity(task.items.len()), 0);
    let (mut requests, mut tokens) = (Vec::new(), 0);
    for at in 0..task.items.len() {
        let mut asked = questions(task, at, seed, tokenizer)?;
        cut += u64::from(asked.iter().any(|request| request.is_cut(scorer.length())));
        asked.iter_mut().for_each(|request| request.cut(scorer.length()));
        tokens += asked.iter().map(|r| r.context.len() + r.continuation.len()).sum::<usize>();
        requests.append(&mut asked);
        if tokens >= HELD || at + 1 == task.items.len() {
            let scores = scorer.score(&requests)?;
            judge(task, &requests, &scores, &mut outcomes);
            requests.clear();
            tokens = 0;
        }
    }
    Ok((outcomes, cut))
}

/// Adds the outcomes of the next items, as many as `requests` ask for.
fn judge(
    task: &Task,
    requests: &[ScoreRequest],
    scores: &[ContinuationScore],
    outcomes: &mut Vec<bool>,
) {
    let (mut requests, mut scores) = (requests, scores);
    for item in task.items.iter().skip(outcomes.len()) {
        let count = item.passages.len();
        let split = requests.split_at_checked(count).zip(scores.split_at_checked(count));
        let Some(((asked, later), (answers, rest))) = split else { break };
        let costs =
            asked.iter().zip(answers).zip(&item.passages).map(|((asked, score), passage)| {
                let units = match task.rule {
                    ChoiceRule::PerToken => asked.continuation.len(),
                    ChoiceRule::PerByte => passage.continuation.len(),
                };
                score.nats / units as f64
            });
        outcomes.push(match task.form {
            ItemForm::LanguageModeling => answers.iter().all(|score| score.greedy),
            ItemForm::MultipleChoice | ItemForm::Schema => cheapest(costs) == Some(item.gold),
        });
        (requests, scores) = (later, rest);
    }
}

/// The position of the least cost, the first of equals; a cost that is no number is never least.
fn cheapest(costs: impl Iterator<Item = f64>) -> Option<usize> {
    let numbers = costs.enumerate().filter(|(_, cost)| !cost.is_nan());
    numbers.min_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(at, _)| at)
}

impl TaskScore {
    /// How many items came out right.
    pub fn correct(&self) -> u64 {
        self.outcomes.iter().filter(|right| **right).count() as u64
    }

    /// The share of items that came out right.
    pub fn accuracy(&self) -> BigRational {
        BigRational::new(self.correct().into(), self.outcomes.len().max(1).into())
    }

    /// The share above guessing, where guessing is 0 and perfection 1; none where guessing is perfect.
    pub fn centered(&self) -> Option<Interval> {
        scores::centered(&Interval::point(self.accuracy()), &self.baseline)
    }

    /// The outcomes as hexadecimal digits, the first item in the highest bit.
    fn bits(&self) -> String {
        let digit = |four: &[bool]| {
            let value = (0..4).fold(0, |sum, at| sum << 1 | u32::from(four.get(at) == Some(&true)));
            char::from_digit(value, 16).unwrap_or('0')
        };
        self.outcomes.chunks(4).map(digit).collect()
    }
}

impl TaskScores {
    /// The mean centred accuracy of all tasks.
    pub fn centered(&self) -> Option<f64> {
        mean(self.tasks.iter())
    }

    /// CORE: the mean over its 22 tasks, where they were all scored against a file of baselines.
    pub fn core(&self) -> Option<f64> {
        let of = |name: &&str| self.tasks.iter().find(|task| task.name == *name);
        let tasks: Option<Vec<_>> = CORE.iter().map(of).collect();
        self.baselines.and(tasks).and_then(|tasks| mean(tasks.into_iter()))
    }

    /// The table of tasks. Shares are printed in full, so that what follows from them is exact.
    pub fn table(&self) -> String {
        let mut table = "task,type,n,correct,accuracy,baseline,centered\n".to_owned();
        for task in &self.tasks {
            let centered = task.centered().map(|value| full(&value.middle()));
            let cells = [
                quoted(&task.name),
                task.form.word().to_owned(),
                task.outcomes.len().to_string(),
                task.correct().to_string(),
                full(&task.accuracy()),
                format_significant(&task.baseline, DIGITS),
                centered.unwrap_or_default(),
            ];
            table += &cells.join(",");
            table.push('\n');
        }
        table
    }

    /// The outcomes of single items, one line for each task.
    pub fn outcomes(&self) -> Result<String, NotCanonical> {
        let line = |task: &TaskScore| {
            let (n, bits) = (task.outcomes.len(), task.bits());
            canonical(&json!({ "task": task.name, "n": n, "bits": bits })).map(|line| line + "\n")
        };
        self.tasks.iter().map(line).collect()
    }

    /// The record of an evaluation's tasks: where their table and outcomes are, and how
    /// they were scored.
    pub fn record(&self, table: &str, outcomes: Option<&str>) -> Map<String, Json> {
        let rule = |task: &TaskScore| match task.form {
            ItemForm::LanguageModeling => "each token of the continuation the most likely one",
            ItemForm::MultipleChoice | ItemForm::Schema => task.rule.word(),
        };
        let by_task = |of: &dyn Fn(&TaskScore) -> Json| -> Json {
            self.tasks.iter().map(|task| (task.name.clone(), of(task))).collect()
        };
        let mut tasks = json!({
            "table": table,
            "few_shot_seed": self.seed.to_string(),
            "suite_sha256": self.suite.to_string(),
            "scoring": by_task(&|task| rule(task).into()),
            "cut": by_task(&|task| task.cut.into()),
        });
        if let Some(file) = outcomes {
            tasks["outcomes"] = file.into();
        }
        if let Some(centered) = self.centered() {
            tasks["centered"] = centered.into();
        }
        let mut record = Map::from_iter([("tasks".to_owned(), tasks)]);
        if let (Some(value), Some(baselines)) = (self.core(), self.baselines) {
            let baselines = baselines.to_string();
            let core = json!({ "value": value, "tasks": table, "baselines_sha256": baselines });
            record.insert("core".to_owned(), core);
        }
        record
    }
}

fn mean<'t>(tasks: impl Iterator<Item = &'t TaskScore>) -> Option<f64> {
    let centered: Option<Vec<_>> = tasks.map(TaskScore::centered).collect();
    Some(nearest_f64(&scores::mean(&centered?)?.middle()))
}

/// The float nearest to a share, to 17 decimals.
fn full(share: &BigRational) -> String {
    format!("{:.17}", nearest_f64(share))
}

/// A cell of CSV.
fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Tokenizer;
    use crate::scorer::RowScores;
    use crate::scorer::tests::Bigrams;
    use crate::tasks::Item;
    use repro_core::source::{Document, Source};
    use repro_model::tasks::{Baselines, TableReading, TaskTable};

    const TEXT: &str = "the cat sat on the mat. the cat ate the rat. a cat sat.";

    fn suite() -> Suite {
        let choices =
            [["cat", "xat"], ["tac", "cat"], ["cat", "czt"], ["mat", "mqt"], ["zzz", "sat"]];
        let items = choices.iter().map(|two| Item::multiple_choice("the ", *two, 0)).collect();
        let choice = Task::plain("choice, of two", ItemForm::MultipleChoice, items);
        let items =
            vec![Item::schema(["the c", "the z"], "at", 0), Item::schema(["q", "c"], "at", 1)];
        let schema = Task::plain("schema", ItemForm::Schema, items);
        let items = vec![
            Item::language_modeling("the", " c"),
            Item::language_modeling("the", " m"),
            Item::language_modeling("the ca", "t"),
        ];
        Suite::of(
            vec![choice, schema, Task::plain("complete", ItemForm::LanguageModeling, items)],
            0,
        )
    }

    fn document(name: &str, text: String) -> Document {
        Document::parse(Source::new(name, text.into_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn an_exact_source_chooses_what_is_likelier() {
        let scores = suite().evaluate(&mut Bigrams::of(TEXT, 32), &Tokenizer::bytes()).unwrap();
        let outcomes: Vec<_> = scores.tasks.iter().map(|task| task.outcomes.clone()).collect();
        assert_eq!(outcomes[0], [true, false, true, true, false]);
        assert_eq!(outcomes[1], [true, true]);
        assert_eq!(outcomes[2], [true, false, true]);
        assert_eq!(scores.tasks[0].bits(), "b0");
        assert_eq!(
            scores.outcomes().unwrap(),
            "{\"bits\":\"b0\",\"n\":5,\"task\":\"choice, of two\"}\n\
             {\"bits\":\"c\",\"n\":2,\"task\":\"schema\"}\n\
             {\"bits\":\"a\",\"n\":3,\"task\":\"complete\"}\n"
        );
        assert_eq!(
            scores.table().lines().nth(1).unwrap(),
            "\"choice, of two\",multiple_choice,5,3,0.59999999999999998,0.5,0.20000000000000001"
        );
        // (0.2 + 1 + 2/3) / 3
        assert_eq!(scores.centered(), Some(28.0 / 45.0));
        assert_eq!(scores.core(), None);
        let record = scores.record("t.csv", None);
        assert_eq!(
            record["tasks"]["scoring"]["schema"],
            "lowest nats per byte of the continuation"
        );
        assert_eq!((record["tasks"].get("outcomes"), record.get("core")), (None, None));
    }

    #[test]
    fn equal_costs_choose_the_first_and_no_number_is_never_chosen() {
        assert_eq!(cheapest([2.0, 1.0, 1.0].into_iter()), Some(1));
        assert_eq!(cheapest([f64::NAN, 3.0].into_iter()), Some(1));
        assert_eq!(cheapest([f64::NAN].into_iter()), None);
    }

    #[test]
    fn the_two_rules_differ_where_choices_have_other_lengths() {
        /// Tokens of two bytes, which cost three nats, and of one, which cost two.
        struct Pairs;
        impl Tokenize for Pairs {
            fn encode(&self, text: &str) -> Result<Vec<u32>, Error> {
                Ok(text.replace("ab", "2").chars().map(u32::from).collect())
            }
            fn start(&self) -> Result<u32, Error> {
                Ok(9)
            }
        }
        impl Scorer for Pairs {
            type Failure = Error;
            fn length(&self) -> usize {
                16
            }
            fn rows(&mut self, _: &[u32], targets: &[u32], _: usize) -> Result<RowScores, Error> {
                let pair = u32::from('2');
                let nats = targets.iter().map(|token| if *token == pair { 3.0 } else { 2.0 });
                let (nats, greedy) = (nats.collect(), vec![false; targets.len()]);
                Ok(RowScores { nats, greedy, loads: Vec::new() })
            }
        }
        let item = Item::multiple_choice("?", ["abab", "aaa"], 0);
        let mut task = Task::plain("t", ItemForm::MultipleChoice, vec![item]);
        let right = |task: &Task| {
            let suite = Suite::of(vec![task.clone()], 0);
            suite.evaluate(&mut Pairs, &Pairs).unwrap().tasks[0].outcomes[0]
        };
        assert!(right(&task), "6 nats of 4 bytes against 6 of 3");
        task.rule = ChoiceRule::PerToken;
        assert!(!right(&task), "3 nats a token against 2");
    }

    /// The table of 22 tasks, read as the claim `core` reads it, gives the score of the record.
    #[test]
    fn core_follows_from_the_table_and_its_baselines() {
        let baselines = "Eval Task,Random baseline\n".to_owned()
            + &CORE
                .iter()
                .enumerate()
                .map(|(at, task)| format!("{task},{}\n", [0.0, 9.1, 25.0, 50.0][at % 4]))
                .collect::<String>();
        let baselines = Baselines::read(&document("b.csv", baselines)).unwrap();
        let score = |(at, name): (usize, &&str)| TaskScore {
            name: (*name).to_owned(),
            form: ItemForm::MultipleChoice,
            rule: ChoiceRule::PerToken,
            baseline: baselines[0].of_task(name).unwrap().clone(),
            outcomes: (0..7 + at).map(|item| item % 3 == 0 || at % 5 == 0).collect(),
            cut: 0,
        };
        let tasks: Vec<_> = CORE.iter().enumerate().map(score).collect();
        let (seed, suite) = (0, Digest::of(b""));
        let baselines_of = Some(baselines[0].sha256);
        let mut scores = TaskScores { tasks, seed, suite, baselines: baselines_of };
        let core = scores.core().unwrap();
        assert_eq!(scores.centered(), Some(core));
        let table = format!("{}CORE,,,,,,{core}\n", scores.table());
        let document = document("t.csv", table);
        let table = TaskTable::read(document.root()).unwrap();
        let reading = TableReading::of(&table, None, &baselines).unwrap();
        assert_eq!(reading.troubles(), []);
        assert_eq!(reading.stated[0].follows(), [0]);
        assert_eq!(reading.column.as_ref().map(|column| column.follows()), Some(vec![0]));
        assert_eq!(scores.record("t.csv", None)["core"]["value"], core);
        scores.tasks.pop();
        assert_eq!(scores.core(), None);
    }
}
