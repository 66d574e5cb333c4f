//! nanochat reports: sections of `- KEY: VALUE`, whose numbers each describe the whole run.

use std::path::Path;

use super::files::text;
use crate::import::NO_METRICS;
use crate::import::run::{LogNumber, LoggedRun};
use repro_core::digest::Digest;
use repro_core::source::{Error, Location};

/// The first line of a complete report.
const HEAD: &str = "# nanochat training report";

/// Whether a text is a report, or one of the section files it is assembled from.
pub fn is_report(text: &str) -> bool {
    let mut lines = text.lines();
    let (first, second) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    first.trim_end() == HEAD || first.starts_with("## ") && second.starts_with("timestamp: ")
}

/// Reads a report; metrics are named like `Base model evaluation/CORE metric`.
pub fn parse(path: &Path) -> Result<LoggedRun, Error> {
    let (source, identity) = text(path)?;
    let mut section = "";
    let mut numbers = Vec::new();
    for line in source.text().lines() {
        if let Some(title) = line.strip_prefix("## ") {
            section = title.trim();
        } else if let Some((key, number)) = entry(line) {
            numbers.push((format!("{section}/{key}"), number));
        }
    }
    if numbers.is_empty() {
        let expected = "lines such as `- CORE metric: 0.25`";
        return Err(NO_METRICS.at(Location::file(source.name()), expected, "none"));
    }
    let listed: String =
        numbers.iter().map(|(name, number)| format!("{name}={}\n", number.text())).collect();
    let mut run = LoggedRun::new(source.name(), identity, Digest::of(listed.as_bytes()));
    run.summary = numbers.into_iter().map(|(name, number)| (name.into(), number)).collect();
    Ok(run)
}

/// Parses `- KEY: VALUE` with a numeric value; thousands may be separated by commas.
fn entry(line: &str) -> Option<(&str, LogNumber)> {
    let (key, value) = line.strip_prefix("- ")?.split_once(": ")?;
    let number = LogNumber::parse(value.trim().replace(',', "").as_bytes())?;
    Some((key.trim(), number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_numbers() {
        let told = |line| entry(line).map(|(key, number)| format!("{key}={}", number.text()));
        assert_eq!(told("- CORE metric: 0.2206"), Some("CORE metric=0.2206".to_owned()));
        assert_eq!(told("- Tokens: 11,219,763,200"), Some("Tokens=11219763200".to_owned()));
        for line in ["- MFU %: 48.19%", "- run: dummy", "CORE metric: 0.2", "- CORE 0.2", "- a: "] {
            assert_eq!(told(line), None, "{line}");
        }
    }

    #[test]
    fn reports_are_recognized() {
        assert!(is_report("# nanochat training report\n\nGenerated: x\n"));
        assert!(is_report("## Base model loss\ntimestamp: 2025-11-03 05:22:51\n"));
        assert!(!is_report("# Leaderboard\n"));
        assert!(!is_report("## Base model loss\n- loss: 1\n"));
    }
}
