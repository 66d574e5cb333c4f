//! The program as a process: exit codes, what goes to which stream, and what bad input looks like.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use repro_report::Format;
use repro_verify::evaluate::functions;
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

/// The small project of the corpus, with two sound posts, in a folder of its own.
fn project() -> TempDir {
    let folder = new_folder();
    sealed_into("small", folder.path());
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

fn edit(path: &Path, from: &str, to: &str) {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{from} in {}", path.display());
    std::fs::write(path, text.replacen(from, to, 1)).unwrap();
}

/// Replaces one part of a file of the evidence, and seals the bundle anew.
fn edit_evidence(root: &Path, file: &str, from: &str, to: &str) {
    edit(&root.join("receipts/evidence/data").join(file), from, to);
    let sealed = run(root, &["bundle", "seal", "receipts/evidence"]);
    assert_eq!((sealed.code, sealed.stderr.as_str()), (0, ""));
}

/// How a project is broken.
type Break = Box<dyn Fn(&Path)>;

/// A part of the small post replaced by another.
fn post(from: &'static str, to: &'static str) -> Break {
    Box::new(move |root: &Path| edit(&root.join("repro/small.toml"), from, to))
}

/// A part of a file of the evidence replaced by another.
fn evidence(file: &'static str, from: &'static str, to: &'static str) -> Break {
    Box::new(move |root: &Path| edit_evidence(root, file, from, to))
}

/// The expression of the first sentence replaced by another.
fn says(expression: &'static str) -> Break {
    post("\"ratio(log.before, log.after)\"", expression)
}

/// The lock of the small post, with one part of it replaced.
fn lock(from: &'static str, to: &'static str) -> Break {
    Box::new(move |root: &Path| {
        let written = run(root, &["verify", "--post", "small", "--write-lock"]);
        assert_eq!(written.code, 0, "{}", written.stdout);
        edit(&root.join("repro/small.lock"), from, to);
    })
}

/// Breaks a project, verifies it, and answers how the failure is drawn: exit code 2, nothing written,
/// the sound post judged all the same.
fn refused(break_it: &Break) -> String {
    let temporary = project();
    let root = temporary.path();
    break_it(root);
    let before = files(root);
    let ran = run(root, &["verify"]);
    assert_eq!(ran.code, 2, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(files(root), before, "nothing is written");
    assert_eq!(ran.stderr, "", "refused inputs of a post are part of the report");
    let json = run(root, &["verify", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["failures"].as_array().unwrap().len(), 1, "one message: {}", ran.stdout);
    let fine = json["posts"].as_array().unwrap().iter().find(|post| post["id"] == "fine").unwrap();
    assert_eq!(fine["summary"]["verified"], 1, "other posts are judged");
    let shown = root.display().to_string();
    assert!(!ran.stdout.contains(&shown), "no path of this machine: {}", ran.stdout);
    ran.stdout.split("\n\n").next().unwrap().to_owned()
}

/// How each broken project is refused, one after the other.
fn all_refused(cases: &[(&str, Break)]) -> String {
    let drawn: Vec<_> = cases
        .iter()
        .map(|(name, break_it)| format!("## {name}\n{}\n", refused(break_it)))
        .collect();
    drawn.join("\n")
}

const SPEEDUP: &str = "quote = \"2.5 times as fast\"";

#[test]
fn bundles_texts_and_locks_are_refused_where_they_are_named() {
    let cases: Vec<(&str, Break)> = vec![
        (
            "missing bundle",
            Box::new(|root: &Path| {
                std::fs::remove_dir_all(root.join("receipts/evidence")).unwrap();
            }),
        ),
        (
            "changed byte",
            Box::new(|root: &Path| {
                edit(&root.join("receipts/evidence/data/facts.json"), "250.0", "251.0");
            }),
        ),
        (
            "another bundle than the recorded one",
            Box::new(|root: &Path| {
                lock("verified", "verified")(root);
                edit_evidence(root, "facts.json", "250.0", "251.0");
            }),
        ),
        ("malformed pin", lock("\"sha256:", "\"md5:")),
        ("bundle that the lock does not hold", lock("\"evidence\" = ", "\"other\" = ")),
        ("lock of another schema", lock("repro.lock/4", "repro.lock/9")),
        ("malformed entry of a lock", lock(", \"2.5\", ", ", ")),
        (
            "text that is missing",
            Box::new(|root: &Path| std::fs::remove_file(root.join("repro/small.md")).unwrap()),
        ),
        ("text outside of the folder", post("\"small.md\"", "\"../small.md\"")),
        (
            "another text",
            post(
                "text = \"small.md\"",
                "[texts.post]\nwhat = \"the post\"\nfile = \"small.md\"\n\
                 sha256 = \"0000000000000000000000000000000000000000000000000000000000000000\"",
            ),
        ),
        (
            "malformed digest of a text",
            post("text = \"small.md\"", "[texts.post]\nwhat = \"the post\"\nsha256 = \"0\""),
        ),
        ("unknown text", post(SPEEDUP, "text = \"blog\"\nquote = \"2.5 times as fast\"")),
        ("unknown study", post("text = \"small.md\"", "text = \"small.md\"\nplan = \"nowhere\"")),
        ("malformed key", post("[formulas]", "[keys]\nevidence = \"a secret\"\n\n[formulas]")),
    ];
    snapshot("refused_bundles", &all_refused(&cases));
}

#[test]
fn a_malformed_post_is_refused_where_it_is_wrong() {
    let cases: Vec<(&str, Break)> = vec![
        ("TOML syntax", post("title = \"A", "title = A")),
        ("duplicate key", post("is = \"ratio", "is = \"1\"\nis = \"ratio")),
        ("number that is not finite", post("id = \"speedup\"", "id = nan")),
        ("wrong schema", post("repro.post/2", "repro.post/3")),
        ("name of another file", post("id = \"small\"", "id = \"smell\"")),
        ("unknown field of the post", post("title = ", "subtitle = \"x\"\ntitle = ")),
        ("unknown field of a sentence", post(SPEEDUP, "quote = \"2.5\"\ntolerance = \"2%\"")),
        ("unknown field of a table", post("head = ", "caption = \"x\"\nhead = ")),
        ("no quote", post(SPEEDUP, "")),
        ("quote that is no text", post(SPEEDUP, "quote = 2.5")),
        ("nothing said", post("is = \"ratio(log.before, log.after)\"", "")),
        ("said and missing", post("is = \"ratio", "missing = \"a log\"\nis = \"ratio")),
        ("unknown mood", post(SPEEDUP, "quote = \"2.5 times as fast\"\nasserts = \"hope\"")),
        ("repeated id", post("id = \"models\"", "id = \"speedup\"")),
        ("bad id", post("id = \"models\"", "id = \"The models\"")),
        ("table without a head", post("head = \"| model | total | active |\"\n", "")),
        (
            "head that is no line of cells",
            post("head = \"| model | total | active |\"", "head = \"\""),
        ),
        ("unknown row", post("\"mixture\" = ", "\"mixtures\" = ")),
        ("unknown column", post("\"total\" = ", "\"totals\" = ")),
        (
            "table that is not in the text",
            Box::new(|root: &Path| edit(&root.join("repro/small.md"), "| model |", "| size |")),
        ),
        ("locator that names nothing", post("log = \"evidence\"", "log = \"\"")),
        ("locator without a file", post("\"evidence:data/tasks.csv\"", "\"evidence:\"")),
        ("locator with an endless group", post("log = \"evidence\"", "log = \"evidence-{1..}\"")),
        ("formula without a name", post("\"ratio(a, b)\"", "\"(a, b)\"")),
        ("formula with an open parenthesis", post("\"ratio(a, b)\"", "\"ratio(a, b\"")),
        ("formula that cannot be read", post("\"a / b\"", "\"a / \"")),
    ];
    snapshot("refused_posts", &all_refused(&cases));
}

#[test]
fn an_expression_is_refused_at_its_column() {
    let cases: Vec<(&str, Break)> = vec![
        ("an operator without an end", says("\"log.before / \"")),
        ("a parenthesis without an end", says("\"(log.before / log.after\"")),
        ("a character of no meaning", says("\"log.before ÷ log.after\"")),
        ("a number that is none", says("\"1..2\"")),
        ("an excuse without a reason", says("\"_\"")),
        (
            "too few bindings",
            post(SPEEDUP, "quote = \"100.0 ms after: the change made it 2.5 times as fast\""),
        ),
        ("too many bindings", says("[\"log.before\", \"log.after\"]")),
        ("a binding that is no text", says("2.5")),
        ("unknown name", says("\"lok.before / log.after\"")),
        ("a difference without spaces", says("\"log-moe\"")),
        ("unknown fact", says("\"log.before / log.aftre\"")),
        ("unknown field of a file", says("\"moe.width\"")),
        ("a field of a number", says("\"(log.before + 1).ms\"")),
        ("unknown file", post("\"evidence:data/tasks.csv\"", "\"evidence:data/task.csv\"")),
        ("unknown function", says("\"quotient(log.before, log.after)\"")),
        ("a formula with too few values", says("\"ratio(log.before)\"")),
        ("a formula alone", says("\"ratio\"")),
        ("a formula that uses itself", post("\"a / b\"", "\"ratio(b, a)\"")),
        (
            "formulas that double at each step",
            Box::new(|root: &Path| {
                let double = |step: usize| format!("f{} = \"f{step} + f{step}\"\n", step + 1);
                let all: String = (0..30).map(double).collect();
                let formulas = format!("[formulas]\nf0 = \"log.before\"\n{all}");
                let post = root.join("repro/small.toml");
                edit(&post, "[formulas]\n", &formulas);
                edit(&post, "\"ratio(log.before, log.after)\"", "\"f30\"");
            }),
        ),
        ("a number beyond all measures", says("\"log.before ^ 1000\"")),
        ("a power of thousands of digits", says("\"(log.before ^ 99) ^ 999\"")),
        ("a function with too many values", says("\"total(moe, log)\"")),
        ("an option that a function does not have", says("\"total(moe, by = 2)\"")),
        ("unknown convention", says("\"total(moe, convention = 'mine')\"")),
        ("a place that is no model", says("\"total(log.before)\"")),
        ("words for a number", says("\"log.host / 2\"")),
        ("a limit for a number", says("\"log.best / 2\"")),
        ("division by zero", says("\"log.before / (log.after - log.after)\"")),
        ("a root of a negative number", says("\"(0 - log.before) ^ 0.5\"")),
        ("a relation for a number", says("\"log.before > log.after\"")),
        ("a number for a relation", post("is = \"ratio(", "is = \"_ said\"\nsays = \"ratio(")),
        ("a step of what is no run", says("\"log.before @ 3\"")),
        ("a number of the quote that it lacks", says("\"quoted(2)\"")),
    ];
    snapshot("refused_expressions", &all_refused(&cases));
}

#[test]
fn groups_of_runs_and_tables_that_cannot_be_are_refused() {
    let tasks = |from, to| evidence("tasks.csv", from, to);
    let cases: Vec<(&str, Break)> = vec![
        ("a run that stands twice", post("log = \"evidence\"", "log = \"{evidence,evidence}\"")),
        ("a group for a number", post("log = \"evidence\"", "log = \"{evidence}\"")),
        ("a spread of one", says("\"sd([log.loss.a])\"")),
        ("a mean of nothing", says("\"mean([])\"")),
        ("lists of unequal length", says("\"sum([log.loss.a, log.loss.b] - [log.loss.a])\"")),
        ("a test of one run", says("\"p([log.loss.a], [log.loss.b])\"")),
        (
            "a margin below zero",
            post(
                "is = \"ratio(log.before, log.after)\"",
                "is = \"_ said\"\nsays = \"equivalent([log.loss.a, log.loss.b], [log.loss.b, log.loss.a], -1)\"",
            ),
        ),
        (
            "a plan that the post does not have",
            post("is = \"ratio(log.before, log.after)\"", "is = \"planned_runs()\""),
        ),
        ("half an item", says("\"max(wilson95(log.loss.a, 5))\"")),
        ("more right items than there are", says("\"proportions_p(6, 5, 1, 5)\"")),
        ("a test of shares that nobody knows", says("\"proportions_p(4, 5, 1, 5, test = 't')\"")),
        ("a table without a task of CORE", tasks("winogrande,", "winograndee,")),
        ("a table with a task twice", tasks("winogrande,", "winograd,")),
        ("a task without an accuracy", tasks("winogrande,0.532755,", "winogrande,,")),
        ("a task without a baseline", evidence("baselines.csv", "winogrande,", "winograndee,")),
        ("a baseline of everything", evidence("baselines.csv", "winogrande,50", "winogrande,100")),
        ("a table without baselines", post(", baselines = baselines", "")),
        ("a score of facts", post("core(tasks,", "core(log,")),
        (
            "an accuracy against its counts",
            Box::new(|root: &Path| {
                let table = "Task,n,correct,accuracy,baseline\ncopa,100,64,0.65,0.5\n";
                let path = root.join("receipts/evidence/data/tasks.csv");
                std::fs::write(path, table).unwrap();
                edit_evidence(root, "baselines.csv", "Eval", "Eval");
                let post = root.join("repro/small.toml");
                edit(&post, "baselines = baselines", "tasks = 'given'");
            }),
        ),
        ("outcomes of other items", evidence("base.outcomes.jsonl", "\"n\":42", "\"n\":41")),
        ("outcomes without a task", post("task = 'copa'", "task = 'boolq'")),
        ("outcomes that are no bits", evidence("base.outcomes.jsonl", "\"n\":42", "\"n\":52")),
    ];
    snapshot("refused_groups", &all_refused(&cases));
}

#[test]
fn bad_usage_is_refused_on_standard_error() {
    let temporary = project();
    let empty = tempfile::tempdir().unwrap();
    let before = files(temporary.path());
    let mut drawn = String::new();
    for arguments in [
        &["verify", "--post", "none"][..],
        &["verify", "--post", "../small"],
        &["verify", "no/such/folder"],
        &["verify", "--locked"],
        &["verify", "--root", "no/such/folder"],
        &["verify", "--output", "json"],
        &["verify", "--output", "xml=report.xml"],
        &["verify", "--output", "json=no/such/folder/report.json"],
        &["verify", "--locked", "--write-lock"],
        &["verify", "--format", "xml"],
        &["verify", "--postt", "small"],
        &["explain", "--list", "functions", "--format", "junit"],
        &["--format", "junit", "explain", "--list", "functions"],
        &["explain", "--list", "functions", "--output", "json=list.json"],
        &["check", ".", "--output", "intoto=check.json"],
        &["bundle", "keygen", "--out", "key", "--format", "json"],
        &["explain", "--list", "kinds"],
        &["explain", "values"],
        &["explain", "no-such-code"],
        &["explain", "differ"],
        &["explain", "gaet"],
        &["explain", "--search", "digit", "nosuchword"],
        &["man", "verfy"],
        &["verify", "--text", "no/such/text.md"],
        &["review", "--coverage", "small", "--text", "no/such/text.md"],
        &["review", "--mutate", "none"],
        &["params", "no/such/config.json"],
        &["bundle", "seal", "no/such/folder"],
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
    let root = project();
    let stdout = |arguments: &[&str]| {
        let ran = run(root.path(), arguments);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{arguments:?}");
        ran.stdout
    };
    let mut help = stdout(&["--help"]);
    for command in [
        "init",
        "verify",
        "review",
        "params",
        "stats",
        "diff",
        "train",
        "explain",
        "bundle",
        "bundle seal",
    ] {
        let arguments: Vec<_> = command.split(' ').chain(["--help"]).collect();
        help += &format!("\n## repro {command} --help\n{}", stdout(&arguments));
    }
    snapshot("help", &help);
    for list in ["codes", "functions", "posts", "bundles"] {
        snapshot(&format!("list_{list}"), &stdout(&["explain", "--list", list]));
    }
    for page in ["scope", "post", "slices"] {
        snapshot(&format!("explain_{page}"), &stdout(&["explain", page]));
    }
    snapshot("explain_code", &stdout(&["explain", "value::too-coarse"]));
    let explained = functions::all().map(|function| stdout(&["explain", function.name]));
    snapshot("explain_functions", &explained.collect::<Vec<_>>().join("\n"));
    // Whatever is listed can be explained.
    for list in ["codes", "functions"] {
        for line in stdout(&["explain", "--list", list]).lines() {
            stdout(&["explain", line.split_whitespace().next().unwrap()]);
        }
    }
}

#[test]
fn the_format_may_stand_before_the_command() {
    let root = project();
    let [before, behind] = [["--format", "json", "verify"], ["verify", "--format", "json"]]
        .map(|arguments| run(root.path(), &arguments));
    assert!(before.stdout.starts_with("{\n  \"schema\": \"repro.report/"), "{}", before.stdout);
    assert_eq!((before.code, before.stdout), (behind.code, behind.stdout));
}

#[test]
fn files_for_shells_and_for_man_are_printed() {
    let root = project();
    let printed = |arguments: &[&str]| {
        let ran = run(root.path(), arguments);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{arguments:?}");
        ran.stdout
    };
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = printed(&["completions", shell]);
        assert!(script.contains("verify") && script.contains("all-bound"), "{shell}");
    }
    let page = printed(&["man", "verify"]);
    for heading in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "\"EXIT STATUS\"", "\"EXAMPLES\""]
    {
        assert!(page.contains(&format!("\n.SH {heading}\n")), "{heading}: {page}");
    }
    assert!(printed(&["man"]).contains("repro\\-verify(1)"));
    let found = printed(&["explain", "--search", "one", "run"]);
    assert!(found.lines().any(|line| line.starts_with("order::one-run ")), "{found}");
}

/// A project whose small post is refuted.
fn refuted() -> TempDir {
    let project = project();
    edit(&project.path().join("repro/small.md"), "2.5 times", "2.6 times");
    edit(&project.path().join("repro/small.toml"), "2.5 times", "2.6 times");
    project
}

#[test]
fn the_exit_code_is_the_verdict_in_every_format() {
    let undecided = project();
    // No evidence decides the sign of a difference of one run each.
    edit(
        &undecided.path().join("repro/small.toml"),
        "is = \"ratio(log.before, log.after)\"",
        "is = \"_ said\"\nsays = \"log.loss.a < log.loss.b\"",
    );
    let broken = project();
    edit(&broken.path().join("repro/small.toml"), "ratio(log", "rasio(log");
    for (project, code) in [(project(), 0), (refuted(), 1), (broken, 2), (undecided, 3)] {
        for format in ["text", "json", "jsonl", "junit", "github", "markdown"] {
            let ran = run(project.path(), &["verify", "--format", format]);
            assert_eq!((ran.code, ran.stderr.as_str()), (code, ""), "{format}: {}", ran.stdout);
            assert!(!ran.stdout.is_empty());
        }
        assert_eq!(run(project.path(), &["verify", "--post", "fine"]).code, 0);
    }
    let project = project();
    let minimum = run(project.path(), &["verify", "--post", "fine", "--min-origin", "declared"]);
    assert_eq!(minimum.code, 3, "{}", minimum.stdout);
    assert_eq!(run(project.path(), &["verify", "receipts/sound"]).code, 0);
}

#[test]
fn reports_are_written_beside_the_one_printed() {
    let project = project();
    let arguments = ["verify", "--output", "json=report.json", "--output", "junit=report.xml"];
    let ran = run(project.path(), &arguments);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let read = |name: &str| std::fs::read_to_string(project.path().join(name)).unwrap();
    assert_eq!(read("report.json"), run(project.path(), &["verify", "--format", "json"]).stdout);
    assert_eq!(read("report.xml"), run(project.path(), &["verify", "--format", "junit"]).stdout);
    assert_eq!(ran.stdout, run(project.path(), &["verify"]).stdout);
}

#[test]
fn a_run_that_judges_nothing_leaves_no_report_of_an_earlier_one() {
    let project = project();
    let root = project.path();
    let formats = [
        "json", "jsonl", "junit", "github", "markdown", "html", "sarif", "badge", "shields", "text",
    ];
    let paths = formats.map(|format| format!("{format}={format}.report"));
    let outputs: Vec<_> = paths.iter().flat_map(|path| ["--output", path]).collect();
    let all =
        || formats.map(|format| std::fs::read_to_string(root.join(format!("{format}.report"))));
    let judged = |arguments: &[&str]| run(root, &[arguments, &outputs].concat()).code;
    for early in [
        &["verify", "--challenge", "nowhere.json", "receipts/sound"][..],
        &["verify", "--post", "fine", "--pubkey", "nowhere.pub"],
        &["verify", "--locked", "receipts/sound"],
    ] {
        assert_eq!(judged(&["verify"]), 0);
        let before = all();
        assert_eq!(judged(early), 2, "{early:?}");
        for (was, now) in before.iter().zip(all()) {
            let now = now.unwrap();
            assert_ne!(was.as_ref().unwrap(), &now);
            assert!(!(1..10).any(|count| now.contains(&format!("{count} verified"))), "{now}");
        }
        let shields = std::fs::read_to_string(root.join("shields.report")).unwrap();
        assert!(shields.contains("\"not judged\""), "{shields}");
    }
    // What was no report is left as it is, where it is, and none is made where there was none.
    std::fs::write(root.join("mine.txt"), "mine").unwrap();
    let others = ["--output", "text=mine.txt", "--output", "badge=new.svg"];
    assert_eq!(run(root, &[&["verify", "--pubkey", "nowhere.pub"][..], &others].concat()).code, 2);
    assert_eq!(std::fs::read_to_string(root.join("mine.txt")).unwrap(), "mine");
    assert!(!root.join("new.svg").exists());
    // A file that cannot be written leaves no other as an earlier run wrote it.
    let broken = ["--output", "badge=no/such/folder.svg", "--output", "shields=shields.report"];
    assert_eq!(run(root, &[&["verify"][..], &broken].concat()).code, 2);
    let shields = std::fs::read_to_string(root.join("shields.report")).unwrap();
    assert!(shields.contains("verified"), "{shields}");
}

#[test]
fn a_gate_that_answers_nothing_leaves_no_answer_of_an_earlier_one() {
    let project = project();
    let root = project.path();
    let old =
        "{\n  \"schemaVersion\": 1,\n  \"label\": \"repro gate\",\n  \"message\": \"better\"\n}\n";
    std::fs::write(root.join("gate.json"), old).unwrap();
    std::fs::write(root.join("report.json"), "{\n  \"schema\": \"repro.gate/1\"\n}\n").unwrap();
    let arguments = ["gate", "--candidate", "nowhere", "--baseline", "nowhere", "--metric", "loss"];
    let outputs = [
        ["--output", "shields=gate.json"],
        ["--output", "json=report.json"],
        ["--output", "sarif=new.sarif"],
    ];
    let outputs = outputs.concat();
    assert_eq!(run(root, &[&arguments[..], &outputs].concat()).code, 2);
    let badge = std::fs::read_to_string(root.join("gate.json")).unwrap();
    assert!(badge.contains("\"repro gate\"") && badge.contains("\"not judged\""), "{badge}");
    assert!(!root.join("report.json").exists());
    let sarif = std::fs::read_to_string(root.join("new.sarif")).unwrap();
    assert!(sarif.contains("\"executionSuccessful\": false"), "{sarif}");
}

#[test]
fn a_bundle_that_is_named_twice_is_one() {
    let project = project();
    let root = project.path();
    let one = run(root, &["verify", "receipts/sound", "--format", "shields"]).stdout;
    let names = ["receipts/sound", "./receipts/sound/", "receipts/../receipts/sound"];
    let twice = run(root, &[&["verify", "--format", "shields"][..], &names].concat()).stdout;
    assert_eq!(twice, one);
}

#[test]
fn the_lock_of_a_post_notices_a_verdict_that_changes() {
    let project = project();
    let root = project.path();
    let locked = |root: &Path| run(root, &["verify", "--locked"]);
    let (post, text) = (root.join("repro/small.toml"), root.join("repro/small.md"));
    let read = |name: &str| std::fs::read_to_string(root.join("repro").join(name)).unwrap();
    assert_eq!(locked(root).code, 2, "no locks");
    assert_eq!(run(root, &["verify", "--write-lock"]).code, 0);
    snapshot("lock", &read("small.lock"));
    assert_eq!(locked(root).code, 0);
    assert_eq!(run(root, &["verify", "--locked", "--min-origin", "signed"]).code, 3);

    // A post without a lock is told, and its own lock is all that another needs.
    std::fs::remove_file(root.join("repro/fine.lock")).unwrap();
    let unlocked = locked(root);
    assert_eq!(unlocked.code, 2);
    assert!(unlocked.stdout.contains("lock::missing"), "{}", unlocked.stdout);
    assert_eq!(run(root, &["verify", "--post", "small", "--locked"]).code, 0);
    assert_eq!(run(root, &["verify", "--post", "fine", "--write-lock"]).code, 0);

    // The lock of a post that is gone is told, where all posts are asked for.
    let aside = root.join("aside.toml");
    std::fs::rename(&post, &aside).unwrap();
    let gone = locked(root);
    assert_eq!(gone.code, 2);
    snapshot("locked_gone", gone.stdout.split("\n\n").next().unwrap());
    assert_eq!(run(root, &["verify", "--post", "fine", "--locked"]).code, 0);
    std::fs::rename(&aside, &post).unwrap();

    edit(&post, "2.5 times", "2.6 times");
    edit(&text, "2.5 times", "2.6 times");
    let differs = locked(root);
    assert_eq!(differs.code, 1);
    snapshot("locked", &differs.stdout);
    // A refuted claim may be recorded: it is then the change from it that fails.
    assert_eq!(run(root, &["verify", "--write-lock"]).code, 0);
    assert_eq!((locked(root).code, run(root, &["verify"]).code), (0, 1));

    // One post is recorded without touching the locks of others, and a broken post records nothing.
    let before = read("small.lock");
    assert_eq!(run(root, &["verify", "--post", "fine", "--write-lock"]).code, 0);
    edit(&post, "ratio(log", "rasio(log");
    assert_eq!(run(root, &["verify", "--write-lock"]).code, 2);
    assert_eq!(read("small.lock"), before);
    std::fs::write(root.join("repro/small.lock"), "schema = \"repro.lock/9\"\n").unwrap();
    assert_eq!(locked(root).code, 2, "a lock of another schema");
}

#[test]
fn colour_is_for_those_who_ask() {
    let root = refuted();
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
    let root = project();
    for arguments in [&["verify", "--verbose"][..], &["explain", "--list", "codes"], &["--help"]] {
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
    let project = project();
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = command(project.path(), &["explain", "--list", "functions"]);
    let output = command.stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cli::cannot-write"));
}

#[test]
fn a_report_is_written_over_nothing_but_a_report() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let ran = Command::new(env!("CARGO_BIN_EXE_repro"))
            .current_dir(folder.path())
            .args(arguments)
            .output()
            .unwrap();
        (ran.status.code(), String::from_utf8_lossy(&ran.stderr).into_owned())
    };
    assert_eq!(run(&["init"]).0, Some(0));
    let files = [
        "repro/first.md",
        "repro/first.toml",
        "repro/first.lock",
        ".gitattributes",
        "example/invented-numbers.csv",
    ];
    for file in files {
        let path = folder.path().join(file);
        let before = std::fs::read(&path).unwrap();
        for command in [&["verify", "--post", "first"][..], &["check", "repro"]] {
            let output = format!("json={file}");
            let (status, said) = run(&[command, &["--output", &output]].concat());
            assert!(status == Some(2) && said.contains("or delete this one first"), "{said}");
        }
        assert_eq!(std::fs::read(&path).unwrap(), before, "{file}");
    }
    // Each format is known again, and so are reports of other commands.
    for format in Format::ALL.map(Format::word) {
        let output = format!("{format}=report");
        for again in 0..2 {
            let (status, said) = run(&["verify", "--post", "first", "--output", &output]);
            assert_eq!(status, Some(0), "{format} {again}: {said}");
        }
        // A statement about documents without digests would be about nothing, and they are no posts to be told line by line.
        let is_of_posts = ["intoto", "jsonl"].contains(&format);
        let (status, said) = run(&["check", "repro", "--output", &output]);
        assert_eq!(status == Some(2), is_of_posts, "{said}");
        assert_eq!(said.is_empty(), !is_of_posts, "{format}");
        let (status, said) = run(&["verify", "--post", "first", "--output", "json=report"]);
        assert_eq!(status, Some(0), "{format}: {said}");
    }
}

/// A project with one bundle of two configs, of a multimodal model that is counted whole and of one of which only the language model is.
fn multimodal() -> tempfile::TempDir {
    let folder = new_folder();
    let root = folder.path();
    let data = root.join("receipts/models/data");
    let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/params");
    for (name, config) in [("whole", "gemma3-27b.json"), ("part", "mistral3.json")] {
        std::fs::create_dir_all(data.join(name)).unwrap();
        std::fs::copy(configs.join(config), data.join(name).join("config.json")).unwrap();
    }
    let documents = r#"{"data/whole/config.json":"whole","data/part/config.json":"part"}"#;
    let receipt = format!(
        r#"{{"schema":"repro.receipt/1","origin":"transcribed","extra":{{"documents":{documents}}}}}"#
    );
    std::fs::write(data.join("receipt.json"), receipt).unwrap();
    std::fs::create_dir_all(root.join("repro")).unwrap();
    assert_eq!(run(root, &["bundle", "seal", "receipts/models"]).code, 0);
    folder
}

#[test]
fn a_part_of_a_model_is_never_held_against_a_whole() {
    let folder = multimodal();
    let mut post =
        "schema = \"repro.post/2\"\nid = \"p\"\ntitle = \"P\"\ntext = \"p.md\"\n[names]\n\
        whole = \"models:data/whole/config.json\"\npart = \"models:data/part/config.json\"\n"
            .to_owned();
    let mut text = String::new();
    let language = "of = 'language model'";
    let cases = [
        ("It has 27,363,846,272 parameters in total.", "is", "total(whole)".to_owned(), "verified"),
        ("It has 27,009,346,304 parameters in total.", "is", "total(whole)".to_owned(), "refuted"),
        (
            "Its language model has 27,009,346,304 parameters.",
            "is",
            format!("total(whole, {language})"),
            "verified",
        ),
        (
            "All of it has 27,009,346,304 parameters in total.",
            "is",
            format!("total(whole, {language})"),
            "verified",
        ),
        (
            "The other has 23,572,403,200 parameters.",
            "is",
            "total(part)".to_owned(),
            "inconclusive",
        ),
        ("The other has 24,011,361,280 ones.", "is", "total(part)".to_owned(), "inconclusive"),
        (
            "The text model of the other has 23,572,403,200.",
            "is",
            format!("total(part, {language})"),
            "verified",
        ),
        (
            "A part is smaller than the whole.",
            "says",
            format!("total(whole, {language}) < total(whole)"),
            "inconclusive",
        ),
    ];
    for (quote, key, expression, _) in &cases {
        text.push_str(&format!("{quote}\n\n"));
        let statement = format!("[[sentence]]\nquote = \"{quote}\"\n{key} = \"{expression}\"\n");
        post.push_str(&statement);
    }
    std::fs::write(folder.path().join("repro/p.toml"), post).unwrap();
    std::fs::write(folder.path().join("repro/p.md"), text).unwrap();
    let report = run(folder.path(), &["--format", "json", "verify", "--post", "p"]);
    let report: serde_json::Value = serde_json::from_str(&report.stdout).unwrap();
    let claims = report["posts"][0]["claims"].as_array().unwrap();
    let found: Vec<_> = claims
        .iter()
        .map(|claim| (claim["quote"].as_str().unwrap(), claim["verdict"].as_str().unwrap()))
        .collect();
    let wanted: Vec<_> = cases.iter().map(|(quote, .., verdict)| (*quote, *verdict)).collect();
    assert_eq!(found, wanted);
}
