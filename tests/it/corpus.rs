//! The corpus: for every claim kind a project that holds, the same with one value changed, and
//! further cases. Each is judged as `repro verify` does, and its reports are snapshots.

use std::collections::BTreeSet;
use std::path::PathBuf;

use repro::claims::{KINDS, SHARED_CODES};
use repro::outcome::{ExitStatus, Report, Severity, Verdict};
use repro::report::{Format, Options, render};
use repro::verify::{Demands, Replayer, verify_with};

use crate::replay::Executing;

/// The projects of a kind.
const ROOTS: [&str; 3] = ["good", "bad", "cases"];

fn folder(kind: &str, root: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(kind).join(root)
}

/// The report on one project; `cases` may be absent, the others may not.
fn judged(kind: &str, root: &str) -> Option<Report> {
    let folder = folder(kind, root);
    let judged = || {
        let replayer: &mut dyn Replayer = &mut Executing { leaving_out: &["0..3"] };
        verify_with(&folder, &[kind.to_owned()], &Demands::default(), 1, Some(replayer))
    };
    (root != "cases" || folder.is_dir()).then(judged)
}

/// Every report of the corpus with its kind and project.
fn all() -> Vec<(&'static str, &'static str, Report)> {
    let of = |kind: &'static str| {
        ROOTS.into_iter().filter_map(move |root| Some((kind, root, judged(kind, root)?)))
    };
    KINDS.iter().flat_map(|kind| of(kind.id())).collect()
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
        let options = Options { verbose: true, ..Options::default() };
        snapshot(&format!("{kind}_{root}"), &render(&report, Format::Text, &options));
        let json = render(&report, Format::Json, &Options::default());
        let version = format!("\"version\": \"{}\"", env!("CARGO_PKG_VERSION"));
        snapshot(
            &format!("{kind}_{root}_json"),
            &json.replace(&version, "\"version\": \"[version]\""),
        );
    }
}

#[test]
fn good_projects_hold() {
    for (kind, root, report) in all().iter().filter(|(_, root, _)| *root == "good") {
        assert_eq!(report.failures, [], "{kind}/{root}");
        assert_eq!(report.exit_status(), ExitStatus::Verified, "{kind}/{root}");
        for claim in report.posts.iter().flat_map(|post| &post.claims) {
            assert_eq!((claim.kind, claim.outcome.verdict), (*kind, Verdict::Verified));
            assert!(claim.origin.is_some() && claim.outcome.method.is_some(), "{kind} has a basis");
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
            let path = folder(kind.id(), root).join("repro").join(format!("{}.toml", kind.id()));
            std::fs::read_to_string(path).unwrap()
        };
        let differing = |a: &str, b: &str| {
            assert_eq!(a.lines().count(), b.lines().count(), "{}", kind.id());
            let pairs = a.lines().zip(b.lines()).filter(|(a, b)| a != b);
            pairs.map(|(a, _)| a.to_owned()).collect::<Vec<_>>()
        };
        let lines = differing(&post("good"), &post("bad"));
        assert!(lines.len() == 1 && lines[0].starts_with("digest = "), "{}: {lines:?}", kind.id());
        let payload = |root: &str, file: &str| {
            let path = folder(kind.id(), root).join("receipts/evidence/data").join(file);
            std::fs::read_to_string(path).unwrap_or_default().replace("},{", "},\n{")
        };
        let changed =
            ["facts.json", "configs/moe.toml", "tasks.csv", "slices/slice-000000.tensors.jsonl"]
                .map(|file| differing(&payload("good", file), &payload("bad", file)).len());
        assert_eq!(changed.iter().sum::<usize>(), 1, "values changed in {}", kind.id());
    }
}

#[test]
fn every_code_is_raised() {
    let reports = all();
    let findings = reports.iter().flat_map(|(_, _, report)| &report.posts);
    let raised: BTreeSet<_> =
        findings.flat_map(|post| &post.findings).map(|finding| finding.code.id).collect();
    let declared = KINDS.iter().flat_map(|kind| kind.codes());
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
