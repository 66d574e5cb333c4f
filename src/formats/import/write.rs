//! Writes a bundle for each run. All bundles are written and read back in a hidden folder beside their final location,
//! and only then get their names: a failed import leaves nothing behind, and the next import removes the remains of a
//! killed one. Once all bundles are complete and durable, the hidden folder is renamed; if the import is killed after
//! that, the next one finishes naming the bundles.
//!
//! JSON documents contain numbers in canonical form, in which 3.2790 is 3.279. So the tables in `data/printed/` contain
//! every number a second time as printed in the log, for claims about printed digits.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Number, Value as Json, json};

use super::names::{COUNTER, STEP};
use super::run::{LogNumber, LogPart, LogRow, LoggedRun, Metric};
use super::{BUSY, CHANGED, EXISTS, Import, LogGroup, tables};
use repro_bundle::bundle::{
    self, Bundle, BundleWriter, CANNOT_WRITE, CONFIG, Chain, Checkpoint, METRICS, Origin, Receipt,
};
use repro_core::digest::Digest;
use repro_core::disk::{Disk, HeldPath, LocalDisk, beneath, root_of};
use repro_core::parallel;
use repro_core::source::{Error, Location};

/// The number of last evaluations that get their own document.
const EVALUATIONS: usize = 4_096;
/// The folder of bundles until all of them are complete.
const SCRATCH: &str = ".import";
/// The folder of complete bundles until all of them have their names.
const WHOLE: &str = ".imported";
/// Members of an evaluation with a known meaning.
const RESERVED: [&str; 9] =
    ["step", "tokens_seen", "nats", "predicted_tokens", "bytes", "loss", "bpb", "blocks", "core"];
/// The limit above which canonical JSON cannot distinguish integers.
const EXACT_INTEGERS: f64 = 9_007_199_254_740_992.0;

/// Writes a bundle for each run into the folder `out`, including the logs with `keep_source`. Returns the digests of
/// the bundles, in run order.
pub fn write(
    import: &Import,
    out: &Path,
    keep_source: bool,
    threads: usize,
) -> Result<Vec<Digest>, Vec<Error>> {
    write_on(&LocalDisk, import, out, keep_source, threads)
}

/// [`write()`] on any disk.
fn write_on(
    disk: &dyn Disk,
    import: &Import,
    out: &Path,
    keep_source: bool,
    threads: usize,
) -> Result<Vec<Digest>, Vec<Error>> {
    let one = |error: Error| vec![error];
    let scratch = Scratch::create(disk, out).map_err(one)?;
    let runs: Vec<_> = import.runs().collect();
    let there = runs
        .iter()
        .map(|(_, run)| out.join(&run.name))
        .filter(|path| path.symlink_metadata().is_ok());
    let there: Vec<_> = there
        .map(|path| EXISTS.at(place(&path), "no bundle of this name", "an existing bundle"))
        .collect();
    if !there.is_empty() {
        return Err(there);
    }
    let written = parallel::map(&runs, threads, |(group, run)| {
        let folder = scratch.folder(SCRATCH).join(&run.name);
        let writer = BundleWriter::create_on(disk, &folder)?;
        write_one(writer, group, run, &folder, keep_source)
    });
    let (digests, errors): (Vec<_>, Vec<_>) = written.into_iter().partition(Result::is_ok);
    if !errors.is_empty() {
        return Err(errors.into_iter().filter_map(Result::err).collect());
    }
    scratch.release().map_err(one)?;
    Ok(digests.into_iter().filter_map(Result::ok).collect())
}

fn place(path: &Path) -> Location {
    Location::file(path.display().to_string())
}

fn cannot_write(path: &Path, error: &io::Error) -> Error {
    CANNOT_WRITE.at(place(path), "a writable folder", error.to_string())
}

