//! `repro cluster work`.

use std::cell::Cell;
use std::path::Path;

use repro_bundle::bundle::ReadOptions;
use repro_bundle::signature::PrivateKey;
use repro_core::digest::Digest;
use repro_core::source::{Error, Location};
use repro_report::outcome::ExitStatus;
use repro_verify::cluster::{DeviceClass, Partition, WorkItem, WorkPlan, longest_first};
use serde_json::json;

use super::shift::Shift;
use super::{NO_ITEM, asked, kept_in, load};
use crate::cli::args::{ClassArg, WorkArgs};
use crate::cli::output::Output;
use crate::cli::trainer::RunData;
use crate::cli::{Answer, BAD_USAGE, threads};

/// Runs the command.
pub fn work(root: &Path, own: &WorkArgs, output: &Output) -> Answer {
    let one = |error| vec![error];
    let plan = load(&own.plan)?;
    let items = chosen(&plan, own).map_err(one)?;
    let key = own.sign.as_deref().map(PrivateKey::load).transpose().map_err(one)?;
    let store = kept_in(&own.results)?;
    let judged = asked::judged(&plan.asked).map_err(one)?;
    let demands = asked::demands(root, &plan.asked, &judged).map_err(one)?;
    let data = RunData::new(own.data.clone());
    let threads = own.threads.unwrap_or_else(threads::cores);
    let shift = Shift {
        root,
        plan: &plan,
        judged: &judged,
        demands: &demands,
        reading: ReadOptions::from(threads),
        data: &data,
        device: own.device.as_deref(),
        store: &store,
        key: key.as_ref(),
    };
    let has_failed = Cell::new(false);
    let done = match shift.work(&items, (output, &has_failed))? {
        Ok(done) => done,
        Err(status) => return Ok(status),
    };
    match output.wants_json() {
        true => output.print_json(&json!({
            "schema": "repro.work/1",
            "items": items.len(),
            "executed": done.executed,
            "there": done.there,
            "not_done": done.not_done,
        })),
        false => output.print(&format!("{}\n", done.told(items.len()))),
    }
    Ok(match (done.not_done.is_empty(), has_failed.get()) {
        (true, _) => ExitStatus::Verified,
        (false, true) => ExitStatus::NotRun,
        (false, false) => ExitStatus::Refused,
    })
}

/// The items that the arguments choose, in the order of their execution.
fn chosen<'p>(plan: &'p WorkPlan, own: &WorkArgs) -> Result<Vec<&'p WorkItem>, Error> {
    let is_of_class = |item: &&WorkItem| match own.class {
        None => true,
        Some(ClassArg::Any) => item.class == DeviceClass::Any,
        Some(ClassArg::Processor) => item.class == DeviceClass::Processor,
    };
    if let Some(text) = &own.partition {
        let partition = Partition::parse(text).ok_or_else(|| {
            let expected = "`K/N`: part K of N, counted from 1";
            BAD_USAGE.at(Location::file("--partition"), expected, format!("`{text}`"))
        })?;
        return Ok(partition.of(plan.items.iter().filter(is_of_class)));
    }
    let asked = own.item.iter().map(|text| {
        let key = Digest::parse_hex(text);
        let item = plan.items.iter().find(|item| Some(item.key) == key);
        item.ok_or_else(|| {
            let expected = format!("the key of one of the plan's {} items", plan.items.len());
            NO_ITEM.at(Location::file("--item"), expected, format!("`{text}`"))
        })
    });
    let asked: Vec<_> = asked.collect::<Result<_, _>>()?;
    let items = if asked.is_empty() { plan.items.iter().collect() } else { asked };
    Ok(longest_first(items.into_iter().filter(is_of_class)))
}
