//! A CORE score is the mean of the centred accuracies of its table, under one named baseline file.

use super::comparison::Computed;
use super::significance::share;
use super::tolerance::{Declared, judge, printed};
use super::{ClaimKind, FieldSpec, choice};
use num_rational::BigRational;

use crate::evidence::{BAD_CHOICE, Evidence, EvidenceQuantity};
use crate::post::Claim;
use repro_exact::decimal::{Unit, format_significant, nearest_f64};
use repro_receipt::source::{Error, Node};
use repro_report::outcome::{Impact, Method, Outcome, Verdict};
use repro_runs::tasks::{
    Baselines, Cell, CellAgreement, Followed, Measure, Scale, StatedAggregate, TableReading,
    TableScores, TaskSet, TaskTable, Trouble,
};
use repro_stats::Refused;
use repro_stats::bootstrap::{BootstrapInterval, Resampled};

repro_receipt::source::codes! {
    DIFFERS = "core::differs", "the score does not follow from its table", "correct the score, or publish the table that it was computed from";
    MIXED = "core::mixed-baselines", "parts of one table follow different versions of the random baselines", "recompute the whole table with one baseline file, and name it";
    OTHER_BASELINES = "core::other-baselines", "the score follows another version of the baselines than the one declared", "name the version that was used";
    OTHER_TASKS = "core::other-tasks", "the score is over other tasks than the 22 of CORE", "say over which tasks it is, or compute it over the 22";
    CENTERED = "core::centered-column", "a centred value of the table does not follow from its accuracy", "correct the value, or its accuracy";
    TABLE = "core::table", "the table disagrees with itself or with the baseline file", "correct the number named";
    NO_TABLE = "core::no-table", "the accuracies that the score is the mean of are not published", "publish the per-task table";
    NO_BASELINES = "core::no-baselines", "no file of random baselines is named, and several versions are in use", "name the baseline file and its SHA-256";
    LACKS = "core::lacks-tasks", "the table lacks tasks of CORE", "publish all 22 tasks, or declare `tasks = \"given\"`";
    COARSE = "core::too-coarse", "the table is printed too coarsely for the score", "publish the accuracies with more digits";
    INTERVAL = "core::interval", "the printed interval is not the task bootstrap of the score", "correct it, or say how it was resampled";
    INFERRED = "core::inferred-baselines", "the version of the baselines is not declared; it was found by search", "name the baseline file";
}

/// The record of this kind.
pub static KIND: ClaimKind = ClaimKind {
    id: "core",
    summary: "a CORE score follows from its per-task table and a named baseline file",
    explain: "CORE = mean over tasks of (accuracy - b)/(1 - b), where b is what guessing scores. \
         The 22 tasks are DCLM's; a table with others is scored over its own tasks if the claim \
         says `tasks = \"given\"`. Several versions of the baselines are in use (commonsense_qa: \
         20% in one, 40.3% in another), so each file is known by its hash. If the claim declares \
         no `version`, every given file is tried and the fit is reported as inferred; if none \
         fits, the score is refuted. The table's own centered column and aggregate are checked \
         separately: if they follow different versions, the table is refuted as mixed. Accuracies \
         are the intervals of their printed digits (rounding_interval); a score printed in full \
         may differ by the rounding of a float sum.\n\
         How it can mislead: the wrong baseline file shifts every model alike and cannot reverse \
         a ranking within one table, but moves a score across a published threshold; 22 tasks are \
         few, so small differences are noise. A printed task-bootstrap interval is recomputed; \
         with few tasks it says little.\n\
         Reference: Li et al. 2024, DataComp-LM, section 3 and appendix on centered accuracy.",
    fields: &[
        FieldSpec::optional(
            "table",
            "the per-task table: `bundle`, `file`, and `pointer` if it is a part",
        ),
        FieldSpec::optional("baselines", "references to the baseline files to try"),
        FieldSpec::optional(
            "version",
            "the baseline file that the publication declares, by its name",
        ),
        FieldSpec::optional(
            "unit",
            "fraction or percent, for the accuracies; inferred from the range if absent",
        ),
        FieldSpec::optional("tasks", "core22 (the default) or given"),
        FieldSpec::optional(
            "interval",
            "the printed task-bootstrap interval: `low`, `high`, and `method` (percentile or bca), `level`, `resamples`",
        ),
        FieldSpec::optional("missing", "if no table is published: what would settle it"),
    ],
    codes: CODES,
    impact: Impact::Digit,
    judges_claimed: true,
    check,
};

