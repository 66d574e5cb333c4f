//! The words around a number, and what they say that it is.

use crate::draft::candidates::DraftCandidate;
use crate::draft::mentions::{NumberOwner, ReadSentence, plain};
use crate::draft::nouns::{
    AskedWords, BesideWord, NamedStep, beside, is_step, is_untold_rate, step_of,
};
use crate::draft::quantities::{
    LoggedPart, has_one, is_won_by_the_higher, quantities, words_of_list,
};
use crate::draft::settings::is_of_a_setting;

/// The words around a number, as far as they tell what it is.
pub struct Around<'s> {
    /// Those of the sentence,
    words: &'s [String],
    /// those next to it.
    near: Vec<String>,
    /// The arms that they name, and whose of them it is.
    arms: &'s [usize],
    absent: &'s [usize],
    owner: NumberOwner,
    compared: Option<[usize; 2]>,
    /// The steps that they name, that at which it is read, and whether it is one itself.
    steps: &'s [NamedStep],
    step: Option<NamedStep>,
    is_step: bool,
    /// The requirements of the nearest words.
    asked: AskedWords,
    /// The quantities that the next of them name, else all of them, and what the next say that they are of.
    quantities: Vec<usize>,
    of: Option<LoggedPart>,
    is_percent: bool,
    /// The words right next to it, the nearest first.
    beside: Vec<BesideWord>,
    /// In a row of a table the words of its label and its column that can name a quantity.
    quantity_of_row: &'s [String],
    /// The setting by whose value the number names an arm.
    label: Option<&'s str>,
    /// How many arms there are.
    all: usize,
}

/// The lowercase words of a text.
pub fn words_of_text(text: &str) -> Vec<String> {
    let is_word = |c: char| c.is_alphanumeric() || c == '%' || c == '±';
    let parts = text.split(|c: char| !is_word(c)).filter(|part| !part.is_empty());
    let mut words: Vec<String> = parts.map(plain).collect();
    if text.contains('%') {
        words.push("%".to_owned());
    }
    words
}

/// A sentence taken apart once for all of its numbers.
pub struct SentenceAround<'s> {
    pub read: &'s ReadSentence<'s>,
    pub words: &'s [String],
    pub steps: &'s [NamedStep],
    pub all: usize,
}

impl<'s> SentenceAround<'s> {
    /// The words around one of its numbers, with those next to it.
    pub fn number(&self, item: usize, near: &str, is_percent: bool) -> Around<'s> {
        let mut near = words_of_text(near);
        if let Some(head) = self.read.heads.get(item) {
            near.extend_from_slice(&head.words);
        }
        let own = [quantities(&near), quantities(self.words)];
        let is_test = LoggedPart::of(self.words).filter(|part| *part == LoggedPart::Test);
        Around {
            words: self.words,
            arms: &self.read.arms,
            absent: &self.read.absent,
            owner: self.read.owner(item),
            compared: self.read.compared(item),
            steps: self.steps,
            step: step_of(self.read, self.steps, item),
            is_step: is_step(self.read, item),
            asked: AskedWords::of(self.read, item),
            quantities: own.into_iter().find(|all| !all.is_empty()).unwrap_or_default(),
            of: LoggedPart::of(&near).or(is_test),
            near,
            is_percent,
            beside: beside(self.read, item),
            quantity_of_row: self.read.heads.get(item).map_or(&[], |head| &head.quantity),
            label: self.read.labels.get(item).and_then(|label| Some(label.as_ref()?.1.as_str())),
            all: self.all,
        }
    }
}

