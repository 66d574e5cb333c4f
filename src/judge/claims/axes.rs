//! Who is put ahead of whom, on which axes: what the kinds that rank candidates have in common.

use super::arms::ArmRuns;
use crate::evidence::{BAD_CHOICE, EvidenceQuantity};
use repro_receipt::source::{Error, Node};

/// What stands under a label on an axis.
pub trait Labelled {
    /// The candidate's name.
    fn label(&self) -> &str;
}

impl Labelled for EvidenceQuantity {
    fn label(&self) -> &str {
        &self.label
    }
}

impl Labelled for ArmRuns {
    fn label(&self) -> &str {
        &self.label
    }
}

/// One way in which candidates can be ranked.
pub struct Axis<'a, V> {
    /// Its name.
    pub name: &'a str,
    /// Whether the least value is the best.
    pub lower_is_better: bool,
    /// The candidates.
    pub values: Vec<V>,
}

/// Candidates as a claim ranks them.
pub struct Ranked<'a, V> {
    /// Every axis that is given.
    pub axes: Vec<Axis<'a, V>>,
    /// The one that the sentence names.
    pub named: Option<&'a str>,
}

impl<'a, V: Labelled> Ranked<'a, V> {
    /// Reads `axes` and `axis` of a claim; `value` reads what stands under a label, `extra` are the
    /// fields that an axis may have besides.
    pub fn read(
        node: Node<'a>,
        extra: &[&str],
        mut value: impl FnMut(Node<'a>) -> Result<V, Error>,
    ) -> Result<Self, Error> {
        let list = node.required("axes")?;
        let known: Vec<_> = ["name", "better", "values"].iter().chain(extra).copied().collect();
        let mut axes = Vec::new();
        for axis in list.items()? {
            axis.only(&known)?;
            axes.push(Axis {
                name: axis.required("name")?.text()?,
                lower_is_better: lower_is_better(axis.required("better")?)?,
                values: axis
                    .required("values")?
                    .items()?
                    .map(&mut value)
                    .collect::<Result<_, _>>()?,
            });
        }
        if axes.is_empty() {
            return Err(BAD_CHOICE.at(list.place(), "at least one axis", "none"));
        }
        let Some(asked) = node.get("axis") else { return Ok(Self { axes, named: None }) };
        let named = asked.text()?;
        if !axes.iter().any(|axis| axis.name == named) {
            let known: Vec<_> = axes.iter().map(|axis| format!("`{}`", axis.name)).collect();
            let expected = format!("one of {}", known.join(", "));
            return Err(BAD_CHOICE.at(asked.place(), expected, format!("`{named}`")));
        }
        Ok(Self { axes, named: Some(named) })
    }

    /// Whether this axis decides: the named one, or each where none is named.
    pub fn decides(&self, axis: &Axis<V>) -> bool {
        self.named.is_none_or(|name| axis.name == name)
    }
}

fn lower_is_better(node: Node) -> Result<bool, Error> {
    match node.text()? {
        "lower" => Ok(true),
        "higher" => Ok(false),
        other => Err(BAD_CHOICE.at(node.place(), "`lower` or `higher`", format!("`{other}`"))),
    }
}

impl<V: Labelled> Axis<'_, V> {
    /// The pairs (ahead, behind) that the claim `node` states: of its `order`, or of its `winner` and
    /// its `loser`, which is everybody else where it names none.
    pub fn pairs(&self, node: Node) -> Result<Vec<(&V, &V)>, Error> {
        if let Some(order) = node.get("order") {
            let labels = labels(order)?;
            let pairs = labels
                .windows(2)
                .map(|pair| Ok((self.value(pair[0], order)?, self.value(pair[1], order)?)))
                .collect::<Result<_, Error>>()?;
            return some(pairs, order);
        }
        let winner = node.required("winner")?;
        let ahead = labels(winner)?;
        let behind = match node.get("loser") {
            Some(loser) => labels(loser)?,
            None => {
                self.values.iter().map(V::label).filter(|label| !ahead.contains(label)).collect()
            }
        };
        let mut pairs = Vec::new();
        for first in &ahead {
            for second in &behind {
                pairs.push((self.value(first, winner)?, self.value(second, winner)?));
            }
        }
        some(pairs, winner)
    }

    fn value(&self, label: &str, asked: Node) -> Result<&V, Error> {
        self.values.iter().find(|value| value.label() == label).ok_or_else(|| {
            let known: Vec<_> = self.values.iter().map(|v| format!("`{}`", v.label())).collect();
            let expected = format!("a label of axis `{}`: {}", self.name, known.join(", "));
            BAD_CHOICE.at(asked.place(), expected, format!("`{label}`"))
        })
    }
}

/// A sentence that puts nobody ahead of anybody would hold whatever the numbers are.
fn some<T>(pairs: Vec<T>, asked: Node) -> Result<Vec<T>, Error> {
    if pairs.is_empty() {
        let place = asked.place();
        return Err(BAD_CHOICE.at(place, "labels ahead of others", "nobody to be ahead of"));
    }
    Ok(pairs)
}

/// One label or a list of labels.
fn labels(node: Node<'_>) -> Result<Vec<&str>, Error> {
    match node.text() {
        Ok(label) => Ok(vec![label]),
        Err(_) => node.items()?.map(Node::text).collect(),
    }
}
