//! CORE on real data: published evaluations, a published table, a leaderboard.

use std::path::Path;

use repro::decimal::{Printed, format_significant};
use repro::source::{Document, Source};
use repro::tasks::{Baselines, Measure, Reading, Scale, Table, TaskSet};

use crate::shared;

fn document(path: &Path) -> Document {
    let name = path.file_name().unwrap().to_str().unwrap();
    Document::parse(Source::load(path, name).unwrap()).unwrap()
}

/// Both published versions of the random baselines.
fn versions(folder: &Path) -> Vec<Baselines> {
    let read = |name: &str| Baselines::read(&document(&folder.join(name))).unwrap();
    [read("eval_meta_data_v1.csv"), read("eval_meta_data_v2.csv")].concat()
}

/// Every evaluation follows from its own accuracies: each of its aggregates, and those whose name
/// says a version under that version.
#[test]
fn published_evaluations_reproduce_their_own_aggregates() {
    let Some(folder) = shared::folder("published evaluations") else { return };
    let folder = folder.join("core");
    let versions = versions(&folder);
    let (mut files, mut aggregates, mut without_number) = (0, 0, 0);
    for entry in std::fs::read_dir(folder.join("evals")).unwrap() {
        let document = document(&entry.unwrap().path());
        let name = document.source.name();
        let table = Table::read(document.root()).unwrap();
        let reading = Reading::of(&table, None, &versions).unwrap();
        assert_eq!(reading.scale, Scale::Fraction, "{name}");
        assert_eq!(table.lacks(), [""; 0], "{name}");
        for followed in &reading.stated {
            let (what, follows) = (&followed.stated.name, followed.follows());
            let wanted = match followed.stated.measure {
                _ if what.ends_with("_v1") => vec![0],
                // Without a baseline, or in a category where the versions agree, both follow.
                Measure::Accuracy => vec![0, 1],
                Measure::Centered if follows == [0, 1] => {
                    let category = matches!(followed.stated.set, TaskSet::Category(_));
                    assert!(category || what.starts_with("rw_small"), "{name} {what}");
                    vec![0, 1]
                }
                Measure::Centered => vec![1],
            };
            assert_eq!(follows, wanted, "{name} {what}");
        }
        for (what, words) in &table.not_stated {
            assert!(what.starts_with("Extended") && words.starts_with("N/A"), "{name} {what}");
        }
        files += 1;
        aggregates += reading.stated.len();
        without_number += table.not_stated.len();
    }
    // 16 aggregates and 6 categories each; one file says "N/A" three times.
    assert_eq!((files, aggregates, without_number), (39, 39 * 22 - 3, 3));
}

/// A changed accuracy, or a changed aggregate, is noticed in every aggregate that it belongs to.
#[test]
fn a_changed_accuracy_is_noticed() {
    let Some(folder) = shared::folder("changed evaluations") else { return };
    let folder = folder.join("core");
    let versions = versions(&folder);
    let path = folder.join("evals/evaluation_olmo_1b_heavy.json");
    let text = std::fs::read_to_string(path).unwrap();
    for (from, to, broken) in [
        ("\"copa\": 0.699999988079071", "\"copa\": 0.699999988089071", 17),
        ("\"Core\": 0.27234638964510605", "\"Core\": 0.27234638964520605", 1),
        ("\"bbq\": 0.46671114455569873", "\"bbq\": 0.5", 8),
        ("\"gsm8k\": 0.012888551689684391", "\"gsm8k\": 0.5", 0),
    ] {
        assert_eq!(text.matches(from).count(), 1, "{from}");
        let source = Source::new("t.json", text.replace(from, to).into_bytes()).unwrap();
        let document = Document::parse(source).unwrap();
        let table = Table::read(document.root()).unwrap();
        let reading = Reading::of(&table, None, &versions).unwrap();
        let none = reading.stated.iter().filter(|followed| followed.follows().is_empty()).count();
        assert_eq!(none, broken, "{to}");
    }
}

/// The published per-task table was made with the first version throughout.
#[test]
fn the_published_table_follows_the_first_version() {
    let Some(folder) = shared::folder("a published table") else { return };
    let folder = folder.join("core");
    let versions = versions(&folder);
    let document = document(&folder.join("nanochat_aurora_step5075.csv"));
    let table = Table::read(document.root()).unwrap();
    let reading = Reading::of(&table, None, &versions).unwrap();
    let column = reading.column.as_ref().unwrap();
    assert_eq!((column.cells, &column.agreeing[..]), (22, &[22, 19][..]));
    assert_eq!((column.follows(), column.stray.len()), (vec![0], 0));
    let core = reading.stated_core().unwrap();
    assert_eq!((core.follows(), core.own_column), (vec![0], true));
    assert_eq!(reading.mixed(core), None);
    let score = |at: usize| reading.versions[at].core(TaskSet::Core).middle();
    assert_eq!(format_significant(&score(0), 6), "0.11952");
    assert_eq!(format_significant(&score(1), 6), "0.0950131");
}

