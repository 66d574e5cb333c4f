//! Workflow commands of GitHub Actions, and the job summary. A step may show ten annotations of each
//! level, so the worst come first and the last one states what is missing.

use std::collections::BTreeMap;

use crate::outcome::{ClaimReport, Finding, PostReport, Report, Severity, Verdict};
use repro_core::source::{Error, Location};

use super::visible::{clipped, prose, visible};
use super::wording::Remarks;
use super::{SCOPE, markdown, wording};

/// The annotations of one level that GitHub shows for a step.
const PER_LEVEL: usize = 10;
/// The most characters of one message.
const MESSAGE_LIMIT: usize = 2_000;
/// GitHub drops a job summary of more than 1 MiB.
const SUMMARY_LIMIT: usize = 1_000_000;

/// The report as a job summary in Markdown, to be appended to the file that GitHub names.
pub fn summary(report: &Report) -> String {
    markdown::render(report, SUMMARY_LIMIT)
}

/// The report as annotations.
pub(super) fn render(report: &Report) -> String {
    let mut errors: Vec<Annotation> = report.failures.iter().map(Annotation::of_refusal).collect();
    let mut warnings = Vec::new();
    let mut notices = Vec::new();
    match &report.locked {
        Some(_) => {
            errors.extend(differences(report));
            warnings.extend(weak(report));
        }
        None => {
            for (is_error, annotation) in
                Verdict::ALL.into_iter().flat_map(|one| claims(report, one))
            {
                if is_error { errors.push(annotation) } else { warnings.push(annotation) }
            }
            for (post, finding) in report.posts.iter().flat_map(|post| {
                Remarks::of(post).all().to_vec().into_iter().map(move |f| (post, f))
            }) {
                let level = match finding.severity {
                    Severity::Error => &mut errors,
                    Severity::Warning => &mut warnings,
                    Severity::Note => &mut notices,
                };
                level.push(Annotation::of_finding(post, finding));
            }
        }
    }
    // What is wrong comes first, and then what stands behind the counts: a step shows ten.
    let said = report.posts.iter().filter_map(Annotation::of_disclosures);
    notices.splice(0..0, std::iter::once(closing(report)).chain(said));
    let mut text = String::new();
    for (level, annotations) in [("error", errors), ("warning", warnings), ("notice", notices)] {
        for annotation in capped(annotations, level) {
            annotation.write(level, &report.base, &mut text);
        }
    }
    text
}

/// The claims with one verdict in all posts, decisions first, each with whether it is an error.
fn claims(report: &Report, verdict: Verdict) -> Vec<(bool, Annotation)> {
    let mut claims: Vec<(&PostReport, &ClaimReport)> = report
        .posts
        .iter()
        .flat_map(|post| wording::ranked(post, verdict).into_iter().map(move |claim| (post, claim)))
        .filter(|(post, claim)| verdict != Verdict::Verified || report.is_below(post, claim))
        .collect();
    claims.sort_by_key(|(_, claim)| claim.impact != crate::outcome::Impact::Decision);
    let annotated = claims.into_iter().map(|(post, claim)| {
        let is_error = verdict == Verdict::Refuted && !claim.is_unconfirmed_difference();
        (is_error, Annotation::of_claim(post, claim))
    });
    annotated.collect()
}

/// Claims on too weak evidence.
fn weak(report: &Report) -> impl Iterator<Item = Annotation> {
    let claims =
        report.posts.iter().flat_map(|post| post.claims.iter().map(move |one| (post, one)));
    let weak = claims.filter(|(post, claim)| report.is_below(post, claim));
    weak.map(|(post, claim)| Annotation::of_claim(post, claim))
}

fn differences(report: &Report) -> impl Iterator<Item = Annotation> {
    report.locked.iter().flatten().map(|difference| {
        let post = report.posts.iter().find(|post| post.id == difference.post);
        let claim = post.and_then(|post| post.claims.iter().find(|c| c.id == difference.claim));
        let whole = || post.map(|post| Location::file(post.file.clone()));
        Annotation {
            place: claim.map(ClaimReport::written_at).or_else(whole).unwrap_or_default(),
            title: format!("{}/{} is not as recorded", difference.post, difference.claim),
            message: wording::change(difference),
        }
    })
}

