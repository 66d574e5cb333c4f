//! Which candidate a number is bound to: those that give its digits, ranked by the words around it, and judged.

use std::collections::BTreeSet;
use std::ops::Range;

use repro_claim::quote::{Hedge, ItemKind, QuoteItem};
use repro_exact::decimal::{Interval, Printed, about_tolerance, nearest_f64};
use repro_judge::texts::TextsAtHand;
use repro_receipt::source::Error;
use repro_report::outcome::Verdict;

use crate::candidates::DraftCandidate;
use crate::evidence::{DraftEvidence, NamedArm, TRIED, head};
use crate::judged::TriedPost;
use crate::text::{DraftSentence, is_number};
use crate::written::{quoted, sentence_statement};

/// So many candidates of a number are judged.
const JUDGED: usize = 8;
/// What is within so much of the best is as likely.
const ALIKE: f64 = 0.75;
/// A candidate without any word in the text needs so many digits to be no accident.
const TELLING_DIGITS: usize = 4;
/// How near a value must be to be told as the nearest.
const NEAR: f64 = 0.1;

/// What a number is bound to.
#[derive(Debug, Clone, Default)]
pub struct DraftBinding {
    /// The expression; none where nothing gives its digits, or nothing that the text may mean.
    pub expression: Option<String>,
    /// Others that are as likely and mean something else.
    pub others: Vec<String>,
    /// Where it is open: what comes nearest among what the words may mean.
    pub nearest: Option<(String, f64)>,
}

/// The words around a number, as far as they tell what it is.
struct Around {
    /// Those of the sentence, or of the head and the row of a cell.
    words: Vec<String>,
    /// Those next to it.
    near: Vec<String>,
    /// The arms that they name.
    arms: Vec<usize>,
    steps: Vec<u64>,
    /// The quantities that the next of them name, else all of them, and what the next say that they are of.
    quantities: Vec<usize>,
    of: Option<LoggedPart>,
    is_percent: bool,
}

/// What a printed number can be, in units of one.
pub fn range(printed: &Printed, hedge: Option<Hedge>) -> [f64; 2] {
    let whole: Interval = match hedge == Some(Hedge::About) || printed.approximate() {
        true => printed.about(&about_tolerance()),
        false => printed.interval(),
    };
    let plain = whole.scaled(&printed.unit().per_one().recip());
    let ends = [nearest_f64(plain.low()), nearest_f64(plain.high())];
    let slack = 1e-12 * ends.iter().fold(0.0_f64, |most, end| most.max(end.abs()));
    [ends[0] - slack, ends[1] + slack]
}

/// The number of an item, whether it stands behind ±.
pub fn printed(item: &QuoteItem) -> Option<(&Printed, bool)> {
    match &item.kind {
        ItemKind::Number(printed) => Some((printed, false)),
        ItemKind::Spread(printed) => Some((printed, true)),
        ItemKind::Date(_) => None,
    }
}

/// The lowercase words of a text.
pub fn words_of_text(text: &str) -> Vec<String> {
    let is_word = |c: char| c.is_alphanumeric() || c == '%' || c == '±';
    let parts = text.split(|c: char| !is_word(c)).filter(|part| !part.is_empty());
    let mut words: Vec<String> = parts.map(str::to_lowercase).collect();
    if text.contains('%') {
        words.push("%".to_owned());
    }
    words
}

/// A quantity of which a number is one alone, by its words.
struct Quantity {
    words: &'static [&'static str],
    lower_is_better: bool,
}

const fn falling(words: &'static [&'static str]) -> Quantity {
    Quantity { words, lower_is_better: true }
}

const fn rising(words: &'static [&'static str]) -> Quantity {
    Quantity { words, lower_is_better: false }
}

const QUANTITIES: &[Quantity] = &[
    falling(&["loss", "losses"]),
    rising(&["accuracy", "acc", "accuracies"]),
    falling(&["perplexity", "ppl"]),
    falling(&["bpb"]),
    rising(&["reward", "return"]),
    falling(&["wer", "cer"]),
    rising(&["f1"]),
    rising(&["bleu", "rouge"]),
];

/// Words by which the arm that is named first is the better one, and words that turn them around.
const WINS: &[&str] =
    &["wins", "won", "beats", "beat", "outperforms", "outperformed", "better", "ahead"];
const TURNS: &[&str] = &["not", "never", "no", "loses", "lost", "worse", "behind"];

/// The quantities that words name.
fn quantities(words: &[String]) -> Vec<usize> {
    (0..QUANTITIES.len()).filter(|at| has_one(QUANTITIES[*at].words, words)).collect()
}

fn has_one(wanted: &[&str], words: &[String]) -> bool {
    words.iter().any(|word| wanted.contains(&word.as_str()))
}

/// What a number is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LoggedPart {
    Training,
    Evaluation,
}

