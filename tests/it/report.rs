//! Reports as people and programs see them: one invented report in every format, hostile strings,
//! and what must hold for any strings.

use proptest::prelude::*;
use repro::outcome::{
    BundleReport, ClaimReport, Exhibit, Finding, LockDifference, Method, Origin, Outcome,
    PostReport, Referee, Report, Severity, Verdict, Weight,
};
use repro::report::{Format, Options, SCOPE, github_summary, render, render_failure};
use repro::source::{Code, Document, Place, Refusal, Source};

static DIFFERS: Code = Code {
    id: "identity::differs",
    meaning: "the two sides of an identity differ",
    way_out: "correct the one that is wrong",
};
static OUTSIDE: Code = Code {
    id: "gap::outside",
    meaning: "the claimed gap lies outside the interval",
    way_out: "print the recomputed gap",
};
static ONE_RUN: Code = Code {
    id: "ranking_significance::one-run",
    meaning: "one run per cell decides no ranking",
    way_out: "run more seeds",
};
static SINGLE_SOURCE: Code = Code {
    id: "cross_artifact::single-source",
    meaning: "both sides come from one place",
    way_out: "name a second document",
};
static INFERRED: Code = Code {
    id: "param_count::inferred",
    meaning: "the convention was found by search",
    way_out: "state the convention",
};

/// A post file, so that places are real ones.
const POST: &str = r#"schema = "repro.post/1"
[[claim]]
id = "width-moe32"
claimed = "2,048"
[[claim]]
id = "gap-muon"
claimed = "0.0410 ± 0.0012"
[[claim]]
id = "score-best"
[[claim]]
id = "loss-large"
claimed = "2.31"
[[claim]]
id = "p-total"
claimed = "755,534,592"
[[claim]]
id = "a-claim-with-a-name-that-takes-half-of-the-page"
claimed = "24%"
[[claim]]
id = "steps"
claimed = "8,320"
"#;

fn place(number: usize) -> Place {
    let source = Source::new("repro/9999.toml", POST.as_bytes().to_vec()).unwrap();
    let document = Document::parse_toml(source).unwrap();
    let claim = document.root().at(&format!("/claim/{number}")).unwrap();
    claim.get("claimed").or(claim.get("id")).unwrap().place()
}

fn claim(number: usize, id: &str, kind: &'static str, claimed: &str) -> ClaimReport {
    ClaimReport {
        id: id.to_owned(),
        kind,
        claimed: claimed.to_owned(),
        quote: String::new(),
        at: Some(("post".to_owned(), "section 3, table 1".to_owned())),
        note: String::new(),
        place: place(number),
        origin: Some(Origin::Transcribed),
        weight: Weight::Digit,
        outcome: Outcome {
            verdict: Verdict::Verified,
            reason: String::new(),
            code: None,
            method: Some(Method::Recomputed),
            recomputed: claimed.to_owned(),
            tolerance: "half a unit of the last printed digit".to_owned(),
            rule: "T0",
            notes: Vec::new(),
        },
        evidence: vec![Exhibit {
            bundle: "nmoe-0003".to_owned(),
            file: "data/configs/moe64.toml".to_owned(),
            pointer: "/model/dim".to_owned(),
            document: Some("config".to_owned()),
            printed_at: Some("line 12".to_owned()),
        }],
    }
}

fn judged(
    mut claim: ClaimReport,
    verdict: Verdict,
    code: &'static Code,
    recomputed: &str,
    reason: &str,
) -> ClaimReport {
    claim.outcome.verdict = verdict;
    claim.outcome.code = Some(code);
    claim.outcome.recomputed = recomputed.to_owned();
    claim.outcome.reason = reason.to_owned();
    claim
}

fn own_finding(claim: &ClaimReport) -> Option<Finding> {
    let severity = match claim.outcome.verdict {
        Verdict::Refuted => Severity::Error,
        _ => Severity::Warning,
    };
    Some(Finding {
        code: claim.outcome.code?,
        severity,
        message: claim.outcome.reason.clone(),
        place: claim.place.clone(),
        claim: Some(claim.id.clone()),
    })
}