/// The hidden folder; its contents are deleted when it is dropped.
struct Scratch<'a> {
    disk: &'a dyn Disk,
    /// The folder for the bundles.
    out: &'a Path,
    /// The root below which no link is followed.
    root: PathBuf,
    /// Whether this import created the folder.
    made: bool,
    /// The lock held during the import.
    _lock: File,
}

impl<'a> Scratch<'a> {
    /// Creates the hidden folder after cleaning up what an earlier import left.
    fn create(disk: &'a dyn Disk, out: &'a Path) -> Result<Self, Error> {
        let made = !out.exists();
        let cannot = |error: io::Error| cannot_write(out, &error);
        let root = root_of(out);
        disk.make_folders(&root, out).map_err(cannot)?;
        let folders = [SCRATCH, WHOLE].map(|name| beneath(&root, &out.join(name)));
        folders.into_iter().collect::<io::Result<()>>().map_err(cannot)?;
        let lock = File::open(out).map_err(cannot)?;
        if lock.try_lock().is_err() {
            return Err(BUSY.at(
                place(out),
                "a folder without a running import",
                "a running import",
            ));
        }
        let scratch = Self { disk, out, root, made, _lock: lock };
        scratch.name_bundles()?;
        scratch.clear().and_then(|()| disk.make_folder(&scratch.held(SCRATCH)?)).map_err(cannot)?;
        Ok(scratch)
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.out.join(name)
    }

    fn held(&self, name: impl AsRef<Path>) -> io::Result<HeldPath> {
        self.disk.hold(&self.root, &self.out.join(name))
    }

    fn renamed(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
        self.disk.rename(&self.held(from)?, &self.held(to)?)
    }

    /// Gives the complete bundles their names.
    fn release(self) -> Result<(), Error> {
        let durable = self.renamed(SCRATCH, WHOLE).and_then(|()| self.disk.sync(self.out));
        durable.map_err(|error| cannot_write(self.out, &error))?;
        self.name_bundles()
    }

    /// Gives complete bundles without a name their names, if there are any.
    fn name_bundles(&self) -> Result<(), Error> {
        let whole = self.folder(WHOLE);
        if !whole.is_dir() || whole.is_symlink() {
            return Ok(());
        }
        let cannot = |error: io::Error| cannot_write(self.out, &error);
        let entries: Result<Vec<_>, _> = fs::read_dir(&whole).map_err(cannot)?.collect();
        for entry in entries.map_err(cannot)? {
            let name = entry.file_name();
            let path = self.out.join(&name);
            if path.symlink_metadata().is_ok() {
                return Err(EXISTS.at(
                    place(&path),
                    "no bundle of this name",
                    "an existing bundle",
                ));
            }
            let (from, to) = (Path::new(WHOLE).join(&name), Path::new(&name));
            self.renamed(&from, to).map_err(cannot)?;
        }
        let synced = self.disk.sync(self.out).and_then(|()| self.disk.sync(&whole));
        synced.and_then(|()| self.disk.remove_folder(&self.held(WHOLE)?)).map_err(cannot)
    }

    /// Removes bundles if not all of them are complete.
    fn clear(&self) -> io::Result<()> {
        let scratch = self.folder(SCRATCH);
        if scratch.is_dir() && !scratch.is_symlink() {
            self.disk.remove_tree(&self.held(SCRATCH)?)
        } else {
            Ok(())
        }
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        // The next import removes what cannot be removed now.
        let _ = self.clear();
        if self.made {
            // Only if it is empty.
            let _ = self.disk.remove_folder(self.out);
        }
    }
}