impl LoggedPart {
    /// The one that words name; none where they name both.
    fn of(words: &[String]) -> Option<Self> {
        const TRAINING: &[&str] = &["training", "train"];
        const EVALUATION: &[&str] = &["validation", "val", "eval", "evaluation", "test", "dev"];
        match (has_one(TRAINING, words), has_one(EVALUATION, words)) {
            (true, false) => Some(Self::Training),
            (false, true) => Some(Self::Evaluation),
            _ => None,
        }
    }
}

impl Around {
    fn of(text: &str, near: &str, arms: &[NamedArm], is_percent: bool) -> Self {
        let words = words_of_text(text);
        let steps = words.iter().filter_map(|word| word.parse().ok()).collect();
        let near = words_of_text(near);
        let arms = named(&words, arms);
        let named = [quantities(&near), quantities(&words)].into_iter().find(|all| !all.is_empty());
        let (quantities, of) = (named.unwrap_or_default(), LoggedPart::of(&near));
        Self { near, words, arms, steps, quantities, of, is_percent }
    }

    /// How well a candidate fits: what the words say, less what it takes.
    fn score(&self, candidate: &DraftCandidate) -> f64 {
        let mut score = -candidate.cost;
        let said = |words: &[String], word: &String| words.iter().any(|known| known == word);
        let mut hits: Vec<&String> =
            candidate.words.iter().filter(|word| said(&self.words, word)).collect();
        hits.sort_unstable();
        hits.dedup();
        let close = hits.iter().filter(|word| said(&self.near, word)).count();
        score += (hits.len() as f64).min(4.0) + 1.2 * (close as f64).min(3.0);
        let named = |arm: &usize| self.arms.contains(arm);
        score += match (self.arms.is_empty(), candidate.arms.is_empty()) {
            (true, true) => 1.0,
            (false, true) => 0.0,
            (true, false) => -0.5,
            (false, false) if candidate.arms.iter().all(named) => {
                // The one that is named first is compared with the other.
                let in_order = candidate.arms.windows(2).all(|pair| {
                    let place = |arm: &usize| self.arms.iter().position(|known| known == arm);
                    pair.first().and_then(place) <= pair.last().and_then(place)
                });
                2.0 + if in_order { 0.2 } else { 0.0 }
            }
            (false, false) if candidate.arms.iter().any(named) => 0.0,
            (false, false) => -2.5,
        };
        if let Some(step) = candidate.step {
            score += if self.steps.contains(&step) { 3.0 } else { -2.0 };
        }
        if self.is_percent && candidate.expression.contains("percent_") {
            score += 1.0;
        }
        score
    }

    /// Whether the words name the statistic that a candidate is, where it must be named.
    fn names(&self, candidate: &DraftCandidate) -> bool {
        let is_said = |word: &&str| self.words.iter().any(|known| known == word);
        candidate.needs.is_empty() || candidate.needs.iter().any(is_said)
    }

    /// Whether the words name another arm, or another quantity, than a candidate is about: its digits are an accident then.
    fn contradicts(&self, candidate: &DraftCandidate) -> bool {
        let is_other = |arms: &[usize]| {
            !arms.is_empty()
                && !candidate.arms.is_empty()
                && candidate.arms.iter().all(|arm| !arms.contains(arm))
        };
        is_other(&self.arms)
            || self.names_another_quantity(candidate)
            || self.names_another_winner(candidate)
    }

    /// Whether the words say that one of two arms is the better one, and a candidate's sign that the other is.
    fn names_another_winner(&self, candidate: &DraftCandidate) -> bool {
        let ([winner, loser], [first, second]) = (&self.arms[..], &candidate.arms[..]) else {
            return false;
        };
        let is_pair = [first, second].iter().all(|arm| [winner, loser].contains(arm));
        let first_is_higher = match &candidate.expression {
            expression if expression.starts_with("percent_below") => false,
            expression if expression.starts_with("percent_above") => true,
            expression if expression.contains(" - ") => true,
            _ => return false,
        } == (candidate.number.high > 0.0);
        let [quantity] = quantities(&words_of_text(&candidate.expression))[..] else {
            return false;
        };
        let better = match first_is_higher == QUANTITIES[quantity].lower_is_better {
            true => second,
            false => first,
        };
        is_pair && has_one(WINS, &self.words) && !has_one(TURNS, &self.words) && better != winner
    }

    fn names_another_quantity(&self, candidate: &DraftCandidate) -> bool {
        let words = words_of_text(&candidate.expression);
        let own = quantities(&words);
        let is_other = !self.quantities.is_empty()
            && !own.is_empty()
            && own.iter().all(|quantity| !self.quantities.contains(quantity));
        // A loss of training is none of an evaluation.
        let of = LoggedPart::of(&words);
        is_other || self.of.is_some() && of.is_some() && self.of != of
    }

