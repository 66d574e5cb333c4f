//! What a number counts or measures, and in which unit.

use num_rational::BigRational;
use num_traits::Zero;
use repro_claim::Expression;
use repro_claim::quote::ItemKind;
use repro_claim::syntax::{ArithmeticOperator, ExpressionKind};
use repro_core::decimal::{Printed, Unit};
use repro_model::params::CountScope;
use repro_report::meaning::{Lint, LintKind};

use super::super::provenance::quantity_of;
use super::{LintedClaim, first_words, last_words, lint};
use crate::lexicon::{LexiconTerm, lexicon, place_of};
use crate::loss_unit::LossUnit;
use crate::value::Quantity;

/// A number that the words call a different quantity than its expression gives.
pub(super) fn quantity(claim: &LintedClaim<'_>) -> Option<Lint> {
    claim.number.as_ref()?;
    let own = claim.provenance.quantity?;
    let mut said = said_behind(claim.behind());
    if said.is_empty() {
        said = said_before(claim.before());
    }
    if said.is_empty()
        && let Some(head) = claim.head
    {
        said.extend(in_head(&head.to_lowercase()));
    }
    if said.is_empty()
        && let Some(label) = claim.before().trim_end().strip_suffix(':')
    {
        said.extend(metrics_in(label).filter(|_| own.higher_is_better.is_some()));
    }
    let is_own = said.iter().any(|term| term.covers(own));
    let other = said.first().copied().filter(|_| !is_own).or_else(|| sibling(claim, own))?;
    let message = format!("the text says \"{}\", and the value is {}", other.name, own.name);
    lint(LintKind::Quantity, message)
}

/// The count of a part that the words call the total of the model.
pub(super) fn scope(claim: &LintedClaim<'_>) -> Option<Lint> {
    let mut scopes = claim.given.iter().filter_map(Quantity::count_scope);
    let part = scopes.find(|one| *one != CountScope::Whole)?;
    let (word, _) = lexicon().find("whole.words", claim.lower)?;
    if lexicon().has("whole.parts", claim.lower) {
        return None;
    }
    let part = part.name();
    let message = format!("the text says \"{word}\", and the count is of the {part} only");
    lint(LintKind::Quantity, message)
}

/// A loss that the words give in another unit.
pub(super) fn unit(claim: &LintedClaim<'_>) -> Option<Lint> {
    let number = claim.number.as_ref()?;
    let [own] = claim.provenance.units.as_slice() else { return None };
    // What converts between units may be in either.
    let converts = ["ln", "exp"].iter().any(|name| claim.provenance.functions.contains(*name));
    if converts || claim.trees.iter().any(|tree| has_a_unit_of_its_own(tree)) {
        return None;
    }
    let name = match own {
        LossUnit::Bits => "bits",
        LossUnit::Nats => "nats",
    };
    let item = claim.items.iter().find(|item| item.span == *number)?;
    if matches!(&item.kind, ItemKind::Number(printed) if printed.unit() == Unit::Percent) {
        let message = format!("the text has a percentage, and the value is in {name}");
        return lint(LintKind::Quantity, message);
    }
    let near = first_words(claim.behind(), 3);
    let before = last_words(claim.before(), 5);
    let head = claim.head.map(str::to_lowercase).unwrap_or_default();
    let units = &lexicon().units;
    let said = [near.as_str(), before.as_str(), head.as_str()]
        .iter()
        .find_map(|text| units.iter().find(|unit| unit.place_in(text).is_some()))?;
    if said.name == name {
        return None;
    }
    let message = format!("the text gives it in {}, and the value is in {name}", said.name);
    lint(LintKind::Quantity, message)
}

/// Whether an expression gives something else than a loss: a ratio, a product, a percentage, a p.
fn has_a_unit_of_its_own(tree: &Expression) -> bool {
    use ArithmeticOperator::{Divide, Multiply};
    let mut has_one = false;
    tree.each(&mut |part| {
        has_one |= match &part.kind {
            ExpressionKind::Arithmetic(operator, ..) => matches!(operator, Divide | Multiply),
            ExpressionKind::Call(name, _) => name.starts_with("percent_") || name == "p",
            _ => false,
        };
    });
    has_one
}

/// The quantities that the words directly behind a number name.
fn said_behind(behind: &str) -> Vec<&'static LexiconTerm> {
    // The next option of a command line is no noun of its number: "--batch-size 16 --warmup 50".
    if behind.trim_start().starts_with("--") {
        return Vec::new();
    }
    let near = behind.trim_start_matches(|c: char| c.is_whitespace() || "*_`-\u{a0}".contains(c));
    let clause = near.split(['.', ',', ';', ':', '(', ')', '—', '–', '[', ']', '/', '|']).next();
    let near = first_words(clause.unwrap_or_default(), 4);
    let starts = |term: &&LexiconTerm| {
        let Some(place) = term.place_in(&near) else { return false };
        // One adjective may stand between: "329,280 trainable parameters".
        let mut before = near[..place.start].split_whitespace();
        match (before.next(), before.next()) {
            (None, _) => true,
            (Some(word), None) => !lexicon().is_in("beside.stops", word),
            _ => false,
        }
    };
    most_special(lexicon().quantities.iter().filter(starts).collect())
}

