//! How well verdicts and lints tell true sentences from wrong ones: the cases of `tests/corpus/sentences`, each a post
//! of its own. The scores are published on `docs/explanation/accuracy.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use repro_core::source::{Document, Node, Source};
use repro_report::outcome::{PostReport, Report, Verdict};
use repro_verify::verify::{Demands, verify};

/// What a sentence is, by its label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Truth {
    True,
    WrongDigit,
    WrongUnit,
    WrongDirection,
    WrongBinding,
}

impl Truth {
    const ALL: [Self; 5] =
        [Self::True, Self::WrongDigit, Self::WrongUnit, Self::WrongDirection, Self::WrongBinding];

    fn word(self) -> &'static str {
        match self {
            Self::True => "true",
            Self::WrongDigit => "wrong_digit",
            Self::WrongUnit => "wrong_unit",
            Self::WrongDirection => "wrong_direction",
            Self::WrongBinding => "wrong_binding",
        }
    }
}

/// What the program makes of a sentence, the strongest objection first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Judged {
    Refuted,
    Linted,
    Open,
    Verified,
    Refused,
}

impl Judged {
    const ALL: [Self; 5] = [Self::Refuted, Self::Linted, Self::Open, Self::Verified, Self::Refused];

    fn word(self) -> &'static str {
        match self {
            Self::Refuted => "refuted",
            Self::Linted => "linted",
            Self::Open => "open",
            Self::Verified => "verified",
            Self::Refused => "refused",
        }
    }

    fn of(post: &PostReport) -> Self {
        let mut verdicts = post.claims.iter().map(|claim| claim.outcome.verdict);
        if verdicts.clone().any(|verdict| verdict == Verdict::Refuted) {
            Self::Refuted
        } else if post.claims.iter().any(|claim| claim.meaning.is_questioned()) {
            Self::Linted
        } else if !post.claims.is_empty() && verdicts.all(|verdict| verdict == Verdict::Verified) {
            Self::Verified
        } else {
            Self::Open
        }
    }
}

/// A case with its score.
struct Scored {
    id: String,
    family: String,
    truth: Truth,
    judged: Judged,
}

fn corpus() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/sentences")
}

/// The files of cases, by name.
fn documents() -> Vec<Document> {
    let mut paths: Vec<_> =
        fs::read_dir(corpus()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.file_name().unwrap().to_string_lossy().starts_with("sentences-"));
    paths.sort();
    let parse = |path: &std::path::PathBuf| {
        let source = Source::new(path.to_string_lossy(), fs::read(path).unwrap()).unwrap();
        Document::parse_toml(source).unwrap()
    };
    paths.iter().map(parse).collect()
}

/// The post of a case, and its text.
fn post(case: Node<'_>, id: &str, shared: &str) -> (String, String) {
    let words = |key: &str| case.get(key).map(|node| node.text().unwrap().to_owned());
    let quoted = |text: &str| serde_json::to_string(text).unwrap();
    // Bindings are copied as the case has them.
    let raw = |key: &str| {
        let node = case.get(key)?;
        Some(format!("{key} = {}\n", &node.document().source.text()[node.value().span.clone()]))
    };
    let mut page = format!(
        "schema = \"repro.post/2\"\nid = \"{id}\"\ntitle = \"A case\"\ntext = \"{id}.md\"\n"
    );
    page.extend(raw("aliases"));
    page += shared;
    if let Some(table) = words("table") {
        let head = table.trim().lines().next().unwrap_or_default();
        let _ = writeln!(page, "[[table]]\nhead = {}", quoted(head));
        page.extend(["rows", "columns"].into_iter().filter_map(raw));
        return (page, table);
    }
    let quote = words("quote").unwrap();
    let _ = writeln!(page, "[[sentence]]\nquote = {}", quoted(&quote));
    page.extend(["is", "says", "reading"].into_iter().filter_map(raw));
    (page, words("paragraph").unwrap_or(quote))
}

/// Judges every case.
fn scored() -> Vec<Scored> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let project = tempfile::tempdir().unwrap();
    let folder = project.path().join("repro");
    fs::create_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink(here.join("receipts"), project.path().join("receipts")).unwrap();
    std::os::unix::fs::symlink(here.join("repro/studies"), folder.join("studies")).unwrap();
    let shared = fs::read_to_string(corpus().join("names.toml")).unwrap();
    let mut cases = Vec::new();
    let mut known = BTreeSet::new();
    for document in documents() {
        for case in document.root().required("case").unwrap().items().unwrap() {
            let words = |key: &str| case.required(key).unwrap().text().unwrap().to_owned();
            let truth = words("truth");
            let truth = Truth::ALL.into_iter().find(|one| one.word() == truth).unwrap();
            let id = words("id");
            assert!(known.insert(id.clone()), "two cases are called {id}");
            let name = format!("c{:04}", cases.len());
            let (page, text) = post(case, &name, &shared);
            fs::write(folder.join(format!("{name}.toml")), page).unwrap();
            fs::write(folder.join(format!("{name}.md")), text + "\n").unwrap();
            cases.push(Scored { id, family: words("family"), truth, judged: Judged::Refused });
        }
    }
    let names: Vec<_> = (0..cases.len()).map(|at| format!("c{at:04}")).collect();
    let report = verify(project.path(), &names, &Demands::default(), 2);
    for (case, name) in cases.iter_mut().zip(&names) {
        case.judged = judged(&report, name);
    }
    cases
}

