//! Random changes of a post and its text, and what the checks make of each: another digit or unit, rows exchanged,
//! another step, a group without one of its runs.

use std::collections::HashMap;

use repro_claim::Expression;
use repro_claim::locator::Locator;
use repro_claim::quote;
use repro_claim::syntax::ExpressionKind;
use repro_claim::table::{self, NamedRows};
use repro_receipt::source::Error;
use repro_report::outcome::{ClaimReport, Verdict};
use repro_stats::rng::Rng;
use serde::Serialize;

use crate::context::PostContext;
use crate::json_text::ReadText;
use crate::library::Library;
use crate::mutated::{Detection, DetectionTally, Digit, parts, with_other_number, words};
use crate::page::{Binding, PlacedExpression, PostPage, PostStatement, Sentence, StatementKind};
use crate::statement;
use crate::texts::TextsAtHand;
use crate::work::Work;

/// What is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MutationKind {
    /// The first digit of a number that is not zero.
    FirstDigit,
    /// Another digit of a number.
    OtherDigit,
    /// Two rows of a table change places.
    Rows,
    /// A number has another unit: `%`, `K`, `M`, `B`, or none.
    Unit,
    /// An evaluation is read at another step.
    Step,
    /// A group lacks one of its runs.
    Group,
}

impl MutationKind {
    /// Every kind, in the order of the table.
    pub const ALL: [Self; 6] =
        [Self::FirstDigit, Self::OtherDigit, Self::Rows, Self::Unit, Self::Step, Self::Group];

    /// What is changed, in words.
    pub fn word(self) -> &'static str {
        match self {
            Self::FirstDigit => "first digit",
            Self::OtherDigit => "another digit",
            Self::Rows => "rows exchanged",
            Self::Unit => "another unit",
            Self::Step => "another step",
            Self::Group => "a run less",
        }
    }
}

/// A change after which every claim comes to the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MissedMutant {
    /// What was changed.
    pub kind: MutationKind,
    /// The claim, which is verified before and after.
    pub claim: String,
    /// The rule that judged it.
    pub rule: &'static str,
    /// The words after the change.
    pub words: String,
}

/// The changes of one post.
#[derive(Debug, Default)]
pub struct RandomMutants {
    /// What came of them, by what was changed.
    pub tallies: HashMap<MutationKind, DetectionTally>,
    /// Those that were missed.
    pub missed: Vec<MissedMutant>,
}

/// How often a piece is drawn that a change can be made in.
const DRAWS: usize = 100;

/// Makes `count` random changes of a post, the same for one seed.
pub fn random(
    page: &PostPage,
    library: &Library,
    texts: &TextsAtHand,
    count: usize,
    seed: u64,
) -> Result<RandomMutants, Error> {
    let none = TextsAtHand::new();
    let work = Work::without_end();
    let bench = Bench::of(page, texts, &PostContext::new(page, library, &none, &work))?;
    let mut rng = Rng::new(seed, &format!("mutants of {}", page.id));
    let mut found = RandomMutants::default();
    for _ in 0..count {
        let kind = MutationKind::ALL[below(&mut rng, MutationKind::ALL.len())];
        // Not every piece has a step, a group or a unit.
        let drawn = (0..DRAWS).find_map(|_| bench.mutant(kind, &mut rng));
        let Some(mutant) = drawn else { continue };
        bench.judge(mutant, library, &none, &mut found);
    }
    Ok(found)
}

fn below(rng: &mut Rng, count: usize) -> usize {
    usize::try_from(rng.below(count as u64)).unwrap_or(0)
}

/// One of a list, drawn at random.
fn drawn<'l, T>(list: &'l [T], rng: &mut Rng) -> Option<&'l T> {
    list.get(below(rng, list.len().max(1)))
}

/// The pieces of a post of which at least one claim is verified, with what they come to.
struct Bench<'p> {
    page: &'p PostPage,
    pieces: Vec<(PostStatement, Vec<ClaimReport>)>,
    tables: Vec<(PostStatement, Vec<ClaimReport>)>,
    steps: Vec<String>,
}

/// A changed piece, or a changed post around one.
struct RandomMutant<'b> {
    kind: MutationKind,
    before: &'b [ClaimReport],
    piece: PostStatement,
    page: Option<PostPage>,
}

impl<'p> Bench<'p> {
    fn of(
        page: &'p PostPage,
        texts: &TextsAtHand,
        context: &PostContext<'_>,
    ) -> Result<Self, Error> {
        let judged = |piece: PostStatement| {
            let before = statement::judge(context, &piece)?;
            let holds = before.iter().any(|claim| claim.outcome.verdict == Verdict::Verified);
            Ok::<_, Error>(holds.then_some((piece, before)))
        };
        let (mut pieces, mut tables) = (Vec::new(), Vec::new());
        for one in &page.statements {
            let text = texts.get(&one.text).map(|text| ReadText::new(&text.seen, context.work));
            for piece in parts(one, text.as_ref()) {
                pieces.extend(judged(piece)?);
            }
            if let StatementKind::Table(table) = &one.kind
                && table.rows.len() > 1
                && let Ok(lines) = table.lines(text.as_ref())
            {
                let mut table = table.clone();
                table.printed = Some(lines.into_owned());
                let whole = PostStatement { kind: StatementKind::Table(table), ..one.clone() };
                tables.extend(judged(whole)?);
            }
        }
        let mut steps = Vec::new();
        let own = pieces.iter().flat_map(|(piece, _)| expressions(piece));
        for expression in own.chain(page.formulas.values().map(|formula| &formula.body)) {
            steps.extend(steps_of(&expression.tree));
        }
        steps.sort();
        steps.dedup();
        Ok(Self { page, pieces, tables, steps })
    }

