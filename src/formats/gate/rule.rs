//! The rule of a gate: what is compared, with which test, and what counts as better. Read from a short file, or the
//! defaults.

use std::path::Path;

use repro_core::source::{Document, Error, Location, Node, Source};

use crate::gate::BAD_RULE;

/// The test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateTest {
    /// Two means with separate variances.
    Welch,
    /// Differences between runs that share a seed.
    Paired,
    /// One mean against a fixed threshold.
    OneSample,
    /// The mean alone against a fixed threshold; some leaderboards require no test.
    None,
}

impl GateTest {
    /// All tests.
    const ALL: [Self; 4] = [Self::Welch, Self::Paired, Self::OneSample, Self::None];

    /// The value in a rule file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Welch => "welch",
            Self::Paired => "paired",
            Self::OneSample => "one-sample",
            Self::None => "none",
        }
    }

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Welch => "Welch's t test",
            Self::Paired => "paired t test",
            Self::OneSample => "one-sample t test",
            Self::None => "no test",
        }
    }

    /// Whether it compares runs with a threshold.
    fn is_of_a_bar(self) -> bool {
        matches!(self, Self::OneSample | Self::None)
    }
}

/// The definition of better.
#[derive(Debug, Clone, PartialEq)]
pub struct GateRule {
    /// The rule file; none for the defaults.
    pub file: Option<String>,
    /// The author's description.
    pub about: Option<String>,
    /// The metric's names in logs; the first one that a log has is used.
    pub metric: Vec<String>,
    /// Whether lower is better; if not set, the metric's name may tell.
    pub lower_is_better: Option<bool>,
    /// The threshold that replaces a baseline.
    pub bar: Option<f64>,
    /// The threshold as printed in the rule.
    pub bar_text: String,
    /// The test.
    pub test: GateTest,
    /// The significance level.
    pub p_below: f64,
    /// Whether p is one-sided.
    pub one_sided: bool,
    /// The minimum number of runs per arm.
    pub at_least: usize,
    /// The step at which runs are read.
    pub step: ReadAt,
    /// The number of candidates that this one was selected from.
    pub tries: u64,
}

/// The point of a run at which its value is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadAt {
    /// The last step, which must be the same in all runs.
    Common,
    /// Each run's last step, whatever it is.
    Last,
    /// This step.
    Step(u64),
}

/// The keys of a rule.
const KEYS: [&str; 9] = [
    "about",
    "metric",
    "lower_is_better",
    "bar",
    "test",
    "p_below",
    "one_sided",
    "at_least",
    "step",
];
/// The default significance level.
const LEVEL: f64 = 0.05;

impl Default for GateRule {
    /// Welch's test, two-sided at 5%, with at least two runs per arm.
    fn default() -> Self {
        Self {
            file: None,
            about: None,
            metric: Vec::new(),
            lower_is_better: None,
            bar: None,
            bar_text: String::new(),
            test: GateTest::Welch,
            p_below: LEVEL,
            one_sided: false,
            at_least: 2,
            step: ReadAt::Common,
            tries: 1,
        }
    }
}

impl GateRule {
    /// Reads a rule file.
    pub fn load(path: &Path) -> Result<Self, Error> {
        Self::parse(Source::load_plain(path, path.display().to_string())?)
    }

    /// Parses the text of a rule.
    pub fn parse(source: Source) -> Result<Self, Error> {
        let file = source.name().to_owned();
        let document = Document::parse_toml(source)?;
        let root = document.root();
        root.only(&KEYS)?;
        let text = |key: &str| root.get(key).map(|node| node.text().map(str::to_owned)).transpose();
        let truth = |key: &str| root.get(key).map(Node::truth).transpose();
        let bar = root.get("bar").map(|node| Ok::<_, Error>((node.float()?, node.printed()?)));
        let bar = bar.transpose()?;
        let test = test(root, bar.is_some())?;
        Ok(Self {
            file: Some(file),
            about: text("about")?,
            metric: metric(root)?,
            lower_is_better: truth("lower_is_better")?,
            bar: bar.map(|(value, _)| value),
            bar_text: bar.map(|(_, text)| text.to_owned()).unwrap_or_default(),
            test,
            p_below: level(root, test)?,
            one_sided: match root.get("one_sided") {
                Some(node) if test == GateTest::None => return Err(needs_a_test(node)),
                Some(node) => node.truth()?,
                None => bar.is_some(),
            },
            at_least: at_least(root, test)?,
            step: read_at(root)?,
            tries: 1,
        })
    }

    /// Its location in messages.
    pub fn place(&self) -> Location {
        Location::file(self.file.as_deref().unwrap_or("gate"))
    }

    /// The significance level divided by the number of tried candidates.
    pub fn level(&self) -> f64 {
        self.p_below / self.tries as f64
    }
}