fn judged(report: &Report, name: &str) -> Judged {
    let is_refused = report.failures.iter().any(|error| error.place.file.contains(name));
    let post = report.posts.iter().find(|post| post.id == name).filter(|_| !is_refused);
    post.map_or(Judged::Refused, Judged::of)
}

/// A share as a percentage with one decimal, or a dash where there is nothing to share.
fn share(part: usize, whole: usize) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    format!("{:.1}%", 100.0 * part as f64 / whole as f64)
}

/// Precision and recall of a group of cases, as a row of Markdown.
fn rates(name: &str, cases: &[&Scored]) -> String {
    let count = |is_wrong: bool, judged: &[Judged]| {
        cases
            .iter()
            .filter(|case| (case.truth != Truth::True) == is_wrong && judged.contains(&case.judged))
            .count()
    };
    let (right, wrong) = (count(false, &Judged::ALL), count(true, &Judged::ALL));
    let mut row = format!("| {name} | {right} | {wrong} |");
    for objections in [&[Judged::Refuted][..], &[Judged::Refuted, Judged::Linted]] {
        let (hits, alarms) = (count(true, objections), count(false, objections));
        let _ = write!(row, " {} | {} |", share(hits, hits + alarms), share(hits, wrong));
    }
    row
}

/// Both tables of the page.
fn tables(cases: &[Scored]) -> String {
    let of = |belongs: &dyn Fn(&Scored) -> bool| -> Vec<&Scored> {
        cases.iter().filter(|case| belongs(case)).collect()
    };
    let is_one_sided = |case: &Scored| case.family == "one_sided";
    let mut text = "\
| cases | true | wrong | precision, refuted | recall, refuted | precision, with lints | recall, with lints |
|---|---:|---:|---:|---:|---:|---:|
"
    .to_owned();
    let mut rows = vec![
        rates("two-sided readings", &of(&|case| !is_one_sided(case))),
        rates("one-sided readings", &of(&is_one_sided)),
    ];
    for truth in &Truth::ALL[1..] {
        let name = format!("all, {}", truth.word().replace('_', " "));
        rows.push(rates(&name, &of(&|case| [Truth::True, *truth].contains(&case.truth))));
    }
    rows.push(rates("all", &of(&|_| true)));
    rows.iter().for_each(|row| text.extend([row, "\n"]));
    text += "\n| family | truth | cases |";
    Judged::ALL.iter().for_each(|judged| text.extend([" ", judged.word(), " |"]));
    text += "\n|---|---|---:|---:|---:|---:|---:|---:|\n";
    let mut counts: BTreeMap<(&str, Truth), Vec<Judged>> = BTreeMap::new();
    for case in cases {
        counts.entry((&case.family, case.truth)).or_default().push(case.judged);
    }
    for ((family, truth), all) in counts {
        let _ = write!(text, "| {family} | {} | {} |", truth.word(), all.len());
        for judged in Judged::ALL {
            let count = all.iter().filter(|one| **one == judged).count();
            let _ = write!(text, " {count} |");
        }
        text.push('\n');
    }
    text
}

#[test]
fn sentences_are_judged_as_well_as_the_page_says() {
    let cases = scored();
    let of = |truth: Truth, judged: Judged| -> Vec<&str> {
        let those = cases.iter().filter(|case| case.truth == truth && case.judged == judged);
        those.map(|case| case.id.as_str()).collect()
    };
    assert!(of(Truth::True, Judged::Refuted).is_empty(), "{:?}", of(Truth::True, Judged::Refuted));
    for truth in Truth::ALL {
        assert!(of(truth, Judged::Refused).is_empty(), "{:?}", of(truth, Judged::Refused));
    }
    let refuted = of(Truth::WrongDigit, Judged::Refuted).len();
    let wrong = cases.iter().filter(|case| case.truth == Truth::WrongDigit).count();
    assert!(refuted * 100 >= wrong * 97, "{refuted} of {wrong} wrong digits are refuted");
    let tables = tables(&cases);
    insta::assert_snapshot!("scores", tables);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/explanation/accuracy.md");
    let text = fs::read_to_string(&page).unwrap();
    let (before, rest) = text.split_once("<!-- scores -->\n").unwrap();
    let (_, after) = rest.split_once("<!-- end of scores -->\n").unwrap();
    let wanted = format!("{before}<!-- scores -->\n{tables}<!-- end of scores -->\n{after}");
    if std::env::var("INSTA_UPDATE").as_deref() == Ok("always") {
        fs::write(page, wanted).unwrap();
    } else {
        assert_eq!(text, wanted, "docs/explanation/accuracy.md");
    }
}