/// Writes one bundle and reads it back.
fn write_one(
    mut writer: BundleWriter<'_>,
    group: &LogGroup,
    run: &LoggedRun,
    path: &Path,
    keep_source: bool,
) -> Result<Digest, Error> {
    if !run.config.is_empty() {
        writer.json(CONFIG, &Json::Object(run.config.clone()))?;
    }
    let unwritable = |error: repro_core::digest::NotCanonical| {
        bundle::UNWRITABLE.at(
            Location::file(run.file.as_str()),
            "numbers valid in canonical JSON",
            error.to_string(),
        )
    };
    let (mut metrics, mut chain) = (String::new(), Chain::default());
    for record in run.training.iter().filter_map(metrics_record) {
        metrics.push_str(&chain.extend(record).map_err(unwritable)?);
    }
    let mut timing = String::new();
    for record in timing_records(run) {
        timing.push_str(&repro_core::digest::canonical(&Json::Object(record)).map_err(unwritable)?);
        timing.push('\n');
    }
    let lines = [(METRICS.to_owned(), metrics), ("data/timing.jsonl".to_owned(), timing)];
    for (name, text) in lines.into_iter().chain(tables::all(run)?) {
        if !text.is_empty() {
            writer.file(&name, text.as_bytes())?;
        }
    }
    let mut checkpoints = Vec::new();
    let earlier = run.evaluations.len().saturating_sub(EVALUATIONS);
    for row in run.evaluations.iter().skip(earlier) {
        let name = format!("data/evaluation/step-{:06}.json", row.step);
        writer.json(&name, &Json::Object(evaluation(row, run)))?;
        let tokens_seen = row.get(&Metric::Tokens).and_then(|tokens| tokens.text().parse().ok());
        checkpoints.push(Checkpoint {
            step: row.step,
            tokens_seen,
            evaluation: Some(name),
            weights: None,
            weights_sha256: None,
            tensors_sha256: None,
        });
    }
    if keep_source {
        keep(&mut writer, run)?;
    }
    let digest = writer.finish(&receipt(group, run, run.sha256()?, checkpoints))?;
    Bundle::load_folder(path, &path.display().to_string(), Some(&digest), 1)?;
    Ok(digest)
}

/// Copies the log, or each of its files, into the bundle.
fn keep(writer: &mut BundleWriter<'_>, run: &LoggedRun) -> Result<(), Error> {
    if run.parts.is_empty() {
        return writer.file("data/source.log", &source(&run.file, run.sha256()?)?);
    }
    for (part, number) in run.parts.iter().zip(1..) {
        let Some(digest) = part.identity.sha256 else { continue };
        writer.file(&format!("data/source/{number:04}.log"), &source(&part.file, digest)?)?;
    }
    Ok(())
}

/// The bytes of a file, if it did not change since it was read.
fn source(file: &str, wanted: Digest) -> Result<Vec<u8>, Error> {
    let bytes = repro_core::source::read_plain(Path::new(file))
        .map_err(|error| cannot_write(Path::new(file), &error))?;
    if Digest::of(&bytes) == wanted {
        return Ok(bytes);
    }
    let expected = format!("bytes with sha256 {wanted}");
    Err(CHANGED.at(Location::file(file), expected, "others"))
}

fn receipt(
    group: &LogGroup,
    run: &LoggedRun,
    sha256: Digest,
    checkpoints: Vec<Checkpoint>,
) -> Receipt {
    let file = Path::new(&run.file).file_name().map(|name| name.to_string_lossy().into_owned());
    let codes: BTreeSet<_> = run.findings.iter().map(|finding| finding.error.code.id).collect();
    let mut extra = run.extra.clone();
    extra.insert(
        "importer".to_owned(),
        json!({
            "format": run.format.word(),
            "name": "repro",
            "version": env!("CARGO_PKG_VERSION"),
        }),
    );
    extra.insert(
        "source".to_owned(),
        json!({
            "bytes": run.identity.bytes,
            "name": file,
            "sha256": sha256.to_string(),
        }),
    );
    if !run.parts.is_empty() {
        let part = |part: &LogPart| {
            let name = Path::new(&part.file).file_name().map(|name| name.to_string_lossy());
            let digest = part.identity.sha256.map(|digest| digest.to_string());
            json!({"bytes": part.identity.bytes, "name": name, "sha256": digest})
        };
        extra.insert("sources".to_owned(), run.parts.iter().map(part).collect());
    }
    extra.insert("group".to_owned(), group.name.as_str().into());
    if let Some(counter) = run.counter.as_deref().filter(|counter| *counter != STEP) {
        extra.insert(COUNTER.to_owned(), counter.into());
    }
    if run.seed_from_path {
        extra.insert("seed_in_path".to_owned(), json!(run.seed));
    }
    if !codes.is_empty() {
        extra.insert("findings".to_owned(), json!(codes));
    }
    let id = bundle::Run {
        id: run.name.clone(),
        study: None,
        arm: None,
        plan_commit: None,
        finished: run.finished(),
    };
    Receipt { run: Some(id), checkpoints, extra, ..Receipt::new(Origin::Emitted) }
}

