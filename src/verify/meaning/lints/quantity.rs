//! The quantity that a number counts or measures, and its unit.

use num_rational::BigRational;
use num_traits::Zero;
use repro_claim::Expression;
use repro_claim::syntax::{ArithmeticOperator, ExpressionKind};
use repro_core::decimal::Unit;
use repro_model::params::CountScope;

use super::super::provenance::quantity_of;
use super::{LintedClaim, first_words, last_words};
use crate::lexicon::{LexiconTerm, lexicon, place_of};
use crate::loss_unit::LossUnit;
use crate::value::Quantity;

/// A number that the words call a different quantity than its expression gives.
pub(super) fn quantity(claim: &LintedClaim<'_>) -> Option<String> {
    claim.number?;
    let own = claim.provenance.quantity?;
    let head = || in_head(&claim.head?.to_lowercase());
    let label = || {
        let label = claim.before().trim_end().strip_suffix(':')?;
        own.higher_is_better.and_then(|_| metrics_in(label))
    };
    let said = said_behind(claim.behind()).or_else(|| said_before(claim.before()));
    let said = said.or_else(head).or_else(label).unwrap_or_default();
    let is_own = said.iter().any(|term| term.covers(own));
    let other = said.first().copied().filter(|_| !is_own).or_else(|| sibling(claim, own))?;
    Some(format!("the text contains \"{}\", but the value is {}", other.name, own.name))
}

/// The count of a part that the words call the total of the model.
pub(super) fn scope(claim: &LintedClaim<'_>) -> Option<String> {
    let mut scopes = claim.given.iter().filter_map(Quantity::count_scope);
    let part = scopes.find(|one| *one != CountScope::Whole)?;
    let (word, _) = lexicon().find("whole.words", claim.lower)?;
    if lexicon().has("whole.parts", claim.lower) {
        return None;
    }
    let part = part.name();
    Some(format!("the text contains \"{word}\", but the count covers only the {part}"))
}

