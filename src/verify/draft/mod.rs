//! Drafts of posts: for each number of a text the expression over the evidence that gives exactly its digits.
//!
//! Owns the search: what may stand behind a number, which of it the words mean, and how the post file is written and written anew.
//! It writes no verdict: a drafted statement says what its author has to confirm. What expressions give and whether a
//! statement holds is left to `verify`.

mod around;
mod bound;
mod candidates;
mod evidence;
mod judged;
mod labels;
mod mentions;
mod nouns;
mod numbers;
mod quantities;
mod settings;
mod tables;
mod text;
mod value_index;
mod written;

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::covered::{Coverage, covered};
use crate::page::DRAFTED;
use crate::page::TextSource;
use crate::texts::{NONE_NAMED, TextAtHand, TextsAtHand};
use crate::work::Work;
use repro_claim::quote;
use repro_core::source::{Error, Location, Source, codes};
use repro_report::outcome::Verdict;

use bound::{DraftBinding, clause, trimmed};
use candidates::{Candidates, candidates};
use evidence::{DraftEvidence, TRIED, arms_below};
use judged::TriedPost;
use mentions::concerned;
use tables::BoundTable;
use text::{DraftSentence, DraftText, is_number, line_starts};
use written::{WrittenPost, new_head, quoted, with_names};

pub use judged::parsed;
pub use written::{sentence_statement, toml_text};

codes! {
    NO_EVIDENCE = "draft::no-evidence", "there is no bundle to draft from", "write receipts while you train, or import logs: `repro import PATH... --out receipts`";
    OUTSIDE = "draft::outside", "a bundle is outside the project's `receipts/` folder", "move it into `receipts/`, where `repro verify` finds it";
    EXISTS = "draft::exists", "a post with this name exists", "pass `--update` to redraft its unconfirmed statements";
    NO_POST = "draft::no-post", "there is no post to update", "draft it first, without `--update`";
    OTHER_TEXT = "draft::text-conflict", "`repro/` contains a different text with this name", "pass the text in `repro/`, or rename yours";
    NO_NUMBERS = "draft::no-numbers", "the text contains no numbers", "pass a text with numbers";
}

/// A request for a draft.
#[derive(Debug)]
pub struct DraftRequest<'a> {
    /// The project.
    pub root: &'a Path,
    /// The name of the post.
    pub id: &'a str,
    /// The text, and its path seen from the post file.
    pub text: Source,
    pub text_name: &'a str,
    /// Bundles and folders of bundles; all of the project if there are none.
    pub evidence: &'a [PathBuf],
    /// The post as it is, where it is updated.
    pub before: Option<String>,
    pub threads: usize,
}

/// A number that is bound or open.
#[derive(Debug, Clone, PartialEq)]
pub struct DraftedNumber {
    pub line: usize,
    pub printed: String,
    /// Its binding; none if it is open.
    pub expression: Option<String>,
    /// Equally likely bindings.
    pub others: Vec<String>,
    /// Where it is open: what comes nearest, and its value.
    pub nearest: Option<(String, f64)>,
}

/// A draft.
#[derive(Debug)]
pub struct Draft {
    /// The post file.
    pub post: String,
    /// The numbers of sentences, in the order of the text; those of tables are in `tables`.
    pub numbers: Vec<DraftedNumber>,
    /// The columns of tables that are bound, with their expressions and the rows that they do not fit.
    pub columns: Vec<(String, Vec<String>, Vec<String>)>,
    /// The columns that are open.
    pub open_columns: Vec<String>,
    /// How many statements were confirmed before.
    pub confirmed: usize,
    /// How many numbers the text has, and how many of them the post binds now.
    pub total: usize,
    pub bound: usize,
    /// How many expressions were tried, and how many were not as that is more than is done for one draft.
    pub tried: usize,
    pub left_out: usize,
    /// Whether so much was done that numbers were left open.
    pub has_ended_early: bool,
}

