//! The audits of public results: what `repro check` finds in the bundles of their documents stands in `docs/explanation/audits`, and how often
//! each relation was asked in the texts of their posts. `INSTA_UPDATE=always cargo test --test it audits` writes both anew.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use repro_bundle::bundle::Bundle;
use repro_core::digest::Digest;
use repro_core::source::{Document, Node, Source};
use repro_formats::check::{CheckOptions, CheckReport};
use repro_report::ReportOptions;

use crate::posts::AUDITS;

/// The marks of the table in a text.
const FROM: &str = "<!-- counts of check -->\n";
const HEAD: &str = "| relation | asked | holds |\n|---|---:|---:|\n";
const TO: &str = "<!-- end of counts -->";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Tests run in the root of the package, so that the report has the same paths everywhere.
fn check(id: &str) -> CheckReport {
    let paths = vec![PathBuf::from(format!("receipts/{id}"))];
    let report = repro_formats::check::check(&CheckOptions { paths, is_change: false, threads: 2 });
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    report
}

/// Compares a file with what it should hold, or writes it.
fn hold(path: &Path, wanted: &str) {
    let stands = std::fs::read_to_string(path).unwrap_or_default();
    if stands == wanted {
        return;
    }
    let update = std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always");
    assert!(update, "{}: INSTA_UPDATE=always cargo test --test it audits", path.display());
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, wanted).unwrap();
}

/// How often each relation was asked and how often it holds; those between documents come last.
fn counts(report: &CheckReport) -> String {
    let mut rows: Vec<(&str, usize, usize)> = Vec::new();
    let mut at = BTreeMap::new();
    for (asked, _) in report.asked().filter(|(asked, _)| asked.code.id != "check::intact-bundle") {
        let row = *at.entry(asked.code.id).or_insert(rows.len());
        if row == rows.len() {
            rows.push((asked.code.id, 0, 0));
        }
        rows[row].1 += asked.times;
        rows[row].2 += asked.times - asked.broken.len();
    }
    let mut table = HEAD.to_owned();
    for (code, asked, holds) in rows {
        table += &format!("| `{code}` | {asked} | {holds} |\n");
    }
    table
}

#[test]
fn the_findings_are_those_of_check() {
    for id in AUDITS {
        let report = check(id);
        let options = ReportOptions { verbose: true, ..ReportOptions::default() };
        let page = root().join("docs/explanation/audits").join(format!("{id}.txt"));
        hold(&page, &repro_formats::check::text(&report, &options));
        let path = root().join("repro").join(format!("{id}.md"));
        let text = std::fs::read_to_string(&path).unwrap();
        let counts = counts(&report);
        let Some((before, rest)) = text.split_once(FROM) else {
            assert_eq!(counts, HEAD, "{id}: the text has no table of relations");
            continue;
        };
        let (_, after) = rest.split_once(TO).unwrap();
        hold(&path, &format!("{before}{FROM}{counts}{TO}{after}"));
    }
}

/// What a receipt says of a document that was published elsewhere.
struct PublishedDocument {
    file: Option<String>,
    sha256: String,
}

/// The documents of a bundle by their ids, with the files that it holds of them.
fn published(id: &str) -> BTreeMap<String, PublishedDocument> {
    let path = root().join("receipts").join(id).join("data/receipt.json");
    let source = Source::new(path.display().to_string(), std::fs::read(path).unwrap()).unwrap();
    let receipt = Document::parse_json(source).unwrap();
    let extra = receipt.root().at("/predicate/extra").unwrap();
    let files: BTreeMap<String, String> = (extra.required("documents").unwrap().members().unwrap())
        .map(|(file, id)| (id.text().unwrap().to_owned(), file.to_owned()))
        .collect();
    let sources = extra.required("sources").unwrap().members().unwrap();
    // What was typed is nobody's bytes.
    let copies = sources.filter(|(_, source)| source.get("typed").is_none());
    let document = |(id, source): (&str, Node<'_>)| {
        for key in ["repository", "path", "commit", "licence"] {
            assert!(!source.required(key).unwrap().text().unwrap().is_empty());
        }
        let sha256 = source.required("sha256").unwrap().text().unwrap().to_owned();
        (id.to_owned(), PublishedDocument { file: files.get(id).cloned(), sha256 })
    };
    copies.map(document).collect()
}

#[test]
fn documents_are_held_byte_for_byte_as_they_were_published() {
    for id in AUDITS {
        for (document, published) in published(id) {
            let Some(file) = published.file else { continue };
            let bytes = std::fs::read(root().join("receipts").join(id).join(file)).unwrap();
            assert_eq!(Digest::of(&bytes).to_string(), published.sha256, "{id}: {document}");
        }
    }
}

/// The bundle of an audit.
fn bundle(id: &str) -> Bundle {
    let path = root().join("receipts").join(id);
    Bundle::load_folder(&path, &format!("receipts/{id}"), None, 1).unwrap()
}

#[test]
fn what_was_typed_stands_in_the_line_that_it_names() {
    for id in AUDITS {
        let (bundle, published) = (bundle(id), published(id));
        for fact in bundle.facts() {
            let document = &published[&fact.at.source];
            let Some(file) = &document.file else { continue };
            let text = String::from_utf8(bundle.bytes(file).unwrap()).unwrap();
            let line = fact.at.place.strip_prefix("line ").unwrap().parse::<usize>().unwrap();
            let (line, quote) =
                (text.lines().nth(line - 1).unwrap(), fact.at.quote.as_ref().unwrap());
            assert!(line.contains(quote.as_str()), "{id}: {}", fact.id);
            assert!(quote.contains(&fact.value), "{id}: {}", fact.id);
        }
    }
}
