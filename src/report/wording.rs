//! The wording of claims, the same in every format for people.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::meaning::TokenReading;
use crate::outcome::{
    ChallengeReport, ClaimReport, Definition, EvidenceOrigin, Finding, Impact, LockDifference,
    Method, PinnedBy, PostReport, ReadBy, Referee, TextReport, Verdict, VerdictCounts,
};

use super::visible::{clipped, prose, visible};

/// "5 claims: 3 verified · 2 refuted".
pub(super) fn counts(summary: &VerdictCounts) -> String {
    let parts = verdicts(
        summary,
        &[Verdict::Verified, Verdict::Refuted, Verdict::Inconclusive, Verdict::Unchecked],
    );
    let parts: Vec<_> = parts.iter().map(|(count, word)| format!("{count} {word}")).collect();
    match parts.is_empty() {
        true => "no claims".to_owned(),
        false => format!("{}: {}", many(summary.total(), "claim"), parts.join(" · ")),
    }
}

/// How many claims came to each of some verdicts, without those of which there is none. What nobody has confirmed only differs.
pub(super) fn verdicts(summary: &VerdictCounts, order: &[Verdict]) -> Vec<(usize, &'static str)> {
    let mut parts = Vec::new();
    for verdict in order {
        let count = summary.count(*verdict);
        if *verdict == Verdict::Refuted {
            let differing = summary.differing;
            parts.push((count.saturating_sub(differing), verdict.word()));
            parts.push((differing, if differing == 1 { "differs" } else { "differ" }));
        } else {
            parts.push((count, verdict.word()));
        }
    }
    parts.retain(|(count, _)| *count > 0);
    parts
}

/// The verdict in words for people: "refuted", or "differs (drafted binding, not confirmed)".
pub(super) fn verdict(claim: &ClaimReport) -> String {
    match claim.differs() {
        Some(why) => format!("differs ({why})"),
        None if claim.is_disputed() && claim.is_questioned() => "verified, disputed".to_owned(),
        None if claim.is_questioned() => "verified, lint not answered".to_owned(),
        None => claim.outcome.verdict.word().to_owned(),
    }
}

/// "all 5 verdicts are as recorded: 3 verified · 2 refuted". A refuted claim that was recorded is refuted still.
pub(super) fn as_recorded(summary: &VerdictCounts) -> String {
    let words = match summary.total() {
        0 => return "nothing was checked".to_owned(),
        1 => "the 1 verdict is as recorded".to_owned(),
        total => format!("all {total} verdicts are as recorded"),
    };
    match counts(summary).split_once(": ") {
        Some((_, counts)) => format!("{words}: {counts}"),
        None => words,
    }
}

/// The sentence for a run that ended before its first check.
pub(super) const NOT_JUDGED: &str = "nothing was judged: the run ended before its first check";

/// Names of files or posts in one line.
pub(super) fn named<'n>(names: impl Iterator<Item = &'n str>) -> String {
    names.map(visible).collect::<Vec<_>>().join(", ")
}