/// A loss that the words give in another unit.
pub(super) fn unit(claim: &LintedClaim<'_>) -> Option<String> {
    let number = claim.number?;
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
    if number.number().is_some_and(|printed| printed.unit() == Unit::Percent) {
        return Some(format!("the text has a percentage, but the value is in {name}"));
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
    Some(format!("the text states it in {}, but the value is in {name}", said.name))
}

/// Whether an expression gives something else than a loss: a ratio, a product, a percentage, a p.
fn has_a_unit_of_its_own(tree: &Expression) -> bool {
    use ArithmeticOperator::{Divide, Multiply};
    tree.all().any(|part| match &part.kind {
        ExpressionKind::Arithmetic(operator, ..) => matches!(operator, Divide | Multiply),
        ExpressionKind::Call(name, _) => name.starts_with("percent_") || name == "p",
        _ => false,
    })
}

/// The quantities that the words directly behind a number name, if there are some.
fn said_behind(behind: &str) -> Option<Vec<&'static LexiconTerm>> {
    // The next option of a command line is no noun of its number: "--batch-size 16 --warmup 50".
    if behind.trim_start().starts_with("--") {
        return None;
    }
    let near = behind.trim_start_matches(|c: char| c.is_whitespace() || "*_`-\u{a0}".contains(c));
    let clause = near.split(['.', ',', ';', ':', '(', ')', '—', '–', '[', ']', '/', '|']).next();
    let near = first_words(clause.unwrap_or_default(), 4);
    most_special(|term| {
        let Some(place) = term.place_in(&near) else { return false };
        // One adjective may stand between: "329,280 trainable parameters".
        let mut before = near[..place.start].split_whitespace();
        match (before.next(), before.next()) {
            (None, _) => true,
            (Some(word), None) => !lexicon().is_in("beside.stops", word),
            _ => false,
        }
    })
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
pub(super) fn time(claim: &LintedClaim<'_>) -> Option<String> {
    claim.number?;
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
    Some(format!("the text has {near}, but the value is in {own}"))
}

/// A rate per something else than the unit of its evidence: "tokens per step" over `tokens/s`.
pub(super) fn rate(claim: &LintedClaim<'_>) -> Option<String> {
    claim.number?;
    let [number] = claim.given else { return None };
    let unit = claim.scope.fact_of(number)?.unit.as_deref()?;
    let own: Vec<&str> = unit.split('/').skip(1).map(per_unit).collect();
    let near = first_words(claim.behind(), 4).replace('/', " per ");
    let said = near.split_whitespace().skip_while(|word| *word != "per").nth(1)?;
    let said = said.trim_matches(|c: char| !c.is_alphanumeric());
    if own.is_empty() || own.contains(&per_unit(said)) {
        return None;
    }
    Some(format!("the text has a value per {said}, but the value is in {unit}"))
}

/// The denominator of a rate, with one name per unit of time and per counted thing.
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
pub(super) fn constant(claim: &LintedClaim<'_>) -> Option<String> {
    claim.number?;
    let ([_], [_, formulas @ ..]) = (claim.trees, claim.with_formulas) else { return None };
    let printed: Vec<_> =
        claim.items.iter().filter_map(|item| Some(item.printed()?.in_ones())).collect();
    let is_unsaid = |value: BigRational| {
        let is_half = &value + &value == BigRational::from_integer(1.into());
        !value.is_integer() && !is_half && !printed.contains(&value)
    };
    let parts = claim.with_formulas.iter().flat_map(|tree| tree.all());
    let sums = parts.filter(|part| matches!(part.kind, ExpressionKind::Arithmetic(..)));
    // A formula may be nothing but a number: `fudge = "0.1"`.
    let mut sides = sums.flat_map(Expression::parts).chain(formulas.iter().copied());
    let own = sides.find(|side| of_numbers(side).is_some_and(is_unsaid))?;
    Some(format!("the value is derived from {own}, which the text does not contain"))
}

/// The value of an expression that contains only numbers: `1 / 5`.
fn of_numbers(tree: &Expression) -> Option<BigRational> {
    match &tree.kind {
        ExpressionKind::Number(_) => tree.constant(),
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

/// The quantity that ends right before a number, linked to it.
fn said_before(before: &str) -> Option<Vec<&'static LexiconTerm>> {
    let trimmed = before.trim_end_matches(|c: char| c.is_whitespace() || "*_`($\"".contains(c));
    let rest = lexicon().words("beside.links").iter().find_map(|link| {
        let rest = trimmed.strip_suffix(link.as_str())?;
        let is_word = link.chars().all(char::is_alphabetic);
        (!is_word || rest.ends_with(char::is_whitespace)).then_some(rest)
    })?;
    let near = last_words(rest, 3);
    most_special(|term| {
        term.place_in(&near).is_some_and(|place| near[place.end..].trim().is_empty())
    })
}

/// The metrics that a label in front of a number names: "perplexity per byte of the mixture: 1.70".
fn metrics_in(label: &str) -> Option<Vec<&'static LexiconTerm>> {
    let mut named = most_special(|term| term.place_in(label).is_some())?;
    named.retain(|term| term.higher_is_better.is_some());
    Some(named)
}

/// The quantity of a column; nothing if it is a ratio, unless the whole head is its name.
fn in_head(head: &str) -> Option<Vec<&'static LexiconTerm>> {
    let is_whole = |term: &&LexiconTerm| term.words.iter().any(|word| word == head.trim());
    if let Some(term) = lexicon().quantities.iter().find(is_whole) {
        return Some(vec![term]);
    }
    let is_ratio = head.contains(|c: char| c.is_ascii_digit() || c == '/')
        || lexicon().words("beside.ratios").iter().any(|word| head.contains(&format!(" {word} ")));
    if is_ratio { None } else { most_special(|term| term.place_in(head).is_some()) }
}

/// The quantities that some words name, if there are some, without those of which another one is a kind: "active
/// parameters" are no plain parameters.
fn most_special(is_named: impl Fn(&LexiconTerm) -> bool) -> Option<Vec<&'static LexiconTerm>> {
    let named: Vec<_> = lexicon().quantities.iter().filter(|term| is_named(term)).collect();
    let is_wider = |term: &LexiconTerm| {
        named.iter().any(|other| other.name != term.name && other.of.contains(&term.name))
    };
    let special: Vec<_> = named.iter().copied().filter(|term| !is_wider(term)).collect();
    (!special.is_empty()).then_some(special)
}
