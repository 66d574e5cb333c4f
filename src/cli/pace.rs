//! How far work has come, on standard error: a bar on a terminal, elsewhere a line now and then, nothing with `--quiet`.

use std::io::IsTerminal;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::bar::TerminalBar;
use super::output::Output;

/// Every how often a line is written where there is no terminal, and after how long the first.
pub const EVERY: Duration = Duration::from_secs(10);

/// How far some work is, as it words it itself.
pub trait WordedPace: Send {
    /// Where it is at this time.
    fn text(&self, now: Instant) -> String;
}

/// A pace that is shown.
pub struct ShownPace<'a, P> {
    output: &'a Output,
    label: String,
    bar: Option<TerminalBar>,
    clocked: Mutex<ClockedPace<P>>,
}

/// A pace, and when a line was written last; at first, when it began.
#[derive(Debug)]
struct ClockedPace<P> {
    pace: P,
    told: Instant,
}

impl<P: WordedPace> ClockedPace<P> {
    /// The text, where a line is due.
    fn line(&mut self, now: Instant) -> Option<String> {
        if now.saturating_duration_since(self.told) < EVERY {
            return None;
        }
        self.told = now;
        Some(self.pace.text(now))
    }
}

impl<'a, P: WordedPace> ShownPace<'a, P> {
    /// A pace behind this label.
    pub fn new(output: &'a Output, label: String, pace: P) -> Self {
        let has_bar = !output.quiet() && std::io::stderr().is_terminal();
        let bar = has_bar.then(|| TerminalBar::new(&label)).flatten();
        let clocked = Mutex::new(ClockedPace { pace, told: Instant::now() });
        Self { output, label, bar, clocked }
    }

    fn clocked(&self) -> MutexGuard<'_, ClockedPace<P>> {
        // Whoever panicked left a whole value.
        self.clocked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the pace, and shows nothing yet.
    pub fn changed<R>(&self, change: impl FnOnce(&mut P) -> R) -> R {
        change(&mut self.clocked().pace)
    }

    /// Changes the pace, and shows where it is now.
    pub fn moved(&self, change: impl FnOnce(&mut P)) {
        let mut clocked = self.clocked();
        change(&mut clocked.pace);
        let now = Instant::now();
        match &self.bar {
            Some(bar) => bar.show(&clocked.pace.text(now)),
            None if self.output.quiet() => {}
            None => {
                if let Some(line) = clocked.line(now) {
                    self.output.say(&format!("{}: {line}", self.label));
                }
            }
        }
    }

    /// Takes the bar away.
    pub fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.end();
        }
    }
}

/// The methods for displays of training progress.
#[cfg(feature = "train")]
impl<P: WordedPace> ShownPace<'_, P> {
    /// Shows a word in the bar, if there is one.
    pub fn show(&self, word: &str) {
        if let Some(bar) = &self.bar {
            bar.show(word);
        }
    }

    /// Says something above the bar.
    pub fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.aside(|| self.output.say(text)),
            None => self.output.say(text),
        }
    }
}

/// How long the rest takes if it goes on like this: `, about 12 s left`; nothing before anything is done.
pub fn time_left(done: u64, of: u64, took: Duration) -> String {
    if done == 0 {
        return String::new();
    }
    let each = took.as_secs_f64() / done as f64;
    format!(", about {} left", rounded(each * of.saturating_sub(done) as f64))
}

/// So many seconds, as an estimate is told.
fn rounded(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 90.0 => format!("{seconds:.0} s"),
        seconds if seconds < 5400.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.1} h", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Standing;

    impl WordedPace for Standing {
        fn text(&self, _: Instant) -> String {
            String::new()
        }
    }

    #[test]
    fn a_line_is_written_every_ten_seconds_and_none_before() {
        let told = Instant::now();
        let at = |millis| told + Duration::from_millis(millis);
        let mut clocked = ClockedPace { pace: Standing, told };
        let told: Vec<_> =
            (0..=300).filter(|tenth| clocked.line(at(tenth * 100)).is_some()).collect();
        assert_eq!(told, [100, 200, 300]);
    }

    #[test]
    fn the_time_left_follows_from_what_is_done() {
        let left = |done, of| time_left(done, of, Duration::from_secs(10));
        assert_eq!(left(0, 10), "");
        assert_eq!(left(10, 10), ", about 0 s left");
        assert_eq!(left(1, 9), ", about 80 s left");
        assert_eq!(left(1, 100), ", about 16 min left");
        assert_eq!(left(1, 10_000), ", about 27.8 h left");
    }
}