fn claims() -> Vec<ClaimReport> {
    let mut width = judged(
        claim(0, "width-moe32", "identity", "2,048"),
        Verdict::Refuted,
        &DIFFERS,
        "1,920",
        "recomputed 1,920 = (4 + 1) x 384",
    );
    width.note = "The table was made before the\nlast change of the config.".to_owned();
    let mut gap = judged(
        claim(1, "gap-muon", "gap", "0.0410 ± 0.0012"),
        Verdict::Refuted,
        &OUTSIDE,
        "0.0297",
        "the claimed gap is outside the 95% interval [0.0211, 0.0383] of a paired t test over n = 3 seeds",
    );
    gap.weight = Weight::Decision;
    gap.origin = Some(Origin::Emitted);
    let mut score = judged(
        claim(2, "score-best", "ranking_significance", ""),
        Verdict::Inconclusive,
        &ONE_RUN,
        "A 0.412, B 0.407",
        "one run per cell",
    );
    score.weight = Weight::Decision;
    score.quote = "the best of all models that we trained, by a clear margin".to_owned();
    let mut loss = judged(
        claim(3, "loss-large", "cross_artifact", "2.31"),
        Verdict::Unchecked,
        &SINGLE_SOURCE,
        "",
        "single source; the run's log is not published",
    );
    loss.outcome.method = None;
    loss.origin = None;
    let total = claim(4, "p-total", "param_count", "755,534,592");
    let mut long = judged(
        claim(5, "a-claim-with-a-name-that-takes-half-of-the-page", "percentage", "24%"),
        Verdict::Inconclusive,
        &ONE_RUN,
        "23.4% to 25.1%, depending on which of the two printed baselines is meant by the text",
        "both readings are possible; the text names neither of them, and the two tables print different baselines",
    );
    long.origin = Some(Origin::Signed);
    let mut steps = claim(6, "steps", "cross_artifact", "8,320");
    steps.outcome.method = Some(Method::Compared);
    vec![width, gap, score, loss, total, long, steps]
}

fn post() -> PostReport {
    let claims = claims();
    let mut findings: Vec<Finding> = claims.iter().filter_map(own_finding).collect();
    findings.push(Finding {
        code: &INFERRED,
        severity: Severity::Warning,
        message: "holds only with untied embeddings: inferred, 1 of 8 conventions tried".to_owned(),
        place: claims[4].place.clone(),
        claim: Some("p-total".to_owned()),
    });
    PostReport {
        id: "9999".to_owned(),
        title: "An invented post".to_owned(),
        file: "repro/9999.toml".to_owned(),
        bundles: vec![BundleReport {
            name: "nmoe-0003".to_owned(),
            digest: format!("sha256:{}", "0123456789abcdef".repeat(4)),
            origin: Origin::Transcribed,
        }],
        claims,
        findings,
        referee: Some(Referee {
            load_bearing_premises: vec!["Both arms were tuned equally.".to_owned()],
            free_parameters: vec!["The learning rate; one value was tried.".to_owned()],
            missing_facts: vec![
                "The logs of the eight runs behind table 2, which would settle whether the gap holds for each seed.".to_owned(),
            ],
        }),
    }
}

/// A refusal inside the invented post, and one of a whole file.
fn failures() -> Vec<Refusal> {
    let line = r#"{"schema":"repro.receipt/1","run":{"name":"moe64","seed":1,"steps":8320},"model":{"dim":"wide","layers":12,"heads":6,"experts":64},"data":{"tokens":1000000}}"#;
    let source = Source::new("receipts/nmoe-0003/receipt.json", line.as_bytes().to_vec()).unwrap();
    let document = Document::parse_json(source).unwrap();
    let wrong = document.root().at("/model/dim").unwrap().integer().unwrap_err();
    let absent = repro::source::UNREADABLE.at(
        Place::file("receipts/gone/receipt.json"),
        "a readable file",
        "No such file or directory",
    );
    vec![wrong, absent]
}

