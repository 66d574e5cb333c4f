//! Reports as people and programs see them: one invented report in every format, hostile strings,
//! and what must hold for any strings.

use proptest::prelude::*;
use repro_core::source::{Code, Document, Error, Location, Source};
use repro_report::growing::{GrowingReport, GrownReport, HeldBundles};
use repro_report::outcome::{
    BundleReport, ChallengeReport, ClaimReport, Definition, EvidenceOrigin, EvidenceRef,
    ExcusedWords, Fact, FactCell, FactRow, Finding, Impact, Lint, LintKind, LockDifference,
    Meaning, Measured, Method, Outcome, PinnedBy, PostReport, ReadBy, Referee, Report, Severity,
    SignatureReport, TextReport, Verdict,
};
use repro_report::part::{PartSubject, ReportPart, ReportSink};
use repro_report::{
    Format, ReportOptions, SCOPE, github_summary, is_report, render, render_failure,
};

static DIFFERS: Code = Code {
    id: "value::differs",
    meaning: "a printed number is not what the evidence gives",
    help: "correct the one that is wrong",
};
static OUTSIDE: Code = Code {
    id: "value::outside",
    meaning: "the claimed gap lies outside the interval",
    help: "print the recomputed gap",
};
static ONE_RUN: Code = Code {
    id: "order::one-run",
    meaning: "one run per cell decides no ranking",
    help: "run more seeds",
};
static SINGLE_SOURCE: Code = Code {
    id: "value::single-source",
    meaning: "the evidence was typed from the quoted place",
    help: "name a second document",
};
static INFERRED: Code = Code {
    id: "total::inferred",
    meaning: "the convention was found by search",
    help: "state the convention",
};

/// A post file, so that places are real ones.
const POST: &str = r#"schema = "repro.post/2"
[[sentence]]
quote = "2,048"
is = "moe32.width"
[[sentence]]
quote = "0.0410 ± 0.0012"
is = ["mean(gap)", "sd(gap)"]
[[sentence]]
id = "score-best"
[[sentence]]
quote = "2.31"
is = "large.loss"
[[sentence]]
quote = "755,534,592"
is = "total(moe64)"
[[sentence]]
quote = "24%"
is = "share"
[[sentence]]
quote = "8,320"
is = "run.steps"
"#;

fn place(number: usize) -> Location {
    let source = Source::new("repro/9999.toml", POST.as_bytes().to_vec()).unwrap();
    let document = Document::parse_toml(source).unwrap();
    let claim = document.root().at(&format!("/sentence/{number}")).unwrap();
    claim.get("is").or(claim.get("id")).unwrap().place()
}

