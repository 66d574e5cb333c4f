//! What holds the house together: which crate depends on which, that the second engine stands alone, that only `cli` prints and
//! reads the environment, that trained and tested numbers call no mathematics of the platform, and where unsafe code may be.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value as Json;

/// The crates of the workspace and what each depends on, lowest first. `src/README.md` draws them.
const CRATES: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("kernels", &[]),
    ("bundle", &["core"]),
    ("stats", &["core"]),
    ("claim", &["bundle", "core"]),
    ("model", &["bundle", "core", "stats"]),
    ("report", &["bundle", "core"]),
    ("verify", &["bundle", "claim", "core", "model", "report", "stats"]),
    ("formats", &["bundle", "claim", "core", "model", "report", "stats", "verify"]),
    ("replay", &["bundle", "core", "kernels", "model", "stats"]),
    (
        "cli",
        &[
            "bundle", "claim", "core", "formats", "kernels", "model", "replay", "report", "stats",
            "verify",
        ],
    ),
];

/// What prints: macros, and the streams that they write to.
const MACROS: &[&str] = &["println", "print", "eprintln", "eprint", "dbg"];
const STREAMS: &[&str] = &["stdout", "stderr"];

/// Functions of the platform's mathematics library, which may round in another way elsewhere.
const PLATFORM: &[&str] = &[
    "ln", "ln_1p", "log", "log2", "log10", "exp", "exp2", "exp_m1", "powf", "powi", "mul_add",
    "cbrt", "hypot", "sin", "cos", "tan", "sinh", "cosh", "tanh", "atan", "atan2", "gamma",
    "ln_gamma",
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every source file of the library: its path below `src` and its text. Examples are programs of their own.
fn sources() -> Vec<(String, String)> {
    fn collect(folder: &Path, below: &str, into: &mut Vec<(String, String)>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{below}{}", entry.file_name().to_str().unwrap());
            if entry.path().is_dir() {
                if entry.file_name() != "examples" {
                    collect(&entry.path(), &format!("{name}/"), into);
                }
            } else if name.ends_with(".rs") {
                into.push((name, std::fs::read_to_string(entry.path()).unwrap()));
            }
        }
    }
    let mut files = Vec::new();
    collect(&root().join("src"), "", &mut files);
    files.sort();
    files
}

/// The words and signs of a Rust text, without comments, strings and characters.
fn tokens(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let at = |i: usize| chars.get(i).copied().unwrap_or('\0');
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let (mut tokens, mut i) = (Vec::new(), 0);
    while i < chars.len() {
        let hashes = chars[(i + 1).min(chars.len())..].iter().take_while(|c| **c == '#').count();
        if at(i) == '/' && at(i + 1) == '/' {
            while i < chars.len() && at(i) != '\n' {
                i += 1;
            }
        } else if at(i) == 'r' && at(i + 1 + hashes) == '"' && !(i > 0 && word(at(i - 1))) {
            let end: Vec<char> = std::iter::once('"').chain((0..hashes).map(|_| '#')).collect();
            i += hashes + 2;
            while i < chars.len() && !chars[i..].starts_with(&end) {
                i += 1;
            }
            i += end.len();
        } else if at(i) == '"' {
            i += 1;
            while i < chars.len() && at(i) != '"' {
                i += if at(i) == '\\' { 2 } else { 1 };
            }
            i += 1;
        } else if at(i) == '\'' && at(i + 1) == '\\' {
            i += 3;
            while i < chars.len() && at(i) != '\'' {
                i += 1;
            }
            i += 1;
        } else if at(i) == '\'' && at(i + 2) == '\'' {
            i += 3;
        } else if word(at(i)) {
            let start = i;
            while word(at(i)) {
                i += 1;
            }
            tokens.push(chars[start..i].iter().collect());
        } else if at(i) == ':' && at(i + 1) == ':' {
            tokens.push("::".to_owned());
            i += 2;
        } else {
            if !at(i).is_whitespace() {
                tokens.push(at(i).to_string());
            }
            i += 1;
        }
    }
    tokens
}

/// The dependencies of each crate of the workspace on others of it, as cargo knows them.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let args = ["metadata", "--no-deps", "--offline", "--format-version", "1"];
    let output = Command::new(env!("CARGO")).args(args).current_dir(root()).output().unwrap();
    let metadata: Json = serde_json::from_slice(&output.stdout).unwrap();
    let own = |package: &Json| Some(package["name"].as_str()?.strip_prefix("repro-")?.to_owned());
    let packages = metadata["packages"].as_array().unwrap();
    let of = |package: &Json| {
        let normal = package["dependencies"].as_array().unwrap().iter();
        let mut on: Vec<_> = normal.filter(|on| on["kind"].is_null()).filter_map(own).collect();
        on.sort();
        (own(package).unwrap(), on)
    };
    packages.iter().map(of).collect()
}

