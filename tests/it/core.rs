//! CORE on real data: published evaluations, a published table, a leaderboard.

use std::path::Path;

use repro_core::decimal::{Printed, format_significant};
use repro_core::source::{Document, Source};
use repro_model::tasks::{Baselines, Measure, Scale, TableReading, TaskSet, TaskTable};

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
        let table = TaskTable::read(document.root()).unwrap();
        let reading = TableReading::of(&table, None, &versions).unwrap();
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
        let table = TaskTable::read(document.root()).unwrap();
        let reading = TableReading::of(&table, None, &versions).unwrap();
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
    let table = TaskTable::read(document.root()).unwrap();
    let reading = TableReading::of(&table, None, &versions).unwrap();
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
    let table = TaskTable::read(document.root()).unwrap();
    let reading = TableReading::of(&table, None, &versions).unwrap();
    for percent in [false, true] {
        let shown = |value: &num_rational::BigRational| {
            let factor = if percent { 100 } else { 1 };
            let value = value * num_rational::BigRational::from_integer(factor.into());
            format!("{:.6}", repro_core::decimal::nearest_f64(&value))
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
            let table = TaskTable::read(document.root()).unwrap();
            let declared = percent.then_some(Scale::Percent);
            let read = TableReading::of(&table, declared, &versions).unwrap();
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
        for task in repro_model::tasks::CORE {
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
    let below = runs.iter().filter(|run| repro_core::decimal::nearest_f64(run) < gpt2).count();
    assert_eq!((runs.len(), below), (7, 3));
}

/// The program among the tables of the corpus, so that reports name no folder of this machine.
fn run(arguments: &[&str]) -> (String, String, i32) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/core");
    run_in(&folder, arguments)
}

fn run_in(folder: &Path, arguments: &[&str]) -> (String, String, i32) {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_repro"))
        .arg("stats")
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code().unwrap())
}

fn snapshot(name: &str, drawn: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(format!("core_{name}"), drawn));
}

#[test]
fn scores_as_people_and_programs_see_them() {
    let both = ["--baselines", "old.csv", "--baselines", "new.csv"];
    for (name, table, more) in [
        ("text", "tasks.csv", &["--against", "full.json"][..]),
        ("text_mixed", "mixed.csv", &[]),
        ("text_wide", "wide.csv", &[]),
        ("text_some", "some.csv", &["--seed", "7", "--resamples", "2000"]),
        ("json", "receipt.csv", &["--format", "json"]),
    ] {
        let (stdout, stderr, code) = run(&[&[table], &both[..], more].concat());
        assert_eq!((stderr.as_str(), code), ("", 0), "{table}");
        for line in stdout.lines().filter(|_| !name.contains("json")) {
            assert!(line.chars().count() <= 100, "{line}");
        }
        snapshot(name, &stdout);
    }
}

/// What cannot be scored is refused where it stands, with a way out.
#[test]
fn tables_that_cannot_be_scored_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let base = "task,baseline\ncopa,0.5\npiqa,0.5\njeopardy,0\n";
    let percent = "Eval Task,Random baseline\ncopa,50\npiqa,50\njeopardy,0\n";
    let cases = [
        ("a_repeated_task", "task,accuracy\ncopa,0.6\ncopa,0.7\n", base, &[][..]),
        ("above_one", "task,accuracy\ncopa,0.6\npiqa,1.7\njeopardy,0.1\n", base, &[]),
        ("just_above_one", "task,accuracy\ncopa,1.2\njeopardy,0.2\n", base, &[]),
        ("above_one_declared", "task,accuracy\ncopa,1.2\n", base, &["--unit", "fraction"]),
        ("above_a_hundred", "task,accuracy\ncopa,60\npiqa,120\n", base, &[]),
        ("negative", "task,accuracy\ncopa,-0.1\n", base, &[]),
        ("one_fraction_among_percent", "task,accuracy\ncopa,60\npiqa,0.7\njeopardy,5\n", base, &[]),
        ("no_number", "task,accuracy\ncopa,high\n", base, &[]),
        ("no_accuracy", "task,accuracy,centered\ncopa,,0.2\n", base, &[]),
        ("a_task_without_baseline", "task,accuracy\ncopa,0.6\nboolq,0.7\n", base, &[]),
        ("baseline_of_one", "task,accuracy\ncopa,0.6\n", "task,baseline\ncopa,1\n", &[]),
        ("baseline_of_all", "task,accuracy\ncopa,0.6\n", "task,baseline\ncopa,100\npiqa,50\n", &[]),
        ("negative_baseline", "task,accuracy\ncopa,0.6\n", "task,baseline\ncopa,-0.1\n", &[]),
        (
            "a_baseline_twice",
            "task,accuracy\ncopa,0.6\n",
            "task,baseline\ncopa,0.5\ncopa,0.4\n",
            &[],
        ),
        ("no_baselines", "task,accuracy\ncopa,0.6\n", "task,accuracy\ncopa,0.5\n", &[]),
        ("more_right_than_items", "task,accuracy,n,correct\ncopa,0.6,10,11\n", base, &[]),
        ("a_negative_count", "task,accuracy,n,correct\ncopa,0.6,10,-6\n", base, &[]),
        ("no_tasks", "task,accuracy\n", base, &[]),
        ("no_columns", "a,b\n1,2\n", base, &[]),
        ("a_level_of_one", "task,accuracy\ncopa,60\n", percent, &["--level", "1"]),
        ("no_such_file", "", base, &["--against", "absent.csv"]),
        ("other_tasks", "task,accuracy\ncopa,0.6\npiqa,0.7\n", base, &["--against", "other.csv"]),
    ];
    let mut drawn = String::new();
    std::fs::write(folder.path().join("other.csv"), "task,accuracy\ncopa,0.6\n").unwrap();
    for (name, table, baselines, more) in cases {
        std::fs::write(folder.path().join("table.csv"), table).unwrap();
        std::fs::write(folder.path().join("baselines.csv"), baselines).unwrap();
        let arguments = [&["table.csv", "--baselines", "baselines.csv"], more].concat();
        let (stdout, stderr, code) = run_in(folder.path(), &arguments);
        assert_eq!((stdout.as_str(), code), ("", 2), "{name}: {stdout}{stderr}");
        drawn.push_str(&format!("## {name}\n{stderr}\n"));
    }
    snapshot("refused", &drawn);
}

