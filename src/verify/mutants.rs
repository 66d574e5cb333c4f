//! Random changes of a post and its text, and what the checks make of each: another digit or unit, rows exchanged,
//! another step, a group without one of its runs.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use repro_claim::Expression;
use repro_claim::quote;
use repro_claim::syntax::ExpressionKind;
use repro_claim::table::{self, NamedTable, PrintedTable};
use repro_core::source::Error;
use repro_report::outcome::ClaimReport;
use repro_stats::rng::Rng;
use serde::Serialize;

use crate::context::PostContext;
use crate::library::Library;
use crate::mutated::{Detection, DetectionTally, Digit, parts, with_other_number, words};
use crate::page::{
    Binding, PlacedExpression, PostPage, PostStatement, Sentence, StatementKind, Table,
};
use crate::statement;
use crate::texts::TextsAtHand;
use crate::work::Work;

/// The kind of change.
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

    /// The kind of change, in words.
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
    /// The kind of change.
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
    /// The outcomes, by kind of change.
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
    let (none, work) = (TextsAtHand::new(), Work::of_posts(10.max(count as u64 / 10)));
    let bench = Bench::of(texts, &PostContext::new(page, library, &none, &work))?;
    let mut rng = Rng::new(seed, &format!("mutants of {}", page.id));
    let mut found = RandomMutants::default();
    for _ in 0..count {
        let kind = MutationKind::ALL[below(&mut rng, MutationKind::ALL.len())];
        // Not every piece has a step, a group or a unit.
        let drawn = (0..DRAWS).find_map(|_| bench.mutant(kind, &mut rng));
        let Some(Mutant { before, piece, page }) = drawn else { continue };
        let context = PostContext::new(&page, library, &none, &work);
        found.add(kind, before, statement::judge(&context, &piece).ok());
        // Whoever asks for many changes waits for them, for each a tenth of a post on average.
        work.goes_on(&page.place())?;
    }
    Ok(found)
}

impl RandomMutants {
    /// Counts what came of a change: the claims before and after, none if the post no longer parses.
    fn add(&mut self, kind: MutationKind, before: &[ClaimReport], after: Option<Vec<ClaimReport>>) {
        let tally = self.tallies.entry(kind).or_default();
        let Some(after) = after else { return tally.add(Detection::Refuted) };
        // Of the claims that hold, the one whose words or value are others.
        let mut pairs = std::iter::zip(before, &after);
        let moved = pairs.find(|(before, after)| {
            before.outcome.is_verified()
                && (before.claimed != after.claimed
                    || before.outcome.recomputed != after.outcome.recomputed)
        });
        let changed = moved.map(|(_, claim)| claim);
        let detection = Detection::of(before, &after, changed);
        // A change that is missed and moves no claim that holds is none.
        if detection != Detection::Missed || changed.is_some() {
            tally.add(detection);
        }
        let missed = changed.filter(|_| detection == Detection::Missed);
        self.missed.extend(missed.map(|claim| MissedMutant {
            kind,
            claim: claim.id.clone(),
            rule: claim.outcome.rule,
            words: match claim.claimed.is_empty() {
                true => claim.said.clone(),
                false => claim.claimed.clone(),
            },
        }));
    }
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

/// A changed piece, the post around it, and what the piece came to before.
struct Mutant<'b> {
    before: &'b [ClaimReport],
    piece: PostStatement,
    page: Cow<'b, PostPage>,
}

impl<'p> Bench<'p> {
    fn of(texts: &TextsAtHand, context: &PostContext<'p>) -> Result<Self, Error> {
        let page = context.page;
        let judged = |piece: PostStatement| {
            let before = statement::judge(context, &piece)?;
            let holds = before.iter().any(|claim| claim.outcome.is_verified());
            Ok::<_, Error>(holds.then_some((piece, before)))
        };
        let read = PostContext::new(page, context.library, texts, context.work);
        let (mut pieces, mut tables) = (Vec::new(), Vec::new());
        for one in &page.statements {
            let text = read.text(&one.text);
            for piece in parts(one, text) {
                pieces.extend(judged(piece)?);
            }
            if let StatementKind::Table(table) = &one.kind
                && table.rows.len() > 1
                && let Ok(lines) = table.lines(text)
            {
                let printed = Some(PrintedTable::clone(&lines));
                let kind = StatementKind::Table(Table { printed, ..table.clone() });
                tables.extend(judged(PostStatement { kind, ..one.clone() })?);
            }
        }
        let mut steps = BTreeSet::new();
        let own = pieces.iter().flat_map(|(piece, _)| expressions(piece));
        for tree in own.chain(page.formulas.values().map(|formula| formula.body.tree.clone())) {
            tree.each(&mut |part| {
                if let ExpressionKind::At(_, step) = &part.kind {
                    steps.insert(step.to_string());
                }
            });
        }
        Ok(Self { page, pieces, tables, steps: steps.into_iter().collect() })
    }