/// A logged number in JSON: integers that JSON readers parse differently become strings.
fn number(printed: &LogNumber) -> Option<Json> {
    let whole = printed.text().parse::<i64>().ok();
    if let Some(whole) = whole.filter(|whole| whole.unsigned_abs() <= 1 << 53) {
        return Some(whole.into());
    }
    let value = printed.value()?;
    if whole.is_some() || value.abs() >= EXACT_INTEGERS {
        return Some(printed.text().into());
    }
    Number::from_f64(value).map(Json::Number)
}

/// Adds a number to a record, or notes there that it is not finite. The first number with a name stays, as in the printed
/// tables.
fn put(record: &mut Map<String, Json>, key: &str, printed: &LogNumber) {
    match (number(printed), printed.nonfinite()) {
        (Some(number), _) => {
            record.entry(key).or_insert(number);
        }
        (None, Some(word)) => {
            record.entry("nonfinite").or_insert_with(|| word.into());
        }
        (None, None) => {}
    }
}

/// The training record of a row, if it has one.
fn metrics_record(row: &LogRow) -> Option<Map<String, Json>> {
    let mut record = Map::new();
    for metric in [Metric::Loss, Metric::GradNorm, Metric::LearningRate, Metric::Tokens] {
        if let Some(printed) = row.get(&metric) {
            put(&mut record, metric.name(), printed);
        }
    }
    let told = !record.is_empty();
    record.insert("step".to_owned(), row.step.into());
    told.then_some(record)
}

/// The timing values of rows, by step.
fn timing_records(run: &LoggedRun) -> Vec<Map<String, Json>> {
    let mut rows: Vec<_> = run.training.iter().chain(&run.evaluations).collect();
    rows.sort_by_key(|row| row.step);
    let mut records = Vec::new();
    for row in rows {
        let mut record = Map::new();
        for (metric, printed) in row.cells.iter().filter(|(metric, _)| metric.is_time()) {
            put(&mut record, metric.name(), printed);
        }
        if !record.is_empty() {
            record.insert("step".to_owned(), row.step.into());
            records.push(record);
        }
    }
    records
}

