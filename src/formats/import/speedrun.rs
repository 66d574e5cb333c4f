//! Logs of the speedrun leaderboards, in both dialects: `s:N tel:X` / `s:N trl:X`, and `step:N/M val_loss:X
//! train_time:Yms step_avg:Zms`, with or without further `name:number` fields.
//!
//! A complete log prints the program's source code and the machine before the first metric line, between lines of `=`.
//! That text may contain anything, including metric lines. So a line counts only if it matches the grammar completely,
//! and the counted lines must form one block: its steps never decrease, and no other block follows. Blocks before the
//! first line of `=` are embedded text. Two blocks anywhere else are two runs, or a run and text that looks like one;
//! such a file is rejected, with both locations.

use std::io::Read;
use std::sync::Arc;

use super::log::{Identity, LineStarts, Log, LogLine};
use super::run::{LogNumber, LogRow, LoggedRun, Metric};
use super::{
    BEYOND_PLAN, EMBEDDED_TEXT, MIXED_DIALECTS, NO_METRICS, NO_START, NOT_A_METRIC_LINE,
    PLAN_CHANGES, TOO_MANY_LINES, TORN_LINE, TWO_RUNS, counted,
};
use repro_core::digest::Hasher;
use repro_core::source::{Error, Location};

/// The shortest line of `=` that ends a part of a log.
const SEPARATOR: usize = 80;
/// The latest step at which a log may start.
const LATEST_START: u64 = 1;
/// The maximum number of metric lines per run.
const LINES_CAP: usize = 1 << 20;

/// The dialect of a log's metric lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    /// `s:N tel:X`
    Short,
    /// `step:N/M val_loss:X`
    Long,
}

/// The kind of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Said {
    Metrics(Metrics),
    /// It starts like a metric line but is not one.
    Alike,
    Seed(String),
    Separator,
    Nothing,
}

/// A line that matches the grammar.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Metrics {
    dialect: Dialect,
    planned: Option<u64>,
    evaluation: bool,
    row: LogRow,
}

/// Reads one log.
pub fn parse<R: Read>(mut log: Log<R>) -> Result<LoggedRun, Error> {
    let mut reader = Reader::default();
    let name = log.name().to_owned();
    // Metric lines and seeds start with `s`.
    let starts = LineStarts::new([b's', b'=']);
    while let Some(line) = log.next_line_from(&starts)? {
        let said = said(line);
        if said != Said::Nothing {
            reader.take(said, line, || line.place(&name));
        }
    }
    let identity = log.finish()?;
    reader.finish(&name, identity)
}

/// Whether a log has a metric line.
pub fn has_metrics<R: Read>(mut log: Log<R>) -> bool {
    let starts = LineStarts::new([b's', b'=']);
    while let Ok(Some(line)) = log.next_line_from(&starts) {
        if matches!(said(line), Said::Metrics(_)) {
            return true;
        }
    }
    false
}

/// The kind of `line` on its own.
fn said(line: LogLine<'_>) -> Said {
    let bytes = line.bytes.strip_suffix(b"\r").unwrap_or(line.bytes);
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let alike = |metrics: Option<Metrics>| match metrics {
        Some(metrics) if !line.cut => Said::Metrics(metrics),
        _ => Said::Alike,
    };
    match bytes.first() {
        Some(b's') if bytes.starts_with(b"step:") && digit(5) => alike(long(bytes)),
        Some(b's') if bytes.starts_with(b"s:") && digit(2) => alike(short(bytes)),
        Some(b's') if bytes.starts_with(b"seed") => seed(bytes),
        // The file ends before the line shows its kind.
        Some(_)
            if !line.ended && [&b"step:"[..], b"s:"].iter().any(|word| word.starts_with(bytes)) =>
        {
            Said::Alike
        }
        Some(b'=') if bytes.len() >= SEPARATOR && bytes.iter().all(|&byte| byte == b'=') => {
            Said::Separator
        }
        _ => Said::Nothing,
    }
}