fn check(claim: &Claim, evidence: &Evidence) -> Result<Outcome, Error> {
    let Some(reference) = claim.node.get("table") else {
        let missing = claim.node.get("missing").map(Node::text).transpose()?;
        let missing = missing.unwrap_or("the per-task accuracies and the baseline file");
        return Ok(Outcome::unchecked(&NO_TABLE, format!("not published: {missing}")));
    };
    let (_, node) = super::claimed(claim)?;
    let document = evidence.document(reference)?;
    let pointer = reference.get("pointer").map(Node::text).transpose()?.unwrap_or_default();
    let table = TaskTable::read(document.root().at(pointer)?)?;
    let mut versions = Vec::new();
    if let Some(list) = claim.node.get("baselines") {
        for file in list.items()? {
            versions.extend(Baselines::read(evidence.document(file)?)?);
        }
    }
    if versions.is_empty() {
        let reason = "the score depends on which baseline file was used, and none is named";
        return Ok(Outcome::unchecked(&NO_BASELINES, reason));
    }
    let declared = declared_version(claim.node, &versions)?;
    let reading = TableReading::of(&table, unit(claim.node)?, &versions)?;
    let lacks = table.lacks();
    let given = choice(claim.node, "tasks", &["core22", "given"])? == Some("given");
    if !lacks.is_empty() && !given {
        let score = reading.versions[reading.best()].core(TaskSet::All).middle();
        let reason = format!(
            "the table lacks {} of the 22 tasks: {}; over what it has the mean is {}",
            lacks.len(),
            lacks.join(", "),
            format_significant(&score, DIGITS)
        );
        return Ok(Outcome::inconclusive(&LACKS, reason).by(Method::Recomputed));
    }
    let set = if given { TaskSet::All } else { TaskSet::Core };
    let followed = follow(claim, node, &reading, set)?;
    let mut outcome = decide(&reading, &followed, declared, set);
    if let Some(interval) = claim.node.get("interval") {
        let follows = followed.follows();
        let version = declared.or(follows.first().copied()).unwrap_or_else(|| reading.best());
        let second = judge_interval(interval, &reading.versions[version], set)?;
        let notes = [outcome.notes.clone(), second.notes.clone()].concat();
        let tolerance = [outcome.tolerance.as_str(), "interval within 5 sd of the drawing"];
        let recomputed = format!("{}, {}", outcome.recomputed, second.recomputed);
        let (rule, tolerance) = (outcome.rule, tolerance.join("; "));
        let worse = if second.verdict < outcome.verdict { second } else { outcome };
        outcome = Outcome { notes, ..worse }.giving(recomputed).within(rule, tolerance);
    }
    Ok(outcome.by(Method::Recomputed))
}

/// The significant digits of recomputed scores.
const DIGITS: usize = 10;

/// What the claimed score follows. Words such as "about" or "over" are judged as everywhere.
fn follow<'a>(
    claim: &Claim<'a>,
    node: Node<'a>,
    reading: &TableReading<'a>,
    set: TaskSet<'a>,
) -> Result<Followed<'a>, Error> {
    let claimed = printed(node)?;
    let plain = claimed.bound().is_none() && !claimed.approximate() && claimed.spread().is_none();
    let cell = if plain { Cell::read(node)? } else { Cell { node, printed: claimed.clone() } };
    let name = "the score".to_owned();
    let mut followed =
        reading.follow(StatedAggregate { name, set, measure: Measure::Centered, cell });
    if !plain {
        let declared = Declared::of(claim)?;
        followed.fits = reading
            .versions
            .iter()
            .map(|scores| {
                let interval = scores.core(set);
                let float = nearest_f64(&interval.middle());
                let given = EvidenceQuantity { interval, float, ..EvidenceQuantity::count(0) };
                match judge(&claimed, &given, &declared, &DIFFERS).verdict {
                    Verdict::Verified => CellAgreement::Follows,
                    Verdict::Refuted => CellAgreement::Differs,
                    Verdict::Inconclusive | Verdict::Unchecked => CellAgreement::TooCoarse,
                }
            })
            .collect();
    }
    Ok(followed)
}

