//! Random changes of a post, its text, locks, reviews and bundles together. The gate is what CI runs: `verify --locked`, then
//! `compare` with the base. It may be green only where each number of the text is still what the evidence says, by the few lines
//! of arithmetic below, or where it names the number.
//!
//! `REPRO_MUTATIONS=10000 cargo test --release --test it mutations` makes more of them, `REPRO_MUTATIONS_SEED` others, and
//! `REPRO_MUTATIONS_TABLE` names a file for the counts.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use repro_bundle::bundle::seal;
use serde_json::Value as Json;

use crate::program::{git, repro};
use crate::review::Project;

/// How many, unless somebody asks for another number.
const CHANGES: usize = 100;
const TEXT: &str = "repro/mine.md";
const POST: &str = "repro/mine.toml";

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end.max(1) as u64) as usize
    }

    fn pick<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[self.below(of.len())]
    }
}

/// The files of the project below `repro/` and `receipts/`, by their paths seen from it.
fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut open: Vec<PathBuf> = ["repro", "receipts"].map(|name| root.join(name)).into();
    let mut files = BTreeMap::new();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.exists() {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            files.insert(name, fs::read(&path).unwrap());
        }
    }
    files
}

/// Puts the files back, and nothing else: a folder that is left over would count.
fn restore(root: &Path, before: &BTreeMap<String, Vec<u8>>) {
    for folder in ["repro", "receipts"] {
        fs::remove_dir_all(root.join(folder)).unwrap();
    }
    for (name, bytes) in before {
        fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
        fs::write(root.join(name), bytes).unwrap();
    }
}

fn read(root: &Path, name: &str) -> String {
    fs::read(root.join(name))
        .map_or_else(|_| String::new(), |bytes| String::from_utf8(bytes).unwrap())
}

fn write(root: &Path, name: &str, text: &str) {
    fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
    fs::write(root.join(name), text).unwrap();
}

/// The numbers of a line, without their signs.
fn numbers(line: &str) -> Vec<&str> {
    let parts = line.split(|letter: char| !letter.is_ascii_digit() && letter != '.');
    parts.map(|part| part.trim_end_matches('.')).filter(|part| !part.is_empty()).collect()
}

/// A text with another digit in one of its numbers; that number before and after.
fn other_digit(text: &str, random: &mut Random) -> Option<(String, String, String)> {
    let digits: Vec<usize> =
        text.char_indices().filter(|(_, one)| one.is_ascii_digit()).map(|(at, _)| at).collect();
    if digits.is_empty() {
        return None;
    }
    let at = *random.pick(&digits);
    let old = text.as_bytes()[at] - b'0';
    let digit = (old + 1 + random.below(9) as u8) % 10;
    let changed = format!("{}{digit}{}", &text[..at], &text[at + 1..]);
    let is_of_number = |letter: char| letter.is_ascii_digit() || letter == '.';
    let begin = text[..at].rfind(|letter| !is_of_number(letter)).map_or(0, |at| at + 1);
    let begin = (begin..=at).find(|at| text.is_char_boundary(*at)).unwrap();
    let end =
        text[at..].find(|letter| !is_of_number(letter)).map_or(text.len(), |length| at + length);
    let of = |text: &str| text[begin..end].trim_end_matches('.').to_owned();
    Some((changed.clone(), of(text), of(&changed)))
}