/// Parses `seed:N`, `seed: N` or `seed=N`.
fn seed(bytes: &[u8]) -> Said {
    let rest = bytes.strip_prefix(b"seed:").or_else(|| bytes.strip_prefix(b"seed="));
    let rest = rest.map(|rest| rest.strip_prefix(b" ").unwrap_or(rest));
    match rest.filter(|rest| integer(rest).is_some()).map(String::from_utf8_lossy) {
        Some(seed) => Said::Seed(seed.into_owned()),
        None => Said::Nothing,
    }
}

/// A whole number below 10^15.
fn integer(bytes: &[u8]) -> Option<u64> {
    if bytes.is_empty() || bytes.len() > 15 {
        return None;
    }
    bytes.iter().try_fold(0, |sum: u64, byte| {
        byte.is_ascii_digit().then(|| sum * 10 + u64::from(byte - b'0'))
    })
}

/// Parses `s:N tag:X`.
fn short(bytes: &[u8]) -> Option<Metrics> {
    let mut fields = bytes.split(|&byte| byte == b' ');
    let step = integer(fields.next()?.strip_prefix(b"s:")?)?;
    let (tag, number) = halves(fields.next()?)?;
    let metric = match tag {
        b"tel" => Metric::ValidationLoss,
        b"trl" => Metric::Loss,
        b"hel" => Metric::Other("hel".into()),
        _ => return None,
    };
    let number = LogNumber::parse(number)?;
    if fields.next().is_some() {
        return None;
    }
    let evaluation = metric != Metric::Loss;
    let row = LogRow { step, cells: vec![(metric, number)] };
    Some(Metrics { dialect: Dialect::Short, planned: None, evaluation, row })
}

/// Parses `step:N/M name:X name:X …`.
fn long(bytes: &[u8]) -> Option<Metrics> {
    let mut fields = bytes.split(|&byte| byte == b' ');
    let steps = fields.next()?.strip_prefix(b"step:")?;
    let slash = steps.iter().position(|&byte| byte == b'/')?;
    let step = integer(steps.get(..slash)?)?;
    let planned = integer(steps.get(slash + 1..)?)?;
    let mut row = LogRow { step, cells: Vec::with_capacity(3) };
    for field in fields {
        let (name, number) = halves(field)?;
        if is_word(name, number) {
            continue;
        }
        let (metric, number) = cell(name, number)?;
        if row.get(&metric).is_some() {
            return None;
        }
        row.cells.push((metric, number));
    }
    let evaluation = row.get(&Metric::ValidationLoss).is_some();
    let told = |metric: &Metric| row.get(metric).is_some();
    if !evaluation && !told(&Metric::Loss) && !told(&Metric::TrainTime) && !told(&Metric::Seconds) {
        return None;
    }
    Some(Metrics { dialect: Dialect::Long, planned: Some(planned), evaluation, row })
}

/// Whether the value of an unknown field is a word rather than a number, as in `handoff:keep`.
fn is_word(name: &[u8], word: &[u8]) -> bool {
    const KNOWN: [&[u8]; 8] = [
        b"val_loss",
        b"train_loss",
        b"loss",
        b"train_time",
        b"step_avg",
        b"grad_norm",
        b"lr",
        b"tokens",
    ];
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let begins = word.first().is_some_and(u8::is_ascii_alphabetic);
    let told =
        begins && word.len() <= 40 && word.iter().all(plain) && LogNumber::parse(word).is_none();
    told && !KNOWN.contains(&name) && other(name).is_some()
}

/// Parses `name:rest`.
fn halves(field: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = field.iter().position(|&byte| byte == b':')?;
    Some((field.get(..colon)?, field.get(colon + 1..)?))
}

