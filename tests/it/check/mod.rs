//! `repro check`: every kind of document over files of its corpus, as they are and with one passage changed, and the files of strangers
//! in the shared data.

mod codes;
mod evals;
mod folders;
mod hf_trainer;
mod inspect;
mod lm_eval;
mod marin;
mod mlperf;
mod modded_nanogpt;
mod nanochat;
mod scores;

use std::fs;
use std::path::{Path, PathBuf};

use repro_claim::relation::Weight;
use repro_formats::check::{CheckOptions, CheckReport};
use repro_report::ReportOptions;

/// A file of the corpus.
fn corpus(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/check").join(name)
}

fn check(paths: &[PathBuf]) -> CheckReport {
    repro_formats::check::check(&CheckOptions {
        paths: paths.to_vec(),
        is_change: false,
        threads: 2,
    })
}

/// A text under the name of a file.
fn check_text(name: &str, text: &str) -> CheckReport {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    let report = check(&[path]);
    assert_eq!(report.documents.len(), 1, "{name} is not recognised");
    report
}

/// A finding in short: what it rules out or doubts, its code, its line, and the two numbers.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ShortFinding {
    file: String,
    line: usize,
    code: &'static str,
    rules_out: bool,
    printed: String,
    recomputed: String,
}

impl ShortFinding {
    fn all(report: &CheckReport) -> Vec<Self> {
        assert!(report.failures.is_empty(), "{:?}", report.failures);
        let mut all: Vec<_> = report
            .asked()
            .flat_map(|(asked, _)| asked.broken.iter().map(move |broken| (asked, broken)))
            .map(|(asked, broken)| {
                let printed = broken.printed.as_ref();
                let place = printed.and_then(|value| value.place.clone());
                let place = place
                    .or_else(|| broken.values.iter().find_map(|value| value.place.clone()))
                    .unwrap_or_default();
                let name = Path::new(&place.file).file_name();
                Self {
                    file: name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
                    line: place.line,
                    code: asked.code.id,
                    rules_out: asked.weight == Weight::Contradiction,
                    printed: printed.map(|value| value.value.clone()).unwrap_or_default(),
                    recomputed: broken.recomputed.clone(),
                }
            })
            .collect();
        all.sort();
        all
    }

    fn told(&self) -> String {
        let Self { file, line, code, printed, recomputed, .. } = self;
        let mark = if self.rules_out { "refuted" } else { "doubt" };
        format!("{mark} {code} {file}:{line} printed {printed}, recomputed {recomputed}")
    }
}

/// Changes one passage of a document that agrees with itself, and expects a finding of that code; what else is found is in the snapshot.
fn edits(snapshot_name: &str, name: &str, edits: &[(&str, &str, &str)]) {
    let text = fs::read_to_string(corpus(name)).unwrap();
    let file = Path::new(name).file_name().unwrap().to_string_lossy().into_owned();
    assert_eq!(ShortFinding::all(&check_text(&file, &text)), [], "{name}");
    let mut told = String::new();
    for (from, to, code) in edits {
        assert!(text.contains(from), "{name}: {from}");
        let found = ShortFinding::all(&check_text(&file, &text.replacen(from, to, 1)));
        assert!(found.iter().any(|one| one.code == *code), "{from} -> {to}: {found:#?}");
        told.push_str(&format!("{} -> {}\n", from.escape_debug(), to.escape_debug()));
        found.iter().for_each(|one| told.push_str(&format!("  {}\n", one.told())));
    }
    snapshot(snapshot_name, &told);
}

/// The report as people see it.
fn drawn(report: &CheckReport) -> String {
    let text = repro_formats::check::text(report, &ReportOptions::default());
    text.replace(env!("CARGO_MANIFEST_DIR"), "")
}

fn snapshot(name: &str, drawn: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(format!("check_{name}"), drawn));
}

/// The texts that kinds are recognised by, for texts that are none of theirs.
const TEXTS: [&str; 4] = [
    "nanochat-report/report.md",
    "nanochat-leaderboard/LEADERBOARD.md",
    "modded-nanogpt/log.txt",
    "modded-nanogpt/README.md",
];

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

    /// Lines of documents in any order, cut and mixed with others, end in a report.
    #[test]
    fn any_text_is_read(
        of in 0..TEXTS.len(),
        lines in proptest::collection::vec(0..300_usize, 1..60),
        noise in "\\PC{0,12}",
        cut in 0..40_usize,
    ) {
        let text = fs::read_to_string(corpus(TEXTS[of])).unwrap();
        let own: Vec<&str> = text.lines().collect();
        let mut made = own[..own.len() / 2].join("\n");
        for line in lines {
            let line = own[line % own.len()];
            let end = line.char_indices().nth(cut).map_or(line.len(), |(at, _)| at);
            made.push_str(&format!("\n{}{noise}", &line[..if cut < 20 { end } else { line.len() }]));
        }
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.md"), &made).unwrap();
        fs::write(folder.path().join("a.txt"), &made).unwrap();
        let report = check(&[folder.path().to_owned()]);
        proptest::prop_assert_eq!(report.documents.len() + report.unknown.len() + report.failures.len(), 2);
        drawn(&report);
    }
}
