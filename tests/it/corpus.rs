//! The corpus: for every claim kind a project that holds, the same with one value changed, and
//! further cases. Each is judged as `repro verify` does, and its reports are snapshots.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::LazyLock;

use repro_judge::claims::{KINDS, SHARED_CODES};
use repro_judge::verify::{Demands, Replayer, verify_with};
use repro_report::outcome::{ExitStatus, Report, Severity, Verdict};
use repro_report::{Format, ReportOptions, render};
use serde_json::Value as Json;

use crate::executing::Executing;
use crate::sealed::sealed;

/// The projects of a kind.
const ROOTS: [&str; 3] = ["good", "bad", "cases"];
/// The project whose whole JSON is recorded; of the others what the text does not show.
const WHOLE: (&str, &str) = ("slice_replay", "bad");

fn folder(kind: &str, root: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(kind).join(root)
}

/// The report on one project; `cases` may be absent, the others may not.
fn judged(kind: &str, root: &str) -> Option<Report> {
    let judged = || {
        let name = format!("{kind}/{root}");
        let copy = sealed(&[&name]);
        let replayer: &mut dyn Replayer = &mut Executing { leaving_out: &["0..3"] };
        verify_with(
            &copy.path().join(name),
            &[kind.to_owned()],
            &Demands::default(),
            1,
            Some(replayer),
        )
    };
    (root != "cases" || folder(kind, root).is_dir()).then(judged)
}

/// A kind, a project of it, and the report on that.
type Judged = (&'static str, &'static str, Report);

/// Every report of the corpus, judged once for all tests.
fn all() -> &'static [Judged] {
    static ALL: LazyLock<Vec<Judged>> = LazyLock::new(|| {
        let of = |kind: &'static str| {
            ROOTS.into_iter().filter_map(move |root| Some((kind, root, judged(kind, root)?)))
        };
        KINDS.iter().flat_map(|kind| of(kind.id)).collect()
    });
    &ALL
}

fn snapshot(name: &str, drawn: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, drawn));
}

#[test]
fn reports_are_as_recorded() {
    for (kind, root, report) in all() {
        let options = ReportOptions { verbose: true, ..ReportOptions::default() };
        let text = render(report, Format::Text, &options);
        snapshot(&format!("{kind}_{root}"), &text);
        let json = render(report, Format::Json, &ReportOptions::default());
        let json = if (*kind, *root) == WHOLE { json } else { beside(&text, &json) };
        snapshot(&format!("{kind}_{root}_json"), &json);
    }
    assert!(all().iter().any(|(kind, root, _)| (*kind, *root) == WHOLE));
}

/// The words of a claim that programs read.
const WORDS: [&str; 7] = ["kind", "verdict", "impact", "origin", "method", "rule", "code"];

/// What a report in JSON holds and its text does not show. Words that programs read are always here; another
/// value is left out only where the text of its claim has all of it.
fn beside(text: &str, json: &str) -> String {
    let mut json: Json = serde_json::from_str(json).unwrap();
    let blocks = blocks(text);
    let whole = words(text);
    let mut lines = Vec::new();
    let Json::Array(posts) = json["posts"].take() else { panic!("{json}") };
    for mut post in posts {
        let (claims, findings) = (post["claims"].take(), post["findings"].take());
        for claim in claims.as_array().unwrap() {
            let id = claim["id"].as_str().unwrap();
            let block = blocks.get(id).unwrap_or_else(|| panic!("the text has no {id}"));
            let read = WORDS.map(|field| claim[field].as_str().unwrap_or_default());
            lines.push(format!("{id}: {}", words(&read.join(" "))));
            lines.extend(unseen(claim, block).map(|line| format!("  {line}")));
        }
        for finding in findings.as_array().unwrap() {
            let claim = finding["claim"].as_str().unwrap_or("no claim");
            let block = blocks.get(claim).unwrap_or(&whole);
            let [code, severity] =
                ["code", "severity"].map(|field| finding[field].as_str().unwrap());
            let at = place(&finding["place"]);
            let message = &finding["message"];
            let said = if shows(block, message) { String::new() } else { format!(": {message}") };
            lines.push(format!("{severity} {code} of {claim} at {at}{said}"));
        }
        lines.extend(unseen(&post, &whole));
    }
    lines.extend(unseen(&json, &whole));
    lines.join("\n") + "\n"
}

/// A text with single spaces.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What the text of a report says of each claim, by its name: the heading above, then the lines from the one
/// that names it.
fn blocks(text: &str) -> BTreeMap<String, String> {
    let (mut blocks, mut heading, mut open) = (BTreeMap::new(), "", None);
    for line in text.lines() {
        if !line.starts_with(' ') {
            (heading, open) = (line, None);
        } else if line.starts_with("  ") && !line.starts_with("   ") {
            let id = line.split_whitespace().nth(1).unwrap();
            blocks.insert(id.to_owned(), heading.to_owned());
            open = Some(id);
        }
        if let Some(block) = open.and_then(|id| blocks.get_mut(id)) {
            block.push(' ');
            block.push_str(line.trim());
        }
    }
    blocks.into_iter().map(|(id, block)| (id, words(&block))).collect()
}

/// Whether a text has every word of a value.
fn shows(text: &str, value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::String(string) => text.contains(&words(string)),
        Json::Array(values) => values.iter().all(|value| shows(text, value)),
        Json::Object(fields) => fields.values().all(|value| shows(text, value)),
        Json::Bool(_) | Json::Number(_) => false,
    }
}

