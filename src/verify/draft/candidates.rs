//! The expressions that may stand behind a number: fields, statistics of runs, differences and ratios of arms.

use crate::given::{GivenNumber, given};
use crate::lexicon::lexicon;
use crate::page::PostPage;
use crate::work::Work;
use repro_core::source::Error;

use crate::draft::evidence::{DraftEvidence, NamedArm, NamedMetric, words_of};
use crate::draft::quantities::{has_one, is_in, words_of_list};
use crate::draft::settings::{SpokenSetting, products};

/// The most expressions that are tried.
const MOST: usize = 200_000;
/// Of so many arms at most, pairs are compared.
const COMPARED: usize = 24;

/// An expression with what it gives, and the words by which a text may mean it.
#[derive(Debug, Clone)]
pub struct DraftCandidate {
    pub expression: String,
    pub number: GivenNumber,
    /// The arms that it is about, by their place in the list.
    pub arms: Vec<usize>,
    /// Words of its fields, and of what is done to them.
    pub words: Vec<String>,
    /// The step at which it is read, where that is not the last, and the last at which its arm was evaluated.
    pub step: Option<u64>,
    pub last: Option<u64>,
    /// Whether evaluations or logs measured it, and whether it is a step itself.
    pub is_measured: bool,
    pub is_step: bool,
    /// How much is done: the simplest comes first.
    pub cost: f64,
    /// Whether it stands behind a ±.
    pub is_spread: bool,
    /// Words of which the text must have one: no other statistic is meant where a text names none.
    pub needs: &'static [String],
    /// Of what is configured or counted: lists of each of which the text has a word next to the number.
    pub said: Vec<Vec<String>>,
}

/// An operation on fields, with its cost.
struct Shape {
    /// With `A` and `B` for the fields.
    pattern: &'static str,
    cost: f64,
    is_spread: bool,
    /// Whether a text means it only where it says one of its words.
    is_named: bool,
}

impl Shape {
    /// How a text says so.
    fn words(&self) -> &'static [String] {
        lexicon().words(&format!("draft_shape.{}", self.pattern))
    }
}

const fn shape(pattern: &'static str, cost: f64) -> Shape {
    Shape { pattern, cost, is_spread: false, is_named: false }
}

const fn spread(pattern: &'static str, cost: f64) -> Shape {
    Shape { is_spread: true, ..shape(pattern, cost) }
}

const fn named(pattern: &'static str, cost: f64) -> Shape {
    Shape { is_named: true, ..shape(pattern, cost) }
}

/// Of a field of a group.
const OF_GROUP: &[Shape] = &[
    shape("mean(A)", 1.0),
    named("median(A)", 2.0),
    named("min(A)", 2.0),
    named("max(A)", 2.0),
    spread("sd(A)", 1.0),
    spread("se(A)", 1.5),
    spread("ci95(A)", 1.5),
    spread("population_sd(A)", 2.5),
    named("max(A) - min(A)", 3.0),
];

/// Of a share that a text writes as a percentage without its sign.
const OF_SHARE: &[Shape] =
    &[shape("100 * mean(A)", 1.6), spread("100 * sd(A)", 1.6), spread("100 * se(A)", 2.1)];

/// Of a field in two groups.
const OF_GROUPS: &[Shape] = &[
    shape("mean(A) - mean(B)", 2.0),
    shape("percent_below(mean(A), mean(B))", 2.2),
    shape("percent_above(mean(A), mean(B))", 2.2),
    shape("mean(A) / mean(B)", 2.5),
    named("p(A, B)", 2.0),
    spread("abs(gap_ci95(A, B))", 4.0),
];

/// Of a number of one run and that of another.
const OF_RUNS: &[Shape] = &[
    shape("A / B", 2.5),
    shape("A - B", 2.5),
    shape("percent_below(A, B)", 2.5),
    shape("percent_above(A, B)", 2.5),
];

impl DraftCandidate {
    fn unvalued(expression: String, arms: Vec<usize>, words: Vec<String>, cost: f64) -> Self {
        let number = GivenNumber { low: f64::NAN, high: f64::NAN };
        Self {
            expression,
            number,
            arms,
            words,
            step: None,
            last: None,
            is_measured: false,
            is_step: false,
            cost,
            is_spread: false,
            needs: &[],
            said: Vec::new(),
        }
    }

    /// The words that a text must have next to its number.
    fn said(
        expression: String,
        arms: Vec<usize>,
        said: Vec<Vec<String>>,
        more: Vec<String>,
        cost: f64,
    ) -> Self {
        let words = said.iter().flatten().cloned().chain(more).collect();
        Self { said, ..Self::unvalued(expression, arms, words, cost) }
    }

