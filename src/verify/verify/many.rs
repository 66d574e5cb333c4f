//! Many bundles on their own, several at a time.

use std::path::Path;

use super::inspection::inspected;
use super::replays::Replayer;
use super::same_run::TracedBundle;
use super::{BUNDLES_PER_THREAD, Demands};
use repro_bundle::bundle::ReadOptions;
use repro_core::parallel;
use repro_report::part::ReportSink;

/// With at most this many threads each keeps the small checkpoints that it has read for whoever looks at them next. With
/// more they are read twice: what is kept would grow with the threads.
const KEEPERS: usize = 4;

/// Checks each bundle on its own, and hands over what it came to, in the order of the bundles, as soon as those before it
/// are handed over. Where there is a replayer, one after the other is executed. Answers what tells the runs from each other.
pub fn inspect_all<'r>(
    bundles: &[&Path],
    demands: &Demands,
    reading: impl Into<ReadOptions<'r>>,
    mut replayer: Option<&mut dyn Replayer>,
    sink: &mut (dyn ReportSink + Send),
) -> Vec<TracedBundle> {
    let mut traces = Vec::new();
    let reading = reading.into();
    let threads = reading.threads;
    let reading = ReadOptions { keeps_weights: threads <= KEEPERS, ..reading };
    if replayer.is_some() || bundles.len() <= BUNDLES_PER_THREAD * threads {
        let reading = ReadOptions { keeps_weights: true, ..reading };
        for bundle in bundles {
            let lent = replayer.as_mut().map(|replayer| &mut **replayer as &mut dyn Replayer);
            let (part, trace) = inspected(bundle, demands, reading, lent);
            sink.take(part);
            traces.extend(trace);
        }
        return traces;
    }
    let inspect = |bundle: &&Path, threads| {
        inspected(bundle, demands, ReadOptions { threads, ..reading }, None)
    };
    parallel::in_order(bundles, threads, inspect, |(part, trace)| {
        sink.take(part);
        traces.extend(trace.map(|trace: TracedBundle| trace.among(bundles.len())));
    });
    traces
}
