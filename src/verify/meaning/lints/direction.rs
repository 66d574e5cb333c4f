//! Which of two sides is lower, rising or ahead, in the words and in the fact.

use std::ops::Range;

use num_rational::BigRational;
use num_traits::Signed;
use repro_claim::Expression;
use repro_claim::quote::QuoteItem;
use repro_claim::syntax::{ArithmeticOperator, ExpressionKind, RelationOperator};

use super::super::nouns::{Noun, head};
use super::super::provenance::quantity_of;
use super::{LintedClaim, denies_before, plain_words};
use crate::arms::ClaimArm;
use crate::lexicon::{lexicon, places_of};

/// So many bytes before a word of direction may hold what denies it.
const DENIED_WITHIN: usize = 24;
/// So many bytes between a number and a word of direction.
const NEAR: usize = 80;

/// The two sides of a fact, and which of them is lower.
struct Sides<'e> {
    first: &'e Expression,
    second: &'e Expression,
    first_is_lower: bool,
    /// Whether the expression itself says that the first side is the subject.
    has_subject: bool,
}

/// The lists of words of direction.
const LISTS: [&str; 4] = ["direction.up", "direction.down", "direction.better", "direction.worse"];

/// The sides named in the opposite direction.
pub(super) fn direction(claim: &LintedClaim<'_>) -> Option<String> {
    let sides = sides_of(claim)?;
    // "Raises the loss by 9.9%": a percentage changes what it is of.
    let lists = [LISTS.as_slice(), &["direction.grows", "direction.shrinks"]].concat();
    // "From moe16 to moe64 the parameters grow": what moves from one side to the other.
    let moves_from = |arm: &ClaimArm| {
        let place = claim.mention(arm, &[], claim.lower);
        place.is_some_and(|place| claim.lower[..place.start].trim_end().ends_with("from"))
    };
    let moves =
        || claim.scope.arms.of([sides.first, sides.second]).iter().any(|arm| moves_from(arm));
    let lists = if sides.has_subject || moves() { lists.as_slice() } else { &LISTS };
    let said = said(claim, claim.number, lists)?;
    // A sentence of several clauses may put the sides both ways, each in its place.
    let goes_both_ways = LISTS.iter().filter(|one| lexicon().has(one, claim.lower)).count() > 1
        || lexicon().has("direction.denies", claim.lower);
    if claim.number.is_none() && goes_both_ways {
        return None;
    }
    contradicted(claim, &sides, &said, false)
}

/// A change of one quantity between two steps, in the other direction than the words say.
pub(super) fn change(claim: &LintedClaim<'_>) -> Option<String> {
    claim.number?;
    let [tree] = claim.trees else { return None };
    let ExpressionKind::Arithmetic(ArithmeticOperator::Subtract, a, b) = &unscaled(tree).kind
    else {
        return None;
    };
    let [number] = claim.given else { return None };
    let (first, second) = (claim.scope.noun_of(a)?, claim.scope.noun_of(b)?);
    let step = |noun: &Noun| noun.step.as_ref().map_or(Some(u64::MAX), |step| step.parse().ok());
    let (earlier, later) = (step(&first)?, step(&second)?);
    if head(&first) != head(&second) || first.arm != second.arm || earlier == later {
        return None;
    }
    let first_is_later = earlier > later;
    let rises = number.point().is_positive() == first_is_later;
    // A better loss falls.
    let (grows, shrinks) = match quantity_of(a).and_then(|one| one.higher_is_better) {
        Some(true) => ("direction.better", "direction.worse"),
        Some(false) => ("direction.worse", "direction.better"),
        None => ("direction.grows", "direction.shrinks"),
    };
    let said = last_move(
        claim.before(),
        ["direction.grows", "direction.up", grows],
        ["direction.shrinks", "direction.down", shrinks],
    )?;
    said.contradicted(rises, "it rises", "it falls")
}

