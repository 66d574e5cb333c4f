//! What a page draws of a post beside its claims: courses of runs, replays against what is allowed, readings of ±.

use std::collections::BTreeMap;

use repro_model::replay::{Replay, ReplayComparison, ReplayOutcome};
use repro_report::outcome::{
    ClaimReport, DrawnShare, PostPictures, PostReport, ReplayChart, SpreadChart,
};
use repro_stats::mean;
use repro_stats::spread::ErrorBarMeaning;

use super::courses;
use super::replays::{distinct, replays_of};
use crate::library::Library;
use crate::page::PostPage;

/// So many replays are drawn.
const REPLAYS: usize = 24;
/// Of so many numbers behind ± the readings are drawn, and each of so many runs.
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
    PostPictures {
        courses: courses::of_post(page, library),
        replays: replays(page, library),
        spreads,
    }
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
    let share = |one: &repro_model::replay::ToleranceShare| DrawnShare {
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

/// What a number behind ± can be, where the runs are at hand of which it is the spread.
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
