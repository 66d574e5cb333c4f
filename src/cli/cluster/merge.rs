//! `repro merge`.

use std::path::Path;

use repro_cluster::Merging;
use repro_judge::verify::Demands;
use repro_receipt::bundle::ReadOptions;
use repro_report::Format;
use repro_storage::Store;

use super::{asked, load};
use crate::cli::args::MergeArgs;
use crate::cli::output::Output;
use crate::cli::partwise::PartwiseReport;
use crate::cli::{Answer, git, threads};

/// Runs the command.
pub fn merge(root: &Path, own: &MergeArgs, output: &Output) -> Answer {
    let one = |error| vec![error];
    let plan = load(&own.plan)?;
    let stores = own.results.iter().map(|at| Store::open(at));
    let stores: Vec<_> = stores.collect::<Result<_, _>>().map_err(one)?;
    let judged = asked::judged(&plan.asked).map_err(one)?;
    let demands = Demands {
        pictures: output.draws(Format::Html),
        ..asked::demands(root, &plan.asked, &judged).map_err(one)?
    };
    let reading = ReadOptions::from(own.threads.unwrap_or_else(threads::cores));
    let merging = Merging::of((root, &plan), &stores, own.shared)?;
    let bundles = plan.asked.bundles.len();
    let mut report = PartwiseReport::begin(output, Some(bundles))?;
    merging.report(&demands, reading, &mut report)?;
    report.finish(|report| {
        report.min_origin = demands.origin;
        report.wants_all_bound = plan.asked.all_bound;
        report.base = git::below_top(root);
    })
}