/// Words by which something grows from one number to a smaller one, or shrinks to a larger one.
pub(super) fn trend(claim: &LintedClaim<'_>) -> Option<String> {
    let number = claim.number?;
    let at = claim.items.iter().position(|item| item == number)?;
    let before = claim.items.get(at.checked_sub(1)?)?;
    let between = claim.lower.get(before.span.end..number.span.start)?;
    if !["to", "→", "->"].iter().any(|joint| between.split_whitespace().any(|word| word == *joint))
    {
        return None;
    }
    let rises = number.number()?.value() >= before.number()?.value();
    let opening = claim.lower.get(..number.span.start)?;
    let said = last_move(opening, ["direction.grows"], ["direction.shrinks"])?;
    said.contradicted(rises, "the second number rises", "the second number falls")
}

/// A word by which something grows or shrinks.
struct Move {
    word: &'static str,
    grows: bool,
}

impl Move {
    /// The message where the fact goes up and the word down, or the other way.
    fn contradicted(&self, is_up: bool, up: &str, down: &str) -> Option<String> {
        let fact = if is_up { up } else { down };
        (self.grows != is_up).then(|| format!("the text contains \"{}\", but {fact}", self.word))
    }
}

/// The last word of two opposing groups of lists in a text; none if it is denied.
fn last_move<const N: usize>(text: &str, grows: [&str; N], shrinks: [&str; N]) -> Option<Move> {
    let lists = grows.map(|list| (list, true)).into_iter().chain(shrinks.map(|list| (list, false)));
    let all = lists.flat_map(|(list, grows)| {
        lexicon().words(list).iter().map(move |word| Move { word, grows })
    });
    let placed = all.filter_map(|one| Some((places_of(text, one.word).last()?.start, one)));
    let (at, last) = placed.max_by_key(|(at, _)| *at)?;
    (!denies_before(text, at, DENIED_WITHIN)).then_some(last)
}

/// An order of two sides over words that name none.
pub(super) fn unsaid_order(claim: &LintedClaim<'_>) -> Option<String> {
    let sides = sides_of(claim).filter(|_| claim.number.is_none())?;
    let has_sign =
        claim.quote.contains(['<', '>', '≺', '≻', '≪', '≫', '≤', '≥', '✓', '✗', '✅', '❌']);
    let is_said = lexicon().has_any(lexicon().words("direction.orders"), claim.lower);
    if has_sign || is_said || claim.head.is_some() || !claim.items.is_empty() {
        return None;
    }
    // Only results have a side that is ahead.
    quantity_of(sides.first).and_then(|one| one.higher_is_better)?;
    Some("the relation compares two sides, but no word in the text does".to_owned())
}

/// The two sides of a difference, a percentage, a ratio, or of one relation.
fn sides_of<'e>(claim: &LintedClaim<'e>) -> Option<Sides<'e>> {
    let [tree] = claim.trees else { return None };
    if let ExpressionKind::Relation(first, rest) = &tree.kind {
        let [(operator, second)] = rest.as_slice() else { return None };
        let first_is_lower = match operator {
            RelationOperator::Less | RelationOperator::LessOrEqual => true,
            RelationOperator::Greater | RelationOperator::GreaterOrEqual => false,
            _ => return None,
        };
        return Some(Sides { first, second, first_is_lower, has_subject: false });
    }
    let [number] = claim.given else { return None };
    let point = number.point();
    let (first, second, first_is_lower, has_subject) = match &unscaled(tree).kind {
        ExpressionKind::Arithmetic(ArithmeticOperator::Subtract, first, second) => {
            (&**first, &**second, point.is_negative(), false)
        }
        ExpressionKind::Arithmetic(ArithmeticOperator::Divide, first, second) => {
            (&**first, &**second, point < BigRational::from_integer(1.into()), false)
        }
        ExpressionKind::Call(name, arguments) => {
            let [first, second] = arguments.as_slice() else { return None };
            let first_is_lower = match name.as_str() {
                "percent_below" => !point.is_negative(),
                "percent_above" => point.is_negative(),
                _ => return None,
            };
            (&first.value, &second.value, first_is_lower, true)
        }
        _ => return None,
    };
    Some(Sides { first, second, first_is_lower, has_subject })
}

/// An expression without a number that multiplies it: a difference in points.
pub(super) fn unscaled(tree: &Expression) -> &Expression {
    match &tree.kind {
        ExpressionKind::Arithmetic(ArithmeticOperator::Multiply, a, b) if b.number().is_some() => a,
        ExpressionKind::Arithmetic(ArithmeticOperator::Multiply, a, b) if a.number().is_some() => b,
        _ => tree,
    }
}

