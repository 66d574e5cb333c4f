//! The rows of the source tree, executable: a file imports only from rows above its own, each claim
//! kind stands alone, and only `cli` prints.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use repro::claims::KINDS;

/// The rows. A module may import from lower numbers, and within its row only what [`BESIDE`] names.
const ROWS: &[(u8, &[&str])] = &[
    (
        0,
        &[
            "source", "digest", "decimal", "disk", "language", "parallel", "portable", "rng",
            "scores", "sha256", "stats",
        ],
    ),
    (1, &["outcome", "formula", "params", "spread", "tasks"]),
    (2, &["bundle", "contract", "import", "post", "signature", "study"]),
    (3, &["rests", "train", "replay"]),
    (4, &["evidence"]),
    (5, &["claims"]),
    (6, &["verify", "lock", "coverage", "mutation"]),
    (7, &["report"]),
    (8, &["cli", "main", "lib"]),
];

/// Imports within a row: (importer, imported).
const BESIDE: &[(&str, &str)] = &[
    ("digest", "sha256"),
    ("language", "rng"),
    ("scores", "decimal"),
    ("stats", "rng"),
    ("contract", "bundle"),
    ("import", "bundle"),
    ("post", "signature"),
    ("signature", "bundle"),
    ("study", "bundle"),
    ("study", "contract"),
    ("replay", "train"),
    ("mutation", "verify"),
    ("main", "cli"),
];

/// Modules that may import less than their row allows.
const ONLY: &[(&str, &[&str])] = &[
    ("digest", &["sha256"]),
    ("sha256", &[]),
    ("decimal", &[]),
    ("disk", &[]),
    ("rng", &[]),
    ("language", &["rng"]),
    ("scores", &["decimal"]),
    ("stats", &["rng"]),
    ("params", &["source"]),
    ("spread", &["decimal", "stats"]),
    ("report", &["source", "outcome"]),
    ("main", &["cli"]),
];