/// The column of a field in the long dialect; times need units, other numbers may not have one.
fn cell(name: &[u8], number: &[u8]) -> Option<(Metric, LogNumber)> {
    let without = |unit: &[u8]| LogNumber::parse(number.strip_suffix(unit)?);
    Some(match name {
        b"val_loss" => (Metric::ValidationLoss, LogNumber::parse(number)?),
        b"train_loss" | b"loss" => (Metric::Loss, LogNumber::parse(number)?),
        b"train_time" => match without(b"ms") {
            Some(number) => (Metric::TrainTime, number),
            None => (Metric::Seconds, without(b"s")?),
        },
        b"step_avg" => (Metric::StepAverage, without(b"ms")?),
        b"grad_norm" => (Metric::GradNorm, LogNumber::parse(number)?),
        b"lr" => (Metric::LearningRate, LogNumber::parse(number)?),
        b"tokens" => (
            Metric::Tokens,
            LogNumber::parse(number).filter(|n| integer(n.text().as_bytes()).is_some())?,
        ),
        _ => (Metric::Other(other(name)?), LogNumber::parse(number)?),
    })
}

/// The name of an unknown field.
fn other(name: &[u8]) -> Option<Arc<str>> {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'/');
    let fits = !name.is_empty() && name.len() <= 40 && name.iter().all(plain);
    let text = std::str::from_utf8(name).ok().filter(|_| fits)?;
    // It would appear beside the step in one table.
    (text != "step").then(|| text.into())
}

/// A block of consecutive metric lines.
struct Block {
    dialect: Dialect,
    planned: Option<u64>,
    first: Location,
    lines: usize,
    training: Vec<LogRow>,
    evaluations: Vec<LogRow>,
    hasher: Hasher,
    /// Later lines that start like metric lines but are not: how many, and the first.
    alike: Option<(usize, Location)>,
    /// The last line, if the file ends in the middle of it.
    torn: Option<Location>,
}

impl Block {
    fn new(metrics: &Metrics, first: Location) -> Self {
        Self {
            dialect: metrics.dialect,
            planned: metrics.planned,
            first,
            lines: 0,
            training: Vec::new(),
            evaluations: Vec::new(),
            hasher: Hasher::default(),
            alike: None,
            torn: None,
        }
    }

    fn rows(&self, metrics: &Metrics) -> &Vec<LogRow> {
        if metrics.evaluation { &self.evaluations } else { &self.training }
    }

    fn last_step(&self) -> u64 {
        let last = |rows: &[LogRow]| rows.last().map_or(0, |row| row.step);
        last(&self.training).max(last(&self.evaluations))
    }

    /// Whether `metrics` can follow the lines so far: the step does not decrease, and no value is repeated.
    fn goes_on(&self, metrics: &Metrics) -> bool {
        let row = &metrics.row;
        let repeats = |last: &LogRow| {
            last.step == row.step && last.cells.iter().any(|(metric, _)| row.get(metric).is_some())
        };
        row.step >= self.last_step() && !self.rows(metrics).last().is_some_and(repeats)
    }

    /// Adds a line, which must fit the lines so far.
    fn add(
        &mut self,
        metrics: Metrics,
        line: LogLine<'_>,
        here: impl Fn() -> Location,
    ) -> Result<(), Error> {
        if metrics.dialect != self.dialect {
            let expected = "metric lines in one format";
            return Err(MIXED_DIALECTS.at(here(), expected, "the other format"));
        }
        if metrics.planned != self.planned {
            let planned =
                |steps: Option<u64>| format!("{} planned steps", steps.unwrap_or_default());
            return Err(PLAN_CHANGES.at(here(), planned(self.planned), planned(metrics.planned)));
        }
        if let Some(planned) = metrics.planned.filter(|planned| metrics.row.step > *planned) {
            let expected = format!("a step up to {planned}");
            return Err(BEYOND_PLAN.at(here(), expected, format!("step {}", metrics.row.step)));
        }
        if self.lines == LINES_CAP {
            return Err(TOO_MANY_LINES.at(
                here(),
                format!("at most {LINES_CAP} metric lines"),
                "more",
            ));
        }
        if !line.ended
            && !self.rows(&metrics).last().is_some_and(|last| as_whole(&metrics.row, last))
        {
            self.torn = Some(here());
            return Ok(());
        }
        self.lines += 1;
        self.hasher.update(line.bytes.strip_suffix(b"\r").unwrap_or(line.bytes));
        self.hasher.update(b"\n");
        let rows = if metrics.evaluation { &mut self.evaluations } else { &mut self.training };
        match rows.last_mut().filter(|last| last.step == metrics.row.step) {
            Some(last) => last.cells.extend(metrics.row.cells),
            None => rows.push(metrics.row),
        }
        Ok(())
    }

