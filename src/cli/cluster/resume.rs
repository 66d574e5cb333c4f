//! `repro verify --resume`: plans, works and merges, so that what is done is never done again.

use std::cell::Cell;
use std::path::Path;

use repro_bundle::bundle::ReadOptions;
use repro_core::source::Error;
use repro_report::Format;
use repro_report::outcome::ExitStatus;
use repro_verify::cluster::{Merging, ResultChecks, longest_first};
use repro_verify::verify::Demands;

use super::shift::Shift;
use super::{asked, kept_in, planned};
use crate::cli::args::{ReplaysArg, VerifyArgs};
use crate::cli::output::Output;
use crate::cli::partwise::PartwiseReport;
use crate::cli::trainer::RunData;

/// The report of a verification that keeps what is done in a store; another status where the device is not there.
pub fn resumed<'o>(
    root: &Path,
    own: &VerifyArgs,
    store: &str,
    (reading, has_failed): (ReadOptions<'_>, &Cell<bool>),
    output: &'o Output,
) -> Result<Result<PartwiseReport<'o>, ExitStatus>, Vec<Error>> {
    let one = |error| vec![error];
    let replays = own.replay == ReplaysArg::All;
    let asked = asked::asked(root, &own.judged, replays, &own.challenge)?;
    let demands = asked::demands(root, &asked, &own.judged).map_err(one)?;
    let data = RunData::new(own.data.clone());
    let plan = planned(root, asked, &demands, (&data, reading.threads))?;
    let store = kept_in(store)?;
    let shift = Shift {
        root,
        plan: &plan,
        judged: &own.judged,
        demands: &demands,
        reading,
        data: &data,
        device: own.device.as_deref(),
        store: &store,
        key: None,
    };
    let items = longest_first(&plan.items);
    if let Err(status) = shift.work(&items, (output, has_failed))? {
        return Ok(Err(status));
    }
    if has_failed.get() {
        // What failed was told; started again, the rest is done.
        return Ok(Err(ExitStatus::NotRun));
    }
    let stores = [store];
    let merging = Merging::of((root, &plan), &stores, true, ResultChecks::default())?;
    let demands = Demands { pictures: output.draws(Format::Html), ..demands };
    let mut report = PartwiseReport::begin(output, None)?;
    merging.report(&demands, reading, &mut report)?;
    Ok(Ok(report))
}
