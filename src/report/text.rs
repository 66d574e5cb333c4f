//! The report for a terminal: what is wrong first, each claim with its value, its place and its assurance.

use std::collections::{BTreeMap, HashMap};

use anstyle::{AnsiColor, Effects, Style};

use crate::outcome::{
    BundleReport, ClaimReport, Finding, Impact, LockDifference, PostReport, Referee, Report,
    Severity, SignatureReport, Verdict, VerdictCounts,
};

use super::drawing::Drawing;
use super::layout::{GLUE, Page, Piece, columns, readable};
use super::visible::{clipped, prose, visible};
use super::wording::Remarks;
use super::{REPLAY_SCOPE, ReportOptions, SCOPE, wording};

/// Where the parts of an entry begin after its mark.
const INDENT: usize = 4;

const PLAIN: Style = Style::new();
const BOLD: Style = Style::new().effects(Effects::BOLD);
const FAINT: Style = Style::new().effects(Effects::DIMMED);

/// The report as text.
pub(super) fn render(report: &Report, options: &ReportOptions) -> String {
    let mut text = Text {
        page: Page::new(options.width, options.colour),
        stops: Stops::of(report, readable(options.width)),
        options,
    };
    text.failures(report);
    if let Some(differences) = &report.locked {
        text.differences(differences, report.summary().total());
    }
    if report.locked.is_none() || (options.verbose && !options.quiet) {
        report.posts.iter().for_each(|post| text.post(post));
        text.total(report);
    } else {
        report.posts.iter().for_each(|post| text.signatures(post, true));
    }
    text.below_minimum(&report.below_minimum);
    text.page.blank();
    // A command is never broken over two lines.
    let command = "repro explain scope";
    let glued = command.replace(' ', &GLUE.to_string());
    if report.replayed > 0 {
        text.page.paragraph(0, 0, PLAIN, REPLAY_SCOPE);
    }
    text.page.paragraph(0, 0, PLAIN, &SCOPE.replace(command, &glued));
    text.page.finish()
}

/// The mark of a verdict and its style.
fn mark(verdict: Verdict) -> (&'static str, Style) {
    match verdict {
        Verdict::Refuted => ("✗", AnsiColor::Red.on_default().effects(Effects::BOLD)),
        Verdict::Inconclusive => ("?", AnsiColor::Yellow.on_default().effects(Effects::BOLD)),
        Verdict::Unchecked => ("·", AnsiColor::Cyan.on_default().effects(Effects::BOLD)),
        Verdict::Verified => ("✓", AnsiColor::Green.on_default().effects(Effects::BOLD)),
    }
}

/// The columns at which the parts of all entries of a report stand, so that they line up.
#[derive(Clone, Copy)]
struct Stops {
    kind: usize,
    claimed: usize,
    derived: usize,
}

impl Stops {
    fn of(report: &Report, width: usize) -> Self {
        let claims = || report.posts.iter().flat_map(|post| &post.claims);
        // One long name may not push the others off the page: it spills over its own stop instead.
        let widest = |cap: usize, part: &dyn Fn(&ClaimReport) -> usize| {
            claims().map(part).filter(|&wide| wide <= cap).max().unwrap_or(0) + 2
        };
        let name = |claim: &ClaimReport| {
            columns(&visible(&claim.id)).max(columns(&wording::line_of(&claim.place)))
        };
        let kind =
            |claim: &ClaimReport| columns(claim.kind).max(columns(wording::impact(claim.impact)));
        let claimed = |claim: &ClaimReport| {
            let cap = width * 24 / 100;
            let said = columns(&wording::claimed(claim, cap));
            columns(&wording::assurance(claim)).max(if said <= cap { said } else { 0 })
        };
        let kind_stop = INDENT + widest(width * 28 / 100, &name);
        let claimed_stop = kind_stop + widest(width * 24 / 100, &kind);
        let derived_stop = claimed_stop + widest(width * 24 / 100, &claimed);
        Self { kind: kind_stop, claimed: claimed_stop, derived: derived_stop }
    }
}

struct Text<'a> {
    page: Page,
    stops: Stops,
    options: &'a ReportOptions,
}

