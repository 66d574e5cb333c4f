//! Which candidate a number is bound to: those that give its digits, ranked by the words around it, and judged.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::reading::says_about;
use crate::texts::TextsAtHand;
use repro_claim::quote::QuoteItem;
use repro_core::decimal::Printed;
use repro_core::source::Error;
use repro_report::outcome::Verdict;

use crate::draft::around::{Around, SentenceAround, words_of_text};
use crate::draft::candidates::DraftCandidate;
use crate::draft::evidence::{DraftEvidence, TRIED, head};
use crate::draft::judged::TriedPost;
use crate::draft::mentions::{NumberOwner, ReadSentence, spoken_cost};
use crate::draft::nouns::{NamedStep, is_step};
use crate::draft::numbers::{printed, range};
use crate::draft::quantities::{is_in, is_won_by_the_higher, quantities};
use crate::draft::text::{DraftSentence, is_number};
use crate::draft::value_index::ValueIndex;
use crate::draft::written::{quoted, sentence_statement};

/// So many candidates of a number are judged.
const JUDGED: usize = 8;
/// A sentence of more numbers is not judged as a whole for each of them.
const WHOLE: usize = 24;
/// Candidates within this fraction of the best score are equally likely.
const ALIKE: f64 = 0.75;
/// A candidate without any word in the text needs so many digits to be no accident.
const TELLING_DIGITS: usize = 4;

/// The binding of a number.
#[derive(Debug, Clone, Default)]
pub struct DraftBinding {
    /// The expression; none if nothing gives its digits, or nothing that the text may mean.
    pub expression: Option<String>,
    /// Others that are as likely and mean something else.
    pub others: Vec<String>,
    /// Where it is open: what comes nearest among what the words may mean.
    pub nearest: Option<(String, f64)>,
}

/// The candidates that give the digits of a number, the likeliest first, each with its score.
fn fitting<'c>(
    printed: &Printed,
    is_about: bool,
    is_spread: bool,
    around: &Around<'_>,
    candidates: &ValueIndex<'c>,
) -> Vec<(f64, &'c DraftCandidate)> {
    let [low, high] = range(printed, is_about);
    let is_telling = printed.significant_digits() >= TELLING_DIGITS;
    let fits = |candidate: &&DraftCandidate| {
        let sign = low < 0.0 && candidate.number.high > 0.0;
        !sign && candidate.is_spread == is_spread
    };
    let means =
        |candidate: &&DraftCandidate| is_telling || is_spread || around.speaks_for(candidate);
    let mut all: Vec<_> = candidates
        .within([low, high])
        .filter(fits)
        .filter(means)
        .filter(|candidate| around.names(candidate) && !around.contradicts(candidate))
        .map(|candidate| (around.score(candidate), candidate))
        .collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.expression.cmp(&b.1.expression)));
    all
}

/// The nearest value among the candidates that the words clearly mean.
fn nearest(
    printed: &Printed,
    around: &Around<'_>,
    candidates: &ValueIndex<'_>,
) -> Option<(String, f64)> {
    let [low, high] = range(printed, false);
    let (value, best) = candidates.near(0.5 * (low + high)).find(|(_, one)| {
        around.names(one)
            && around.speaks_for(one)
            && around.score(one) > 1.0
            && !around.contradicts(one)
    })?;
    Some((best.expression.clone(), value))
}

/// A number that is to be bound, with what may stand behind it.
struct Sought<'c> {
    sentence: usize,
    item: usize,
    fitting: Vec<(f64, &'c DraftCandidate)>,
    nearest: Option<(String, f64)>,
}

/// Binds the numbers of all sentences: one list for each, with a binding for each of its items.
pub fn bind(
    text: &str,
    sentences: &[DraftSentence],
    candidates: &[DraftCandidate],
    evidence: &DraftEvidence,
    post: &TriedPost<'_>,
) -> Result<Vec<Vec<DraftBinding>>, Vec<Error>> {
    let mut sought = Vec::new();
    let by_value = ValueIndex::of(candidates, post.work);
    for (at, sentence) in sentences.iter().enumerate() {
        post.work.takes(spoken_cost(sentence.span.len(), &evidence.arms));
        if post.work.is_spent() {
            break;
        }
        sought.extend(sought_in(text, at, sentence, &by_value, evidence));
    }
    let verified = judged(text, sentences, &sought, evidence, post)?;
    let mut bindings: Vec<Vec<DraftBinding>> =
        sentences.iter().map(|one| vec![DraftBinding::default(); one.items.len()]).collect();
    for (number, one) in sought.iter().enumerate() {
        let holds = |rank: &usize| verified.contains(&(number, *rank));
        let held: Vec<usize> = (0..one.fitting.len().min(JUDGED)).filter(holds).collect();
        let binding = bindings.get_mut(one.sentence).and_then(|all| all.get_mut(one.item));
        if let Some(binding) = binding {
            *binding = chosen(one, &held);
        }
    }
    Ok(bindings)
}

