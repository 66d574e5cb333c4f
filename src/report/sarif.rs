//! SARIF 2.1.0, for GitHub code scanning and editors: one result for each refuted claim, each rejected input,
//! each verdict that is not as recorded (`--locked`), and each claim below a required minimum. `--verbose` adds undecided and unchecked claims, and remarks.
//!
//! Alerts with the same fingerprint are the same: post, claim, code and words, without the line. Text from
//! inputs cannot act as a link or a placeholder of a message.

mod place;

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use crate::ReportOptions;
use crate::outcome::{
    ClaimReport, Finding, Impact, LockDifference, PostReport, Report, Severity, Verdict,
};
use crate::visible::{clipped, escaped_json, prose, visible};
use crate::wording::{self, Remarks};
use place::SarifLocation;
use repro_core::digest::Digest;
use repro_core::source::{Code, Error, Location, codes};

codes! {
    NOT_AS_RECORDED = "report::not-as-recorded", "a verdict differs from the lock", "find out what changed, then record it with `repro verify --post ID --write-lock`";
    BELOW_MINIMUM = "report::below-minimum", "a claim is verified on weaker evidence than required", "provide stronger evidence, have it reviewed, or lower `--min-origin`, `--min-method` or `--min-reading`";
    UNBOUND = "report::uncovered-number", "a text is missing, or has numbers that no claim covers", "cover them with claims (`repro review ID --coverage --text TEXT` lists them), or pass the text with `--text FILE`";
}

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
const VERSION: &str = "2.1.0";
const NAME: &str = "repro";
/// GitHub refuses a run with more results.
const RESULT_LIMIT: usize = 25_000;
/// The most characters of one message.
const MESSAGE_LIMIT: usize = 1_000;
/// The hexadecimal digits of a fingerprint.
const FINGERPRINT: usize = 32;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifLog<'r> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [SarifRun<'r>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifRun<'r> {
    tool: SarifTool,
    invocations: [SarifInvocation; 1],
    original_uri_base_ids: BTreeMap<&'static str, SarifBase>,
    column_kind: &'static str,
    results: Vec<SarifResult<'r>>,
}