impl Text<'_> {
    fn failures(&mut self, report: &Report) {
        for failure in &report.failures {
            self.page.blank();
            let drawing = Drawing::of_refusal(failure);
            self.page.block(0, &drawing.render(self.page.width(), self.options.colour));
        }
    }

    fn differences(&mut self, differences: &[LockDifference], total: usize) {
        self.page.blank();
        if differences.is_empty() {
            let words = match total {
                1 => "the 1 verdict is as recorded".to_owned(),
                _ => format!("all {total} verdicts are as recorded"),
            };
            return self.page.paragraph(0, 2, BOLD, &words);
        }
        let verb = if differences.len() == 1 { "differs" } else { "differ" };
        let counted = wording::many(differences.len(), "verdict");
        let words = format!("{counted} {verb} from the recorded ones");
        self.page.paragraph(0, 2, mark(Verdict::Refuted).1, &words);
        let name = |d: &LockDifference| format!("{}/{}", visible(&d.post), visible(&d.claim));
        let cap = self.page.width() / 2;
        let widest = differences.iter().map(|d| columns(&name(d))).filter(|&w| w <= cap).max();
        for difference in differences {
            let stop = 2 + widest.unwrap_or(0) + 2;
            self.page.row(
                INDENT,
                &[
                    Piece::at(2, PLAIN, name(difference)),
                    Piece::at(stop, PLAIN, wording::change(difference)),
                ],
            );
        }
    }

    fn post(&mut self, post: &PostReport) {
        self.page.blank();
        let name = format!("{}  {}", visible(&post.id), prose(&post.title));
        self.page.ends(
            Piece::at(0, BOLD, name),
            Piece::at(0, PLAIN, counts(VerdictCounts::of(&post.claims))),
        );
        let remarks = Remarks::of(post);
        let refuted = wording::ranked(post, Verdict::Refuted);
        let decisive = refuted.partition_point(|claim| claim.impact == Impact::Decision);
        let (decisions, digits) = refuted.split_at(decisive);
        self.group(&remarks, Verdict::Refuted, "refuted, and a decision changes", decisions);
        self.group(&remarks, Verdict::Refuted, "refuted, no decision changes", digits);
        self.signatures(post, self.options.quiet);
        if self.options.quiet {
            return;
        }
        for verdict in [Verdict::Inconclusive, Verdict::Unchecked] {
            self.group(&remarks, verdict, verdict.word(), &wording::ranked(post, verdict));
        }
        self.verified(post, &remarks);
        self.remarks(post, &remarks);
        if let Some(referee) = &post.referee {
            self.referee(referee);
        }
        if self.options.verbose {
            self.bundles(&post.bundles);
        }
    }

    /// What became of signatures, or only of those that are wrong; they are no claims.
    fn signatures(&mut self, post: &PostReport, wrong_only: bool) {
        let said = wording::signatures(post, |verdict| !wrong_only || verdict == Verdict::Refuted);
        if said.is_empty() {
            return;
        }
        self.page.blank();
        self.page.paragraph(0, 2, BOLD, "signatures");
        for words in said {
            self.page.paragraph(2, INDENT, PLAIN, &words);
        }
    }

    fn group(&mut self, remarks: &Remarks, verdict: Verdict, name: &str, claims: &[&ClaimReport]) {
        if claims.is_empty() {
            return;
        }
        self.page.blank();
        self.page.paragraph(0, 2, mark(verdict).1, name);
        for cluster in remarks.clusters(claims) {
            self.entry(remarks, &cluster);
        }
    }

    /// Claims that came to one outcome for one reason: their heads, then the reason once.
    fn entry(&mut self, remarks: &Remarks, cluster: &[&ClaimReport]) {
        let [claim, others @ ..] = cluster else { return };
        let (derived, reason) = (wording::derived(claim), prose(&claim.outcome.reason));
        let code = claim.outcome.code.map_or("", |code| code.id);
        let code_fits = self.page.fits(self.stops.derived, code);
        let shown_code = if code_fits { code } else { "" };
        let beside = if others.is_empty() {
            let beside = self.beside(&derived, &reason);
            self.head(claim, &beside, shown_code);
            beside
        } else {
            self.heads(cluster, shown_code);
            String::new()
        };
        let refuted = claim.outcome.verdict == Verdict::Refuted;
        match Drawing::of_claim(claim).filter(|_| self.options.verbose && refuted) {
            Some(drawing) => {
                let room = self.page.width().saturating_sub(INDENT);
                self.page.block(INDENT, &drawing.render(room, self.options.colour));
            }
            None => {
                let told = reason.contains(&prose(&claim.outcome.recomputed));
                if beside.is_empty() && !told {
                    self.page.paragraph(INDENT, INDENT, PLAIN, &derived);
                }
                let reason = if beside == reason { String::new() } else { reason };
                let code = if code_fits { String::new() } else { format!(" [{code}]") };
                self.page.paragraph(INDENT, INDENT, PLAIN, &(reason + &code));
            }
        }
        self.additions(remarks, claim, refuted);
        let mut said = vec![claim.note.trim()];
        for note in others.iter().map(|other| other.note.trim()).filter(|note| !note.is_empty()) {
            if !said.contains(&note) {
                said.push(note);
                self.addition("note:", &prose(note));
            }
        }
    }

    /// The two lines that every entry has.
    fn head(&mut self, claim: &ClaimReport, beside: &str, code: &str) {
        let Stops { kind, claimed, derived } = self.stops;
        let (sign, style) = mark(claim.outcome.verdict);
        // A quotation is shortened to its column; a value never is.
        let limit = derived.saturating_sub(claimed + 2).max(24);
        let name = format!("{sign} {}", visible(&claim.id));
        let first = [
            Piece::at(2, style, name),
            Piece::at(kind, PLAIN, claim.kind),
            Piece::at(claimed, PLAIN, wording::claimed(claim, limit)),
            Piece::at(derived, BOLD, beside),
        ];
        let second = [
            Piece::at(INDENT, FAINT, wording::line_of(&claim.place)),
            Piece::at(kind, FAINT, wording::impact(claim.impact)),
            Piece::at(claimed, FAINT, wording::assurance(claim)),
            Piece::at(derived, FAINT, code),
        ];
        self.page.row(INDENT, &first);
        self.page.row(INDENT, &second);
    }

    /// The lines of claims that share the rest: one each, then what all have in common.
    fn heads(&mut self, cluster: &[&ClaimReport], code: &str) {
        let Stops { kind, claimed, derived } = self.stops;
        let limit = derived.saturating_sub(claimed + 2).max(24);
        for claim in cluster {
            let (sign, style) = mark(claim.outcome.verdict);
            let line = [
                Piece::at(2, style, format!("{sign} {}", visible(&claim.id))),
                Piece::at(kind, PLAIN, claim.kind),
                Piece::at(claimed, PLAIN, wording::claimed(claim, limit)),
                Piece::at(derived, FAINT, wording::line_of(&claim.place)),
            ];
            self.page.row(INDENT, &line);
        }
        if let [claim, ..] = cluster {
            let shared = [
                Piece::at(INDENT, FAINT, format!("all {}", cluster.len())),
                Piece::at(kind, FAINT, wording::impact(claim.impact)),
                Piece::at(claimed, FAINT, wording::assurance(claim)),
                Piece::at(derived, FAINT, code),
            ];
            self.page.row(INDENT, &shared);
        }
    }

    /// What stands on the first line of an entry: the recomputed value, or the reason, where it fits.
    fn beside(&self, derived: &str, reason: &str) -> String {
        let fitting = |words: &&str| self.page.fits(self.stops.derived, words);
        let whole = Some(reason).filter(|reason| reason.starts_with(derived)).filter(fitting);
        whole.or(Some(derived).filter(fitting)).unwrap_or_default().to_owned()
    }

    /// The lines below an entry: tolerance and evidence when asked, findings, the author's note.
    fn additions(&mut self, remarks: &Remarks, claim: &ClaimReport, drawn: bool) {
        let tolerance = wording::tolerance(claim);
        if self.options.verbose {
            if !tolerance.is_empty() && !drawn {
                self.addition("agreement:", &tolerance);
            }
            for evidence_ref in &claim.evidence {
                let inside = format!(
                    "{} {} {}",
                    evidence_ref.bundle, evidence_ref.file, evidence_ref.pointer
                );
                let inside = inside.trim_end();
                let printed: Vec<&str> = [&evidence_ref.document, &evidence_ref.printed_at]
                    .into_iter()
                    .flatten()
                    .map(String::as_str)
                    .collect();
                let printed = match printed.is_empty() {
                    true => String::new(),
                    false => format!(" (printed in {})", printed.join(", ")),
                };
                self.addition("evidence:", &visible(&format!("{inside}{printed}")));
            }
        }
        for finding in remarks.on(&claim.id) {
            self.addition("also:", &remark(finding));
        }
        if !claim.note.trim().is_empty() {
            self.addition("note:", &prose(&claim.note));
        }
    }

    fn addition(&mut self, lead: &str, words: &str) {
        self.page.paragraph(INDENT, INDENT + 2, FAINT, &format!("{lead} {words}"));
    }

    fn verified(&mut self, post: &PostReport, remarks: &Remarks) {
        let claims = wording::ranked(post, Verdict::Verified);
        if self.options.verbose {
            return self.group(remarks, Verdict::Verified, "verified", &claims);
        }
        let mut assurances: BTreeMap<_, (usize, &ClaimReport)> = BTreeMap::new();
        for claim in claims {
            let assurance = std::cmp::Reverse((claim.outcome.method, claim.origin));
            assurances.entry(assurance).or_insert((0, claim)).0 += 1;
        }
        if assurances.is_empty() {
            return;
        }
        let parts: Vec<String> =
            assurances.values().map(|(count, claim)| wording::verified_as(*count, claim)).collect();
        let (heading, style) = (Verdict::Verified.word(), mark(Verdict::Verified).1);
        let (words, hint) = (parts.join(" · "), "(--verbose lists them)");
        self.page.blank();
        let stop = columns(heading) + 3;
        if self.page.fits(stop, &words) {
            self.page.row(
                stop,
                &[
                    Piece::at(0, style, heading),
                    Piece::at(stop, PLAIN, words),
                    Piece::at(self.page.width() - columns(hint), FAINT, hint),
                ],
            );
        } else {
            self.page.paragraph(0, 2, style, heading);
            self.page.paragraph(2, 2, PLAIN, &words);
            self.page.paragraph(2, 2, FAINT, hint);
        }
    }

    /// Findings that nothing above has shown: of the post itself, and warnings on verified claims.
    fn remarks(&mut self, post: &PostReport, remarks: &Remarks) {
        let verdicts: HashMap<_, _> =
            post.claims.iter().map(|claim| (claim.id.as_str(), claim.outcome.verdict)).collect();
        let listed = |finding: &Finding| {
            let verdict = finding.claim.as_deref().and_then(|claim| verdicts.get(claim));
            verdict.is_some_and(|v| self.options.verbose || *v != Verdict::Verified)
        };
        let remarks: Vec<_> = remarks
            .all()
            .iter()
            .filter(|f| !listed(f) && !of_signature(post, f))
            .filter(|f| self.options.verbose || f.severity != Severity::Note)
            .collect();
        if remarks.is_empty() {
            return;
        }
        self.page.blank();
        self.page.paragraph(0, 2, BOLD, "also");
        for finding in remarks {
            let owner = finding.claim.as_deref().map(|claim| format!("{}: ", visible(claim)));
            let words = owner.unwrap_or_default() + &remark(finding);
            self.page.paragraph(2, INDENT, PLAIN, &format!("! {words}"));
            self.page.row(INDENT, &[Piece::at(INDENT, FAINT, wording::line_of(&finding.place))]);
        }
    }

    fn referee(&mut self, referee: &Referee) {
        let lists = [
            ("premises that the conclusions depend on", &referee.load_bearing_premises),
            ("free choices", &referee.free_parameters),
            ("facts that would settle open questions", &referee.missing_facts),
        ];
        if lists.iter().all(|(_, items)| items.is_empty()) {
            return;
        }
        self.page.blank();
        self.page.paragraph(0, 2, BOLD, "what a referee would ask");
        for (name, items) in lists.into_iter().filter(|(_, items)| !items.is_empty()) {
            self.page.paragraph(2, 2, FAINT, name);
            for item in items {
                self.page.paragraph(INDENT, INDENT + 2, PLAIN, &format!("- {}", prose(item)));
            }
        }
    }

    fn bundles(&mut self, bundles: &[BundleReport]) {
        if bundles.is_empty() {
            return;
        }
        self.page.blank();
        self.page.paragraph(0, 2, BOLD, "bundles");
        for bundle in bundles {
            let digest = clipped(&visible(&bundle.digest), "sha256:".len() + 13);
            self.page.row(
                INDENT,
                &[
                    Piece::at(2, PLAIN, visible(&bundle.name)),
                    Piece::at(self.stops.kind, FAINT, digest),
                    Piece::at(self.stops.claimed, FAINT, bundle.origin.word()),
                ],
            );
        }
    }

    fn total(&mut self, report: &Report) {
        if report.posts.is_empty() {
            self.page.blank();
            self.page.paragraph(0, 0, PLAIN, "nothing was checked");
        } else if report.posts.len() > 1 {
            self.page.blank();
            let posts = wording::many(report.posts.len(), "post");
            let counted = Piece::at(0, BOLD, counts(report.summary()));
            self.page.ends(Piece::at(0, BOLD, posts), counted);
        }
    }

    fn below_minimum(&mut self, claims: &[String]) {
        if claims.is_empty() {
            return;
        }
        self.page.blank();
        self.page.paragraph(0, 2, mark(Verdict::Inconclusive).1, "below the required minimum");
        for claim in claims {
            self.page.row(INDENT, &[Piece::at(2, PLAIN, visible(claim))]);
        }
    }
}

/// The counts, broken between verdicts only.
fn counts(summary: VerdictCounts) -> String {
    let glued = wording::counts(&summary).replace(' ', &GLUE.to_string());
    glued.replace(&format!("{GLUE}·{GLUE}"), &format!("{GLUE}· "))
}

/// A finding in one line.
fn remark(finding: &Finding) -> String {
    format!("{} [{}]", prose(&finding.message), finding.code.id)
}

/// Whether a finding tells what the part about signatures tells.
fn of_signature(post: &PostReport, finding: &Finding) -> bool {
    let mut held = post.bundles.iter().filter_map(|bundle| bundle.signature.as_ref());
    let told = |signature: &SignatureReport| {
        signature.code == Some(finding.code) && finding.message.ends_with(&signature.reason)
    };
    finding.claim.is_none() && held.any(told)
}