/// The numbers of a sentence with what may stand behind them.
fn sought_in<'c>(
    text: &str,
    at: usize,
    sentence: &DraftSentence,
    candidates: &ValueIndex<'c>,
    evidence: &DraftEvidence,
) -> Vec<Sought<'c>> {
    let read = ReadSentence::of(text, sentence, &evidence.arms);
    let numbers: Vec<_> =
        sentence.items.iter().enumerate().filter(|(_, one)| is_number(one)).collect();
    let is_named = |number: &usize| is_step(&read, *number);
    let steps: Vec<NamedStep> = (0..numbers.len())
        .filter(is_named)
        .filter_map(|number| {
            let (_, item) = numbers.get(number)?;
            Some(NamedStep {
                item: number,
                range: range(printed(item)?.0, says_about(text, &item.span)),
            })
        })
        .collect();
    let words = words_of_text(read.text);
    let whole =
        SentenceAround { read: &read, words: &words, steps: &steps, all: evidence.arms.len() };
    let mut refuted = moved_the_other_way(&read, &numbers);
    refuted.extend(won_by_the_other(&read, &words, &numbers));
    let mut sought: Vec<Sought<'c>> = Vec::new();
    for (number, (item, one)) in numbers.iter().enumerate() {
        let Some((printed, is_spread)) = printed(one) else { continue };
        let is_percent = printed.unit() == repro_core::decimal::Unit::Percent;
        let around = whole.number(number, near(text, one, sentence), is_percent);
        let mut fitting =
            fitting(printed, says_about(text, &one.span), is_spread, &around, candidates);
        if is_spread && let Some(mean) = sought.get(read.mean_of(number)) {
            // A spread is of the runs and of the step of its mean.
            let is_of_mean = |one: &DraftCandidate| {
                mean.fitting.iter().take(JUDGED).any(|(_, mean)| mean.field() == one.field())
            };
            fitting.retain(|(_, one)| is_of_mean(one));
        }
        if refuted.contains(&number) {
            fitting.clear();
        }
        let nearest = nearest(printed, &around, candidates);
        sought.push(Sought { sentence: at, item: *item, fitting, nearest });
    }
    sought
}

/// The midpoint of a number.
fn middle((_, item): &(usize, &QuoteItem)) -> Option<f64> {
    let [low, high] = range(printed(item)?.0, false);
    Some(0.5 * (low + high))
}

/// The numbers of "A beats B: 3.3 against 3.2" of a loss.
fn won_by_the_other(
    read: &ReadSentence<'_>,
    words: &[String],
    numbers: &[(usize, &QuoteItem)],
) -> Vec<usize> {
    let means: Vec<usize> = (0..numbers.len()).filter(|at| read.mean_of(*at) == *at).collect();
    let ([first, second], Some(higher_wins)) =
        (means.as_slice(), is_won_by_the_higher(&quantities(words), words))
    else {
        return Vec::new();
    };
    let value = |at: usize| numbers.get(at).and_then(middle);
    let (Some([subject, object]), Some(a), Some(b)) =
        (read.compared(*first), value(*first), value(*second))
    else {
        return Vec::new();
    };
    let subject_is_higher = match (read.owner(*first), read.owner(*second)) {
        (NumberOwner::Arm(one), NumberOwner::Arm(other)) if [one, other] == [subject, object] => {
            a > b
        }
        (NumberOwner::Arm(one), NumberOwner::Arm(other)) if [other, one] == [subject, object] => {
            b > a
        }
        _ => return Vec::new(),
    };
    if subject_is_higher == higher_wins { Vec::new() } else { means }
}

/// The numbers of "rises from 5.4 to 3.3": one of them is not what the words say.
fn moved_the_other_way(read: &ReadSentence<'_>, numbers: &[(usize, &QuoteItem)]) -> Vec<usize> {
    let value = |number: usize| numbers.get(number).and_then(middle);
    let is_before = |number: usize, wanted: &str| {
        let start = read.items.get(number).map(|(span, _)| span.start);
        start.and_then(|start| read.word_before(start)) == Some(wanted)
    };
    let means: Vec<usize> = (0..numbers.len()).filter(|at| read.mean_of(*at) == *at).collect();
    let mut refuted = Vec::new();
    for pair in means.windows(2) {
        let [from, to] = *pair else { continue };
        let (Some(start), Some(end)) = (value(from), value(to)) else { continue };
        let before = read.items.get(from).map_or(0, |(span, _)| span.start);
        let mut words = read.words.iter().rev().filter(|word| word.span.end <= before);
        let said = words.find_map(|word| {
            let word = word.text.as_str();
            if is_in("up", word) { Some(true) } else { is_in("down", word).then_some(false) }
        });
        let is_other = said.is_some_and(|rises| rises != (end > start));
        if is_before(from, "from") && is_to(read, from, to) && is_other {
            refuted.extend([from, to]);
        }
    }
    refuted
}

