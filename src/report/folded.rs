//! Claims told together: those of one sentence, and sentences that came to one outcome for one reason;
//! and what is wrong with a post, in one sentence.

use std::collections::HashMap;

use repro_core::source::Code;

use crate::outcome::{ClaimReport, Impact, PostReport, Verdict, VerdictCounts};
use crate::visible::{clipped, prose, visible};
use crate::wording::{self, Remarks};

/// The most characters of a reason in a sentence.
const REASON_LIMIT: usize = 160;
/// The most characters of a quote in a sentence.
const QUOTE_LIMIT: usize = 120;

/// Claims with one verdict on one sentence of the text.
#[derive(Debug, Clone)]
pub(super) struct ToldTogether<'a> {
    /// The first of them.
    pub first: &'a ClaimReport,
    /// The others, in the order of the post.
    pub others: Vec<&'a ClaimReport>,
}

impl<'a> ToldTogether<'a> {
    /// All its claims.
    pub(super) fn claims(&self) -> impl Iterator<Item = &'a ClaimReport> {
        std::iter::once(self.first).chain(self.others.iter().copied())
    }

    /// The words of the text, whole; those of a claim that quotes nothing are its number, or its name.
    pub(super) fn title(&self) -> String {
        let claim = self.first;
        match (claim.quote.trim(), claim.claimed.is_empty()) {
            ("", true) => visible(&claim.id),
            ("", false) => format!("{}: \"{}\"", visible(&claim.id), prose(&claim.claimed)),
            (quote, _) => format!("\"{}\"", prose(quote)),
        }
    }

    /// Its place in the text.
    pub(super) fn place(&self) -> String {
        let at = self.first.at.as_ref();
        at.map_or_else(String::new, |(_, place)| prose(place))
    }

    /// Its claims, those with one reason together.
    pub(super) fn by_reason(&self) -> Vec<Vec<&'a ClaimReport>> {
        let mut groups: Vec<Vec<&ClaimReport>> = Vec::new();
        for claim in self.claims() {
            let same = |group: &&mut Vec<&ClaimReport>| {
                group.first().is_some_and(|first| reason(first) == reason(claim))
            };
            match groups.iter_mut().find(same) {
                Some(group) => group.push(claim),
                None => groups.push(vec![claim]),
            }
        }
        groups
    }

    /// The notes of the author of the post, each once.
    pub(super) fn notes(&self) -> Vec<&'a str> {
        let mut notes: Vec<&str> = Vec::new();
        for note in self.claims().map(|claim| claim.note.trim()) {
            if !note.is_empty() && !notes.contains(&note) {
                notes.push(note);
            }
        }
        notes
    }
}

fn reason(claim: &ClaimReport) -> (&str, Option<&str>) {
    (&claim.outcome.reason, claim.outcome.code.map(|code| code.id))
}

/// Claims on one sentence together, in the order of the first claim of each.
pub(super) fn told_together<'a>(claims: &[&'a ClaimReport]) -> Vec<ToldTogether<'a>> {
    let mut groups: Vec<ToldTogether> = Vec::new();
    let mut known = HashMap::new();
    for &claim in claims {
        // What quotes nothing stands alone.
        let key = (!claim.quote.trim().is_empty()).then_some((&claim.quote, &claim.at));
        match key.and_then(|key| known.get(&key).copied()) {
            Some(at) => {
                let told: &mut ToldTogether = &mut groups[at];
                told.others.push(claim);
            }
            None => {
                known.extend(key.map(|key| (key, groups.len())));
                groups.push(ToldTogether { first: claim, others: Vec::new() });
            }
        }
    }
    groups
}

/// Sentences of which the same is said, together, in the order of the first of each.
pub(super) fn clusters<'a>(
    remarks: &Remarks,
    groups: Vec<ToldTogether<'a>>,
) -> Vec<Vec<ToldTogether<'a>>> {
    let mut clusters: Vec<Vec<ToldTogether>> = Vec::new();
    let mut known: HashMap<Vec<_>, usize> = HashMap::new();
    for told in groups {
        let mut key: Vec<_> = told.by_reason().iter().map(|group| reason(group[0])).collect();
        key.sort_unstable();
        let says_nothing = key.iter().all(|(reason, _)| reason.is_empty());
        let has_more = told.claims().any(|claim| !remarks.on(&claim.id).is_empty());
        match known.get(&key).filter(|_| !says_nothing && !has_more) {
            Some(&at) => clusters[at].push(told),
            None => {
                if !has_more {
                    known.insert(key, clusters.len());
                }
                clusters.push(vec![told]);
            }
        }
    }
    clusters
}

