//! The spreads of two arms and of their gap can belong to one set of runs.

use std::collections::BTreeMap;

use num_traits::Signed;

use super::plus_minus::{StatedMean, difference, is_the_difference};
use super::{ClaimKind, FieldSpec};
use crate::evidence::{BAD_CHOICE, Evidence};
use crate::post::Claim;
use repro_exact::decimal::{format_float, format_significant};
use repro_receipt::source::{Error, Node};
use repro_report::outcome::{Impact, Method, Outcome};
use repro_stats::spread::{ErrorBarMeaning, PairingFit, Triple};

/// The numbers of values that are tried where the publication names none.
const TRIED_N: std::ops::RangeInclusive<u64> = 2..=10;

repro_receipt::source::codes! {
    INFEASIBLE = "error_bar_pairing::infeasible", "no set of values has these three spreads", "say what ± is for each number, or correct the spread of the gap";
    NOT_INDEPENDENT = "error_bar_pairing::not-independent", "the spread of the gap is not that of independent arms", "say that the runs are paired, or propagate the errors of both arms";
    NOT_PAIRED = "error_bar_pairing::not-paired", "arms that are said to be paired cannot be", "say how the spread of the gap was computed";
    EITHER = "error_bar_pairing::either", "the three spreads fit pairs and independent arms alike", "publish the values of each run";
    UNDECLARED = "error_bar_pairing::undeclared", "what ± is, or of how many values, is not declared", "say it where the numbers are printed";
    NONE_FITS = "error_bar_pairing::none-fits", "no reading of ± that was tried fits the three spreads", "say what ± is for each number";
    MIXED = "error_bar_pairing::mixed-readings", "readings that differ between the numbers fit too", "say what ± is for each number";
    ONE_VALUE = "error_bar_pairing::one-value", "a single value has no spread", "say what the ± of a single run is";
    OTHER_MEAN = "error_bar_pairing::other-mean", "the printed gap is not the difference of the printed means", "correct the gap, or say over which runs it was taken";
}

/// The record of this kind.
pub static KIND: ClaimKind = ClaimKind {
    id: "error_bar_pairing",
    summary: "the ± of two arms and of their gap fit together",
    explain: "The gap of pairs has the variance s_d² = s₁² + s₂² - 2·ρ·s₁·s₂, so ρ = (s₁² + s₂² - \
         s_d²)/(2·s₁·s₂) must lie in [-1, 1] somewhere in the box of the printed digits (ρ = ±1 \
         for two pairs). Each ± is read as sd, population sd (over n), se, t interval (ci95), \
         1.96 se or half-range; variances are exact rationals, so the box is decided exactly, and \
         a half-range h of n values allows every variance from 2h²/(n-1) up to that of values at \
         both ends. ρ = 0, propagation of independent errors, outside the box means \"paired \
         only\"; no pairs but ρ = 0 means \"unpaired only\"; else \"either\". The claim is \
         verified or refuted only if one reading and one n are declared for all three; otherwise \
         the readings are tried, one for both arms and each for the gap, and those that fit are \
         named.\n\
         How it can mislead: a fit does not show that the runs were paired, by seed or by \
         anything else; a gap over other runs than those of the arms may fit by chance.\n\
         Reference: Brown and Heathers 2017, The GRIM Test; R package scrutiny (DEBIT, for mean \
         and sd).",
    fields: &[
        FieldSpec::required(
            "a",
            "one arm: `label`, and `printed` or `mean` and `spread`, `n`, `reading`",
        ),
        FieldSpec::required("b", "the other arm"),
        FieldSpec::optional("gap", "their gap, in the same form; the claimed value if absent"),
        FieldSpec::optional("n", "how many values each mean is of, if it is the same for all"),
        FieldSpec::optional(
            "reading",
            "sd, population sd, se, ci95, 1.96 se or half-range, for all",
        ),
        FieldSpec::optional(
            "states",
            "what the publication says about the runs: paired or unpaired",
        ),
    ],
    codes: CODES,
    impact: Impact::Decision,
    judges_claimed: true,
    check,
};