    /// Whether any word speaks for a candidate.
    fn speaks_for(&self, candidate: &DraftCandidate) -> bool {
        let is_step = candidate.step.is_some_and(|step| self.steps.contains(&step));
        is_step || candidate.words.iter().any(|word| self.words.contains(word))
    }
}

/// The arms that words name, in their order.
fn named(words: &[String], arms: &[NamedArm]) -> Vec<usize> {
    let place = |arm: &NamedArm| {
        let own: Vec<_> = arm.words.iter().filter(|word| word.as_str() != "runs").collect();
        let found: Option<Vec<usize>> = own
            .iter()
            .map(|word| words.iter().position(|known| is_same_word(known, word)))
            .collect();
        found.filter(|places| !places.is_empty()).and_then(|places| places.into_iter().max())
    };
    let mut found: Vec<(usize, usize)> =
        arms.iter().enumerate().filter_map(|(at, arm)| Some((place(arm)?, at))).collect();
    found.sort_unstable();
    found.into_iter().map(|(_, at)| at).collect()
}

fn is_same_word(text: &str, name: &str) -> bool {
    const SAME: &[(&str, &str)] = &[("moe", "mixture"), ("moe", "sparse"), ("baseline", "base")];
    text == name || SAME.iter().any(|(a, b)| (*a, *b) == (name, text) || (*a, *b) == (text, name))
}

/// The candidates that give the digits of a number, the likeliest first, each with its score.
fn fitting<'c>(
    printed: &Printed,
    hedge: Option<Hedge>,
    is_spread: bool,
    around: &Around,
    candidates: &'c [DraftCandidate],
) -> Vec<(f64, &'c DraftCandidate)> {
    let [low, high] = range(printed, hedge);
    let is_telling = printed.significant_digits() >= TELLING_DIGITS;
    let fits = |candidate: &&DraftCandidate| {
        let number = candidate.number;
        let sign = low < 0.0 && number.high > 0.0;
        number.low <= high && low <= number.high && !sign && candidate.is_spread == is_spread
    };
    let means =
        |candidate: &&DraftCandidate| is_telling || is_spread || around.speaks_for(candidate);
    let mut all: Vec<_> = candidates
        .iter()
        .filter(fits)
        .filter(means)
        .filter(|candidate| around.names(candidate) && !around.contradicts(candidate))
        .map(|candidate| (around.score(candidate), candidate))
        .collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.expression.cmp(&b.1.expression)));
    all
}

/// What comes nearest among what the words plainly mean.
fn nearest(
    printed: &Printed,
    around: &Around,
    candidates: &[DraftCandidate],
) -> Option<(String, f64)> {
    let [low, high] = range(printed, None);
    let middle = 0.5 * (low + high);
    let off = |candidate: &DraftCandidate| {
        let value = 0.5 * (candidate.number.low + candidate.number.high);
        ((value - middle) / middle.abs().max(f64::MIN_POSITIVE)).abs()
    };
    let likely = candidates.iter().filter(|one| {
        around.names(one) && around.speaks_for(one) && around.score(one) > 1.0 && off(one) < NEAR
    });
    let best = likely.min_by(|a, b| off(a).total_cmp(&off(b)))?;
    Some((best.expression.clone(), 0.5 * (best.number.low + best.number.high)))
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
    threads: usize,
) -> Result<Vec<Vec<DraftBinding>>, Vec<Error>> {
    let mut sought = Vec::new();
    for (at, sentence) in sentences.iter().enumerate() {
        let whole = text.get(sentence.span.clone()).unwrap_or_default();
        for (item, number) in sentence.items.iter().enumerate() {
            let Some((printed, is_spread)) = printed(number) else { continue };
            let near = near(text, number, sentence);
            let is_percent = printed.unit() == repro_exact::decimal::Unit::Percent;
            let around = Around::of(whole, near, &evidence.arms, is_percent);
            let fitting = fitting(printed, number.hedge, is_spread, &around, candidates);
            let nearest = nearest(printed, &around, candidates);
            sought.push(Sought { sentence: at, item, fitting, nearest });
        }
    }
    let verified = judged(text, sentences, &sought, evidence, threads)?;
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
    threads: usize,
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
            places.extend([(number, rank); 2]);
            statements.push(sentence_statement("p", &whole, is));
            statements.push(sentence_statement("p", &clause, [own]));
        }
    }
    let (head, texts) = (head(&evidence.arms), TextsAtHand::new());
    let library = evidence.library();
    let trial = TriedPost { id: TRIED, head: &head, library, texts: &texts, threads };
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
        if !LEADING_ON.contains(&last.to_lowercase().as_str()) {
            break;
        }
        kept = before.trim_end_matches(is_mark);
    }
    start..start + kept.len()
}

/// Words that a quote does not end with.
const LEADING_ON: &[&str] = &[
    "a", "after", "against", "an", "and", "at", "before", "but", "by", "for", "from", "in", "is",
    "of", "on", "or", "than", "the", "to", "versus", "vs", "was", "were", "with",
];
