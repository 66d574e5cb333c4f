//! The layers of the source tree, executable: which crate depends on which, in which rows the modules of a
//! crate stand, that files form no circles, that each claim kind stands alone, that a type name has one meaning,
//! and that only `cli` prints.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A crate of the workspace.
struct Crate {
    /// Its folder below `src`, and its name behind `repro-`; the program itself has none.
    name: &'static str,
    /// The crates of the workspace that it depends on.
    on: &'static [&'static str],
    /// Its modules, lowest row first: a module imports from rows before its own, and from none beside it.
    rows: &'static [&'static [&'static str]],
}

/// The crates, lowest first. `src/README.md` draws them.
const CRATES: &[Crate] = &[
    Crate { name: "exact", on: &[], rows: &[&["decimal"]] },
    Crate {
        name: "claim",
        on: &["exact"],
        rows: &[
            &["sentence", "words"],
            &["markup"],
            &["styles"],
            &["tex"],
            &["seen"],
            &["spelling"],
            &["locator", "nearest", "quote", "syntax", "table"],
            &["grammar", "place"],
        ],
    },
    Crate {
        name: "stats",
        on: &["exact"],
        rows: &[
            &["holm", "refused", "rng", "special"],
            &["decimals", "second_opinion", "tail"],
            &["distribution", "noncentral_t"],
            &["summary"],
            &["bootstrap", "categories", "proportion", "ranks", "t_test"],
            &["anova", "equivalence", "interquartile", "line", "power", "sign_flip"],
            &["answers"],
            &["spread"],
        ],
    },
    Crate {
        name: "receipt",
        on: &[],
        rows: &[
            &["similar"],
            &["disk", "parallel", "sha256", "source", "verdict"],
            &["checkpoint", "columns", "digest"],
            &["bundle", "kept"],
        ],
    },
    Crate { name: "yaml", on: &["receipt"], rows: &[&[]] },
    Crate {
        name: "storage",
        on: &["receipt"],
        rows: &[
            &["created", "limits", "name", "part"],
            &["address", "local", "settings"],
            &["cloud", "no_cloud"],
            &["store"],
            &["bundle", "head"],
            &["located"],
        ],
    },
    Crate {
        name: "signature",
        on: &["receipt"],
        rows: &[
            &["envelope", "key", "report"],
            &["attestation", "record", "statement", "timestamp"],
            &["standing"],
        ],
    },
    Crate {
        name: "portable",
        on: &[],
        rows: &[
            &["fused_dot", "isa"],
            &["buffer", "product", "real"],
            &["reduce"],
            &["each", "mixture", "rope", "rounding", "swiglu"],
            &["activation"],
            &["adamw", "attention", "cross_entropy", "norm", "router"],
            &["layer_norm", "muon", "rules"],
            &["kernels"],
        ],
    },
    Crate {
        name: "device",
        on: &["portable"],
        rows: &[
            &["runtime", "tensor_inputs", "text"],
            &["opencl", "ptx", "queue"],
            &["cuda", "table"],
            &["device"],
            &["list", "update"],
            &["arrange", "rows", "tensor_cores"],
            &["product"],
            &["attention", "muon"],
        ],
    },
    Crate {
        name: "report",
        on: &["exact", "receipt", "signature"],
        rows: &[
            &["meaning", "visible"],
            &["outcome"],
            &["layout", "part", "wording"],
            &["columns", "drawing", "folded"],
            &["badge", "crowd", "intoto", "json", "junit", "markdown", "sarif"],
            &["lines", "text"],
            &["growing", "html"],
            &["github"],
        ],
    },
    Crate {
        name: "relation",
        on: &["claim", "exact", "receipt"],
        rows: &[&["number"], &["formula", "printed_range"], &["consistency"]],
    },
    Crate {
        name: "params",
        on: &["receipt"],
        rows: &[
            &["size"],
            &["counts"],
            &["tensors"],
            &["blocks"],
            &["fields"],
            &["attention", "family"],
            &["decoder"],
            &["families"],
            &["towers"],
            &["recompute"],
            &["model"],
            &["gguf"],
            &["load"],
        ],
    },
    Crate {
        name: "import",
        on: &["claim", "exact", "receipt", "stats", "yaml"],
        rows: &[
            &["format", "log", "timed", "torn"],
            &["run", "sqlite"],
            &["names", "scoring"],
            &["points", "resumed"],
            &["columns"],
            &["jsonl"],
            &["tracker"],
            &["csv", "hf_trainer", "mlperf", "speedrun"],
            &["detect", "group", "lineage", "tables"],
            &["files", "pointers", "write"],
        ],
    },
    Crate {
        name: "runs",
        on: &["exact", "params", "receipt", "stats"],
        rows: &[
            &["challenge", "checkpoints", "contract", "independence", "replay", "scores", "starts"],
            &["study", "tasks"],
        ],
    },
    Crate {
        name: "gate",
        on: &["exact", "import", "receipt", "report", "runs", "stats"],
        rows: &[
            &["course", "line", "looks", "rule"],
            &["bundle", "direction", "later"],
            &["runs"],
            &["independent", "metric"],
            &["inputs"],
            &["tested"],
            &["decision"],
            &["drawn", "outcome"],
        ],
    },
    Crate {
        name: "candle",
        on: &[],
        rows: &[
            &["engine_error"],
            &["precision"],
            &["task"],
            &["compute_device", "fields", "softmax", "update"],
            &["rotary"],
            &["architecture"],
            &["attention", "family", "weights"],
            &["mixture"],
            &["decoder"],
            &["objective"],
            &["engine"],
        ],
    },
    Crate {
        name: "train",
        on: &[
            "candle", "device", "exact", "params", "portable", "receipt", "runs", "stats", "yaml",
        ],
        rows: &[
            &["language", "narrow", "schedule"],
            &["data", "rules"],
            &["recipe"],
            &["load", "ops"],
            &["backend"],
            &["model", "optimizer"],
            &["scorer", "tensor_file"],
            &["tasks"],
            &["cloze", "evaluate", "learner"],
            &["checkpoint", "golden", "progress", "record"],
            &["run"],
            &["campaign", "replay"],
        ],
    },
    Crate {
        name: "judge",
        on: &[
            "claim",
            "exact",
            "params",
            "receipt",
            "relation",
            "report",
            "runs",
            "signature",
            "stats",
        ],
        rows: &[
            &["lexicon", "run_design", "started", "work"],
            &["post"],
            &["json_text", "library", "lock", "moment", "names", "page_keys", "planned", "rules"],
            &["index", "page"],
            &["arms", "covered", "texts", "value"],
            &["context", "loss_unit"],
            &["reading", "transcribed"],
            &["evaluate"],
            &["given", "meaning"],
            &["statement"],
            &["review"],
            &["verify"],
            &["mutated"],
            &["mutants"],
        ],
    },
    Crate {
        name: "draft",
        on: &["claim", "exact", "judge", "receipt", "report"],
        rows: &[
            &["judged", "numbers", "quantities", "text", "written"],
            &["settings"],
            &["evidence"],
            &["candidates", "mentions"],
            &["nouns"],
            &["around", "labels"],
            &["bound"],
            &["tables"],
        ],
    },
    Crate {
        name: "check",
        on: &[
            "claim", "exact", "import", "judge", "params", "receipt", "relation", "report", "yaml",
        ],
        rows: &[
            &["stated", "words"],
            &["asked"],
            &["kind"],
            &["kinds"],
            &["damaged", "find", "outcome"],
            &["drawn", "read"],
        ],
    },
    Crate {
        name: "compare",
        on: &["receipt", "report"],
        rows: &[
            &["ground"],
            &["judged"],
            &["locks", "paired", "read"],
            &["change"],
            &["drawn", "status"],
        ],
    },
    Crate {
        name: "cluster",
        on: &["judge", "receipt", "report", "runs", "signature", "storage"],
        rows: &[
            &["asked", "program"],
            &["item"],
            &["ground", "partition", "plan", "result"],
            &["planning", "results"],
            &["execute"],
            &["inputs"],
            &["merge"],
        ],
    },
    Crate {
        name: "",
        on: &[
            "check",
            "cluster",
            "compare",
            "device",
            "draft",
            "exact",
            "gate",
            "import",
            "judge",
            "params",
            "portable",
            "receipt",
            "relation",
            "report",
            "runs",
            "signature",
            "stats",
            "storage",
            "train",
        ],
        rows: &[&["cli"]],
    },
];