/// Shapes of JSON that people have score alike.
#[test]
fn one_score_in_every_shape() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("b.json"), r#"{"copa": 50, "piqa": 50, "jeopardy": 0}"#)
        .unwrap();
    for (name, text) in [
        ("map.json", r#"{"copa": 0.6, "piqa": 0.75, "jeopardy": 0.1}"#),
        ("percent.json", r#"{"copa": 60, "piqa": 75, "jeopardy": 10}"#),
        ("signs.json", r#"{"copa": "60%", "piqa": "75%", "jeopardy": "10%"}"#),
        (
            "list.json",
            r#"[{"task":"copa","acc":0.6},{"task":"piqa","acc":0.75},{"task":"jeopardy","acc":0.1}]"#,
        ),
        (
            "beside.json",
            r#"{"CORE": 0.2667, "tasks": [{"task":"copa","raw_acc":0.6,"centered_acc":0.2},{"task":"piqa","raw_acc":0.75,"centered_acc":0.5},{"task":"jeopardy","raw_acc":0.1,"centered_acc":0.1}]}"#,
        ),
        (
            "results.json",
            r#"{"results": {"copa": 0.6, "piqa": 0.75, "jeopardy": 0.1}, "centered_results": {"copa": 0.2, "piqa": 0.5, "jeopardy": 0.1}, "core_metric": 0.26666666666666666}"#,
        ),
        (
            "padded.csv",
            "Task   , Accuracy , Centered \ncopa   , 0.6000   , 0.2000\npiqa   , 0.7500   , 0.5000\njeopardy, 0.1000  , 0.1000\nCORE   ,          , 0.2667\n",
        ),
        (
            "receipt.csv",
            "task,type,n,correct,accuracy,baseline,centered\ncopa,mc,10,6,0.6000,0.5,0.2000\npiqa,mc,4,3,0.7500,0.5,0.5000\njeopardy,lm,10,1,0.1000,0,0.1000\n",
        ),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
        let arguments = [name, "--baselines", "b.json", "--format", "json"];
        let (stdout, stderr, code) = run_in(folder.path(), &arguments);
        assert_eq!((stderr.as_str(), code), ("", 0), "{name}");
        let read: serde_json::Value = serde_json::from_str(&stdout).unwrap();
        let score = read["core"].as_f64().unwrap();
        assert!((score - 0.8 / 3.0).abs() < 1e-9, "{name} {score}");
        assert_eq!(read["findings"], serde_json::json!([]), "{name}");
        assert_eq!(read["over"], "tasks given");
        assert_eq!(read["bootstrap"]["enumerated"], true);
        assert_eq!(read["bootstrap"]["evidence"], false, "three tasks decide nothing");
        let digest = repro_core::digest::Digest::of(br#"{"copa": 50, "piqa": 50, "jeopardy": 0}"#);
        assert_eq!(read["baselines_sha256"], digest.to_string());
    }
}
