//! The charts of a post's page: courses of runs, replays against their tolerance, readings of ±.

use std::collections::BTreeMap;

use repro_bundle::bundle::{Bundle, TrainingRecord, TrainingRecords};
use repro_model::replay::{Replay, ReplayComparison, ReplayOutcome, ToleranceShare};
use repro_report::outcome::{
    ClaimReport, CourseArm, CourseChart, DrawnShare, PostPictures, PostReport, ReplayChart,
    SpreadChart,
};
use repro_stats::mean;
use repro_stats::spread::ErrorBarMeaning;

use super::replays::{distinct, replays_of};
use crate::library::Library;
use crate::page::PostPage;

/// So many points of a run are drawn: each is the mean of as many neighbours.
const POINTS: usize = 120;
/// So many arms go into one picture.
const ARMS: usize = 8;
/// So many pictures are drawn.
const CHARTS: usize = 8;

/// So many replays are drawn.
const REPLAYS: usize = 24;
/// Of so many numbers behind ± the readings are drawn, and each of this many runs.
const SPREADS: usize = 500;
const RUNS: usize = 200;

/// The pictures of a post that is judged.
pub fn of_post(page: &PostPage, library: &Library, post: &PostReport) -> PostPictures {
    let spreads: BTreeMap<_, _> = post
        .claims
        .iter()
        .filter_map(|claim| Some((claim.id.clone(), spread(claim)?)))
        .take(SPREADS)
        .collect();
    PostPictures { courses: courses(page, library), replays: replays(page, library), spreads }
}

/// The replays that a post asks for, as far as steps were made.
fn replays(page: &PostPage, library: &Library) -> Vec<ReplayChart> {
    let mut asked = replays_of(page, library);
    distinct(&mut asked);
    let done = asked.iter().filter_map(|one| {
        let key = (one.bundle.name().to_owned(), one.extent);
        match library.replays.get(&key) {
            Some(ReplayOutcome::Done(replay)) if replay.executed > 0 => Some(replayed(replay)),
            _ => None,
        }
    });
    done.take(REPLAYS).collect()
}

fn replayed(replay: &Replay) -> ReplayChart {
    let share = |one: &ToleranceShare| DrawnShare {
        step: one.step,
        kind: one.kind,
        what: one.what.clone(),
        share: one.share,
    };
    ReplayChart {
        title: format!("{} {}", replay.bundle, replay.extent),
        compared: format!("{} steps, {} tensors", replay.executed, replay.compared_tensors()),
        verdict: replay.verdict,
        is_bitwise: replay.comparison == ReplayComparison::Bitwise,
        shares: replay.shares.iter().map(share).collect(),
        seen: replay.would_have_been_seen().map(|fault| fault.planted.clone()).collect(),
        unseen: replay.cannot_be_seen(),
    }
}

/// The possible readings of a number after ±, if its runs are available.
fn spread(claim: &ClaimReport) -> Option<SpreadChart> {
    let measured = claim.outcome.measured.iter().find(|one| !one.spread_of.is_empty())?;
    let runs = &measured.spread_of;
    let reading = |meaning: ErrorBarMeaning| Some((meaning.word(), meaning.width(runs).ok()?));
    (runs.len() <= RUNS).then_some(SpreadChart {
        printed: measured.claimed?,
        unit: measured.unit,
        allowed: measured.allowed?,
        runs: runs.clone(),
        mean: mean(runs).ok()?,
        readings: ErrorBarMeaning::ALL.into_iter().filter_map(reading).collect(),
    })
}

/// A number that is logged step by step.
struct LoggedNumber {
    name: &'static str,
    of: fn(&TrainingRecords, &TrainingRecord) -> Option<f64>,
}

const NUMBERS: [LoggedNumber; 2] = [
    LoggedNumber { name: "training loss (nats/token)", of: |_, record| record.loss },
    LoggedNumber { name: "largest fraction of tokens at one expert", of: largest_load },
];

fn largest_load(records: &TrainingRecords, record: &TrainingRecord) -> Option<f64> {
    let loads = records.routers(record).iter().filter_map(|layer| layer.max_load);
    loads.reduce(f64::max)
}

/// The courses of the arms that a post names, those in one picture that end alike: `dense.large` and `moe.large`.
fn courses(page: &PostPage, library: &Library) -> Vec<CourseChart> {
    let mut arms: BTreeMap<&str, Vec<(&str, Vec<&Bundle>)>> = BTreeMap::new();
    for (name, (locator, _)) in &page.names {
        let is_run = locator.file.is_none();
        let bundles: Vec<_> =
            locator.bundles.iter().filter_map(|bundle| library.bundle(bundle)).collect();
        // One run alone is often one of those of another name.
        if is_run && bundles.len() > 1 {
            let end = name.rsplit_once('.').map_or("", |(_, end)| end);
            arms.entry(end).or_default().push((name, bundles));
        }
    }
    let charts = arms
        .into_iter()
        .flat_map(|(end, arms)| NUMBERS.iter().filter_map(move |number| chart(end, number, &arms)));
    charts.take(CHARTS).collect()
}

fn chart(end: &str, number: &LoggedNumber, arms: &[(&str, Vec<&Bundle>)]) -> Option<CourseChart> {
    let by_tokens = arms.iter().flat_map(|(_, runs)| runs).all(|run| {
        let records = run.records().into_iter().flat_map(|records| &records.kept);
        records.into_iter().all(|record| record.tokens.is_some())
    });
    let one = |(name, runs): &(&str, Vec<&Bundle>)| {
        let runs: Vec<_> = runs
            .iter()
            .filter_map(|run| Some(course(run.records()?, number, by_tokens)))
            .filter(|points| points.len() > 1)
            .collect();
        (!runs.is_empty()).then(|| CourseArm { name: (*name).to_owned(), runs })
    };
    let arms: Vec<_> = arms.iter().filter_map(one).take(ARMS).collect();
    let title =
        if end.is_empty() { number.name.to_owned() } else { format!("{}, {end}", number.name) };
    let axis = if by_tokens { "tokens" } else { "step" };
    (!arms.is_empty()).then_some(CourseChart { title, axis, arms })
}

/// The points of a run.
fn course(records: &TrainingRecords, number: &LoggedNumber, by_tokens: bool) -> Vec<[f64; 2]> {
    let at = |record: &TrainingRecord| if by_tokens { record.tokens } else { record.step };
    let points: Vec<[f64; 2]> = records
        .kept
        .iter()
        .filter_map(|record| Some([at(record)?, (number.of)(records, record)?]))
        .filter(|point| point.iter().all(|one| one.is_finite()))
        .collect();
    let size = points.len().div_ceil(POINTS).max(1);
    let mean = |part: &[[f64; 2]], axis: usize| {
        part.iter().map(|point| point[axis]).sum::<f64>() / part.len() as f64
    };
    points.chunks(size).map(|part| [mean(part, 0), mean(part, 1)]).collect()
}
