//! Names for the available bundles in a post: runs whose names differ only in a final number are a group.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::library::Library;
use crate::verify::BundleStore;
use repro_bundle::bundle::{Bundle, CONFIG, RECEIPT};
use repro_core::source::{Error, Kind, Location, Node};

use crate::draft::judged::parsed;
use crate::draft::mentions::PlacedWord;
use crate::draft::settings::SpokenSetting;
use crate::draft::written::toml_text;
use crate::draft::{NO_EVIDENCE, OUTSIDE};

/// Where a bundle keeps the tables of a log as they were printed,
const PRINTED: &str = "data/printed/";
/// the records of the Python package and of trackers,
const RECORDS: &str = "data/metrics.jsonl";
/// and numbers about the whole run.
const SUMMARY: &str = "data/summary.csv";
/// How the file of a slice ends that says by which settings its updates were made.
const STATED: &str = ".stated.json";

/// Runs of one arm, by the name that the post gives them.
#[derive(Debug, Clone)]
pub struct NamedArm {
    /// Its name in the post.
    pub name: String,
    /// The location behind the name: `runs-moe-s{1..3}`.
    pub locator: String,
    /// The bundles.
    pub runs: Vec<String>,
    /// The words of its name,
    pub words: Vec<String>,
    /// the same without those that every name may have,
    pub own: Vec<PlacedWord>,
    /// and those by which a text may speak of it beside the other arms: one of these lists.
    pub spoken: Vec<Vec<PlacedWord>>,
    /// The fields that its runs record at evaluations, and at which steps,
    pub recorded: Vec<String>,
    pub steps: Vec<u64>,
    /// what its configuration and its receipt hold: paths to numbers.
    pub settings: Vec<String>,
    /// The settings among them that only its slices state, by names of their own.
    pub stated: Vec<NamedMetric>,
    /// Settings whose values no other arm has: "the runs at 3e-3".
    pub labels: Vec<ArmLabel>,
    /// Other values in its log at the last step: table columns as printed.
    pub metrics: Vec<NamedMetric>,
}

/// A setting by whose value a text may name an arm.
#[derive(Debug, Clone)]
pub struct ArmLabel {
    /// The expression that gives the value,
    pub expression: String,
    /// the value,
    pub value: f64,
    /// and how a text says the setting.
    pub spoken: SpokenSetting,
}

/// A metric of an arm that has a name of its own in the post.
#[derive(Debug, Clone)]
pub struct NamedMetric {
    /// As the log calls it,
    pub metric: String,
    /// as the post does: `val_accuracy.moe`,
    pub name: String,
    /// and what that stands for.
    pub locator: String,
}

impl NamedArm {
    /// The name of its first run.
    pub fn first(&self) -> String {
        match self.is_group() {
            true => format!("one.{}", self.name),
            false => self.name.clone(),
        }
    }

    /// The expression for one of its settings.
    pub fn setting(&self, path: &str) -> String {
        match self.stated.iter().find(|stated| stated.metric == path) {
            Some(stated) => stated.name.clone(),
            None => format!("{}.{path}", self.first()),
        }
    }

    /// The metrics with their own name in the post.
    pub fn own_names(&self) -> impl Iterator<Item = &NamedMetric> {
        self.metrics.iter().chain(&self.stated)
    }

    /// Whether it has several runs.
    pub fn is_group(&self) -> bool {
        self.runs.len() > 1
    }
}

/// The arms, and their bundles loaded.
#[derive(Debug)]
pub struct DraftEvidence {
    pub arms: Vec<NamedArm>,
    pub store: BundleStore<'static>,
}

impl DraftEvidence {
    /// Loads the bundles of some arms.
    pub fn load(root: &Path, mut arms: Vec<NamedArm>, threads: usize) -> Result<Self, Vec<Error>> {
        let mut store = BundleStore::new(threads, &[]);
        store.fetch(root, &parsed(TRIED, head(&arms))?, None)?;
        for arm in &mut arms {
            if let Some(bundle) = arm.runs.first().and_then(|name| store.library.bundle(name)) {
                describe(arm, bundle);
            }
        }
        Ok(Self { arms, store })
    }