/// Reads one name or a list of names.
fn metric(root: Node<'_>) -> Result<Vec<String>, Error> {
    let Some(node) = root.get("metric") else { return Ok(Vec::new()) };
    let names: Vec<Node<'_>> = match node.items() {
        Ok(items) => items.collect(),
        Err(_) => vec![node],
    };
    if names.is_empty() {
        return Err(BAD_RULE.at(node.place(), "a name or a list of names", "an empty list"));
    }
    names.into_iter().map(|name| name.text().map(str::to_owned)).collect()
}

fn needs_a_test(node: Node<'_>) -> Error {
    BAD_RULE.at(node.place(), "a rule with a test", "`test = \"none\"`")
}

/// Reads the test, which must fit the reference.
fn test(root: Node<'_>, has_bar: bool) -> Result<GateTest, Error> {
    let Some(node) = root.get("test") else {
        return Ok(if has_bar { GateTest::OneSample } else { GateTest::Welch });
    };
    let word = node.text()?;
    let suits = |test: &GateTest| test.is_of_a_bar() == has_bar;
    match GateTest::ALL.into_iter().find(|test| test.word() == word) {
        Some(test) if suits(&test) => Ok(test),
        _ => {
            let words: Vec<_> = GateTest::ALL.into_iter().filter(suits).collect();
            let words: Vec<_> = words.iter().map(|test| format!("`{}`", test.word())).collect();
            let of = if has_bar { "with `bar`" } else { "without `bar`" };
            let expected = format!("{}, {of}", words.join(" or "));
            Err(BAD_RULE.at(node.place(), expected, format!("`{word}`")))
        }
    }
}

/// Reads the significance level.
fn level(root: Node<'_>, test: GateTest) -> Result<f64, Error> {
    let Some(node) = root.get("p_below") else { return Ok(LEVEL) };
    if test == GateTest::None {
        return Err(needs_a_test(node));
    }
    let level = node.float()?;
    if level > 0.0 && level < 0.5 {
        return Ok(level);
    }
    Err(BAD_RULE.at(node.place(), "a number between 0 and 0.5", format!("{level}")))
}

/// Reads the minimum number of runs: tests need at least two.
fn at_least(root: Node<'_>, test: GateTest) -> Result<usize, Error> {
    let fewest = if test == GateTest::None { 1 } else { 2 };
    let Some(node) = root.get("at_least") else { return Ok(fewest) };
    let asked = node.integer()?;
    if asked < fewest as u64 || asked > 1_000_000 {
        let expected = format!("at least {fewest} runs: {}", test.name());
        return Err(BAD_RULE.at(node.place(), expected, asked.to_string()));
    }
    Ok(asked as usize)
}

fn read_at(root: Node<'_>) -> Result<ReadAt, Error> {
    let Some(node) = root.get("step") else { return Ok(ReadAt::Common) };
    match node.text() {
        Ok("last") => Ok(ReadAt::Last),
        Ok(other) => {
            let expected = "a step, or `last` for each run's last step";
            Err(BAD_RULE.at(node.place(), expected, format!("`{other}`")))
        }
        Err(_) => Ok(ReadAt::Step(node.integer()?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<GateRule, Error> {
        GateRule::parse(Source::new("rule.toml", text.into()).unwrap())
    }

    #[test]
    fn what_a_rule_leaves_out_follows_from_the_rest() {
        let empty = parse("").unwrap();
        assert_eq!(GateRule { file: None, ..empty }, GateRule::default());
        let bar = parse("bar = 3.280").unwrap();
        assert_eq!((bar.test, bar.one_sided, bar.at_least), (GateTest::OneSample, true, 2));
        assert_eq!((bar.bar, bar.bar_text.as_str()), (Some(3.28), "3.280"));
        let mean = parse("bar = 0.256525\ntest = \"none\"").unwrap();
        assert_eq!((mean.test, mean.at_least), (GateTest::None, 1));
        assert_eq!(parse("step = \"last\"").unwrap().step, ReadAt::Last);
        assert_eq!(parse("step = 1_390").unwrap().step, ReadAt::Step(1390));
        let shared = GateRule { tries: 20, ..GateRule::default() };
        assert_eq!(shared.level(), 0.0025);
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        for (text, found) in [
            ("bar = 3.28\ntest = \"welch\"", "`welch`"),
            ("test = \"one-sample\"", "`one-sample`"),
            ("test = \"none\"", "`none`"),
            ("test = \"t\"", "`t`"),
            ("p_below = 0.5", "0.5"),
            ("p_below = 0", "0"),
            ("at_least = 1", "1"),
            ("bar = 1\ntest = \"none\"\nat_least = 0", "0"),
            ("bar = 1\ntest = \"none\"\np_below = 0.01", "`test = \"none\"`"),
            ("bar = 1\ntest = \"none\"\none_sided = true", "`test = \"none\"`"),
            ("step = \"first\"", "`first`"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!((error.code.id, error.found.as_str()), ("gate::bad-rule", found), "{text}");
        }
        for text in ["bar = \"3.28\"", "step = 2.5", "metric = 3", "levle = 0.1", "bar = inf"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