fn decide(
    reading: &TableReading,
    followed: &Followed,
    declared: Option<usize>,
    set: TaskSet,
) -> Outcome {
    let follows = followed.follows();
    let version = declared.or(follows.first().copied()).unwrap_or_else(|| reading.best());
    let scores = &reading.versions[version];
    let mut table = reading.troubles();
    let outcome = match followed_trouble(reading, followed, &mut table) {
        Some(outcome) => outcome,
        None if declared.is_some_and(|at| !follows.contains(&at)) && !follows.is_empty() => {
            let reason = format!(
                "under {} it would be {}; it follows {}",
                scores.baselines.name,
                format_significant(&scores.core(set).middle(), DIGITS),
                reading.names(&follows)
            );
            Outcome::refuted(&OTHER_BASELINES, reason)
        }
        None if followed.is_undecided() => {
            let mean = scores.core(set);
            let reason = format!(
                "the accuracies allow anything from {} to {}",
                format_significant(mean.low(), DIGITS),
                format_significant(mean.high(), DIGITS)
            );
            Outcome::inconclusive(&COARSE, reason)
        }
        None => Outcome::verified(),
    };
    let score = format_significant(&scores.core(set).middle(), DIGITS);
    let digest: String = scores.baselines.sha256.to_string().chars().take(12).collect();
    let recomputed = format!("{score} under {} (sha256 {digest}…)", scores.baselines.name);
    let mut outcome = outcome.giving(recomputed).within("rounding_interval", tolerance(followed));
    let tried = reading.versions.len();
    if declared.is_none() && tried > 1 && !follows.is_empty() {
        let message = format!(
            "baselines inferred, {} of {tried} tried: {}",
            follows.len(),
            reading.names(&follows)
        );
        outcome = outcome.noting(&INFERRED, message);
    }
    for (_, message) in table {
        outcome = outcome.noting(&TABLE, message);
    }
    outcome
}

/// The refutation that follows from what is wrong, if any; what it does not use stays in `table`.
fn followed_trouble(
    reading: &TableReading,
    followed: &Followed,
    table: &mut Vec<(Trouble, String)>,
) -> Option<Outcome> {
    let own = reading.of_an_aggregate(followed);
    let code = |trouble: Trouble| match trouble {
        Trouble::MixedVersions | Trouble::MixedColumn => Some(&MIXED),
        Trouble::Aggregate => Some(&DIFFERS),
        Trouble::OtherTasks => Some(&OTHER_TASKS),
        Trouble::StrayCell => Some(&CENTERED),
        Trouble::Miscounted | Trouble::OtherBaseline => None,
    };
    // The claimed score first; of the table's own numbers only what concerns its column.
    if let Some((trouble, message)) = own.into_iter().next() {
        // The table's last row usually says the same.
        table.retain(|(other, _)| *other != trouble);
        return code(trouble).map(|code| Outcome::refuted(code, message));
    }
    let of_column = |(trouble, _): &(Trouble, String)| {
        matches!(trouble, Trouble::MixedVersions | Trouble::MixedColumn | Trouble::StrayCell)
    };
    let at = table.iter().position(of_column)?;
    let (trouble, message) = table.remove(at);
    code(trouble).map(|code| Outcome::refuted(code, message))
}

fn tolerance(followed: &Followed) -> String {
    let printed = &followed.stated.cell.printed;
    if printed.approximate() {
        return "what is declared, else 5%, for \"about\"".to_owned();
    }
    if printed.bound().is_some() {
        return "the whole interval on the stated side".to_owned();
    }
    if printed.is_full_float() {
        return "what summing binary floats can lose".to_owned();
    }
    let half = printed.last_place() / BigRational::from_integer(2.into());
    let sign = if printed.unit() == Unit::Percent { " points" } else { "" };
    format!("± {}{sign}", format_significant(&half, DIGITS))
}

/// Over how many seeds the error of drawing is measured, and how many of its standard deviations a
/// printed end may lie away.
const SEEDS: u64 = 8;
const REACH: f64 = 5.0;
/// The resamples of a publication that does not say.
const RESAMPLES: u64 = 10_000;

