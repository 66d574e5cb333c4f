//! Logs with one JSON object per line.

use std::borrow::Cow;
use std::io::Read;

use super::TORN_LINE;
use super::columns::{LogTable, Mapping};
use super::log::{Log, LogLine};
use super::run::LoggedRun;
use repro_core::source::{Document, Error, Location, Source};

/// Reads one log. A last line without a line feed counts if it is complete.
pub fn parse<R: Read>(mut log: Log<R>, mapping: &Mapping) -> Result<LoggedRun, Error> {
    let name = log.name().to_owned();
    let mut table = LogTable::default();
    let mut torn = None;
    while let Some(line) = log.next_short_line()? {
        let ended = line.ended;
        if line.bytes.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match document(&name, line) {
            Ok(document) => {
                let number = line.number;
                table
                    .row(document.root(), number, mapping)
                    .map_err(|error| in_line(number, error))?;
            }
            Err(error) if ended => return Err(error),
            // The last line of a killed run.
            Err(error) => torn = Some(error.place.clone()),
        }
    }
    let identity = log.finish()?;
    let mut run = table.into_run(&name, identity, mapping)?;
    if let Some(place) = torn {
        run.note(TORN_LINE.at(place, "a complete last line", "a truncated line"));
    }
    Ok(run)
}

/// Parses a line as a document; locations refer to the file.
pub fn document(name: &str, line: LogLine<'_>) -> Result<Document, Error> {
    let at = |error: Error| in_line(line.number, error);
    let source = Source::new(name, line.bytes.to_vec()).map_err(at)?;
    parse_python(source).map_err(at)
}

/// Parses JSON as Python writes it, with bare words for non-finite numbers and integers of any length.
pub fn parse_python(source: Source) -> Result<Document, Error> {
    match quote_unusual(source.text()) {
        Cow::Borrowed(_) => Document::parse_json(source),
        Cow::Owned(text) => Document::parse_json(Source::new(source.name(), text.into_bytes())?),
    }
}

/// Moves an error in a line to its location in the file.
pub fn in_line(number: usize, error: Error) -> Error {
    let place = error.place.clone();
    let column = place.column.max(1);
    error.moved(Location { line: number, column, ..place })
}

/// Quotes the `NaN`, `Infinity` and `-Infinity` that Python writes, which are not JSON, and integers beyond 2^53, which
/// trainers write for endless data.
fn quote_unusual(text: &str) -> Cow<'_, str> {
    const WORDS: [&str; 3] = ["NaN", "Infinity", "-Infinity"];
    if !WORDS.iter().any(|word| text.contains(word)) && !has_long_number(text) {
        return Cow::Borrowed(text);
    }
    let (mut quoted, mut inside, mut rest) = (String::with_capacity(text.len() + 16), false, text);
    while let Some(first) = rest.chars().next() {
        let word = WORDS.iter().find(|word| !inside && rest.starts_with(**word));
        let number = if inside { "" } else { number_at(rest) };
        let (length, is_unusual) = match (word, first) {
            (Some(word), _) => (word.len(), true),
            _ if !number.is_empty() => (number.len(), is_inexact(number)),
            // An escaped character cannot end the string.
            (None, '\\') if inside => (1 + rest.chars().nth(1).map_or(0, char::len_utf8), false),
            (None, '"') => {
                inside = !inside;
                (1, false)
            }
            (None, first) => (first.len_utf8(), false),
        };
        let (piece, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        quoted.extend(is_unusual.then_some('"'));
        quoted.push_str(piece);
        quoted.extend(is_unusual.then_some('"'));
        rest = after;
    }
    Cow::Owned(quoted)
}

/// The number of digits in 2^53, minus one.
const LONG: usize = 16;

/// Whether there are this many consecutive digits.
fn has_long_number(text: &str) -> bool {
    let mut run = 0;
    text.bytes().any(|byte| {
        run = if byte.is_ascii_digit() { run + 1 } else { 0 };
        run >= LONG
    })
}

/// The number at the start of a text, if any.
fn number_at(text: &str) -> &str {
    let begins = text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    let in_number = |c: char| c.is_ascii_digit() || ['-', '+', '.', 'e', 'E'].contains(&c);
    let end = text.find(|c| !in_number(c)).unwrap_or(text.len());
    text.get(..end).filter(|_| begins).unwrap_or_default()
}

