//! What would follow if the evidence were other than it is: whether a result rests on any of it, whether it is a loss,
//! whether a relation holds whatever is measured.

use num_rational::BigRational;
use repro_exact::decimal::Interval;
use repro_receipt::source::Error;
use repro_report::outcome::Verdict;

use super::{Evaluator, Frame, Variables};
use crate::loss_unit::unit_of_leaf;
use crate::page::PlacedExpression;
use crate::value::Quantity;

/// Numbers that are moved, one by one, to see whether a result depends on any: the first nearly always does.
const MOST_NUDGES: usize = 64;
/// What rounding alone moves a result by, at most, as a share of it.
const MOVED: f64 = 1e-9;

/// What the evidence is supposed to be while an expression is evaluated once more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Supposition {
    /// What it is.
    #[default]
    AsItIs,
    /// One number is another, in the order of reading.
    Moved(usize),
    /// Every loss is twice as large.
    DoubledLosses,
}

impl<'a> Evaluator<'a> {
    /// Whether some number that was read for `source` moves what it gave: a result that none moves follows
    /// from no evidence, whatever it mentions. `variables` is read anew each time, as it reads evidence too.
    pub fn depends_on_evidence(
        &self,
        source: &PlacedExpression,
        variables: impl Fn(&Self) -> Result<Variables<'a>, Error>,
        given: &[Quantity],
    ) -> bool {
        let differ = |(a, b): (&Quantity, &Quantity)| {
            (a.float - b.float).abs() > MOVED * a.float.abs().max(b.float.abs())
        };
        // A count is read after the runs that it counts: the first and the last are moved before the others.
        let last = self.read.borrow().len().saturating_sub(1);
        let order = std::iter::once(0).chain(std::iter::once(last)).chain(1..last);
        // A nudge may leave the domain of a function; that too shows that the number matters.
        let moves = |index| {
            let moved = self.parts_where(Supposition::Moved(index), source, &variables);
            moved.map_or(true, |moved| std::iter::zip(given, &moved).any(differ))
        };
        !self.read.borrow().is_empty() && order.take(MOST_NUDGES).any(moves)
    }

    /// Whether what `source` gave is a loss, or a sum, a mean or a difference of losses: twice as large where every loss
    /// is. A ratio of losses stays what it is.
    pub fn is_a_loss(
        &self,
        source: &PlacedExpression,
        variables: impl Fn(&Self) -> Result<Variables<'a>, Error>,
        given: &[Quantity],
    ) -> bool {
        // Most claims read no loss, and nothing of them would change.
        if !self.leaves.borrow().iter().any(|(leaf, _)| unit_of_leaf(leaf).is_some()) {
            return false;
        }
        let Ok(doubled) = self.parts_where(Supposition::DoubledLosses, source, &variables) else {
            return false;
        };
        let is_double = |(one, two): (&Quantity, &Quantity)| {
            one.float != 0.0 && (two.float / one.float - 2.0).abs() < MOVED
        };
        std::iter::zip(given, &doubled).all(is_double)
    }

    /// Whether a relation that holds would hold whatever number of the evidence were another: it says nothing.
    pub fn holds_whatever(&self, frame: Frame<'_, 'a>) -> bool {
        let count = self.read.borrow().len().min(MOST_NUDGES);
        let holds = |index: usize| {
            let judged = self.supposing(Supposition::Moved(index), || frame.judgement());
            // A nudge that leaves the domain of a function shows that the number matters.
            judged.is_ok_and(|outcome| outcome.verdict == Verdict::Verified)
        };
        count > 0 && (0..count).all(holds)
    }

    /// What `source` gives where the evidence is another.
    fn parts_where(
        &self,
        supposed: Supposition,
        source: &PlacedExpression,
        variables: impl Fn(&Self) -> Result<Variables<'a>, Error>,
    ) -> Result<Vec<Quantity>, Error> {
        self.followed.set(0);
        self.supposing(supposed, || {
            let variables = variables(self)?;
            let frame = Frame::of(self, source, &variables);
            frame.parts(frame.evaluate()?)
        })
    }

    fn supposing<T>(&self, supposed: Supposition, evaluate: impl FnOnce() -> T) -> T {
        self.supposed.set(supposed);
        let given = evaluate();
        self.supposed.set(Supposition::AsItIs);
        given
    }

    /// Whether the evidence is supposed to be other than it is: nothing of that is shown.
    pub fn supposes(&self) -> bool {
        self.supposed.get() != Supposition::AsItIs
    }

    /// Notes a number that is read, and says whether it is the one to be moved. However often it is read,
    /// it is one number.
    pub fn nudge(&self, name: &str) -> bool {
        let mut read = self.read.borrow_mut();
        let next = read.len();
        let index = *read.entry(name.to_owned()).or_insert(next);
        self.supposed.get() == Supposition::Moved(index)
    }

    /// A number that is read, as it is supposed to be.
    pub(super) fn as_supposed(&self, name: &str, number: Quantity) -> Quantity {
        let is_loss = || number.leaves.iter().any(|leaf| unit_of_leaf(leaf).is_some());
        let (interval, float) = if self.nudge(name) {
            moved(&number.interval, number.float)
        } else if self.supposed.get() == Supposition::DoubledLosses && is_loss() {
            (&number.interval + &number.interval, number.float + number.float)
        } else {
            return number;
        };
        Quantity { interval, float, ..number }
    }
}

/// A number moved by what neither rounding nor a wide tolerance explains.
pub fn moved(interval: &Interval, float: f64) -> (Interval, f64) {
    let (factor, step) = ((1_048_583, 1_031), (17, 13));
    let ratio = |(top, bottom): (i32, i32)| BigRational::new(top.into(), bottom.into());
    let share = |(top, bottom): (i32, i32)| f64::from(top) / f64::from(bottom);
    let interval = &interval.scaled(&ratio(factor)) + &Interval::point(ratio(step));
    (interval, float * share(factor) + share(step))
}
