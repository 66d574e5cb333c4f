//! Every test and interval that the numbers given allow, each with its fields, or with the reason why
//! there is none.

use num_rational::BigRational;
use repro_core::decimal::format_float;

use crate::bootstrap::{BootstrapInterval, INFERENCE_FROM, Resampled};
use crate::interquartile::ScoresByTask;
use crate::power::{Design, Goal};
use crate::proportion::{Proportion, fisher, mcnemar, two_proportions};
use crate::{self as stats, Decimal, Decimals, MannWhitney, RankedPair, Refused, Summary, T, mean};

/// Below this many values with ties the normal approximation of U is rough: SciPy counts orders there if it can.
const FEW_TIED: usize = 8;

/// The available data of one arm.
#[derive(Debug)]
pub enum ArmValues {
    /// Its values.
    Values(ListedValues),
    /// Only their summary.
    Summary(Summary),
}

/// The values of an arm as the nearest floats and exactly.
#[derive(Debug)]
pub struct ListedValues {
    floats: Vec<f64>,
    exact: Decimals,
}

impl ListedValues {
    /// Pairs of a float and the decimal that it was read from.
    pub fn of(values: impl IntoIterator<Item = (f64, Decimal)>) -> Self {
        let (floats, exact): (Vec<_>, Vec<_>) = values.into_iter().unzip();
        Self { floats, exact: exact.into() }
    }
}

impl ArmValues {
    /// The values, if they are available.
    pub fn values(&self) -> Option<&[f64]> {
        match self {
            ArmValues::Values(values) => Some(&values.floats),
            ArmValues::Summary(_) => None,
        }
    }

    /// The exact values, if they are available.
    fn exact(&self) -> Option<&Decimals> {
        match self {
            ArmValues::Values(values) => Some(&values.exact),
            ArmValues::Summary(_) => None,
        }
    }

    /// The summary, if there is one.
    pub fn summary(&self) -> Result<Summary, Refused> {
        match self {
            ArmValues::Values(values) => Summary::of_decimals(&values.exact),
            ArmValues::Summary(summary) => Ok(*summary),
        }
    }

    /// The number of values.
    pub fn count(&self) -> usize {
        match self {
            ArmValues::Values(values) => values.floats.len(),
            ArmValues::Summary(summary) => summary.n,
        }
    }

    /// The mean, which one value has too.
    pub fn mean(&self) -> Result<f64, Refused> {
        match self {
            ArmValues::Values(values) => mean(&values.floats),
            ArmValues::Summary(summary) => Ok(summary.mean),
        }
    }
}

/// All that was asked.
#[derive(Debug)]
pub struct StatsRequest {
    /// The first arm.
    pub a: Option<ArmValues>,
    /// The second arm.
    pub b: Option<ArmValues>,
    /// One or two proportions.
    pub proportions: Vec<Proportion>,
    /// Discordant pairs: only the first succeeded, only the second.
    pub discordant: Option<[u64; 2]>,
    /// P-values of one family.
    pub p_values: Vec<f64>,
    /// Scores: a list of runs for each task.
    pub scores: Vec<Vec<f64>>,
    /// Groups of values, for the analysis of variance.
    pub groups: Vec<Decimals>,
    /// Counts of categories.
    pub categories: Vec<BigRational>,
    /// The expected fractions; none if they are equal.
    pub expected: Option<Vec<BigRational>>,
    /// The null value of one list.
    pub target: Option<f64>,
    /// The margin of equivalence.
    pub margin: Option<[f64; 2]>,
    /// The level of every interval.
    pub level: f64,
    /// The goal of a design, at 1 - level.
    pub goal: Goal,
    /// The power of that goal.
    pub power: f64,
    /// The seed of every draw.
    pub seed: u64,
    /// The number of resamples.
    pub resamples: usize,
}

/// How power is computed, in a few words.
pub const POWER_METHOD: &str = "two-sided t test; power from the noncentral t distribution, integrated \
                                over the measured spread by tanh-sinh quadrature";

/// The reason why there is no answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Why(pub String);