/// Whether a number is an integer that JSON readers parse differently.
fn is_inexact(number: &str) -> bool {
    let digits = number.strip_prefix('-').unwrap_or(number);
    let is_whole = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.starts_with('0');
    is_whole && digits.len() >= LONG && digits.parse::<u64>().map_or(true, |value| value > 1 << 53)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::run::Metric;

    fn read(text: &str, map: &str) -> Result<LoggedRun, Error> {
        let map: Vec<_> = (!map.is_empty()).then(|| map.to_owned()).into_iter().collect();
        parse(Log::new(text.as_bytes(), "l.jsonl", true), &Mapping::parse(&map).unwrap())
    }

    #[test]
    fn training_and_validation_may_alternate() {
        let text = "{\"iter\":0,\"val_loss\":10.80}\n{\"iter\":10,\"loss\":\"4.5\",\"lr\":2e-05,\"note\":\"x\"}\n\n\
                    {\"iter\":10,\"val_loss\":NaN,\"t\":3}\n{\"iter\":20,\"loss\":null,\"val_loss\":3.5000}";
        let run = read(text, "step=iter,time=t").unwrap();
        let steps =
            |rows: &[super::super::LogRow]| rows.iter().map(|row| row.step).collect::<Vec<_>>();
        assert_eq!((steps(&run.training), steps(&run.evaluations)), (vec![10], vec![0, 10, 20]));
        let told = |row: usize, metric| run.evaluations[row].get(&metric).unwrap().text();
        assert_eq!(
            (told(0, Metric::ValidationLoss), told(1, Metric::ValidationLoss)),
            ("10.80", "NaN")
        );
        assert_eq!(told(1, Metric::Seconds), "3");
        assert_eq!(run.final_loss().unwrap().text(), "3.5000");
        assert!(run.findings.is_empty(), "{:?}", run.findings);
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_its_place() {
        for (text, map, code, line, column) in [
            ("{\"step\":0,\"loss\":1}\n{\"loss\":2}\n", "", "import::no-step", 2, 1),
            (
                "{\"step\":5,\"loss\":1}\n {\"step\":4,\"loss\":2}\n",
                "",
                "import::decreasing-step",
                2,
                2,
            ),
            (
                "{\"step\":5,\"loss\":1}\n{\"step\":5,\"loss\":2}\n",
                "",
                "import::conflicting-values",
                2,
                1,
            ),
            ("{\"step\":0,\"loss\":\"low\"}\n", "", "import::not-a-number", 1, 18),
            ("{\"step\":0.5,\"loss\":1}\n", "", "import::not-a-number", 1, 9),
            ("{\"step\":-1,\"loss\":1}\n", "", "import::not-a-number", 1, 9),
            ("{\"step\":0,\"loss\":[1]}\n", "", "import::not-a-number", 1, 18),
            ("{\"step\":0,\"loss\":1}\n{\"step\":\n{}\n", "", "source::syntax", 2, 8),
            ("{\"step\":0,\"step\":1}\n", "", "source::duplicate-key", 1, 11),
            ("[1]\n", "", "source::wrong-type", 1, 1),
            ("{\"step\":0,\"x\":\"y\"}\n", "", "import::unknown-columns", 0, 0),
            ("", "", "import::unknown-columns", 0, 0),
            ("{\"step\":0,\"loss\":1}\n", "lr=rate", "import::unknown-name", 0, 0),
        ] {
            let error = read(text, map).unwrap_err();
            let place = (error.place.line, error.place.column);
            assert_eq!((error.code.id, place), (code, (line, column)), "{text}: {error}");
        }
        let error = read("{\"step\":0,\"loss\":1}\n", "lr=los").unwrap_err();
        assert_eq!(error.help, "did you mean `--map lr=loss`?");
    }

    #[test]
    fn metrics_of_any_name_are_kept() {
        let text = "{\"_step\":1,\"train/loss\":4.50,\"reward\":-1,\"ok\":true}\n\
                    {\"_step\":2,\"eval/wer\":0.250,\"perplexity\":9.0}\n{\"_step\":2,\"perplexity\":9.5}\n";
        let run = read(text, "").unwrap();
        let told = |row: &super::super::LogRow| -> Vec<String> {
            row.cells
                .iter()
                .map(|(metric, number)| format!("{}={}", metric.name(), number.text()))
                .collect()
        };
        assert_eq!(told(&run.training[0]), ["loss=4.50", "reward=-1"]);
        assert_eq!(told(&run.evaluations[0]), ["eval/wer=0.250", "perplexity=9.0"]);
        assert_eq!(&*run.theirs[&Metric::Loss], "train/loss");
        let codes: Vec<_> = run.findings.iter().map(|finding| finding.error.code.id).collect();
        assert_eq!(codes, ["import::step-column"]);
    }

    #[test]
    fn a_torn_last_line_is_named() {
        let run = read("{\"step\":0,\"loss\":1}\n{\"step\":1,\"lo", "").unwrap();
        assert_eq!(run.training.len(), 1);
        assert_eq!(
            (run.findings[0].error.code.id, run.findings[0].error.place.line),
            ("import::truncated-line", 2)
        );
    }

    #[test]
    fn bare_words_for_what_is_not_finite_become_strings() {
        for (text, wanted) in [
            (
                r#"{"a":NaN,"b":[-Infinity,Infinity]}"#,
                r#"{"a":"NaN","b":["-Infinity","Infinity"]}"#,
            ),
            (r#"{"NaN":"NaN \" NaN","é":1}"#, r#"{"NaN":"NaN \" NaN","é":1}"#),
            ("\"\\", "\"\\"),
            (
                r#"{"a":9223372036854775807,"b":[-99999999999999999999,9007199254740992,0.12345678901234567],"c":"12345678901234567890"}"#,
                r#"{"a":"9223372036854775807","b":["-99999999999999999999",9007199254740992,0.12345678901234567],"c":"12345678901234567890"}"#,
            ),
            ("-NaN-Infinity", "-\"NaN\"\"-Infinity\""),
        ] {
            assert_eq!(quote_unusual(text), wanted);
        }
    }

    proptest::proptest! {
        /// Any input ends in a run or an error.
        #[test]
        fn any_log_is_read_or_refused(text in r#"([{}:,"\\a-z0-9eE.+\- \n\[\]]|"step":1,|"loss":|NaN|\{"step":2,"loss":3\}){0,30}"#) {
            let _ = read(&text, "");
        }

        /// Written rows are read back as printed.
        #[test]
        fn rows_survive(losses in proptest::collection::vec("[1-9][0-9]{0,2}\\.[0-9]{1,6}", 1..20)) {
            let text: String =
                losses.iter().enumerate().map(|(step, loss)| format!("{{\"step\":{step},\"val_loss\":{loss}}}\n")).collect();
            let run = read(&text, "").unwrap();
            let read: Vec<_> =
                run.evaluations.iter().map(|row| row.get(&Metric::ValidationLoss).unwrap().text()).collect();
            proptest::prop_assert_eq!(read, losses);
        }
    }
}