/// Drafts a post.
pub fn draft(request: &DraftRequest<'_>) -> Result<Draft, Vec<Error>> {
    let one = |error: Error| vec![error];
    let at_hand = TextAtHand::of(&request.text).map_err(one)?;
    let text = at_hand.text();
    if quote::items(text).is_empty() {
        let place = Location::file(request.text.name());
        return Err(vec![NO_NUMBERS.at(place, "a text with numbers", "none")]);
    }
    let work = Work::of_a_post();
    let arms = concerned(arms_below(request.root, request.evidence)?, text, &work);
    let mut evidence = DraftEvidence::load(request.root, arms, request.threads)?;
    let page = parsed(TRIED, evidence::head(&evidence.arms))?;
    let candidates = candidates(&evidence, &page, request.threads, &work).map_err(one)?;
    evidence.label(&candidates.all);
    let before = request.before.as_deref().map(WrittenPost::of).unwrap_or_default();
    let names = evidence::names(&evidence.arms);
    let head = self::head(request, &before, at_hand.text(), &names);
    let page = parsed(request.id, head.clone())?;
    let source = page.texts.first();
    let texts: TextsAtHand =
        source.map(|source| (source.id.clone(), at_hand)).into_iter().collect();
    let (Some(source), Some(TextAtHand { seen, .. })) = (source, texts.values().next()) else {
        return Err(vec![NONE_NAMED.at(page.place(), "the text of the post", "none")]);
    };
    let kept = before.confirmed().collect::<String>();
    let (library, threads) = (evidence.library(), request.threads);
    let trial =
        TriedPost { id: request.id, head: &head, library, texts: &texts, threads, work: &work };
    let drafting =
        Drafting { trial, evidence: &evidence, candidates: &candidates, source, seen, kept: &kept };
    let mut draft = drafting.draft(before.confirmed().count())?;
    let names = evidence::used_names(&evidence.arms, &draft.post);
    let head = self::head(request, &before, seen.text(), &names);
    draft.post = format!("{}\n\n{}", head.trim_end(), draft.post);
    Ok(draft)
}

/// The head of the post: that of before with the names that it lacks, or a new one.
fn head(request: &DraftRequest<'_>, before: &WrittenPost, text: &str, names: &str) -> String {
    if !before.head.is_empty() {
        return with_names(&before.head, names);
    }
    let heading = text.lines().find_map(|line| line.strip_prefix("# "));
    new_head(request.id, heading.unwrap_or(request.id).trim(), request.text_name, names)
}

/// The inputs of a draft.
struct Drafting<'d> {
    /// The post as it is so far.
    trial: TriedPost<'d>,
    evidence: &'d DraftEvidence,
    candidates: &'d Candidates,
    /// The text in the post,
    source: &'d TextSource,
    /// and what readers see of it.
    seen: &'d Source,
    kept: &'d str,
}

/// A drafted statement with the comments above it.
struct DraftedStatement {
    comments: Vec<String>,
    text: String,
    /// Where it is in the text.
    at: usize,
    /// The same for each of its numbers alone.
    parts: Vec<DraftedStatement>,
}

impl DraftedStatement {
    /// Whether it may are in a post: a sentence where all of it is verified. The columns of a table were chosen so.
    fn holds(&self, verdicts: &[Verdict]) -> bool {
        let is_table = self.text.starts_with("[[table]]");
        let is_verified = |verdict: &Verdict| *verdict == Verdict::Verified;
        !verdicts.is_empty() && (is_table || verdicts.iter().all(is_verified))
    }
}

/// A column whose template is not settled.
struct OpenColumn {
    /// Its table, by its place in the list.
    table: usize,
    column: tables::ColumnDraft,
    /// The template that holds, once one does.
    template: Option<usize>,
}

impl OpenColumn {
    /// Whether a template holds by the verdicts on the cells.
    fn holds(&self, rank: usize, verdicts: &[Verdict]) -> bool {
        let count = |wanted: Verdict| verdicts.iter().filter(|found| **found == wanted).count();
        let parts = self.column.templates.get(rank).map_or(1, |template| template.len().max(1));
        count(Verdict::Verified) > 0 && count(Verdict::Refuted) <= self.column.misfits.len() * parts
    }
}