/// The other share of a whole that the clause names: stored parameters for active ones.
fn sibling(claim: &LintedClaim<'_>, own: &LexiconTerm) -> Option<&'static LexiconTerm> {
    let behind = claim.behind().split([',', '.', ';', '(', ')']).next().unwrap_or_default();
    let before = if claim.goes_on_from_a_number() { "" } else { claim.before() };
    let mut near = last_words(before, 4);
    for word in behind.split_whitespace().take(4) {
        if lexicon().is_in("beside.stops", word) && word != "in" {
            break;
        }
        near = format!("{near} {word}");
    }
    let is_named =
        |term: &LexiconTerm| term.shares.iter().any(|word| place_of(&near, word).is_some());
    let shares_a_whole = |term: &&LexiconTerm| {
        term.name != own.name && term.of.iter().any(|whole| own.of.contains(whole))
    };
    let other = lexicon().quantities.iter().filter(shares_a_whole).find(|term| is_named(term))?;
    (!own.shares.is_empty() && !is_named(own)).then_some(other)
}

/// The units of time in the lexicon, by their seconds.
const TIMES: [&str; 6] = ["0.000001", "0.001", "1", "60", "3600", "86400"];

/// A time in another unit than its evidence has, or than the expression divides seconds by.
pub(super) fn time(claim: &LintedClaim<'_>) -> Option<Lint> {
    claim.number.as_ref()?;
    let [tree] = claim.trees else { return None };
    let lexicon = lexicon();
    let unit_of =
        |word: &str| TIMES.into_iter().find(|unit| lexicon.is_in(&format!("time.{unit}"), word));
    let seconds = match &tree.kind {
        ExpressionKind::Arithmetic(ArithmeticOperator::Divide, of, by) => {
            quantity_of(of).filter(|term| term.name == "time")?;
            let ExpressionKind::Number(seconds) = &by.kind else { return None };
            seconds.as_str()
        }
        ExpressionKind::Field(_, field) => {
            let [number] = claim.given else { return None };
            let typed = claim.scope.fact_of(number);
            let named = || field.split(['-', '_']).find_map(unit_of);
            match typed {
                Some(fact) => fact.unit.as_deref().map_or_else(named, unit_of)?,
                None => {
                    quantity_of(tree).filter(|term| term.name == "time")?;
                    named().unwrap_or("1")
                }
            }
        }
        _ => return None,
    };
    let behind = first_words(claim.behind().split(['.', ',', ';', '(', ')']).next()?, 1);
    // "Train time (s)": a head has its unit last, in brackets.
    let head = claim.head.and_then(|head| head.trim().strip_suffix(')')?.rsplit_once('('));
    let near = head.map_or(behind, |(_, unit)| unit.trim().to_lowercase());
    let said = unit_of(&near)?;
    let own = lexicon.words(&format!("time.{seconds}")).first()?;
    if said == seconds {
        return None;
    }
    lint(LintKind::Quantity, format!("the text says {near}, and the value is in {own}"))
}

/// A rate per something else than the unit of its evidence: "tokens per step" over `tokens/s`.
pub(super) fn rate(claim: &LintedClaim<'_>) -> Option<Lint> {
    claim.number.as_ref()?;
    let [number] = claim.given else { return None };
    let unit = claim.scope.fact_of(number)?.unit.as_deref()?;
    let own: Vec<&str> = unit.split('/').skip(1).map(per_unit).collect();
    let near = first_words(claim.behind(), 4).replace('/', " per ");
    let said = near.split_whitespace().skip_while(|word| *word != "per").nth(1)?;
    let said = said.trim_matches(|c: char| !c.is_alphanumeric());
    if own.is_empty() || own.contains(&per_unit(said)) {
        return None;
    }
    lint(LintKind::Quantity, format!("the text says per {said}, and the value is in {unit}"))
}

/// What a rate is per, under one name for each unit of time and each thing that is counted.
fn per_unit(word: &str) -> &str {
    let lexicon = lexicon();
    let time = TIMES.into_iter().find(|unit| lexicon.is_in(&format!("time.{unit}"), word));
    let of_counted = || {
        let mut terms = lexicon.quantities.iter();
        let has = |term: &&LexiconTerm| term.words.iter().any(|own| own.eq_ignore_ascii_case(word));
        terms.find(has).map(|term| term.name.as_str())
    };
    time.or_else(of_counted).unwrap_or(word)
}

/// A number of the post's own that its expression or a formula brings in, and that the words do not have: `loss * 0.88`.
pub(super) fn constant(claim: &LintedClaim<'_>) -> Option<Lint> {
    claim.number.as_ref()?;
    let ([_], [_, formulas @ ..]) = (claim.trees, claim.with_formulas) else { return None };
    let mut own: Vec<(String, BigRational)> = Vec::new();
    for tree in claim.with_formulas {
        tree.each(&mut |part| {
            if let ExpressionKind::Arithmetic(_, left, right) = &part.kind {
                let sides = [left, right].into_iter();
                own.extend(sides.filter_map(|side| Some((side.to_string(), of_numbers(side)?))));
            }
        });
    }
    // A formula may be nothing but a number: `fudge = "0.1"`.
    own.extend(formulas.iter().filter_map(|body| Some((body.to_string(), of_numbers(body)?))));
    let printed: Vec<_> = claim.items.iter().filter_map(|item| in_ones(&item.kind)).collect();
    let (own, _) = own.into_iter().find(|(_, value)| {
        let is_half = value + value == BigRational::from_integer(1.into());
        !value.is_integer() && !is_half && !printed.contains(value)
    })?;
    lint(LintKind::Quantity, format!("the value follows from {own}, which the text does not have"))
}

/// What an expression of nothing but numbers comes to: `1 / 5`.
fn of_numbers(tree: &Expression) -> Option<BigRational> {
    match &tree.kind {
        ExpressionKind::Number(text) => Some(Printed::parse(text).ok()?.in_ones()),
        ExpressionKind::Negative(of) => Some(-of_numbers(of)?),
        ExpressionKind::Arithmetic(operator, left, right) => {
            let (left, right) = (of_numbers(left)?, of_numbers(right)?);
            match operator {
                ArithmeticOperator::Add => Some(left + right),
                ArithmeticOperator::Subtract => Some(left - right),
                ArithmeticOperator::Multiply => Some(left * right),
                ArithmeticOperator::Divide => (!right.is_zero()).then(|| left / right),
                ArithmeticOperator::Power => None,
            }
        }
        _ => None,
    }
}

fn in_ones(kind: &ItemKind) -> Option<BigRational> {
    match kind {
        ItemKind::Number(printed) | ItemKind::Spread(printed) => Some(printed.in_ones()),
        ItemKind::Date(_) => None,
    }
}

/// The quantity that ends right before a number, linked to it.
fn said_before(before: &str) -> Vec<&'static LexiconTerm> {
    let trimmed = before.trim_end_matches(|c: char| c.is_whitespace() || "*_`($\"".contains(c));
    let link = lexicon().words("beside.links").iter().find_map(|link| {
        let rest = trimmed.strip_suffix(link.as_str())?;
        let is_word = link.chars().all(char::is_alphabetic);
        (!is_word || rest.ends_with(char::is_whitespace)).then_some(rest)
    });
    let Some(rest) = link else { return Vec::new() };
    let near = last_words(rest, 3);
    let ends = |term: &&LexiconTerm| {
        term.place_in(&near).is_some_and(|place| near[place.end..].trim().is_empty())
    };
    most_special(lexicon().quantities.iter().filter(ends).collect())
}

