//! The report for a terminal: each finding with its words and their location first, then the result.
//! Claims that need no attention are counted, and the last lines state what is wrong.

use std::collections::HashMap;

use anstyle::{Effects, Style};

use crate::outcome::{
    BundleReport, ClaimReport, Finding, Impact, LockDifference, PostReport, Referee, Report,
    Severity, SignatureReport, Verdict, VerdictCounts,
};

use super::crowd::{self, Crowd};
use super::drawing::Drawing;
use super::folded::{ToldTogether, clusters, told_together};
use super::layout::{GLUE, Page, Piece, claim_mark, columns, mark};
use super::visible::{clipped, prose, visible};
use super::wording::Remarks;
use super::{ReportOptions, SCOPE, screen, wording};

/// Where the lines below the words of a finding begin.
const INDENT: usize = 4;

/// The code of findings that are told as lints.
const UNANSWERED_LINT: &str = "review::unanswered-lint";

const PLAIN: Style = Style::new();
const BOLD: Style = Style::new().effects(Effects::BOLD);
const FAINT: Style = Style::new().effects(Effects::DIMMED);

/// The report as text, with bundles that are too many to be told one by one.
pub(super) fn render(report: &Report, crowd: Option<&Crowd>, options: &ReportOptions) -> String {
    let mut text = Text { page: Page::new(options.width, options.colour), options };
    text.failures(report);
    let whole = report.locked.is_none() || (options.verbose && !options.quiet);
    if whole {
        report.posts.iter().for_each(|post| text.post(report, post));
    } else if options.quiet {
        report.posts.iter().for_each(|post| text.wrong_signatures(post));
    } else {
        report.posts.iter().for_each(|post| text.disclosures(post));
    }
    if let Some(crowd) = crowd {
        crowd::draw(&mut text.page, crowd, options);
    }
    text.below_minimum(&report.below_minimum);
    if whole {
        text.totals(report, crowd);
    }
    if let Some(differences) = &report.locked {
        text.differences(report, differences);
    }
    text.page.blank();
    if let Some(words) = super::replay_scope(report) {
        text.page.paragraph(0, 0, PLAIN, &words);
    }
    scope(&mut text.page);
    text.page.finish()
}

/// The line that every report for people ends with.
pub fn scope(page: &mut Page) {
    // A command is never broken over two lines.
    let command = "repro explain scope";
    let glued = command.replace(' ', &GLUE.to_string());
    page.paragraph(0, 0, PLAIN, &SCOPE.replace(command, &glued));
}

/// "1 post and 2 bundles".
fn posts_and_bundles(posts: &[PostReport]) -> String {
    let bundles = posts.iter().filter(|post| post.is_of_a_bundle()).count();
    let counts = [(posts.len() - bundles, "post"), (bundles, "bundle")];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    counts.map(|(count, noun)| wording::many(count, noun)).collect::<Vec<_>>().join(" and ")
}