/// How many claims have which code, the most frequent first.
pub(super) fn by_code(claims: &[&ClaimReport]) -> Vec<(&'static Code, usize)> {
    let mut counts: Vec<(&'static Code, usize)> = Vec::new();
    for code in claims.iter().filter_map(|claim| claim.outcome.code) {
        match counts.iter_mut().find(|(known, _)| known.id == code.id) {
            Some((_, count)) => *count += 1,
            None => counts.push((code, 1)),
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

/// What is wrong with a post, in one sentence; and, where that is more than one statement, the others.
pub(super) struct Wrong {
    /// The sentence.
    pub sentence: String,
    /// Further statements that do not hold, with their places.
    pub others: Vec<String>,
    /// What is open, by reason.
    pub open: String,
}

/// How many further statements are named.
const NAMED: usize = 5;
/// How many reasons for open claims are named.
const REASONS: usize = 3;

/// What is wrong with a post.
pub(super) fn wrong(post: &PostReport) -> Wrong {
    let refuted = wording::ranked(post, Verdict::Refuted);
    let all = told_together(&refuted);
    let changing = all.iter().filter(|one| one.first.impact == Impact::Decision).count();
    let mut others: Vec<_> = all.iter().skip(1).take(NAMED).map(short).collect();
    if let Some(more) = all.len().checked_sub(NAMED + 1).filter(|more| *more > 0) {
        others.push(format!("{more} more"));
    }
    let sentence = match all.first() {
        None => nothing_refuted(post, VerdictCounts::of(&post.claims)),
        Some(worst) => {
            let is_sure = |one: &&ToldTogether| one.first.differs().is_none();
            let sure = all.iter().filter(is_sure).count();
            let what = what_is_wrong(sure, all.len() - sure, worst.first.differs());
            let weight = match changing {
                0 => "; no decision changes".to_owned(),
                _ if changing == all.len() => String::new(),
                1 => "; with one of them a decision changes".to_owned(),
                _ => format!("; with {changing} of them a decision changes"),
            };
            let why = clipped(&prose(&worst.first.outcome.reason), REASON_LIMIT);
            format!("{what}{weight}. {}: {why}", short(worst))
        }
    };
    Wrong { sentence, others, open: open(post) }
}

/// "2 statements do not hold", or how many only differ from the evidence, by bindings that nobody has confirmed.
fn what_is_wrong(sure: usize, differing: usize, doubt: Option<&str>) -> String {
    let statements = wording::many(sure, "statement");
    let verb = if sure == 1 { "does" } else { "do" };
    let differ = if differing == 1 { "differs" } else { "differ" };
    match (sure, differing) {
        (_, 0) => format!("{statements} {verb} not hold"),
        (0, _) => {
            let statements = wording::many(differing, "statement");
            let why = doubt.map(|why| format!(" ({why})")).unwrap_or_default();
            format!("{statements} {differ} from the evidence{why}")
        }
        _ => format!("{statements} {verb} not hold, {differing} {differ} from the evidence"),
    }
}

/// The words of a statement and their place.
fn short(one: &ToldTogether) -> String {
    let title = clipped(&one.title(), QUOTE_LIMIT);
    match one.place() {
        place if place.is_empty() => title,
        place => format!("{title} ({place})"),
    }
}

/// Why claims are open, the most frequent reasons first; empty where none is.
fn open(post: &PostReport) -> String {
    let claims = wording::ranked(post, Verdict::Inconclusive);
    let reasons = by_code(&claims);
    let told: Vec<_> = reasons
        .iter()
        .take(REASONS)
        .map(|(code, count)| format!("{} ({count})", code.meaning))
        .collect();
    match (told.is_empty(), reasons.len() > REASONS) {
        (true, _) => String::new(),
        (false, true) => format!("open: {}, and others", told.join("; ")),
        (false, false) => format!("open: {}", told.join("; ")),
    }
}

/// How far a post without a fault is without one: what of its texts it does not bind.
fn left_out(post: &PostReport) -> (&'static str, String) {
    let unbound: usize = post.texts.iter().map(|text| text.unbound.len()).sum();
    if post.texts.iter().any(|text| !text.is_at_hand) {
        return ("is refuted", "; the text was not there to look its quotes up".to_owned());
    }
    match (unbound, wording::excused(post)) {
        (0, None) => ("is wrong", String::new()),
        (0, Some(left)) => ("that is claimed is wrong", format!("; {left} left without a claim")),
        (unbound, _) => (
            "that is bound is wrong",
            format!("; {} bound to nothing", wording::many(unbound, "number")),
        ),
    }
}

/// How many claims of a post without a fault are disputed, or have a lint that nobody has answered.
fn questions(post: &PostReport) -> String {
    let lints = post.claims.iter().filter(|claim| claim.meaning.is_questioned()).count();
    let disputes = post.claims.iter().filter(|claim| claim.is_disputed()).count();
    let told = |count: usize, noun: &str, what: &str| match count {
        0 => String::new(),
        _ => format!("; {} {what}", wording::many(count, noun)),
    };
    told(lints, "claim", "with a lint that nobody has answered")
        + &told(disputes, "claim", "disputed by a reviewer")
}

fn nothing_refuted(post: &PostReport, counts: VerdictCounts) -> String {
    let open: Vec<_> = [Verdict::Inconclusive, Verdict::Unchecked]
        .into_iter()
        .flat_map(|verdict| wording::ranked(post, verdict))
        .collect();
    match (by_code(&open).first(), counts.total()) {
        (_, 0) => "Nothing was checked".to_owned(),
        (None, all) => {
            // What a post multiplies by decides as much as its evidence.
            let own = wording::own_numbers(post).map(|own| format!(", with the post's own {own}"));
            let own = own.unwrap_or_default();
            let claims = if all == 1 {
                "its claim follows".to_owned()
            } else {
                format!("all {all} claims follow")
            };
            let (what, rest) = left_out(post);
            let drafts = match post.drafted {
                0 => String::new(),
                1 => "; 1 statement is a draft that nobody has confirmed".to_owned(),
                many => format!("; {many} statements are drafts that nobody has confirmed"),
            };
            let questions = questions(post);
            format!("Nothing {what}: {claims} from the evidence{own}{rest}{drafts}{questions}")
        }
        (Some((code, count)), _) => format!(
            "Nothing is refuted; {} cannot be decided, {count} of them because {}",
            wording::many(open.len(), "claim"),
            code.meaning
        ),
    }
}
