//! Results under changed evidence: whether a result rests on any of it, whether a relation holds
//! whatever is measured.

use num_rational::BigRational;
use repro_core::decimal::Interval;
use repro_core::source::Error;

use super::{Evaluator, Frame, Variables};
use crate::page::PlacedExpression;
use crate::value::Quantity;

/// Numbers that are moved, one by one, to see whether a result depends on any: the first nearly always does.
const MOST_NUDGES: usize = 64;
/// The largest relative change of a result that rounding alone causes.
const MOVED: f64 = 1e-9;

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
            self.followed.set(0);
            let moved = self.moving(index, || {
                let variables = variables(self)?;
                let frame = Frame::of(self, source, &variables);
                frame.parts(frame.evaluate()?)
            });
            moved.map_or(true, |moved| std::iter::zip(given, &moved).any(differ))
        };
        !self.read.borrow().is_empty() && order.take(MOST_NUDGES).any(moves)
    }

    /// Whether a relation that holds would hold whatever number of the evidence were another: it says nothing.
    pub fn holds_whatever(&self, frame: Frame<'_, 'a>) -> bool {
        let count = self.read.borrow().len().min(MOST_NUDGES);
        let holds = |index: usize| {
            let judged = self.moving(index, || frame.judgement());
            // A nudge that leaves the domain of a function shows that the number matters.
            judged.is_ok_and(|outcome| outcome.is_verified())
        };
        count > 0 && (0..count).all(holds)
    }

    /// Evaluates where a number of the evidence, by the order of reading, is another.
    fn moving<T>(&self, index: usize, evaluate: impl FnOnce() -> T) -> T {
        self.moved.set(Some(index));
        let given = evaluate();
        self.moved.set(None);
        given
    }

    /// Whether the evidence is supposed to be other than it is: nothing of that is shown.
    pub fn supposes(&self) -> bool {
        self.moved.get().is_some()
    }

    /// Notes a number that is read, and says whether it is the one to be moved. However often it is read,
    /// it is one number.
    pub fn nudge(&self, name: &str) -> bool {
        let mut read = self.read.borrow_mut();
        let next = read.len();
        let index = *read.entry(name.to_owned()).or_insert(next);
        self.moved.get() == Some(index)
    }

    /// A number that is read, as it is supposed to be.
    pub(super) fn as_supposed(&self, name: &str, number: Quantity) -> Quantity {
        if !self.nudge(name) {
            return number;
        }
        let (interval, float) = moved(&number.interval, number.float);
        Quantity { interval, float, ..number }
    }
}

/// A number moved by what neither rounding nor a wide tolerance explains.
pub fn moved(interval: &Interval, float: f64) -> (Interval, f64) {
    let factor = BigRational::new(1_048_583.into(), 1_031.into());
    let step = BigRational::new(17.into(), 13.into());
    let interval = &interval.scaled(&factor) + &Interval::point(step);
    (interval, float * (1_048_583.0 / 1_031.0) + 17.0 / 13.0)
}
