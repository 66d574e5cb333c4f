//! Who is best on a named axis.

use super::{ClaimKind, Field};
use crate::evidence::{BAD_CHOICE, Evidence, Quantity};
use crate::outcome::{Method, Outcome, Weight};
use crate::post::Claim;
use crate::source::{Code, Node, Refusal};

crate::source::codes! {
    OTHER_ORDER = "ranking::other-order", "the numbers rank the other way", "correct the sentence, or name the axis on which it holds";
    TIE = "ranking::tie", "the printed digits do not separate the candidates", "publish more digits";
    AXES_DISAGREE = "ranking::axes-disagree", "no axis is named and the axes rank differently", "name the axis that is meant";
    NOISE = "ranking::noise-not-judged", "whether the lead exceeds the noise between runs is not decided here", "publish replicate runs, and test the lead against them";
    BESIDE = "ranking::other-axes", "other axes of the receipt rank differently from the named one", "say which axis is meant wherever the result is quoted";
}

/// See [`ClaimKind::explain`].
pub struct Kind;

impl ClaimKind for Kind {
    fn id(&self) -> &'static str {
        "ranking"
    }

    fn summary(&self) -> &'static str {
        "who leads on a named axis"
    }

    fn explain(&self) -> &'static str {
        "Compares the candidates on each axis given, on the intervals of their printed digits; overlapping \
         intervals are a tie. Where the sentence names an `axis`, that axis decides and the others are \
         reported beside it. Where it names none, the claim holds if all axes agree, fails if all \
         contradict, and is inconclusive otherwise.\n\
         How it can mislead: it ranks the printed numbers and not the recipes; with one run per cell the \
         next seed may rank them differently (`ranking_significance`).\n\
         Reference: Agarwal et al. 2021, Deep RL at the Edge of the Statistical Precipice."
    }

    fn fields(&self) -> &'static [Field] {
        const FIELDS: &[Field] = &[
            Field::required(
                "axes",
                "tables of `name`, `better` (lower or higher) and labelled `values`",
            ),
            Field::optional("winner", "the label, or labels, that the sentence puts ahead"),
            Field::optional("loser", "whom they are ahead of; all others where absent"),
            Field::optional("order", "all labels from best to worst, instead of `winner`"),
            Field::optional("axis", "the axis that the sentence names"),
        ];
        FIELDS
    }

    fn codes(&self) -> &'static [&'static Code] {
        CODES
    }

    fn weight(&self) -> Weight {
        Weight::Decision
    }

    fn check(&self, claim: &Claim, evidence: &Evidence) -> Result<Outcome, Refusal> {
        let node = claim.node;
        let axes: Vec<Axis> = node
            .required("axes")?
            .items()?
            .map(|axis| Axis::read(axis, evidence))
            .collect::<Result<_, _>>()?;
        if axes.is_empty() {
            let place = node.required("axes")?.place();
            return Err(BAD_CHOICE.at(place, "at least one axis", "none"));
        }
        let named = node.get("axis").map(Node::text).transpose()?;
        if let Some(name) = named
            && !axes.iter().any(|axis| axis.name == name)
        {
            let known: Vec<_> = axes.iter().map(|axis| format!("`{}`", axis.name)).collect();
            let place = node.get("axis").unwrap_or(node).place();
            return Err(BAD_CHOICE.at(
                place,
                format!("one of {}", known.join(", ")),
                format!("`{name}`"),
            ));
        }
        let mut standings = Vec::new();
        for axis in &axes {
            standings.push((axis, axis.standing(&pairs(node, axis)?)));
        }
        Ok(decide(&standings, named)
            .within("exact", "intervals of the printed digits must not overlap")
            .by(Method::Compared))
    }
}

/// How one axis answers the claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Agrees,
    Ties,
    Contradicts,
}

struct Axis<'a> {
    name: &'a str,
    lower_is_better: bool,
    values: Vec<Quantity>,
}

impl<'a> Axis<'a> {
    fn read(node: Node<'a>, evidence: &Evidence) -> Result<Self, Refusal> {
        node.only(&["name", "better", "values"])?;
        let better = node.required("better")?;
        let lower_is_better = match better.text()? {
            "lower" => true,
            "higher" => false,
            other => {
                return Err(BAD_CHOICE.at(
                    better.place(),
                    "`lower` or `higher`",
                    format!("`{other}`"),
                ));
            }
        };
        Ok(Self {
            name: node.required("name")?.text()?,
            lower_is_better,
            values: evidence.quantities(node.required("values")?)?,
        })
    }

    fn find(&self, label: &str) -> Option<&Quantity> {
        self.values.iter().find(|value| value.label == label)
    }

    /// The worst answer over all pairs (ahead, behind).
    fn standing(&self, pairs: &[(&Quantity, &Quantity)]) -> Standing {
        let one = |(ahead, behind): &(&Quantity, &Quantity)| {
            let (ahead, behind) = (&ahead.interval, &behind.interval);
            if ahead.meets(behind) {
                Standing::Ties
            } else if (ahead.high() < behind.low()) == self.lower_is_better {
                Standing::Agrees
            } else {
                Standing::Contradicts
            }
        };
        let all: Vec<_> = pairs.iter().map(one).collect();
        [Standing::Contradicts, Standing::Ties]
            .into_iter()
            .find(|worst| all.contains(worst))
            .unwrap_or(Standing::Agrees)
    }