fn claim(number: usize, id: &str, kind: &'static str, claimed: &str) -> ClaimReport {
    ClaimReport {
        id: id.to_owned(),
        kind,
        claimed: claimed.to_owned(),
        said: String::new(),
        row: Vec::new(),
        own_numbers: Vec::new(),
        around: String::new(),
        quote: String::new(),
        at: Some(("post".to_owned(), "section 3, table 1".to_owned())),
        note: String::new(),
        meaning: Meaning::default(),
        place: place(number),
        origin: Some(EvidenceOrigin::Transcribed),
        impact: Impact::Digit,
        outcome: Outcome {
            verdict: Verdict::Verified,
            reason: String::new(),
            code: None,
            impact: None,
            method: Some(Method::Recomputed),
            recomputed: claimed.to_owned(),
            tolerance: "half a unit of the last printed digit".to_owned(),
            rule: "rounding_interval",
            measured: vec![Measured {
                claimed: Some(2.31),
                value: Some(2.308),
                interval: Some([2.3075, 2.3085]),
                allowed: Some([2.305, 2.315]),
                ..Measured::default()
            }],
            notes: Vec::new(),
        },
        evidence: vec![EvidenceRef {
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
        claim(0, "width-moe32", "number", "2,048"),
        Verdict::Refuted,
        &DIFFERS,
        "1,920",
        "recomputed 1,920 = (4 + 1) x 384",
    );
    width.note = "The table was made before the\nlast change of the config.".to_owned();
    let mut gap = judged(
        claim(1, "gap-muon", "number", "0.0410 ± 0.0012"),
        Verdict::Refuted,
        &OUTSIDE,
        "0.0297",
        "the claimed gap is outside the 95% interval [0.0211, 0.0383] of a paired t test over n = 3 seeds",
    );
    gap.impact = Impact::Decision;
    gap.origin = Some(EvidenceOrigin::Declared);
    let mut score = judged(
        claim(2, "score-best", "relation", ""),
        Verdict::Inconclusive,
        &ONE_RUN,
        "A 0.412, B 0.407",
        "one run per cell",
    );
    score.impact = Impact::Decision;
    score.quote = "the best of all models that we trained, by a clear margin".to_owned();
    let mut loss = judged(
        claim(3, "loss-large", "number", "2.31"),
        Verdict::Unchecked,
        &SINGLE_SOURCE,
        "",
        "single source; the run's log is not published",
    );
    loss.outcome.method = None;
    loss.origin = None;
    let total = claim(4, "p-total", "total", "755,534,592");
    let mut long = judged(
        claim(5, "a-claim-with-a-name-that-takes-half-of-the-page", "number", "24%"),
        Verdict::Inconclusive,
        &ONE_RUN,
        "23.4% to 25.1%, depending on which of the two printed baselines is meant by the text",
        "both readings are possible; the text names neither of them, and the two tables print different baselines",
    );
    long.origin = Some(EvidenceOrigin::Signed);
    let mut steps = claim(6, "steps", "number", "8,320");
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
        digest: format!("sha256:{}", "89abcdef01234567".repeat(4)),
        definitions: vec![Definition {
            name: "moe".to_owned(),
            meaning: "nmoe-0003:data/configs/moe64.toml".to_owned(),
        }],
        excused: vec![ExcusedWords {
            words: "section 3".to_owned(),
            reason: "the number of a section".to_owned(),
        }],
        texts: vec![
            TextReport {
                is_at_hand: true,
                unbound: vec!["0.31 (line 4)".to_owned(), "7 (line 9)".to_owned()],
                excused: 1,
                ..TextReport::not_at_hand("post".to_owned(), "the post".to_owned())
            },
            TextReport::not_at_hand("receipts".to_owned(), "its receipts".to_owned()),
        ],
        bundles: vec![BundleReport {
            name: "nmoe-0003".to_owned(),
            digest: format!("sha256:{}", "0123456789abcdef".repeat(4)),
            origin: EvidenceOrigin::Transcribed,
            attested_by: None,
            signature: Some(SignatureReport {
                verdict: Verdict::Verified,
                key: Some(format!("sha256:{}", "fedcba9876543210".repeat(4))),
                pinned_by: Some(PinnedBy::Author),
                code: None,
                reason: String::new(),
            }),
        }],
        claims,
        findings,
        challenge: Some(ChallengeReport {
            seed: "round 5417000".to_owned(),
            source: "free text".to_owned(),
            root: "89abcdef01234567".repeat(4),
            of: 24,
            evaluated: 2,
            drawn: 10,
            led: 10,
            escape: Some(0.636_363),
        }),
        referee: Some(Referee {
            load_bearing_premises: vec!["Both arms were tuned equally.".to_owned()],
            free_parameters: vec!["The learning rate; one value was tried.".to_owned()],
            missing_facts: vec![
                "The logs of the eight runs behind table 2, which would settle whether the gap holds for each seed.".to_owned(),
            ],
        }),
        ..PostReport::default()
    }
}

/// A refusal inside the invented post, and one of a whole file.
fn failures() -> Vec<Error> {
    let line = r#"{"schema":"repro.receipt/1","run":{"name":"moe64","seed":1,"steps":8320},"model":{"dim":"wide","layers":12,"heads":6,"experts":64},"data":{"tokens":1000000}}"#;
    let source = Source::new("receipts/nmoe-0003/receipt.json", line.as_bytes().to_vec()).unwrap();
    let document = Document::parse_json(source).unwrap();
    let wrong = document.root().at("/model/dim").unwrap().integer().unwrap_err();
    let absent = repro_core::source::UNREADABLE.at(
        Location::file("receipts/gone/receipt.json"),
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
        replayed: 1,
        below_minimum: vec!["0001/steps".to_owned()],
        ..Report::default()
    }
}

/// What a bundle on its own came to: each third is refuted, each seventh cannot be used, others are below a minimum or hold.
fn bundle_part(at: usize) -> ReportPart {
    let name = format!("runs/{}-{at}", ["ash", "birch"][at % 2]);
    let subject = PartSubject::Bundle(name.clone());
    if at.is_multiple_of(7) {
        return ReportPart::refused(subject, failures());
    }
    let mut post = post();
    (post.id, post.file) = (name.replace("runs/", ""), name);
    (post.digest, post.texts, post.referee) = (String::new(), Vec::new(), None);
    if !at.is_multiple_of(3) {
        post.claims.retain(|claim| claim.outcome.verdict == Verdict::Verified);
        post.findings.clear();
    }
    let below_minimum = match at.is_multiple_of(5) {
        true => vec![format!("{}/steps", post.id)],
        false => Vec::new(),
    };
    ReportPart { subject, post: Some(post), failures: Vec::new(), below_minimum, replayed: 1 }
}

/// A post, so many bundles, and something that all of them depend on.
fn parts(bundles: usize) -> impl Iterator<Item = ReportPart> {
    let post = ReportPart {
        subject: PartSubject::Post("9999".to_owned()),
        post: Some(post()),
        failures: failures(),
        below_minimum: Vec::new(),
        replayed: 2,
    };
    let last = ReportPart::refused(PartSubject::Run, failures());
    std::iter::once(post).chain((1..=bundles).map(bundle_part)).chain([last])
}

fn grown(bundles: usize, held: HeldBundles) -> GrownReport {
    let mut growing = GrowingReport::new(held);
    parts(bundles).for_each(|part| growing.take(part));
    growing.finish()
}

/// The same, all of it held.
fn collected(bundles: usize) -> Report {
    let mut report = Report::default();
    parts(bundles).for_each(|part| report.take(part));
    report
}

#[test]
fn a_report_of_few_bundles_is_whole() {
    let whole = collected(200);
    for held in [HeldBundles::Few, HeldBundles::All, HeldBundles::AllTold] {
        let grown = grown(200, held);
        assert!(grown.text_of_many(&ReportOptions::default()).is_none());
        assert_eq!(grown.into_whole(), whole, "{held:?}");
    }
}

#[test]
fn a_report_of_many_bundles_holds_them_for_formats_that_list_all_claims() {
    let whole = collected(201);
    for format in Format::ALL {
        let held = HeldBundles::for_formats([Format::Text, format], false);
        assert_eq!(held == HeldBundles::All, format.needs_all_posts(), "{}", format.word());
        let grown = grown(201, held);
        assert_eq!(grown.report.exit_status(), whole.exit_status());
        assert!(grown.text_of_many(&ReportOptions::default()).is_some());
        let drawn = grown.into_whole();
        assert_eq!(drawn == whole, format.needs_all_posts(), "{}", format.word());
        if let Format::Badge | Format::Shields = format {
            let options = ReportOptions::default();
            assert_eq!(render(&drawn, format, &options), render(&whole, format, &options));
        }
    }
    let told = HeldBundles::for_formats([Format::Text], true);
    assert_eq!(grown(201, told).into_whole(), whole);
}

#[test]
fn a_report_of_many_bundles_does_not_grow_with_them() {
    let few = grown(300, HeldBundles::Few);
    let many = grown(3_000, HeldBundles::Few);
    let options = ReportOptions::default();
    let text = |grown: &GrownReport| grown.text_of_many(&options).unwrap();
    assert_eq!(text(&few).lines().count(), text(&many).lines().count(), "{}", text(&many));
    for grown in [&few, &many] {
        let Report { posts, failures, below_minimum, .. } = &grown.report;
        assert_eq!((posts.len(), failures.len(), below_minimum.len()), (1, 4, 0));
    }
    let whole = collected(300);
    assert_eq!(few.report.summary(), whole.summary());
    assert_eq!(few.report.count_failures(), whole.count_failures());
    assert_eq!(few.report.count_below_minimum(), whole.count_below_minimum());
    assert_eq!((few.report.forged(), few.report.replayed), (whole.forged(), whole.replayed));
}

fn locked() -> Report {
    let difference = |claim: &str, recorded: Option<&str>, found: Option<&str>| LockDifference {
        post: "9999".to_owned(),
        claim: claim.to_owned(),
        recorded: recorded.map(str::to_owned),
        found: found.map(str::to_owned),
        is_of_verdict: found.is_some_and(|found| found.starts_with("refuted")),
    };
    let differences = vec![
        difference(
            "gap-muon",
            Some("verified declared recomputed"),
            Some("refuted declared recomputed"),
        ),
        difference("steps", None, Some("verified transcribed compared")),
        difference("gone", Some("verified transcribed recomputed"), None),
    ];
    Report { locked: Some(differences), ..report() }
}

const HOSTILE: &str = "\u{1b}[2J|`x`\r\n::error::pwned,a:b%0A<img src=x onerror=alert(1)>\u{202e}@all \u{0}\u{fffe}]]>";

/// A fact whose values stand in a table.
fn fact(words: &str, cells: &[(&str, f64)]) -> Fact {
    let cell = |(arm, value): &(&str, f64)| FactCell { arm: (*arm).to_owned(), value: *value };
    let row = FactRow {
        quantity: words.to_owned(),
        series: words.to_owned(),
        unit: words.to_owned(),
        signs: vec!["<".to_owned(); cells.len() - 1],
        cells: cells.iter().map(cell).collect(),
    };
    Fact { sentence: words.to_owned(), shape: words.to_owned(), rows: vec![row] }
}

fn hostile() -> Report {
    let mut report = report();
    for post in &mut report.posts {
        post.claims.truncate(2);
        post.findings.truncate(1);
        post.title = HOSTILE.to_owned();
        post.id = HOSTILE.to_owned();
        post.challenge.iter_mut().for_each(|one| one.seed = HOSTILE.to_owned());
        post.central = vec![HOSTILE.to_owned()];
        for claim in &mut post.claims {
            let values = [(HOSTILE, 3.0), ("b", 2.0)];
            claim.meaning.fact = Some(fact(HOSTILE, &values));
            claim.meaning.premise = HOSTILE.to_owned();
            claim.quote = HOSTILE.to_owned();
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
    let place = Location {
        line: 1,
        column: 3,
        length: 9,
        excerpt: HOSTILE.to_owned(),
        ..Location::file(HOSTILE)
    };
    report.failures =
        vec![repro_core::source::WRONG_TYPE.at(place, HOSTILE, HOSTILE).help(HOSTILE)];
    report.below_minimum = vec![HOSTILE.to_owned()];
    report
}

fn text(report: &Report, width: usize) -> String {
    render(report, Format::Text, &ReportOptions { width, ..ReportOptions::default() })
}

fn verbose(report: &Report, width: usize) -> String {
    render(
        report,
        Format::Text,
        &ReportOptions { width, verbose: true, ..ReportOptions::default() },
    )
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
    let quiet = ReportOptions { quiet: true, ..ReportOptions::default() };
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
    // What the verdicts rest on stands before them, as in every other format; of a quiet run only what is wrong.
    let told = text(&same, 100);
    assert!(told.starts_with("9999 rests on\n  verified: "), "{told}");
    for words in ["excused: 1 quote", "Not covered by a claim", "(free"] {
        assert!(told.contains(words), "{told}");
    }
    assert!(told.contains("\nall 7 verdicts are as recorded: "), "{told}");
    let quiet = ReportOptions { quiet: true, ..ReportOptions::default() };
    let told = render(&same, Format::Text, &quiet);
    assert!(told.starts_with("all 7 verdicts are as recorded: "), "{told}");
    let github = render(&same, Format::Github, &ReportOptions::default());
    assert!(!github.contains("::error") && github.contains("all 7 verdicts are as recorded"));
}

/// A challenge executes parts of a run that has committed itself to all of them, a replay starts from what it is given.
#[test]
fn what_was_executed_is_told_by_its_kind() {
    let challenged = Report { replayed: 1, ..report() };
    let mut both = Report { replayed: 2, posts: vec![post(), post()], ..report() };
    both.posts[1].challenge = None;
    both.posts[1].claims[0].outcome.method = Some(Method::Replayed);
    let mut replayed = Report { replayed: 1, ..report() };
    replayed.posts[0].challenge = None;
    for (report, kinds) in
        [(&challenged, [true, false]), (&both, [true, true]), (&replayed, [false, true])]
    {
        let text = text(report, 100);
        let said = ["What a challenge does not show", "What a replay does not show"];
        assert_eq!(said.map(|words| text.contains(words)), kinds, "{text}");
    }
}

#[test]
fn bundles_are_not_counted_as_posts() {
    let mut mixed = Report { posts: vec![post(), post(), post()], ..report() };
    for bundle in &mut mixed.posts[1..] {
        bundle.digest = String::new();
    }
    let last = |report: &Report| {
        let text = text(report, 100);
        text.lines().rev().nth(2).unwrap().split("  ").next().unwrap().to_owned()
    };
    assert_eq!(last(&mixed), "1 post and 2 bundles");
    mixed.posts.remove(0);
    assert_eq!(last(&mixed), "2 bundles");
}

#[test]
fn one_refused_input_is_drawn_at_its_place() {
    let drawn: Vec<String> = [100, 60]
        .into_iter()
        .flat_map(|width| {
            let options = ReportOptions { width, ..ReportOptions::default() };
            failures().iter().map(|f| render_failure(f, &options)).collect::<Vec<_>>()
        })
        .collect();
    snapshot("failure", &drawn.join("\n"));
}

#[test]
fn an_empty_report_says_so() {
    assert_eq!(text(&Report::default(), 100), format!("nothing was checked\n\n{SCOPE}\n"));
}

#[test]
fn json_has_every_field() {
    let drawn = render(&everything(), Format::Json, &ReportOptions::default());
    snapshot("json", &drawn);
    let json: serde_json::Value = serde_json::from_str(&drawn).unwrap();
    assert_eq!(json["schema"], "repro.report/2");
    assert_eq!(json["exit_code"], 2);
    assert_eq!(
        json["summary"],
        serde_json::json!({"verified": 4, "refuted": 2, "inconclusive": 2, "unchecked": 1})
    );
    let has = |value: &serde_json::Value, fields: &str| {
        for field in fields.split(' ') {
            assert!(value.get(field).is_some(), "`{field}` is absent from {value}");
        }
    };
    has(&json, "schema posts failures locked below_minimum summary exit_code");
    for post in json["posts"].as_array().unwrap() {
        has(post, "id digest claims findings texts definitions excused bundles referee");
        for claim in post["claims"].as_array().unwrap() {
            has(
                claim,
                "id kind verdict origin method claimed recomputed tolerance rule said reason",
            );
            has(claim, "measured");
            has(claim, "quote at evidence place impact note");
            has(&claim["evidence"][0], "bundle file pointer");
        }
        for finding in post["findings"].as_array().unwrap() {
            has(finding, "code severity message place claim");
            has(&finding["place"], "file line column pointer");
        }
    }
    for failure in json["failures"].as_array().unwrap() {
        has(failure, "code message place expected found help");
    }
    let gap = &json["posts"][1]["claims"][1];
    assert_eq!((&gap["verdict"], &gap["impact"]), (&"refuted".into(), &"decision".into()));
    let lock = render(&locked(), Format::Json, &ReportOptions::default());
    let lock: serde_json::Value = serde_json::from_str(&lock).unwrap();
    assert_eq!(lock["exit_code"], 1);
    assert_eq!(lock["locked"][1]["recorded"], serde_json::Value::Null);
}

#[test]
fn findings_are_sorted_by_place() {
    let mut shuffled = report();
    shuffled.posts[0].findings.reverse();
    for format in Format::ALL {
        let options = ReportOptions { verbose: true, ..ReportOptions::default() };
        assert_eq!(render(&shuffled, format, &options), render(&report(), format, &options));
    }
}

#[test]
fn junit_counts_what_the_report_counts() {
    let drawn = render(&everything(), Format::Junit, &ReportOptions::default());
    snapshot("junit", &drawn);
    let parsed = quick_junit::Report::deserialize_from_str(&drawn).unwrap();
    assert_eq!((parsed.tests, parsed.failures, parsed.errors), (13, 2, 2));
    let names: Vec<_> = parsed.test_suites.iter().map(|suite| suite.name.as_str()).collect();
    assert_eq!(names, ["0001", "9999", "inputs"]);
    assert_eq!(attributes_beyond_schema(&drawn), Vec::<String>::new());
    let drawn = render(&locked(), Format::Junit, &ReportOptions::default());
    let parsed = quick_junit::Report::deserialize_from_str(&drawn).unwrap();
    assert_eq!((parsed.tests, parsed.failures, parsed.errors), (9, 3, 0));
}

/// Attributes that the schema by which Jenkins reads results does not have on an element.
fn attributes_beyond_schema(text: &str) -> Vec<String> {
    let known = |element: &str| match element {
        "testsuites" => "name time tests failures errors",
        "testsuite" => {
            "name tests failures errors group time skipped timestamp hostname id package file log url"
        }
        "testcase" => "name time classname group",
        "failure" | "error" | "skipped" => "type message",
        "system-out" | "?xml" => "version encoding",
        other => panic!("the element {other}"),
    };
    let mut beyond = Vec::new();
    for tag in text.split('<').filter(|tag| !tag.is_empty() && !tag.starts_with('/')) {
        let tag = tag.split('>').next().unwrap();
        let (element, rest) = tag.split_once(' ').unwrap_or((tag.trim_end_matches('/'), ""));
        // Values are between quotes, and no value has a quote in it.
        for name in rest.split('"').step_by(2) {
            let name = name.trim().trim_end_matches('=');
            if !name.trim_matches(['/', '?']).is_empty()
                && !known(element).split(' ').any(|k| k == name)
            {
                beyond.push(format!("{element} {name}"));
            }
        }
    }
    beyond
}

fn sarif(report: &Report) -> serde_json::Value {
    serde_json::from_str(&render(report, Format::Sarif, &ReportOptions::default())).unwrap()
}

/// The results of a report as SARIF.
fn results(report: &Report) -> Vec<serde_json::Value> {
    sarif(report)["runs"][0]["results"].as_array().unwrap().clone()
}

#[test]
fn sarif_has_errors_and_what_was_asked_for() {
    let drawn = render(&everything(), Format::Sarif, &ReportOptions::default());
    snapshot("sarif", &drawn);
    assert!(is_report(&drawn));
    let levels = |log: &serde_json::Value| {
        let results = log["runs"][0]["results"].as_array().unwrap().clone();
        let of = |level| results.iter().filter(|result| result["level"] == level).count();
        ["error", "warning", "note"].map(of)
    };
    let log = sarif(&everything());
    // Two refuted and two inputs; one below the minimum.
    assert_eq!(levels(&log), [4, 1, 0]);
    let all = ReportOptions { verbose: true, ..ReportOptions::default() };
    let all = render(&everything(), Format::Sarif, &all);
    // Two inconclusive and one remark; one unchecked.
    assert_eq!(levels(&serde_json::from_str(&all).unwrap()), [4, 4, 1]);
    let run = &log["runs"][0];
    assert_eq!(run["invocations"][0]["executionSuccessful"], false);
    assert_eq!(run["invocations"][0]["exitCode"], 2);
    for result in run["results"].as_array().unwrap() {
        let rule = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(run["tool"]["driver"]["rules"][rule]["id"], result["ruleId"]);
        assert_eq!(result["locations"].as_array().unwrap().len(), 1, "{result}");
    }
    let told = &sarif(&Report::default())["runs"][0]["invocations"][0];
    let told = &told["toolExecutionNotifications"][0]["message"]["text"];
    assert_eq!(told, "nothing was checked");
}

#[test]
fn sarif_of_a_locked_run_has_the_differences() {
    let found: Vec<_> = results(&locked())
        .iter()
        .map(|result| (result["ruleId"].clone(), result["properties"]["claim"].clone()))
        .collect();
    let differs = |claim: &str| ("report::not-as-recorded".into(), claim.into());
    assert_eq!(found, ["gap-muon", "steps", "gone"].map(differs));
    assert_eq!(results(&Report { locked: Some(Vec::new()), ..report() }).len(), 0);
}

/// What a SARIF log has to say: its results, and the messages of its notifications.
fn told(log: &serde_json::Value) -> (usize, Vec<String>) {
    let run = &log["runs"][0];
    let notes = run["invocations"][0]["toolExecutionNotifications"].as_array();
    let text = |note: &serde_json::Value| note["message"]["text"].as_str().unwrap().to_owned();
    // What a report rests on is told whether all is well or not.
    let notes = notes.into_iter().flatten().filter(|note| note["level"] == "warning");
    (run["results"].as_array().unwrap().len(), notes.map(text).collect())
}

/// Every mix of what can keep an exit status from 0.
fn mixes() -> Vec<Report> {
    let mut mixes = Vec::new();
    for mix in 0_usize..1 << 8 {
        let is = |bit: usize| mix & (1 << bit) != 0;
        let mut one = post();
        one.bundles.clear();
        one.findings.clear();
        one.claims.retain(|claim| match claim.outcome.verdict {
            Verdict::Verified => !is(5),
            verdict => is(0) && verdict != Verdict::Refuted || is(7) && verdict == Verdict::Refuted,
        });
        mixes.push(Report {
            failures: if is(4) { failures() } else { Vec::new() },
            locked: is(1).then(|| if is(7) { locked().locked.unwrap() } else { Vec::new() }),
            below_minimum: one
                .claims
                .iter()
                .filter(|_| is(2))
                .map(|c| format!("9999/{}", c.id))
                .collect(),
            posts: vec![one],
            wants_all_bound: is(3),
            not_run: is(6),
            ..Report::default()
        });
    }
    mixes
}

#[test]
fn whatever_keeps_the_status_from_zero_is_in_every_format_of_ci() {
    for report in mixes() {
        let status = report.exit_status().code();
        let log = sarif(&report);
        let (results, notes) = told(&log);
        let is_told = results > 0 || !notes.is_empty();
        assert!(status == 0 || is_told, "{status}: {report:#?}");
        let weak = results_of(&log, "report::below-minimum");
        if report.locked.as_ref().is_some_and(Vec::is_empty) {
            assert_eq!(weak, report.below_minimum.len(), "{report:#?}");
        }
        let is_whole = report.failures.is_empty() && !report.not_run;
        assert_eq!(log["runs"][0]["invocations"][0]["executionSuccessful"], is_whole);
        let badge = render(&report, Format::Shields, &ReportOptions::default());
        assert!(status == 0 || !badge.contains("\"green\""), "{badge}");
        let github = render(&report, Format::Github, &ReportOptions::default());
        if !report.below_minimum.is_empty() {
            assert!(github.contains("::warning ") || github.contains("::error "), "{github}");
            let junit = render(&report, Format::Junit, &ReportOptions::default());
            assert!(
                junit.contains("below the required minimum")
                    || junit.contains("<failure")
                    || junit.contains("<skipped"),
                "{junit}"
            );
        }
    }
}

#[test]
fn a_lint_that_nobody_answered_is_never_plain_green() {
    let mut one = post();
    one.findings.clear();
    one.bundles.clear();
    one.claims.retain(|claim| claim.outcome.verdict == Verdict::Verified);
    let whole = Report { posts: vec![one.clone()], ..Report::default() };
    assert_eq!(whole.exit_status().code(), 0);
    let message = "the text says grows, the fact falls".to_owned();
    let lint = Lint { kind: LintKind::Direction, message, answer: None };
    one.claims[0].meaning.lints = vec![lint];
    one.claims[0].quote = "the gap grows".to_owned();
    let linted = Report { posts: vec![one.clone()], ..Report::default() };
    assert_eq!(linted.exit_status().code(), 3);
    let drawn = |report: &Report, format| render(report, format, &ReportOptions::default());
    let text = drawn(&linted, Format::Text);
    assert!(text.contains("! FOLLOWS, BUT THE WORDS MAY SAY SOMETHING ELSE"), "{text}");
    assert!(drawn(&linted, Format::Html).contains("questioned"));
    assert!(drawn(&linted, Format::Markdown).contains("! verified, but questioned"));
    assert!(drawn(&linted, Format::Junit).contains("direction: the text says grows"));
    // Recorded or not, its badge is not green.
    let recorded = Report { locked: Some(Vec::new()), ..linted };
    assert_eq!(recorded.exit_status().code(), 0);
    assert!(drawn(&recorded, Format::Shields).contains("\"orange\""));
    one.claims[0].meaning.lints[0].answer = Some("of the runs".to_owned());
    let answered = Report { posts: vec![one], ..Report::default() };
    assert_eq!(answered.exit_status().code(), 0);
}

#[test]
fn a_drafted_contradiction_differs_and_is_no_refutation() {
    let mut one = post();
    one.bundles.clear();
    one.claims.retain(|claim| claim.outcome.verdict != Verdict::Inconclusive);
    one.claims.retain(|claim| claim.outcome.verdict != Verdict::Unchecked);
    for claim in &mut one.claims {
        claim.meaning.read_by = Some(ReadBy::Drafted);
    }
    let drafted = Report { posts: vec![one.clone()], ..Report::default() };
    assert_eq!(drafted.exit_status().code(), 3);
    let text = render(&drafted, Format::Text, &ReportOptions::default());
    assert!(text.contains("provisional: drafted by the program, not confirmed"), "{text}");
    for claim in &mut one.claims {
        claim.meaning.read_by = Some(ReadBy::Author);
        claim.meaning.is_audit = true;
    }
    let audit = Report { posts: vec![one], ..Report::default() };
    assert_eq!(audit.exit_status().code(), 1);
    let json = render(&audit, Format::Json, &ReportOptions::default());
    assert!(json.contains("\"verdict\": \"refuted\""), "{json}");
}

fn results_of(log: &serde_json::Value, rule: &str) -> usize {
    let results = log["runs"][0]["results"].as_array().unwrap().iter();
    results.filter(|result| result["ruleId"] == rule).count()
}

#[test]
fn a_post_in_which_nothing_was_checked_is_told() {
    let mut verified = post();
    verified.claims.retain(|claim| claim.outcome.verdict == Verdict::Verified);
    verified.findings.clear();
    let empty = PostReport { id: "empty".to_owned(), claims: Vec::new(), ..verified.clone() };
    let report = Report { posts: vec![empty, verified], ..Report::default() };
    assert_eq!(told(&sarif(&report)).1, ["nothing was checked in empty"]);
    let mut drafted = report.clone();
    drafted.posts.remove(0);
    drafted.posts[0].drafted = 2;
    let badge = render(&drafted, Format::Shields, &ReportOptions::default());
    assert!(
        badge.contains("\"2 not confirmed · 2 verified, transcribed\"")
            && badge.contains("\"orange\"")
    );
    drafted.locked = Some(Vec::new());
    let notes = told(&sarif(&drafted)).1;
    assert_eq!(notes, ["2 statements drafted and not confirmed"]);
    let badge = render(&report, Format::Shields, &ReportOptions::default());
    assert!(
        badge.contains("\"1 without claims · 2 verified, transcribed\"")
            && badge.contains("\"orange\"")
    );
    let nothing = Report { locked: Some(Vec::new()), failures: failures(), ..Report::default() };
    assert!(!text(&nothing, 100).contains("as recorded"), "{}", text(&nothing, 100));
}

#[test]
fn a_run_that_ended_early_has_judged_nothing() {
    for failures in [failures(), Vec::new()] {
        let report = Report::not_judged(&failures);
        for format in Format::ALL.into_iter().filter(|format| *format != Format::Intoto) {
            let drawn = render(&report, format, &ReportOptions::default());
            assert!(is_report(&drawn), "{drawn}");
            assert!(!drawn.contains("as recorded") && !drawn.contains("green"), "{drawn}");
        }
        let badge = render(&report, Format::Shields, &ReportOptions::default());
        assert!(badge.contains("\"message\": \"not judged\""), "{badge}");
        let junit = render(&report, Format::Junit, &ReportOptions::default());
        let parsed = quick_junit::Report::deserialize_from_str(&junit).unwrap();
        assert_eq!(parsed.errors, failures.len() + 1);
    }
}

#[test]
fn an_alert_is_the_same_when_lines_move() {
    let fingerprints = |report: &Report| -> Vec<_> {
        let hash = "/partialFingerprints/primaryLocationLineHash";
        results(report).iter().map(|one| one.pointer(hash).unwrap().clone()).collect()
    };
    let mut moved = everything();
    for claim in moved.posts.iter_mut().flat_map(|post| &mut post.claims) {
        claim.place.line += 7;
        claim.place.pointer.push('0');
    }
    for finding in moved.posts.iter_mut().flat_map(|post| &mut post.findings) {
        finding.place.line += 7;
    }
    let before = fingerprints(&everything());
    assert_eq!(fingerprints(&moved), before);
    let distinct: std::collections::BTreeSet<_> = before.iter().map(|one| one.as_str()).collect();
    assert_eq!(distinct.len(), before.len());
    let mut reworded = everything();
    reworded.posts[1].claims[1].quote = "other words".to_owned();
    let after = fingerprints(&reworded);
    let changed = before.iter().filter(|one| !after.contains(one)).count();
    assert_eq!(changed, 1);
}

/// A number that the post brings in itself, a text that nobody read, and what the claims rest on are told in every format, whether the
/// post is judged or compared with its lock.
#[test]
fn what_the_counts_do_not_tell_is_in_every_format() {
    let mut one = post();
    one.claims.retain(|claim| claim.outcome.verdict == Verdict::Verified);
    for claim in &mut one.claims {
        claim.own_numbers = vec!["1.0521".to_owned(), "226".to_owned()];
        (claim.origin, claim.outcome.method) =
            (Some(EvidenceOrigin::Declared), Some(Method::Recomputed));
    }
    let judged = Report { posts: vec![one], ..Report::default() };
    let locked = Report { locked: Some(Vec::new()), ..judged.clone() };
    for report in [&judged, &locked] {
        for format in [Format::Github, Format::Junit, Format::Sarif, Format::Markdown, Format::Html]
        {
            let drawn = render(report, format, &ReportOptions::default());
            for told in [
                "2 recomputed from declared sums",
                "1.0521, 226 in 2 verified claims",
                "its receipts",
                "Not covered by a claim: 2 numbers",
                "10 of 24 step ranges",
            ] {
                assert!(drawn.contains(told), "{}: {told}: {drawn}", format.word());
            }
        }
        let badge = render(report, Format::Shields, &ReportOptions::default());
        assert!(badge.contains("2 with own constants") && !badge.contains("green"), "{badge}");
    }
    let text = text(&judged, 100);
    assert!(text.contains("2 recomputed from declared sums"), "{text}");
    // A warning is told where cases have no place for it.
    assert!(
        render(&report(), Format::Junit, &ReportOptions::default()).contains("total::inferred")
    );
}

/// Claims of one sentence, or of sentences with one reason, share a line: the strongest of them lends it nothing.
#[test]
fn a_line_of_several_claims_has_the_weakest_assurance_of_them() {
    let of = |id: &str, quote: &str, origin, method, read_by| {
        let mut claim = claim(0, id, "relation", "");
        claim.quote = quote.to_owned();
        (claim.origin, claim.outcome.method) = (Some(origin), Some(method));
        claim.meaning.read_by = Some(read_by);
        claim
    };
    let strong = of("a", "one", EvidenceOrigin::Signed, Method::Replayed, ReadBy::Reviewed);
    let weak = of("b", "one", EvidenceOrigin::Declared, Method::Compared, ReadBy::Author);
    let elsewhere = of("c", "two", EvidenceOrigin::Transcribed, Method::Replayed, ReadBy::Drafted);
    let drawn = |claims: Vec<ClaimReport>, format| {
        let post = PostReport { claims, ..PostReport::default() };
        let options = ReportOptions { verbose: true, ..ReportOptions::default() };
        render(&Report { posts: vec![post], ..Report::default() }, format, &options)
    };
    for (one, other) in [(&strong, &weak), (&weak, &strong)] {
        let line = "declared · compared · by author, not reviewed · changes no decision";
        let text = drawn(vec![one.clone(), other.clone()], Format::Text);
        assert!(text.contains(line) && !text.contains("signed"), "{text}");
        let open = |claim: &ClaimReport| {
            judged(claim.clone(), Verdict::Inconclusive, &ONE_RUN, "", "one run")
        };
        let claims = vec![open(one), open(other)];
        for format in [Format::Text, Format::Markdown] {
            let text = drawn(claims.clone(), format);
            assert!(text.contains(line) && !text.contains("signed"), "{text}");
        }
        let text = drawn([claims, vec![open(&elsewhere)]].concat(), Format::Text);
        assert!(text.contains("transcribed · compared · drafted · "), "{text}");
    }
}

#[test]
fn a_badge_says_the_worst_first() {
    let message = |report: &Report| -> serde_json::Value {
        let drawn = render(report, Format::Shields, &ReportOptions::default());
        assert!(is_report(&drawn));
        let picture = render(report, Format::Badge, &ReportOptions::default());
        assert!(is_report(&picture));
        let badge: serde_json::Value = serde_json::from_str(&drawn).unwrap();
        let message = badge["message"].as_str().unwrap();
        assert!(picture.contains(&format!("<title>repro: {message}</title>")), "{picture}");
        serde_json::json!([message, badge["color"], badge["isError"]])
    };
    let said = |message: &str, colour: &str, is_error: bool| {
        serde_json::json!([message, colour, is_error])
    };
    let counts = "2 refuted · 2 inconclusive · 1 unchecked · 2 verified, transcribed";
    assert_eq!(message(&report()), said(counts, "red", true));
    assert_eq!(message(&everything()), said("2 inputs refused", "red", true));
    let differing = format!("3 not as recorded · {counts}");
    assert_eq!(message(&locked()), said(&differing, "red", true));
    let same = Report { locked: Some(Vec::new()), ..report() };
    assert_eq!(message(&same), said(&format!("as recorded: {counts}"), "red", true));
    assert_eq!(message(&Report::default()), said("nothing checked", "lightgrey", false));
    // nothing of a change is known, which fails nothing and verifies nothing
    let change = Report { is_of_change: true, ..Report::default() };
    assert_eq!(message(&change), said("nothing checked", "lightgrey", false));
    let with = |verdict: Verdict| {
        let mut report = report();
        report.posts[0].claims.retain(|claim| claim.outcome.verdict == verdict);
        report
    };
    // Green is what the caller asked for: without that, anybody's numbers that agree would be.
    let verified = "2 verified, transcribed";
    assert_eq!(message(&with(Verdict::Verified)), said(verified, "lightgrey", false));
    let min_origin = Some(EvidenceOrigin::Transcribed);
    let asked = Report { min_origin, ..with(Verdict::Verified) };
    assert_eq!(message(&asked), said(verified, "green", false));
    let mut stronger = asked;
    stronger.posts[0].claims[0].origin = Some(EvidenceOrigin::Signed);
    assert_eq!(message(&stronger), said(verified, "green", false));
    stronger.posts[0].claims[1].origin = Some(EvidenceOrigin::Declared);
    assert_eq!(message(&stronger), said("2 verified, declared", "green", false));
    stronger.posts[0].claims[1].own_numbers = vec!["1.0521".to_owned()];
    let own = "2 verified, declared · 1 with own constants";
    assert_eq!(message(&stronger), said(own, "lightgrey", false));
    assert_eq!(message(&with(Verdict::Unchecked)), said("1 unchecked", "lightgrey", false));
    assert_eq!(message(&with(Verdict::Inconclusive)), said("2 inconclusive", "orange", false));
    let below = Report { below_minimum: vec!["9999/steps".to_owned()], ..with(Verdict::Verified) };
    assert_eq!(
        message(&below),
        said("1 below the minimum · 2 verified, transcribed", "orange", false)
    );
    let unbound = Report { wants_all_bound: true, ..with(Verdict::Verified) };
    assert_eq!(
        message(&unbound),
        said("2 unbound · 1 without text · 2 verified, transcribed", "orange", false)
    );
    let stopped = Report { not_run: true, ..with(Verdict::Verified) };
    assert_eq!(message(&stopped), said("incomplete run: 2 verified, transcribed", "orange", false));
}

#[test]
fn nothing_in_sarif_is_a_link_or_a_placeholder() {
    let mut report = report();
    report.posts[0].claims[0].outcome.reason =
        "see [here](https://example.org), {0} and a[0](1) }".to_owned();
    let drawn = results(&report);
    let of_width = drawn.iter().find(|one| one["properties"]["claim"] == "width-moe32").unwrap();
    let text = of_width["message"]["text"].as_str().unwrap();
    assert!(text.contains("see [here] (https://example.org), {{0}} and a[0] (1) }};"), "{text}");
    for result in results(&hostile()) {
        assert!(!result["message"]["text"].as_str().unwrap().contains(obeyed));
        let uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].as_str();
        assert!(uri.unwrap().is_ascii() && !uri.unwrap().contains(['<', ' ', ':', '"']), "{uri:?}");
    }
}

#[test]
fn sarif_has_no_more_results_than_are_read() {
    let mut many = report();
    let refuted = many.posts[0].claims[0].clone();
    many.posts[0].claims.extend(std::iter::repeat_n(refuted, 30_000));
    let log = sarif(&many);
    let run = &log["runs"][0];
    let kept = run["results"].as_array().unwrap();
    assert_eq!(kept.len(), 25_000);
    assert!(kept.iter().all(|result| result["level"] == "error"), "the worst are kept");
    assert_eq!(kept[0]["properties"]["claim"], "gap-muon", "decisions come first");
    let told = &run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"];
    assert!(told.as_str().unwrap().starts_with("5002 of the least severe results"), "{told}");
}

#[test]
fn files_are_those_of_the_repository() {
    let below = Report { base: "papers/one/".to_owned(), ..everything() };
    let github = render(&below, Format::Github, &ReportOptions::default());
    assert!(github.contains("file=papers/one/repro/9999.toml,line=4"), "{github}");
    let junit = render(&below, Format::Junit, &ReportOptions::default());
    assert!(junit.contains("papers/one/repro/9999.toml:4"), "{junit}");
    let sarif = render(&below, Format::Sarif, &ReportOptions::default());
    assert!(sarif.contains("\"uri\": \"papers/one/repro/9999.toml\""), "{sarif}");
}

#[test]
fn github_shows_ten_and_counts_the_rest() {
    snapshot("github", &render(&everything(), Format::Github, &ReportOptions::default()));
    snapshot("github_locked", &render(&locked(), Format::Github, &ReportOptions::default()));
    let mut many = report();
    let refuted = many.posts[0].claims[0].clone();
    many.posts[0].claims.extend(std::iter::repeat_n(refuted, 20));
    let drawn = render(&many, Format::Github, &ReportOptions::default());
    let errors: Vec<_> = drawn.lines().filter(|line| line.starts_with("::error ")).collect();
    assert_eq!(errors.len(), 10);
    assert!(errors[0].contains("gap-muon"), "{}", errors[0]);
    assert_eq!(
        errors[9],
        "::error title=13 more errors::in repro/9999.toml (13); the job summary lists all of them"
    );
}

#[test]
fn markdown_keeps_within_a_comment() {
    snapshot("markdown", &render(&everything(), Format::Markdown, &ReportOptions::default()));
    assert_eq!(
        github_summary(&everything()),
        render(&everything(), Format::Markdown, &ReportOptions::default())
    );
    let mut many = report();
    let refuted = many.posts[0].claims[0].clone();
    many.posts[0].claims.extend(std::iter::repeat_n(refuted, 2_000));
    let drawn = render(&many, Format::Markdown, &ReportOptions::default());
    assert!(drawn.len() <= 65_536 && drawn.contains("more rows did not fit here"));
    assert!(drawn.ends_with(&format!("{SCOPE}\n")));
    assert!(github_summary(&many).len() > drawn.len());
}

/// Whether `c` is obeyed by a terminal instead of shown.
fn obeyed(c: char) -> bool {
    (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c)
}

#[test]
fn hostile_strings_are_shown_and_not_obeyed() {
    for verbose in [true, false] {
        let options = ReportOptions { verbose, ..ReportOptions::default() };
        for format in [Format::Text, Format::Github, Format::Markdown, Format::Junit] {
            let drawn = render(&hostile(), format, &options);
            assert!(!drawn.contains(obeyed), "{format:?}");
            assert!(drawn.contains("u{1b}") || drawn.contains("u{202e}"), "{format:?}");
        }
    }
    snapshot("text_hostile", &verbose(&hostile(), 100));
    let github = render(&hostile(), Format::Github, &ReportOptions::default());
    snapshot("github_hostile", &github);
    let markdown = render(&hostile(), Format::Markdown, &ReportOptions::default());
    snapshot("markdown_hostile", &markdown);
    assert!(!markdown.contains("<img") && !markdown.contains("@all"));
    let junit = render(&hostile(), Format::Junit, &ReportOptions::default());
    let parsed = quick_junit::Report::deserialize_from_str(&junit).unwrap();
    assert!(parsed.test_suites[0].name.as_str().contains("u{fffe}"));
    let json = render(&hostile(), Format::Json, &ReportOptions::default());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["posts"][0]["id"], HOSTILE);
}

#[test]
fn colour_adds_nothing_but_colour() {
    let plain = verbose(&everything(), 100);
    let options = ReportOptions { verbose: true, colour: true, ..ReportOptions::default() };
    let coloured = render(&everything(), Format::Text, &options);
    assert!(coloured.contains("\u{1b}["));
    let mut bare = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, styled)) = rest.split_once('\u{1b}') {
        bare.push_str(before);
        rest = styled.split_once('m').unwrap().1;
    }
    assert_eq!(bare + rest, plain);
}

