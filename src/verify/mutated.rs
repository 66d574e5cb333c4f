//! The effect of changing one printed digit of a post's text on its claims.
//!
//! A claim that is verified whatever its number says checks nothing. Each number that a claim binds is
//! changed in the text, nothing else is, and the claim is judged again.

use std::ops::AddAssign;

use repro_claim::quote::{self, QuoteItem};
use repro_core::source::Error;
use repro_report::outcome::{ClaimReport, Method, Verdict};
use serde::{Serialize, Serializer};

use crate::context::PostContext;
use crate::json_text::ReadText;
use crate::library::Library;
use crate::page::{PostPage, PostStatement, StatementKind, Table};
use crate::statement;
use crate::texts::TextsAtHand;
use crate::work::Work;

/// Which digit is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Digit {
    /// The first that is not zero: a change that matters.
    First,
    /// The last of the mantissa: the smallest change that is printed.
    Last,
}

impl Digit {
    /// The text with this digit changed, 9 to 8 and any other to the next one; none if there is none.
    pub fn change(self, text: &str) -> Option<String> {
        let found = match self {
            Self::First => {
                text.find(|c: char| c.is_ascii_digit() && c != '0').or_else(|| last_digit(text))
            }
            Self::Last => last_digit(text),
        };
        let at = found?;
        let digit = text.as_bytes()[at];
        let other = if digit == b'9' { '8' } else { char::from(digit + 1) };
        Some(format!("{}{other}{}", &text[..at], &text[at + 1..]))
    }
}

/// The last digit before an exponent.
fn last_digit(text: &str) -> Option<usize> {
    let exponent = text.find(['e', 'E']).filter(|&at| {
        text[..at].ends_with(|c: char| c.is_ascii_digit())
            && text[at + 1..].contains(|c: char| c.is_ascii_digit())
    });
    text[..exponent.unwrap_or(text.len())].rfind(|c: char| c.is_ascii_digit())
}

/// Rules under which another number may be just as true: "at least 20" becomes "at least 30", and the value is 40.
const ONE_SIDED: [&str; 3] = ["limit", "about", "order"];

/// How the checks detect a change, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Detection {
    /// A claim is refuted, or the post no longer parses.
    Refuted,
    /// A lint says that words and evidence do not fit.
    Linted,
    /// A claim that was verified is inconclusive or unchecked: the report no longer vouches for it, and does not call
    /// it wrong.
    Weakened,
    /// A limit or "about" holds for the changed number as well.
    StillTrue,
    /// Every claim comes to the same.
    Missed,
}

impl Detection {
    /// Every outcome, in the order of tables.
    pub const ALL: [Self; 5] =
        [Self::Refuted, Self::Linted, Self::Weakened, Self::StillTrue, Self::Missed];

    /// The words for it in tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::Refuted => "refuted",
            Self::Linted => "linted",
            Self::Weakened => "weakened",
            Self::StillTrue => "still true",
            Self::Missed => "missed",
        }
    }

    /// Compares the claims of one statement before and after a change; `changed` is the one whose words or value are
    /// others, as it is after the change.
    pub(crate) fn of(
        before: &[ClaimReport],
        after: &[ClaimReport],
        changed: Option<&ClaimReport>,
    ) -> Self {
        let verdict = |claim: &ClaimReport| claim.outcome.verdict;
        let any = |fits: fn(&ClaimReport, &ClaimReport) -> bool| {
            std::iter::zip(before, after).any(|(before, after)| fits(before, after))
        };
        if any(|before, after| !is_refuted(before) && is_refuted(after)) {
            Self::Refuted
        } else if any(gains_a_lint) {
            Self::Linted
        } else if !before.iter().map(verdict).eq(after.iter().map(verdict)) {
            Self::Weakened
        } else if changed.is_some_and(|claim| ONE_SIDED.contains(&claim.outcome.rule)) {
            Self::StillTrue
        } else {
            Self::Missed
        }
    }
}

fn is_refuted(claim: &ClaimReport) -> bool {
    claim.outcome.verdict == Verdict::Refuted
}

/// Whether a claim has a lint after a change that it did not have before.
fn gains_a_lint(before: &ClaimReport, after: &ClaimReport) -> bool {
    let mut lints = after.meaning.unanswered();
    lints.any(|lint| before.meaning.unanswered().all(|known| known.kind != lint.kind))
}

/// How many changes came to what, in the order of [`Detection::ALL`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DetectionTally([usize; Detection::ALL.len()]);

impl DetectionTally {
    /// All changes.
    pub fn tried(&self) -> usize {
        self.0.iter().sum()
    }

    /// Those that came to one outcome.
    pub fn count(&self, detection: Detection) -> usize {
        self.0[detection as usize]
    }

    /// Counts one change.
    pub fn add(&mut self, detection: Detection) {
        self.0[detection as usize] += 1;
    }
}

impl AddAssign for DetectionTally {
    fn add_assign(&mut self, other: Self) {
        std::iter::zip(&mut self.0, other.0).for_each(|(own, other)| *own += other);
    }
}