fn check(claim: &Claim, evidence: &Evidence) -> Result<Outcome, Error> {
    let node = claim.node;
    let three = Three {
        a: StatedMean::read(node.required("a")?, claim.node, evidence)?,
        b: StatedMean::read(node.required("b")?, claim.node, evidence)?,
        gap: gap(claim, evidence)?,
    };
    let states = node.get("states").map(says).transpose()?;
    let mut outcome = three.judge(states);
    if !is_the_difference(&three.a, &three.b, &three.gap) {
        let found = format_significant(&difference(&three.a, &three.b).abs(), 6);
        outcome = outcome.noting(
            &OTHER_MEAN,
            format!("the means differ by {found}, the gap is printed as {}", three.gap.text),
        );
    }
    Ok(outcome.within("exact", "ρ in [-1, 1] in the rounding box").by(Method::Recomputed))
}

/// The gap's own statement, else the claimed one; it is of as many values as the claim says.
fn gap(claim: &Claim, evidence: &Evidence) -> Result<StatedMean, Error> {
    if let Some(gap) = claim.node.get("gap") {
        return StatedMean::read(gap, claim.node, evidence);
    }
    let (text, node) = super::claimed(claim)?;
    StatedMean::printed(text, node)?.declared(claim.node, claim.node, evidence)
}

/// What a publication says about its runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    Paired,
    Unpaired,
}

fn says(node: Node) -> Result<Says, Error> {
    match node.text()? {
        "paired" => Ok(Says::Paired),
        "unpaired" => Ok(Says::Unpaired),
        other => Err(BAD_CHOICE.at(node.place(), "`paired` or `unpaired`", format!("`{other}`"))),
    }
}

/// Two arms and their gap.
struct Three {
    a: StatedMean,
    b: StatedMean,
    gap: StatedMean,
}

impl Three {
    fn judge(&self, states: Option<Says>) -> Outcome {
        let sizes = [self.a.n, self.b.n, self.gap_n()];
        if sizes.into_iter().flatten().any(|n| n < 2) {
            let reason = format!("a single value has no spread: {}", self.shown());
            return Outcome::inconclusive(&ONE_VALUE, reason).giving(self.shown());
        }
        let readings = [self.a.reading, self.b.reading, self.gap.reading];
        match (readings, sizes) {
            ([Some(a), Some(b), Some(gap)], [Some(x), Some(y), Some(z)]) if a == b && b == gap => {
                self.declared(a, [x, y, z], states)
            }
            _ => self.searched(sizes),
        }
    }

    /// How many gaps there are: as declared, else as many as each arm has values.
    fn gap_n(&self) -> Option<u64> {
        self.gap.n.or(self.a.n.filter(|_| self.a.n == self.b.n))
    }

    fn shown(&self) -> String {
        format!("{}, {}, {}", self.a.shown(), self.b.shown(), self.gap.shown())
    }

    fn triple(&self, [a, b, gap]: [u64; 3]) -> Option<Triple> {
        Some(Triple { a: self.a.spread(a)?, b: self.b.spread(b)?, gap: self.gap.spread(gap)? })
    }

    /// One reading and n for all three: the box decides.
    fn declared(&self, reading: ErrorBarMeaning, sizes: [u64; 3], states: Option<Says>) -> Outcome {
        let fit = self.triple(sizes).and_then(|triple| triple.fit([reading; 3]));
        let Some(fit) = fit else {
            let why =
                format!("no values have these spreads as {}: {}", reading.word(), self.shown());
            return Outcome::refuted(&INFEASIBLE, why)
                .giving("ρ outside [-1, 1] in the whole rounding box");
        };
        let found = standing(&fit);
        let outcome = match (states, &fit) {
            (Some(Says::Paired), PairingFit { paired: None, .. }) => {
                Outcome::refuted(&NOT_PAIRED, format!("said to be paired, but {found}"))
            }
            (Some(Says::Unpaired), PairingFit { independent: false, .. }) => {
                Outcome::refuted(&NOT_INDEPENDENT, format!("said to be unpaired, but {found}"))
            }
            (Some(Says::Paired), PairingFit { independent: true, .. }) => {
                let why = "said to be paired, but independent arms give the same spread";
                Outcome::inconclusive(&EITHER, why)
            }
            _ => Outcome::verified(),
        };
        outcome.giving(format!("as {}: {found}", reading.word()))
    }

