//! One number of a table: as printed, with its place and its unit.

use num_rational::BigRational;
use num_traits::{Signed, Zero};

use super::{NOT_A_SHARE, UNCLEAR_UNIT};
use repro_core::decimal::{Agreement, Interval, Printed, Unit, compare};
use repro_core::source::{Error, Kind, Node, WRONG_TYPE};

/// A number of a table with its place.
#[derive(Debug, Clone)]
pub struct Cell<'a> {
    /// Its place.
    pub node: Node<'a>,
    /// As printed.
    pub printed: Printed,
}

/// Whether fractions are written out of one or out of a hundred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Out of one.
    Fraction,
    /// Out of a hundred.
    Percent,
}

/// The agreement of a stated number with a recomputed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellAgreement {
    /// It follows.
    Follows,
    /// It does not.
    Differs,
    /// The table is printed too coarsely to decide.
    TooCoarse,
}

impl<'a> Cell<'a> {
    /// The number at `node`, without padding.
    pub fn read(node: Node<'a>) -> Result<Self, Error> {
        let text = node.printed()?.trim();
        let plain = |printed: &Printed| {
            printed.bound().is_none() && !printed.approximate() && printed.spread().is_none()
        };
        match Printed::parse(text) {
            Ok(printed)
                if plain(&printed) && matches!(printed.unit(), Unit::Plain | Unit::Percent) =>
            {
                Ok(Self { node, printed })
            }
            _ => Err(WRONG_TYPE.at(node.place(), "a plain number or a percentage", found(text))),
        }
    }

    /// Whether trailing zeros may have been dropped: numbers of JSON, unlike printed texts.
    fn drops_zeros(&self) -> bool {
        matches!(self.node.value().kind, Kind::Number(_))
    }

    /// The value as a fraction.
    pub fn value(&self, scale: Scale) -> BigRational {
        self.printed.value() / self.per_one(scale)
    }

    fn per_one(&self, scale: Scale) -> BigRational {
        match self.printed.unit() {
            Unit::Plain => scale.per_one(),
            unit => unit.per_one(),
        }
    }

    /// Every fraction that rounds to it, printed to `place`.
    pub fn interval(&self, scale: Scale, place: &Finest) -> Interval {
        let own = self.printed.last_place();
        let place = match place {
            Finest::Exact => return Interval::point(self.value(scale)),
            Finest::At(finest) if self.drops_zeros() => finest,
            Finest::At(_) => own,
        };
        let half = place / BigRational::from_integer(2.into());
        Interval::around(self.printed.value(), &half).scaled(&self.per_one(scale).recip())
    }

    /// The agreement with `computed`; a float printed in full may differ by `slack`, the possible error of a float sum.
    pub fn fit(&self, scale: Scale, computed: &Interval, slack: &BigRational) -> CellAgreement {
        let scaled = |interval: Interval| interval.scaled(&self.per_one(scale).recip());
        if self.printed.is_full_float() {
            let widened = Interval::around(&self.value(scale), slack);
            return if !widened.meets(computed) {
                CellAgreement::Differs
            } else if computed.width() > slack * BigRational::from_integer(10.into()) {
                CellAgreement::TooCoarse
            } else {
                CellAgreement::Follows
            };
        }
        match compare(computed, &scaled(self.printed.interval())) {
            Agreement::Consistent => CellAgreement::Follows,
            Agreement::TooCoarse => CellAgreement::TooCoarse,
            Agreement::Apart(_) => CellAgreement::Differs,
        }
    }
}

/// To which place the cells of a column are printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finest {
    /// Some cell is a float printed in full, so all are.
    Exact,
    /// The place of the finest cell: numbers of JSON lose their trailing zeros.
    At(BigRational),
}

impl Finest {
    /// The place of a column.
    pub fn of<'c, 'a: 'c>(column: impl Iterator<Item = &'c Cell<'a>> + Clone) -> Self {
        if column.clone().any(|cell| cell.printed.is_full_float()) {
            return Self::Exact;
        }
        let finest = column.map(|cell| cell.printed.last_place().clone()).min();
        finest.map_or(Self::Exact, Self::At)
    }
}

impl Scale {
    /// The number of these units in one.
    pub fn per_one(self) -> BigRational {
        BigRational::from_integer(match self {
            Self::Fraction => 1.into(),
            Self::Percent => 100.into(),
        })
    }

    /// The word in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Fraction => "fraction",
            Self::Percent => "percent",
        }
    }

    /// The unit of a whole column, detected from its range. If all values are at most one, they are fractions; any larger
    /// value makes them percent, and then a value below one percent is accepted only if `low` shows that such a small value
    /// is possible there.
    pub fn detect<'c, 'a: 'c>(
        column: impl Iterator<Item = (&'c Cell<'a>, bool)> + Clone,
    ) -> Result<Self, Error> {
        let plain = || column.clone().filter(|(cell, _)| cell.printed.unit() == Unit::Plain);
        let one = BigRational::from_integer(1.into());
        let is_above = |cell: &Cell| *cell.printed.value() > one;
        let Some((above, _)) = plain().find(|(cell, _)| is_above(cell)) else {
            return Ok(Self::Fraction);
        };
        // Only values just above one: neither fractions nor plausible percentages.
        let two = BigRational::from_integer(2.into());
        if plain().all(|(cell, _)| *cell.printed.value() <= two) {
            let expected = "fractions up to one, or percent";
            let text = format!("`{}`, but nothing above two", above.printed.text());
            return Err(UNCLEAR_UNIT.at(above.node.place(), expected, text));
        }
        let below = plain().filter(|(cell, _)| !is_above(cell) && !cell.printed.value().is_zero());
        let (count, doubtful) = (plain().count(), below.clone().find(|(_, low)| !low));
        if let Some((doubtful, _)) = doubtful {
            // The odd ones out are named: one value above one among fractions, or the other way.
            let odd = if below.count() * 2 > count { above } else { doubtful };
            let expected = "only fractions, or only percentages";
            let text = format!(
                "`{}` beside `{}`",
                odd.printed.text(),
                if std::ptr::eq(odd, above) { doubtful } else { above }.printed.text()
            );
            return Err(UNCLEAR_UNIT.at(odd.node.place(), expected, text));
        }
        Ok(Self::Percent)
    }

    /// Rejects a cell that is out of range in this unit.
    pub fn check(self, cell: &Cell) -> Result<(), Error> {
        let value = cell.value(self);
        if value.is_negative() || value > BigRational::from_integer(1.into()) {
            let expected = match self {
                Self::Fraction => "a fraction from 0 to 1",
                Self::Percent => "percent from 0 to 100",
            };
            return Err(NOT_A_SHARE.at(cell.node.place(), expected, found(cell.printed.text())));
        }
        Ok(())
    }
}

fn found(text: &str) -> String {
    if text.is_empty() { "nothing".to_owned() } else { format!("`{text}`") }
}

/// The cell of a row under one of these names; empty cells are none.
pub fn column<'a>(row: Node<'a>, names: &[&str]) -> Result<Option<Node<'a>>, Error> {
    let found = row
        .members()?
        .find(|(key, _)| names.contains(&key.trim().to_lowercase().as_str()))
        .map(|(_, node)| node);
    Ok(found.filter(|node| match &node.value().kind {
        Kind::Text(text) => !text.trim().is_empty(),
        Kind::Null => false,
        _ => true,
    }))
}
