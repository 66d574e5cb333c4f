//! A short run of the fuzz targets, the same on every machine: every seed, then mutations of the seeds by a
//! named stream of random numbers. The long runs are `scripts/fuzz.sh`.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use repro_stats::rng::Rng;

#[path = "../fuzz/targets/mod.rs"]
pub mod targets;

/// The longest input that a mutation makes.
const LENGTH_CAP: usize = 8 << 10;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz")
}

/// The files below `folder` that `wanted` says are meant, by path.
fn files(folder: &Path, wanted: fn(&Path) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false if wanted(&path) => found.push(path),
                false => {}
            }
        }
    }
    found.sort();
    found
}

/// The seeds of a target: its folder, and for posts those of the corpus.
fn seeds(name: &str) -> Vec<Vec<u8>> {
    let mut paths = files(&folder().join("seeds"), |_| true);
    paths.retain(|path| path.parent().is_some_and(|folder| folder.ends_with(name)));
    if name == "post" {
        let post = |path: &Path| {
            let is_toml = path.extension().is_some_and(|ending| ending == "toml");
            is_toml && path.parent().is_some_and(|folder| folder.ends_with("repro"))
        };
        paths.extend(files(&folder().join("../corpus"), post));
    }
    assert!(!paths.is_empty(), "`{name}` has no seeds");
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// The words of a dictionary: `"word"`, bytes as `\xNN`.
fn words(name: &str) -> Vec<Vec<u8>> {
    let text =
        fs::read_to_string(folder().join("dictionaries").join(format!("{name}.dict"))).unwrap();
    let word = |line: &str| {
        let mut parts = line.trim_matches('"').split("\\x");
        let mut word = parts.next().unwrap_or_default().as_bytes().to_vec();
        for part in parts {
            let (byte, rest) = part.split_at(2);
            word.push(u8::from_str_radix(byte, 16).unwrap());
            word.extend_from_slice(rest.as_bytes());
        }
        word
    };
    text.lines().map(word).collect()
}

/// Draws below a bound that is a length.
fn below(rng: &mut Rng, bound: usize) -> usize {
    rng.below(bound as u64) as usize
}

/// A stretch of `bytes`, empty where they are.
fn stretch(rng: &mut Rng, bytes: &[u8]) -> std::ops::Range<usize> {
    let start = below(rng, bytes.len() + 1);
    let longest = (bytes.len() - start).min(1 << below(rng, 10));
    start..start + below(rng, longest + 1)
}

/// Makes one change.
fn mutate(rng: &mut Rng, bytes: &mut Vec<u8>, seeds: &[Vec<u8>], words: &[Vec<u8>]) {
    let here = stretch(rng, bytes);
    match below(rng, 8) {
        0 => drop(bytes.drain(here)),
        1 => {
            let copy = bytes[here].to_vec();
            let at = below(rng, bytes.len() + 1);
            bytes.splice(at..at, copy);
        }
        2 => {
            let other = &seeds[below(rng, seeds.len())];
            let part = other[stretch(rng, other)].to_vec();
            bytes.splice(here, part);
        }
        3 | 4 => {
            let word = words[below(rng, words.len())].clone();
            let end = here.end.min(here.start + word.len());
            bytes.splice(here.start..end, word);
        }
        5 => {
            let number = [0, 1, 9, 255, 1 << 31, 1 << 53, u64::MAX][below(rng, 7)];
            bytes.splice(here, number.to_string().into_bytes());
        }
        _ if bytes.is_empty() => bytes.push(rng.word() as u8),
        6 => {
            let at = below(rng, bytes.len());
            bytes[at] ^= 1 << below(rng, 8);
        }
        _ => {
            let at = below(rng, bytes.len());
            bytes[at] = rng.word() as u8;
        }
    }
    bytes.truncate(LENGTH_CAP);
}

/// Runs `count` mutations; a failure names the input.
fn run(name: &str, count: usize) {
    let target = targets::TARGETS.iter().find(|target| target.name == name).unwrap();
    let (seeds, words) = (seeds(name), words(name));
    let mut rng = Rng::new(6, name);
    let mutated = (0..count).map(|_| {
        let mut bytes = seeds[below(&mut rng, seeds.len())].clone();
        for _ in 0..=below(&mut rng, 4) {
            mutate(&mut rng, &mut bytes, &seeds, &words);
        }
        bytes
    });
    for bytes in seeds.iter().cloned().chain(mutated.collect::<Vec<_>>()) {
        let passed = catch_unwind(AssertUnwindSafe(|| (target.check)(&bytes)));
        assert!(passed.is_ok(), "`{name}` fails on b\"{}\"", bytes.escape_ascii());
    }
}

#[test]
fn bundles_keep_their_promises() {
    run("bundle", 1500);
}

#[test]
fn printed_decimals_keep_their_promises() {
    run("decimal", 4000);
}

#[test]
fn documents_keep_their_promises() {
    run("document", 600);
}

#[test]
fn envelopes_keep_their_promises() {
    run("envelope", 1500);
}

#[test]
fn gguf_headers_keep_their_promises() {
    run("gguf", 3000);
}

#[test]
fn headers_keep_their_promises() {
    run("header", 4000);
}

#[test]
fn importers_keep_their_promises() {
    run("import", 1500);
}

#[test]
fn json_keeps_its_promises() {
    run("json", 4000);
}

#[test]
fn posts_keep_their_promises() {
    run("post", 1000);
}

#[test]
fn files_of_projects_keep_their_promises() {
    run("project", 3000);
}

#[test]
fn tables_keep_their_promises() {
    run("tables", 4000);
}

#[test]
fn timestamps_keep_their_promises() {
    run("timestamp", 1500);
}

#[test]
fn plans_and_results_keep_their_promises() {
    run("work", 3000);
}

/// Every target has seeds, a dictionary, a fuzzer and a test here.
#[test]
fn every_target_is_run() {
    let here = include_str!("fuzz.rs");
    for target in targets::TARGETS {
        let name = target.name;
        assert!(!seeds(name).is_empty() && !words(name).is_empty(), "{name}");
        assert!(folder().join(format!("fuzzers/{name}.rs")).is_file(), "{name}");
        assert!(here.contains(&format!("run(\"{name}\", ")), "{name} is not run");
    }
}
