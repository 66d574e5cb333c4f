//! A report that is made part by part: lines are written and progress is shown as parts come in, and the rest when all are there.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use super::lines::ReportLines;
use super::output::Output;
use super::pace::{ShownPace, WordedPace, time_left};
use repro_core::decimal::grouped;
use repro_core::source::Error;
use repro_report::Format;
use repro_report::growing::{GrowingReport, HeldBundles};
use repro_report::outcome::{ExitStatus, PostReport, Report};
use repro_report::part::{PartSubject, ReportPart, ReportSink};

/// The report in the making.
pub struct PartwiseReport<'a> {
    output: &'a Output,
    growing: GrowingReport,
    lines: ReportLines,
    pace: Option<ShownPace<'a, BundlePace>>,
}

impl<'a> PartwiseReport<'a> {
    /// Begins a report of so many `bundles` on their own, where it is known how many and they are to be counted while they
    /// are judged.
    pub fn begin(output: &'a Output, bundles: Option<usize>) -> Result<Self, Vec<Error>> {
        let held = HeldBundles::for_formats(output.formats(), output.verbose());
        // A bar would stand between the lines.
        let is_mixed = output.prints(Format::Jsonl) && std::io::stdout().is_terminal();
        let pace = bundles.filter(|count| *count > 1 && !is_mixed);
        let pace = pace.map(|of| ShownPace::new(output, "verify".to_owned(), BundlePace::new(of)));
        let lines = ReportLines::begin(output)?;
        Ok(Self { output, growing: GrowingReport::new(held), lines, pace })
    }

    /// The posts so far, without bundles on their own.
    pub fn posts(&self) -> &[PostReport] {
        self.growing.posts()
    }

    /// Whether something could not be used.
    pub fn has_failures(&self) -> bool {
        self.growing.has_failures()
    }

    /// Takes what could not be used and belongs to no post or bundle.
    pub fn refuse(&mut self, failures: Vec<Error>) {
        if !failures.is_empty() {
            self.take(ReportPart::refused(PartSubject::Run, failures));
        }
    }

    /// Tells the whole, after `complete` has added what no part knows.
    pub fn finish(self, complete: impl FnOnce(&mut Report)) -> Result<ExitStatus, Vec<Error>> {
        let mut grown = self.growing.finish();
        complete(&mut grown.report);
        let status = grown.report.exit_status();
        self.output.grown(grown, |report| self.lines.end(report))?;
        Ok(status)
    }
}

impl ReportSink for PartwiseReport<'_> {
    fn take(&mut self, part: ReportPart) {
        self.lines.part(&part);
        if let (Some(pace), PartSubject::Bundle(_)) = (&self.pace, &part.subject) {
            pace.moved(|bundles| bundles.done += 1);
            if pace.changed(|bundles| bundles.done == bundles.of) {
                pace.end();
            }
        }
        self.growing.take(part);
    }
}

/// How many bundles are judged.
#[derive(Debug)]
struct BundlePace {
    began: Instant,
    done: u64,
    of: u64,
}

impl BundlePace {
    fn new(of: usize) -> Self {
        Self { began: Instant::now(), done: 0, of: of as u64 }
    }
}

impl WordedPace for BundlePace {
    fn text(&self, now: Instant) -> String {
        let took = now.saturating_duration_since(self.began);
        let [done, of] = [self.done, self.of].map(|count| grouped(&count.to_string()));
        let (rate, left) = (rate(self.done, took), time_left(self.done, self.of, took));
        format!("{done} of {of} bundles{rate}{left}")
    }
}

/// The rate in the unit that makes it readable: `, 312/s`.
fn rate(done: u64, took: Duration) -> String {
    let each_second = done as f64 / took.as_secs_f64();
    match each_second {
        rate if !rate.is_finite() || rate == 0.0 => String::new(),
        rate if rate >= 1.0 => format!(", {rate:.0}/s"),
        rate if rate * 60.0 >= 1.0 => format!(", {:.0}/min", rate * 60.0),
        rate => format!(", {:.0}/h", rate * 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bundles_are_told_with_their_rate_and_the_time_left() {
        let mut pace = BundlePace::new(10_000);
        let at = |seconds| pace.began + Duration::from_secs(seconds);
        let (early, late, long) = (at(0), at(10), at(7200));
        assert_eq!(pace.text(early), "0 of 10,000 bundles");
        pace.done = 2500;
        assert_eq!(pace.text(late), "2,500 of 10,000 bundles, 250/s, about 30 s left");
        pace.done = 240;
        assert_eq!(pace.text(long), "240 of 10,000 bundles, 2/min, about 81.3 h left");
        pace.done = 12;
        assert_eq!(pace.text(long), "12 of 10,000 bundles, 6/h, about 1664.7 h left");
    }
}