    fn mutant(&self, kind: MutationKind, rng: &mut Rng) -> Option<RandomMutant<'_>> {
        let from = match kind {
            MutationKind::Rows => &self.tables,
            _ => &self.pieces,
        };
        // Nothing is drawn from none, so that the next draws are the same.
        if from.is_empty() {
            return None;
        }
        let (piece, before) = drawn(from, rng)?;
        let mut page = None;
        let piece = match kind {
            MutationKind::FirstDigit => words_changed(piece, rng, |text, _| first_digit(text))?,
            MutationKind::OtherDigit => words_changed(piece, rng, other_digit)?,
            MutationKind::Unit => words_changed(piece, rng, |text, _| other_unit(text))?,
            MutationKind::Rows => rows_exchanged(piece, rng)?,
            MutationKind::Step => {
                let (piece, other) = self.other_step(piece, rng)?;
                page = Some(other);
                piece
            }
            MutationKind::Group => {
                page = Some(self.without_a_run(piece, rng)?);
                piece.clone()
            }
        };
        Some(RandomMutant { kind, before, piece, page })
    }

    /// Everything that a piece says, with the rows and formulas that it uses.
    fn said(&self, piece: &PostStatement) -> String {
        let own = expressions(piece).into_iter();
        let mut said: String = own.map(|one| format!("{} ", one.tree)).collect();
        if let StatementKind::Table(table) = &piece.kind {
            let rows = table.rows.iter().flat_map(|(_, variables)| variables.values());
            said.extend(rows.map(|one| format!("{} ", one.tree)));
        }
        let mut unused: Vec<_> = self.page.formulas.iter().collect();
        while let Some(at) = unused.iter().position(|(name, _)| mentions(&said, name)) {
            let (_, formula) = unused.remove(at);
            said += &format!("{} ", formula.body.tree);
        }
        said
    }

    /// Piece and post with another step behind one of the `@` that the piece uses.
    fn other_step(
        &self,
        piece: &PostStatement,
        rng: &mut Rng,
    ) -> Option<(PostStatement, PostPage)> {
        let said = self.said(piece);
        let used = |step: &&String| said.contains(&format!("@ {step}"));
        let own: Vec<_> = self.steps.iter().filter(used).collect();
        let from = *drawn(&own, rng)?;
        let others: Vec<_> = self.steps.iter().filter(|step| *step != from).collect();
        let to = drawn(&others, rng)?;
        let change = |tree: &mut Expression| {
            let text = tree.to_string().replace(&format!("@ {from}"), &format!("@ {to}"));
            if let Ok(changed) = Expression::parse(&text) {
                *tree = changed;
            }
        };
        let (mut piece, mut page) = (piece.clone(), self.page.clone());
        expressions_mut(&mut piece).into_iter().for_each(|one| change(&mut one.tree));
        page.formulas.values_mut().for_each(|formula| change(&mut formula.body.tree));
        Some((piece, page))
    }

    /// The post whose group, one that the piece names, lacks a run.
    fn without_a_run(&self, piece: &PostStatement, rng: &mut Rng) -> Option<PostPage> {
        let said = self.said(piece);
        let is_used_group = |(name, (locator, _)): &(&String, &(Locator, _))| {
            locator.bundles.len() > 2 && mentions(&said, name)
        };
        let groups: Vec<_> = self.page.names.iter().filter(is_used_group).collect();
        let (name, _) = drawn(&groups, rng)?;
        let mut page = self.page.clone();
        let (locator, _) = page.names.get_mut(*name)?;
        let run = below(rng, locator.bundles.len());
        locator.bundles.remove(run);
        Some(page)
    }

    /// Judges a mutant and counts what came of it.
    fn judge(
        &self,
        mutant: RandomMutant<'_>,
        library: &Library,
        texts: &TextsAtHand,
        found: &mut RandomMutants,
    ) {
        let page = mutant.page.as_ref().unwrap_or(self.page);
        let work = Work::without_end();
        let context = PostContext::new(page, library, texts, &work);
        let after = statement::judge(&context, &mutant.piece);
        let tally = found.tallies.entry(mutant.kind).or_default();
        let Ok(after) = after else { return tally.add(Detection::Refuted) };
        // Of the claims that hold, the one whose words or value are others.
        let moved = std::iter::zip(mutant.before, &after).find(|(before, after)| {
            before.outcome.verdict == Verdict::Verified
                && (before.claimed != after.claimed
                    || before.outcome.recomputed != after.outcome.recomputed)
        });
        let changed = moved.map(|(_, claim)| claim);
        let detection = Detection::of(mutant.before, &after, changed);
        if detection != Detection::Missed {
            return tally.add(detection);
        }
        // A change that moves no claim that holds is none.
        let Some(claim) = changed else { return };
        tally.add(detection);
        found.missed.push(MissedMutant {
            kind: mutant.kind,
            claim: claim.id.clone(),
            rule: claim.outcome.rule,
            words: match claim.claimed.is_empty() {
                true => claim.said.clone(),
                false => claim.claimed.clone(),
            },
        });
    }
}