/// Files that import each other, and why they do.
const CIRCLES: &[(&[&str], &str)] = &[
    (
        &[
            "portable/buffer.rs",
            "portable/product/mod.rs",
            "portable/product/kernel.rs",
            "portable/product/pack.rs",
            "portable/product/register.rs",
            "portable/real.rs",
        ],
        "`Real` is what the arithmetic asks of a number: float32 and float64 each name their kernel of the matrix \
         product and the buffers that a thread keeps of them, and both are written for any `Real`",
    ),
    (
        &["receipt/bundle/folder.rs", "receipt/bundle/opened.rs"],
        "a folder opens its files, and an open file names its folder in messages",
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

/// Type names that more than one file defines, and why each still has one meaning.
const SHARED_NAMES: &[(&str, &str)] = &[
    ("Fact", "a typed value of a bundle, and the sentence that a verdict is about"),
    ("Reading", "a row of a log that is read, and how a printed number agrees with its value"),
    ("CloudStore", "two files for one type: with the feature `cloud`, and without it"),
    ("Pieces", "two files for one type: with the feature `tokenizers`, and without it"),
    ("Saved", "what a sublayer's forward pass keeps for its backward pass, in the file of each"),
    ("TerminalBar", "two files for one type: with the feature `train`, and without it"),
    ("RunData", "two files for one type: with the feature `train`, and without it"),
    ("TrainerCommand", "two files for one type: with the feature `train`, and without it"),
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

/// The crate that a file below `src` belongs to, and its module there: `judge/claims/ranking.rs` is
/// `claims::ranking` of `judge`, and `cli/args.rs` is `cli::args` of the program.
fn module_of(file: &str) -> (&str, Vec<String>) {
    let stem = file.trim_end_matches(".rs");
    let of_a_member = CRATES.iter().find(|member| {
        !member.name.is_empty()
            && stem.strip_prefix(member.name).is_some_and(|rest| rest.starts_with('/'))
    });
    let (member, inside) =
        of_a_member.map_or(("", stem), |member| (member.name, &stem[member.name.len() + 1..]));
    let inside = inside.strip_suffix("/mod").unwrap_or(inside);
    let is_root = inside == "lib" || (member.is_empty() && inside == "main");
    let path = if is_root { Vec::new() } else { inside.split('/').map(str::to_owned).collect() };
    (member, path)
}

/// Every path that a file names from the root of its crate, in full.
fn paths(module: &[String], text: &str) -> BTreeSet<Vec<String>> {
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
                assert!(depth > 0, "{module:?} closes more braces than it opens");
                depth -= 1;
                inline.retain(|(at, _)| *at < depth);
            }
            "crate" if token(i + 1) == "::" && (i == 0 || token(i - 1) != "$") => {
                spread(&tokens, i + 2, &[], &mut found);
            }
            "super" if i == 0 || token(i - 1) != "::" => {
                let mut here = module.to_vec();
                here.extend(inline.iter().map(|(_, name): &(usize, String)| name.clone()));
                let mut next = i;
                while token(next) == "super" && token(next + 1) == "::" {
                    here.pop();
                    next += 2;
                }
                spread(&tokens, next, &here, &mut found);
            }
            _ => {}
        }
    }
    found
}