#[test]
fn crates_depend_only_on_what_is_drawn() {
    let found = dependencies();
    assert_eq!(found.len(), CRATES.len(), "{:?}", found.keys());
    for (at, (name, on)) in CRATES.iter().enumerate() {
        assert_eq!(found[*name], *on, "the dependencies of `{name}`");
        let is_lower = |on: &&str| CRATES[..at].iter().any(|(lower, _)| lower == on);
        assert!(on.iter().all(is_lower), "`{name}` stands too low");
    }
}

/// Two engines that agree show something because they share no code: what reads a slice for the second one, and what
/// compares their steps, is outside its folder.
#[test]
fn the_second_engine_shares_no_code_with_the_trainer() {
    let sources = sources();
    let engine: Vec<_> =
        sources.iter().filter(|(file, _)| file.starts_with("replay/candle/")).collect();
    assert!(engine.len() > 10, "the engine has moved");
    for (file, text) in engine {
        let tokens = tokens(text);
        for (at, token) in tokens.iter().enumerate() {
            assert!(!token.starts_with("repro_"), "src/{file} uses {token}");
            if token == "crate" && tokens[at + 1] == "::" {
                assert_eq!(tokens[at + 2], "candle", "src/{file} uses the trainer's code");
            }
        }
    }
}

#[test]
fn only_the_command_line_prints() {
    let mut found = Vec::new();
    for (file, text) in sources().iter().filter(|(file, _)| !file.starts_with("cli/")) {
        let tokens = tokens(text);
        for pair in tokens.windows(2) {
            let (name, sign) = (pair[0].as_str(), pair[1].as_str());
            if sign == "!" && MACROS.contains(&name) || sign == "(" && STREAMS.contains(&name) {
                found.push(format!("src/{file} has {}{}", pair[0], pair[1]));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn only_the_command_line_reads_the_environment() {
    // Credentials of object stores have no other place.
    let allowed = ["bundle/storage/settings.rs"];
    let mut found = Vec::new();
    for (file, text) in sources().iter().filter(|(file, _)| !file.starts_with("cli/")) {
        let tokens = tokens(text);
        let tests = tokens.windows(2).position(|pair| pair == ["mod", "tests"]);
        let code = &tokens[..tests.unwrap_or(tokens.len())];
        let reads = code.windows(3).any(|three| {
            three[0] == "env"
                && three[1] == "::"
                && (three[2].starts_with("var") || three[2] == "args")
        });
        if reads && !allowed.contains(&file.as_str()) && !file.ends_with("tests.rs") {
            found.push(file.clone());
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn numbers_are_the_same_bits_everywhere() {
    let mut found = Vec::new();
    // Elsewhere logarithms are those of exact intervals and of expressions. The second engine computes with candle and is
    // compared with a tolerance.
    let portable = |file: &str| {
        let folders = ["kernels/portable/", "model/study/", "model/tasks/", "stats/", "replay/"];
        folders.iter().any(|own| file.starts_with(own)) && !file.starts_with("replay/candle/")
    };
    // Exact before its one rounding, which is what the formulas of `portable` ask for.
    let fused = |file: &str, name: &str| (file, name) == ("kernels/portable/real.rs", "mul_add");
    for (file, text) in sources().iter().filter(|(file, _)| portable(file)) {
        let tokens = tokens(text);
        let tests = tokens.windows(2).position(|pair| pair == ["mod", "tests"]);
        let code = &tokens[..tests.unwrap_or(tokens.len())];
        for (at, name) in
            code.iter().enumerate().filter(|(_, name)| PLATFORM.contains(&name.as_str()))
        {
            let before =
                |back: usize| at.checked_sub(back).map_or("", |place| code[place].as_str());
            let of_floats = before(1) == "::" && ["f32", "f64"].contains(&before(2));
            if (before(1) == "." || of_floats) && !fused(file, name) {
                found.push(format!("src/{file} calls {name}"));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The kernels of the arithmetic and that of SHA-256 may be unsafe; the compiler refuses it everywhere else.
#[test]
fn unsafe_code_is_forbidden_outside_the_kernels() {
    let text = |file: &str| std::fs::read_to_string(root().join("src").join(file)).unwrap();
    let refuses = |file: &str| text(file).lines().any(|line| line == "#![forbid(unsafe_code)]");
    for (name, _) in CRATES {
        let file = if *name == "cli" { "main.rs".to_owned() } else { format!("{name}/lib.rs") };
        assert_eq!(refuses(&file), !["core", "kernels"].contains(name), "src/{file}");
    }
    assert!(text("core/lib.rs").lines().any(|line| line == "#![deny(unsafe_code)]"));
    let allows =
        |(file, text): &(String, String)| text.contains("allow(unsafe_code)").then(|| file.clone());
    let found: Vec<_> = sources().iter().filter_map(allows).collect();
    assert_eq!(found, ["core/sha256.rs"]);
}
