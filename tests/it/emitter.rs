//! The Python emitter against the Rust writer: shared vectors, any float, a whole bundle file by file, a
//! killed run, and the emitter's own tests. Without `python3` what needs it is skipped, and says so.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Map, Value as Json, json};

use repro_bundle::bundle::{Bundle, BundleWriter, Chain, METRICS, Receipt, Unfinished};
use repro_core::digest::{Digest, NotCanonical, canonical};
use repro_core::source::{Document, Source};
use repro_replay::evaluate::Evaluation;
use repro_replay::{TensorData, TensorFile};
use repro_stats::rng::Rng;

use crate::shared::say_skipped;

const PYTHON: &str = "scripts/python";

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn vectors(name: &str) -> Json {
    let text = fs::read(root("tests/corpus/emitter").join(format!("{name}.json"))).unwrap();
    serde_json::from_slice(&text).unwrap()
}

fn each(vectors: &Json) -> impl Iterator<Item = &Json> {
    vectors.as_array().unwrap().iter()
}

fn text<'a>(value: &'a Json, field: &str) -> &'a str {
    value[field].as_str().unwrap()
}

/// The text that the emitter has to write for a number: the canonical one, or digits in a string where
/// canonical JSON has none.
fn number(value: &Json, digits: String) -> String {
    match canonical(value) {
        Ok(text) => text,
        Err(NotCanonical::InexactInteger(_)) => format!("\"{digits}\""),
        Err(error) => panic!("{error}"),
    }
}

/// `Display` writes the shortest digits that give the float again, and never an exponent.
fn float(value: f64) -> String {
    number(&json!(value), value.to_string())
}

#[test]
fn numbers_have_one_text() {
    for vector in each(&vectors("numbers")) {
        let found = match vector["bits"].as_str() {
            Some(bits) => float(f64::from_bits(u64::from_str_radix(bits, 16).unwrap())),
            None => {
                let digits = text(vector, "integer");
                let signed = digits.parse::<i64>().map(|integer| json!(integer));
                let known = signed.or_else(|_| digits.parse::<u64>().map(|integer| json!(integer)));
                known.map_or(format!("\"{digits}\""), |value| number(&value, digits.to_owned()))
            }
        };
        assert_eq!(found, text(vector, "text"), "{vector}");
    }
}

#[test]
fn values_have_one_text() {
    for vector in each(&vectors("values")) {
        assert_eq!(canonical(&vector["value"]).unwrap(), text(vector, "text"));
    }
}

/// A float of a vector, or the word for what is none.
fn nats(value: &Json) -> f64 {
    value.as_f64().unwrap_or_else(|| value.as_str().unwrap().parse().unwrap())
}

fn evaluation(sums: &Json) -> Map<String, Json> {
    let count = |field: &str| sums[field].as_u64().unwrap();
    let found = Evaluation {
        nats: nats(&sums["nats"]),
        predicted_tokens: count("predicted_tokens"),
        bytes: count("bytes"),
        blocks: each(&sums["blocks"]).map(nats).collect(),
        loads: Vec::new(),
    };
    found.record(count("step"), count("tokens_seen"))
}

#[test]
fn evaluations_have_one_text() {
    for vector in each(&vectors("evaluations")) {
        let record = Json::Object(evaluation(&vector["sums"]));
        assert_eq!(canonical(&record).unwrap(), text(vector, "text"));
    }
}

fn words(entry: &Json) -> Vec<u32> {
    let hex = text(entry, "hex").as_bytes().chunks(8);
    let word = |hex| u32::from_str_radix(std::str::from_utf8(hex).unwrap(), 16).unwrap();
    hex.map(word).map(u32::swap_bytes).collect()
}

fn tensor(entry: &Json) -> TensorData {
    let shape: Vec<_> = each(&entry["shape"]).map(|size| size.as_u64().unwrap() as usize).collect();
    let words = words(entry);
    match text(entry, "dtype") {
        "F32" => {
            let values: Vec<_> = words.into_iter().map(f32::from_bits).collect();
            TensorData::floats(&shape, &values)
        }
        _ => TensorData::numbers(&shape, &words),
    }
}

fn tensors(entries: &Json, prefix: &str) -> BTreeMap<String, TensorData> {
    let entries = entries.as_object().unwrap().iter();
    entries.map(|(name, entry)| (format!("{prefix}{name}"), tensor(entry))).collect()
}