impl Drafting<'_> {
    fn draft(&self, confirmed: usize) -> Result<Draft, Vec<Error>> {
        let text = self.seen.text();
        let of_text = DraftText::of(text);
        let mut taken = self.taken()?;
        taken.sort_by_key(|span| span.start);
        // Numbers do not overlap each other, so the last that begins before the end of a stretch ends last.
        let is_free = |span: &Range<usize>| {
            let before = taken.partition_point(|known| known.start < span.end);
            taken
                .get(..before)
                .and_then(|known| known.last())
                .is_none_or(|known| known.end <= span.start)
        };
        let free_tables = of_text.tables.iter().filter(|table| is_free(&table.span));
        let mut bound_tables = Vec::new();
        let mut sentences = of_text.sentences.clone();
        for table in free_tables {
            match tables::bind(table, &self.evidence.arms, &self.candidates.all, self.trial.work) {
                Some(bound) => bound_tables.push((table.span.start, bound)),
                None if tables::is_of_arms(table, &self.evidence.arms) => {}
                None => sentences.extend(table.sentences(text)),
            }
        }
        sentences.retain(|sentence| sentence.items.iter().any(|item| is_free(&item.span)));
        sentences.sort_by_key(|sentence| sentence.span.start);
        let bindings =
            bound::bind(text, &sentences, &self.candidates.all, self.evidence, &self.trial)?;
        let mut statements = Vec::new();
        let mut numbers = Vec::new();
        let starts = line_starts(text);
        for (sentence, bindings) in std::iter::zip(&sentences, &bindings) {
            for (item, binding) in std::iter::zip(&sentence.items, bindings) {
                if is_number(item) && is_free(&item.span) {
                    numbers.push(DraftedNumber {
                        line: starts.partition_point(|start| *start <= item.span.start),
                        printed: item.text(text).to_owned(),
                        expression: binding.expression.clone(),
                        others: binding.others.clone(),
                        nearest: binding.nearest.clone(),
                    });
                }
            }
            let free = |at: usize| sentence.items.get(at).is_some_and(|item| is_free(&item.span));
            statements.extend(quotes(text, sentence, bindings, &free));
        }
        self.settle(&mut bound_tables);
        statements.extend(bound_tables.iter().map(|(at, table)| of_table(*at, table)));
        statements.sort_by_key(|statement| statement.at);
        let statements = self.holding(statements)?;
        self.finished(&statements, numbers, &bound_tables, confirmed)
    }

    /// The stretches of the text that confirmed statements are about.
    fn taken(&self) -> Result<Vec<Range<usize>>, Vec<Error>> {
        if self.kept.is_empty() {
            return Ok(Vec::new());
        }
        let coverage = self.coverage(self.kept)?;
        let bound = coverage.numbers.into_iter().filter(|number| !number.is_unbound());
        Ok(bound.map(|number| number.span).collect())
    }

    /// Which numbers of the text some statements bind.
    fn coverage(&self, statements: &str) -> Result<Coverage, Vec<Error>> {
        let page = self.trial.page(statements)?;
        covered(&page, self.source, self.seen).map_err(|error| vec![error])
    }

    /// Takes for each column the first template that some row bears out and no other row of those that fit refutes. Of all columns the
    /// first templates are judged together, then the second ones of those that are open.
    fn settle(&self, tables: &mut Vec<(usize, BoundTable)>) {
        let mut open = Vec::new();
        for (at, (_, table)) in tables.iter_mut().enumerate() {
            let columns = std::mem::take(&mut table.columns);
            open.extend(columns.into_iter().map(|column| OpenColumn {
                table: at,
                column,
                template: None,
            }));
        }
        let most = open.iter().map(|one| one.column.templates.len()).max().unwrap_or_default();
        for rank in 0..most {
            let alone = |one: &OpenColumn| {
                let (_, table) = tables.get(one.table).filter(|_| one.template.is_none())?;
                let templates = vec![one.column.templates.get(rank)?.clone()];
                let column = tables::ColumnDraft { templates, ..one.column.clone() };
                Some(BoundTable { columns: vec![column], ..table.clone() }.written())
            };
            let written: Vec<_> = open.iter().map(alone).collect();
            let mut verdicts = self.verdicts_apart(&written).into_iter();
            for one in &mut open {
                if verdicts.next().is_some_and(|verdicts| one.holds(rank, &verdicts)) {
                    one.template = Some(rank);
                }
            }
        }
        for OpenColumn { table, mut column, template } in open {
            let Some((_, table)) = tables.get_mut(table) else { continue };
            match template {
                Some(first) => {
                    column.templates.swap(0, first);
                    table.columns.push(column);
                }
                None => table.open.push(column.head),
            }
        }
        tables.retain(|(_, table)| !table.columns.is_empty());
    }

    /// The verdicts on statements of which some may be refused, as a table with a row twice is; none on those, and where there is no
    /// statement. So many are judged at once that a post may have them.
    fn verdicts_apart(&self, statements: &[Option<String>]) -> Vec<Vec<Verdict>> {
        let mut all = vec![Vec::new(); statements.len()];
        let is_read = |statement: &String| {
            self.trial.work.looks_through(self.trial.head);
            !self.trial.work.is_spent() && self.trial.page(statement).is_ok()
        };
        let known = statements.iter().enumerate();
        let known = known.filter_map(|(at, statement)| Some((at, statement.as_ref()?)));
        let (places, texts): (Vec<_>, Vec<_>) =
            known.filter(|(_, text)| is_read(text)).map(|(at, text)| (at, text.clone())).unzip();
        let verdicts = self.trial.verdicts(&texts).unwrap_or_default();
        for (at, verdicts) in std::iter::zip(places, verdicts) {
            all[at] = verdicts;
        }
        all
    }

    /// The statements that are verified in their words. Where one is not as a whole, each of its numbers is quoted in its own
    /// clause; what does not hold there is left open.
    fn holding(
        &self,
        statements: Vec<DraftedStatement>,
    ) -> Result<Vec<DraftedStatement>, Vec<Error>> {
        let texts = statements.iter().map(|statement| statement.text.clone());
        let verdicts = self.trial.verdicts(&texts.collect::<Vec<_>>())?;
        let (mut held, mut parts) = (Vec::new(), Vec::new());
        for (statement, verdicts) in std::iter::zip(statements, verdicts) {
            match statement.holds(&verdicts) {
                true => held.push(statement),
                false => parts.extend(statement.parts),
            }
        }
        let texts = parts.iter().map(|part| part.text.clone());
        let verdicts = self.trial.verdicts(&texts.collect::<Vec<_>>())?;
        let parts = std::iter::zip(parts, verdicts);
        held.extend(parts.filter(|(part, verdicts)| part.holds(verdicts)).map(|(part, _)| part));
        held.sort_by_key(|statement| statement.at);
        Ok(held)
    }

    fn finished(
        &self,
        statements: &[DraftedStatement],
        mut numbers: Vec<DraftedNumber>,
        tables: &[(usize, BoundTable)],
        confirmed: usize,
    ) -> Result<Draft, Vec<Error>> {
        let mut drafted = String::new();
        for statement in statements {
            drafted.push_str(&format!("\n{DRAFTED}\n"));
            for comment in &statement.comments {
                drafted.push_str(&format!("# {comment}\n"));
            }
            drafted.push_str(&statement.text);
        }
        let kept = self.kept.trim_end();
        let kept = if kept.is_empty() { String::new() } else { format!("{kept}\n") };
        let body = format!("{kept}{drafted}");
        let coverage = self.coverage(&body)?;
        let (bound, excused, unbound) = coverage.counts();
        // A number whose statement did not hold in the end is open.
        let left: Vec<_> = coverage.numbers.iter().filter(|one| one.is_unbound()).collect();
        let open: HashSet<_> = left.iter().map(|one| (one.line, one.text.as_str())).collect();
        for number in &mut numbers {
            if open.contains(&(number.line, number.printed.as_str())) {
                number.expression = None;
            }
        }
        let mut drafted_there = HashMap::new();
        for one in &numbers {
            drafted_there.entry((one.line, one.printed.as_str())).or_insert(one);
        }
        let open = left.iter().map(|number| {
            let known = drafted_there.get(&(number.line, number.text.as_str()));
            let nearest = known.and_then(|one| one.nearest.as_ref());
            let nearest =
                nearest.map(|(expression, value)| format!("; nearest: {expression} is {value:.6}"));
            format!(
                "# open: {} (line {}){}\n",
                number.text,
                number.line,
                nearest.unwrap_or_default()
            )
        });
        let open: String = open.collect();
        let open = if open.is_empty() { open } else { format!("\n{open}") };
        let columns = tables.iter().flat_map(|(_, table)| &table.columns);
        let columns = columns.map(|column| {
            let first = column.templates.first().cloned().unwrap_or_default();
            (column.head.clone(), first, column.misfits.clone())
        });
        Ok(Draft {
            post: format!("{}{open}", body.trim_start_matches('\n')),
            numbers,
            columns: columns.collect(),
            open_columns: tables.iter().flat_map(|(_, table)| table.open.clone()).collect(),
            confirmed,
            total: bound + excused + unbound,
            bound,
            tried: self.candidates.all.len(),
            left_out: self.candidates.left_out,
            has_ended_early: self.trial.work.is_spent(),
        })
    }
}