    /// The loaded evidence.
    pub fn library(&self) -> &Library {
        &self.store.library
    }
}

/// The arms of the bundles below `paths`, or of all of the project, by their names.
pub fn arms_below(root: &Path, paths: &[PathBuf]) -> Result<Vec<NamedArm>, Vec<Error>> {
    let names = bundles(root, paths)?;
    if names.is_empty() {
        let place = Location::file(root.join("receipts").display().to_string());
        return Err(vec![NO_EVIDENCE.at(place, "a bundle", "none")]);
    }
    Ok(arms(&names))
}

/// The name of the posts in which candidates are tried.
pub const TRIED: &str = "candidates";

/// A post that names the arms and says nothing.
pub fn head(arms: &[NamedArm]) -> String {
    let names = names(arms);
    format!("schema = \"repro.post/2\"\nid = \"{TRIED}\"\ntitle = \"{TRIED}\"\n\n[names]\n{names}")
}

/// The lines of `[names]`.
pub fn names(arms: &[NamedArm]) -> String {
    let mut text = String::new();
    for arm in arms {
        text.push_str(&format!("{} = \"{}\"\n", arm.name, arm.locator));
    }
    for arm in arms.iter().filter(|arm| arm.is_group()) {
        if let Some(first) = arm.runs.first() {
            text.push_str(&format!("{} = \"{first}\"\n", arm.first()));
        }
    }
    for NamedMetric { name, locator, .. } in arms.iter().flat_map(NamedArm::own_names) {
        text.push_str(&format!("{name} = {}\n", toml_text(locator)));
    }
    text
}

/// The lines of `[names]` that some statements use; those of the arms always.
pub fn used_names(arms: &[NamedArm], statements: &str) -> String {
    let is_used = |line: &&str| {
        let name = line.split(" = ").next().unwrap_or_default();
        let is_of = |arm: &NamedArm| arm.name == name || arm.first() == name;
        arms.iter().any(is_of) || statements.contains(name)
    };
    names(arms).lines().filter(is_used).map(|line| format!("{line}\n")).collect()
}

/// The names of the bundles that lie below the paths.
fn bundles(root: &Path, paths: &[PathBuf]) -> Result<Vec<String>, Vec<Error>> {
    let receipts = root.join("receipts");
    let real = receipts.canonicalize().unwrap_or_else(|_| receipts.clone());
    let all = [receipts.clone()];
    let paths = if paths.is_empty() { &all[..] } else { paths };
    let (mut names, mut errors) = (Vec::new(), Vec::new());
    for path in paths {
        let is_bundle = |path: &Path| path.join("bagit.txt").is_file();
        let found: Vec<PathBuf> = match is_bundle(path) {
            true => vec![path.clone()],
            false => {
                let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
                entries.map(|entry| entry.path()).filter(|path| is_bundle(path)).collect()
            }
        };
        for bundle in &found {
            let folder =
                bundle.canonicalize().ok().and_then(|path| path.parent().map(Path::to_owned));
            let name = bundle.file_name().map(|name| name.to_string_lossy().into_owned());
            match name.filter(|_| folder.as_ref() == Some(&real)) {
                Some(name) => names.push(name),
                None => {
                    let place = Location::file(bundle.display().to_string());
                    let expected = format!("a bundle in `{}`", receipts.display());
                    errors.push(OUTSIDE.at(place, expected, "a bundle elsewhere"));
                }
            }
        }
        if found.is_empty() {
            let place = Location::file(path.display().to_string());
            errors.push(NO_EVIDENCE.at(place, "a bundle, or a folder of bundles", "none"));
        }
    }
    names.sort_unstable();
    names.dedup();
    if errors.is_empty() { Ok(names) } else { Err(errors) }
}