/// Adds the paths that begin with `before` and go on at token `i`: a name, or a group of them.
fn spread(tokens: &[String], i: usize, before: &[String], found: &mut BTreeSet<Vec<String>>) {
    let token = |i: usize| tokens.get(i).map_or("", String::as_str);
    if token(i) == "{" {
        let (mut depth, mut first, mut at) = (0_usize, true, i);
        loop {
            match token(at) {
                "" => break,
                "{" => depth += 1,
                "}" => depth -= 1,
                "," if depth == 1 => first = true,
                _ if depth == 1 && first => {
                    first = false;
                    spread(tokens, at, before, found);
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
            spread(tokens, i + 2, &path, found);
        } else {
            found.insert(path);
        }
    }
}

/// The modules of one crate: the file of each, and what it hands on from the modules inside it.
#[derive(Default)]
struct Modules {
    files: BTreeMap<Vec<String>, String>,
    handed_on: BTreeMap<(Vec<String>, String), Vec<String>>,
}

impl Modules {
    fn of(name: &str, sources: &[(String, String)]) -> Self {
        let mut all = Self::default();
        for (file, text) in sources {
            let (member, module) = module_of(file);
            if member != name {
                continue;
            }
            let mut used = BTreeSet::new();
            let words = tokens(text);
            for i in 0..words.len() {
                if words[i] == "use" && !["crate", "super", "self"].contains(&words[i + 1].as_str())
                {
                    spread(&words, i + 1, &[], &mut used);
                }
            }
            for path in used.into_iter().filter(|path| path.len() > 1) {
                let inside = module.iter().chain(&path).cloned().collect();
                all.handed_on.insert((module.clone(), path[path.len() - 1].clone()), inside);
            }
            all.files.insert(module, file.clone());
        }
        all
    }

    /// The module that a path leads to: as deep as modules go, and where one only hands a name on, to where
    /// the name comes from.
    fn resolve(&self, path: &[String]) -> Vec<String> {
        let deepest = (0..=path.len()).rev().find(|&end| self.files.contains_key(&path[..end]));
        let module = path[..deepest.unwrap_or(0)].to_vec();
        let Some(name) = path.get(module.len()) else { return module };
        match self.handed_on.get(&(module.clone(), name.clone())) {
            // A name may be that of a crate: then nothing inside is meant.
            Some(from) if self.resolves_inside(&module, from) => self.resolve(from),
            _ => module,
        }
    }

    fn resolves_inside(&self, module: &[String], from: &[String]) -> bool {
        self.files.contains_key(&from[..=module.len()])
    }
}

/// What is wrong with the imports of one file, a line for each edge.
fn complaints(file: &str, text: &str, modules: &Modules) -> Vec<String> {
    let (name, module) = module_of(file);
    let member = CRATES.iter().find(|member| member.name == name).expect("every crate is listed");
    let row = |module: &str| member.rows.iter().position(|row| row.contains(&module));
    let mut complaints = BTreeSet::new();
    // The root of a crate hands on what its modules hold, and its tests look at all of them.
    let Some(own) = module.first().filter(|own| *own != "tests") else { return Vec::new() };
    let Some(own_row) = row(own) else { return vec![format!("src/{file} is in no row")] };
    for path in paths(&module, text) {
        let target = modules.resolve(&path);
        let Some(to) = target.first().filter(|to| *to != own) else { continue };
        match row(to) {
            Some(to_row) if to_row < own_row || in_a_circle(file, &modules.files[&target]) => {}
            Some(to_row) => {
                complaints
                    .insert(format!("src/{file} (row {own_row}) imports {to} (row {to_row})"));
            }
            None => {
                complaints.insert(format!("src/{file} imports {to}, which is in no row"));
            }
        }
    }
    complaints.into_iter().collect()
}

/// Whether two files are of one listed circle.
fn in_a_circle(file: &str, other: &str) -> bool {
    CIRCLES.iter().any(|(files, _)| files.contains(&file) && files.contains(&other))
}

#[test]
fn crates_depend_only_on_what_is_drawn() {
    for member in CRATES {
        let manifest = root().join(match member.name {
            "" => "Cargo.toml".to_owned(),
            name => format!("src/{name}/Cargo.toml"),
        });
        let text = std::fs::read_to_string(manifest).unwrap();
        let from = text.split("\n[dependencies]\n").nth(1).unwrap();
        let dependencies = from.split("\n[").next().unwrap();
        let mut found: Vec<_> = dependencies
            .lines()
            .filter_map(|line| line.strip_prefix("repro-")?.split(['.', ' ']).next())
            .collect();
        found.sort_unstable();
        let has_candle = dependencies.lines().any(|line| line.starts_with("candle"));
        assert_eq!(
            has_candle,
            member.name == "candle",
            "candle is the second engine and what tests compare with: `{}`",
            member.name
        );
        assert_eq!(found, member.on, "the dependencies of `{}`", member.name);
    }
    let known = |name: &str| CRATES.iter().position(|member| member.name == name).unwrap();
    for (at, member) in CRATES.iter().enumerate() {
        assert!(member.on.iter().all(|on| known(on) < at), "{} is drawn too low", member.name);
    }
}

#[test]
fn modules_import_only_from_rows_before_theirs() {
    let sources = sources();
    let mut found = Vec::new();
    for member in CRATES {
        let modules = Modules::of(member.name, &sources);
        for (file, text) in &sources {
            if module_of(file).0 == member.name {
                found.extend(complaints(file, text, &modules));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn files_form_no_circles_without_a_reason() {
    let sources = sources();
    let mut found = Vec::new();
    for member in CRATES {
        found.extend(circles(member.name, &sources));
    }
    let mut drawn: Vec<Vec<&str>> = CIRCLES.iter().map(|(files, _)| files.to_vec()).collect();
    drawn.sort();
    found.sort();
    assert_eq!(found, drawn, "circles, as found and as listed with their reasons");
    assert!(CIRCLES.iter().all(|(_, reason)| !reason.is_empty()));
}

/// The sets of files of a crate that import each other. The file of a module and those inside it are one
/// place: what it hands on, and what they share, ties no circle.
fn circles(name: &str, sources: &[(String, String)]) -> Vec<Vec<String>> {
    let modules = Modules::of(name, sources);
    let mut edges: BTreeMap<&[String], BTreeSet<Vec<String>>> = BTreeMap::new();
    for (module, file) in &modules.files {
        let text = &sources.iter().find(|(known, _)| known == file).unwrap().1;
        let text = text.split("\n#[cfg(test)]").next().unwrap();
        let targets = paths(module, text).into_iter().map(|path| modules.resolve(&path));
        let apart = |to: &Vec<String>| !to.starts_with(module) && !module.starts_with(to);
        edges.insert(module, targets.filter(apart).collect());
    }
    let reach = |from: &[String]| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from.to_vec()]);
        while let Some(at) = next.pop() {
            for to in &edges[at.as_slice()] {
                if seen.insert(to.clone()) {
                    next.push(to.clone());
                }
            }
        }
        seen
    };
    let reached: BTreeMap<_, _> =
        modules.files.keys().map(|module| (module, reach(module))).collect();
    let mut circles = BTreeSet::new();
    for (module, to) in reached.iter().filter(|(module, to)| to.contains(**module)) {
        let back = |other: &&Vec<String>| reached[*other].contains(*module);
        circles.insert(to.iter().filter(back).map(|at| modules.files[at].clone()).collect());
    }
    circles.into_iter().collect()
}

#[test]
fn planted_edges_are_found() {
    let own = |file: &str, text: &str| (file.to_owned(), text.to_owned());
    let mut all = sources();
    all.push(own("judge/later.rs", ""));
    let modules = Modules::of("judge", &all);
    let one = |file: &str, text: &str| complaints(file, text, &modules).join("; ");
    let up = "src/judge/evaluate/call.rs (row 8) imports statement (row 10)";
    for text in [
        "use crate::statement::judge;",
        "fn f() { crate::statement::judge(claim) }",
        "use crate::{post::list, statement::{self, judge}};",
        "use super::super::statement;",
        "mod tests { use super::super::super::statement::judge; }",
        "mod a { fn f() {} } mod b { use super::super::super::statement::judge; }",
    ] {
        assert_eq!(one("judge/evaluate/call.rs", text), up, "{text}");
    }
    for text in [
        "// use crate::statement::judge;",
        "const X: &str = \"use crate::statement::judge;\";",
        "const X: &str = r#\"crate::statement \"quoted\" \"#; const C: char = '\"';",
        "use super::Evaluator; use crate::post::list;",
        "mod tests { use super::super::Evaluator; }",
    ] {
        assert_eq!(one("judge/evaluate/call.rs", text), "", "{text}");
    }
    assert_eq!(one("judge/later.rs", ""), "src/judge/later.rs is in no row");
    assert_eq!(
        one("judge/post.rs", "use crate::later::Claim;"),
        "src/judge/post.rs imports later, which is in no row"
    );
    // A name that the root of a module hands on leads to where it comes from.
    let stats = Modules::of("stats", &sources());
    let path = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(stats.resolve(&path(&["Refused"])), path(&["refused"]));
    let tied = [own("exact/a.rs", "use crate::b::B;"), own("exact/b.rs", "use crate::a::A;")];
    assert_eq!(circles("exact", &tied), [["exact/a.rs", "exact/b.rs"]]);
    assert!(circles("exact", &tied[..1]).is_empty());
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
        let folders = ["portable/", "runs/study/", "runs/tasks/", "stats/", "train/"];
        folders.iter().any(|own| file.starts_with(own))
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

/// Every type that is public to more than its own module: its name and the file that defines it. `record!`
/// makes its structures public.
fn public_types(sources: &[(String, String)]) -> BTreeMap<String, BTreeSet<&str>> {
    let mut types: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for (file, text) in sources {
        let tokens = tokens(text);
        let token = |i: usize| tokens.get(i).map_or("", String::as_str);
        // The place behind what stands in brackets at `i`, or `i`.
        let behind = |open: &str, close: &str, i: usize| {
            let length = tokens[i.min(tokens.len())..].iter().position(|sign| sign == close);
            length.filter(|_| token(i) == open).map_or(i, |length| i + length + 1)
        };
        for i in 0..tokens.len() {
            let name = match token(i) {
                "pub" => {
                    let word = behind("(", ")", i + 1);
                    ["struct", "enum", "union", "trait", "type"]
                        .contains(&token(word))
                        .then_some(word + 1)
                }
                "record" if token(i + 1) == "!" => {
                    let mut name = i + 3;
                    while token(name) == "#" {
                        name = behind("[", "]", name + 1);
                    }
                    Some(name)
                }
                _ => None,
            };
            // In a macro the name may be a variable.
            if let Some(name) = name.map(token).filter(|name| *name != "$") {
                types.entry(name.to_owned()).or_default().insert(file);
            }
        }
    }
    types
}

/// What is wrong with the names of public types, a line for each.
fn shared_names(sources: &[(String, String)]) -> Vec<String> {
    let types = public_types(sources);
    let is_shared = |name: &str| types.get(name).is_some_and(|files| files.len() > 1);
    let is_listed = |name: &str| SHARED_NAMES.iter().any(|(listed, _)| *listed == name);
    let unlisted = types.iter().filter(|(name, files)| files.len() > 1 && !is_listed(name));
    let unlisted = unlisted.map(|(name, files)| format!("`{name}` is defined in {files:?}"));
    let needless = SHARED_NAMES.iter().filter(|(name, _)| !is_shared(name));
    let needless = needless.map(|(name, _)| format!("`{name}` is listed and defined once"));
    unlisted.chain(needless).collect()
}

#[test]
fn a_type_name_has_one_meaning() {
    let mut all = sources();
    let found = shared_names(&all);
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert!(SHARED_NAMES.iter().all(|(_, reason)| !reason.is_empty()));
    // Each way to define a type is seen.
    for text in [
        "pub struct Margin(u8);",
        "pub(super) enum Margin {}",
        "pub(in crate::verify) trait Margin {}",
        "mod a { pub(crate) type Margin<T> = Vec<T>; }",
        "record! { /// A comment.\n #[derive(Copy)] Margin { a: u8, } }",
    ] {
        all.push(("judge/a.rs".to_owned(), "pub struct Margin;".to_owned()));
        all.push(("judge/b.rs".to_owned(), text.to_owned()));
        let line = r#"`Margin` is defined in {"judge/a.rs", "judge/b.rs"}"#;
        assert_eq!(shared_names(&all), [line], "{text}");
        all.truncate(all.len() - 2);
    }
    for text in ["struct Margin;", "// pub struct Margin;", "pub fn f() { struct Margin; }"] {
        let own = [("judge/b.rs".to_owned(), text.to_owned())];
        assert!(public_types(&own).is_empty(), "{text}");
    }
}

/// Only kernels may be unsafe, those of the arithmetic and that of SHA-256; the compiler refuses it everywhere
/// else.
#[test]
fn unsafe_code_is_forbidden_outside_the_kernels() {
    let refuses = |file: &str| {
        let text = std::fs::read_to_string(root().join("src").join(file)).unwrap();
        text.lines().any(|line| line == "#![forbid(unsafe_code)]")
    };
    let mut kernels = Vec::new();
    for member in CRATES {
        let file = match member.name {
            "" => "main.rs".to_owned(),
            name => format!("{name}/lib.rs"),
        };
        if !refuses(&file) {
            kernels.push(member.name);
        }
    }
    assert_eq!(kernels, ["receipt", "portable", "device"]);
    for module in member("receipt").rows.iter().copied().flatten().filter(|name| **name != "sha256")
    {
        let files = [format!("receipt/{module}.rs"), format!("receipt/{module}/mod.rs")];
        let file = files.iter().find(|file| root().join("src").join(file).is_file()).unwrap();
        assert!(refuses(file), "src/{file} may not hold unsafe code");
    }
}

fn member(name: &str) -> &'static Crate {
    CRATES.iter().find(|member| member.name == name).unwrap()
}

/// The table of `src/README.md`: a line for what each crate depends on, and one for its rows.
fn drawn() -> String {
    let mut text = "```text\n".to_owned();
    for member in CRATES {
        let name = if member.name.is_empty() { "repro" } else { member.name };
        let on = if member.on.is_empty() { "nothing".to_owned() } else { member.on.join(", ") };
        let rows: Vec<_> = member.rows.iter().map(|row| row.join(" ")).collect();
        text += &format!("{name:<9} depends on {on}\n{:<10}{}\n", "", rows.join(" | "));
    }
    text + "```\n"
}

#[test]
fn the_page_has_the_same_layers() {
    let page = root().join("src/README.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let from = text.find("<!-- layers").unwrap();
    let from = from + text[from..].find('\n').unwrap() + 1;
    let to = text.find("<!-- end of layers -->").unwrap();
    if text[from..to] == drawn() {
        return;
    }
    let update = std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always");
    assert!(update, "src/README.md: INSTA_UPDATE=always cargo test --test it layers");
    std::fs::write(page, format!("{}{}{}", &text[..from], drawn(), &text[to..])).unwrap();
}
