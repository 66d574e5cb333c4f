//! `repro cluster plan`.

use std::io::BufReader;
use std::path::Path;

use repro_core::source::{Error, Location};
use repro_report::outcome::ExitStatus;
use repro_verify::cluster::{WorkPlan, WorkTask};

use super::{asked, planned};
use crate::cli::args::{PlanArgs, PlannedReplaysArg};
use crate::cli::output::{Output, outside_bundles, write_file};
use crate::cli::trainer::RunData;
use crate::cli::{Answer, BAD_USAGE, threads};

/// Runs the command.
pub fn plan(root: &Path, own: &PlanArgs, output: &Output) -> Answer {
    let replays = own.replay == PlannedReplaysArg::All;
    let asked = asked::asked(root, &own.judged, replays, &own.challenge)?;
    let one = |error| vec![error];
    let data = RunData::new(own.data.clone());
    if (replays || !own.challenge.is_empty()) && data.estimator().is_none() {
        let expected = "a build with the trainer, to plan replays";
        return Err(vec![BAD_USAGE.at(
            Location::file("--replay"),
            expected,
            "a build without the trainer",
        )]);
    }
    let demands = asked::demands(root, &asked, &own.judged).map_err(one)?;
    let threads = own.threads.unwrap_or_else(threads::cores);
    let plan = planned(root, asked, &demands, (&data, threads))?;
    match &own.out {
        None => output.print(&plan.text()),
        Some(path) => {
            let shown = path.display().to_string();
            outside_bundles(path).and_then(|()| replaces_a_plan(path)).map_err(one)?;
            write_file(Path::new(""), &shown, &shown, plan.text().as_bytes()).map_err(one)?;
        }
    }
    if !output.quiet() {
        output.say(&summary(&plan));
    }
    Ok(ExitStatus::Verified)
}

/// Refuses to write over a file that is no plan: a post or a log is not lost by a slip of the hand.
fn replaces_a_plan(path: &Path) -> Result<(), Error> {
    let Ok(about) = path.symlink_metadata() else { return Ok(()) };
    let is_plan =
        || std::fs::File::open(path).is_ok_and(|file| WorkPlan::is_one(BufReader::new(file)));
    // A device, a pipe or a link is not waited for, and not replaced.
    if about.is_file() && is_plan() {
        return Ok(());
    }
    let place = Location::file(path.display().to_string());
    let error =
        BAD_USAGE.at(place, "a new file, or an existing plan to overwrite", "a different file");
    Err(error.help("choose a different file, or delete this one first"))
}

/// A one-line summary of a plan.
fn summary(plan: &WorkPlan) -> String {
    let count = |task| plan.items.iter().filter(|item| item.task == task).count();
    let parts = [
        (count(WorkTask::Inspect), "bundle", "bundles"),
        (count(WorkTask::Replay), "replay", "replays"),
        (count(WorkTask::Judge), "post", "posts"),
    ];
    let parts = parts.iter().filter(|(count, ..)| *count > 0);
    let parts: Vec<_> = parts
        .map(|(count, one, many)| format!("{count} {}", if *count == 1 { one } else { many }))
        .collect();
    let seconds = plan.items.iter().map(|item| item.cost_ms).sum::<u64>().div_ceil(1000);
    let merged = match plan.merged.len() {
        0 => String::new(),
        count => format!("; {count} to evaluate during the merge, because they need replays"),
    };
    let items = plan.items.len();
    format!("{items} items: {}; about {seconds} s of one core{merged}", parts.join(", "))
}