fn report() -> Report {
    Report { posts: vec![post()], ..Report::default() }
}

fn everything() -> Report {
    let mut second = post();
    second.id = "0001".to_owned();
    second.claims.retain(|claim| claim.outcome.verdict == Verdict::Verified);
    second.findings.clear();
    second.referee = None;
    Report {
        posts: vec![second, post()],
        failures: failures(),
        locked: None,
        below_minimum: vec!["0001/steps".to_owned()],
    }
}

fn locked() -> Report {
    let difference = |claim: &str, recorded: Option<&str>, found: Option<&str>| LockDifference {
        post: "9999".to_owned(),
        claim: claim.to_owned(),
        recorded: recorded.map(str::to_owned),
        found: found.map(str::to_owned),
    };
    let differences = vec![
        difference(
            "gap-muon",
            Some("verified emitted recomputed"),
            Some("refuted emitted recomputed"),
        ),
        difference("steps", None, Some("verified transcribed compared")),
        difference("gone", Some("verified transcribed recomputed"), None),
    ];
    Report { locked: Some(differences), ..report() }
}

const HOSTILE: &str = "\u{1b}[2J|`x`\r\n::error::pwned,a:b%0A<img src=x onerror=alert(1)>\u{202e}@all \u{0}\u{fffe}]]>";

fn hostile() -> Report {
    let mut report = everything();
    for post in &mut report.posts {
        post.title = HOSTILE.to_owned();
        post.id = HOSTILE.to_owned();
        for claim in &mut post.claims {
            claim.id = HOSTILE.to_owned();
            claim.claimed = HOSTILE.to_owned();
            claim.note = HOSTILE.to_owned();
            claim.place.file = HOSTILE.to_owned();
            claim.place.excerpt = HOSTILE.to_owned();
            claim.outcome.reason = HOSTILE.to_owned();
            claim.outcome.recomputed = HOSTILE.to_owned();
        }
        for finding in &mut post.findings {
            finding.message = HOSTILE.to_owned();
        }
    }
    let place = Place {
        line: 1,
        column: 3,
        length: 9,
        excerpt: HOSTILE.to_owned(),
        ..Place::file(HOSTILE)
    };
    report.failures = vec![repro::source::WRONG_TYPE.at(place, HOSTILE, HOSTILE).way_out(HOSTILE)];
    report.below_minimum = vec![HOSTILE.to_owned()];
    report
}

fn text(report: &Report, width: usize) -> String {
    render(report, Format::Text, &Options { width, ..Options::default() })
}

fn verbose(report: &Report, width: usize) -> String {
    render(report, Format::Text, &Options { width, verbose: true, ..Options::default() })
}

/// Keeps the snapshots beside those of the other tests.
fn snapshot(name: &str, drawn: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(format!("report_{name}"), drawn));
}

#[test]
fn text_says_the_worst_first() {
    snapshot("text", &text(&report(), 100));
    snapshot("text_narrow", &text(&report(), 60));
    snapshot("text_wide", &text(&report(), 140));
    let quiet = Options { quiet: true, ..Options::default() };
    snapshot("text_quiet", &render(&report(), Format::Text, &quiet));
}

#[test]
fn verbose_text_lists_what_holds_and_draws_what_does_not() {
    snapshot("text_verbose", &verbose(&everything(), 100));
    snapshot("text_verbose_narrow", &verbose(&report(), 60));
}

#[test]
fn a_locked_run_reports_the_differences() {
    snapshot("text_locked", &text(&locked(), 100));
    let same = Report { locked: Some(Vec::new()), ..report() };
    assert_eq!(text(&same, 100), format!("all 7 verdicts are as recorded\n\n{SCOPE}\n"));
    let github = render(&same, Format::Github, &Options::default());
    assert!(!github.contains("::error") && github.contains("all 7 verdicts are as recorded"));
}