/// Files of `claims` that are no kinds.
const SHARED: &[&str] = &[
    "arms",
    "axes",
    "comparison",
    "mod",
    "planned",
    "plus_minus",
    "proportions",
    "significance",
    "statement",
    "tolerance",
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

/// Every source file: its path below `src` and its text.
fn sources() -> Vec<(String, String)> {
    fn collect(folder: &Path, below: &str, into: &mut Vec<(String, String)>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{below}{}", entry.file_name().to_str().unwrap());
            if entry.path().is_dir() {
                collect(&entry.path(), &format!("{name}/"), into);
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

/// The module that a file is: `claims/ranking.rs` is `claims`, `ranking`.
fn module_of(file: &str) -> Vec<String> {
    let stem = file.trim_end_matches(".rs");
    let stem = stem.strip_suffix("/mod").unwrap_or(stem);
    if stem == "lib" { Vec::new() } else { stem.split('/').map(str::to_owned).collect() }
}

/// The first two names of every path from the crate's root that the file mentions.
fn imports(file: &str, text: &str) -> BTreeSet<Vec<String>> {
    let tokens = tokens(text);
    let token = |i: usize| tokens.get(i).map_or("", String::as_str);
    // Modules written inside the file, with the depth of braces at which each ends.
    let (mut inline, mut depth) = (Vec::new(), 0_usize);
    let mut found = BTreeSet::new();
    for i in 0..tokens.len() {
        match token(i) {
            "{" if i >= 2 && token(i - 2) == "mod" => {
                inline.push((depth, token(i - 1).to_owned()));
                depth += 1;
            }
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                inline.retain(|(at, _)| *at < depth);
            }
            "crate" | "repro" if token(i + 1) == "::" => {
                names(&tokens, i + 2, &[], &mut found);
            }
            "super" if i == 0 || token(i - 1) != "::" => {
                let mut here = module_of(file);
                here.extend(inline.iter().map(|(_, name): &(usize, String)| name.clone()));
                let mut next = i;
                while token(next) == "super" && token(next + 1) == "::" {
                    here.pop();
                    next += 2;
                }
                names(&tokens, next, &here, &mut found);
            }
            _ => {}
        }
    }
    found
}

/// Adds the paths that begin with `before` and go on at token `i`: a name, or a group of them.
fn names(tokens: &[String], i: usize, before: &[String], found: &mut BTreeSet<Vec<String>>) {
    let token = |i: usize| tokens.get(i).map_or("", String::as_str);
    if before.len() == 2 {
        found.insert(before.to_vec());
    } else if token(i) == "{" {
        let (mut depth, mut first, mut at) = (0_usize, true, i);
        loop {
            match token(at) {
                "" => break,
                "{" => depth += 1,
                "}" => depth -= 1,
                "," if depth == 1 => first = true,
                _ if depth == 1 && first => {
                    first = false;
                    names(tokens, at, before, found);
                }
                _ => {}
            }
            if depth == 0 {
                break;
            }
            at += 1;
        }
    } else {
        let mut path = before.to_vec();
        path.push(token(i).to_owned());
        if token(i + 1) == "::" {
            names(tokens, i + 2, &path, found);
        } else {
            found.insert(path);
        }
    }
}

fn row(module: &str) -> Option<u8> {
    ROWS.iter().find(|(_, modules)| modules.contains(&module)).map(|(row, _)| *row)
}

/// What is wrong with the imports of one file, a line for each edge.
fn complaints(file: &str, text: &str) -> Vec<String> {
    let module = module_of(file);
    let from = module.first().map_or("lib", String::as_str);
    let Some(from_row) = row(from) else { return vec![format!("src/{file} is in no row")] };
    let mut complaints = BTreeSet::new();
    for path in imports(file, text) {
        let to = path[0].as_str();
        // Names that are no modules are items of the crate's root, which has none to import.
        let Some(to_row) = row(to) else { continue };
        let only = ONLY.iter().find(|(module, _)| *module == from);
        let allowed = to == from
            || only.is_none_or(|(_, only)| only.contains(&to))
                && (to_row < from_row || BESIDE.contains(&(from, to)));
        if !allowed {
            complaints.insert(format!("src/{file} (row {from_row}) imports {to} (row {to_row})"));
        }
        let kind = |name: &str| KINDS.iter().any(|kind| kind.id() == name);
        if let ([family, this], [other_family, other, ..]) = (module.as_slice(), path.as_slice())
            && family == "claims"
            && other_family == "claims"
            && kind(other)
            && this != other
        {
            complaints.insert(format!("src/{file} imports the kind {other}"));
        }
    }
    complaints.into_iter().collect()
}

#[test]
fn files_import_only_from_rows_above_them() {
    let found: Vec<_> = sources().iter().flat_map(|(file, text)| complaints(file, text)).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn planted_edges_are_found() {
    let one = |file: &str, text: &str| complaints(file, text).join("; ");
    let up = "src/bundle/load.rs (row 2) imports claims (row 5)";
    for text in [
        "use crate::claims::KINDS;",
        "fn f() { crate::claims::kind_of(claim) }",
        "use crate::{source::Node, claims::{self, KINDS}};",
        "use super::super::claims;",
        "mod tests { use super::super::super::claims::KINDS; }",
        "mod a { fn f() {} } mod b { use super::super::super::claims::KINDS; }",
    ] {
        assert_eq!(one("bundle/load.rs", text), up, "{text}");
    }
    for text in [
        "// use crate::claims::KINDS;",
        "const X: &str = \"use crate::claims::KINDS;\";",
        "const X: &str = r#\"crate::claims \"quoted\" \"#; const C: char = '\"';",
        "use super::receipt::Receipt; use crate::params::Objects;",
        "mod tests { use super::super::receipt; }",
    ] {
        assert_eq!(one("bundle/load.rs", text), "", "{text}");
    }
    assert_eq!(one("later.rs", ""), "src/later.rs is in no row");
    assert_eq!(
        one("contract.rs", "use crate::post::Claim;"),
        "src/contract.rs (row 2) imports post (row 2)"
    );
    assert_eq!(
        one("report/text.rs", "use crate::decimal::Printed;"),
        "src/report/text.rs (row 7) imports decimal (row 0)"
    );
    assert_eq!(
        one("claims/ranking.rs", "use super::identity::Kind;"),
        "src/claims/ranking.rs imports the kind identity"
    );
    assert_eq!(one("claims/ranking.rs", "use super::tolerance::judge; use super::Field;"), "");
    assert_eq!(one("mutation.rs", "use crate::verify::judge_claim;"), "");
}

#[test]
fn every_kind_has_one_name() {
    let ids: Vec<_> = KINDS.iter().map(|kind| kind.id()).collect();
    assert!(ids.is_sorted(), "KINDS is sorted: {ids:?}");
    let files = sources();
    let stems: Vec<_> = files
        .iter()
        .filter_map(|(file, _)| file.strip_prefix("claims/")?.strip_suffix(".rs"))
        .filter(|stem| !SHARED.contains(stem))
        .collect();
    assert_eq!(stems, ids, "the files of src/claims and the entries of KINDS");
    for kind in KINDS {
        let corpus = root().join("tests/corpus").join(kind.id());
        for root in ["good", "bad"] {
            let post = corpus.join(root).join("repro").join(format!("{}.toml", kind.id()));
            assert!(post.is_file(), "no {}", post.display());
        }
        assert!(!kind.codes().is_empty(), "{} raises no code", kind.id());
        for code in kind.codes() {
            let (family, _) = code.id.split_once("::").unwrap();
            assert_eq!(family, kind.id(), "the family of {}", code.id);
        }
    }
    for entry in std::fs::read_dir(root().join("tests/corpus")).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        // Folders without a pair are the fixtures of something else.
        let of_a_kind = entry.path().join("good").is_dir();
        assert!(
            !of_a_kind || ids.contains(&name.as_str()),
            "tests/corpus/{name} belongs to no kind"
        );
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
fn numbers_are_the_same_bits_everywhere() {
    let mut found = Vec::new();
    // Elsewhere logarithms are those of exact intervals and of expressions.
    let portable = |file: &str| {
        let folders = ["language/", "portable/", "stats/", "study/", "tasks/", "train/"];
        file == "rng.rs" || folders.iter().any(|own| file.starts_with(own))
    };
    // Exact before its one rounding, which is what the formulas of `portable` ask for.
    let fused = |file: &str, name: &str| (file, name) == ("portable/real.rs", "mul_add");
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

/// Only kernels may be unsafe, those of the arithmetic and that of SHA-256; the compiler refuses it everywhere
/// else.
#[test]
fn unsafe_code_is_forbidden_outside_the_kernels() {
    let library = std::fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let modules =
        library.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    let mut kernels = Vec::new();
    for module in modules.chain(["main"]) {
        let paths = [format!("src/{module}.rs"), format!("src/{module}/mod.rs")];
        let texts = paths.map(|path| std::fs::read_to_string(root().join(path)));
        let text = texts.into_iter().find_map(Result::ok).unwrap();
        if !text.lines().any(|line| line == "#![forbid(unsafe_code)]") {
            kernels.push(module);
        }
    }
    assert_eq!(kernels, ["portable", "sha256"]);
}