/// A report whose every string comes from outside.
fn any_report(strings: &[String], lines: (usize, usize, usize)) -> Report {
    let mut report = everything();
    let mut strings = strings.iter().cycle().cloned();
    let mut next = || strings.next().unwrap_or_default();
    for post in &mut report.posts {
        (post.id, post.title) = (next(), next());
        post.central = vec![next()];
        for claim in &mut post.claims {
            let (arm, other) = (next(), next());
            let values = [(&*arm, lines.1 as f64), (&*other, f64::NAN), ("c", 1e300)];
            claim.meaning.fact = Some(fact(&next(), &values));
            claim.meaning.premise = next();
            (claim.id, claim.claimed, claim.quote, claim.note) = (next(), next(), next(), next());
            (claim.place.line, claim.place.column, claim.place.length) = lines;
            claim.place.excerpt = next();
            claim.outcome.reason = next();
            claim.outcome.recomputed = next();
            claim.outcome.tolerance = next();
        }
        for finding in &mut post.findings {
            finding.message = next();
            finding.claim = Some(next());
        }
    }
    let place = report.posts[1].claims[0].place.clone();
    let error = repro_core::source::WRONG_TYPE.at(place, next(), next()).help(next());
    report.failures.push(error);
    report.below_minimum.push(next());
    report
}