fn closing(report: &Report) -> Annotation {
    let result = match &report.locked {
        _ if report.is_not_judged() => wording::NOT_JUDGED.to_owned(),
        Some(differences) if differences.is_empty() => wording::as_recorded(&report.summary()),
        Some(differences) => {
            let differing = differences.len();
            format!("{differing} not as recorded",)
        }
        None => wording::counts(&report.summary()),
    };
    let own = match report.summary().with_own_numbers {
        0 => String::new(),
        count => {
            format!(". {} with the post's own constants", wording::many(count, "verified claim"))
        }
    };
    let replay = super::replay_scope(report);
    let replay = replay.map_or_else(String::new, |words| format!("{words} "));
    Annotation {
        place: Location::default(),
        title: "repro".to_owned(),
        message: format!("{result}{own}. {replay}{SCOPE}"),
    }
}

/// At most [`PER_LEVEL`] annotations; the last then stands for all that are left out.
fn capped(mut annotations: Vec<Annotation>, level: &str) -> Vec<Annotation> {
    if annotations.len() <= PER_LEVEL {
        return annotations;
    }
    let rest = annotations.split_off(PER_LEVEL - 1);
    let mut files: BTreeMap<&str, usize> = BTreeMap::new();
    for annotation in &rest {
        *files.entry(&annotation.place.file).or_default() += 1;
    }
    let mut named: Vec<String> =
        files.iter().take(5).map(|(file, count)| format!("{} ({count})", visible(file))).collect();
    if files.len() > named.len() {
        named.push(format!("{} more files", files.len() - named.len()));
    }
    let title = wording::many(rest.len(), &format!("more {level}"));
    let message = format!("in {}; the job summary lists all of them", named.join(", "));
    annotations.push(Annotation { place: Location::default(), title, message });
    annotations
}

/// One workflow command.
struct Annotation {
    place: Location,
    title: String,
    message: String,
}

impl Annotation {
    fn of_refusal(error: &Error) -> Self {
        let message = format!(
            "{}: expected {}, found {}; {}",
            error.place.pointer,
            prose(&error.expected),
            prose(&error.found),
            prose(&error.help)
        );
        Self {
            place: error.place.clone(),
            title: format!("{} [{}]", error.code.meaning, error.code.id),
            message: message.trim_start_matches(": ").to_owned(),
        }
    }

    fn of_claim(post: &PostReport, claim: &ClaimReport) -> Self {
        let word = match claim.outcome.verdict {
            Verdict::Verified => "verified, but below the required minimum".to_owned(),
            _ => wording::verdict(claim),
        };
        Self {
            place: claim.written_at(),
            title: format!("{}/{} {word}", post.id, claim.id),
            message: wording::in_a_line(claim, 120),
        }
    }

    /// The facts about a post that its counts do not show.
    fn of_disclosures(post: &PostReport) -> Option<Self> {
        let said = wording::disclosures(post).join("; ");
        (!said.is_empty()).then(|| Self {
            place: Location::file(post.file.clone()),
            title: format!("{} rests on", post.id),
            message: said,
        })
    }

    fn of_finding(post: &PostReport, finding: &Finding) -> Self {
        let owner = finding.claim.as_deref().map(|claim| format!("/{claim}")).unwrap_or_default();
        Self {
            place: finding.place.clone(),
            title: format!("{}{owner}: {}", post.id, finding.code.id),
            message: prose(&finding.message),
        }
    }

    fn write(&self, level: &str, base: &str, text: &mut String) {
        let mut properties = Vec::new();
        if !self.place.file.is_empty() {
            properties.push(format!("file={}", property(&format!("{base}{}", self.place.file))));
            if self.place.line > 0 {
                properties.push(format!("line={}", self.place.line));
                properties.push(format!("col={}", self.place.column.max(1)));
            }
        }
        properties.push(format!("title={}", property(&self.title)));
        let message = data(&clipped(&visible(&self.message), MESSAGE_LIMIT));
        text.push_str(&format!("::{level} {}::{message}\n", properties.join(",")));
    }
}

/// Text after the second `::`.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Text of a property, in which commas and colons separate.
fn property(text: &str) -> String {
    data(&visible(text)).replace(':', "%3A").replace(',', "%2C")
}
