//! Where the value of a claim comes from: arms, runs, fields, splits, steps, statistics, the design of its test.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use repro_bundle::bundle::{CONFIG, fact_id};
use repro_claim::Expression;
use repro_claim::syntax::ExpressionKind;

use crate::arms::{ClaimArm, PostArms, shared};
use crate::lexicon::{LexiconTerm, lexicon};
use crate::library::Library;
use crate::loss_unit::{LossUnit, unit_of_leaf};
use crate::run_design::RunDesign;
use crate::value::{Leaf, LeafKind, NumberRole, Quantity};

/// Text that a run trains on, text that its settings are chosen on, or text that nothing is fitted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TextSplit {
    Training,
    Development,
    HeldOut,
}

impl TextSplit {
    /// The word in facts.
    pub fn word(self) -> &'static str {
        match self {
            Self::Training => "training",
            Self::Development => "development",
            Self::HeldOut => "held-out",
        }
    }

    /// The split of a loss: of a recorded one by its file and the run's `evaluation.split`, of a typed one by the field
    /// that it was typed from. Everything else has none.
    pub fn of_leaf(leaf: &Leaf, library: &Library) -> Option<Self> {
        let evidence = leaf.evidence.as_ref()?;
        if let Some(field) = &evidence.printed_at {
            return Self::of_field(field);
        }
        unit_of_leaf(leaf)?;
        let is_in = |list: &str| {
            lexicon().words(list).iter().any(|start| evidence.file.starts_with(start.as_str()))
        };
        match (is_in("split.training_files"), is_in("split.held_out_files")) {
            (true, _) => Some(Self::Training),
            (_, true) => {
                let config = library.bundle(&evidence.bundle)?.document(CONFIG).ok();
                let stated = config.and_then(|config| config.root().at("/evaluation/split").ok());
                let is_development = stated
                    .and_then(|node| node.text().ok())
                    .is_some_and(|split| lexicon().is_in("split.development", split));
                Some(if is_development { Self::Development } else { Self::HeldOut })
            }
            _ => None,
        }
    }

    /// The split that the name of a loss states: `final_valid_loss`.
    fn of_field(place: &str) -> Option<Self> {
        let field = place.rsplit('/').next()?.to_lowercase();
        let parts = || field.split(|c: char| !c.is_alphanumeric());
        let has = |list: &str| parts().any(|part| lexicon().is_in(list, part));
        if !has("metric.lowest") {
            return None;
        }
        [
            ("split.training_fields", Self::Training),
            ("split.development", Self::Development),
            ("split.held_out", Self::HeldOut),
        ]
        .into_iter()
        .find_map(|(list, split)| has(list).then_some(split))
    }
}

/// Where a value comes from.
#[derive(Debug, Clone, Default)]
pub struct Provenance {
    /// The names of the post that the expression uses, in order.
    pub arms: Vec<Arc<ClaimArm>>,
    /// The bundles of recorded values.
    pub runs: BTreeSet<String>,
    /// The last parts of the pointers that were read.
    pub fields: BTreeSet<String>,
    /// The splits of the losses among them.
    pub splits: BTreeSet<TextSplit>,
    /// The units of the losses among them.
    pub units: Vec<LossUnit>,
    /// The steps at which values were recorded.
    pub steps: BTreeSet<u64>,
    /// The steps of the checkpoints of its runs, where all have the same.
    pub checkpoints: Vec<u64>,
    /// The last of them, where it is one.
    pub last_step: Option<u64>,
    /// Whether every value was recorded at the last step of its run.
    pub is_at_end: bool,
    /// The functions of the expression and of its formulas.
    pub functions: BTreeSet<String>,
    /// The quantity of the expression, if it is one quantity of the lexicon.
    pub quantity: Option<&'static LexiconTerm>,
    /// The design of its test.
    pub design: Option<Rc<RunDesign>>,
}

impl Provenance {
    /// The step of its values, where they are of one.
    pub fn only_step(&self) -> Option<u64> {
        self.steps.first().copied().filter(|_| self.steps.len() == 1)
    }

    /// Whether one of a list of functions is called.
    pub fn calls_any(&self, functions: &[String]) -> bool {
        functions.iter().any(|name| self.functions.contains(name))
    }