    /// The argument of a statistic: `muon.loss @ 500` in `mean(muon.loss @ 500)`.
    pub fn field(&self) -> &str {
        let whole = self.expression.as_str();
        whole.split_once('(').map_or(whole, |(_, inner)| inner).trim_end_matches(')')
    }

    /// Whether another is the same field, or the same of the same arms in another order.
    pub fn says_the_same(&self, other: &Self) -> bool {
        let path = |one: &Self| {
            let field = one.expression.trim_start_matches("each(").split([',', ')']).next();
            field.and_then(|field| field.rsplit_once(['.', '('])).map(|(_, field)| field.to_owned())
        };
        let arms = |one: &Self| {
            let mut arms = one.arms.clone();
            arms.sort_unstable();
            arms
        };
        let is_symmetric = self.expression.starts_with("p(") && other.expression.starts_with("p(");
        let is_field = |one: &Self| !one.expression.contains(['*', '/', '-', '+']);
        self.number == other.number
            && (is_symmetric && arms(self) == arms(other)
                || is_field(self)
                    && is_field(other)
                    && self.words == other.words
                    && path(self) == path(other))
    }
}

/// The candidates of a draft.
#[derive(Debug)]
pub struct Candidates {
    pub all: Vec<DraftCandidate>,
    /// How many expressions were not tried.
    pub left_out: usize,
}

/// Every candidate that has one value, or two that are the ends of an interval around zero.
pub fn candidates(
    evidence: &DraftEvidence,
    page: &PostPage,
    threads: usize,
    work: &Work,
) -> Result<Candidates, Error> {
    let mut all = Vec::new();
    for (at, arm) in evidence.arms.iter().enumerate() {
        of_arm(at, arm, &mut all);
    }
    let groups: Vec<&NamedArm> = evidence.arms.iter().filter(|arm| arm.is_group()).collect();
    of_all(&evidence.arms.iter().collect::<Vec<_>>(), &mut all);
    // A single run, such as a test of the set-up, is often no part of the comparison.
    if groups.len() < evidence.arms.len() {
        of_all(&groups, &mut all);
    }
    for (a, first) in evidence.arms.iter().enumerate().take(COMPARED) {
        for (b, second) in evidence.arms.iter().enumerate().take(COMPARED) {
            if a != b {
                of_pair((a, first), (b, second), &mut all);
            }
        }
    }
    let count = all.len();
    all.truncate(MOST);
    let expressions: Vec<_> = all.iter().map(|one| one.expression.clone()).collect();
    let values = given(page, evidence.library(), &expressions, threads, work)?;
    let left_out = count - values.len();
    let valued = std::iter::zip(all, values).filter_map(|(candidate, numbers)| {
        let number = match numbers.as_slice() {
            [one] => *one,
            // What is the same everywhere.
            [one, others @ ..] if others.iter().all(|other| other == one) => *one,
            // A spread that is an interval around the mean is known by its half-width.
            [low, high] if candidate.is_spread => {
                let half = 0.5 * (high.low - low.low);
                GivenNumber { low: half, high: half }
            }
            _ => return None,
        };
        (number.low.is_finite() && number.high.is_finite())
            .then_some(DraftCandidate { number, ..candidate })
    });
    Ok(Candidates { all: valued.collect(), left_out })
}

fn words(path: &str) -> Vec<String> {
    let mut words = words_of(path);
    let known: Vec<String> = words.clone();
    for word in &known {
        words.extend_from_slice(lexicon().words(&format!("draft_same.{word}")));
    }
    words
}

fn joined(fields: &[String], more: &[impl AsRef<str>]) -> Vec<String> {
    fields.iter().cloned().chain(more.iter().map(|word| word.as_ref().to_owned())).collect()
}