#[derive(Serialize)]
struct SarifTool {
    driver: SarifDriver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifDriver {
    name: &'static str,
    semantic_version: &'static str,
    rules: Vec<SarifRule>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifRule {
    id: &'static str,
    short_description: SarifText,
    full_description: SarifText,
    help: SarifText,
}

/// A message: neither its braces nor its brackets mean anything.
#[derive(Serialize)]
struct SarifText {
    text: String,
}

impl SarifText {
    /// Of at most [`MESSAGE_LIMIT`] characters of what is safe to show.
    fn of(text: &str) -> Self {
        Self { text: inert(&clipped(text, MESSAGE_LIMIT)) }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifInvocation {
    execution_successful: bool,
    exit_code: u8,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_execution_notifications: Vec<SarifNotification>,
}

#[derive(Serialize)]
struct SarifNotification {
    level: SarifLevel,
    message: SarifText,
}

#[derive(Serialize)]
struct SarifBase {
    description: SarifText,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum SarifLevel {
    Error,
    Warning,
    Note,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifResult<'r> {
    rule_id: &'static str,
    rule_index: usize,
    level: SarifLevel,
    message: SarifText,
    locations: Vec<SarifLocation>,
    partial_fingerprints: SarifFingerprints,
    properties: &'r SarifProperties<'r>,
}

/// The key that makes two results one alert: under the name that GitHub looks for.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifFingerprints {
    primary_location_line_hash: String,
}

/// Further properties of a result for programs.
#[derive(Default, Serialize)]
struct SarifProperties<'r> {
    #[serde(skip_serializing_if = "Option::is_none")]
    post: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    claim: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<Verdict>,
    #[serde(skip_serializing_if = "Option::is_none")]
    impact: Option<Impact>,
}

/// One thing to be told.
struct Alert<'r> {
    code: &'static Code,
    level: SarifLevel,
    message: String,
    place: Location,
    /// The words that it is about.
    words: &'r str,
    about: SarifProperties<'r>,
}

/// The report as one run.
pub(super) fn render(report: &Report, options: &ReportOptions) -> String {
    let mut alerts = alerts(report);
    let is_asked = |code: &Code| code.id == BELOW_MINIMUM.id || code.id == UNBOUND.id;
    let all = alerts.len();
    alerts.retain(|alert| {
        options.verbose || alert.level == SarifLevel::Error || is_asked(alert.code)
    });
    let untold = all - alerts.len();
    alerts.sort_by_key(|alert| alert.level);
    let left_out = alerts.len().saturating_sub(RESULT_LIMIT);
    alerts.truncate(RESULT_LIMIT);
    let rules: BTreeMap<_, _> = alerts.iter().map(|alert| (alert.code.id, alert.code)).collect();
    let indices: BTreeMap<_, _> = rules.keys().enumerate().map(|(at, id)| (*id, at)).collect();
    let mut seen = HashMap::new();
    let results = alerts.iter().map(|alert| SarifResult {
        rule_id: alert.code.id,
        rule_index: indices.get(alert.code.id).copied().unwrap_or_default(),
        level: alert.level,
        message: SarifText::of(&alert.message),
        locations: SarifLocation::of(&alert.place, &report.base).into_iter().collect(),
        partial_fingerprints: fingerprints(alert, &mut seen),
        properties: &alert.about,
    });
    let top = SarifText::of("the root of the repository");
    let run = SarifRun {
        results: results.collect(),
        tool: SarifTool {
            driver: SarifDriver {
                name: NAME,
                semantic_version: env!("CARGO_PKG_VERSION"),
                rules: rules.into_values().map(rule).collect(),
            },
        },
        invocations: [invocation(report, untold, left_out)],
        original_uri_base_ids: BTreeMap::from([(place::TOP, SarifBase { description: top })]),
        column_kind: "unicodeCodePoints",
    };
    let log = SarifLog { schema: SCHEMA, version: VERSION, runs: [run] };
    // Only strings, numbers and lists: nothing here can fail to serialise.
    escaped_json(serde_json::to_string_pretty(&log).unwrap_or_default()) + "\n"
}

/// How every such report begins.
pub(super) fn start() -> String {
    format!(
        "{{\n  \"$schema\": \"{SCHEMA}\",\n  \"version\": \"{VERSION}\",\n  \"runs\": [\n    {{\n      \"tool\": {{\n        \
         \"driver\": {{\n          \"name\": \"{NAME}\","
    )
}

fn rule(code: &'static Code) -> SarifRule {
    let Code { id, meaning, help } = code;
    SarifRule {
        id,
        short_description: SarifText::of(meaning),
        full_description: SarifText::of(&format!("{meaning}. Help: {help}.")),
        help: SarifText::of(&format!("{help}. `repro explain {id}` has details.")),
    }
}

fn invocation(report: &Report, untold: usize, left_out: usize) -> SarifInvocation {
    let tell = |level| {
        move |message: String| SarifNotification { level, message: SarifText::of(&message) }
    };
    let nothing = || match report.is_not_judged() {
        true => wording::NOT_JUDGED.to_owned(),
        false => "nothing was checked".to_owned(),
    };
    let empty = wording::named(report.posts_without_claims().map(|post| post.id.as_str()));
    let passed = wording::named(report.passed_over.iter().map(String::as_str));
    let drafted = || {
        let statements = wording::many(report.drafted(), "statement");
        format!("{statements} drafted and not confirmed")
    };
    let not_run = "some of the requested checks did not run";
    let open = || {
        let counts = wording::counts(&report.summary());
        format!("{counts}; `--verbose` also reports claims that are not refuted")
    };
    let cut = || format!("{left_out} of the least severe results are left out");
    let told = [
        (report.summary().total() == 0).then(nothing),
        // Without locks it is a remark of its post.
        (report.locked.is_some() && report.drafted() > 0).then(drafted),
        (!empty.is_empty()).then(|| format!("nothing was checked in {empty}")),
        (report.not_run && !report.is_not_judged()).then(|| not_run.to_owned()),
        (!passed.is_empty()).then(|| format!("skipped, as it cannot be read: {passed}")),
        (left_out > 0).then(cut),
        (untold > 0).then(open),
        super::replay_scope(report),
    ];
    let rests_on = |post: &PostReport| {
        let said = wording::disclosures(post).join("; ");
        (!said.is_empty()).then(|| format!("{} rests on: {said}", visible(&post.id)))
    };
    let told = told.into_iter().flatten().map(tell(SarifLevel::Warning));
    let rests_on = report.posts.iter().filter_map(rests_on).map(tell(SarifLevel::Note));
    SarifInvocation {
        execution_successful: report.failures.is_empty() && !report.not_run,
        exit_code: report.exit_status().code(),
        tool_execution_notifications: told.chain(rests_on).collect(),
    }
}

/// A fingerprint from what stays when lines move; results that are alike in it are counted.
fn fingerprints(alert: &Alert<'_>, seen: &mut HashMap<String, usize>) -> SarifFingerprints {
    let about = [alert.about.post, alert.about.claim].map(Option::unwrap_or_default);
    // Lengths tell where a part ends, whatever is in it.
    let parts = [about[0], about[1], alert.code.id, alert.words];
    let told: String = parts.iter().map(|part| format!("{}:{part}", part.len())).collect();
    let digest = Digest::of(told.as_bytes()).to_string();
    let hash: String = digest.chars().take(FINGERPRINT).collect();
    let count = seen.entry(hash.clone()).or_default();
    *count += 1;
    SarifFingerprints { primary_location_line_hash: format!("{hash}:{count}") }
}

/// A message in which no part of the input is a placeholder or a link.
fn inert(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}").replace("](", "] (")
}

fn alerts(report: &Report) -> Vec<Alert<'_>> {
    let refused = report.failures.iter().map(of_refusal);
    let signatures = report.posts.iter().flat_map(of_signatures);
    let mut alerts: Vec<_> = refused.chain(signatures).collect();
    if let Some(differences) = &report.locked {
        alerts.extend(differences.iter().map(|difference| of_difference(report, difference)));
        // What was recorded is as it should be, and yet may rest on less than was asked for.
        alerts.extend(report.posts.iter().flat_map(|post| of_weak_claims(report, post)));
    } else {
        for post in &report.posts {
            alerts.extend(of_claims(report, post));
            let quotes = post.claims.iter().map(|claim| (claim.id.as_str(), claim.quote.as_str()));
            let quotes: HashMap<_, _> = quotes.collect();
            let remarks = Remarks::of(post);
            alerts.extend(remarks.all().iter().map(|finding| of_finding(post, finding, &quotes)));
        }
    }
    if report.wants_all_bound {
        alerts.extend(report.posts.iter().flat_map(of_texts));
    }
    alerts
}