/// "1 claim", "2 claims".
pub(super) fn many(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// The draw of a challenge, and how much a pass shows.
pub(super) fn challenge(one: &ChallengeReport) -> String {
    let ChallengeReport { of, drawn, led, evaluated, .. } = one;
    let (seed, source) = (prose(&one.seed), prose(&one.source));
    let random = drawn.saturating_sub(*evaluated);
    let drawn = format!(
        "{drawn} of {of} step ranges were drawn: {evaluated} with an evaluation (always drawn) and {random} from the seed \"{seed}\" ({source}). \
         {led} of them were executed and reproduce the committed state."
    );
    match one.escape {
        None => drawn,
        Some(escape) => format!(
            "{drawn} The best forgery of one step range would escape with a probability of {:.1}%, if nobody knew the seed before the \
             run was sealed.",
            100.0 * escape
        ),
    }
}

/// How many verdicts, quotes, texts and pins are not as the lock file records them.
pub(super) fn entries_differ(count: usize) -> String {
    match count {
        1 => "1 lock entry differs".to_owned(),
        _ => format!("{count} lock entries differ"),
    }
}

/// "transcribed · compared · by author, not reviewed": where the evidence comes from, how it was used, and who says that the words
/// mean it. Of claims that share a line each part is that of the weakest of them.
pub(super) fn assurance(claims: &[&ClaimReport]) -> String {
    let origin = claims.iter().map(|claim| claim.origin).min().flatten();
    let method = claims.iter().map(|claim| claim.outcome.method).min().flatten();
    let evidence = match (origin, method) {
        (Some(origin), Some(method)) => format!("{} · {}", origin.word(), method.word()),
        (Some(origin), None) => format!("{}, not used", origin.word()),
        (None, Some(method)) => method.word().to_owned(),
        (None, None) => "no evidence used".to_owned(),
    };
    let weakest =
        claims.iter().filter(|claim| claim.meaning.read_by.is_some()).min_by_key(|claim| {
            let review = &claim.meaning.review;
            (!claim.is_disputed(), claim.meaning.read_by, !review.evidence_changed)
        });
    match weakest.and_then(|claim| read_by(claim)) {
        Some(reading) => format!("{evidence} · {reading}"),
        None => evidence,
    }
}

/// Who says that the words of a claim mean its fact; none where it binds no words.
pub(super) fn read_by(claim: &ClaimReport) -> Option<String> {
    let review = &claim.meaning.review;
    let mut words = match claim.meaning.read_by? {
        ReadBy::Drafted => "drafted".to_owned(),
        ReadBy::Author if review.is_exempted => "by author, exempt from review".to_owned(),
        ReadBy::Author if claim.meaning.is_audit => "by transcriber, not reviewed".to_owned(),
        ReadBy::Author => "by author, not reviewed".to_owned(),
        ReadBy::Reviewed => format!("reviewed by {}", prose(&review.approved_by.join(", "))),
    };
    if review.evidence_changed {
        words += ", evidence changed since";
    }
    if !review.disputed_by.is_empty() {
        words += ", disputed";
    }
    Some(words)
}

/// How many of some claims were read by whom: "5 by author, not reviewed · 2 reviewed by Ada".
pub(super) fn readers(claims: &[&ClaimReport]) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for words in claims.iter().filter_map(|claim| read_by(claim)) {
        *counts.entry(words).or_default() += 1;
    }
    let parts: Vec<_> = counts.iter().map(|(words, count)| format!("{count} {words}")).collect();
    parts.join(" · ")
}

/// The open questions about a claim: disputes, and lints that nobody has answered.
pub(super) fn questions(claim: &ClaimReport) -> String {
    let disputes = claim.meaning.review.disputed_by.iter();
    let mut parts: Vec<_> = disputes.map(|words| format!("disputed by {}", prose(words))).collect();
    let lints = claim.meaning.unanswered();
    parts.extend(lints.map(|lint| format!("{}: {}", lint.kind.word(), prose(&lint.message))));
    parts.join("; ")
}