/// The candidates from one arm.
fn of_arm(at: usize, arm: &NamedArm, all: &mut Vec<DraftCandidate>) {
    let (name, first) = (&arm.name, arm.first());
    let mut plain = |expression: String, said: Vec<Vec<String>>, more: Vec<String>, cost: f64| {
        all.push(DraftCandidate::said(expression, vec![at], said, more, cost));
    };
    let list = |name: &str| words_of_list(name).to_vec();
    if arm.is_group() {
        plain(format!("count({name})"), vec![list("replicates")], Vec::new(), 1.0);
    }
    let parameters = || vec![list("parameters")];
    plain(format!("total({first})"), parameters(), list("stored"), 1.0);
    plain(format!("active({first})"), parameters(), list("active"), 1.2);
    plain(format!("active({first}) / total({first})"), vec![list("active")], list("share"), 2.0);
    if arm.recorded.iter().any(|field| field == "tokens_seen") {
        let words = joined(&words("tokens"), &["parameter", "per", "active"]);
        plain(format!("{first}.tokens_seen / active({first})"), Vec::new(), words, 2.5);
    }
    for path in &arm.settings {
        let spoken = SpokenSetting::of(path);
        plain(arm.setting(path), spoken.said, spoken.words, 1.2);
    }
    for product in products() {
        for paths in product.paths(&arm.settings) {
            let said = vec![product.words.to_vec()];
            plain(multiplied(&first, &paths), said, Vec::new(), 1.6);
        }
    }
    for field in &arm.recorded {
        let is_course = is_in("course", field);
        if is_course {
            plain(format!("{first}.{field}"), vec![words(field)], Vec::new(), 1.0);
        }
    }
    for metric in arm.metrics.iter().filter(|metric| is_in("course", &metric.metric)) {
        plain(course(arm, metric), vec![words(&metric.metric)], Vec::new(), 1.1);
    }
    for step in arm.steps.split_last().map_or(&[][..], |(_, before)| before) {
        let one = DraftCandidate::unvalued(
            format!("{first}.step @ {step}"),
            vec![at],
            words("step"),
            2.0,
        );
        // That step 20 is step 20 says something only where a text reads a step: "20 steps" are a number of them.
        all.push(DraftCandidate { step: Some(*step), is_step: true, ..one });
    }
    let before = all.len();
    let measured = arm.recorded.iter().filter(|field| !is_in("course", field));
    for field in measured {
        let steps = arm.steps.split_last().map_or(&[][..], |(_, before)| before);
        of_field(at, arm, &format!("{name}.{field}"), &words(field), None, all);
        for step in steps {
            of_field(at, arm, &format!("{name}.{field} @ {step}"), &words(field), Some(*step), all);
        }
    }
    for metric in arm.metrics.iter().filter(|metric| is_a_result(&metric.metric)) {
        of_field(at, arm, &metric.name, &words(&metric.metric), None, all);
    }
    measured_until(arm.steps.last(), all, before);
}

/// Notes that what was made behind a place was measured, the last time at a step.
fn measured_until(last: Option<&u64>, all: &mut [DraftCandidate], from: usize) {
    for one in all.iter_mut().skip(from) {
        (one.is_measured, one.last) = (true, last.copied());
    }
}

/// Whether a metric says how a run did: not how far it came, and no setting that is logged at each step, such as the learning rate.
fn is_a_result(metric: &str) -> bool {
    let is_setting = |concept: &str| is_in("logged_settings", concept);
    !is_in("course", metric) && !SpokenSetting::of(metric).concept.is_some_and(is_setting)
}

/// Whether a quantity is one that texts write as a share or as a percentage.
fn is_share(fields: &[String]) -> bool {
    has_one(words_of_list("shares"), fields)
}

/// The candidates from a quantity of an arm's runs.
fn of_field(
    at: usize,
    arm: &NamedArm,
    path: &str,
    fields: &[String],
    step: Option<u64>,
    all: &mut Vec<DraftCandidate>,
) {
    let later = if step.is_some() { 1.5 } else { 0.0 };
    if arm.is_group() {
        let of_share = OF_SHARE.iter().filter(|_| is_share(fields));
        let shapes = OF_GROUP.iter().chain(of_share);
        all.extend(shapes.map(|shape| made(shape, path, "", &[at], fields, later, step)));
    } else {
        let of_share = is_share(fields).then(|| (format!("100 * {path}"), 1.6));
        for (expression, cost) in [(path.to_owned(), 1.0)].into_iter().chain(of_share) {
            let one = DraftCandidate::unvalued(expression, vec![at], fields.to_vec(), cost + later);
            all.push(DraftCandidate { step, ..one });
        }
    }
}

fn made(
    shape: &Shape,
    a: &str,
    b: &str,
    arms: &[usize],
    fields: &[String],
    more: f64,
    step: Option<u64>,
) -> DraftCandidate {
    // `A` and `B` stand for fields, which are written in small letters.
    let expression = shape.pattern.replace('A', "\u{1}").replace('B', b).replace('\u{1}', a);
    let words = joined(fields, shape.words());
    let one = DraftCandidate::unvalued(expression, arms.to_vec(), words, shape.cost + more);
    let needs = if shape.is_named { shape.words() } else { &[] };
    DraftCandidate { step, is_spread: shape.is_spread, needs, ..one }
}