/// The evaluation of a row.
fn evaluation(row: &LogRow, run: &LoggedRun) -> Map<String, Json> {
    let mut record = Map::new();
    let is_free = |name: &str| !RESERVED.contains(&name) && name != "nonfinite";
    for (metric, printed) in &row.cells {
        if let Some(theirs) = run.theirs.get(metric).filter(|theirs| is_free(theirs)) {
            put(&mut record, theirs, printed);
        }
        match metric {
            Metric::ValidationLoss => put(&mut record, "loss", printed),
            Metric::Tokens => put(&mut record, "tokens_seen", printed),
            Metric::Other(name) if is_free(name) => put(&mut record, name, printed),
            _ => {}
        }
    }
    record.insert("step".to_owned(), row.step.into());
    record
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::{ImportOptions, LogFormat, read};
    use repro_core::disk::trial::{DiskFault, Trial, tree};

    fn printed(text: &str) -> LogNumber {
        LogNumber::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn numbers_keep_their_value_or_become_strings() {
        for (text, wanted) in [
            ("3.2790", json!(3.279)),
            ("7", json!(7)),
            ("-7", json!(-7)),
            ("9007199254740993", json!("9007199254740993")),
            ("123456789012345678901234567890", json!("123456789012345678901234567890")),
            ("8.1e+16", json!("8.1e+16")),
            ("1e-300", json!(1e-300)),
        ] {
            assert_eq!(number(&printed(text)), Some(wanted), "{text}");
        }
        let mut record = Map::new();
        put(&mut record, "loss", &printed("nan"));
        put(&mut record, "grad_norm", &printed("inf"));
        assert_eq!(Json::Object(record), json!({"nonfinite": "nan"}));
    }

    #[test]
    fn evaluations_keep_the_names_of_their_metrics() {
        let cells = |cells: Vec<(Metric, &str)>| {
            let row = cells.into_iter().map(|(metric, text)| (metric, printed(text))).collect();
            LogRow { step: 5, cells: row }
        };
        let identity = crate::import::Identity { sha256: None, bytes: 0 };
        let mut run = LoggedRun::new("f", identity, Digest::of(b""));
        let other = |name: &str| Metric::Other(name.into());
        let row = cells(vec![
            (Metric::ValidationLoss, "3.2790"),
            (other("eval/wer"), "0.10"),
            (other("bpb"), "1"),
        ]);
        let told = |run: &LoggedRun| Json::Object(evaluation(&row, run));
        assert_eq!(told(&run), json!({"step": 5, "loss": 3.279, "eval/wer": 0.1}));
        run.theirs.insert(Metric::ValidationLoss, "eval/loss".into());
        assert_eq!(
            told(&run),
            json!({"step": 5, "loss": 3.279, "eval/loss": 3.279, "eval/wer": 0.1})
        );
    }

    #[test]
    fn whatever_stops_an_import_the_next_one_ends_it() {
        let logs = tempfile::tempdir().unwrap();
        for (name, loss) in [("a", "2.5"), ("b", "2.25")] {
            let text = format!("{{\"step\":1,\"loss\":{loss},\"val_loss\":{loss}}}\n");
            fs::write(logs.path().join(name).with_extension("jsonl"), text).unwrap();
        }
        let options = ImportOptions { hashed: true, threads: 1, ..ImportOptions::default() };
        let import = read(Some(LogFormat::Jsonl), &[logs.path().to_owned()], &options);
        let names: Vec<_> = import.runs().map(|(_, run)| run.name.clone()).collect();
        assert_eq!((names.len(), &*import.failures), (2, &[][..]));
        let load = |root: &Path, name: &str| {
            let path = root.join("out").join(name);
            path.exists().then(|| Bundle::load_folder(&path, name, None, 1).unwrap())
        };
        let trial = Trial {
            faults: &DiskFault::ALL,
            prepare: &|_| {},
            work: &|disk, root| match write_on(disk, &import, &root.join("out"), false, 1) {
                // The earlier import was killed when all bundles were complete; this one named them.
                Err(errors)
                    if errors.iter().all(|error| error.code.id == "import::existing-bundle") =>
                {
                    assert_eq!(errors.len(), names.len());
                    Ok(())
                }
                written => written.map(drop).map_err(|errors| format!("{errors:?}")),
            },
            check: &|root| names.iter().for_each(|name| drop(load(root, name))),
            // A deleted hidden folder may reappear after a power failure; the next import removes it.
            outcome: &|root| {
                let mut files = tree(&root.join("out"));
                files.retain(|name, _| !name.starts_with(".import"));
                files
            },
        };
        let (trials, falls) = (trial.faults(), trial.power(20));
        assert!(trials > 300 && falls > 40, "{trials} {falls}");
    }
}