/// The claims of which one verdict is told in the same way, in the order of the first of each.
pub(super) fn by_doubt<'a>(
    claims: &[&'a ClaimReport],
) -> Vec<(Option<&'static str>, Vec<&'a ClaimReport>)> {
    let mut groups: Vec<(Option<&'static str>, Vec<&ClaimReport>)> = Vec::new();
    for claim in claims {
        let doubt = claim.differs();
        match groups.iter_mut().find(|(known, _)| *known == doubt) {
            Some((_, group)) => group.push(claim),
            None => groups.push((doubt, vec![claim])),
        }
    }
    groups
}

/// The words for `count` claims verified on this assurance.
pub(super) fn verified_as(
    count: &str,
    origin: Option<EvidenceOrigin>,
    method: Option<Method>,
) -> String {
    let is_typed = origin == Some(EvidenceOrigin::Transcribed);
    let is_declared = origin == Some(EvidenceOrigin::Declared);
    let Some(origin) = origin.map(EvidenceOrigin::word) else {
        return format!("{count} by arithmetic alone");
    };
    match method {
        Some(Method::Compared) if is_typed => format!("{count} compared across documents"),
        Some(Method::Recomputed) if is_declared => {
            format!("{count} recomputed from declared sums")
        }
        Some(Method::Compared) => format!("{count} compared across {origin} evidence"),
        Some(method) => format!("{count} {} from {origin} evidence", method.word()),
        None => format!("{count} from {origin} evidence"),
    }
}

/// The assurance of verified claims: "8 replayed from declared evidence · 9 recomputed from declared sums".
pub(super) fn verified_on(claims: &[&ClaimReport]) -> String {
    let mut assurances: BTreeMap<_, usize> = BTreeMap::new();
    for claim in claims {
        *assurances.entry(Reverse((claim.outcome.method, claim.origin))).or_default() += 1;
    }
    let parts = assurances.iter().map(|(Reverse((method, origin)), count)| {
        verified_as(&count.to_string(), *origin, *method)
    });
    parts.collect::<Vec<_>>().join(" · ")
}

/// Facts about a post that its counts do not show and that a reader has to know, one line each. Every format for people and for CI has them.
pub(super) fn disclosures(post: &PostReport) -> Vec<String> {
    let verified = ranked(post, Verdict::Verified);
    // What stands in no bundle is a document that was held against itself.
    let rests_on = if post.bundles.is_empty() { String::new() } else { verified_on(&verified) };
    let parts = [
        ("verified", rests_on),
        ("read", readers(&verified)),
        ("the post's own constants", own_numbers(post).unwrap_or_default()),
        ("excused", excused(post).unwrap_or_default()),
        ("quotes not checked, as these texts are missing", not_at_hand(post)),
    ];
    let parts = parts.into_iter().filter(|(_, words)| !words.is_empty());
    let signatures = signatures(post, |_| true).into_iter();
    let lines = parts.map(|(name, words)| format!("{name}: {words}"));
    let lines =
        lines.chain(post.texts.iter().filter_map(unbound)).chain(hidden(post)).chain(signatures);
    lines.chain(post.challenge.as_ref().map(challenge)).collect()
}

/// The finding about numbers in parts of a text that readers do not see.
const HIDDEN: &str = "text::hidden";
/// The most characters of a hidden part.
const HIDDEN_SHOWN: usize = 160;

/// Hidden parts of a text that contain numbers: a reader has to judge whether they are hidden indeed.
pub(super) fn hidden(post: &PostReport) -> impl Iterator<Item = String> {
    let found = post.findings.iter().filter(|finding| finding.code.id == HIDDEN);
    found.map(|one| clipped(&visible(&one.message), HIDDEN_SHOWN))
}

/// The texts of a post that were not there to look quotes up in.
pub(super) fn not_at_hand(post: &PostReport) -> String {
    let away = post.texts.iter().filter(|text| !text.is_at_hand);
    away.map(|text| prose(&text.what)).collect::<Vec<_>>().join("; ")
}

/// Which numbers of a text nobody mentions; none where there are none.
pub(super) fn unbound(text: &TextReport) -> Option<String> {
    const NAMED: usize = 5;
    let named: Vec<_> = text.unbound.iter().take(NAMED).map(|one| visible(one)).collect();
    let more = match text.unbound.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let numbers = many(text.unbound.len(), "number");
    let named = named.join(", ");
    let name = prose(&text.what);
    (!text.unbound.is_empty())
        .then(|| format!("Not covered by a claim: {numbers} of {name}: {named}{more}."))
}

/// The verdicts on the signatures of a post's bundles, equal ones together.
pub(super) fn signatures(post: &PostReport, of: impl Fn(Verdict) -> bool) -> Vec<String> {
    let mut alike: BTreeMap<String, usize> = BTreeMap::new();
    let mut said = Vec::new();
    let held = post.bundles.iter().filter_map(|bundle| Some((bundle, bundle.signature.as_ref()?)));
    for (bundle, signature) in held.filter(|(_, signature)| of(signature.verdict)) {
        let key = signature.key.as_deref().map_or("an unknown key".to_owned(), |key| {
            clipped(&visible(key), "sha256:".len() + 17)
        });
        let reason = prose(&signature.reason);
        let words = match (signature.verdict, signature.pinned_by) {
            (Verdict::Verified, Some(PinnedBy::Caller)) => {
                format!("signed by {key}, pinned by the caller")
            }
            (Verdict::Verified, _) => format!("signed by {key}, pinned by the author"),
            (Verdict::Unchecked | Verdict::Inconclusive, _) => {
                format!("with an unchecked signature that names {key}: {reason}")
            }
            (Verdict::Refuted, _) => {
                let code = signature.code.map_or(String::new(), |code| format!(" [{}]", code.id));
                said.push(format!("{}: refuted: {reason}{code}", visible(&bundle.name)));
                continue;
            }
        };
        *alike.entry(words).or_default() += 1;
    }
    let words = |(words, count)| format!("{} {words}", many(count, "bundle"));
    said.extend(alike.into_iter().map(words));
    said
}

/// Whether being wrong would turn a conclusion.
pub(super) fn impact(impact: Impact) -> &'static str {
    match impact {
        Impact::Decision => "changes a decision",
        Impact::Digit => "changes no decision",
    }
}

