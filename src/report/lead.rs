//! The lead of every format: the verdict on a post, the contradicted sentences, the central claim, and which sentences belong
//! together.

use anstyle::Style;

use crate::fact_table::FactTable;
use crate::folded::{ToldTogether, clusters, told_together};
use crate::layout::{claim_mark, mark, rank};
use crate::meaning::FactRow;
use crate::outcome::{ClaimReport, Impact, PostReport, Verdict, VerdictCounts};
use crate::visible::prose;
use crate::wording::{self, Remarks};

/// Codes of open claims whose words have several readings, or would need a premise.
const MEANT: [&str; 2] = ["sentence::premise", "sentence::readings-differ"];

/// The verdict on the post, short enough to be repeated.
pub(super) fn headline(post: &PostReport, is_refused: bool) -> String {
    let refuted = wording::ranked(post, Verdict::Refuted);
    let (differing, sure): (Vec<_>, Vec<_>) =
        told_together(&refuted).into_iter().partition(|told| told.first.differs().is_some());
    let counts = VerdictCounts::of(&post.claims);
    let open = counts.inconclusive + counts.unchecked;
    let differ = if differing.len() == 1 { "differs" } else { "differ" };
    let told = |told: &[ToldTogether<'_>], what: &str| {
        let claims: usize = told.iter().map(|one| one.claims().count()).sum();
        let claims = match claims == told.len() {
            true => String::new(),
            false => format!(" ({claims} claims)"),
        };
        format!("{} {what}{claims}", wording::many(told.len(), "statement"))
    };
    let mut parts = Vec::new();
    if is_refused {
        parts.push("part of its file cannot be used".to_owned());
    }
    if !sure.is_empty() {
        parts.push(told(&sure, "contradicted"));
    }
    if !differing.is_empty() {
        parts.push(told(&differing, differ));
    }
    if parts.is_empty() {
        parts.push(match (counts.total(), open) {
            (0, _) => "nothing was checked".to_owned(),
            (1, 0) => "its claim follows from the evidence".to_owned(),
            (all, 0) => format!("all {all} claims follow from the evidence"),
            _ => {
                let told = |count, what| (count > 0).then(|| format!(", {count} {what}"));
                let open = told(counts.inconclusive, "open").unwrap_or_default();
                let left = told(counts.unchecked, "not checked").unwrap_or_default();
                format!("nothing contradicted{open}{left}")
            }
        });
    }
    if let Some(central) = central(post) {
        parts.push(format!("the central claim {}", central.in_short()));
    }
    parts.join(" · ")
}

/// The central claim of a post, and its verdict.
pub(super) struct CentralFate<'r> {
    pub claims: Vec<&'r ClaimReport>,
    pub worst: &'r ClaimReport,
    /// Whether it was tested, in words.
    pub fate: String,
}

impl CentralFate<'_> {
    /// Its verdict, after "the central claim".
    fn in_short(&self) -> &'static str {
        match self.worst.outcome.verdict {
            Verdict::Verified => "holds",
            Verdict::Refuted if self.claims.iter().all(|claim| claim.differs().is_some()) => {
                "differs"
            }
            Verdict::Refuted => "is contradicted",
            Verdict::Inconclusive => "is open",
            Verdict::Unchecked => "is untested",
        }
    }
}

/// The central claims by the post file; none if the file has none.
pub(super) fn central(post: &PostReport) -> Option<CentralFate<'_>> {
    let claims = central_claims(post);
    let worst = *claims.iter().max_by_key(|claim| rank(claim.outcome.verdict))?;
    let fate = match worst.outcome.verdict {
        Verdict::Verified => format!("holds: {}", wording::assurance(&claims)),
        Verdict::Refuted => "does not hold: see above".to_owned(),
        Verdict::Inconclusive => "cannot be decided".to_owned(),
        Verdict::Unchecked => "was not tested".to_owned(),
    };
    Some(CentralFate { claims, worst, fate })
}

/// The open claims whose words have several readings or would need a premise, and the others.
pub(super) fn by_meaning(post: &PostReport) -> (Vec<&ClaimReport>, Vec<&ClaimReport>) {
    let code_of = |claim: &ClaimReport| claim.outcome.code.map_or("", |code| code.id);
    let claims = wording::ranked(post, Verdict::Inconclusive).into_iter();
    claims.partition(|claim| MEANT.contains(&code_of(claim)))
}

/// The claims that state what a post stands on, where its file says so.
pub(super) fn central_claims(post: &PostReport) -> Vec<&ClaimReport> {
    post.claims.iter().filter(|claim| is_of(claim, &post.central)).collect()
}

