//! MLPerf Training result logs: lines that contain `:::MLLOG` and a JSON record; other lines are ignored.

use std::io::Read;

use memchr::memmem;
use serde_json::{Map, Value as Json, json};

use super::jsonl::document;
use super::log::{Log, LogLine};
use super::run::{LogNumber, LogRow, LoggedRun, Metric};
use super::scoring::rule;
use super::timed::{ProgressUnit, Timed};
use super::{
    BAD_RECORD, LONG_LINE, NO_METRICS, NO_RECORD, NOT_CONVERGED, STEPS_GO_BACK, TARGET_MISSED,
    TORN_LINE, TWO_RECORDS,
};
use repro_core::digest::Hasher;
use repro_core::source::{Document, Error, Kind, Location, Node};

/// The prefix of each record.
const TOKEN: &[u8] = b":::MLLOG ";
/// The units that distinguish evaluations, in order of preference.
const PROGRESS: [(&str, ProgressUnit); 3] = [
    ("samples_count", ProgressUnit::Samples),
    ("epoch_num", ProgressUnit::Epochs),
    ("step_num", ProgressUnit::Steps),
];

/// Reads one log.
pub fn parse<R: Read>(mut log: Log<R>) -> Result<LoggedRun, Error> {
    let name = log.name().to_owned();
    let finder = memmem::Finder::new(TOKEN);
    let mut reader = Reader::default();
    let mut torn = None;
    while let Some(line) = log.next_line()? {
        let Some(at) = finder.find(line.bytes) else { continue };
        if line.cut {
            return Err(LONG_LINE.at(line.place(&name), "a line of at most 64 KiB", "more"));
        }
        let start = at + TOKEN.len();
        let bytes = line.bytes.get(start..).unwrap_or_default();
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let column =
            String::from_utf8_lossy(line.bytes.get(..start).unwrap_or_default()).chars().count();
        let record = document(&name, LogLine { bytes, ..line });
        // The location refers to the line, not to the record alone.
        let shift = |error: Error| {
            let inside = error.place.clone();
            let (line, column) = (line.place(&name), inside.column + column);
            error.moved(Location { column, length: inside.length, pointer: inside.pointer, ..line })
        };
        match record {
            Ok(record) => {
                reader.take(&record, bytes, || line.place(&name)).map_err(shift)?;
            }
            Err(error) if line.ended => return Err(shift(error)),
            Err(error) => torn = Some(shift(error).place.clone()),
        }
    }
    let identity = log.finish()?;
    let mut run = LoggedRun::new(&name, identity, std::mem::take(&mut reader.hasher).finish());
    reader.finish(&mut run)?;
    if let Some(place) = torn {
        run.note(TORN_LINE.at(place, "a complete last line", "a truncated line"));
    }
    Ok(run)
}

/// One value of an evaluation.
struct Evaluation {
    time: u64,
    /// The metric, if the benchmark has several: `FID` and `CLIP`.
    metric: Option<String>,
    value: LogNumber,
    progress: Vec<(&'static str, ProgressUnit, LogNumber)>,
    place: Location,
}

/// The records so far.
#[derive(Default)]
struct Reader {
    records: usize,
    settings: Map<String, Json>,
    started: Option<u64>,
    stopped: Option<(u64, String)>,
    evaluations: Vec<Evaluation>,
    hasher: Hasher,
}

impl Reader {
    fn take(
        &mut self,
        record: &Document,
        bytes: &[u8],
        here: impl Fn() -> Location,
    ) -> Result<(), Error> {
        let root = record.root();
        let key = root.required("key")?;
        let time = root.required("time_ms")?.integer()?;
        self.records += 1;
        self.hasher.update(bytes);
        self.hasher.update(b"\n");
        match key.text()? {
            "run_start" => {
                let before = self.started.replace(time);
                if before.is_some() {
                    return Err(TWO_RECORDS.at(key.place(), "one `run_start`", "a second one"));
                }
            }
            "run_stop" => {
                let status = root.required("metadata")?.required("status")?.text()?;
                let before = self.stopped.replace((time, status.to_owned()));
                if before.is_some() {
                    return Err(TWO_RECORDS.at(key.place(), "one `run_stop`", "a second one"));
                }
            }
            "eval_accuracy" | "eval_error" => self.evaluation(root, time, here())?,
            name if self.started.is_none() => self.setting(name, root),
            _ => {}
        }
        Ok(())
    }