/// The claimed value in quotes; without one, the words of the publication, shortened to `limit`.
pub(super) fn claimed(claim: &ClaimReport, limit: usize) -> String {
    let words = match claim.claimed.is_empty() {
        true => clipped(prose(&claim.quote).trim(), limit.saturating_sub(2)),
        false => visible(&claim.claimed),
    };
    if words.is_empty() { words } else { format!("\"{words}\"") }
}

/// The value from the evidence, with the verb of the method; empty if nothing was derived.
pub(super) fn derived(claim: &ClaimReport) -> String {
    let recomputed = visible(&claim.outcome.recomputed);
    let verb = match claim.outcome.method {
        _ if recomputed.is_empty() => return recomputed,
        Some(Method::Compared) => "evidence has",
        Some(Method::Replayed | Method::ReplayedByTwo) => "replayed",
        Some(Method::Recomputed) | None => "recomputed",
    };
    format!("{verb} {recomputed}")
}

/// "±0.0005 (rounding_interval)": what counts as agreement.
pub(super) fn tolerance(claim: &ClaimReport) -> String {
    let (width, rule) = (visible(&claim.outcome.tolerance), claim.outcome.rule);
    match (width.is_empty(), rule.is_empty()) {
        (true, _) => rule.to_owned(),
        (false, true) => width,
        (false, false) => format!("{width} ({rule})"),
    }
}

/// Where the claim stands, short: `repro/9999.toml:212`.
pub(super) fn line_of(place: &repro_core::source::Location) -> String {
    match place.line {
        0 => visible(&place.file),
        line => format!("{}:{line}", visible(&place.file)),
    }
}

/// The claimed number and the fact that its verdict is about; without a fact, the expression.
pub(super) fn held_against(claim: &ClaimReport) -> String {
    let claimed = visible(&claim.claimed);
    let fact = claim.meaning.fact.as_ref().map(|fact| visible(&fact.sentence));
    match (claimed.is_empty(), fact) {
        (true, Some(fact)) => format!("fact: {fact}"),
        (false, Some(fact)) => format!("\"{claimed}\" · fact: {fact}"),
        (true, None) => visible(&claim.said),
        (false, None) if claim.said.is_empty() => format!("\"{claimed}\""),
        (false, None) => format!("\"{claimed}\" as {}", visible(&claim.said)),
    }
}

