//! The program as a process: exit codes, what goes to which stream, and what bad input looks like.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use repro_judge::claims::KINDS;
use tempfile::TempDir;

use crate::sealed::{new_folder, sealed_into};

/// What one run of the program left.
struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

fn command(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_repro"));
    command
        .args(arguments)
        .current_dir(root)
        .env_remove("NO_COLOR")
        .env_remove("GITHUB_STEP_SUMMARY");
    command
}

fn run(root: &Path, arguments: &[&str]) -> Ran {
    let output = command(root, arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let code = output.status.code().expect("ended by itself");
    Ran { code, stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// A project of the corpus, in a folder of its own.
fn corpus(kind: &str, root: &str) -> TempDir {
    let folder = new_folder();
    sealed_into(&format!("{kind}/{root}"), folder.path());
    folder
}

fn snapshot(name: &str, drawn: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(format!("cli_{name}"), drawn));
}

/// Every file below `root` with its bytes.
fn files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
    found
}

/// A project with the sound post `fine`, which shares its evidence with the post `identity`, or a
/// whole corpus project of another kind beside it.
fn project(kind: &str) -> TempDir {
    let temporary = corpus(kind, "good");
    let root = temporary.path();
    // The sound post depends on a bundle of its own.
    sealed_into("rounding_pair/good/receipts/evidence", &root.join("receipts/sound"));
    let other = crate::sealed::corpus().join("rounding_pair/good/repro/rounding_pair.toml");
    let text = std::fs::read_to_string(other).unwrap();
    let text = text
        .replace("id = \"rounding_pair\"", "id = \"fine\"")
        .replace("\"evidence\"", "\"sound\"");
    std::fs::write(root.join("repro/fine.toml"), text).unwrap();
    temporary
}

fn edit(path: &Path, from: &str, to: &str) {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{from} in {}", path.display());
    std::fs::write(path, text.replacen(from, to, 1)).unwrap();
}

/// Seals the bundle anew and pins it.
fn reseal(root: &Path, post: &str) {
    let sealed = run(root, &["seal", "receipts/evidence"]);
    assert_eq!((sealed.code, sealed.stderr.as_str()), (0, ""));
    let path = root.join("repro").join(post);
    let text = std::fs::read_to_string(&path).unwrap();
    let digest = text.lines().find(|line| line.starts_with("digest")).unwrap().to_owned();
    edit(&path, &digest, &format!("digest = \"{}\"", sealed.stdout.trim()));
}

/// How a project is broken.
type Break = Box<dyn Fn(&Path)>;

/// Breaks a project, verifies it, and answers how the failure is drawn: exit code 2, nothing written,
/// the sound post judged all the same.
fn refused(kind: &str, break_it: impl Fn(&Path)) -> String {
    let temporary = project(kind);
    let root = temporary.path();
    break_it(root);
    let before = files(root);
    let ran = run(root, &["verify"]);
    assert_eq!(ran.code, 2, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(files(root), before, "nothing is written");
    assert_eq!(ran.stderr, "", "refused inputs of a post are part of the report");
    let json = run(root, &["verify", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["failures"].as_array().unwrap().len(), 1, "one message");
    let fine = json["posts"].as_array().unwrap().iter().find(|post| post["id"] == "fine").unwrap();
    assert_eq!(fine["summary"]["verified"], 1, "other posts are judged");
    let shown = root.display().to_string();
    assert!(!ran.stdout.contains(&shown), "no path of this machine: {}", ran.stdout);
    ran.stdout.split("\n\n").next().unwrap().to_owned()
}

#[test]
fn bad_input_is_refused_where_it_stands() {
    let post = |from: &'static str, to: &'static str| {
        move |root: &Path| edit(&root.join("repro/identity.toml"), from, to)
    };
    let facts = |from: &'static str, to: &'static str| {
        move |root: &Path| {
            edit(&root.join("receipts/evidence/data/facts.json"), from, to);
            reseal(root, "identity.toml");
        }
    };
    let config = |from: &'static str, to: &'static str| {
        move |root: &Path| {
            edit(&root.join("receipts/evidence/data/configs/moe.toml"), from, to);
            reseal(root, "param_count.toml");
        }
    };
    let identity = "inputs = { a = { fact = \"before\" }, b = { fact = \"after\" } }";
    let cases: Vec<(&str, &str, Break)> = vec![
        (
            "missing bundle",
            "identity",
            Box::new(|root: &Path| {
                std::fs::remove_dir_all(root.join("receipts/evidence")).unwrap();
            }),
        ),
        (
            "changed byte",
            "identity",
            Box::new(|root: &Path| {
                edit(&root.join("receipts/evidence/data/facts.json"), "250.0", "251.0");
            }),
        ),
        (
            "wrong pin",
            "identity",
            Box::new(|root: &Path| {
                let path = root.join("repro/identity.toml");
                let text = std::fs::read_to_string(&path).unwrap();
                let digest =
                    text.lines().find(|line| line.starts_with("digest")).unwrap().to_owned();
                edit(&path, &digest, &format!("digest = \"sha256:{}\"", "0".repeat(64)));
            }),
        ),
        ("malformed pin", "identity", Box::new(post("digest = \"sha256:", "digest = \"md5:"))),
        (
            "unpinned bundle",
            "identity",
            Box::new(post("{ fact = \"after\" }", "{ bundle = \"other\", fact = \"after\" }")),
        ),
        ("malformed claim", "identity", Box::new(post("claimed = \"2.5\"", "claimed = 2.5"))),
        (
            "unknown claim field",
            "identity",
            Box::new(post("claimed = \"2.5\"", "claimed = \"2.5\"\ntolerence = \"2%\"")),
        ),
        (
            "resting on an unknown claim",
            "identity",
            Box::new(post("claimed = \"2.5\"", "claimed = \"2.5\"\ndepends_on = [\"nowhere\"]")),
        ),
        (
            "resting on itself",
            "identity",
            Box::new(post("claimed = \"2.5\"", "claimed = \"2.5\"\ndepends_on = [\"speedup\"]")),
        ),
        ("missing claim field", "identity", Box::new(post("formula = \"ratio\"\n", ""))),
        ("no claimed value", "identity", Box::new(post("claimed = \"2.5\"\n", ""))),
        (
            "claimed is no number",
            "identity",
            Box::new(post("claimed = \"2.5\"", "claimed = \"two and a half\"")),
        ),
        ("unknown kind", "identity", Box::new(post("kind = \"identity\"", "kind = \"identiti\""))),
        ("unknown formula", "identity", Box::new(post("\"ratio\"", "\"rasio\""))),
        ("wrong formula inputs", "identity", Box::new(post("b = { fact", "c = { fact"))),
        ("missing formula input", "identity", Box::new(post(", b = { fact = \"after\" }", ""))),
        ("division by zero", "identity", Box::new(facts("100.0", "0"))),
        ("unknown fact", "identity", Box::new(post("\"after\"", "\"aftre\""))),
        (
            "unknown file",
            "identity",
            Box::new(post(
                "{ fact = \"after\" }",
                "{ file = \"data/none.json\", pointer = \"/a\" }",
            )),
        ),
        (
            "pointer that leads nowhere",
            "identity",
            Box::new(post(
                "{ fact = \"after\" }",
                "{ file = \"data/facts.json\", pointer = \"/facts/7/value\" }",
            )),
        ),
        (
            "malformed pointer",
            "identity",
            Box::new(post(
                "{ fact = \"after\" }",
                "{ file = \"data/facts.json\", pointer = \"facts\" }",
            )),
        ),
        ("value that is no number", "identity", Box::new(facts("100.0", "fast"))),
        (
            "missing default bundle",
            "identity",
            Box::new(post("default_bundle = \"evidence\"\n", "")),
        ),
        ("unknown source", "identity", Box::new(post("source = \"post\"", "source = \"blog\""))),
        (
            "bad tolerance",
            "identity",
            Box::new(post("claimed = \"2.5\"", "claimed = \"2.5\"\ntolerance = \"some\"")),
        ),
        (
            "duplicate claim id",
            "identity",
            Box::new(move |root: &Path| {
                let twice =
                    format!("{identity}\n\n[[claim]]\nid = \"speedup\"\nkind = \"identity\"\n");
                edit(&root.join("repro/identity.toml"), identity, &twice);
            }),
        ),
        (
            "duplicate key",
            "identity",
            Box::new(post("claimed = \"2.5\"", "claimed = \"2.5\"\nclaimed = \"2.6\"")),
        ),
        ("TOML syntax", "identity", Box::new(post("title = \"A", "title = A"))),
        (
            "number that is not finite",
            "identity",
            Box::new(post("claimed = \"2.5\"", "claimed = \"2.5\"\noccurrence = nan")),
        ),
        ("wrong schema", "identity", Box::new(post("repro.post/1", "repro.post/3"))),
        (
            "name of another file",
            "identity",
            Box::new(post("id = \"identity\"", "id = \"identify\"")),
        ),
        ("unknown model family", "param_count", Box::new(config("dim = 64\n", "width = 64\n"))),
        (
            "shape field that nobody understands",
            "param_count",
            Box::new(config("attn = \"sdpa\"", "attn = \"sdpa\"\nn_register_tokens = 4")),
        ),
        (
            "impossible shape",
            "param_count",
            Box::new(config("n_activated_experts = 2", "n_activated_experts = 9")),
        ),
        (
            "unknown convention",
            "param_count",
            Box::new(|root: &Path| {
                edit(
                    &root.join("repro/param_count.toml"),
                    "parameters = \"total\"",
                    "parameters = \"total\"\nconvention = \"mine\"",
                );
            }),
        ),
        (
            "no horizons",
            "horizon_steps",
            Box::new(|root: &Path| {
                edit(
                    &root.join("repro/horizon_steps.toml"),
                    "rounding =",
                    "horizons = []\nrounding =",
                );
            }),
        ),
        (
            "no tokens in a step",
            "horizon_steps",
            Box::new(|root: &Path| {
                edit(&root.join("receipts/evidence/data/facts.json"), "4,000", "0");
                reseal(root, "horizon_steps.toml");
            }),
        ),
        (
            "grid of zero steps",
            "eval_grid",
            Box::new(|root: &Path| {
                edit(&root.join("receipts/evidence/data/facts.json"), "\"128\"", "\"0\"");
                reseal(root, "eval_grid.toml");
            }),
        ),
        (
            "about a step",
            "eval_grid",
            Box::new(|root: &Path| {
                edit(&root.join("repro/eval_grid.toml"), "\"4,864\"", "\"~4,864\"");
            }),
        ),
        (
            "more active experts than there are",
            "bounds",
            Box::new(|root: &Path| {
                let hard = "experts = { fact = \"experts\" }\nactive = { fact = \"active\" }\nhard_top_k = true";
                edit(&root.join("repro/bounds.toml"), "experts = { fact = \"experts\" }", hard);
                let active = "{\"facts\":[{\"id\":\"active\",\"value\":\"65\",\"at\":{\"source\":\"log\",\"place\":\"1\"}},";
                edit(&root.join("receipts/evidence/data/facts.json"), "{\"facts\":[", active);
                reseal(root, "bounds.toml");
            }),
        ),
        (
            "nobody to be ahead of",
            "ranking",
            Box::new(|root: &Path| {
                edit(
                    &root.join("repro/ranking.toml"),
                    "winner = \"MoE-64\"",
                    "winner = [\"MoE-64\", \"dense\"]",
                );
            }),
        ),
        (
            "axis that is not there",
            "ranking",
            Box::new(|root: &Path| {
                edit(&root.join("repro/ranking.toml"), "axis = \"loss\"", "axis = \"speed\"");
            }),
        ),
    ];
    let drawn: Vec<_> = cases
        .iter()
        .map(|(name, kind, break_it)| format!("## {name}\n{}\n", refused(kind, break_it)))
        .collect();
    snapshot("refused", &drawn.join("\n"));
}

#[test]
fn groups_of_runs_that_cannot_be_are_refused_where_they_stand() {
    let moe = "b = { label = \"MoE\", values = [{ fact = \"moe-1\" }, { fact = \"moe-2\" }, { fact = \"moe-3\" }] }";
    let alike = "margin = { fact = \"margin\" }";
    let cases = [
        (
            "pairs of unequal length",
            "gap",
            moe,
            "paired = true\nb = { label = \"MoE\", values = [{ fact = \"moe-1\" }, { fact = \"moe-2\" }] }",
        ),
        (
            "pairs of a printed mean",
            "gap",
            moe,
            "paired = true\nb = { label = \"MoE\", mean = { fact = \"moe-1\" }, n = 3 }",
        ),
        (
            "a negative number of runs",
            "gap",
            moe,
            "b = { label = \"MoE\", mean = { fact = \"moe-1\" }, n = -3 }",
        ),
        (
            "a fraction of a run",
            "gap",
            moe,
            "b = { label = \"MoE\", mean = { fact = \"moe-1\" }, n = 2.5 }",
        ),
        (
            "a number of runs that is no count",
            "gap",
            moe,
            "b = { label = \"MoE\", mean = { fact = \"moe-1\" }, n = { fact = \"moe-2\" } }",
        ),
        (
            "one value for runs that differ",
            "held_fixed",
            "quantity = \"tokens\"",
            "claimed = \"100\"\nrelation = \"differs\"\nquantity = \"tokens\"",
        ),
        (
            "a range of bundles that the post does not pin",
            "gap",
            moe,
            "b = { label = \"MoE\", values = { bundles = \"run-s{1..2}\", file = \"data/losses.json\", pointer = \"/loss\" } }",
        ),
        (
            "bundles without a range",
            "gap",
            moe,
            "b = { label = \"MoE\", values = { bundles = \"evidence\", file = \"data/losses.json\", pointer = \"/loss\" } }",
        ),
        (
            "a range of bundles and no place in them",
            "gap",
            moe,
            "b = { label = \"MoE\", values = { bundles = \"run-s{1..2}\", file = \"data/losses.json\" } }",
        ),
        (
            "a mean of no runs",
            "gap",
            moe,
            "b = { label = \"MoE\", mean = { fact = \"moe-1\" }, n = 0 }",
        ),
        (
            "± without a number",
            "gap",
            moe,
            "b = { label = \"MoE\", printed = { fact = \"moe-1\" }, n = 3, reading = \"sd\" }",
        ),
        ("an unknown reading", "gap", "reading = \"se\"", "reading = \"stderr\""),
        (
            "two ways of giving the runs",
            "gap",
            moe,
            "b = { label = \"MoE\", values = [{ fact = \"moe-1\" }], mean = { fact = \"moe-1\" } }",
        ),
        ("no runs", "gap", moe, "b = { label = \"MoE\", values = [] }"),
        (
            "an impossible alpha",
            "gap",
            "direction = \"greater\"",
            "direction = \"greater\"\nalpha = 1.5",
        ),
        (
            "a p above one",
            "gap",
            "direction = \"greater\"",
            "direction = \"greater\"\nfamily = [1.5]",
        ),
        (
            "one side of nothing",
            "gap",
            "direction = \"greater\"",
            "direction = \"differs\"\nsides = 1",
        ),
        (
            "half an interval",
            "confidence_interval",
            "claimed = \"[0.0243, 0.0313]\"",
            "claimed = \"[0.0243, ]\"",
        ),
        (
            "five resamples",
            "confidence_interval",
            "method = \"t\"",
            "method = \"bca\"\nresamples = 5",
        ),
        (
            "a margin below zero",
            "equivalence",
            alike,
            "margin = { low = { fact = \"margin\" }, high = { fact = \"narrow\" } }",
        ),
        (
            "no tokens",
            "trend",
            "tokens = { fact = \"t1\" }",
            "tokens = { formula = \"delta\", inputs = { a = { fact = \"t1\" }, b = { fact = \"t1\" } } }",
        ),
        ("a seed that is missing", "trend", ", { fact = \"c4\" }]", "]"),
        ("an unknown label", "ranking_significance", "winner = \"MoE-64\"", "winner = \"MoE-32\""),
        ("a test of nothing", "target_test", "states = \"meets_rule\"", "states = \"passes\""),
    ];
    let drawn = cases.map(|(name, kind, from, to)| {
        let post = format!("repro/{kind}.toml");
        format!("## {name}\n{}\n", refused(kind, |root: &Path| edit(&root.join(&post), from, to)))
    });
    snapshot("refused_groups", &drawn.join("\n"));
}

#[test]
fn bad_usage_is_refused_on_standard_error() {
    let temporary = project("identity");
    let empty = tempfile::tempdir().unwrap();
    let before = files(temporary.path());
    let mut drawn = String::new();
    for arguments in [
        &["verify", "--post", "none"][..],
        &["verify", "--post", "../identity"],
        &["verify", "no/such/folder"],
        &["verify", "--locked"],
        &["verify", "--root", "no/such/folder"],
        &["verify", "--output", "json"],
        &["verify", "--output", "xml=report.xml"],
        &["verify", "--output", "json=no/such/folder/report.json"],
        &["verify", "--locked", "--write-lock"],
        &["verify", "--format", "xml"],
        &["verify", "--postt", "identity"],
        &["list", "kinds", "--format", "junit"],
        &["explain", "no-such-code"],
        &["explain", "differ"],
        &["coverage", "--post", "identity", "no/such/text.md"],
        &["mutate", "--post", "none"],
        &["params", "no/such/config.json"],
        &["seal", "no/such/folder"],
        &["unheard-of"],
        &[],
    ] {
        let ran = run(temporary.path(), arguments);
        assert_eq!(ran.code, 2, "{arguments:?}: {}{}", ran.stdout, ran.stderr);
        let shown = if ran.stderr.is_empty() {
            ran.stdout.split("\n\n").next().unwrap()
        } else {
            &ran.stderr
        };
        drawn += &format!("## repro {}\n{}\n\n", arguments.join(" "), shown.trim_end());
    }
    let outside = run(empty.path(), &["verify"]);
    assert_eq!((outside.code, outside.stdout.as_str()), (2, ""));
    drawn += &format!("## repro verify, outside of a project\n{}\n", outside.stderr.trim_end());
    snapshot("usage", &drawn);
    assert_eq!(files(temporary.path()), before, "nothing is written");
}

#[test]
fn help_and_lists_are_as_recorded() {
    let root = project("identity");
    let stdout = |arguments: &[&str]| {
        let ran = run(root.path(), arguments);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{arguments:?}");
        ran.stdout
    };
    let mut help = stdout(&["--help"]);
    for command in
        ["verify", "coverage", "mutate", "params", "stats", "train", "list", "explain", "seal"]
    {
        help += &format!("\n## repro {command} --help\n{}", stdout(&[command, "--help"]));
    }
    snapshot("help", &help);
    for list in ["codes", "kinds", "formulas", "posts", "bundles"] {
        snapshot(&format!("list_{list}"), &stdout(&["list", list]));
    }
    snapshot("explain_scope", &stdout(&["explain", "scope"]));
    snapshot("explain_values", &stdout(&["explain", "values"]));
    snapshot("explain_code", &stdout(&["explain", "tolerance::too-coarse"]));
    let kinds: Vec<_> = KINDS.iter().map(|kind| stdout(&["explain", kind.id])).collect();
    snapshot("explain_kinds", &kinds.join("\n\n"));
    // Whatever is listed can be explained.
    for list in ["codes", "kinds", "formulas"] {
        for line in stdout(&["list", list]).lines() {
            stdout(&["explain", line.split_whitespace().next().unwrap()]);
        }
    }
}

#[test]
fn the_exit_code_is_the_verdict_in_every_format() {
    for (kind, root, code) in
        [("identity", "good", 0), ("identity", "bad", 1), ("cross_artifact", "cases", 1)]
    {
        let project = corpus(kind, root);
        for format in ["text", "json", "junit", "github", "markdown"] {
            let ran = run(project.path(), &["verify", "--format", format]);
            assert_eq!((ran.code, ran.stderr.as_str()), (code, ""), "{kind}/{root} as {format}");
            assert!(!ran.stdout.is_empty());
        }
    }
    // Nothing refuted, something undecided.
    let project = project("eval_grid");
    edit(&project.path().join("repro/eval_grid.toml"), "\nlast = { fact = \"last\" }", "");
    edit(&project.path().join("repro/eval_grid.toml"), "\"4,864\"", "\"4,865\"");
    assert_eq!(run(project.path(), &["verify"]).code, 3);
    assert_eq!(run(project.path(), &["verify", "--post", "fine"]).code, 0);
    let minimum = run(project.path(), &["verify", "--post", "fine", "--min-origin", "emitted"]);
    assert_eq!(minimum.code, 3, "{}", minimum.stdout);
    assert_eq!(run(project.path(), &["verify", "receipts/sound"]).code, 0);
}

#[test]
fn reports_are_written_beside_the_one_printed() {
    let project = project("identity");
    let arguments = ["verify", "--output", "json=report.json", "--output", "junit=report.xml"];
    let ran = run(project.path(), &arguments);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let read = |name: &str| std::fs::read_to_string(project.path().join(name)).unwrap();
    assert_eq!(read("report.json"), run(project.path(), &["verify", "--format", "json"]).stdout);
    assert_eq!(read("report.xml"), run(project.path(), &["verify", "--format", "junit"]).stdout);
    assert_eq!(ran.stdout, run(project.path(), &["verify"]).stdout);
}

#[test]
fn the_lock_file_notices_a_verdict_that_changes() {
    let project = project("identity");
    let root = project.path();
    let locked = |root: &Path| run(root, &["verify", "--locked"]);
    assert_eq!(locked(root).code, 2, "no lock file");
    assert_eq!(run(root, &["verify", "--write-lock"]).code, 0);
    snapshot("lock", &std::fs::read_to_string(root.join("repro/verdicts.lock")).unwrap());
    assert_eq!(locked(root).code, 0);
    assert_eq!(run(root, &["verify", "--locked", "--min-origin", "signed"]).code, 3);
    let (post, aside) = (root.join("repro/identity.toml"), root.join("aside.toml"));
    std::fs::rename(&post, &aside).unwrap();
    assert_eq!(locked(root).code, 1, "a recorded post is gone");
    std::fs::rename(&aside, &post).unwrap();
    edit(&root.join("repro/identity.toml"), "claimed = \"2.5\"", "claimed = \"2.6\"");
    let differs = locked(root);
    assert_eq!(differs.code, 1);
    snapshot("locked", &differs.stdout);
    // A refuted claim may be recorded: it is then the change from it that fails.
    assert_eq!(run(root, &["verify", "--write-lock"]).code, 0);
    assert_eq!((locked(root).code, run(root, &["verify"]).code), (0, 1));
    // A part is recorded without losing the rest, and a broken post records nothing.
    let before = std::fs::read_to_string(root.join("repro/verdicts.lock")).unwrap();
    assert_eq!(run(root, &["verify", "--post", "fine", "--write-lock"]).code, 0);
    edit(&root.join("repro/identity.toml"), "\"ratio\"", "\"rasio\"");
    assert_eq!(run(root, &["verify", "--write-lock"]).code, 2);
    assert_eq!(std::fs::read_to_string(root.join("repro/verdicts.lock")).unwrap(), before);
    std::fs::write(root.join("repro/verdicts.lock"), "schema = \"repro.lock/9\"\n").unwrap();
    assert_eq!(locked(root).code, 2, "a lock of another schema");
}

#[test]
fn colour_is_for_those_who_ask() {
    let root = corpus("identity", "bad");
    let coloured = |arguments: &[&str], no_color: Option<&str>| {
        let mut command = command(root.path(), arguments);
        if let Some(value) = no_color {
            command.env("NO_COLOR", value);
        }
        let output = command.output().unwrap();
        String::from_utf8(output.stdout).unwrap().contains('\u{1b}')
    };
    assert!(!coloured(&["verify"], None), "a pipe gets no colour");
    assert!(coloured(&["verify", "--color", "always"], None));
    assert!(coloured(&["verify", "--color", "always"], Some("1")), "what is said outright counts");
    assert!(!coloured(&["verify", "--color", "never"], None));
    assert!(
        !coloured(&["verify", "--color", "always", "--format", "json"], None),
        "data has no colour"
    );
}

#[test]
fn a_reader_who_leaves_is_not_complained_about() {
    let root = corpus("identity", "cases");
    for arguments in [&["verify", "--verbose"][..], &["list", "codes"], &["--help"]] {
        let mut child = command(root.path(), arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut complaints = String::new();
        child.stderr.take().unwrap().read_to_string(&mut complaints).unwrap();
        let status = child.wait().unwrap();
        assert_eq!(complaints, "", "{arguments:?}");
        assert!(status.code().is_some(), "{arguments:?} ends by itself");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_report_that_cannot_be_written_is_an_error() {
    let project = project("identity");
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = command(project.path(), &["list", "kinds"]);
    let output = command.stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cli::cannot-write"));
}
