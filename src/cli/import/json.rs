//! The answer of `repro import` for programs: `repro.import/1`.

use serde_json::{Value as Json, json};

use super::{against, exact, fixed, minutes};
use repro_core::digest::Digest;
use repro_core::source::Error;
use repro_formats::import::scoring::{Convergence, MlperfScore};
use repro_formats::import::{
    Figures, Import, LogFormat, LogGroup, LogNumber, LoggedRun, Losses, MetricPlace, NoFigure,
    Oddity, places,
};
use repro_stats::T;

/// The schema of the answer.
const SCHEMA: &str = "repro.import/1";

/// At most ten significant digits.
fn significant(value: f64) -> f64 {
    format!("{value:.9e}").parse().unwrap_or(value)
}

/// A printed number as the float that JSON carries.
fn float(text: &str) -> Json {
    text.parse::<f64>().map_or(Json::Null, Json::from)
}

fn or_refused<T, E: std::fmt::Display>(value: &Result<T, E>, shown: impl Fn(&T) -> Json) -> Json {
    match value {
        Ok(value) => shown(value),
        Err(why) => json!({"refused": why.to_string()}),
    }
}

/// The whole answer.
pub fn document(import: &Import, digests: Option<&[Digest]>, failures: &[Error]) -> Json {
    let mut digests = digests.into_iter().flatten();
    let groups: Vec<_> =
        import.groups.iter().map(|group| group_json(group, &mut digests)).collect();
    json!({
        "schema": SCHEMA,
        "format": import.format.map_or("auto", LogFormat::word),
        "groups": groups,
        "skipped": import.skipped.iter().map(refusal_json).collect::<Vec<_>>(),
        "failures": failures.iter().map(refusal_json).collect::<Vec<_>>(),
    })
}

fn group_json<'a>(group: &LogGroup, digests: &mut impl Iterator<Item = &'a Digest>) -> Json {
    let runs: Vec<_> = group.runs.iter().map(|run| run_json(run, digests.next())).collect();
    let (figures, findings) = match &group.figures {
        Figures::Losses(losses) => (losses_json(losses), Vec::new()),
        Figures::Score(score) => {
            (score_json(score), score.findings.iter().map(refusal_json).collect())
        }
    };
    json!({
        "name": group.name,
        "format": group.format.word(),
        "metrics": places(group).iter().map(metric_json).collect::<Vec<_>>(),
        "runs": runs,
        "counted": group.counted(),
        "figures": figures,
        "findings": findings,
    })
}

fn metric_json(place: &MetricPlace) -> Json {
    json!({
        "name": place.name,
        "step": place.step,
        "pointer": place.pointer,
        "values": place.values.iter().map(LogNumber::text).collect::<Vec<_>>(),
    })
}

fn run_json(run: &LoggedRun, digest: Option<&Digest>) -> Json {
    let finding = |finding: &Oddity| {
        let mut json = refusal_json(&finding.error);
        if let Some(members) = json.as_object_mut() {
            members.insert("excludes".to_owned(), finding.excludes.into());
        }
        json
    };
    let mut json = json!({
        "bundle": run.name,
        "digest": digest.map(Digest::prefixed),
        "file": run.file,
        "bytes": run.identity.bytes,
        "sha256": run.identity.sha256.map(|digest| digest.to_string()),
        "counts": run.counts(),
        "last_step": run.last_step(),
        "planned_steps": run.planned,
        "seed": run.seed,
        "seed_in_path": run.seed_from_path,
        "training_records": run.training.len(),
        "evaluations": run.evaluations.len(),
        "final_loss": run.final_loss().map(LogNumber::text),
        "findings": run.findings.iter().map(finding).collect::<Vec<_>>(),
    });
    if let (Some(timed), Some(members)) = (&run.timed, json.as_object_mut()) {
        let converged = timed
            .converged
            .first()
            .map(|(measure, amount)| json!({"measure": measure.word(), "amount": amount}));
        members.insert(
            "minutes".to_owned(),
            timed.milliseconds.map_or(Json::Null, |time| float(&exact(&minutes(time)))),
        );
        members.insert("success".to_owned(), timed.success.into());
        members.insert("converged".to_owned(), converged.into());
    }
    json
}

fn refusal_json(error: &Error) -> Json {
    json!({
        "code": error.code.id,
        "message": error.code.meaning,
        "expected": error.expected,
        "found": error.found,
        "help": error.help,
        "place": error.place,
    })
}

fn losses_json(losses: &Losses) -> Json {
    let test = |test: &Result<T, NoFigure>| {
        or_refused(
            test,
            |test| json!({"t": significant(test.t), "df": test.df, "p_less": significant(test.p_less())}),
        )
    };
    json!({
        "n": losses.values.len(),
        "mean": or_refused(&losses.mean, |mean| float(&fixed(*mean))),
        "sd": or_refused(&losses.summary, |summary| float(&fixed(summary.sd))),
        "one_sample_t": losses.test.as_ref().map(test),
    })
}

fn score_json(score: &MlperfScore) -> Json {
    let convergence = |found: &Convergence| {
        let (least, population) = (significant(found.least), significant(found.least_population));
        json!({
            "verdict": found.verdict.word(),
            "measure": found.measure.word(),
            "against": against(found.against),
            "submission": {"mean": significant(found.submission), "runs": found.runs},
            "reference": {"mean": significant(found.reference), "sd": significant(found.sd), "runs": found.reference_runs},
            "least_mean": least,
            "least_mean_population_sd": population,
            "factor": significant(found.factor),
        })
    };
    json!({
        "benchmark": score.of.benchmark,
        "organisation": score.of.organisation,
        "system": score.of.platform,
        "global_batch_size": score.of.batch,
        "dropped_each_end": score.dropped,
        "not_converged": score.failed,
        "n": score.kept,
        "olympic_mean_minutes": or_refused(&score.minutes, |minutes| float(&exact(minutes))),
        "scaling_factor": score.scaling.as_ref().map(|scaling| float(&scaling.text)),
        "scaling_file": score.scaling.as_ref().map(|scaling| &scaling.file),
        "score": score.scaled().map(|score| float(&exact(&score))),
        "convergence": score.convergence.as_ref().map(|found| or_refused(found, convergence)),
    })
}