    /// All readings that are left, for the declared number of values or for several.
    fn searched(&self, sizes: [Option<u64>; 3]) -> Outcome {
        let mut alike = Search::default();
        let mut mixed = Search::default();
        let known = sizes.into_iter().all(|n| n.is_some());
        let triples: Vec<(u64, Triple)> = match sizes {
            [Some(x), Some(y), Some(z)] => {
                self.triple([x, y, z]).map(|t| (x, t)).into_iter().collect()
            }
            _ => TRIED_N
                .filter_map(|n| Some((n, self.triple(sizes.map(|own| own.unwrap_or(n)))?)))
                .collect(),
        };
        let choices = self.choices();
        let (same, other): (Vec<_>, Vec<_>) =
            choices.into_iter().partition(|[a, b, gap]| a == b && b == gap);
        alike.run(&same, &triples);
        mixed.run(&other, &triples);
        let tried = format!(
            "inferred, {} of {} tried{}",
            alike.fitting.len() + mixed.fitting.len(),
            alike.tried + mixed.tried,
            if known { "" } else { ", each with 2 to 10 values, because n is not declared" }
        );
        if alike.fitting.is_empty() && mixed.fitting.is_empty() {
            let why = format!("no reading of ± fits {}; {tried}", self.shown());
            return Outcome::inconclusive(&NONE_FITS, why).giving("no reading fits");
        }
        let undeclared = match (self.undeclared(), known) {
            (true, true) => "what ± is is not declared",
            (true, false) => "what ± is, and of how many values, is not declared",
            (false, true) => "the three are declared in different readings",
            (false, false) => "of how many values the means are is not declared",
        };
        let mut parts = vec![undeclared.to_owned()];
        if alike.tried > 0 {
            parts.push(format!("read alike, {}", alike.summary(!known)));
        }
        if mixed.tried > 0 {
            parts.push(format!("mixed, {}", mixed.count()));
        }
        let reason = format!("{}; {tried}", parts.join("; "));
        let best = if alike.fitting.is_empty() { &mixed } else { &alike };
        let outcome = Outcome::inconclusive(&UNDECLARED, reason).giving(best.standing());
        if mixed.fitting.is_empty() {
            return outcome;
        }
        outcome.noting(&MIXED, format!("mixed readings that fit: {}", mixed.grouped(!known)))
    }

    /// The readings of both arms and of the gap: one for both arms where neither is declared.
    fn choices(&self) -> Vec<[ErrorBarMeaning; 3]> {
        let open = self.a.reading.is_none() && self.b.reading.is_none();
        let (a, b, gap) = (self.a.readings(), self.b.readings(), self.gap.readings());
        let arms = a.iter().flat_map(|a| b.iter().map(move |b| [*a, *b]));
        let arms = arms.filter(|[a, b]| !open || a == b);
        arms.flat_map(|[a, b]| gap.iter().map(move |gap| [a, b, *gap])).collect()
    }

    fn undeclared(&self) -> bool {
        [&self.a, &self.b, &self.gap].iter().any(|stated| stated.reading.is_none())
    }
}

/// "paired only, ρ from 0.1 to 0.4".
fn standing(fit: &PairingFit) -> String {
    match (fit.paired, fit.independent) {
        (Some(rho), false) => format!("paired only, {}", correlation(rho)),
        (Some(rho), true) => format!("paired or unpaired, {}", correlation(rho)),
        (None, _) => "unpaired only, ρ = 0".to_owned(),
    }
}

fn correlation([low, high]: [f64; 2]) -> String {
    let (low, high) = (format_float(low, 3), format_float(high, 3));
    if low == high { format!("ρ = {low}") } else { format!("ρ from {low} to {high}") }
}

/// Readings that were tried, and those that fit.
#[derive(Default)]
struct Search {
    tried: usize,
    fitting: BTreeMap<[ErrorBarMeaning; 3], Fitting>,
}

/// How one choice of readings fits.
struct Fitting {
    /// For which numbers of values.
    sizes: Vec<u64>,
    /// The widest range of the correlation.
    paired: Option<[f64; 2]>,
    independent: bool,
}