fn of_refusal(error: &Error) -> Alert<'_> {
    let facts = [&error.expected, &error.found, &error.help].map(|part| prose(part));
    let [expected, found, help] = facts;
    Alert {
        code: error.code,
        level: SarifLevel::Error,
        message: format!("{}: expected {expected}, found {found}; {help}", error.code.meaning),
        place: error.place.clone(),
        words: &error.place.file,
        about: SarifProperties::default(),
    }
}

fn of_signatures(post: &PostReport) -> impl Iterator<Item = Alert<'_>> {
    post.bundles.iter().filter_map(|bundle| {
        let signature = bundle.signature.as_ref()?;
        let code = signature.code.filter(|_| signature.verdict == Verdict::Refuted)?;
        Some(Alert {
            code,
            level: SarifLevel::Error,
            message: format!("{}: {}", visible(&bundle.name), prose(&signature.reason)),
            place: Location::file(post.file.clone()),
            words: &bundle.name,
            about: SarifProperties {
                post: Some(&post.id),
                verdict: Some(signature.verdict),
                ..SarifProperties::default()
            },
        })
    })
}

fn of_difference<'r>(report: &'r Report, difference: &'r LockDifference) -> Alert<'r> {
    let post = report.posts.iter().find(|post| post.id == difference.post);
    let claim = report.claim(&difference.post, &difference.claim);
    let whole = || post.map(|post| Location::file(post.file.clone()));
    let (name, change) = (visible(&difference.claim), wording::change(difference));
    Alert {
        code: &NOT_AS_RECORDED,
        level: SarifLevel::Error,
        message: format!("{name} is not as recorded: {change}"),
        place: claim.map(ClaimReport::written_at).or_else(whole).unwrap_or_default(),
        words: claim.map_or("", |claim| &claim.quote),
        about: SarifProperties {
            post: Some(&difference.post),
            claim: Some(&difference.claim),
            verdict: claim.map(|claim| claim.outcome.verdict),
            impact: claim.map(|claim| claim.impact),
        },
    }
}