/// What a change did.
type Done = Option<String>;
type Change = (&'static str, fn(&Path, &mut Random) -> Done);

const CHANGES_OF: &[Change] = &[
    ("a number of the text", |root, random| {
        let (text, old, new) = other_digit(&read(root, TEXT), random)?;
        write(root, TEXT, &text);
        Some(format!("{old} -> {new}"))
    }),
    ("a number of text and post", |root, random| {
        let (text, old, new) = other_digit(&read(root, TEXT), random)?;
        write(root, TEXT, &text);
        write(root, POST, &read(root, POST).replace(&old, &new));
        Some(format!("{old} -> {new}"))
    }),
    ("a number that the binding makes right", |root, _| {
        for name in [TEXT, POST] {
            write(
                root,
                name,
                &read(root, name)
                    .replace("a validation loss of 1.9100", "a validation loss of 1.8100"),
            );
        }
        let post =
            read(root, POST).replace("is = \"mean(moe.loss)\"", "is = \"mean(moe.loss) - 0.1\"");
        write(root, POST, &post);
        Some("1.9100 -> 1.8100".to_owned())
    }),
    ("a false sentence", |root, random| {
        let number = format!("{}.{:04}", random.below(9), random.below(10_000));
        write(root, TEXT, &format!("{}\nOne run reaches {number} too.\n", read(root, TEXT)));
        let is_excused = random.below(2) == 0;
        if is_excused {
            let excuse =
                format!("\n[[excused]]\nquote = \"reaches {number}\"\nreason = \"no log\"\n");
            write(root, POST, &(read(root, POST) + &excuse));
        }
        Some(format!("{number}, excused: {is_excused}"))
    }),
    ("other words of a binding", |root, random| {
        let words = [
            "moe",
            "dense",
            "mean",
            "sd",
            "median",
            "max",
            "min",
            "loss",
            "val_accuracy",
            "1..3",
            "1..2",
            "runs",
            "gap",
            " - ",
            " + ",
        ];
        let post = read(root, POST);
        let there: Vec<_> = words.iter().filter(|word| post.contains(**word)).collect();
        if there.is_empty() {
            return None;
        }
        let (from, to) = (**random.pick(&there), *random.pick(&words));
        let places: Vec<_> = post.match_indices(from).map(|(at, _)| at).collect();
        let at = *random.pick(&places);
        write(root, POST, &format!("{}{to}{}", &post[..at], &post[at + from.len()..]));
        Some(format!("{from} -> {to} at {at}"))
    }),
    ("the evidence of an arm", |root, random| {
        let arm = *random.pick(&["moe", "dense"]);
        let by = f64::from(random.below(2000) as u32) / 10_000.0 - 0.1;
        for seed in 1..=3 {
            let at = format!("receipts/{arm}-{seed}/data");
            let (csv, json) = (
                format!("{at}/printed/validation.csv"),
                format!("{at}/evaluation/step-000200.json"),
            );
            let text = read(root, &csv);
            let last = text.lines().last()?.split(',').nth(1)?.to_owned();
            let shifted = last.parse::<f64>().ok()? + by;
            write(root, &csv, &text.replace(&format!("200,{last}"), &format!("200,{shifted:.4}")));
            let mut document: Json = serde_json::from_str(&read(root, &json)).ok()?;
            document["loss"] = format!("{shifted:.4}").parse::<f64>().unwrap().into();
            write(root, &json, &document.to_string());
        }
        Some(format!("{arm} by {by:.4}"))
    }),
    ("a digit of any file", |root, random| {
        let name = random_file(root, random)?;
        let (text, old, new) = other_digit(&read(root, &name), random)?;
        write(root, &name, &text);
        Some(format!("{name}: {old} -> {new}"))
    }),
    ("a line removed", |root, random| lines(root, random, |lines, at, _| drop(lines.remove(at)))),
    ("a line twice", |root, random| {
        lines(root, random, |lines, at, to| lines.insert(to, lines[at].clone()))
    }),
    ("lines swapped", |root, random| lines(root, random, |lines, at, to| lines.swap(at, to))),
    ("a file removed", |root, random| {
        let name = random_file(root, random)?;
        fs::remove_file(root.join(&name)).unwrap();
        Some(name)
    }),
    ("a file renamed", |root, random| {
        let name = random_file(root, random)?;
        let (folder, last) = name.rsplit_once('/').unwrap();
        let to = [
            format!("{name}.off"),
            format!("{folder}/old/{last}"),
            format!("{folder}/other-{last}"),
        ];
        let to = random.pick(&to);
        write(root, to, &read(root, &name));
        fs::remove_file(root.join(&name)).unwrap();
        Some(format!("{name} -> {to}"))
    }),
    ("a file over another", |root, random| {
        let (name, other) = (random_file(root, random)?, random_file(root, random)?);
        let (_, last) = name.rsplit_once('/').unwrap();
        // A namesake of another run fits in best.
        let namesake = files(root).into_keys().find(|one| one.ends_with(last) && *one != name);
        let other = namesake.filter(|_| random.below(2) == 0).unwrap_or(other);
        write(root, &name, &read(root, &other));
        Some(format!("{other} over {name}"))
    }),
    ("a comment", |root, _| {
        write(root, POST, &(read(root, POST) + "\n# a note\n"));
        Some(String::new())
    }),
];

/// One of the files; every other time one of those in `repro/`.
fn random_file(root: &Path, random: &mut Random) -> Option<String> {
    let folder = *random.pick(&["repro/", "receipts/"]);
    let names: Vec<_> = files(root).into_keys().filter(|name| name.starts_with(folder)).collect();
    (!names.is_empty()).then(|| random.pick(&names).clone())
}

/// Changes the lines of a file.
fn lines(root: &Path, random: &mut Random, change: fn(&mut Vec<String>, usize, usize)) -> Done {
    let name = random_file(root, random)?;
    let text = read(root, &name);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines.is_empty() {
        return None;
    }
    let (at, to) = (random.below(lines.len()), random.below(lines.len()));
    let told = format!("{name}: {at}, {to}");
    change(&mut lines, at, to);
    write(root, &name, &(lines.join("\n") + "\n"));
    Some(told)
}

/// The last value of the runs of an arm, by the files that hold it; none where none does or two differ.
fn last_of_arm(root: &Path, arm: &str, column: usize, field: &str) -> Option<[f64; 3]> {
    let last = |seed: usize| -> Option<f64> {
        let at = format!("receipts/{arm}-{seed}/data");
        let csv = read(root, &format!("{at}/printed/validation.csv"));
        let row = csv.lines().find(|line| line.starts_with("200,"));
        let printed = row.map(|row| row.split(',').nth(column)?.parse::<f64>().ok());
        let json = read(root, &format!("{at}/evaluation/step-000200.json"));
        let document = serde_json::from_str::<Json>(&json).ok();
        let evaluated = document.map(|document| document[field].as_f64());
        match (printed, evaluated) {
            (Some(printed), Some(evaluated)) => printed.filter(|_| printed == evaluated),
            (one, other) => one.or(other).flatten(),
        }
    };
    Some([last(1)?, last(2)?, last(3)?])
}

fn mean(of: [f64; 3]) -> f64 {
    of.iter().sum::<f64>() / 3.0
}

fn sd(of: [f64; 3]) -> f64 {
    (of.iter().map(|one| (one - mean(of)).powi(2)).sum::<f64>() / 2.0).sqrt()
}

/// What the text says where it is true: its lines with numbers, cut at these, and the values between.
fn truth(root: &Path) -> Option<[(Vec<&'static str>, Vec<f64>); 4]> {
    let [dense, moe] = ["dense", "moe"].map(|arm| last_of_arm(root, arm, 1, "loss"));
    let accuracy = |arm| last_of_arm(root, arm, 2, "val_accuracy").map(mean);
    let (dense, moe) = (dense?, moe?);
    Some([
        (vec!["| dense | ", " ± ", " | ", " |"], vec![mean(dense), sd(dense), accuracy("dense")?]),
        (vec!["| moe | ", " ± ", " | ", " |"], vec![mean(moe), sd(moe), accuracy("moe")?]),
        (vec!["The mixture reaches a validation loss of ", "."], vec![mean(moe)]),
        (
            vec!["It is lower by ", ". Spreads are standard deviations."],
            vec![mean(dense) - mean(moe)],
        ),
    ])
}

/// Whether a line is one of those, with each number equal to its value as it is rounded.
fn is_true(line: &str, truth: &[(Vec<&str>, Vec<f64>)]) -> bool {
    let agrees = |number: &str, value: &f64| {
        let digits = number.split_once('.').map_or(0, |(_, behind)| behind.len());
        let half = 0.5 * 10_f64.powi(-(digits as i32)) + 1e-9;
        digits > 2 && number.parse::<f64>().is_ok_and(|number| (number - value).abs() <= half)
    };
    truth.iter().any(|(words, values)| {
        let found = numbers(line);
        let whole = words
            .iter()
            .zip(found.iter().chain([&""]))
            .map(|(word, number)| format!("{word}{number}"));
        found.len() == values.len()
            && whole.collect::<String>() == line
            && found.iter().zip(values).all(|(number, value)| agrees(number, value))
    })
}

/// The lines of the text whose numbers do not follow from the evidence.
fn false_lines(root: &Path) -> Vec<String> {
    let (text, truth) = (read(root, TEXT), truth(root));
    let with_numbers = text.lines().filter(|line| !numbers(line).is_empty());
    let is_false = |line: &&str| truth.as_ref().is_none_or(|truth| !is_true(line, truth));
    with_numbers.filter(is_false).map(str::to_owned).collect()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

/// Whether the gate is green, and what it says.
fn gate(root: &Path) -> (bool, String) {
    let locked = repro(root, &["verify", "--post", "all", "--locked"]);
    let mut told = said(&locked);
    let mut is_green = locked.status.code() == Some(0);
    assert!(matches!(locked.status.code(), Some(0..=4)), "{told}");
    if is_green {
        let compared = repro(root, &["diff", "before"]);
        assert!(matches!(compared.status.code(), Some(0..=4)), "{}", said(&compared));
        is_green = compared.status.code() == Some(0);
        told += &said(&compared);
    }
    (is_green, told)
}

/// How often something happened.
#[derive(Default)]
struct Tally {
    tried: usize,
    made_false: usize,
    green: usize,
    green_and_named: usize,
}

fn asked(name: &str, otherwise: usize) -> usize {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap())
}

#[test]
fn no_green_gate_over_a_false_number_that_it_does_not_name() {
    let project = Project::with_ada().approved();
    let root = project.path();
    assert!(project.run(&["verify", "--write-lock"]).status.success());
    git(root, &["init", "--quiet"]);
    git(root, &["add", "repro", "receipts"]);
    git(root, &["commit", "--quiet", "-m", "base"]);
    git(root, &["tag", "before"]);
    let before = files(root);
    assert_eq!(false_lines(root), Vec::<String>::new());
    assert!(gate(root).0, "{}", gate(root).1);

    let mut random = Random(asked("REPRO_MUTATIONS_SEED", 44) as u64);
    let mut tallies: BTreeMap<&str, Tally> = BTreeMap::new();
    let (mut broken, mut numbers_named, mut numbers_changed) = (Vec::new(), 0, 0);
    for round in 0..asked("REPRO_MUTATIONS", CHANGES) {
        let mut done = Vec::new();
        for _ in 0..[1, 1, 2, 3][random.below(4)] {
            let (name, change) = random.pick(CHANGES_OF);
            done.extend(change(root, &mut random).map(|what| (*name, what)));
        }
        let (is_sealed, is_recorded) = (random.below(2) == 0, random.below(2) == 0);
        if is_sealed {
            seal_changed(root, &before);
        }
        if is_recorded {
            repro(root, &["verify", "--post", "all", "--write-lock"]);
        }
        let false_lines = false_lines(root);
        let (is_green, told) = gate(root);
        let is_named = |line: &String| numbers(line).iter().any(|number| told.contains(number));
        let unnamed: Vec<_> = false_lines.iter().filter(|line| !is_named(line)).collect();
        if is_green && !unnamed.is_empty() {
            broken.push(format!("round {round}: {done:?}, sealed {is_sealed}, recorded {is_recorded}: {unnamed:?}\n{told}"));
        }
        // A single number of the text is named whether it is recorded anew or not.
        if let [("a number of the text", what)] = &done[..] {
            let (_, new) = what.split_once(" -> ").unwrap();
            numbers_changed += 1;
            numbers_named += usize::from(!is_green && told.contains(new));
        }
        for (name, _) in &done {
            let tally = tallies.entry(name).or_default();
            tally.tried += 1;
            tally.made_false += usize::from(!false_lines.is_empty());
            tally.green += usize::from(is_green);
            tally.green_and_named += usize::from(is_green && !false_lines.is_empty());
        }
        restore(root, &before);
    }
    let mut table = format!("{:<40} tried  false  green  green and false, named\n", "change");
    for (name, Tally { tried, made_false, green, green_and_named }) in &tallies {
        writeln!(table, "{name:<40} {tried:>5} {made_false:>6} {green:>6} {green_and_named:>6}")
            .unwrap();
    }
    let told = "numbers of the text alone";
    writeln!(table, "{told}: {numbers_changed} changed, {numbers_named} named by a red gate")
        .unwrap();
    if let Some(path) = std::env::var_os("REPRO_MUTATIONS_TABLE") {
        fs::write(path, &table).unwrap();
    }
    assert!(
        broken.is_empty(),
        "{} of them\n{}",
        broken.len(),
        broken[..broken.len().min(5)].join("\n\n")
    );
    // What is asserted happened: numbers became false, and what is harmless passes.
    assert!(numbers_changed > 0 && numbers_named == numbers_changed, "{table}");
    assert!(tallies.values().map(|one| one.made_false).sum::<usize>() > numbers_changed, "{table}");
    assert!(tallies.values().map(|one| one.green).sum::<usize>() > 0, "{table}");
}

/// Seals the bundles that are changed, as their author could.
fn seal_changed(root: &Path, before: &BTreeMap<String, Vec<u8>>) {
    let now = files(root);
    let names = before.keys().chain(now.keys()).filter(|name| before.get(*name) != now.get(*name));
    let mut bundles: Vec<_> =
        names.filter_map(|name| name.strip_prefix("receipts/")?.split('/').next()).collect();
    bundles.dedup();
    for bundle in bundles {
        // What cannot be a bundle any more stays as it is.
        let _ = seal(&root.join("receipts").join(bundle), bundle, None);
    }
}