/// Every way to put two versions together in one table is caught, in fractions and in percent.
#[test]
fn mixed_versions_are_caught_in_every_combination() {
    let Some(folder) = shared::folder("mixed tables") else { return };
    let folder = folder.join("core");
    let versions = versions(&folder);
    let document = document(&folder.join("nanochat_aurora_step5075.csv"));
    let table = Table::read(document.root()).unwrap();
    let reading = Reading::of(&table, None, &versions).unwrap();
    for percent in [false, true] {
        let shown = |value: &num_rational::BigRational| {
            let factor = if percent { 100 } else { 1 };
            let value = value * num_rational::BigRational::from_integer(factor.into());
            format!("{:.6}", repro::decimal::nearest_f64(&value))
        };
        for (column, aggregate) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let mut text = String::from("Task, Accuracy, Centered\n");
            for task in &reading.versions[column].tasks {
                let (accuracy, centered) = (task.accuracy.middle(), task.centered.middle());
                let (accuracy, centered) = (shown(&accuracy), shown(&centered));
                text.push_str(&format!("{:<35}, {accuracy}, {centered}\n", task.row.task));
            }
            let core = shown(&reading.versions[aggregate].core(TaskSet::Core).middle());
            text.push_str(&format!("CORE,, {core}\n"));
            let source = Source::new("mixed.csv", text.into_bytes()).unwrap();
            let document = Document::parse(source).unwrap();
            let table = Table::read(document.root()).unwrap();
            let declared = percent.then_some(Scale::Percent);
            let read = Reading::of(&table, declared, &versions).unwrap();
            let found = read.stated_core().unwrap();
            assert_eq!(read.column.as_ref().unwrap().follows(), [column], "{percent}");
            assert_eq!(found.follows(), [aggregate], "{percent}");
            let mixed = (column != aggregate).then(|| (vec![column], vec![aggregate]));
            assert_eq!(read.mixed(found), mixed);
            assert_eq!(read.best(), aggregate);
        }
    }
}

/// The file of both versions agrees with the two files.
#[test]
fn one_file_may_hold_both_versions() {
    let Some(folder) = shared::folder("baselines") else { return };
    let folder = folder.join("core");
    let both = Baselines::read(&document(&folder.join("core22_baselines.json"))).unwrap();
    let names: Vec<_> = both.iter().map(|version| version.name.as_str()).collect();
    assert_eq!(
        names,
        ["core22_baselines.json (baseline_v1)", "core22_baselines.json (baseline_v2)"]
    );
    for (one, other) in both.iter().zip(&versions(&folder)) {
        for task in repro::tasks::CORE {
            assert_eq!(one.of_task(task), other.of_task(task), "{task}");
            assert_eq!(one.category(task), other.category(task), "{task}");
        }
    }
}

/// What a leaderboard prints follows from what it prints in full.
#[test]
fn the_leaderboard_is_arithmetic() {
    let Some(folder) = shared::folder("a leaderboard") else { return };
    let document = document(&folder.join("core/nanochat_leaderboard.json"));
    let root = document.root();
    let gpt2 = root.at("/gpt2_core").unwrap().float().unwrap();
    let rows: Vec<_> = root.at("/rows").unwrap().items().unwrap().collect();
    assert_eq!(rows.len(), 6);
    for row in &rows {
        let printed = Printed::parse(row.at("/core").unwrap().printed().unwrap()).unwrap();
        assert!(printed.as_f64() > gpt2, "{}", printed.text());
        let exact = ["/raw/core_metric", "/raw/claimed_mean", "/raw/core_mean"]
            .iter()
            .find_map(|pointer| row.at(pointer).ok());
        if let Some(exact) = exact {
            let exact = Printed::parse(exact.printed().unwrap()).unwrap();
            assert!(printed.interval().meets(&exact.exact()), "{}", printed.text());
        }
    }
    let runs = rows[3].at("/raw/core_runs").unwrap();
    let runs: Vec<_> = runs
        .items()
        .unwrap()
        .map(|run| Printed::parse(run.printed().unwrap()).unwrap().value().clone())
        .collect();
    let (low, high) = (runs.iter().min().unwrap(), runs.iter().max().unwrap());
    let mean = runs.iter().sum::<num_rational::BigRational>()
        / num_rational::BigRational::from_integer(runs.len().into());
    assert_eq!(format_significant(&mean, 5), "0.25714");
    assert_eq!(format_significant(&(high - low), 5), "0.01646");
    // Three of the seven lie below the score that the row is said to exceed.
    let below = runs.iter().filter(|run| repro::decimal::nearest_f64(run) < gpt2).count();
    assert_eq!((runs.len(), below), (7, 3));
}
