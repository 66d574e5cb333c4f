//! `repro cluster merge`.

use std::cell::Cell;
use std::path::Path;

use repro_bundle::bundle::ReadOptions;
use repro_bundle::signature::PublicKey;
use repro_bundle::storage::Store;
use repro_core::source::{Error, Location};
use repro_report::Format;
use repro_report::outcome::ExitStatus;
use repro_verify::cluster::{Merging, ResultChecks, WorkItem, sample};
use repro_verify::verify::Demands;
use tempfile::TempDir;

use super::shift::Shift;
use super::{NOT_DONE, asked, load};
use crate::cli::args::MergeArgs;
use crate::cli::output::Output;
use crate::cli::partwise::PartwiseReport;
use crate::cli::trainer::RunData;
use crate::cli::{Answer, CANNOT_WRITE, git, threads};

/// Runs the command.
pub fn merge(root: &Path, own: &MergeArgs, output: &Output) -> Answer {
    let one = |error| vec![error];
    let plan = load(&own.plan)?;
    let stores = own.results.iter().map(|at| Store::open(at));
    let stores: Vec<_> = stores.collect::<Result<_, _>>().map_err(one)?;
    let keys = own.pubkey.iter().map(|path| PublicKey::load(path));
    let keys: Vec<_> = keys.collect::<Result<_, _>>().map_err(one)?;
    let judged = asked::judged(&plan.asked).map_err(one)?;
    let demands = asked::demands(root, &plan.asked, &judged).map_err(one)?;
    let reading = ReadOptions::from(own.threads.unwrap_or_else(threads::cores));
    let audit = own.audit.map(|count| AuditStore::of(count.get())).transpose().map_err(one)?;
    let audited_store = audit.as_ref().map(|audit| &audit.store);
    let checks = ResultChecks { keys: &keys, audit: audited_store, compares_inputs: true };
    let merging = Merging::of((root, &plan), &stores, own.shared, checks)?;
    if let Some(AuditStore { count, store, .. }) = &audit {
        let shift = Shift {
            root,
            plan: &plan,
            judged: &judged,
            demands: &demands,
            reading,
            data: &RunData::new(own.data.clone()),
            device: own.device.as_deref(),
            store,
            key: None,
        };
        if let Err(status) = audited(&shift, &sample(&plan.items, *count), output)? {
            return Ok(status);
        }
    }
    let demands = Demands { pictures: output.draws(Format::Html), ..demands };
    let bundles = plan.asked.bundles.len();
    let mut report = PartwiseReport::begin(output, Some(bundles))?;
    merging.report(&demands, reading, &mut report)?;
    report.finish(|report| {
        report.min_origin = demands.origin;
        report.wants_all_bound = plan.asked.all_bound;
        report.base = git::below_top(root);
    })
}

/// Where the results of an audit are kept while they are compared.
struct AuditStore {
    /// How many items are executed.
    count: usize,
    store: Store,
    /// Goes with it.
    _folder: TempDir,
}

impl AuditStore {
    fn of(count: usize) -> Result<Self, Error> {
        let folder = tempfile::tempdir().map_err(|error| {
            let place = Location::file("temporary folder");
            CANNOT_WRITE.at(place, "a writable temporary folder for the audit", error.to_string())
        })?;
        let store = Store::open(&folder.path().to_string_lossy())?;
        Ok(Self { count, store, _folder: folder })
    }
}

/// Executes items here, for their results to be compared; another status where the device is not there.
fn audited(
    shift: &Shift<'_>,
    items: &[&WorkItem],
    output: &Output,
) -> Result<Result<(), ExitStatus>, Vec<Error>> {
    let done = match shift.work(items, (output, &Cell::new(false)))? {
        Ok(done) => done,
        Err(status) => return Ok(Err(status)),
    };
    output.say(&format!(
        "audit: {} of {} items recomputed here",
        items.len(),
        shift.plan.items.len()
    ));
    if done.not_done.is_empty() {
        return Ok(Ok(()));
    }
    let expected = "items that can be recomputed here";
    let error = NOT_DONE.at(Location::file("--audit"), expected, done.not_done.join(", "));
    Err(vec![error.help("run the audit where the bundles and the data are")])
}