    /// Records before the start of the run describe how it was made.
    fn setting(&mut self, name: &str, root: Node<'_>) {
        let Some(value) = root.get("value") else { return };
        let json = match &value.value().kind {
            Kind::Number(text) => {
                let whole = text.parse::<u64>().ok().map(Json::from);
                whole.or_else(|| text.parse::<f64>().ok().map(Json::from))
            }
            Kind::Text(text) => Some(Json::from(&**text)),
            _ => None,
        };
        if let Some(json) = json.filter(|_| !self.settings.contains_key(name)) {
            self.settings.insert(name.to_owned(), json);
        }
    }

    fn evaluation(&mut self, root: Node<'_>, time: u64, place: Location) -> Result<(), Error> {
        let told = |node: Node<'_>| -> Result<LogNumber, Error> {
            let text = node.printed()?;
            LogNumber::parse(text.as_bytes())
                .ok_or_else(|| BAD_RECORD.at(node.place(), "a number", format!("`{text}`")))
        };
        let value = root.required("value")?;
        let metadata = root.required("metadata")?;
        let mut progress = Vec::new();
        for (name, measure) in PROGRESS {
            if let Some(node) = metadata.get(name) {
                progress.push((name, measure, told(node)?));
            }
        }
        if progress.is_empty() {
            let expected = "`samples_count`, `epoch_num` or `step_num` in each evaluation";
            return Err(NO_RECORD.at(metadata.place(), expected, "none"));
        }
        let named = metadata.get("metric").map(Node::text).transpose()?;
        let values = match value.members() {
            Ok(members) => members.map(|(name, value)| (Some(name), value)).collect(),
            Err(_) => vec![(named, value)],
        };
        for (metric, value) in values {
            let (metric, value) = (metric.map(str::to_owned), told(value)?);
            let (progress, place) = (progress.clone(), place.clone());
            self.evaluations.push(Evaluation { time, metric, value, progress, place });
        }
        Ok(())
    }

    fn finish(self, run: &mut LoggedRun) -> Result<(), Error> {
        let file = run.file.clone();
        let place = || Location::file(file.as_str());
        if self.records == 0 {
            let found = if run.identity.bytes == 0 { "an empty file" } else { "no such line" };
            return Err(NO_METRICS.at(place(), "lines with `:::MLLOG {…}`", found));
        }
        let absent = |what: &str| NO_RECORD.at(place(), format!("`{what}`"), "no such record");
        let text = |key: &str| self.settings.get(key).and_then(Json::as_str).map(str::to_owned);
        let benchmark =
            text("submission_benchmark").ok_or_else(|| absent("submission_benchmark"))?;
        let batch = self
            .settings
            .get("global_batch_size")
            .and_then(Json::as_u64)
            .filter(|batch| *batch > 0);
        let batch = batch.ok_or_else(|| absent("global_batch_size"))?;
        let started = self.started.ok_or_else(|| absent("run_start"))?;
        let status = self.stopped.as_ref().map(|(_, status)| status.as_str());
        let stopped = self.stopped.as_ref().map(|(time, _)| *time);
        if let Some(stopped) = stopped.filter(|stopped| *stopped < started) {
            let expected = format!("`run_stop` at or after `run_start`, {started}");
            return Err(BAD_RECORD.at(place(), expected, stopped.to_string()));
        }
        let progress = self.evaluations.last().map_or(&[][..], |last| &last.progress);
        let amount = |(_, measure, number): &(&str, ProgressUnit, LogNumber)| {
            Some((*measure, number.value()?))
        };
        let converged: Vec<_> = progress.iter().filter_map(amount).collect();
        let success = status == Some("success");
        run.timed = Some(Timed {
            benchmark: benchmark.clone(),
            organisation: text("submission_org"),
            platform: text("submission_platform"),
            batch,
            milliseconds: stopped.map(|stopped| stopped - started),
            success,
            converged,
        });
        if !success {
            let found = status.map_or("no `run_stop`".to_owned(), |status| format!("`{status}`"));
            run.exclude(NOT_CONVERGED.at(place(), "`run_stop` with the status `success`", found));
        } else {
            self.target(&benchmark, run);
        }
        self.rows(batch, started, run)?;
        run.seed = match self.settings.get("seed") {
            Some(Json::String(seed)) => Some(seed.clone()),
            Some(seed) => Some(seed.to_string()),
            None => None,
        };
        run.extra.insert(
            "result".to_owned(),
            json!({
                "status": status,
                "run_start_ms": started,
                "run_stop_ms": stopped,
                "duration_ms": stopped.map(|stopped| stopped - started),
            }),
        );
        run.config = self.settings;
        Ok(())
    }