/// Claims that are not verified, or on too weak evidence; those that change a decision first.
fn of_claims<'r>(report: &'r Report, post: &'r PostReport) -> impl Iterator<Item = Alert<'r>> {
    let ranked = Verdict::ALL.into_iter().flat_map(|verdict| wording::ranked(post, verdict));
    ranked.filter_map(|claim| {
        let (code, level) = match claim.outcome.verdict {
            Verdict::Refuted if claim.is_unconfirmed_difference() => {
                (claim.outcome.code?, SarifLevel::Warning)
            }
            Verdict::Refuted => (claim.outcome.code?, SarifLevel::Error),
            Verdict::Inconclusive => (claim.outcome.code?, SarifLevel::Warning),
            Verdict::Unchecked => (claim.outcome.code?, SarifLevel::Note),
            Verdict::Verified if report.is_below(post, claim) => {
                (&BELOW_MINIMUM, SarifLevel::Warning)
            }
            Verdict::Verified => return None,
        };
        Some(of_claim(post, claim, code, level))
    })
}

/// Claims on too weak evidence.
fn of_weak_claims<'r>(report: &'r Report, post: &'r PostReport) -> impl Iterator<Item = Alert<'r>> {
    let weak = post.claims.iter().filter(|claim| report.is_below(post, claim));
    weak.map(|claim| of_claim(post, claim, &BELOW_MINIMUM, SarifLevel::Warning))
}

fn of_claim<'r>(
    post: &'r PostReport,
    claim: &'r ClaimReport,
    code: &'static Code,
    level: SarifLevel,
) -> Alert<'r> {
    let name = visible(&claim.id);
    let verdict = match claim.differs() {
        Some(_) => wording::verdict(claim),
        None => format!("is {}", claim.outcome.verdict.word()),
    };
    Alert {
        code,
        level,
        message: format!("{name} {verdict}: {}", wording::in_a_line(claim, 240)),
        place: claim.written_at(),
        words: &claim.quote,
        about: SarifProperties {
            post: Some(&post.id),
            claim: Some(&claim.id),
            verdict: Some(claim.outcome.verdict),
            impact: Some(claim.impact),
        },
    }
}

fn of_finding<'r>(
    post: &'r PostReport,
    finding: &'r Finding,
    quotes: &HashMap<&str, &'r str>,
) -> Alert<'r> {
    let claim = finding.claim.as_deref();
    let name = claim.map(|claim| format!("{}: ", visible(claim))).unwrap_or_default();
    Alert {
        code: finding.code,
        level: match finding.severity {
            Severity::Error => SarifLevel::Error,
            Severity::Warning => SarifLevel::Warning,
            Severity::Note => SarifLevel::Note,
        },
        message: format!("{name}{}", prose(&finding.message)),
        place: finding.place.clone(),
        words: claim.and_then(|claim| quotes.get(claim)).copied().unwrap_or_default(),
        about: SarifProperties { post: Some(&post.id), claim, ..SarifProperties::default() },
    }
}

/// Texts that were not read, or have numbers that are bound to nothing, where that was asked for.
fn of_texts(post: &PostReport) -> impl Iterator<Item = Alert<'_>> {
    let open = post.texts.iter().filter(|text| !text.is_at_hand || !text.unbound.is_empty());
    open.map(|text| Alert {
        code: &UNBOUND,
        level: SarifLevel::Warning,
        message: match text.is_at_hand {
            false => format!("{}: the text is missing", visible(&text.id)),
            true => {
                let unbound = visible(&text.unbound.join(", "));
                format!("{}: not covered by a claim: {unbound}", visible(&text.id))
            }
        },
        place: Location::file(post.file.clone()),
        words: &text.id,
        about: SarifProperties { post: Some(&post.id), ..SarifProperties::default() },
    })
}