    /// Of an expression, the formulas that it uses, and what was read for it.
    pub fn of(
        arms: &PostArms<'_>,
        library: &Library,
        expressions: &[&Expression],
        leaves: &[Rc<Leaf>],
        given: &[Quantity],
    ) -> Self {
        let evidence = || leaves.iter().filter_map(|leaf| leaf.evidence.as_ref());
        let is_index = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
        let field = |pointer: &str| {
            // The value of a fact is what its id says.
            let pointer = fact_id(pointer).unwrap_or(pointer);
            pointer.rsplit(['/', '.']).find(|part| !is_index(part)).map(str::to_owned)
        };
        let runs = leaves.iter().filter(|leaf| leaf.kind == LeafKind::Recorded);
        let runs = runs.filter_map(|leaf| Some(leaf.evidence.as_ref()?.bundle.clone()));
        let checkpoints = |bundle: &str| {
            let checkpoints = library.bundle(bundle)?.receipt().checkpoints.iter();
            let mut steps: Vec<_> = checkpoints.map(|checkpoint| checkpoint.step).collect();
            steps.sort_unstable();
            (!steps.is_empty()).then_some(steps)
        };
        let stepped = leaves.iter().filter(|leaf| leaf.step.is_some());
        let of_leaf = |leaf: &Rc<Leaf>| checkpoints(&leaf.evidence.as_ref()?.bundle);
        let stepped: Vec<_> = stepped.map(|leaf| (leaf.step, of_leaf(leaf))).collect();
        let last_step = |steps: &Option<Vec<u64>>| steps.as_ref()?.last().copied();
        let mut units: Vec<_> = leaves.iter().filter_map(|leaf| unit_of_leaf(leaf)).collect();
        units.dedup();
        let parts = expressions.iter().flat_map(|expression| expression.all());
        let functions = parts.filter_map(Expression::function).map(str::to_owned).collect();
        Self {
            arms: arms.of(expressions.iter().copied()),
            runs: runs.collect(),
            fields: evidence().filter_map(|one| field(&one.pointer)).collect(),
            splits: leaves.iter().filter_map(|leaf| TextSplit::of_leaf(leaf, library)).collect(),
            units,
            steps: leaves.iter().filter_map(|leaf| leaf.step).collect(),
            is_at_end: !stepped.is_empty()
                && stepped.iter().all(|(own, steps)| *own == last_step(steps)),
            last_step: shared(stepped.iter().map(|(_, steps)| last_step(steps))),
            checkpoints: shared(stepped.into_iter().map(|(_, steps)| steps)).unwrap_or_default(),
            functions,
            quantity: expressions.first().and_then(|first| quantity_of(first)),
            design: design_of(given).cloned(),
        }
    }
}

/// The design of the test whose p is among some numbers.
pub fn design_of(given: &[Quantity]) -> Option<&Rc<RunDesign>> {
    given.iter().find_map(|number| match &number.role {
        NumberRole::P(design) => Some(design),
        _ => None,
    })
}

/// The quantity that an expression gives: of one field or count, of a summary of it, or of so many times it.
pub fn quantity_of(expression: &Expression) -> Option<&'static LexiconTerm> {
    use repro_claim::syntax::ArithmeticOperator::{Divide, Multiply};
    let is_field = |part: &Expression, name: &str| matches!(&part.kind, ExpressionKind::Field(_, field) if field == name);
    match &expression.kind {
        ExpressionKind::Field(_, field) => {
            let last = field.rsplit('/').next().unwrap_or(field);
            lexicon().quantity_of_field(field).or_else(|| lexicon().quantity_of_field(last))
        }
        ExpressionKind::At(of, _) | ExpressionKind::Negative(of) => quantity_of(of),
        ExpressionKind::Call(name, arguments) => {
            let own = lexicon().quantity_of_field(&format!("{name}()"));
            let is_summary =
                lexicon().statistic_of_function(name).is_some_and(|one| !one.is_spread)
                    || matches!(name.as_str(), "whole" | "printed");
            let first = arguments.first().filter(|_| is_summary);
            own.or_else(|| quantity_of(&first?.value))
        }
        // A share of right answers.
        ExpressionKind::Arithmetic(Divide, a, _) if is_field(a, "correct") => {
            lexicon().quantity_of_field("accuracy")
        }
        ExpressionKind::Arithmetic(Multiply, a, b) if a.number().is_some() => quantity_of(b),
        ExpressionKind::Arithmetic(Multiply | Divide, a, b) if b.number().is_some() => {
            quantity_of(a)
        }
        _ => None,
    }
}