#[test]
fn tensors_have_one_file() {
    for vector in each(&vectors("tensors")) {
        let metadata = serde_json::from_value(vector["metadata"].clone()).unwrap();
        let file = TensorFile { tensors: tensors(&vector["tensors"], ""), metadata };
        assert_eq!(Digest::of(&file.write()).to_string(), text(vector, "sha256"));
        assert_eq!(file.tensors_digest().to_string(), text(vector, "tensors_sha256"));
    }
}

/// A file of the bundle that the vector describes, as the emitter is told to write it.
fn checkpoint(point: &Json, arithmetic: &str) -> TensorFile {
    let mut file = TensorFile { tensors: tensors(&point["weights"], ""), ..TensorFile::default() };
    for (name, moments) in point["optimizer"].as_object().unwrap() {
        for (letter, field) in [("m", "exp_avg"), ("v", "exp_avg_sq")] {
            file.tensors.insert(format!("optimizer.{letter}.{name}"), tensor(&moments[field]));
        }
    }
    let step = point["step"].to_string();
    for (key, value) in [("arithmetic", arithmetic), ("rng", text(point, "rng")), ("step", &step)] {
        file.metadata.insert(key.to_owned(), value.to_owned());
    }
    file
}

/// A line of a slice: the digest of a tensor after it, and how far it went.
fn moved(name: &str, pair: &Json) -> Json {
    let [before, after] = [0, 1].map(|at| tensor(&pair[at]).as_floats().unwrap());
    let distances = before.iter().zip(&after).map(|(b, a)| f64::from(*a) - f64::from(*b));
    let bytes: Vec<u8> = after.iter().flat_map(|value| value.to_le_bytes()).collect();
    json!({
        "name": name,
        "sha256_after": Digest::of(&bytes).to_string(),
        "update_norm": distances.map(|distance| distance * distance).sum::<f64>().sqrt(),
    })
}

fn with(table: &Json, more: &[(&str, Json)]) -> Map<String, Json> {
    let mut table = table.as_object().unwrap().clone();
    table.extend(more.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
    table
}

/// Writes the checkpoints of the vector and answers what the receipt says of them.
fn checkpoints(vector: &Json, writer: &mut BundleWriter, evaluated: &str) -> Vec<Json> {
    let arithmetic = text(&vector["init"]["trainer"], "arithmetic");
    let mut points = Vec::new();
    for point in each(&vector["checkpoints"]) {
        let file = checkpoint(point, arithmetic);
        let step = point["step"].as_u64().unwrap();
        let mut entry = json!({
            "step": step,
            "tokens_seen": point["tokens_seen"],
            "weights_sha256": Digest::of(&file.write()).to_string(),
            "tensors_sha256": file.tensors_digest().to_string(),
        });
        if point["keep"] == true {
            let name = format!("data/checkpoints/step-{step:06}.safetensors");
            writer.file(&name, &file.write()).unwrap();
            entry["weights"] = json!(name);
        }
        if evaluated.contains(&format!("{step:06}")) {
            entry["evaluation"] = json!(evaluated);
        }
        points.push(entry);
    }
    points
}

/// Writes the slice of the vector and answers what the receipt says of it.
fn slice(part: &Json, writer: &mut BundleWriter) -> Json {
    let from = part["from_step"].as_u64().unwrap();
    let name = format!("data/slices/slice-{from:06}.safetensors");
    let mut file =
        TensorFile { tensors: tensors(&part["logged"], "logged."), ..TensorFile::default() };
    file.tensors.insert("tokens".into(), tensor(&part["tokens"]));
    writer.file(&name, &file.write()).unwrap();
    let tensors = part["tensors"].as_object().unwrap().iter();
    let lines: String =
        tensors.map(|(name, pair)| canonical(&moved(name, pair)).unwrap() + "\n").collect();
    let beside = name.replace(".safetensors", ".tensors.jsonl");
    writer.file(&beside, lines.as_bytes()).unwrap();
    let steps = part["tokens"]["shape"][0].clone();
    json!({"from_step": from, "checkpoint_step": from, "steps": steps, "file": name, "seconds": part["seconds"]})
}

/// The bundle of the vector, written by the Rust writer.
fn write_vector_bundle(vector: &Json, folder: &Path) -> Digest {
    let mut writer = BundleWriter::create(folder).unwrap();
    let init = &vector["init"];
    writer.json("data/config.json", &init["config"]).unwrap();
    let (mut chain, mut records, mut times) = (Chain::default(), String::new(), String::new());
    for call in each(&vector["records"]) {
        let more = [("step", call["step"].clone()), ("tokens", call["tokens"].clone())];
        records += &chain.extend(with(&call["metrics"], &more)).unwrap();
    }
    for call in each(&vector["timing"]) {
        let record = Json::Object(with(&call["values"], &[("step", call["step"].clone())]));
        times += &(canonical(&record).unwrap() + "\n");
    }
    writer.file(METRICS, records.as_bytes()).unwrap();
    writer.file("data/timing.jsonl", times.as_bytes()).unwrap();
    let sums = &vector["evaluation"];
    let evaluated = format!("data/evaluation/step-{:06}.json", sums["step"].as_u64().unwrap());
    writer.json(&evaluated, &Json::Object(evaluation(sums))).unwrap();
    let seeds = init["seeds"].as_object().unwrap().iter();
    let seeds: Map<_, _> =
        seeds.map(|(key, seed)| (key.clone(), json!(seed.to_string()))).collect();
    let mut predicate = json!({
        "schema": "repro.receipt/1",
        "origin": "emitted",
        "run": {"id": init["name"], "study": init["study"], "arm": init["arm"], "finished": true},
        "seeds": seeds,
        "checkpoints": checkpoints(vector, &mut writer, &evaluated),
        "slices": [slice(&vector["slice"], &mut writer)],
    });
    for section in ["trainer", "model", "data", "contract", "environment", "extra"] {
        predicate[section] = init[section].clone();
    }
    let source = Source::new("receipt", predicate.to_string().into_bytes()).unwrap();
    let document = Document::parse_json(source).unwrap();
    writer.finish(&Receipt::parse(document.root()).unwrap()).unwrap()
}

/// The files below a folder with their bytes.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for path in fs::read_dir(next).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_owned();
                found.insert(name, fs::read(path).unwrap());
            }
        }
    }
    found
}