/// Two numbers of one quantity, of two arms, in the other order than the words put them.
pub(super) fn pair(claim: &LintedClaim<'_>) -> Option<String> {
    let number = claim.number?;
    let [(a, first), (b, second), rest @ ..] = claim.bound else { return None };
    if *a != number || b.range_end.is_some() {
        return None;
    }
    let (one, other) = (claim.scope.noun_of(first)?, claim.scope.noun_of(second)?);
    if head(&one) != head(&other) || one.arm == other.arm {
        return None;
    }
    let first_is_lower = a.number()?.in_ones() < b.number()?.in_ones();
    let sides = Sides { first, second, first_is_lower, has_subject: false };
    // What is said behind a third number is said of that one.
    let end = rest.first().map_or(claim.lower.len(), |(third, _)| third.span.start);
    let said = said(claim, None, &LISTS).filter(|said| said.place.end <= end)?;
    let is_spread = one.statistics.iter().any(|name| name.starts_with("standard"));
    contradicted(claim, &sides, &said, is_spread)
}

/// Two numbers of different quantities in the other order than the words say: "the gap exceeds the limit (0.0152 against
/// 0.0258)".
pub(super) fn numbers(claim: &LintedClaim<'_>) -> Option<String> {
    let number = claim.number?;
    let [(a, first), (b, second)] = claim.bound else { return None };
    let between = claim.lower.get(a.span.end..b.span.start)?.trim();
    let is_pair = *a == number && lexicon().is_in("direction.against", between);
    let nouns = claim.scope.noun_of(first).zip(claim.scope.noun_of(second));
    // Two values of one quantity are compared by their arms.
    if !is_pair || nouns.is_some_and(|(one, other)| head(&one) == head(&other)) {
        return None;
    }
    let opening = claim.lower.get(..a.span.start)?;
    let said = last_move(opening, ["direction.exceeds"], ["direction.stays_below"])?;
    let is_above = a.number()?.in_ones() >= b.number()?.in_ones();
    said.contradicted(is_above, "the first number is above", "the first number is below")
}

/// A word of direction where it stands.
struct Said {
    list: &'static str,
    word: &'static str,
    place: Range<usize>,
}

/// The lint of sides that the words put the other way round; of spreads none is better.
fn contradicted(
    claim: &LintedClaim<'_>,
    sides: &Sides<'_>,
    said: &Said,
    is_spread: bool,
) -> Option<String> {
    if denies_before(claim.lower, said.place.start, DENIED_WITHIN) {
        return None;
    }
    let quantity = quantity_of(sides.first).or_else(|| quantity_of(sides.second));
    let higher_is_better = quantity.and_then(|one| one.higher_is_better).filter(|_| !is_spread);
    let says_lower = match (said.list, higher_is_better) {
        ("direction.up" | "direction.grows", _) => false,
        ("direction.down" | "direction.shrinks", _) => true,
        ("direction.better", Some(higher)) => !higher,
        ("direction.worse", Some(higher)) => higher,
        _ => return None,
    };
    let subject_is_first =
        subject_is_first(claim, sides, &said.place)? != is_passive(claim, sides, &said.place);
    let subject_is_lower = sides.first_is_lower == subject_is_first;
    if says_lower == subject_is_lower {
        return None;
    }
    let subject = if subject_is_first { sides.first } else { sides.second };
    let side = if subject_is_lower { "lower" } else { "higher" };
    Some(format!("the text contains \"{}\", but `{subject}` is {side}", said.word))
}