    /// Best first.
    fn sorted(&self) -> Vec<&Quantity> {
        let mut sorted: Vec<_> = self.values.iter().collect();
        sorted.sort_by_key(|quantity| quantity.value());
        if !self.lower_is_better {
            sorted.reverse();
        }
        sorted
    }

    /// "MoE-256 by stop step".
    fn leader(&self) -> String {
        let label = self.sorted().first().map(|quantity| quantity.label.clone());
        format!("{} by {}", label.unwrap_or_default(), self.name)
    }

    /// "stop step: MoE-256 4864, MoE-64 5760, dense 8320", best first.
    fn text(&self) -> String {
        let values: Vec<_> =
            self.sorted().into_iter().map(|v| format!("{} {}", v.label, v.text)).collect();
        format!("{}: {}", self.name, values.join(", "))
    }
}

/// The pairs (ahead, behind) that the claim states, as values of one axis.
fn pairs<'q>(node: Node, axis: &'q Axis) -> Result<Vec<(&'q Quantity, &'q Quantity)>, Refusal> {
    if let Some(order) = node.get("order") {
        let labels = labels(order)?;
        let pairs: Vec<_> = labels
            .windows(2)
            .map(|pair| Ok((value(axis, pair[0], order)?, value(axis, pair[1], order)?)))
            .collect::<Result<_, Refusal>>()?;
        return some(pairs, order);
    }
    let winner = node.required("winner")?;
    let ahead = labels(winner)?;
    let behind = match node.get("loser") {
        Some(loser) => labels(loser)?,
        None => axis
            .values
            .iter()
            .map(|v| v.label.as_str())
            .filter(|label| !ahead.contains(label))
            .collect(),
    };
    let mut pairs = Vec::new();
    for first in &ahead {
        for second in &behind {
            pairs.push((value(axis, first, winner)?, value(axis, second, winner)?));
        }
    }
    some(pairs, winner)
}

/// A sentence that puts nobody ahead of anybody would hold whatever the numbers are.
fn some<T>(pairs: Vec<T>, asked: Node) -> Result<Vec<T>, Refusal> {
    if pairs.is_empty() {
        return Err(BAD_CHOICE.at(
            asked.place(),
            "labels ahead of others",
            "nobody to be ahead of",
        ));
    }
    Ok(pairs)
}

fn value<'q>(axis: &'q Axis, label: &str, asked: Node) -> Result<&'q Quantity, Refusal> {
    axis.find(label).ok_or_else(|| {
        let known: Vec<_> = axis.values.iter().map(|v| format!("`{}`", v.label)).collect();
        BAD_CHOICE.at(
            asked.place(),
            format!("a label of axis `{}`: {}", axis.name, known.join(", ")),
            format!("`{label}`"),
        )
    })
}

/// One label or a list of labels.
fn labels(node: Node<'_>) -> Result<Vec<&str>, Refusal> {
    match node.text() {
        Ok(label) => Ok(vec![label]),
        Err(_) => node.items()?.map(Node::text).collect(),
    }
}

fn decide(standings: &[(&Axis, Standing)], named: Option<&str>) -> Outcome {
    let texts = |wanted: &dyn Fn(Standing) -> bool| -> String {
        let chosen: Vec<_> =
            standings.iter().filter(|(_, s)| wanted(*s)).map(|(axis, _)| axis.text()).collect();
        chosen.join("; ")
    };
    let deciding: Vec<_> =
        standings.iter().filter(|(axis, _)| named.is_none_or(|name| axis.name == name)).collect();
    let all = |standing: Standing| deciding.iter().all(|(_, s)| *s == standing);
    let deciding_text: Vec<_> = deciding.iter().map(|(axis, _)| axis.text()).collect();
    let deciding_text = deciding_text.join("; ");
    let outcome = if all(Standing::Agrees) {
        Outcome::verified()
    } else if all(Standing::Contradicts) {
        Outcome::refuted(&OTHER_ORDER, format!("best first: {deciding_text}"))
    } else if all(Standing::Ties) {
        Outcome::inconclusive(&TIE, format!("a tie within the printed digits: {deciding_text}"))
    } else {
        let side = |standing: Standing, word: &str| {
            let text = texts(&|s| s == standing);
            if text.is_empty() { None } else { Some(format!("{word} {text}")) }
        };
        let sides = [
            side(Standing::Agrees, "yes by"),
            side(Standing::Contradicts, "no by"),
            side(Standing::Ties, "a tie by"),
        ];
        let sides: Vec<_> = sides.into_iter().flatten().collect();
        Outcome::inconclusive(&AXES_DISAGREE, format!("no axis is named: {}", sides.join("; ")))
    };
    let leaders: Vec<_> = deciding.iter().map(|(axis, _)| axis.leader()).collect();
    let mut outcome = outcome
        .giving(if deciding.len() > 1 { leaders.join(", ") } else { deciding_text })
        .noting(&NOISE, "the numbers as printed; noise between runs is not judged here");
    if named.is_some() {
        let beside: Vec<_> = standings
            .iter()
            .filter(|(axis, s)| named != Some(axis.name) && *s != Standing::Agrees)
            .map(|(axis, _)| axis.text())
            .collect();
        if !beside.is_empty() {
            outcome = outcome
                .noting(&BESIDE, format!("another axis ranks differently: {}", beside.join("; ")));
        }
    }
    outcome
}