/// The mark of the worst that became of a post.
pub(super) fn mark_of(post: &PostReport, is_refused: bool) -> (&'static str, Style) {
    let counts = VerdictCounts::of(&post.claims);
    let differing = post.claims.iter().find(|claim| claim.differs().is_some());
    let is_questioned = post.claims.iter().any(ClaimReport::is_questioned);
    match differing {
        _ if is_refused || counts.refuted > counts.differing => mark(Verdict::Refuted),
        Some(claim) => claim_mark(claim),
        None if is_questioned => ("!", mark(Verdict::Inconclusive).1),
        None if counts.verified < counts.total() || counts.total() == 0 => {
            mark(Verdict::Inconclusive)
        }
        None => mark(Verdict::Verified),
    }
}

/// Sentences with one reason or the same values.
pub(super) struct Block<'a> {
    pub told: Vec<ToldTogether<'a>>,
    pub tables: Vec<FactTable>,
}

impl Block<'_> {
    /// Why they are where they are, unless the values show it, and what the author notes.
    pub fn words(&self) -> Vec<String> {
        let Some(told) = self.told.first() else { return Vec::new() };
        let reasons = told.by_reason();
        let reasons = reasons.iter().filter(|_| self.tables.is_empty());
        let reasons = reasons.map(|claims| reason_of(claims[0]));
        reasons.chain(told.notes().into_iter().map(str::to_owned)).collect()
    }

    /// The sort key of a block: contradictions of one reading first, then blocks with values, then short ones.
    pub fn effort(&self) -> (bool, bool, usize) {
        let has_reverse = self.tables.iter().any(FactTable::has_reverse);
        let lines: usize = self.tables.iter().map(FactTable::height).sum();
        (!has_reverse, self.tables.is_empty(), lines + self.told.len())
    }
}

/// Claims in blocks: sentences with one reason or one note, or whose values are all among those of another, stand together.
pub(super) fn blocks<'r>(remarks: &Remarks<'_>, claims: &[&'r ClaimReport]) -> Vec<Block<'r>> {
    let mut blocks: Vec<Block> = Vec::new();
    for told in clusters(remarks, told_together(claims)) {
        let rows = told.iter().flat_map(ToldTogether::claims).flat_map(rows_of);
        let tables = FactTable::all(rows);
        let is_within = |own: &[FactTable], others: &[FactTable]| {
            !own.is_empty()
                && own.iter().all(|one| others.iter().any(|other| one.is_part_of(other)))
        };
        let premise =
            |told: &[ToldTogether]| told.first().map(|one| one.first.meaning.premise.clone());
        // What the author says of several sentences in one note is one thing.
        let note = |told: &[ToldTogether<'_>]| {
            told.first().map(|one| one.first.note.clone()).filter(|note| !note.is_empty())
        };
        let has_same = |block: &&mut Block| {
            premise(&told) == premise(&block.told)
                && (note(&told).is_some_and(|own| note(&block.told) == Some(own))
                    || is_within(&tables, &block.tables)
                    || is_within(&block.tables, &tables))
        };
        match blocks.iter_mut().find(has_same) {
            Some(block) => {
                block.told.extend(told);
                let rows = block.told.iter().flat_map(ToldTogether::claims).flat_map(rows_of);
                block.tables = FactTable::all(rows);
            }
            None => blocks.push(Block { told, tables }),
        }
    }
    blocks
}

/// Why a claim came to its verdict, without the premise, which is told by itself.
pub(super) fn reason_of(claim: &ClaimReport) -> String {
    let (reason, premise) = (prose(&claim.outcome.reason), prose(&claim.meaning.premise));
    match reason.split_once(&format!("({premise}): ")).filter(|_| !premise.is_empty()) {
        Some((_, reason)) => reason.to_owned(),
        None => reason,
    }
}

pub(super) fn rows_of(claim: &ClaimReport) -> &[FactRow] {
    claim.meaning.fact.as_ref().map_or(&[], |fact| fact.rows.as_slice())
}

/// Whether a claim is of a sentence that states what the post stands on.
fn is_of(claim: &ClaimReport, central: &[String]) -> bool {
    let is_named = |id: &String| {
        claim
            .id
            .strip_prefix(id.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    central.iter().any(is_named)
}

/// The refuted claims: those that change a decision first, then by the size of the error.
pub(super) fn by_weight(post: &PostReport) -> Vec<&ClaimReport> {
    let mut claims = wording::ranked(post, Verdict::Refuted);
    claims.sort_by(|a, b| {
        let key = |claim: &ClaimReport| {
            (claim.impact != Impact::Decision, error_of(claim).unwrap_or(f64::MAX))
        };
        let ((a, off), (b, other)) = (key(a), key(b));
        a.cmp(&b).then(other.total_cmp(&off))
    });
    claims
}

/// The relative error of a printed number; none for a claim that prints none.
pub(super) fn error_of(claim: &ClaimReport) -> Option<f64> {
    let off = claim.outcome.measured.iter().filter_map(|one| {
        let (claimed, value) = (one.claimed?, one.value?);
        (value != 0.0).then(|| ((claimed - value) / value).abs())
    });
    off.reduce(f64::max)
}