/// Judges a printed interval of the score against the bootstrap over its tasks.
fn judge_interval(node: Node, scores: &TableScores, set: TaskSet) -> Result<Outcome, Error> {
    node.only(&["low", "high", "method", "level", "resamples"])?;
    let method = choice(node, "method", &["percentile", "bca"])?;
    let level = node.get("level").map(|level| share(level, 1.0)).transpose()?.unwrap_or(0.95);
    let resamples = node.get("resamples").map(Node::integer).transpose()?.unwrap_or(RESAMPLES);
    let resamples = usize::try_from(resamples).unwrap_or(usize::MAX);
    let [low, high] = ["low", "high"].map(|end| node.required(end).and_then(printed));
    let (low, high) = (low?, high?);
    let values: Vec<f64> =
        scores.of_set(set).map(|task| nearest_f64(&task.centered.middle())).collect();
    let rounding = nearest_f64(&scores.core(set).width()) / 2.0;
    let drawn: Result<Vec<Resampled>, Refused> =
        (1..=SEEDS).map(|seed| Resampled::of(&values, resamples, seed)).collect();
    let drawn = match drawn {
        Ok(drawn) => drawn,
        Err(why) => return Ok(Outcome::inconclusive(&LACKS, format!("no interval: {why}"))),
    };
    let ways = ["percentile", "bca"];
    let ways = ways.into_iter().filter(|way| method.is_none_or(|method| method == *way));
    let (mut found, mut fits): (Option<Outcome>, Vec<&str>) = (None, Vec::new());
    for way in ways {
        let ends: Result<Vec<BootstrapInterval>, Refused> = drawn
            .iter()
            .map(|of| if way == "bca" { of.bca(level) } else { of.percentile(level) })
            .collect();
        let Ok(ends) = ends else { continue };
        let lows = over_seeds(ends.iter().map(|end| end.low).collect(), rounding);
        let highs = over_seeds(ends.iter().map(|end| end.high).collect(), rounding);
        let (Some(lows), Some(highs)) = (lows, highs) else { continue };
        let shown = format!("{way} [{}, {}]", lows.text(), highs.text());
        let worst = [lows.follows(&low, &INTERVAL), highs.follows(&high, &INTERVAL)]
            .into_iter()
            .min_by_key(|end| end.verdict);
        let Some(mut outcome) = worst else { continue };
        if outcome.verdict == Verdict::Refuted {
            outcome.reason = format!("the interval: {}", outcome.reason);
        }
        let outcome = outcome.giving(shown);
        if outcome.verdict == Verdict::Verified {
            fits.push(way);
        }
        // The first that fits, else the first.
        let better = found.as_ref().is_none_or(|so_far| outcome.verdict > so_far.verdict);
        found = if better { Some(outcome) } else { found };
    }
    let none = || Outcome::inconclusive(&LACKS, "no interval by this method");
    let outcome = found.unwrap_or_else(none);
    if method.is_some() || fits.is_empty() {
        return Ok(outcome);
    }
    let message = format!("interval inferred, {} of 2 tried: {}", fits.len(), fits.join(" and "));
    Ok(outcome.noting(&INFERRED, message))
}

/// The mean of an end over seeds, and where another drawing would put it.
fn over_seeds(ends: Vec<f64>, rounding: f64) -> Option<Computed> {
    let n = ends.len() as f64;
    let mean = ends.iter().sum::<f64>() / n;
    let squares: f64 = ends.iter().map(|end| (end - mean) * (end - mean)).sum();
    // The printed end has the error of one drawing, the mean of these that of several.
    let reach = REACH * (squares / (n - 1.0) * (1.0 + 1.0 / n)).sqrt();
    Computed::resampled(mean, [mean - reach, mean + reach], rounding)
}

/// The version that the claim declares, by the name of its file.
fn declared_version(node: Node, versions: &[Baselines]) -> Result<Option<usize>, Error> {
    let Some(declared) = node.get("version") else { return Ok(None) };
    let name = declared.text()?;
    let at = versions.iter().position(|version| version.name == name);
    let known: Vec<_> = versions.iter().map(|version| format!("`{}`", version.name)).collect();
    let unknown = || {
        let expected = format!("one of {}", known.join(", "));
        BAD_CHOICE.at(declared.place(), expected, format!("`{name}`"))
    };
    at.ok_or_else(unknown).map(Some)
}

fn unit(node: Node) -> Result<Option<Scale>, Error> {
    let word = choice(node, "unit", &["fraction", "percent"])?;
    Ok(word.map(|word| if word == "percent" { Scale::Percent } else { Scale::Fraction }))
}