/// The fields of an object that a text does not show, a line for each.
fn unseen<'a>(object: &'a Json, text: &'a str) -> impl Iterator<Item = String> + 'a {
    let fields = object.as_object().unwrap().iter();
    let fields = fields.filter(|(name, _)| !WORDS.contains(&name.as_str()));
    fields.filter(|(_, value)| !shows(text, value)).flat_map(|(name, value)| match value {
        Json::Array(values) => {
            let unseen = values.iter().filter(|value| !shows(text, value));
            unseen.map(|value| format!("{name} {value}")).collect()
        }
        Json::String(string) => vec![format!("{name} {string}")],
        Json::Object(_) if name == "place" => vec![format!("{name} {}", place(value))],
        Json::Object(_) if name == "at" => {
            let [source, place] = ["source", "place"].map(|field| value[field].as_str().unwrap());
            vec![format!("at {source}, {place}")]
        }
        _ => vec![format!("{name} {value}")],
    })
}

/// A place in one line.
fn place(place: &Json) -> String {
    let [file, pointer] = ["file", "pointer"].map(|field| place[field].as_str().unwrap());
    format!("{file}:{}:{} {pointer}", place["line"], place["column"])
}

#[test]
fn good_projects_hold() {
    for (kind, root, report) in all().iter().filter(|(_, root, _)| *root == "good") {
        assert_eq!(report.failures, [], "{kind}/{root}");
        assert_eq!(report.exit_status(), ExitStatus::Verified, "{kind}/{root}");
        for claim in report.posts.iter().flat_map(|post| &post.claims) {
            assert_eq!((claim.kind, claim.outcome.verdict), (*kind, Verdict::Verified));
            assert!(
                claim.origin.is_some() && claim.outcome.method.is_some(),
                "{kind} has a assurance"
            );
            assert!(!claim.outcome.rule.is_empty(), "{kind} says by which rule");
        }
        for finding in report.posts.iter().flat_map(|post| &post.findings) {
            assert_eq!(finding.severity, Severity::Note, "{kind}: {}", finding.message);
        }
    }
}

#[test]
fn bad_projects_are_refuted() {
    for (kind, root, report) in all().iter().filter(|(_, root, _)| *root == "bad") {
        assert_eq!(report.failures, [], "{kind}/{root}");
        assert_eq!(report.exit_status(), ExitStatus::Refuted, "{kind}/{root}");
        let errors = report.posts.iter().flat_map(|post| &post.findings);
        let errors: Vec<_> = errors.filter(|finding| finding.severity == Severity::Error).collect();
        let [error] = errors.as_slice() else { panic!("{kind}: {errors:?}") };
        assert!(error.code.id.starts_with(&format!("{kind}::")), "{}", error.code.id);
    }
}

/// Good and bad are one project but for the digits of one value, and so the digest of the bundle.
#[test]
fn good_and_bad_differ_in_one_value() {
    for kind in KINDS {
        let post = |root: &str| {
            let path = folder(kind.id, root).join("repro").join(format!("{}.toml", kind.id));
            std::fs::read_to_string(path).unwrap()
        };
        let differing = |a: &str, b: &str| {
            assert_eq!(a.lines().count(), b.lines().count(), "{}", kind.id);
            let pairs = a.lines().zip(b.lines()).filter(|(a, b)| a != b);
            pairs.map(|(a, _)| a.to_owned()).collect::<Vec<_>>()
        };
        let lines = differing(&post("good"), &post("bad"));
        assert!(lines.len() == 1 && lines[0].starts_with("digest = "), "{}: {lines:?}", kind.id);
        let payload = |root: &str, file: &str| {
            let path = folder(kind.id, root).join("receipts/evidence/data").join(file);
            std::fs::read_to_string(path).unwrap_or_default().replace("},{", "},\n{")
        };
        let changed =
            ["facts.json", "configs/moe.toml", "tasks.csv", "slices/slice-000000.tensors.jsonl"]
                .map(|file| differing(&payload("good", file), &payload("bad", file)).len());
        assert_eq!(changed.iter().sum::<usize>(), 1, "values changed in {}", kind.id);
    }
}

#[test]
fn every_code_is_raised() {
    let reports = all();
    let findings = reports.iter().flat_map(|(_, _, report)| &report.posts);
    let raised: BTreeSet<_> =
        findings.flat_map(|post| &post.findings).map(|finding| finding.code.id).collect();
    let declared = KINDS.iter().flat_map(|kind| kind.codes);
    let declared = declared.chain(SHARED_CODES.iter().copied().flatten());
    let missing: Vec<_> = declared.map(|code| code.id).filter(|id| !raised.contains(id)).collect();
    assert!(missing.is_empty(), "no project raises {missing:?}");
}

#[test]
fn reasons_are_one_readable_line() {
    for (kind, root, report) in all() {
        assert_eq!(report.failures, [], "{kind}/{root}");
        for claim in report.posts.iter().flat_map(|post| &post.claims) {
            let name = format!("{kind}/{root}/{}", claim.id);
            let outcome = &claim.outcome;
            assert_eq!(outcome.verdict != Verdict::Verified, outcome.code.is_some(), "{name}");
            assert!(outcome.code.is_none() || !outcome.reason.is_empty(), "{name} has a reason");
            for text in [&outcome.reason, &outcome.recomputed, &outcome.tolerance] {
                assert!(!text.contains('\n') && text.trim() == text, "{name}: {text}");
                assert!(!text.contains("-0 ") && !text.contains("NaN"), "{name}: {text}");
            }
        }
    }
}