/// The name of a run without the number at its end, and that number.
fn numbered(name: &str) -> Option<(&str, u64)> {
    let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let (stem, number) = name.split_at(name.len() - digits);
    let number = number.parse().ok().filter(|_| !number.starts_with('0') || number == "0")?;
    let is_seed = ["-s", "_s", "-seed", "_seed", "-seed-", "_seed_", "-seed_", "-", "_"];
    is_seed.iter().any(|end| stem.ends_with(end)).then_some((stem, number))
}

/// The arms of some bundles, by their names.
fn arms(names: &[String]) -> Vec<NamedArm> {
    let mut stems: BTreeMap<String, Vec<(u64, String)>> = BTreeMap::new();
    for name in names {
        match numbered(name) {
            Some((stem, number)) => {
                stems.entry(stem.to_owned()).or_default().push((number, name.clone()))
            }
            None => drop(stems.insert(name.clone(), vec![(0, name.clone())])),
        }
    }
    let shared = shared_prefix(stems.keys().map(String::as_str));
    let arm = |(stem, mut runs): (String, Vec<(u64, String)>)| {
        runs.sort();
        let locator = match runs.as_slice() {
            [(_, only)] => only.clone(),
            several => format!("{stem}{}", range(several)),
        };
        let own = stem.get(shared..).unwrap_or(&stem);
        let words = words_of(own);
        NamedArm {
            name: identifier(&words),
            locator,
            runs: runs.into_iter().map(|(_, name)| name).collect(),
            words,
            own: Vec::new(),
            spoken: Vec::new(),
            recorded: Vec::new(),
            steps: Vec::new(),
            settings: Vec::new(),
            stated: Vec::new(),
            labels: Vec::new(),
            metrics: Vec::new(),
        }
    };
    let mut arms: Vec<_> = stems.into_iter().map(arm).collect();
    let mut used: BTreeMap<String, usize> = BTreeMap::new();
    for arm in &mut arms {
        let count = used.entry(arm.name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            arm.name = format!("{}{count}", arm.name);
        }
    }
    arms
}

/// `{1..3}`, or `{1,2,5}`.
fn range(runs: &[(u64, String)]) -> String {
    let numbers: Vec<u64> = runs.iter().map(|(number, _)| *number).collect();
    let is_whole =
        numbers.windows(2).all(|pair| pair.first().map(|a| a + 1) == pair.last().copied());
    match (numbers.first(), numbers.last()) {
        (Some(first), Some(last)) if is_whole => format!("{{{first}..{last}}}"),
        _ => format!("{{{}}}", numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(",")),
    }
}

/// How many bytes all names begin with, up to a mark between words.
fn shared_prefix<'n>(names: impl Iterator<Item = &'n str>) -> usize {
    let names: Vec<_> = names.collect();
    let [first, others @ ..] = names.as_slice() else { return 0 };
    if others.is_empty() {
        return 0;
    }
    let same = |at: &usize| {
        others.iter().all(|other| other.as_bytes().get(*at) == first.as_bytes().get(*at))
    };
    let length = (0..first.len()).take_while(same).count();
    first.get(..length).and_then(|shared| shared.rfind(['-', '_'])).map_or(0, |at| at + 1)
}

/// The words of a name, without what only says that it is a run or a seed.
pub fn words_of(name: &str) -> Vec<String> {
    let parts = name.split(|c: char| !c.is_ascii_alphanumeric() && c != '.');
    let words = parts.filter(|part| !part.is_empty()).map(str::to_lowercase);
    let words: Vec<_> =
        words.filter(|word| !["s", "seed", "run", "runs"].contains(&word.as_str())).collect();
    if words.is_empty() { vec!["runs".to_owned()] } else { words }
}

/// A name of the language from words.
fn identifier(words: &[String]) -> String {
    let joined = words.join("_").replace('.', "_");
    match joined.starts_with(|c: char| c.is_ascii_digit()) {
        true => format!("run_{joined}"),
        false => joined,
    }
}