/// A Python that runs `program` with the emitter at hand; none where there is no Python.
fn python(test: &str, program: &str) -> Option<Command> {
    let there = Command::new("python3").arg("--version").output();
    if there.is_ok_and(|output| output.status.success()) {
        let mut command = Command::new("python3");
        command.args(["-c", program]).env("PYTHONPATH", root(PYTHON));
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        for rank in ["RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"] {
            command.env_remove(rank);
        }
        return Some(command);
    }
    assert!(std::env::var_os("REPRO_REQUIRE_SHARED").is_none(), "python3 is required");
    say_skipped(test, "there is no python3");
    None
}

#[test]
fn a_bundle_has_the_same_bytes_from_both_writers() {
    let vector = vectors("bundle");
    let temporary = tempfile::tempdir().unwrap();
    let name = text(&vector["init"], "name");
    let ours = temporary.path().join("ours").join(name);
    let digest = write_vector_bundle(&vector, &ours);
    assert_eq!(digest.prefixed(), text(&vector, "digest"));
    let program = "import sys, test_repro_receipts as t; print(t.write_vector_bundle(sys.argv[1]))";
    let Some(mut emitter) = python("a bundle from both writers", program) else { return };
    let output = emitter.arg(temporary.path().join("theirs")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said.trim(), digest.prefixed(), "{}", String::from_utf8_lossy(&output.stderr));
    let theirs = temporary.path().join("theirs").join(name);
    Bundle::load_folder(&theirs, name, Some(&digest), 2).unwrap();
    let (ours, theirs) = (files(&ours), files(&theirs));
    assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>());
    for (name, bytes) in &ours {
        assert!(theirs[name] == *bytes, "{}", name.display());
    }
}

#[test]
fn settings_are_those_of_the_program() {
    let listed = Command::new(env!("CARGO_BIN_EXE_repro"))
        .args(["explain", "--list", "settings", "--format", "json"])
        .output()
        .unwrap();
    let program = "import json, sys, make_settings as m; sys.stdout.write(m.made(json.load(open(sys.argv[1]))))";
    let Some(mut made) = python("settings of the emitter", program) else { return };
    let temporary = tempfile::tempdir().unwrap();
    let settings = temporary.path().join("settings.json");
    fs::write(&settings, &listed.stdout).unwrap();
    let output = made.arg(&settings).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("'hidden_size'"), "{}", String::from_utf8_lossy(&output.stderr));
    let kept = fs::read_to_string(root(PYTHON).join("repro_receipts/_settings.py")).unwrap();
    assert!(
        said == kept,
        "`repro explain --list settings --format json | scripts/python/make_settings.py` writes another"
    );
}