/// A table as a statement.
fn of_table(at: usize, table: &BoundTable) -> DraftedStatement {
    let mut comments = Vec::new();
    for column in &table.columns {
        if let Some((_, others)) =
            column.templates.split_first().filter(|(_, others)| !others.is_empty())
        {
            let others: Vec<_> = others.iter().map(|one| one.join(", ")).collect();
            comments.push(format!("{}: also {}", column.head, others.join("; ")));
        }
        if !column.misfits.is_empty() {
            comments.push(format!("{}: does not match {}", column.head, column.misfits.join(", ")));
        }
    }
    comments.extend(table.open.iter().map(|head| format!("open: the column {head}")));
    DraftedStatement { comments, text: table.written(), at, parts: Vec::new() }
}

/// The statements of a sentence: each quotes as many of its words as have no number that is open.
fn quotes(
    text: &str,
    sentence: &DraftSentence,
    bindings: &[DraftBinding],
    is_free: &dyn Fn(usize) -> bool,
) -> Vec<DraftedStatement> {
    let mut statements = Vec::new();
    let mut start = sentence.span.start;
    let mut run: Vec<(usize, &DraftBinding)> = Vec::new();
    let mut flush = |run: &mut Vec<(usize, &DraftBinding)>, span: Range<usize>| {
        if !run.is_empty() {
            let mut whole = statement(text, sentence, run, trimmed(text, span));
            if let Some(whole) = whole.as_mut().filter(|_| run.len() > 1) {
                let alone = |one: &(usize, &DraftBinding)| {
                    statement(text, sentence, &[*one], clause(text, sentence, one.0))
                };
                whole.parts = run.iter().filter_map(alone).collect();
            }
            statements.extend(whole);
            run.clear();
        }
    };
    for (at, (item, binding)) in std::iter::zip(&sentence.items, bindings).enumerate() {
        if binding.expression.is_some() && is_free(at) {
            run.push((at, binding));
            continue;
        }
        flush(&mut run, start..item.span.start);
        start = item.span.end;
    }
    flush(&mut run, start..sentence.span.end);
    statements
}

fn statement(
    text: &str,
    sentence: &DraftSentence,
    run: &[(usize, &DraftBinding)],
    span: Range<usize>,
) -> Option<DraftedStatement> {
    let quote = quoted(text, &span);
    let is = run.iter().filter_map(|(_, binding)| binding.expression.as_deref());
    let comments =
        run.iter().filter(|(_, binding)| !binding.others.is_empty()).filter_map(|(at, binding)| {
            let number = sentence.items.get(*at)?.text(text);
            Some(format!("ambiguous: {number} is also {}", binding.others.join("; ")))
        });
    let place = if sentence.place.is_empty() { "at the beginning" } else { &sentence.place };
    Some(DraftedStatement {
        comments: comments.collect(),
        text: sentence_statement(place, &quote, is),
        at: span.start,
        parts: Vec::new(),
    })
}