/// How each printed number is read: `1.7016 rounded (a measured value)`.
pub(super) fn readings(claim: &ClaimReport) -> String {
    let one = |read: &TokenReading| {
        format!("{} {} ({})", visible(&read.token), read.reading.word(), visible(&read.because))
    };
    claim.meaning.readings.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The meanings of the names of a table's row: `it = moe (6 runs)`.
pub(super) fn row_of(claim: &ClaimReport) -> String {
    let one = |name: &Definition| format!("{} = {}", visible(&name.name), visible(&name.meaning));
    claim.row.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// "0.91 in 3 verified claims": what verified claims take from the post itself.
pub(super) fn own_numbers(post: &PostReport) -> Option<String> {
    const SHOWN: usize = 4;
    let verified = post.claims.iter().filter(|claim| claim.outcome.verdict == Verdict::Verified);
    let with: Vec<_> = verified.filter(|claim| !claim.own_numbers.is_empty()).collect();
    let numbers: BTreeSet<_> = with.iter().flat_map(|claim| &claim.own_numbers).collect();
    let shown: Vec<_> = numbers.iter().take(SHOWN).map(|number| visible(number)).collect();
    let more = if numbers.len() > SHOWN { ", …" } else { "" };
    let claims = many(with.len(), "verified claim");
    (!with.is_empty()).then(|| format!("{}{more} in {claims}", shown.join(", ")))
}

/// The numbers that a post leaves without a claim, where it has any. Of a text that is not at hand only the words are
/// known that it leaves so.
pub(super) fn excused(post: &PostReport) -> Option<String> {
    let read = post.texts.iter().map(|text| text.excused).sum();
    match post.texts.iter().all(|text| text.is_at_hand) {
        true => Some(read).filter(|count| *count > 0).map(|count| many(count, "number")),
        false if post.excused.is_empty() => None,
        false => Some(many(post.excused.len(), "quote")),
    }
}

/// Whether the reason of a claim tells what the evidence gives.
pub(super) fn is_told(claim: &ClaimReport) -> bool {
    let (reason, given) = (&claim.outcome.reason, &claim.outcome.recomputed);
    // A sentence of several readings names them in its reason.
    let names = |part: &str| reason.contains(&format!("`{part}`"));
    given.is_empty() || reason.contains(given) || claim.said.split(" or ").any(names)
}

/// Where each piece of evidence stands, and in which document it was printed.
pub(super) fn evidence(claim: &ClaimReport) -> impl Iterator<Item = String> {
    claim.evidence.iter().map(|one| {
        let inside = format!("{} {} {}", one.bundle, one.file, one.pointer);
        let printed = [&one.document, &one.printed_at];
        let printed: Vec<&str> = printed.into_iter().flatten().map(String::as_str).collect();
        let printed = match printed.is_empty() {
            true => String::new(),
            false => format!(" (printed in {})", printed.join(", ")),
        };
        visible(&format!("{}{printed}", inside.trim_end()))
    })
}

/// All there is of a claim in one line: why, the number with at most `limit` characters, what comes out, how strong, what it changes.
pub(super) fn in_a_line(claim: &ClaimReport, limit: usize) -> String {
    let said = claimed(claim, limit);
    let parts = [
        prose(&claim.outcome.reason),
        if said.is_empty() { said } else { format!("claimed {said}") },
        match &claim.meaning.fact {
            Some(fact) => format!("fact: {}", prose(&fact.sentence)),
            None => derived(claim),
        },
        assurance(&[claim]),
        impact(claim.impact).to_owned(),
    ];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("; ")
}

/// "verified → refuted".
pub(super) fn change(difference: &LockDifference) -> String {
    let (recorded, found) = before_and_now(difference);
    format!("{recorded} → {found}")
}

/// The recorded verdict of a claim, and the new one.
pub(super) fn before_and_now(difference: &LockDifference) -> (String, String) {
    let word = |verdict: &Option<String>, absent: &str| match verdict {
        Some(verdict) => visible(verdict),
        None => absent.to_owned(),
    };
    (word(&difference.recorded, "not recorded"), word(&difference.found, "no longer a claim"))
}

/// The claims with one verdict; those that change a decision first, then in the order of the file.
pub(super) fn ranked(post: &PostReport, verdict: Verdict) -> Vec<&ClaimReport> {
    let mut claims: Vec<_> =
        post.claims.iter().filter(|claim| claim.outcome.verdict == verdict).collect();
    claims.sort_by_key(|claim| claim.impact != Impact::Decision);
    claims
}

/// The questions that a referee would ask, each with its kind.
pub(super) fn asked(referee: &Referee) -> impl Iterator<Item = (&'static str, &String)> {
    let lists = [
        ("premise", &referee.load_bearing_premises),
        ("free choice", &referee.free_parameters),
        ("missing fact", &referee.missing_facts),
    ];
    lists.into_iter().flat_map(|(name, items)| items.iter().map(move |item| (name, item)))
}

/// The findings by file, pointer and code.
pub(super) fn sorted(findings: &[Finding]) -> Vec<&Finding> {
    let mut sorted: Vec<_> = findings.iter().collect();
    sorted.sort_by_key(|f| (&f.place.file, &f.place.pointer, f.code.id, &f.message));
    sorted
}

/// The findings of a post that say more than the verdict that they belong to.
pub(super) struct Remarks<'a> {
    all: Vec<&'a Finding>,
    by_claim: HashMap<&'a str, Vec<&'a Finding>>,
}

impl<'a> Remarks<'a> {
    /// Sorts the findings of `post` by file, pointer and code, and by the claim that they belong to.
    pub(super) fn of(post: &'a PostReport) -> Self {
        let verdicts: HashMap<_, _> =
            post.claims.iter().map(|claim| (claim.id.as_str(), claim.outcome.code)).collect();
        let own = |finding: &&Finding| {
            let verdict = finding.claim.as_deref().and_then(|claim| *verdicts.get(claim)?);
            verdict.is_some_and(|code| code.id == finding.code.id)
        };
        let all: Vec<_> = sorted(&post.findings).into_iter().filter(|f| !own(f)).collect();
        let mut by_claim: HashMap<_, Vec<_>> = HashMap::new();
        for finding in &all {
            if let Some(claim) = &finding.claim {
                by_claim.entry(claim.as_str()).or_default().push(*finding);
            }
        }
        Self { all, by_claim }
    }

    /// All of them.
    pub(super) fn all(&self) -> &[&'a Finding] {
        &self.all
    }

    /// Those of one claim.
    pub(super) fn on(&self, claim: &str) -> &[&'a Finding] {
        self.by_claim.get(claim).map_or(&[], Vec::as_slice)
    }
}