impl Search {
    fn run(&mut self, choices: &[[ErrorBarMeaning; 3]], triples: &[(u64, Triple)]) {
        self.tried += choices.len();
        for (n, triple) in triples {
            for (readings, fit) in choices.iter().zip(triple.fits(choices)) {
                if let Some(fit) = fit {
                    self.add(*readings, *n, &fit);
                }
            }
        }
    }

    fn add(&mut self, readings: [ErrorBarMeaning; 3], n: u64, fit: &PairingFit) {
        let bare = || Fitting { sizes: Vec::new(), paired: None, independent: false };
        let fitting = self.fitting.entry(readings).or_insert_with(bare);
        fitting.sizes.push(n);
        fitting.independent |= fit.independent;
        fitting.paired = match (fitting.paired, fit.paired) {
            (Some([low, high]), Some([least, most])) => Some([low.min(least), high.max(most)]),
            (one, other) => one.or(other),
        };
    }

    /// "all 6 fit, paired only: sd, se (ρ from 0.1 to 0.4), half-range (ρ from 0 to 0.5)".
    fn summary(&self, sized: bool) -> String {
        if self.fitting.is_empty() {
            return "none fits".to_owned();
        }
        let mut groups: Vec<(Vec<String>, String)> = Vec::new();
        for ([reading, ..], fitting) in &self.fitting {
            let found = standing(&fitting.fit());
            let word = format!("{}{}", reading.word(), fitting.sizes(sized));
            match groups.last_mut() {
                Some((words, last)) if *last == found => words.push(word),
                _ => groups.push((vec![word], found)),
            }
        }
        let groups: Vec<_> =
            groups.iter().map(|(words, found)| format!("{} ({found})", words.join(", "))).collect();
        format!("{}: {}", self.count(), groups.join(", "))
    }

    /// "12 of 210 fit, 3 of them unpaired too".
    fn count(&self) -> String {
        let fitting = self.fitting.len();
        let count = if fitting == self.tried && fitting > 1 {
            format!("all {fitting} fit")
        } else {
            format!("{fitting} of {} fit", self.tried)
        };
        let independent = self.fitting.values().filter(|fitting| fitting.independent).count();
        match independent {
            0 => count,
            _ => format!("{count}, {independent} of them unpaired too"),
        }
    }

    /// Over everything that fits.
    fn standing(&self) -> &'static str {
        let paired = self.fitting.values().any(|fitting| fitting.paired.is_some());
        let independent = self.fitting.values().any(|fitting| fitting.independent);
        match (paired, independent) {
            (true, false) => "paired only",
            (false, true) => "unpaired only",
            _ => "paired or unpaired",
        }
    }

    /// "sd and se: gap sd, ci95; …", by the readings of the two arms.
    fn grouped(&self, sized: bool) -> String {
        let mut groups: Vec<([ErrorBarMeaning; 2], Vec<String>)> = Vec::new();
        for ([a, b, gap], fitting) in &self.fitting {
            let also = if fitting.independent { " (unpaired too)" } else { "" };
            let word = format!("{}{}{also}", gap.word(), fitting.sizes(sized));
            match groups.last_mut() {
                Some((arms, words)) if *arms == [*a, *b] => words.push(word),
                _ => groups.push(([*a, *b], vec![word])),
            }
        }
        let groups: Vec<_> = groups
            .iter()
            .map(|([a, b], words)| {
                let other = if a == b { String::new() } else { format!(" and {}", b.word()) };
                format!("arms {}{other}: gap {}", a.word(), words.join(", "))
            })
            .collect();
        groups.join("; ")
    }
}

impl Fitting {
    fn fit(&self) -> PairingFit {
        PairingFit { paired: self.paired, independent: self.independent }
    }

    /// " (n 2 to 5, 8)", where several numbers of values were tried.
    fn sizes(&self, sized: bool) -> String {
        if !sized {
            return String::new();
        }
        let mut runs: Vec<[u64; 2]> = Vec::new();
        for n in &self.sizes {
            match runs.last_mut() {
                Some([_, last]) if *last + 1 == *n => *last = *n,
                _ => runs.push([*n, *n]),
            }
        }
        let runs: Vec<_> = runs
            .iter()
            .map(
                |[first, last]| {
                    if first == last { first.to_string() } else { format!("{first} to {last}") }
                },
            )
            .collect();
        format!(" (n {})", runs.join(", "))
    }
}