struct Text<'a> {
    page: Page,
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

    /// The differences from the lock: the recorded verdict, the new one, and the reason.
    fn differences(&mut self, report: &Report, differences: &[LockDifference]) {
        self.page.blank();
        if differences.is_empty() {
            let words = wording::as_recorded(&report.summary());
            return self.page.paragraph(0, 2, BOLD, &words);
        }
        for difference in differences {
            let name = format!("{}/{}", visible(&difference.post), visible(&difference.claim));
            self.page.paragraph(0, 2, BOLD, &name);
            let (was, is) = wording::before_and_now(difference);
            self.page.paragraph(2, INDENT + 4, PLAIN, &format!("was  {was}"));
            self.page.paragraph(2, INDENT + 4, PLAIN, &format!("now  {is}"));
            if let Some(claim) = report.claim(&difference.post, &difference.claim) {
                self.page.paragraph(2, INDENT, FAINT, &wording::derived(claim));
                self.page.paragraph(2, INDENT, FAINT, &prose(&claim.outcome.reason));
            }
        }
        let words = wording::entries_differ(differences.len());
        self.page.blank();
        self.page.paragraph(0, 2, mark(Verdict::Refuted).1, &words);
    }

    /// A post or bundle on one screen, or all there is of it.
    fn post(&mut self, report: &Report, post: &PostReport) {
        self.page.blank();
        // A claim that cannot be judged is told above, and nothing is right as long as it is there.
        let is_refused = report.failures.iter().any(|failure| failure.place.file == post.file);
        if !self.options.verbose || self.options.quiet {
            return self.page.block(0, &screen::post(post, is_refused, self.options));
        }
        let name = format!("{}  {}", visible(&post.id), prose(&post.title));
        self.page.paragraph(0, 2, BOLD, &name);
        let remarks = Remarks::of(post);
        let refuted = wording::ranked(post, Verdict::Refuted);
        let decisive = refuted.partition_point(|claim| claim.impact == Impact::Decision);
        let (decisions, digits) = refuted.split_at(decisive);
        for (claims, weight) in [(decisions, "changes a decision"), (digits, "changes no decision")]
        {
            for (doubt, claims) in wording::by_doubt(claims) {
                let heading = match doubt {
                    None => format!("refuted, {weight}"),
                    Some(why) => format!("differs ({why}), {weight}"),
                };
                self.group(&remarks, &heading, &claims);
            }
        }
        self.signatures(post);
        for verdict in [Verdict::Inconclusive, Verdict::Unchecked] {
            self.group(&remarks, verdict.word(), &wording::ranked(post, verdict));
        }
        let (questioned, verified): (Vec<_>, Vec<_>) = wording::ranked(post, Verdict::Verified)
            .into_iter()
            .partition(|claim| claim.is_questioned());
        self.group(&remarks, "verified, but questioned", &questioned);
        self.group(&remarks, "verified", &verified);
        if let Some(challenge) = &post.challenge {
            self.page.blank();
            self.page.paragraph(0, 2, PLAIN, &wording::challenge(challenge));
        }
        remarks_below(&mut self.page, post, &remarks, true);
        if let Some(referee) = &post.referee {
            self.referee(referee);
        }
        let excused = post
            .excused
            .iter()
            .map(|one| format!("\"{}\": {}", prose(&one.words), prose(&one.reason)));
        self.listed("excused", excused);
        let definitions = post.definitions.iter();
        let written =
            definitions.map(|one| format!("{} = {}", visible(&one.name), visible(&one.meaning)));
        self.listed("names and formulas", written);
        self.bundles(&post.bundles);
        self.page.blank();
        self.texts(post);
        screen::closing(&mut self.page, post, is_refused);
    }

    /// The basis of verdicts that are only compared with the recorded ones.
    fn disclosures(&mut self, post: &PostReport) {
        let said = wording::disclosures(post);
        if said.is_empty() {
            return;
        }
        self.page.blank();
        self.page.paragraph(0, 2, BOLD, &format!("{} rests on", visible(&post.id)));
        for words in said {
            self.page.paragraph(2, INDENT, PLAIN, &words);
        }
    }

    /// The verdicts on signatures; signatures are not claims.
    fn signatures(&mut self, post: &PostReport) {
        self.listed("signatures", wording::signatures(post, |_| true).into_iter());
    }

    fn wrong_signatures(&mut self, post: &PostReport) {
        let wrong = |verdict| verdict == Verdict::Refuted;
        self.listed("signatures", wording::signatures(post, wrong).into_iter());
    }

    fn group(&mut self, remarks: &Remarks, name: &str, claims: &[&ClaimReport]) {
        let Some(first) = claims.first() else { return };
        self.page.blank();
        self.page.paragraph(0, 2, claim_mark(first).1, name);
        for cluster in clusters(remarks, told_together(claims)) {
            self.cluster(remarks, &cluster);
        }
    }

    /// Sentences that came to one outcome for one reason: their words, then the reason once.
    fn cluster(&mut self, remarks: &Remarks, cluster: &[ToldTogether]) {
        for told in cluster {
            self.words(told);
        }
        let [told, ..] = cluster else { return };
        for claims in told.by_reason() {
            self.reason(&claims);
        }
        let claim = told.first;
        let all: Vec<_> = cluster.iter().flat_map(ToldTogether::claims).collect();
        let facts = [
            wording::assurance(&all),
            wording::impact(claim.impact).to_owned(),
            claim.outcome.code.map_or(String::new(), |code| format!("[{}]", code.id)),
        ];
        let facts: Vec<_> =
            facts.iter().filter(|fact| !fact.is_empty()).map(|fact| glued(fact)).collect();
        self.page.paragraph(INDENT, INDENT, FAINT, &facts.join(" · "));
        for told in cluster {
            self.additions(remarks, told);
        }
    }

    /// The words of the text and their place.
    fn words(&mut self, told: &ToldTogether) {
        let (sign, style) = claim_mark(told.first);
        self.page.paragraph(2, INDENT, style, &format!("{sign} {}", told.title()));
        let line = wording::line_of(&told.first.place);
        let place = match told.place() {
            place if place.is_empty() => line,
            place => format!("{place} · {line}"),
        };
        self.page.paragraph(INDENT, INDENT, FAINT, &place);
        let ids: Vec<_> = told.claims().map(|claim| visible(&claim.id)).collect();
        self.page.paragraph(INDENT, INDENT, FAINT, &ids.join(", "));
    }

    /// The result of the claims of one sentence that share a reason.
    fn reason(&mut self, claims: &[&ClaimReport]) {
        let [claim, ..] = claims else { return };
        let reason = prose(&claim.outcome.reason);
        let refuted = claim.outcome.verdict == Verdict::Refuted;
        if let Some(drawing) = Drawing::of_claim(claim).filter(|_| refuted) {
            let room = self.page.width().saturating_sub(INDENT);
            return self.page.block(INDENT, &drawing.render(room, self.options.colour));
        }
        for claim in claims {
            // The fact has the value already.
            let is_told = claim.meaning.fact.is_some() || wording::is_told(claim);
            let shown = if is_told { String::new() } else { wording::derived(claim) };
            let line = match wording::held_against(claim) {
                said if said.is_empty() => shown,
                said if shown.is_empty() => said,
                said => format!("{said}: {shown}"),
            };
            self.page.paragraph(INDENT, INDENT + 2, PLAIN, &line);
        }
        self.page.paragraph(INDENT, INDENT, PLAIN, &reason);
    }

    /// The lines below a finding: tolerance and evidence, further findings, the author's notes.
    fn additions(&mut self, remarks: &Remarks, told: &ToldTogether) {
        let refuted = told.first.outcome.verdict == Verdict::Refuted;
        for claim in told.claims() {
            let tolerance = wording::tolerance(claim);
            if claim.meaning.fact.is_some() {
                self.addition("expression:", &visible(&claim.said));
                self.addition("value:", &wording::derived(claim));
            }
            let readings = wording::readings(claim);
            if !readings.is_empty() {
                self.addition("read as:", &readings);
            }
            let row = wording::row_of(claim);
            if !row.is_empty() {
                self.addition("row:", &row);
            }
            if !claim.own_numbers.is_empty() {
                self.addition("own constants:", &visible(&claim.own_numbers.join(", ")));
            }
            if !claim.around.is_empty() {
                self.addition("in:", &format!("\"{}\"", prose(&claim.around)));
            }
            if !tolerance.is_empty() && !refuted {
                self.addition("agreement:", &tolerance);
            }
            for evidence in wording::evidence(claim) {
                self.addition("evidence:", &evidence);
            }
            for finding in remarks.on(&claim.id) {
                let is_lint = finding.code.id == UNANSWERED_LINT;
                self.addition(if is_lint { "lint:" } else { "also:" }, &remark(finding));
            }
        }
        for note in told.notes() {
            self.addition("note:", &prose(note));
        }
    }

    fn addition(&mut self, lead: &str, words: &str) {
        self.page.paragraph(INDENT, INDENT + 2, FAINT, &format!("{lead} {words}"));
    }

    fn referee(&mut self, referee: &Referee) {
        let lists = [
            ("premises", &referee.load_bearing_premises),
            ("free choices", &referee.free_parameters),
            ("missing facts", &referee.missing_facts),
        ];
        let lists: Vec<_> = lists.into_iter().filter(|(_, items)| !items.is_empty()).collect();
        if lists.is_empty() {
            return;
        }
        self.page.blank();
        self.page.paragraph(0, 2, BOLD, "a referee would ask");
        for (name, items) in lists {
            self.page.paragraph(2, 2, FAINT, name);
            for item in items {
                self.page.paragraph(INDENT, INDENT + 2, PLAIN, &format!("- {}", prose(item)));
            }
        }
    }

    fn listed(&mut self, heading: &str, lines: impl Iterator<Item = String>) {
        let mut lines = lines.peekable();
        if lines.peek().is_none() {
            return;
        }
        self.page.blank();
        self.page.paragraph(0, 2, BOLD, heading);
        for line in lines {
            self.page.paragraph(2, INDENT + 2, PLAIN, &line);
        }
    }

    fn bundles(&mut self, bundles: &[BundleReport]) {
        if bundles.is_empty() {
            return;
        }
        self.page.blank();
        self.page.paragraph(0, 2, BOLD, "bundles");
        let names = bundles.iter().map(|bundle| columns(&visible(&bundle.name))).max();
        let stop = 2 + names.unwrap_or(0).min(self.page.width() / 2) + 2;
        for bundle in bundles {
            let digest = clipped(&visible(&bundle.digest), "sha256:".len() + 13);
            let origin_stop = stop + columns(&digest) + 2;
            self.page.row(
                INDENT,
                &[
                    Piece::at(2, PLAIN, visible(&bundle.name)),
                    Piece::at(stop, FAINT, digest),
                    Piece::at(origin_stop, FAINT, bundle.origin.word()),
                ],
            );
            if let Some(builder) = &bundle.attested_by {
                let text = format!("built by {}, attested by its key", visible(builder));
                self.page.paragraph(INDENT + 2, INDENT + 4, FAINT, &text);
            }
        }
    }

    /// The last lines: all posts and bundles together.
    fn totals(&mut self, report: &Report, crowd: Option<&Crowd>) {
        if report.posts.is_empty() && crowd.is_none() {
            self.page.blank();
            let words = if report.not_run { wording::NOT_JUDGED } else { "nothing was checked" };
            return self.page.paragraph(0, 0, PLAIN, words);
        }
        if let Some(crowd) = crowd {
            self.page.blank();
            crowd::closing(&mut self.page, crowd);
        }
        if report.posts.len() > 1 {
            self.page.blank();
            let posts = posts_and_bundles(&report.posts);
            let claims = report.posts.iter().flat_map(|post| &post.claims);
            let counted = Piece::at(0, BOLD, counts(VerdictCounts::of(claims)));
            self.page.ends(Piece::at(0, BOLD, posts), counted);
        }
    }

    /// Which texts were not there to look quotes up in, and which numbers of the others nobody mentions.
    fn texts(&mut self, post: &PostReport) {
        let away = wording::not_at_hand(post);
        if !away.is_empty() {
            let words = format!(
                "Quotes were not checked, as these texts are missing (--text FILE): {away}."
            );
            self.page.paragraph(0, 2, FAINT, &words);
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

/// Findings that nothing above has shown: of the post itself, and warnings on verified claims. Notes are for those who ask for all.
pub(super) fn remarks_below(page: &mut Page, post: &PostReport, remarks: &Remarks, all: bool) {
    let claims: HashMap<_, _> =
        post.claims.iter().map(|claim| (claim.id.as_str(), claim)).collect();
    let listed = |finding: &Finding| {
        let claim = finding.claim.as_deref().and_then(|claim| claims.get(claim));
        let is_listed = |claim: &&ClaimReport| {
            claim.outcome.verdict != Verdict::Verified || claim.is_questioned()
        };
        claim.is_some_and(|claim| all || is_listed(claim))
    };
    let remarks: Vec<_> = remarks
        .all()
        .iter()
        .filter(|f| !listed(f) && !of_signature(post, f))
        .filter(|f| all || f.severity != Severity::Note)
        .collect();
    if remarks.is_empty() {
        return;
    }
    page.blank();
    page.paragraph(0, 2, BOLD, "also");
    for finding in remarks {
        let owner = finding.claim.as_deref().map(|claim| format!("{}: ", visible(claim)));
        let words = owner.unwrap_or_default() + &remark(finding);
        page.paragraph(2, INDENT, PLAIN, &format!("! {words}"));
        page.row(INDENT, &[Piece::at(INDENT, FAINT, wording::line_of(&finding.place))]);
    }
}

/// The counts, broken between verdicts only.
fn counts(summary: VerdictCounts) -> String {
    glued(&wording::counts(&summary))
}

/// Words that are broken between parts only.
fn glued(words: &str) -> String {
    let glued = words.replace(' ', &GLUE.to_string());
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
