//! Progress output while runs train: bars on a terminal, otherwise plain lines, both on
//! standard error; events on standard output where JSON is asked for.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use serde_json::{Value as Json, json};

use super::SCHEMA;
use crate::cli::output::Output;
use repro_core::decimal::grouped;
use repro_replay::progress::{News, Watcher};

/// How often plain lines say where a run is.
const LINE_EVERY: Duration = Duration::from_secs(20);
/// The columns of a line that its bar leaves to the rest: run, steps, time left, loss and speed.
const BESIDE_BAR: usize = 90;

/// Whoever watches.
pub struct Watching<'a> {
    output: &'a Output,
    events: bool,
    shown: Shown,
    runs: Mutex<BTreeMap<String, Seen>>,
}

/// The output on standard error.
enum Shown {
    Nothing,
    Lines,
    Bars(MultiProgress),
}

/// The progress of a training run.
struct Seen {
    steps: u64,
    bar: Option<ProgressBar>,
    held_out: Option<f64>,
    line: Instant,
}

impl<'a> Watching<'a> {
    /// The watcher that arguments and terminal ask for.
    pub fn new(output: &'a Output, events: bool) -> Self {
        let shown = match (output.quiet(), std::io::stderr().is_terminal()) {
            (true, _) => Shown::Nothing,
            (false, true) => Shown::Bars(MultiProgress::new()),
            (false, false) => Shown::Lines,
        };
        Self { output, events, shown, runs: Mutex::default() }
    }

    /// Says something that concerns no single run.
    pub fn say(&self, text: &str) {
        match &self.shown {
            Shown::Nothing => {}
            Shown::Lines => write_line(text),
            Shown::Bars(bars) => bars.suspend(|| write_line(text)),
        }
    }

    /// Takes all bars away.
    pub fn end(&self) {
        if let Shown::Bars(bars) = &self.shown {
            // A terminal that cannot be cleared keeps its bars.
            let _ = bars.clear();
        }
    }

    fn runs(&self) -> MutexGuard<'_, BTreeMap<String, Seen>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn began(&self, run: &str, step: u64, steps: u64) {
        let bar = match &self.shown {
            Shown::Bars(bars) => {
                let bar = bars.add(ProgressBar::new(steps).with_position(step));
                // The templates of all widths are tried in a test.
                let template = template(self.output.width());
                bar.set_style(
                    ProgressStyle::with_template(&template)
                        .unwrap_or_else(|_| ProgressStyle::default_bar()),
                );
                bar.set_prefix(run.to_owned());
                Some(bar)
            }
            Shown::Nothing | Shown::Lines => None,
        };
        let seen = Seen { steps, bar, held_out: None, line: Instant::now() };
        self.runs().insert(run.to_owned(), seen);
        match (step, &self.shown) {
            (0, Shown::Lines) => {
                write_line(&format!("{run}: {} steps", grouped(&steps.to_string())))
            }
            (0, _) => {}
            (step, _) => self.say(&format!("{run}: resumes after step {step} of {steps}")),
        }
    }

    fn stepped(&self, run: &str, step: u64, loss: f32, speed: f64, left: Duration) {
        let mut runs = self.runs();
        let Some(seen) = runs.get_mut(run) else { return };
        let speed = grouped(&format!("{speed:.0}"));
        // A narrow terminal cuts the end off.
        let held_out = seen.held_out.map_or(String::new(), |loss| format!(", held-out {loss:.4}"));
        let left = clock(left);
        let text = format!("{left} left, loss {loss:.4}, {speed} tokens/s{held_out}");
        if let Some(bar) = &seen.bar {
            bar.set_position(step);
            bar.set_message(text);
        } else if matches!(self.shown, Shown::Lines) && seen.line.elapsed() > LINE_EVERY {
            seen.line = Instant::now();
            write_line(&format!("{run}: step {step} of {}, {text}", seen.steps));
        }
    }

    fn evaluated(&self, run: &str, step: u64, loss: f64, bits_per_byte: f64) {
        if let Some(seen) = self.runs().get_mut(run) {
            seen.held_out = Some(loss);
        }
        if matches!(self.shown, Shown::Lines) {
            let text = format!("held-out loss {loss:.4}, {bits_per_byte:.4} bits/byte");
            write_line(&format!("{run}: step {step}, {text}"));
        }
    }

    /// Takes the bar of a run away and says how it ended.
    fn over(&self, run: &str, text: &str) {
        if let Some(Seen { bar: Some(bar), .. }) = self.runs().remove(run) {
            bar.finish_and_clear();
        }
        self.say(&format!("{run}: {text}"));
    }
}