    /// Checks that the last evaluation of a successful run meets each target of its benchmark.
    fn target(&self, benchmark: &str, run: &mut LoggedRun) {
        for (metric, target) in rule(benchmark).map_or(&[][..], |rule| rule.targets) {
            let is_of = |evaluation: &&Evaluation| {
                metric.is_empty() || evaluation.metric.as_deref() == Some(*metric)
            };
            let last = self.evaluations.iter().rev().find(is_of);
            let value = last.and_then(|last| last.value.value());
            if value.is_some_and(|value| target.is_met(value)) {
                continue;
            }
            let found =
                last.map_or("no evaluation".to_owned(), |last| last.value.text().to_owned());
            let place =
                last.map_or_else(|| Location::file(run.file.as_str()), |last| last.place.clone());
            let expected = match metric.is_empty() {
                true => format!("a last evaluation {target}"),
                false => format!("a last {metric} {target}"),
            };
            run.exclude(TARGET_MISSED.at(place, expected, found));
        }
    }

    /// The evaluations as rows by step, if the log has steps.
    fn rows(&self, batch: u64, started: u64, run: &mut LoggedRun) -> Result<(), Error> {
        for evaluation in &self.evaluations {
            let whole = |measure: ProgressUnit| {
                let (_, _, number) =
                    evaluation.progress.iter().find(|(_, other, _)| *other == measure)?;
                number.text().parse::<u64>().ok()
            };
            let from_samples = whole(ProgressUnit::Samples).filter(|samples| samples % batch == 0);
            let Some(step) =
                from_samples.map(|samples| samples / batch).or_else(|| whole(ProgressUnit::Steps))
            else {
                continue;
            };
            let name =
                Metric::Other(evaluation.metric.as_deref().unwrap_or("eval_accuracy").into());
            // Several metrics of one evaluation form one row.
            if let Some(last) = run.evaluations.last_mut()
                && last.step == step
                && last.get(&name).is_none()
            {
                last.cells.push((name, evaluation.value.clone()));
                continue;
            }
            if run.evaluations.last().is_some_and(|last| last.step >= step) {
                let expected = "later evaluations at later steps";
                return Err(STEPS_GO_BACK.at(
                    evaluation.place.clone(),
                    expected,
                    format!("step {step}"),
                ));
            }
            let mut cells = vec![(name, evaluation.value.clone())];
            for (name, _, number) in &evaluation.progress {
                cells.push((Metric::Other((*name).into()), number.clone()));
            }
            let passed = evaluation.time.saturating_sub(started);
            let seconds = format!("{}.{:03}", passed / 1000, passed % 1000);
            cells.extend(
                LogNumber::parse(seconds.as_bytes()).map(|seconds| (Metric::Seconds, seconds)),
            );
            run.evaluations.push(LogRow { step, cells });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<LoggedRun, Error> {
        parse(Log::new(text.as_bytes(), "result_0.txt", true))
    }

    fn record(time: u64, key: &str, value: &str, metadata: &str) -> String {
        format!(
            ":::MLLOG {{\"namespace\": \"\", \"time_ms\": {time}, \"event_type\": \"X\", \"key\": \"{key}\", \"value\": {value}, \"metadata\": {{{metadata}}}}}\n"
        )
    }

    fn log(status: &str, accuracy: &str) -> Vec<String> {
        vec![
            record(1, "submission_benchmark", "\"llama2_70b_lora\"", ""),
            record(2, "seed", "17", ""),
            record(3, "global_batch_size", "8", ""),
            record(4, "opt_base_learning_rate", "0.0004", ""),
            record(1000, "run_start", "null", ""),
            "noise\n".to_owned(),
            format!("0: {}", record(31_000, "eval_accuracy", "0.95", "\"samples_count\": 1536")),
            record(61_000, "eval_accuracy", accuracy, "\"samples_count\": 1920"),
            record(61_001, "run_stop", "null", &format!("\"status\": \"{status}\"")),
        ]
    }

    #[test]
    fn a_log_is_times_and_evaluations() {
        let run = read(&log("success", "0.9250").concat()).unwrap();
        let timed = run.timed.as_ref().unwrap();
        assert_eq!((timed.milliseconds, timed.success, timed.batch), (Some(60_001), true, 8));
        assert_eq!(timed.converged, [(ProgressUnit::Samples, 1920.0)]);
        let steps: Vec<_> = run.evaluations.iter().map(|row| row.step).collect();
        assert_eq!(steps, [192, 240]);
        let accuracy = Metric::Other("eval_accuracy".into());
        assert_eq!(run.evaluations[1].get(&accuracy).unwrap().text(), "0.9250");
        assert_eq!(run.evaluations[1].get(&Metric::Seconds).unwrap().text(), "60.000");
        assert_eq!(
            (run.seed.as_deref(), &run.config["opt_base_learning_rate"]),
            (Some("17"), &json!(0.0004))
        );
        assert!(run.findings.is_empty());
    }

    #[test]
    fn a_benchmark_may_have_several_metrics() {
        let evaluated = |fid: &str, clip: &str| {
            let mut lines = log("success", "0.92");
            lines[0] = record(1, "submission_benchmark", "\"stable_diffusion\"", "");
            lines[6] =
                record(31_000, "eval_error", fid, "\"samples_count\": 1536, \"metric\": \"FID\"");
            lines[7] = record(
                32_000,
                "eval_accuracy",
                clip,
                "\"samples_count\": 1536, \"metric\": \"CLIP\"",
            );
            read(&lines.concat()).unwrap()
        };
        let run = evaluated("88.5", "0.151");
        let row = &run.evaluations[0];
        let told = |name: &str| row.get(&Metric::Other(name.into())).unwrap().text();
        assert_eq!((run.evaluations.len(), told("FID"), told("CLIP")), (1, "88.5", "0.151"));
        assert!(run.findings.is_empty());
        let missed = evaluated("90.5", "0.151");
        assert_eq!(missed.findings[0].error.expected, "a last FID of at most 90");
        let mut lines = log("success", "{\"BBOX\": 0.38, \"SEGM\": 0.3}");
        lines[0] = record(1, "submission_benchmark", "\"maskrcnn\"", "");
        let run = read(&lines.concat()).unwrap();
        assert_eq!(run.findings[0].error.expected, "a last SEGM of at least 0.339");
    }

    #[test]
    fn runs_that_miss_their_target_do_not_count() {
        for (status, accuracy, code) in [
            ("aborted", "0.93", "import::not-converged"),
            ("success", "0.9251", "import::target-missed"),
            ("success", "\"NaN\"", "import::target-missed"),
        ] {
            let run = read(&log(status, accuracy).concat()).unwrap();
            assert_eq!((run.counts(), run.findings[0].error.code.id), (false, code));
            let line = if code == "import::target-missed" { 8 } else { 0 };
            assert_eq!(run.findings[0].error.place.line, line);
        }
        let unfinished = read(&log("success", "0.92")[..8].concat()).unwrap();
        assert_eq!(unfinished.findings[0].error.found, "no `run_stop`");
    }

    #[test]
    fn broken_records_are_refused_with_their_place() {
        let with = |at: usize, line: &str| {
            let mut lines = log("success", "0.92");
            lines[at] = line.to_owned();
            read(&lines.concat()).unwrap_err()
        };
        for (at, line, code, number, column) in [
            (1, ":::MLLOG {\"key\": \"seed\"\n", "source::syntax", 2, 23),
            (1, "x :::MLLOG {\"key\": 5, \"time_ms\": 1}\n", "source::wrong-type", 2, 20),
            (1, ":::MLLOG {\"key\": \"a\", \"key\": \"b\"}\n", "source::duplicate-key", 2, 23),
            (1, ":::MLLOG {\"key\": \"seed\", \"time_ms\": -4}\n", "source::wrong-type", 2, 37),
            (
                6,
                ":::MLLOG {\"key\": \"eval_accuracy\", \"time_ms\": 5, \"value\": 1, \"metadata\": {}}\n",
                "import::no-record",
                7,
                73,
            ),
            (5, &*record(1001, "run_start", "null", ""), "import::two-records", 6, 71),
            (
                8,
                ":::MLLOG {\"key\": \"run_stop\", \"time_ms\": 5, \"metadata\": {}}\n",
                "source::missing-field",
                9,
                56,
            ),
            (0, "", "import::no-record", 0, 0),
            (2, "", "import::no-record", 0, 0),
            (4, "", "import::no-record", 0, 0),
        ] {
            let error = with(at, line);
            let place = (error.place.line, error.place.column);
            assert_eq!((error.code.id, place), (code, (number, column)), "{line}: {error}");
        }
        assert_eq!(read("").unwrap_err().code.id, "import::no-metrics");
        let torn = read(&format!("{}:::MLLOG {{\"na", log("success", "0.92").concat())).unwrap();
        assert_eq!(torn.findings[0].error.code.id, "import::truncated-line");
    }

    proptest::proptest! {
        /// Any input ends in a run or an error.
        #[test]
        fn any_log_is_read_or_refused(lines in proptest::collection::vec(0..10_usize, 0..12), noise in "\\PC{0,20}") {
            let log = log("success", "0.92");
            let text: String = lines.iter().map(|at| log.get(*at).map_or(format!(":::MLLOG {noise}\n"), Clone::clone)).collect();
            let _ = read(&text);
        }
    }
}