impl Around<'_> {
    /// How well a candidate fits: what the words say, less what it takes.
    pub fn score(&self, candidate: &DraftCandidate) -> f64 {
        let mut score = -candidate.cost;
        let said = |words: &[String], word: &String| words.iter().any(|known| known == word);
        let is_said = |word: &&String| match candidate.said.is_empty() {
            true => said(self.words, word),
            false => self.beside.iter().any(|one| one.text == **word),
        };
        let mut hits: Vec<&String> = candidate.words.iter().filter(is_said).collect();
        hits.sort_unstable();
        hits.dedup();
        let close = hits.iter().filter(|word| said(&self.near, word)).count();
        score += (hits.len() as f64).min(4.0) + 1.2 * (close as f64).min(3.0);
        score += self.score_of_arms(candidate);
        score += if self.is_label(candidate) { 4.0 } else { 0.0 };
        if candidate.step.is_some() {
            score += if self.has_step_of(candidate) { 3.0 } else { -2.0 };
        }
        if self.is_percent && candidate.expression.contains("percent_") {
            score += 1.0;
        }
        score
    }

    fn score_of_arms(&self, candidate: &DraftCandidate) -> f64 {
        let named = |arm: &usize| self.arms.contains(arm);
        match (self.arms.is_empty(), candidate.arms.is_empty()) {
            (true, true) => 1.0,
            // What all arms share is likelier where the words name several of them.
            (false, true) => {
                if self.arms.len() > 1 {
                    2.0
                } else {
                    0.0
                }
            }
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
        }
    }

    fn has_step_of(&self, candidate: &DraftCandidate) -> bool {
        candidate.step.is_some_and(|own| self.steps.iter().any(|step| step.is(own)))
    }

    /// Whether the words name the statistic that a candidate is, where it must be named.
    pub fn names(&self, candidate: &DraftCandidate) -> bool {
        // Of a row of a table the head says it: "best seed".
        let has_one = |words: &[String]| has_one(candidate.needs, words);
        candidate.needs.is_empty() || has_one(self.words) || has_one(&self.near)
    }

    /// Whether a candidate is the setting by whose value the number names an arm.
    fn is_label(&self, candidate: &DraftCandidate) -> bool {
        self.label == Some(candidate.expression.as_str())
    }

    /// Whether any word speaks for a candidate; for what is configured or counted, one next to the number.
    pub fn speaks_for(&self, candidate: &DraftCandidate) -> bool {
        let is_beside =
            |words: &Vec<String>| self.beside.iter().any(|one| words.contains(&one.text));
        match candidate.said.is_empty() {
            true => {
                self.has_step_of(candidate)
                    || candidate.words.iter().any(|word| self.words.contains(word))
            }
            false => self.is_label(candidate) || candidate.said.iter().all(is_beside),
        }
    }

    /// Whether a row of a table says what its numbers are, and no word of it speaks for what was measured.
    fn is_not_in_row(&self, candidate: &DraftCandidate) -> bool {
        candidate.is_measured
            && !self.quantity_of_row.is_empty()
            && !has_one(&candidate.words, self.quantity_of_row)
    }

    /// Whether the word for a setting that stands nearest to a number is not one of what is configured or counted.
    fn speaks_of_another_setting(&self, candidate: &DraftCandidate) -> bool {
        let distance = |is_meant: &dyn Fn(&String) -> bool| {
            self.beside.iter().find(|one| is_meant(&one.text)).map(|one| one.distance)
        };
        let own = distance(&|word| candidate.words.contains(word));
        let nearest = distance(&is_of_a_setting);
        !candidate.said.is_empty()
            && !self.is_label(candidate)
            && nearest.is_some_and(|nearest| own.is_none_or(|own| nearest < own))
    }

    /// Whether the words name another arm, another quantity, another step or another unit than a candidate is about: its digits are
    /// an accident then.
    pub fn contradicts(&self, candidate: &DraftCandidate) -> bool {
        self.names_other_arms(candidate)
            || self.names_another_quantity(candidate)
            || self.speaks_of_another_setting(candidate)
            || self.is_not_in_row(candidate)
            || self.names_another_step(candidate)
            || !self.asked.are_met(&candidate.words)
            || is_untold_rate(&candidate.words, self.words)
            || self.names_another_spread(candidate)
            || self.says_no_difference(candidate)
            || self.says_the_other_way(candidate)
    }

    fn names_other_arms(&self, candidate: &DraftCandidate) -> bool {
        let is_other = |arms: &[usize]| {
            !arms.is_empty() && candidate.arms.iter().all(|arm| !arms.contains(arm))
        };
        match candidate.arms.as_slice() {
            [] => false,
            [one] => {
                let is_owned = match self.owner {
                    NumberOwner::Arm(arm) => arm == *one,
                    NumberOwner::Several => false,
                    // Measured digits tell the arm; a setting or a count may be that of any.
                    NumberOwner::Unsaid => {
                        candidate.is_measured || candidate.is_step || self.all == 1
                    }
                };
                !is_owned
                    || is_other(self.arms)
                    || self.absent.contains(one)
                    || self.says_all_alike(candidate)
            }
            pair => {
                let is_named = |arm: &usize| self.arms.contains(arm);
                let lacks_owner = matches!(self.owner, NumberOwner::Arm(arm) if self.arms.len() > 2 && !pair.contains(&arm));
                is_other(self.arms)
                    || lacks_owner
                    || self.arms.len() > 1 && !pair.iter().all(is_named)
            }
        }
    }

    /// Whether the text is about a value that all arms or runs share, which is not a mean over one arm.
    fn says_all_alike(&self, candidate: &DraftCandidate) -> bool {
        let of_arms =
            self.arms.is_empty() && self.all > 1 && has_one(words_of_list("both"), self.words);
        let of_runs = candidate.expression.starts_with("mean(")
            && has_one(words_of_list("every"), self.words);
        candidate.is_measured && (of_arms || of_runs)
    }

    fn names_another_quantity(&self, candidate: &DraftCandidate) -> bool {
        is_another_quantity(&self.quantities, self.of, candidate)
    }

    /// A step is one only where the words read it; what is measured was at the step that they name, else at the last.
    fn names_another_step(&self, candidate: &DraftCandidate) -> bool {
        if candidate.is_step {
            return !self.is_step;
        }
        let own = candidate.step.or(candidate.last);
        let is_other = match (self.step, own) {
            (Some(named), Some(own)) => !named.is(own),
            _ => candidate.step.is_some() && !self.has_step_of(candidate),
        };
        candidate.is_measured && is_other
    }

    /// A standard error is no standard deviation.
    fn names_another_spread(&self, candidate: &DraftCandidate) -> bool {
        let is_error = has_one(words_of_list("errors"), self.words);
        let is_deviation = has_one(words_of_list("deviations"), self.words);
        let is = |function: &str| candidate.expression.contains(function);
        candidate.is_spread
            && (is_error && !is_deviation && !is("se(") || is_deviation && !is_error && !is("sd("))
    }

    /// A difference of shares is in points, and none if the words say that it is relative.
    fn says_no_difference(&self, candidate: &DraftCandidate) -> bool {
        let says = |list: &str| has_one(words_of_list(list), self.words);
        let is_relative = says("relative") && !says("absolute");
        let is_percent = self.is_percent && says("percent") && !says("points");
        candidate.expression.contains(" - ") && (self.is_percent && is_relative || is_percent)
    }

    /// Whether the words say that one of two arms is higher, and a candidate's sign that the other is.
    fn says_the_other_way(&self, candidate: &DraftCandidate) -> bool {
        let (Some([subject, object]), [first, second]) = (self.compared, &candidate.arms[..])
        else {
            return false;
        };
        let first_is_higher = match &candidate.expression {
            expression if expression.starts_with("percent_below") => candidate.number.high < 0.0,
            expression if expression.starts_with("p(") => return false,
            expression if expression.contains(" - ") || expression.starts_with("percent_above") => {
                candidate.number.high > 0.0
            }
            expression if expression.contains(" / ") => candidate.number.high > 1.0,
            _ => return false,
        };
        let is_pair = [first, second].iter().all(|arm| [subject, object].contains(arm));
        let subject_is_higher = (*first == subject) == first_is_higher;
        let said = self.says_higher(&candidate.expression);
        is_pair && said.is_some_and(|said| said != subject_is_higher)
    }

    /// Whether the words say that the arm that is compared has more, or less, of a quantity.
    fn says_higher(&self, expression: &str) -> Option<bool> {
        let of = |words: &[String]| match (
            has_one(words_of_list("up"), words),
            has_one(words_of_list("down"), words),
        ) {
            (true, false) => Some(true),
            (false, true) => Some(false),
            _ => None,
        };
        let moves = of(&self.near).or_else(|| of(self.words));
        let own = quantities(&words_of_text(expression));
        moves.or_else(|| is_won_by_the_higher(&own, self.words))
    }
}

/// Whether words that name quantities, and what they are of, name another than a candidate is.
pub fn is_another_quantity(
    named: &[usize],
    of: Option<LoggedPart>,
    candidate: &DraftCandidate,
) -> bool {
    if candidate.expression.starts_with("p(") {
        return false;
    }
    let words = words_of_text(&candidate.expression);
    let own = quantities(&words);
    let is_other = !named.is_empty()
        && !own.is_empty()
        && own.iter().all(|quantity| !named.contains(quantity));
    // A loss of training is none of an evaluation, and what is measured on a test set says so.
    let part = LoggedPart::of(&words);
    let is_untold = of == Some(LoggedPart::Test) && !own.is_empty() && part.is_none();
    is_other || is_untold || of.is_some() && part.is_some() && of != part
}