/// Floats of every exponent, around the powers of ten and of two, as losses look, and of any bits.
fn floats() -> Vec<f64> {
    let mut rng = Rng::new(5, "floats of the emitter");
    let mut floats = Vec::new();
    for exponent in 0..2047_u64 {
        let random = rng.word();
        for mantissa in [0, 1, (1 << 52) - 1, random >> 12] {
            floats.push(f64::from_bits((random >> 63) << 63 | exponent << 52 | mantissa));
        }
    }
    for power in -324..309 {
        let ten: f64 = format!("1e{power}").parse().unwrap();
        for around in -3_i64..=3 {
            floats.push(f64::from_bits(ten.to_bits().saturating_add_signed(around)));
        }
    }
    for _ in 0..40_000 {
        let random = rng.word();
        floats.push(f64::from_bits(random));
        floats.push(f64::from(f32::from_bits((random >> 32) as u32)));
        floats.push(f64::from((random >> 40) as u32) / 1000.0);
    }
    floats.retain(|float| float.is_finite());
    floats
}

#[test]
fn any_float_has_one_text() {
    let program = "import struct, sys\nfrom repro_receipts import canonical\n\
                   for line in sys.stdin: print(canonical(struct.unpack('>d', bytes.fromhex(line))[0]))";
    let Some(mut emitter) = python("any float", program) else { return };
    let floats = floats();
    assert!(floats.len() > 100_000, "{}", floats.len());
    let mut child = emitter.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let bits: String = floats.iter().map(|float| format!("{:016x}\n", float.to_bits())).collect();
    let feeder = std::thread::spawn(move || input.write_all(bits.as_bytes()).unwrap());
    let mut output = String::new();
    child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
    feeder.join().unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(output.lines().count(), floats.len());
    for (value, line) in floats.iter().zip(output.lines()) {
        assert_eq!(float(*value), line, "{:016x}", value.to_bits());
    }
}

/// Waits until a process has printed its first line.
fn started(child: &mut Child) {
    let mut byte = [0];
    child.stdout.as_mut().unwrap().read_exact(&mut byte).unwrap();
}

#[test]
fn a_killed_run_reads_as_unfinished_until_it_is_whole() {
    let program = "import sys, repro_receipts as receipts\nprint('ready', flush=True)\n\
        run = receipts.init('run', sys.argv[1], config={'a': 1}, trainer={'name': 't'}, seeds={'init': 1})\n\
        for step in range(1, 60):\n\
        \x20   run.log({'loss': 1 / step}, step=step)\n\
        \x20   if step % 15 == 0: run.checkpoint(step, {'w': ('F32', (4000,), bytes(16000))})\n\
        run.finish()";
    let temporary = tempfile::tempdir().unwrap();
    let (mut spent, mut rng) = (Duration::MAX, Rng::new(9, "kills of the emitter"));
    let (mut unfinished, mut whole) = (0, 0);
    for attempt in 0..20 {
        let Some(mut emitter) = python("a killed run", program) else { return };
        let path = temporary.path().join(attempt.to_string());
        let mut child = emitter.arg(&path).stdout(Stdio::piped()).spawn().unwrap();
        started(&mut child);
        let start = Instant::now();
        if attempt > 0 {
            std::thread::sleep(spent.mul_f64(rng.unit()));
            child.kill().unwrap();
        }
        // Kills are drawn from the time of the quickest whole run, however loaded the machine was at first.
        if child.wait().unwrap().success() {
            spent = spent.min(start.elapsed());
        }
        let folder = path.join("run");
        match Bundle::load_folder(&folder, "run", None, 1) {
            Ok(bundle) => {
                assert_eq!(bundle.receipt().finished(), Some(true));
                whole += 1;
            }
            Err(error) if error.code.id == "bundle::unfinished" => {
                assert!(Unfinished::load(&folder, "run").unwrap().records.lines < 60);
                unfinished += 1;
            }
            // Killed before there was a folder to speak of.
            Err(error) => assert!(!folder.join("data").exists(), "{error}"),
        }
    }
    assert!(unfinished > 3 && whole > 0, "{unfinished} unfinished, {whole} whole");
}

#[test]
fn the_tests_of_the_emitter_pass() {
    let program = "import sys, unittest; unittest.main(None, argv=sys.argv[:1] + ['test_repro_receipts', 'test_resume', 'test_program', 'test_build'])";
    let Some(mut tests) = python("the tests of the emitter", program) else { return };
    let output = tests.env("REPRO_BIN", env!("CARGO_BIN_EXE_repro")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