/// The word of direction of a claim: the one nearest to a number, the first if there is none.
fn said(
    claim: &LintedClaim<'_>,
    number: Option<&QuoteItem>,
    lists: &[&'static str],
) -> Option<Said> {
    let places = lists.iter().flat_map(|list| {
        lexicon().words(list).iter().flat_map(move |word| {
            let places = places_of(claim.lower, word);
            places.map(move |place| Said { list, word, place })
        })
    });
    // "The larger mixture" says which arm it is.
    let is_adjective = |said: &Said| {
        let (before, behind) = (&claim.lower[..said.place.start], &claim.lower[said.place.end..]);
        let article = before.split_whitespace().next_back().unwrap_or_default();
        let mut behind = plain_words(behind);
        let noun = behind.next().unwrap_or_default();
        // "Lower is better" says it of the metric.
        let is_of_metric = noun == "is" && behind.next() == Some("better")
            || ["lower is", "higher is"].iter().any(|words| before.trim_end().ends_with(words));
        is_of_metric
            || lexicon().is_in("arm.articles", article) && lexicon().is_in("arm.nouns", noun)
    };
    let places = places.filter(|said| !is_adjective(said));
    let near = places.filter_map(|said| Some((distance(claim, number, &said.place)?, said)));
    let nearest = near.min_by_key(|(distance, said)| (*distance, usize::MAX - said.word.len()));
    nearest.map(|(_, said)| said)
}

/// How far a word is from a number, or from the start of a relation; none if it is of another number.
fn distance(
    claim: &LintedClaim<'_>,
    number: Option<&QuoteItem>,
    word: &Range<usize>,
) -> Option<usize> {
    let Some(number) = number.map(|item| &item.span) else { return Some(word.start) };
    let distance = if word.start >= number.end {
        word.start - number.end
    } else if word.end <= number.start {
        number.start - word.end + NEAR / 4
    } else {
        return None;
    };
    let between = number.end.min(word.end)..number.start.max(word.start);
    let others = claim.items.iter().filter(|item| item.span != *number);
    let is_parted = others.map(|item| item.span.start).any(|at| between.contains(&at));
    (distance <= NEAR && !is_parted).then_some(distance)
}

/// Whether the words make the first side the subject; none if they name neither.
fn subject_is_first(
    claim: &LintedClaim<'_>,
    sides: &Sides<'_>,
    word: &Range<usize>,
) -> Option<bool> {
    let arms = |side: &Expression| claim.scope.arms.of([side]);
    let (first, second) = (arms(sides.first), arms(sides.second));
    let both = first.first().zip(second.first()).filter(|(a, b)| a.label != b.label);
    let Some((a, b)) = both else { return sides.has_subject.then_some(true) };
    let before = claim.lower.get(..word.start)?;
    let behind = claim.lower.get(word.end..)?;
    let places = |text: &str| {
        let place = |arm: &ClaimArm, other: &ClaimArm| {
            claim.mention(arm, &[other], text).map(|place| place.start)
        };
        (place(a, b), place(b, a))
    };
    let clause = behind.split([',', ';', '.', ':']).next().unwrap_or_default();
    match (places(clause), places(before)) {
        // What follows the word directly is the object: "below dense", "beats the baseline".
        ((None, Some(_)), _) => Some(true),
        ((Some(_), None), _) => Some(false),
        ((Some(one), Some(other)), (None, None)) => Some(one < other),
        _ if sides.has_subject => Some(true),
        (_, (Some(_), None)) => Some(true),
        (_, (None, Some(_))) => Some(false),
        (_, (Some(one), Some(other))) => {
            // "From dense to the mixture it improves": what it comes to is the subject.
            let first = before[..one.min(other)].trim_end_matches(|c: char| !c.is_alphanumeric());
            Some((one < other) != first.ends_with("from"))
        }
        (_, (None, None)) => None,
    }
}

/// Whether a word of direction is passive: "outperformed by the dense model", and not "improved by 3% over dense".
fn is_passive(claim: &LintedClaim<'_>, sides: &Sides<'_>, word: &Range<usize>) -> bool {
    let starts = claim.items.iter().map(|item| item.span.start);
    let end = starts.filter(|start| *start >= word.end).min().unwrap_or(claim.lower.len());
    let behind = claim.lower.get(word.end..end).unwrap_or_default();
    let Some(agent) = behind.trim_start().strip_prefix("by ") else { return false };
    let agent = agent.split([',', ';', '.', ':', '(']).next();
    let arms = claim.scope.arms.of([sides.first, sides.second]);
    agent.is_some_and(|agent| arms.iter().any(|arm| claim.mention(arm, &[], agent).is_some()))
}