    /// Notes a line that starts like a metric line but is not one.
    fn alike(&mut self, line: LogLine<'_>, here: Location) {
        if line.ended {
            let (count, first) = self.alike.take().unwrap_or((0, here));
            self.alike = Some((count + 1, first));
        } else {
            self.torn = Some(here);
        }
    }

    /// Adds the oddities of the lines.
    fn findings(&self, run: &mut LoggedRun) {
        if let Some((count, place)) = &self.alike {
            let found = counted(*count, "line");
            run.note(NOT_A_METRIC_LINE.at(place.clone(), "only complete metric lines", found));
        }
        if let Some(place) = &self.torn {
            let found = "a truncated line";
            run.note(TORN_LINE.at(place.clone(), "a complete last line", found));
        }
    }
}

/// Whether a line without a line feed has the same fields and decimals as the line before it.
fn as_whole(row: &LogRow, before: &LogRow) -> bool {
    let decimals =
        |number: &LogNumber| number.text().split_once('.').map_or(0, |(_, part)| part.len());
    let same = |(one, other): (&(Metric, LogNumber), &(Metric, LogNumber))| {
        one.0 == other.0 && (one.0.is_time() || decimals(&one.1) == decimals(&other.1))
    };
    row.cells.len() == before.cells.len() && row.cells.iter().zip(&before.cells).all(same)
}

/// The lines of a log, one block of which is the run.
#[derive(Default)]
struct Reader {
    /// The number of lines of `=`.
    part: usize,
    block: Option<Block>,
    /// The reason why the block is not a run.
    fault: Option<Error>,
    /// The block before the first line of `=`, and its fault: it is the run unless another block follows.
    source: Option<(Block, Option<Error>)>,
    seed: Option<String>,
}

impl Reader {
    /// Adds a line with content; `here` is its location.
    fn take(&mut self, said: Said, line: LogLine<'_>, here: impl Fn() -> Location) {
        match said {
            Said::Metrics(metrics) => {
                if self.fault.is_none() {
                    self.fault = self.metrics(metrics, line, here).err();
                }
            }
            Said::Alike => {
                if let Some(block) = &mut self.block {
                    block.alike(line, here());
                }
            }
            Said::Seed(seed) => self.seed = Some(seed),
            Said::Separator => {
                if self.part == 0 {
                    let fault = self.fault.take();
                    self.source = self.block.take().map(|block| (block, fault));
                    self.seed = None;
                }
                self.part += 1;
            }
            Said::Nothing => {}
        }
    }

    fn metrics(
        &mut self,
        metrics: Metrics,
        line: LogLine<'_>,
        here: impl Fn() -> Location,
    ) -> Result<(), Error> {
        if self.block.is_none() {
            // A line of `=` may also appear in the middle of a run.
            let middle = |(block, fault): &mut (Block, Option<Error>)| {
                fault.is_none() && metrics.row.step > LATEST_START && block.goes_on(&metrics)
            };
            self.block = self.source.take_if(middle).map(|(block, _)| block);
        }
        let block = self.block.get_or_insert_with(|| Block::new(&metrics, here()));
        if block.lines > 0 && !block.goes_on(&metrics) {
            let expected = format!(
                "a step after {}, as in the lines from line {} on",
                block.last_step(),
                block.first.line
            );
            return Err(TWO_RUNS.at(here(), expected, format!("step {}", metrics.row.step)));
        }
        block.add(metrics, line, here)
    }