    fn mutant(&self, kind: MutationKind, rng: &mut Rng) -> Option<Mutant<'_>> {
        let from = if kind == MutationKind::Rows { &self.tables } else { &self.pieces };
        // Nothing is drawn from none, so that the next draws are the same.
        if from.is_empty() {
            return None;
        }
        let (own, before) = drawn(from, rng)?;
        let mut page = Cow::Borrowed(self.page);
        let piece = match kind {
            MutationKind::FirstDigit => {
                words_changed(own, rng, |text, _| Digit::First.change(text))?
            }
            MutationKind::OtherDigit => words_changed(own, rng, other_digit)?,
            MutationKind::Unit => words_changed(own, rng, |text, _| other_unit(text))?,
            MutationKind::Rows => rows_exchanged(own, rng)?,
            MutationKind::Step => self.other_step(own, &mut page, rng)?,
            MutationKind::Group => {
                self.without_a_run(own, &mut page, rng)?;
                own.clone()
            }
        };
        Some(Mutant { before, piece, page })
    }

    /// Everything that a piece says, with the rows and formulas that it uses.
    fn said(&self, piece: &PostStatement) -> String {
        let mut said: String = expressions(piece).iter().map(|tree| format!("{tree} ")).collect();
        let mut unused: Vec<_> = self.page.formulas.iter().collect();
        while let Some(at) = unused.iter().position(|(name, _)| mentions(&said, name)) {
            let (_, formula) = unused.remove(at);
            said += &format!("{} ", formula.body.tree);
        }
        said
    }

    /// The piece with another step behind one of the `@` that it uses, and so in the formulas of the post.
    fn other_step(
        &self,
        piece: &PostStatement,
        page: &mut Cow<'_, PostPage>,
        rng: &mut Rng,
    ) -> Option<PostStatement> {
        let said = self.said(piece);
        let used = |step: &&String| said.contains(&format!("@ {step}"));
        let own: Vec<_> = self.steps.iter().filter(used).collect();
        let from = *drawn(&own, rng)?;
        let others: Vec<_> = self.steps.iter().filter(|step| *step != from).collect();
        let to = drawn(&others, rng)?;
        let mut piece = piece.clone();
        let formulas = page.to_mut().formulas.values_mut().map(|formula| &mut formula.body);
        for PlacedExpression { tree, .. } in expressions_mut(&mut piece).into_iter().chain(formulas)
        {
            let text = tree.to_string().replace(&format!("@ {from}"), &format!("@ {to}"));
            *tree = Expression::parse(&text).ok()?;
        }
        Some(piece)
    }

    /// Takes a run out of a group that the piece names.
    fn without_a_run(
        &self,
        piece: &PostStatement,
        page: &mut Cow<'_, PostPage>,
        rng: &mut Rng,
    ) -> Option<()> {
        let said = self.said(piece);
        let groups = self
            .page
            .names
            .iter()
            .filter(|(name, (locator, _))| locator.bundles.len() > 2 && mentions(&said, name));
        let groups: Vec<_> = groups.map(|(name, _)| name).collect();
        let (locator, _) = page.to_mut().names.get_mut(*drawn(&groups, rng)?)?;
        let runs = &mut locator.bundles;
        let run = below(rng, runs.len());
        runs.remove(run);
        Some(())
    }
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

/// The expressions of a piece, and of the rows of its table.
fn expressions(piece: &PostStatement) -> Vec<Expression> {
    let mut piece = piece.clone();
    expressions_mut(&mut piece).into_iter().map(|one| one.tree.clone()).collect()
}

fn expressions_mut(piece: &mut PostStatement) -> Vec<&mut PlacedExpression> {
    match &mut piece.kind {
        StatementKind::Sentence(Sentence { is, says, may_mean, .. }) => {
            is.iter_mut().filter_map(Binding::expression_mut).chain(says).chain(may_mean).collect()
        }
        StatementKind::Table(Table { columns, rows, .. }) => {
            let bindings = columns.iter_mut().flat_map(|(_, list)| list);
            let rows = rows.iter_mut().flat_map(|(_, variables)| variables.values_mut());
            bindings.filter_map(Binding::expression_mut).chain(rows).collect()
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
    with_other_number(piece, item, |text| change(text, rng)).map(|(_, _, piece)| piece)
}

fn other_digit(text: &str, rng: &mut Rng) -> Option<String> {
    let digits: Vec<_> = text.char_indices().filter(|(_, c)| c.is_ascii_digit()).collect();
    let (at, old) = *drawn(&digits, rng)?;
    let new = (u64::from(old.to_digit(10)?) + 1 + rng.below(9)) % 10;
    Some(format!("{}{new}{}", &text[..at], &text[at + 1..]))
}

fn other_unit(text: &str) -> Option<String> {
    let (number, other) = match text.char_indices().next_back()? {
        (at, '%') => (&text[..at], ""),
        (at, 'K' | 'B') => (&text[..at], "M"),
        (at, 'M') => (&text[..at], "B"),
        (_, c) if c.is_ascii_digit() => (text, "%"),
        _ => return None,
    };
    // Nothing is nothing in any unit.
    let is_nothing = !number.contains(|c: char| c.is_ascii_digit() && c != '0');
    (!is_nothing).then(|| format!("{number}{other}"))
}

/// A table with what two of its rows print exchanged.
fn rows_exchanged(piece: &PostStatement, rng: &mut Rng) -> Option<PostStatement> {
    let mut piece = piece.clone();
    let StatementKind::Table(table) = &mut piece.kind else { return None };
    let printed = table.printed.as_mut()?;
    let named = NamedTable::of(printed.clone());
    let rows = table.rows.iter().filter_map(|(label, _)| named.row(label));
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