/// Notes what a run of an arm records and how it is configured.
fn describe(arm: &mut NamedArm, bundle: &Bundle) {
    let evaluated = bundle.receipt().checkpoints.iter();
    let evaluated = evaluated.filter_map(|saved| Some((saved.step, saved.evaluation.as_deref()?)));
    let mut evaluated: Vec<_> = evaluated.collect();
    evaluated.sort_unstable();
    arm.steps = evaluated.iter().map(|(step, _)| *step).collect();
    if let Some(document) = evaluated.last().and_then(|(_, file)| bundle.document(file).ok()) {
        numbers(document.root(), "", &mut arm.recorded);
    }
    if let Ok(document) = bundle.document(CONFIG) {
        numbers(document.root(), "config", &mut arm.settings);
        let root = document.root();
        let mut known = Vec::new();
        // `block_size` and `seq_len` of one value are one length.
        arm.settings.retain(|path| {
            let value = path.split('.').skip(1).try_fold(root, step_into);
            let value = value.and_then(|value| value.float().ok());
            let own = (SpokenSetting::of(path).concept, value);
            let is_new = own.0.is_none() || !known.contains(&own);
            known.push(own);
            is_new
        });
    }
    state(arm, bundle);
    let is_log =
        |file: &str| file.starts_with(PRINTED) && file.ends_with(".csv") || file == RECORDS;
    for file in bundle.files().keys().filter(|file| is_log(file)) {
        if let Ok(document) = bundle.document(file) {
            for (column, step) in last_values(document.root()) {
                let place = format!("{file}#step={step}.{}", part(&column));
                name_metric(arm, column, &place);
            }
        }
    }
    if let Ok(document) = bundle.document(SUMMARY) {
        for row in document.root().items().into_iter().flatten() {
            let metric = row.get("metric").and_then(|metric| metric.text().ok());
            // A name with other signs selects no row.
            if let Some(metric) = metric.filter(|metric| part(metric) == *metric) {
                name_metric(arm, metric.to_owned(), &format!("{SUMMARY}#metric={metric}.value"));
            }
        }
    }
    if let Ok(document) = bundle.document(RECEIPT)
        && let Some(predicate) = document.root().get("predicate")
    {
        for key in ["contract", "data", "seeds"] {
            if let Some(part) = predicate.get(key) {
                numbers(part, &format!("receipt.{key}"), &mut arm.settings);
            }
        }
    }
}

/// The member of a table, or the item of a list, that a part of a path names.
fn step_into<'d>(node: Node<'d>, part: &str) -> Option<Node<'d>> {
    let item = |at: usize| node.items().ok()?.nth(at);
    node.get(part).or_else(|| item(part.parse().ok()?))
}

/// Notes the settings that the first slice of an arm states, where its configuration has none of the kind.
fn state(arm: &mut NamedArm, bundle: &Bundle) {
    let Some(file) = bundle.files().keys().find(|file| file.ends_with(STATED)) else { return };
    let (Ok(document), Some(run)) = (bundle.document(file), arm.runs.first()) else { return };
    let mut paths = Vec::new();
    numbers(document.root(), "", &mut paths);
    let groups = document.root().get("groups").and_then(|groups| groups.items().ok());
    for (at, group) in groups.into_iter().flatten().enumerate() {
        numbers(group, &format!("groups.{at}"), &mut paths);
    }
    let configured: Vec<_> =
        arm.settings.iter().map(|path| SpokenSetting::of(path).concept).collect();
    for path in paths {
        let key = path.rsplit('.').next().unwrap_or_default();
        let concept = SpokenSetting::of(&path).concept;
        // The rates of some steps are not the rate of a run.
        let is_new = concept.is_some_and(|name| name != "rate") && !configured.contains(&concept);
        if is_new && key.parse::<u64>().is_err() {
            let locator = format!("{run}:{file}#{path}");
            let name = free_name(arm, &metric_name(key));
            arm.settings.push(path.clone());
            arm.stated.push(NamedMetric { metric: path, name, locator });
        }
    }
}

