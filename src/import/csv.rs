//! Logs that are tables: the first row names the columns.

use std::io::Read;

use super::columns::{LogTable, Mapping};
use super::log::Log;
use super::run::LoggedRun;
use repro_receipt::source::{Document, Error};

/// Reads one table.
pub fn parse<R: Read>(log: Log<R>, mapping: &Mapping) -> Result<LoggedRun, Error> {
    let name = log.name().to_owned();
    let (source, identity) = log.into_source()?;
    let document = Document::parse_csv(source)?;
    let mut table = LogTable::default();
    for row in document.root().items()? {
        table.row(row, mapping)?;
    }
    let unmapped = table.unmapped(&name, mapping);
    let mut run = table.into_run(&name, identity, mapping)?;
    if let Some(error) = unmapped {
        run.note(error);
    }
    Ok(run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Metric;

    fn read(text: &str, map: &str) -> Result<LoggedRun, Error> {
        let map: Vec<_> = (!map.is_empty()).then(|| map.to_owned()).into_iter().collect();
        parse(Log::new(text.as_bytes(), "l.csv", true), &Mapping::parse(&map).unwrap())
    }

    #[test]
    fn empty_cells_are_absent() {
        let text = "step,train/loss,val_loss,tokens\r\n0,,10.80,0\r\n10.0,4.50,,5120\r\n20,4.25,3.50,10240\r\n";
        let run = read(text, "loss=train/loss").unwrap();
        let cells = |rows: &[super::super::LogRow], row: usize| -> Vec<String> {
            rows[row]
                .cells
                .iter()
                .map(|(metric, number)| format!("{}={}", metric.name(), number.text()))
                .collect()
        };
        assert_eq!(cells(&run.training, 0), ["loss=4.50", "tokens=5120"]);
        assert_eq!(cells(&run.evaluations, 1), ["val_loss=3.50", "tokens=10240"]);
        assert_eq!((run.training.len(), run.evaluations.len()), (2, 2));
        assert_eq!(run.evaluations[0].get(&Metric::ValidationLoss).unwrap().text(), "10.80");
        assert!(run.findings.is_empty());
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_its_place() {
        for (text, code, line, column) in [
            ("step,loss\n0,1\n,2\n", "import::no-step", 3, 1),
            ("step,loss\n0,1,2\n", "source::syntax", 2, 1),
            ("step,loss\n0,high\n", "import::not-a-number", 2, 3),
            ("step,loss\n5,1\n4,1\n", "import::steps-go-back", 3, 1),
            ("a,b\n1,2\n", "import::no-step", 2, 1),
            ("step,loss\n", "import::no-values", 0, 0),
        ] {
            let error = read(text, "").unwrap_err();
            let place = (error.place.line, error.place.column);
            assert_eq!((error.code.id, place), (code, (line, column)), "{text}: {error}");
        }
    }

    proptest::proptest! {
        /// Whatever the bytes are, reading ends in a run or a refusal.
        #[test]
        fn any_table_is_read_or_refused(text in "(step|loss|val_loss|[0-9.,\"\n\ra-z]){0,30}") {
            let _ = read(&text, "");
        }
    }
}