    fn finish(mut self, file: &str, identity: Identity) -> Result<LoggedRun, Error> {
        let embedded = if self.block.is_some() { self.source.take() } else { None };
        let (block, fault) = match self.source.take() {
            Some((block, fault)) => (Some(block), fault),
            None => (self.block, self.fault),
        };
        if let Some(fault) = fault {
            return Err(fault);
        }
        let Some(mut block) = block.filter(|block| block.lines > 0) else {
            let found = if identity.bytes == 0 { "an empty file" } else { "no such line" };
            let expected = "lines such as `step:0/1000 val_loss:10.8` or `s:0 tel:10.9`";
            return Err(NO_METRICS.at(Location::file(file), expected, found));
        };
        let start = [&block.training, &block.evaluations]
            .iter()
            .filter_map(|rows| rows.first())
            .map(|row| row.step)
            .min();
        let mut run = LoggedRun::new(file, identity, std::mem::take(&mut block.hasher).finish());
        block.findings(&mut run);
        // Some programs print no line before their first evaluation.
        if let Some(step) = start.filter(|step| *step > LATEST_START) {
            let (expected, found) =
                ("step 0 or 1 in the first metric line", format!("step {step}"));
            run.note(NO_START.at(block.first.clone(), expected, found));
        }
        if let Some((block, _)) = embedded {
            let found =
                format!("{} from line {} on", counted(block.lines, "line"), block.first.line);
            run.note(EMBEDDED_TEXT.at(
                block.first,
                "no metric lines before the first line of `=`",
                found,
            ));
        }
        run.planned = block.planned;
        run.training = block.training;
        run.evaluations = block.evaluations;
        if let Some(planned) = run.planned {
            run.config.insert("planned_steps".to_owned(), planned.into());
        }
        if let Some(seed) = self.seed {
            run.config.insert("seed".to_owned(), seed.as_str().into());
            run.seed = Some(seed);
        }
        Ok(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<LoggedRun, Error> {
        parse(Log::new(text.as_bytes(), "a.txt", true))
    }

    fn rule() -> String {
        "=".repeat(100) + "\n"
    }

    const LOG: &str = "step:0/50 val_loss:10.8296 train_time:0ms step_avg:nanms\n\
                       step:25/50 train_time:827ms step_avg:33.10ms\n\
                       step:50/50 val_loss:3.2790 train_time:1639ms step_avg:32.78ms\n";

    #[test]
    fn both_dialects_are_read_as_printed() {
        let run = read(LOG).unwrap();
        assert_eq!((run.planned, run.last_step(), run.training.len()), (Some(50), Some(50), 1));
        assert_eq!(run.final_loss().unwrap().text(), "3.2790");
        assert_eq!(run.evaluations[0].get(&Metric::StepAverage).unwrap().text(), "nan");
        assert_eq!(run.config["planned_steps"], 50);
        let run = read("s:0 tel:10.968871\ns:24 trl:8.127998\ns:30 trl:7.5\ns:30 hel:0.25\ns:30 tel:7.250000\n").unwrap();
        assert_eq!((run.planned, run.training.len(), run.evaluations.len()), (None, 2, 2));
        assert_eq!(run.final_loss().unwrap().text(), "7.250000");
        assert_eq!(run.evaluations[1].cells.len(), 2);
        let more = "step:1/2 train_loss:10.5 train_time:1.5s step_avg:nanms lr:2e-05 mem:12\nstep:2/2 val_loss:9.5 train_time:2ms\n";
        let run = read(more).unwrap();
        let cells: Vec<_> = run.training[0]
            .cells
            .iter()
            .map(|(metric, number)| (metric.name(), number.text()))
            .collect();
        assert_eq!(
            cells,
            [
                ("loss", "10.5"),
                ("seconds", "1.5"),
                ("step_avg_ms", "nan"),
                ("lr", "2e-05"),
                ("mem", "12")
            ]
        );
    }

    #[test]
    fn line_ends_do_not_matter() {
        let crlf = read(&LOG.replace('\n', "\r\n")).unwrap();
        let plain = read(LOG).unwrap();
        assert_eq!((crlf.metrics_sha256, crlf.training), (plain.metrics_sha256, plain.training));
        assert!(crlf.findings.is_empty());
    }

    #[test]
    fn only_whole_lines_are_metric_lines() {
        for line in [
            "step:{step}/{args.train_steps} val_loss:{val_loss:.4f} train_time:{t:.0f}ms",
            "        step:1/50 val_loss:3.0 train_time:1ms",
            "# step:1/50 val_loss:3.0 train_time:1ms",
            "print0(f\"step:{step}/{n} train_time:{t}ms\")",
            "step:1/50",
            "step:1/50 step_avg:2ms",
            "step:1/50 val_loss:3.0 val_loss:3.0",
            "step:1/50 val_loss:+3.0",
            "step:1/50 val_loss:.5",
            "step:1/50 val_loss:3.0  train_time:1ms",
            "step:1/50 val_loss:3.0 ",
            "step:1/50 val_loss:3.0 train_time:1",
            "step:1/50 val_loss:3.0 # the end",
            "step:1/50 val_loss:3.0 step:5",
            "step:-1/50 val_loss:3.0",
            "step:1.0/50 val_loss:3.0",
            "step:1/ val_loss:3.0",
            "step:1234567890123456/1234567890123456 val_loss:3.0",
            "s:1 tel:3.0 trl:4.0",
            "s:1 tel:",
            "s:1 xyz:3.0",
            "s:x tel:3.0",
        ] {
            let bytes = line.as_bytes();
            let said = said(LogLine { bytes, number: 1, ended: true, cut: false });
            assert!(matches!(said, Said::Alike | Said::Nothing), "{line}: {said:?}");
        }
    }

    #[test]
    fn the_source_before_the_log_is_not_read() {
        let source = format!(
            "import torch\nseed: 5\n\"\"\"\n{LOG}step:0/9 val_loss:1.0 train_time:0ms\n\"\"\"\nprint0(f\"step:{{s}}\")\n\u{ff}\n{}",
            rule()
        );
        let run =
            read(&format!("{source}nvidia-smi | table\nseed: 1337\n{}{LOG}", rule())).unwrap();
        assert_eq!((run.evaluations.len(), run.seed.as_deref()), (2, Some("1337")));
        assert_eq!(run.metrics_sha256, read(LOG).unwrap().metrics_sha256);
        assert_eq!(run.findings[0].error.found, "3 lines from line 4 on");
        let run = read(&format!("{LOG}{}{LOG}", rule())).unwrap();
        let finding = &run.findings[0].error;
        assert_eq!(
            (finding.code.id, finding.found.as_str()),
            ("import::embedded-text", "3 lines from line 1 on")
        );
        // A log of metric lines may also end in a line of `=`, or contain one.
        assert_eq!(read(&format!("{LOG}{}peak memory\n", rule())).unwrap().evaluations.len(), 2);
        let (head, tail) = LOG.split_at(LOG.find('\n').unwrap() + 1);
        let halves = read(&format!("{head}{}{tail}", rule())).unwrap();
        assert_eq!(halves.metrics_sha256, read(LOG).unwrap().metrics_sha256);
        let latin = [b"caf\xe9 \xff\xfe\n", rule().as_bytes(), LOG.as_bytes()].concat();
        assert_eq!(parse(Log::new(latin.as_slice(), "a.txt", true)).unwrap().evaluations.len(), 2);
    }

    #[test]
    fn what_is_not_one_run_is_refused_with_its_place() {
        let rule = rule();
        for (text, code, line) in [
            (String::new(), "import::no-metrics", 0),
            ("hello\n".to_owned(), "import::no-metrics", 0),
            (format!("{LOG}{LOG}"), "import::two-runs", 4),
            (format!("code\n{rule}{LOG}code\n{rule}{LOG}"), "import::two-runs", 8),
            (LOG.replace("25/50", "60/50"), "import::beyond-plan", 2),
            (LOG.replace("25/50", "60/50") + &rule, "import::beyond-plan", 2),
            (LOG.replace("25/50", "25/60"), "import::plan-changes", 2),
            (
                LOG.replace("step:25/50 train_time:827ms step_avg:33.10ms", "s:25 trl:4.0"),
                "import::mixed-dialects",
                2,
            ),
            (LOG.replace("step:50/50", "step:0/50"), "import::two-runs", 3),
        ] {
            let error = read(&text).unwrap_err();
            assert_eq!((error.code.id, error.place.line), (code, line), "{text}: {error}");
        }
    }

    #[test]
    fn words_beside_the_numbers_are_passed_over() {
        let run = read(&LOG.replace("val_loss:3.2790", "val_loss:3.2790 rank:0.50 handoff:keep"))
            .unwrap();
        assert_eq!(run.evaluations[1].cells.len(), 4);
        assert!(run.findings.is_empty());
        for field in ["val_loss:high", "step:keep", "a:{x}", "a:keep!"] {
            let strange = LOG.replace("val_loss:3.2790", &format!("{field} val_loss:3.2790"));
            assert_eq!(read(&strange).unwrap().findings[0].error.code.id, "import::unparsed-line");
        }
    }

    #[test]
    fn a_log_may_begin_at_its_first_evaluation() {
        let text: String = LOG.lines().skip(1).map(|line| format!("{line}\n")).collect();
        let run = read(&format!("import torch\n{}{text}", rule())).unwrap();
        assert_eq!((run.training[0].step, run.final_loss().unwrap().text()), (25, "3.2790"));
        let noted = &run.findings[0];
        assert_eq!((noted.error.code.id, noted.error.place.line), ("import::no-start", 3));
        assert!(run.counts());
    }

    #[test]
    fn torn_and_strange_lines_are_named() {
        let findings = |text: &str| -> Vec<_> {
            let run = read(text).unwrap();
            run.findings
                .iter()
                .map(|finding| (finding.error.code.id, finding.error.place.line))
                .collect()
        };
        for end in [1, 5, 12, 20, 40, 57] {
            let torn = &LOG[..LOG.len() - end];
            let code = if end == 1 { vec![] } else { vec![("import::truncated-line", 3)] };
            assert_eq!(findings(torn), code, "{torn}");
        }
        // Without a line feed, fewer decimals mean a truncated number.
        assert_eq!(findings("s:0 tel:10.968871\ns:9 tel:3.27"), [("import::truncated-line", 2)]);
        assert_eq!(findings("s:0 tel:10.968871\ns:9 tel:3.275959"), []);
        let strange = LOG.replace("step:25/50 train_time:827ms", "step:25/50 train_time:827");
        assert_eq!(findings(&strange), [("import::unparsed-line", 2)]);
    }

    #[test]
    fn losses_that_are_not_finite_are_kept_as_words() {
        let run = read(&LOG.replace("3.2790", "nan")).unwrap();
        assert_eq!(run.final_loss().unwrap().nonfinite(), Some("nan"));
    }

    proptest::proptest! {
        /// Any input ends in a run or an error.
        #[test]
        fn any_log_is_read_or_refused(
            pieces in proptest::collection::vec(0..12_usize, 0..14), noise in "\\PC{0,20}", end in 0..5_usize,
        ) {
            let rule = rule();
            let known = [LOG, &rule, "s:0 tel:1.5\n", "s:3 trl:1.5\n", "seed: 3\n", "step:25/50 train_loss:4.0 train_time:1ms\n",
                         "step:1/2 val_loss:inf\n", "\r\n", "step:50/50 val_loss:3", "====\n"];
            let text: String = pieces.iter().map(|at| *known.get(*at).unwrap_or(&noise.as_str())).collect();
            let text = text.get(..text.len().saturating_sub(end)).unwrap_or(&text);
            let _ = read(text);
        }

        /// A rendered log is read back as printed, whatever precedes it.
        #[test]
        fn rendered_logs_survive(
            losses in proptest::collection::vec("[1-9]?[0-9]\\.[0-9]{4}", 1..30), crlf: bool, prefix in "\\PC{0,40}",
        ) {
            let last = losses.len() - 1;
            let end = if crlf { "\r\n" } else { "\n" };
            let lines: String = losses.iter().enumerate()
                .map(|(step, loss)| format!("step:{step}/{last} val_loss:{loss} train_time:{}ms step_avg:0.5ms{end}", step * 9))
                .collect();
            let run = read(&format!("{prefix}\n{}{lines}", rule())).unwrap();
            let read: Vec<_> = run.evaluations.iter().map(|row| row.get(&Metric::ValidationLoss).unwrap().text()).collect();
            proptest::prop_assert_eq!(read, losses);
            proptest::prop_assert_eq!((run.finished(), run.planned), (Some(true), Some(last as u64)));
        }
    }
}