/// The steps behind the `@` of an expression.
fn steps_of(tree: &Expression) -> Vec<String> {
    let mut steps = Vec::new();
    tree.each(&mut |part| {
        if let ExpressionKind::At(_, step) = &part.kind {
            steps.push(step.to_string());
        }
    });
    steps
}

/// Whether an expression uses a name, and not only one that begins or ends with it.
fn mentions(said: &str, name: &str) -> bool {
    let of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    said.match_indices(name).any(|(at, _)| {
        let before = said[..at].chars().next_back();
        let after = said[at + name.len()..].chars().next();
        !before.is_some_and(|c| of_name(c) || c == '.') && !after.is_some_and(of_name)
    })
}

/// The expressions of a piece.
fn expressions(piece: &PostStatement) -> Vec<&PlacedExpression> {
    match &piece.kind {
        StatementKind::Sentence(Sentence { is, says, may_mean, .. }) => {
            is.iter().filter_map(Binding::expression).chain(says).chain(may_mean).collect()
        }
        StatementKind::Table(table) => {
            let bindings = table.columns.iter().flat_map(|(_, list)| list);
            bindings.filter_map(Binding::expression).collect()
        }
    }
}

fn expressions_mut(piece: &mut PostStatement) -> Vec<&mut PlacedExpression> {
    match &mut piece.kind {
        StatementKind::Sentence(Sentence { is, says, may_mean, .. }) => {
            is.iter_mut().filter_map(Binding::expression_mut).chain(says).chain(may_mean).collect()
        }
        StatementKind::Table(table) => {
            let bindings = table.columns.iter_mut().flat_map(|(_, list)| list);
            bindings.filter_map(Binding::expression_mut).collect()
        }
    }
}

/// The piece with one of the numbers of its words changed.
fn words_changed(
    piece: &PostStatement,
    rng: &mut Rng,
    change: impl Fn(&str, &mut Rng) -> Option<String>,
) -> Option<PostStatement> {
    let items = quote::items(words(piece)?);
    let item = drawn(&items, rng)?;
    Some(with_other_number(piece, item, |text| change(text, rng))?.1)
}

fn first_digit(text: &str) -> Option<String> {
    let changed = Digit::First.change(text);
    (changed != text).then_some(changed)
}

fn other_digit(text: &str, rng: &mut Rng) -> Option<String> {
    let digits: Vec<_> = text.char_indices().filter(|(_, c)| c.is_ascii_digit()).collect();
    let (at, old) = *drawn(&digits, rng)?;
    let new = (u64::from(old.to_digit(10)?) + 1 + rng.below(9)) % 10;
    Some(format!("{}{new}{}", &text[..at], &text[at + 1..]))
}

fn other_unit(text: &str) -> Option<String> {
    let (number, unit) = match text.char_indices().next_back()? {
        (at, unit @ ('%' | 'K' | 'M' | 'B')) => (&text[..at], unit),
        (_, c) if c.is_ascii_digit() => (text, ' '),
        _ => return None,
    };
    // Nothing is nothing in any unit.
    if !number.contains(|c: char| c.is_ascii_digit() && c != '0') {
        return None;
    }
    let other = match unit {
        '%' => "",
        'K' | 'B' => "M",
        'M' => "B",
        _ => "%",
    };
    Some(format!("{number}{other}"))
}

/// A table with what two of its rows print exchanged.
fn rows_exchanged(piece: &PostStatement, rng: &mut Rng) -> Option<PostStatement> {
    let mut piece = piece.clone();
    let StatementKind::Table(table) = &mut piece.kind else { return None };
    let printed = table.printed.as_mut()?;
    let named = NamedRows::of(printed);
    let rows = table.rows.iter().filter_map(|(label, _)| named.row(printed, label));
    let rows: Vec<_> = rows.collect();
    let first = *drawn(&rows, rng)?;
    let second = *drawn(&rows, rng)?;
    let mut differ = false;
    for (label, _) in &table.columns {
        let Some(column) = table::column(&table.head, label) else { continue };
        let text = |row: usize| Some(printed.rows[row].get(column)?.text.clone());
        let (one, other) = (text(first)?, text(second)?);
        differ |= one != other;
        printed.rows[first][column].text = other;
        printed.rows[second][column].text = one;
    }
    differ.then_some(piece)
}