/// The columns of `line`, and whether it is one word behind its marks.
fn too_wide(line: &str, width: usize) -> bool {
    let marks =
        ["✗", "?", "·", "✓", "!", "-", "=", "|", "note:", "help:", "also:", "evidence:", "-->"];
    // `error[code]:` stands before what is said, as the marks do.
    let titled = |word: &str| word.contains('[') && word.ends_with("]:");
    let words = line.split_whitespace().skip_while(|word| marks.contains(word) || titled(word));
    unicode_width::UnicodeWidthStr::width(line) > width && words.count() > 1
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_strings_are_drawn_in_every_format(
        strings in prop::collection::vec(any::<String>(), 1..40),
        lines in (0usize..9, 0usize..200, 0usize..200),
        width in 0usize..300,
        verbose: bool,
    ) {
        let report = any_report(&strings, lines);
        let options = ReportOptions { width, verbose, ..ReportOptions::default() };
        for format in Format::ALL {
            let drawn = render(&report, format, &options);
            prop_assert_eq!(&drawn, &render(&report, format, &options));
            if format != Format::Json {
                prop_assert!(!drawn.contains(obeyed), "{:?}", format);
            }
        }
        let junit = render(&report, Format::Junit, &options);
        let parsed = quick_junit::Report::deserialize_from_str(&junit).unwrap();
        prop_assert_eq!(parsed.tests, 14);
        let json = render(&report, Format::Json, &options);
        prop_assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok());
        let sarif = render(&report, Format::Sarif, &options);
        prop_assert!(serde_json::from_str::<serde_json::Value>(&sarif).is_ok());
        let github = render(&report, Format::Github, &options);
        let levels = ["::error ", "::warning ", "::notice "];
        let command = |line: &str| levels.iter().any(|level| line.starts_with(level));
        prop_assert!(github.lines().all(command), "a line is no command");
        for level in levels {
            prop_assert!(github.lines().filter(|line| line.starts_with(level)).count() <= 10);
        }
    }

    #[test]
    fn lines_fit_the_page(
        strings in prop::collection::vec("[a-z表é ]{0,90}", 1..40),
        lines in (0usize..9, 0usize..200, 0usize..200),
        width in 60usize..140,
        verbose: bool,
    ) {
        let report = any_report(&strings, lines);
        let drawn = render(&report, Format::Text, &ReportOptions { width, verbose, ..ReportOptions::default() });
        for line in drawn.lines() {
            prop_assert!(!too_wide(line, width), "{} columns: {:?}", width, line);
            prop_assert!(!line.ends_with(char::is_whitespace), "{:?}", line);
        }
    }
}