impl From<Refused> for Why {
    fn from(refused: Refused) -> Self {
        Self(refused.to_string())
    }
}

/// The reason for a missing test against a target that was not requested; not shown to readers.
pub const NO_TARGET: &str = "no target was given";

/// One answer under its name.
#[derive(Debug)]
pub struct Entry {
    /// Its key in JSON.
    pub key: &'static str,
    /// Its name for people.
    pub label: &'static str,
    /// The result.
    pub answer: Result<Answer, Why>,
}

/// A computed result.
#[derive(Debug, Default)]
pub struct Answer {
    /// The fields in order.
    pub fields: Vec<(&'static str, AnswerField)>,
    /// The reason why it decides nothing.
    pub doubt: Option<String>,
}

/// One field of an answer.
#[derive(Debug, Clone)]
pub enum AnswerField {
    /// A number that is rounded when it is printed.
    Number(f64),
    /// A whole number.
    Count(u64),
    /// Numbers in order: the ends of an interval, or one for each arm.
    Numbers(Vec<f64>),
    /// Whole numbers in order.
    Counts(Vec<u64>),
    /// A word.
    Word(&'static str),
    /// A truth value.
    Truth(bool),
    /// No answer, with the reason.
    Refused(Why),
}

impl Answer {
    fn of(fields: Vec<(&'static str, AnswerField)>) -> Self {
        Self { fields, doubt: None }
    }

    fn doubted(mut self, doubt: Option<String>) -> Self {
        self.doubt = doubt;
        self
    }

    /// The field of this name.
    pub fn field(&self, name: &str) -> Option<&AnswerField> {
        self.fields.iter().find(|(key, _)| *key == name).map(|(_, field)| field)
    }
}

/// Everything that the numbers allow.
pub fn answers(asked: &StatsRequest) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut add = |key, label, answer| entries.push(Entry { key, label, answer });
    match (&asked.a, &asked.b) {
        (Some(a), None) => one_arm(asked, a, &mut add),
        (Some(a), Some(b)) => two_arms(asked, a, b, &mut add),
        (None, _) => {}
    }
    proportions(asked, &mut add);
    if let Some([b, c]) = asked.discordant {
        paired_counts(b, c, &mut add);
    }
    if !asked.p_values.is_empty() {
        let adjusted = AnswerField::Numbers(stats::holm(&asked.p_values));
        let given = AnswerField::Numbers(asked.p_values.clone());
        add("holm", "Holm", Ok(Answer::of(vec![("p", given), ("adjusted", adjusted)])));
    }
    if !asked.groups.is_empty() {
        add("anova", "one-way ANOVA", analysis_of_variance(&asked.groups));
    }
    if !asked.categories.is_empty() {
        add("chi_squared", "chi-squared", of_categories(asked));
    }
    if !asked.scores.is_empty() {
        add("interquartile_mean", "interquartile mean", interquartile(asked));
    }
    entries
}

/// Takes each answer with its names.
type Add<'a> = dyn FnMut(&'static str, &'static str, Result<Answer, Why>) + 'a;

/// The values of an arm.
fn known(arm: &ArmValues) -> Result<&[f64], Why> {
    arm.values().ok_or_else(only_a_summary)
}

/// The values of an arm, exactly.
fn known_exactly(arm: &ArmValues) -> Result<&Decimals, Why> {
    arm.exact().ok_or_else(only_a_summary)
}

fn only_a_summary() -> Why {
    Why("only a summary is available, not the values".to_owned())
}

fn one_arm(asked: &StatsRequest, a: &ArmValues, add: &mut Add<'_>) {
    let target = asked.target.unwrap_or(0.0);
    add("a", "a", described(a));
    let test = one_sample(a, target);
    add("one_sample_t", "one-sample t", against_target(a, target, &test, asked.level));
    let values = known(a);
    let away = values
        .clone()
        .and_then(|values| Ok(stats::differences(values, &vec![target; values.len()])?));
    add("sign_flip", "sign flip", away.and_then(|away| sign_flip(&away, asked)));
    let resampled =
        values.and_then(|values| Ok(Resampled::of(values, asked.resamples, asked.seed)?));
    intervals(asked, &resampled, a.count(), ["bootstrap_percentile", "bootstrap_bca"], add);
    if let Some(margin) = asked.margin {
        add("equivalence", "one-sample t", equivalence(&test, margin, a.count()));
    }
    let design = a.summary().map(|summary| Design::Paired(summary.sd)).map_err(Why::from);
    add("power", "one-sample t", power(asked, &test, design));
}

fn two_arms(asked: &StatsRequest, a: &ArmValues, b: &ArmValues, add: &mut Add<'_>) {
    add("a", "a", described(a));
    add("b", "b", described(b));
    let both = summaries(a, b);
    let fewest = a.count().min(b.count());
    let [welch, pooled] = unpaired(a, b).map(|test| test.map_err(Why::from));
    let counts = AnswerField::Counts(vec![a.count() as u64, b.count() as u64]);
    let compared = |test: &Result<T, Why>| {
        let test = test.clone()?;
        let mut fields = vec![("n", counts.clone()), ("diff", AnswerField::Number(test.estimate))];
        fields.extend(test_fields(&test, asked.level)?);
        Ok(Answer::of(fields).doubted(few_values(fewest)))
    };
    add("welch", "Welch t", compared(&welch));
    add("pooled_t", "pooled t", compared(&pooled));
    let lists = known(a).and_then(|a| Ok((a, known(b)?)));
    let exact = known_exactly(a).and_then(|a| Ok((a, known_exactly(b)?)));
    let exact_pairs = exact.clone().and_then(|(a, b)| Ok(Decimals::of_pairs(a, b)?));
    let pairs = exact_pairs.clone().map(|pairs| pairs.floats());
    let differences = exact_pairs.and_then(|pairs| Ok(Summary::of_decimals(&pairs)?));
    let paired = exact.clone().and_then(|(a, b)| Ok(stats::paired_of(a, b)?));
    add(
        "paired_t",
        "paired t",
        paired.clone().and_then(|test| {
            let mut fields = summary_fields(&differences.clone()?);
            fields.extend(test_fields(&test, asked.level)?);
            Ok(Answer::of(fields).doubted(few_values(fewest)))
        }),
    );
    add("sign_flip", "paired sign flip", pairs.clone().and_then(|pairs| sign_flip(&pairs, asked)));
    let ranked = exact.clone().and_then(|(a, b)| Ok(RankedPair::new(a, b)?));
    by_ranks(asked, &ranked, [a.count(), b.count()], add);
    let correlation = exact.and_then(|(a, b)| Ok(stats::correlation_of(a, b)?));
    add(
        "correlation",
        "correlation",
        correlation.map(|r| {
            let doubt = (fewest < 3).then(|| "two pairs always lie on one line".to_owned());
            Answer::of(vec![("r", AnswerField::Number(r))]).doubted(doubt)
        }),
    );
    let resampled = pairs.and_then(|pairs| Ok(Resampled::of(&pairs, asked.resamples, asked.seed)?));
    intervals(asked, &resampled, fewest, ["bootstrap_percentile", "bootstrap_bca"], add);
    let apart = lists.and_then(|(a, b)| Ok(Resampled::of_two(a, b, asked.resamples, asked.seed)?));
    let keys = ["bootstrap_unpaired_percentile", "bootstrap_unpaired_bca"];
    intervals(asked, &apart, fewest, keys, add);
    against_targets(asked, a, b, add);
    if let Some(margin) = asked.margin {
        add("equivalence_welch", "Welch t", equivalence(&welch, margin, fewest));
        add("equivalence_paired", "paired t", equivalence(&paired, margin, fewest));
    }
    let arms = both.map(|(a, b)| Design::TwoArms(a.sd, b.sd));
    add("power_welch", "Welch t", power(asked, &welch, arms));
    let of_pairs = differences.map(|summary| Design::Paired(summary.sd));
    add("power_paired", "paired t", power(asked, &paired, of_pairs));
}

/// The Mann-Whitney and Kolmogorov-Smirnov tests of lists of these lengths.
fn by_ranks(
    asked: &StatsRequest,
    ranked: &Result<RankedPair, Why>,
    n: [usize; 2],
    add: &mut Add<'_>,
) {
    let counts = || AnswerField::Counts(n.map(|n| n as u64).to_vec());
    let tested = ranked.clone().and_then(|ranked| Ok(ranked.mann_whitney()?));
    let alpha = 1.0 - asked.level;
    let doubt = |test: &MannWhitney| {
        let [a, b] = n;
        if test.least_two_sided > alpha * (1.0 + 1e-9) {
            let least = format_float(test.least_two_sided, 4);
            return Some(format!(
                "with n = {a} and {b}, no two-sided p is below {least}, which is above 1 - level"
            ));
        }
        let is_rough = !test.is_exact && a.min(b) < FEW_TIED;
        is_rough.then(|| {
            format!("fewer than {FEW_TIED} values, with ties: the normal approximation needs more")
        })
    };
    let mann_whitney = tested.clone().map(|test| {
        Answer::of(vec![
            ("n", counts()),
            ("u", AnswerField::Number(test.u)),
            ("p_two_sided", AnswerField::Number(test.p_two_sided)),
            ("p_less", AnswerField::Number(test.p_less)),
            ("p_greater", AnswerField::Number(test.p_greater)),
            ("method", AnswerField::Word(if test.is_exact { "exact" } else { "normal" })),
        ])
        .doubted(doubt(&test))
    });
    add("mann_whitney", "Mann-Whitney", mann_whitney);
    let unreachable = tested.ok().filter(|test| test.is_exact).and_then(|test| doubt(&test));
    let smirnov = ranked.clone().and_then(|ranked| {
        let test = ranked.kolmogorov_smirnov()?;
        Ok(Answer::of(vec![
            ("n", counts()),
            ("statistic", AnswerField::Number(test.d)),
            ("p", AnswerField::Number(test.p)),
            ("method", AnswerField::Word(if test.is_exact { "exact" } else { "limit" })),
        ])
        .doubted(unreachable))
    });
    add("kolmogorov_smirnov", "Kolmogorov-Smirnov", smirnov);
}

fn analysis_of_variance(groups: &[Decimals]) -> Result<Answer, Why> {
    let test = stats::anova(groups)?;
    let n = groups.iter().map(|group| group.count() as u64).collect();
    Ok(Answer::of(vec![
        ("n", AnswerField::Counts(n)),
        ("statistic", AnswerField::Number(test.f)),
        ("df", AnswerField::Numbers(vec![test.df_between, test.df_within])),
        ("p", AnswerField::Number(test.p)),
    ])
    .doubted(
        (test.df_within < 2.0).then(|| "the noise estimate has one degree of freedom".to_owned()),
    ))
}

fn of_categories(asked: &StatsRequest) -> Result<Answer, Why> {
    let test = stats::chi_squared(&asked.categories, asked.expected.as_deref())?;
    let doubt = (test.least_expected < 5.0).then(|| {
        "an expected count is below 5: the chi-squared approximation needs more".to_owned()
    });
    Ok(Answer::of(vec![
        ("categories", AnswerField::Count(asked.categories.len() as u64)),
        ("statistic", AnswerField::Number(test.statistic)),
        ("df", AnswerField::Number(test.df)),
        ("p", AnswerField::Number(test.p)),
        ("least_expected", AnswerField::Number(test.least_expected)),
    ])
    .doubted(doubt))
}

/// Tests each of two arms against the target, if there is one.
fn against_targets(asked: &StatsRequest, a: &ArmValues, b: &ArmValues, add: &mut Add<'_>) {
    for (key, label, arm) in
        [("one_sample_t", "a against target", a), ("one_sample_t_b", "b against target", b)]
    {
        let target = asked.target.ok_or_else(|| Why(NO_TARGET.to_owned()));
        let answer = target
            .and_then(|target| against_target(arm, target, &one_sample(arm, target), asked.level));
        add(key, label, answer);
    }
}

fn one_sample(arm: &ArmValues, target: f64) -> Result<T, Why> {
    Ok(match arm {
        ArmValues::Values(values) => stats::one_sample_of(&values.exact, target)?,
        ArmValues::Summary(summary) => stats::one_sample(summary, target)?,
    })
}

/// Welch's and the pooled test: from the values if both arms have them, otherwise from summaries.
fn unpaired(a: &ArmValues, b: &ArmValues) -> [Result<T, Refused>; 2] {
    if let (ArmValues::Values(a), ArmValues::Values(b)) = (a, b) {
        return [stats::welch_of(&a.exact, &b.exact), stats::pooled_of(&a.exact, &b.exact)];
    }
    match (a.summary(), b.summary()) {
        (Ok(a), Ok(b)) => [stats::welch(&a, &b), stats::pooled(&a, &b)],
        (Err(refused), _) | (_, Err(refused)) => [Err(refused.clone()), Err(refused)],
    }
}

fn summaries(a: &ArmValues, b: &ArmValues) -> Result<(Summary, Summary), Why> {
    Ok((a.summary()?, b.summary()?))
}

fn summary_fields(summary: &Summary) -> Vec<(&'static str, AnswerField)> {
    vec![
        ("n", AnswerField::Count(summary.n as u64)),
        ("mean", AnswerField::Number(summary.mean)),
        ("sd", AnswerField::Number(summary.sd)),
        ("se", AnswerField::Number(summary.standard_error())),
    ]
}

/// The description of one list; a single value has only a mean.
fn described(arm: &ArmValues) -> Result<Answer, Why> {
    match arm.summary() {
        Ok(summary) => Ok(Answer::of(summary_fields(&summary))),
        Err(refused @ Refused::TooFew { .. }) => Ok(Answer::of(vec![
            ("n", AnswerField::Count(arm.count() as u64)),
            ("mean", AnswerField::Number(arm.mean()?)),
            ("sd", AnswerField::Refused(refused.clone().into())),
            ("se", AnswerField::Refused(refused.into())),
        ])),
        Err(refused) => Err(refused.into()),
    }
}

fn test_fields(test: &T, level: f64) -> Result<Vec<(&'static str, AnswerField)>, Refused> {
    let mut fields = vec![
        ("t", AnswerField::Number(test.t)),
        ("df", AnswerField::Number(test.df)),
        ("p_two_sided", AnswerField::Number(test.p_two_sided())),
        ("p_less", AnswerField::Number(test.p_less())),
        ("p_greater", AnswerField::Number(test.p_greater())),
        ("ci", AnswerField::Numbers(test.interval(level)?.to_vec())),
    ];
    fields.insert(0, ("se", AnswerField::Number(test.standard_error)));
    Ok(fields)
}

/// Two values measure the noise by one difference only.
fn few_values(n: usize) -> Option<String> {
    (n < 3).then(|| "two values: the noise estimate has one degree of freedom".to_owned())
}

fn against_target(
    arm: &ArmValues,
    target: f64,
    test: &Result<T, Why>,
    level: f64,
) -> Result<Answer, Why> {
    let test = test.clone()?;
    let mut fields = summary_fields(&arm.summary()?);
    fields.retain(|(key, _)| *key != "se");
    fields.push(("target", AnswerField::Number(target)));
    fields.extend(test_fields(&test, level)?);
    Ok(Answer::of(fields).doubted(few_values(arm.count())))
}

fn sign_flip(differences: &[f64], asked: &StatsRequest) -> Result<Answer, Why> {
    let test = stats::sign_flip(differences, asked.resamples, asked.seed)?;
    let alpha = 1.0 - asked.level;
    let unreachable = test.least_two_sided > alpha * (1.0 + 1e-9);
    let doubt = unreachable.then(|| {
        let n = differences.len();
        let least = format_float(test.least_two_sided, 4);
        format!("with n = {n}, no two-sided p is below {least}, which is above 1 - level")
    });
    let mut fields = vec![
        ("n", AnswerField::Count(differences.len() as u64)),
        ("p_two_sided", AnswerField::Number(test.p_two_sided)),
        ("p_less", AnswerField::Number(test.p_less)),
        ("p_greater", AnswerField::Number(test.p_greater)),
        ("least_p_two_sided", AnswerField::Number(test.least_two_sided)),
        ("exact", AnswerField::Truth(test.drawn.is_none())),
    ];
    if let Some(drawn) = test.drawn {
        fields.push(("flips", AnswerField::Count(drawn as u64)));
        fields.push(("seed", AnswerField::Count(asked.seed)));
    }
    Ok(Answer::of(fields).doubted(doubt))
}

/// Percentile and BCa intervals of one distribution.
fn intervals(
    asked: &StatsRequest,
    resampled: &Result<Resampled, Why>,
    n: usize,
    keys: [&'static str; 2],
    add: &mut Add<'_>,
) {
    let paired = asked.b.is_some() && keys[0] == "bootstrap_percentile";
    let labels = match (asked.b.is_some(), paired) {
        (false, _) => ["percentile", "BCa"],
        (true, true) => ["paired percentile", "paired BCa"],
        (true, false) => ["unpaired percentile", "unpaired BCa"],
    };
    let doubt = (n < INFERENCE_FROM).then(|| {
        format!("a bootstrap interval of fewer than {INFERENCE_FROM} values has a coverage far below its level")
    });
    let answer = |interval: &dyn Fn(&Resampled) -> Result<BootstrapInterval, Refused>| {
        let resampled = resampled.as_ref().map_err(Clone::clone)?;
        let ends = interval(resampled)?;
        let enumerated = resampled.support().is_some();
        let mut fields = vec![
            ("estimate", AnswerField::Number(resampled.estimate)),
            ("se", AnswerField::Number(resampled.standard_error())),
            ("ci", AnswerField::Numbers(vec![ends.low, ends.high])),
            ("resamples", AnswerField::Count(resampled.resamples())),
            ("seed", AnswerField::Count(asked.seed)),
            ("enumerated", AnswerField::Truth(enumerated)),
            ("quantile_rule", AnswerField::Word(if enumerated { "inverse-cdf" } else { "linear" })),
        ];
        if let Some(support) = resampled.support() {
            fields.push(("support", AnswerField::Count(support as u64)));
        }
        Ok(Answer::of(fields).doubted(doubt.clone()))
    };
    add(keys[0], labels[0], answer(&|resampled| resampled.percentile(asked.level)));
    add(keys[1], labels[1], answer(&|resampled| resampled.bca(asked.level)));
}

fn equivalence(test: &Result<T, Why>, margin: [f64; 2], n: usize) -> Result<Answer, Why> {
    let tost = stats::equivalence(&test.clone()?, margin[0], margin[1])?;
    let fields = vec![
        ("low", AnswerField::Number(margin[0])),
        ("high", AnswerField::Number(margin[1])),
        ("p", AnswerField::Number(tost.p())),
        ("t_lower", AnswerField::Number(tost.lower.t)),
        ("p_lower", AnswerField::Number(tost.lower.p_greater())),
        ("t_upper", AnswerField::Number(tost.upper.t)),
        ("p_upper", AnswerField::Number(tost.upper.p_less())),
    ];
    Ok(Answer::of(fields).doubted(few_values(n)))
}

/// The gap that the design detects, and the number of runs that the observed gap needs.
fn power(
    asked: &StatsRequest,
    test: &Result<T, Why>,
    design: Result<Design, Why>,
) -> Result<Answer, Why> {
    let (test, design) = (test.clone()?, design?);
    let gap = test.t * test.standard_error;
    let smallest = asked.goal.minimum_detectable_gap(test.standard_error, test.df)?;
    let runs = match asked.goal.runs_needed(gap, design) {
        Ok(runs) => AnswerField::Count(runs as u64),
        Err(refused) => AnswerField::Refused(refused.into()),
    };
    Ok(Answer::of(vec![
        ("observed_gap", AnswerField::Number(gap)),
        ("minimum_detectable_gap", AnswerField::Number(smallest)),
        ("runs_needed", runs),
        ("power", AnswerField::Number(asked.power)),
        ("alpha", AnswerField::Number(1.0 - asked.level)),
        ("method", AnswerField::Word(POWER_METHOD)),
    ]))
}

fn proportions(asked: &StatsRequest, add: &mut Add<'_>) {
    let keys = [("proportion_a", "first"), ("proportion_b", "second")];
    for ((key, label), one) in keys.into_iter().zip(&asked.proportions) {
        add(key, label, proportion(one, asked.level));
    }
    let [a, b] = asked.proportions.as_slice() else { return };
    add(
        "two_proportions",
        "pooled z",
        two_proportions(a, b).map_err(Why::from).map(|test| {
            let rare = a.least_expected(b) < 5.0;
            let doubt = rare.then(|| {
                "an expected count is below 5: the normal approximation needs more".to_owned()
            });
            Answer::of(vec![
                ("diff", AnswerField::Number(test.difference)),
                ("z", AnswerField::Number(test.z)),
                ("p_two_sided", AnswerField::Number(test.p_two_sided())),
                ("p_less", AnswerField::Number(test.p_less())),
                ("p_greater", AnswerField::Number(test.p_greater())),
            ])
            .doubted(doubt)
        }),
    );
    add(
        "fisher",
        "Fisher's exact",
        fisher(a, b)
            .map(|p| Answer::of(vec![("p_two_sided", AnswerField::Number(p))]))
            .map_err(Why::from),
    );
}

fn proportion(one: &Proportion, level: f64) -> Result<Answer, Why> {
    let error = match one.standard_error() {
        Ok(error) => AnswerField::Number(error),
        Err(refused) => AnswerField::Refused(refused.into()),
    };
    Ok(Answer::of(vec![
        ("k", AnswerField::Count(one.successes())),
        ("n", AnswerField::Count(one.trials())),
        ("mean", AnswerField::Number(one.share())),
        ("se", error),
        ("wilson", AnswerField::Numbers(one.wilson(level)?.to_vec())),
    ]))
}

fn paired_counts(b: u64, c: u64, add: &mut Add<'_>) {
    let tests = mcnemar(b, c);
    let answer = |p: &dyn Fn(&stats::proportion::Paired) -> f64, doubt: Option<String>| {
        let tests = tests.clone()?;
        let fields = vec![
            ("b", AnswerField::Count(b)),
            ("c", AnswerField::Count(c)),
            ("p_two_sided", AnswerField::Number(p(&tests))),
        ];
        Ok(Answer::of(fields).doubted(doubt))
    };
    let few = (b.saturating_add(c) < 25).then(|| {
        "fewer than 25 discordant pairs: the chi-squared approximation needs more".to_owned()
    });
    add("mcnemar", "McNemar exact", answer(&|tests| tests.exact, None));
    add("mcnemar_mid_p", "McNemar mid-p", answer(&|tests| tests.mid, None));
    add("mcnemar_chi_squared", "McNemar chi2", answer(&|tests| tests.chi_squared, few));
}

fn interquartile(asked: &StatsRequest) -> Result<Answer, Why> {
    let scores = ScoresByTask::new(&asked.scores)?;
    let mut fields = vec![
        ("tasks", AnswerField::Count(asked.scores.len() as u64)),
        ("scores", AnswerField::Count(asked.scores.iter().map(Vec::len).sum::<usize>() as u64)),
        ("estimate", AnswerField::Number(scores.interquartile_mean())),
    ];
    match scores.interval(asked.level, asked.resamples, asked.seed) {
        Ok(ends) => fields.extend([
            ("ci", AnswerField::Numbers(vec![ends.low, ends.high])),
            ("resamples", AnswerField::Count(asked.resamples as u64)),
            ("seed", AnswerField::Count(asked.seed)),
        ]),
        Err(refused) => fields.push(("ci", AnswerField::Refused(refused.into()))),
    }
    let fewest = asked.scores.iter().map(Vec::len).min().unwrap_or(0);
    let doubt = (fewest < 3)
        .then(|| "fewer than 3 runs per task: resampling them hardly varies".to_owned());
    Ok(Answer::of(fields).doubted(doubt))
}