/// Whether two numbers are the ends of a way: "from 5.4 with Muon to 3.3".
fn is_to(read: &ReadSentence<'_>, from: usize, to: usize) -> bool {
    let end = read.items.get(from).map_or(0, |(span, _)| span.end);
    let start = read.items.get(to).map_or(0, |(span, _)| span.start);
    read.word_before(start) == Some("to") && !read.gap(end, start).contains([';', '.'])
}

/// The best that holds, with those that are as likely and say something else.
fn chosen(sought: &Sought<'_>, held: &[usize]) -> DraftBinding {
    let of = |rank: &usize| sought.fitting.get(*rank).copied();
    let Some((score, best)) = held.first().and_then(of) else {
        return DraftBinding { nearest: sought.nearest.clone(), ..DraftBinding::default() };
    };
    let alike: Vec<&DraftCandidate> = held
        .iter()
        .filter_map(of)
        .filter(|(other, _)| score - other < ALIKE)
        .map(|(_, one)| one)
        .collect();
    // What is the same in all arms is a fact of all of them.
    let of_all = |one: &&&DraftCandidate| one.arms.is_empty() && one.says_the_same(best);
    let best = alike.iter().find(of_all).copied().unwrap_or(best);
    let others =
        alike.iter().filter(|one| one.expression != best.expression && !one.says_the_same(best));
    DraftBinding {
        expression: Some(best.expression.clone()),
        others: others.map(|one| one.expression.clone()).collect(),
        nearest: None,
    }
}

/// The words next to a number.
fn near<'t>(text: &'t str, item: &QuoteItem, sentence: &DraftSentence) -> &'t str {
    /// So many bytes before and behind.
    const REACH: usize = 32;
    let boundary = |at: usize| (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let start = boundary(item.span.start.saturating_sub(REACH).max(sentence.span.start));
    let end = boundary((item.span.end + REACH).min(sentence.span.end));
    text.get(start..end).unwrap_or_default()
}

/// Which of the likeliest candidates hold, in their sentence with all other numbers left open or in their own clause.
fn judged(
    text: &str,
    sentences: &[DraftSentence],
    sought: &[Sought<'_>],
    evidence: &DraftEvidence,
    post: &TriedPost<'_>,
) -> Result<BTreeSet<(usize, usize)>, Vec<Error>> {
    let (mut places, mut statements) = (Vec::new(), Vec::new());
    for (number, one) in sought.iter().enumerate() {
        let Some(sentence) = sentences.get(one.sentence) else { continue };
        let whole = quoted(text, &sentence.span);
        let clause = quoted(text, &clause(text, sentence, one.item));
        for (rank, (_, candidate)) in one.fitting.iter().take(JUDGED).enumerate() {
            let own = candidate.expression.as_str();
            let is = sentence.items.iter().enumerate().filter(|(_, item)| is_number(item));
            let is = is.map(|(at, _)| if at == one.item { own } else { "_ another number" });
            if sentence.items.len() <= WHOLE {
                places.push((number, rank));
                statements.push(sentence_statement("p", &whole, is));
            }
            places.push((number, rank));
            statements.push(sentence_statement("p", &clause, [own]));
        }
    }
    let (head, texts) = (head(&evidence.arms), TextsAtHand::new());
    let library = evidence.library();
    let trial = TriedPost { id: TRIED, head: &head, library, texts: &texts, ..*post };
    let verdicts = trial.verdicts(&statements)?;
    let held = std::iter::zip(places, verdicts);
    let held = held.filter(|(_, verdicts)| verdicts.contains(&Verdict::Verified));
    Ok(held.map(|(place, _)| place).collect())
}

/// The words around one number of a sentence, up to its neighbours.
pub fn clause(text: &str, sentence: &DraftSentence, item: usize) -> Range<usize> {
    let end_before =
        item.checked_sub(1).and_then(|at| sentence.items.get(at)).map(|item| item.span.end);
    let start = end_before.unwrap_or(sentence.span.start);
    let end = sentence.items.get(item + 1).map_or(sentence.span.end, |next| next.span.start);
    trimmed(text, start..end)
}

/// A stretch without the marks at its ends that belong to no word.
pub fn trimmed(text: &str, span: Range<usize>) -> Range<usize> {
    let part = text.get(span.clone()).unwrap_or_default();
    let is_mark = |c: char| c.is_whitespace() || ",;:±–—*_|>".contains(c);
    let bare = part.trim_start_matches(|c: char| is_mark(c) || ".)".contains(c));
    let start = span.end - bare.len();
    let mut kept = bare.trim_end_matches(|c: char| is_mark(c) || "(.".contains(c));
    // Words that only lead on to what comes behind.
    while let Some((before, last)) = kept.rsplit_once(char::is_whitespace) {
        if !is_in("leading_on", &last.to_lowercase()) {
            break;
        }
        kept = before.trim_end_matches(is_mark);
    }
    start..start + kept.len()
}