impl Serialize for DetectionTally {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Detection::ALL.into_iter().map(|one| (one, self.count(one))))
    }
}

/// A number of the text with one digit changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangedNumber {
    /// The claim that binds it.
    pub claim: String,
    /// The number, before and after.
    pub texts: (String, String),
    /// The verdict before the change.
    pub verdict: Verdict,
    /// How it was judged.
    pub method: Option<Method>,
    /// How the checks detect the change.
    pub detection: Detection,
}

/// A sentence is judged once more for each of its numbers: so many times as much is done as for the post.
const PER_NUMBER: u64 = 10;

/// Changes `digit` of every number that the statements of `page` bind, one after the other.
pub fn changed(
    page: &PostPage,
    library: &Library,
    texts: &TextsAtHand,
    digit: Digit,
) -> Result<Vec<ChangedNumber>, Error> {
    // Whether the changed words are in the text is another question, and the answer is no.
    let none = TextsAtHand::new();
    let work = Work::of_posts(PER_NUMBER);
    let context = PostContext::new(page, library, &none, &work);
    let read = PostContext::new(page, library, texts, &work);
    let mut all = Vec::new();
    for one in &page.statements {
        for part in parts(one, read.text(&one.text)) {
            let before = statement::judge(&context, &part)?;
            for item in quote::items(words(&part).unwrap_or_default()) {
                let changed = with_other_number(&part, &item, |from| digit.change(from));
                let Some((from, to, other)) = changed else { continue };
                let (own, to, detection) = match statement::judge(&context, &other) {
                    // Nothing holds the number any more: the post no longer parses.
                    Err(_) => (before.first(), to, Detection::Refuted),
                    Ok(after) => {
                        let mut pairs = std::iter::zip(&before, &after);
                        let pair = pairs.find(|(before, after)| before.claimed != after.claimed);
                        let to = pair.map(|(_, changed)| changed.claimed.clone());
                        let detection = Detection::of(&before, &after, pair.map(|(_, one)| one));
                        (pair.map(|(own, _)| own), to.unwrap_or_default(), detection)
                    }
                };
                all.extend(own.map(|own| ChangedNumber {
                    claim: own.id.clone(),
                    texts: (from, to),
                    verdict: own.outcome.verdict,
                    method: own.outcome.method,
                    detection,
                }));
            }
        }
    }
    work.goes_on(&page.place())?;
    Ok(all)
}

/// A statement as pieces that each hold one quote: a sentence, or one cell of a table.
pub(crate) fn parts(statement: &PostStatement, text: Option<&ReadText>) -> Vec<PostStatement> {
    let StatementKind::Table(table) = &statement.kind else { return vec![statement.clone()] };
    let Ok(printed) = table.lines(text) else { return Vec::new() };
    let cells = table.rows.iter().flat_map(|row| table.columns.iter().map(move |one| (row, one)));
    let cell = |(row, column): (&(String, _), &(String, _))| {
        let kind = StatementKind::Table(Table {
            printed: Some(printed.alone(&row.0)),
            rows: vec![row.clone()],
            columns: vec![column.clone()],
            says: Vec::new(),
            heads: Vec::new(),
            ..table.clone()
        });
        PostStatement { kind, ..statement.clone() }
    };
    cells.map(cell).collect()
}

/// The words of a piece.
pub(crate) fn words(piece: &PostStatement) -> Option<&str> {
    match &piece.kind {
        StatementKind::Sentence(sentence) => Some(&sentence.quote),
        StatementKind::Table(table) => {
            let (row, column) = statement::only_cell(table)?;
            Some(&table.printed.as_ref()?.rows[row][column].text)
        }
    }
}

/// The piece with another number for one of its words, after the number before and after; none if it is not to be
/// changed.
pub(crate) fn with_other_number(
    piece: &PostStatement,
    item: &QuoteItem,
    change: impl FnOnce(&str) -> Option<String>,
) -> Option<(String, String, PostStatement)> {
    let own = words(piece)?;
    let from = item.text(own).to_owned();
    let to = change(&from)?;
    let text = format!("{}{to}{}", &own[..item.span.start], &own[item.span.end..]);
    let mut piece = piece.clone();
    match &mut piece.kind {
        StatementKind::Sentence(sentence) => sentence.quote = text,
        StatementKind::Table(table) => {
            let (row, column) = statement::only_cell(table)?;
            if let Some((label, _)) = table.rows.first_mut() {
                *label = renamed(label, column, &text);
            }
            let printed = table.printed.as_mut()?;
            // Alone, so that its new name is no other row's.
            printed.rows = vec![printed.rows.swap_remove(row)];
            printed.rows[0][column].text = text;
        }
    }
    Some((from, to, piece))
}

/// The name of a row one of whose cells has another text.
fn renamed(label: &str, column: usize, text: &str) -> String {
    let mut parts: Vec<_> = label.split('|').map(str::trim).collect();
    if let Some(part) = parts.get_mut(column) {
        *part = text;
    }
    parts.join(" | ")
}