impl Watcher for Watching<'_> {
    fn tell(&self, run: &str, news: News<'_>) {
        if self.events
            && let Some(event) = event(run, &news)
        {
            self.output.print(&(event.to_string() + "\n"));
        }
        match news {
            News::Began { step, steps } => self.began(run, step, steps),
            News::Stepped { step, loss, speed, left, .. } => {
                self.stepped(run, step, loss, speed, left);
            }
            News::Evaluated { step, loss, bits_per_byte } => {
                self.evaluated(run, step, loss, bits_per_byte);
            }
            News::Noted(text) => self.say(&format!("{run}: {text}")),
            News::Finished { digest, anew: true } => self.over(run, &digest.prefixed()),
            News::Finished { anew: false, .. } => self.over(run, "already exists"),
            News::Stopped(error) => self.over(run, &format!("stopped: {}", error.code.meaning)),
        }
    }
}

/// The event of a line on standard output; steps without a record have none.
fn event(run: &str, news: &News<'_>) -> Option<Json> {
    let finite = |value: f64| value.is_finite().then_some(value);
    let mut event = match news {
        News::Began { step, steps } => json!({"event": "began", "step": step, "steps": steps}),
        News::Stepped { logged: false, .. } => return None,
        News::Stepped { step, loss, speed, left, .. } => json!({"event": "step", "step": step,
            "loss": finite(f64::from(*loss)), "tokens_per_second": speed,
            "seconds_left": left.as_secs_f64()}),
        News::Evaluated { step, loss, bits_per_byte } => json!({"event": "evaluated", "step": step,
            "loss": finite(*loss), "bpb": finite(*bits_per_byte)}),
        News::Noted(text) => json!({"event": "note", "text": text}),
        News::Finished { digest, anew } => {
            json!({"event": "finished", "digest": digest.prefixed(), "anew": anew})
        }
        News::Stopped(error) => json!({"event": "stopped", "code": error.code.id,
            "message": error.to_string()}),
    };
    if let Json::Object(event) = &mut event {
        event.insert("schema".to_owned(), SCHEMA.into());
        event.insert("run".to_owned(), run.into());
    }
    Some(event)
}

/// The line of a run on a terminal so wide: one line, also where there is no room for a bar.
fn template(width: usize) -> String {
    let bar = match width.saturating_sub(BESIDE_BAR).min(20) {
        0..4 => String::new(),
        bar => format!("{{bar:{bar}}} "),
    };
    format!("{{prefix:32}} {bar}{{pos:>6}}/{{len:<6}} {{wide_msg}}")
}

/// A duration as a clock shows it.
fn clock(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    match hours {
        0 => format!("{minutes}:{:02}", seconds % 60),
        hours => format!("{hours}:{minutes:02}:{:02}", seconds % 60),
    }
}

fn write_line(text: &str) {
    // Progress that nobody can read is no reason to stop training.
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use repro_core::digest::Digest;

    #[test]
    fn events_are_plain_objects() {
        let step = |logged| News::Stepped {
            step: 3,
            loss: 0.5,
            speed: 100.0,
            left: Duration::from_secs(2),
            logged,
        };
        assert_eq!(event("r", &step(false)), None);
        let wanted = json!({"schema": SCHEMA, "run": "r", "event": "step", "step": 3, "loss": 0.5,
            "tokens_per_second": 100.0, "seconds_left": 2.0});
        assert_eq!(event("r", &step(true)), Some(wanted));
        let digest = Digest::of(b"");
        let finished = event("r", &News::Finished { digest, anew: true }).unwrap();
        assert_eq!(finished["digest"], digest.prefixed());
    }

    #[test]
    fn clocks_show_hours_where_there_are_some() {
        let shown = [0, 65, 3600, 7325].map(|seconds| clock(Duration::from_secs(seconds)));
        assert_eq!(shown, ["0:00", "1:05", "1:00:00", "2:02:05"]);
    }

    #[test]
    fn every_width_has_a_template() {
        for width in 0..=140 {
            assert!(ProgressStyle::with_template(&template(width)).is_ok(), "{width}");
        }
        assert!(!template(80).contains("{bar") && template(140).contains("{bar:20}"));
    }
}
