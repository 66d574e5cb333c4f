//! `repro train`: the runs of a study become receipt bundles.

pub(super) mod provenance;
mod watching;

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::args;
use super::place::{instructions, place};
use crate::cli::Answer;
use crate::cli::output::Output;
use repro_bundle::bundle::ARITHMETIC;
use repro_core::decimal::grouped;
use repro_core::source::{Document, Error, Source};
use repro_model::study::{PlannedRun, Study};
use repro_replay::backend::Place;
use repro_replay::campaign::{Campaign, RunOutcome};
use repro_replay::golden;
use repro_report::Columns;
use repro_report::outcome::ExitStatus;
use watching::Watching;

/// The schema of the lines on standard output.
pub const SCHEMA: &str = "repro.train/1";
/// How long a run trains, at most, between two saved states.
const SAVE_EVERY: Duration = Duration::from_secs(30);
/// The decimals of losses in tables.
const DECIMALS: usize = 4;

/// Runs the command.
pub fn run(own: &args::TrainArgs, output: &Output) -> Answer {
    let wants_json = output.wants_json();
    let one = |error: Error| vec![error];
    let shown = own.study.display().to_string();
    let source = Source::load(&own.study, shown.as_str()).map_err(one)?;
    let study = Study::parse(Document::parse_toml(source).map_err(one)?).map_err(one)?;
    let Some(out) = own.out.as_deref().filter(|_| !own.list) else {
        output.print(&list(&study, wants_json, output.width()));
        return Ok(ExitStatus::Verified);
    };
    let isa = instructions(own.instructions.as_deref()).map_err(one)?;
    let place = match place(own.device.as_deref(), isa, output).map_err(one)? {
        Ok(place) => place,
        Err(status) => return Ok(status),
    };
    if let Some(status) = other_bits(&place, output).map_err(one)? {
        return Ok(status);
    }
    let (jobs, threads) = sharing(own, study.runs().len());
    let watching = Watching::new(output, wants_json);
    let plan_commit = provenance::plan_commit(&own.study);
    if plan_commit.is_none() {
        watching.say("the study file has uncommitted changes, so receipts will record no commit");
    }
    let campaign = Campaign {
        study: &study,
        out,
        base: own.study.parent().unwrap_or(Path::new("")),
        only: &own.only,
        jobs,
        threads,
        environment: provenance::environment(&place),
        place,
        plan_commit,
        trainer: provenance::trainer(),
        watcher: &watching,
        save_every: SAVE_EVERY,
    };
    let (outcomes, left) = campaign.train().map_err(one)?;
    watching.end();
    if !wants_json {
        output.print(&table(&outcomes, output.width()));
    }
    // With JSON the events have said why a run stopped; people are told again, below the progress.
    let stopped = outcomes.iter().filter_map(|outcome| outcome.result.as_ref().err());
    let errors: Vec<_> = stopped.chain(&left).collect();
    errors.iter().for_each(|error| output.complain(error));
    Ok(if errors.is_empty() { ExitStatus::Verified } else { ExitStatus::NotRun })
}

/// Another status where a device computes other bits than receipts would name. The processor is checked by the tests of the
/// program.
fn other_bits(place: &Place, output: &Output) -> Result<Option<ExitStatus>, Error> {
    if place.device.is_none() {
        return Ok(None);
    }
    let differing = golden::differing(golden::of(place));
    place.sound()?;
    let Some(first) = differing.first() else { return Ok(None) };
    output.say(&format!(
        "nothing was trained: `{}` does not reproduce {ARITHMETIC}: `{first}` gives different bits",
        place.id()
    ));
    Ok(Some(ExitStatus::NotRun))
}

/// Runs side by side, and threads of each: single threads use cores best.
fn sharing(own: &args::TrainArgs, runs: usize) -> (usize, usize) {
    let cores = crate::cli::threads::cores();
    let jobs = own.jobs.unwrap_or_else(|| cores.div_ceil(own.threads.unwrap_or(1).max(1)));
    let jobs = jobs.clamp(1, runs.max(1));
    (jobs, own.threads.unwrap_or(cores / jobs).max(1))
}

/// The runs of a study, for `--list`.
fn list(study: &Study, wants_json: bool, width: usize) -> String {
    if wants_json {
        let run = |run: &PlannedRun| {
            let (id, arm, budget, kind) = (&run.id, &run.arm, &run.budget, run.kind.word());
            let event = json!({"schema": SCHEMA, "event": "planned", "run": id, "arm": arm,
                "budget": budget, "kind": kind, "seed": run.seed, "lr": run.rate, "steps": run.steps,
                "tokens": run.contract.tokens, "params_total": run.model.params_total,
                "params_active": run.model.params_active});
            event.to_string() + "\n"
        };
        return study.runs().iter().map(run).collect();
    }
    let headings = ["runs", "tokens", "P_active", "P_total"];
    let mut table = Columns::new(headings.map(str::to_owned).to_vec());
    let number = |number: Option<u64>| number.map_or(String::new(), |n| grouped(&n.to_string()));
    let mut rows: Vec<(String, Vec<&PlannedRun>)> = Vec::new();
    for run in study.runs() {
        let pattern = run.pattern();
        match rows.iter_mut().find(|(label, _)| *label == pattern) {
            Some((_, runs)) => runs.push(run),
            None => rows.push((pattern, vec![run])),
        }
    }
    for (pattern, runs) in rows {
        let Some(first) = runs.first() else { continue };
        let (contract, model) = (&first.contract, &first.model);
        let numbers = [contract.tokens, model.params_active, model.params_total].map(number);
        let cells = std::iter::once(runs.len().to_string()).chain(numbers);
        table.row(&pattern, cells.collect());
    }
    table.render(&format!("{}: {} runs", study.id, study.runs().len()), width, true)
}

/// The outcome of each run.
fn table(outcomes: &[RunOutcome], width: usize) -> String {
    let headings = ["steps", "loss", "bits/byte", "bundle"];
    let mut table = Columns::new(headings.map(str::to_owned).to_vec());
    let decimals = |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{v:.DECIMALS$}"));
    for RunOutcome { run, result } in outcomes {
        let steps = grouped(&run.steps.to_string());
        let cells = match result {
            Ok(finished) => {
                let state = if finished.anew { "trained" } else { "already exists" };
                [steps, decimals(finished.loss), decimals(finished.bits_per_byte), state.to_owned()]
            }
            Err(error) => {
                [steps, "-".to_owned(), "-".to_owned(), format!("stopped: {}", error.code.id)]
            }
        };
        table.row(&run.id, cells.to_vec());
    }
    table.render("run", width, true)
}