/// The metrics that a label in front of a number names: "perplexity per byte of the mixture: 1.70".
fn metrics_in(label: &str) -> impl Iterator<Item = &'static LexiconTerm> {
    let named = lexicon().quantities.iter().filter(|term| term.place_in(label).is_some());
    most_special(named.collect()).into_iter().filter(|term| term.higher_is_better.is_some())
}

/// The quantity of a column; nothing where it is a ratio, unless the whole head is its name.
fn in_head(head: &str) -> Vec<&'static LexiconTerm> {
    let is_whole = |term: &&LexiconTerm| term.words.iter().any(|word| word == head.trim());
    if let Some(term) = lexicon().quantities.iter().find(is_whole) {
        return vec![term];
    }
    let is_ratio = head.contains(|c: char| c.is_ascii_digit() || c == '/')
        || lexicon().words("beside.ratios").iter().any(|word| head.contains(&format!(" {word} ")));
    if is_ratio {
        return Vec::new();
    }
    most_special(lexicon().quantities.iter().filter(|term| term.place_in(head).is_some()).collect())
}

/// Without terms whose wider term covers them: "active parameters" are no plain parameters.
fn most_special(terms: Vec<&'static LexiconTerm>) -> Vec<&'static LexiconTerm> {
    let narrower = |term: &&&'static LexiconTerm| {
        !terms.iter().any(|other| other.name != term.name && other.of.contains(&term.name))
    };
    terms.iter().filter(narrower).copied().collect()
}