/// Names a metric of an arm by its place in the bundles, unless evaluations or another file have it: steps and tokens are in
/// several tables, and the loss of evaluations has its own name.
fn name_metric(arm: &mut NamedArm, metric: String, place: &str) {
    let has_loss = || arm.recorded.iter().any(|field| field == "loss");
    let is_known = arm.recorded.contains(&metric)
        || arm.metrics.iter().any(|known| known.metric == metric)
        || metric == "val_loss" && has_loss();
    if !is_known {
        let locator = format!("{}:{place}", arm.locator);
        let name = free_name(arm, &metric_name(&metric));
        arm.metrics.push(NamedMetric { metric, name, locator });
    }
}

/// A name for a metric of an arm that no other has: `eval/f1` and `eval_f1` are spelled alike.
fn free_name(arm: &NamedArm, metric: &str) -> String {
    let name = |number: usize| match number {
        1 => format!("{metric}.{}", arm.name),
        _ => format!("{metric}{number}.{}", arm.name),
    };
    let is_free = |name: &String| !arm.own_names().any(|known| known.name == *name);
    (1..).map(name).find(is_free).unwrap_or_default()
}

/// The columns of a table of a log, each with the last step at which it has a number.
fn last_values(table: Node<'_>) -> Vec<(String, String)> {
    let rows: Vec<_> = table.items().into_iter().flatten().collect();
    let Some(first) = rows.first() else { return Vec::new() };
    let columns = first.members().into_iter().flatten().map(|(key, _)| key.to_owned());
    let last = |column: String| {
        let has = |row: &&Node<'_>| row.get(&column).is_some_and(is_number);
        let step = rows.iter().rev().find(has)?.get("step")?;
        let step =
            step.text().map(str::to_owned).or_else(|_| step.integer().map(|step| step.to_string()));
        Some((column, step.ok()?))
    };
    columns.filter(|column| column != "step").filter_map(last).collect()
}

/// Whether a cell is a number: those of a CSV are texts.
fn is_number(cell: Node<'_>) -> bool {
    match cell.text() {
        Ok(text) => text.parse::<f64>().is_ok_and(f64::is_finite),
        Err(_) => cell.float().is_ok(),
    }
}

/// A metric as the first part of a name.
fn metric_name(metric: &str) -> String {
    let plain = metric.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    let plain: String = plain.collect();
    match plain.starts_with(|c: char| c.is_ascii_digit()) {
        true => format!("m{plain}"),
        false => plain,
    }
}

/// A part of a way into a file, in quotes where it has other signs than a name.
fn part(key: &str) -> String {
    let is_plain = key.chars().all(|c| c.is_ascii_alphanumeric() || "-_/".contains(c));
    if is_plain { key.to_owned() } else { format!("'{key}'") }
}

/// The paths to the numbers of an object.
fn numbers(node: Node<'_>, path: &str, found: &mut Vec<String>) {
    /// So many of one document.
    const MOST: usize = 400;
    /// The longest list of settings, such as betas; longer ones are data.
    const LIST: usize = 4;
    let Ok(members) = node.members() else { return };
    for (key, value) in members {
        let is_name = key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_name || found.len() >= MOST {
            continue;
        }
        let path = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        match &value.value().kind {
            Kind::Number(_) => found.push(path),
            Kind::Object(_) => numbers(value, &path, found),
            Kind::Array(items) if items.len() <= LIST => {
                for (at, item) in items.iter().enumerate() {
                    if matches!(item.kind, Kind::Number(_)) {
                        found.push(format!("{path}.{at}"));
                    }
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_differ_in_their_last_number_are_an_arm() {
        let names = ["x-dense-s1", "x-dense-s2", "x-dense-s3", "x-moe-s1", "x-moe-s4", "x-ref"];
        let arms = arms(&names.map(str::to_owned));
        let told: Vec<_> =
            arms.iter().map(|arm| (arm.name.as_str(), arm.locator.as_str())).collect();
        let expected = [("dense", "x-dense-s{1..3}"), ("moe", "x-moe-s{1,4}"), ("ref", "x-ref")];
        assert_eq!(told, expected);
    }
}