/// The candidates from two arms together.
fn of_pair(
    (a, first): (usize, &NamedArm),
    (b, second): (usize, &NamedArm),
    all: &mut Vec<DraftCandidate>,
) {
    let arms = [a, b];
    let before = all.len();
    let is_grouped = first.is_group() && second.is_group();
    let shapes = if is_grouped { OF_GROUPS } else { OF_RUNS };
    let both = first.recorded.iter().filter(|field| second.recorded.contains(field));
    // Sums over an evaluation are compared as the loss that they give.
    let both = both.filter(|field| !is_in("course", field) && !is_in("sums", field));
    for field in both {
        let path = |arm: &NamedArm| match is_grouped {
            true => format!("{}.{field}", arm.name),
            false => format!("{}.{field}", arm.first()),
        };
        let fields = words(field);
        let more = if is_in("main", field) { 0.0 } else { 0.2 };
        let own = |shape| made(shape, &path(first), &path(second), &arms, &fields, more, None);
        all.extend(shapes.iter().map(own));
    }
    for metric in first.metrics.iter().filter(|metric| is_a_result(&metric.metric)) {
        let other = second.metrics.iter().find(|other| other.metric == metric.metric);
        let fields = words(&metric.metric);
        let made = |other: &NamedMetric| {
            let of = |shape| made(shape, &metric.name, &other.name, &arms, &fields, 0.0, None);
            shapes.iter().map(of).collect::<Vec<_>>()
        };
        all.extend(other.map(made).into_iter().flatten());
    }
    measured_until(first.steps.last().max(second.steps.last()), all, before);
    for function in ["total", "active"] {
        let of = |arm: &NamedArm| format!("{function}({})", arm.first());
        let fields = joined(&words(function), &["parameters", "params"]);
        all.extend(
            OF_RUNS
                .iter()
                .map(|shape| made(shape, &of(first), &of(second), &arms, &fields, 0.5, None)),
        );
    }
    for path in first.settings.iter().filter(|path| second.settings.contains(path)) {
        let of = |arm: &NamedArm| arm.setting(path);
        let ratio = OF_RUNS.iter().take(1);
        all.extend(
            ratio.map(|shape| made(shape, &of(first), &of(second), &arms, &words(path), 1.5, None)),
        );
    }
}

/// A product of settings of a run.
fn multiplied(run: &str, paths: &[&str]) -> String {
    let factors: Vec<_> = paths.iter().map(|path| format!("{run}.{path}")).collect();
    factors.join(" * ")
}

/// How far the runs of an arm have come, by a metric of their logs.
fn course(arm: &NamedArm, metric: &NamedMetric) -> String {
    if arm.is_group() { format!("mean({})", metric.name) } else { metric.name.clone() }
}

/// The candidates that are the same in all arms.
fn of_all(arms: &[&NamedArm], all: &mut Vec<DraftCandidate>) {
    let [first, others @ ..] = arms else { return };
    if others.is_empty() {
        return;
    }
    let everywhere = |path: &String, of: fn(&NamedArm) -> &[String]| {
        others.iter().all(|arm| of(arm).contains(path))
    };
    let each = |parts: Vec<String>, said: Vec<Vec<String>>, more: Vec<String>, cost: f64| {
        let expression = format!("each({})", parts.join(", "));
        DraftCandidate::said(expression, Vec::new(), said, more, cost)
    };
    let of_runs = |path: &str| -> Vec<String> {
        arms.iter().map(|arm| format!("{}.{path}", arm.first())).collect()
    };
    for path in first.settings.iter().filter(|path| everywhere(path, |arm| &arm.settings)) {
        let spoken = SpokenSetting::of(path);
        let of_runs = arms.iter().map(|arm| arm.setting(path)).collect();
        all.push(each(of_runs, spoken.said, spoken.words, 1.1));
    }
    for (count, more, cost) in [("total", "stored", 1.0), ("active", "active", 1.2)] {
        let parts = arms.iter().map(|arm| format!("{count}({})", arm.first())).collect();
        let said = vec![words_of_list("parameters").to_vec()];
        all.push(each(parts, said, words_of_list(more).to_vec(), cost));
    }
    let course_fields = first.recorded.iter().filter(|path| is_in("course", path));
    for path in course_fields.filter(|path| everywhere(path, |arm| &arm.recorded)) {
        all.push(each(of_runs(path), vec![words(path)], Vec::new(), 1.1));
    }
    for metric in first.metrics.iter().filter(|metric| is_in("course", &metric.metric)) {
        let own = |arm: &&NamedArm| {
            let same = arm.metrics.iter().find(|known| known.metric == metric.metric)?;
            Some(course(arm, same))
        };
        if let Some(parts) = arms.iter().map(own).collect::<Option<Vec<_>>>() {
            all.push(each(parts, vec![words(&metric.metric)], Vec::new(), 1.0));
        }
    }
    for product in products() {
        for paths in product.paths(&first.settings) {
            let is_shared = |path: &&str| everywhere(&(*path).to_owned(), |arm| &arm.settings);
            if paths.iter().all(is_shared) {
                let parts = arms.iter().map(|arm| multiplied(&arm.first(), &paths)).collect();
                all.push(each(parts, vec![product.words.to_vec()], Vec::new(), 1.5));
            }
        }
    }
    if arms.iter().all(|arm| arm.is_group()) {
        let counts = arms.iter().map(|arm| format!("count({})", arm.name)).collect();
        all.push(each(counts, vec![words_of_list("replicates").to_vec()], Vec::new(), 1.1));
    }
}
