//! `repro mutate`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use serde::Serialize;

use super::Answer;
use super::args;
use super::output::Output;
use crate::mutation::{Catch, Mutant, mutate};
use crate::outcome::ExitStatus;
use crate::post::Post;
use crate::verify::Shelf;

/// `repro.mutation/1`.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    post: &'a str,
    shares: Vec<Share>,
    mutants: &'a [Mutant],
}

/// How many numbers of one origin were caught in which way.
#[derive(Serialize)]
struct Share {
    origin: &'static str,
    numbers: usize,
    counts: BTreeMap<&'static str, usize>,
}

/// Runs the command: 0 where every change is caught, else 3.
pub fn run(root: &Path, own: &args::Mutate, output: &Output) -> Answer {
    let json = output.wants_json()?;
    let post = Post::load(root, &own.post).map_err(|refusal| vec![refusal])?;
    let mut shelf = Shelf::new(1);
    shelf.fetch(root, &post)?;
    let mutants = mutate(&post, &mut shelf.library).map_err(|refusal| vec![refusal])?;
    let shares = shares(&mutants);
    if json {
        output.print_json(&Document {
            schema: "repro.mutation/1",
            post: &post.id,
            shares,
            mutants: &mutants,
        });
    } else {
        output.print(&render(&post.id, &shares, &mutants, output.verbose()));
    }
    let all = mutants.iter().all(|mutant| counts(mutant.catch)) && !mutants.is_empty();
    Ok(if all { ExitStatus::Verified } else { ExitStatus::Undecided })
}

fn counts(catch: Catch) -> bool {
    matches!(catch, Catch::Recomputed | Catch::OtherDocument)
}

fn shares(mutants: &[Mutant]) -> Vec<Share> {
    let mut groups: BTreeMap<&'static str, Vec<&Mutant>> = BTreeMap::new();
    for mutant in mutants {
        groups
            .entry(mutant.origin.map_or("claimed", |origin| origin.word()))
            .or_default()
            .push(mutant);
    }
    let share = |(origin, group): (&'static str, Vec<&Mutant>)| {
        let count = |catch: Catch| {
            (catch.words(), group.iter().filter(|mutant| mutant.catch == catch).count())
        };
        Share { origin, numbers: group.len(), counts: Catch::ALL.into_iter().map(count).collect() }
    };
    groups.into_iter().map(share).collect()
}

fn render(post: &str, shares: &[Share], mutants: &[Mutant], verbose: bool) -> String {
    let mut text = format!("{post}  the last digit of every number, changed in turn\n");
    // Writing to a string cannot fail.
    for share in shares {
        let caught = mutants_caught(share);
        let percent = 100.0 * caught as f64 / share.numbers.max(1) as f64;
        let parts: Vec<_> = Catch::ALL
            .iter()
            .map(|catch| {
                format!("{} {}", share.counts.get(catch.words()).unwrap_or(&0), catch.words())
            })
            .collect();
        let _ = writeln!(
            text,
            "  {:<12} {caught} of {} caught ({percent:.1}%): {}",
            share.origin,
            share.numbers,
            parts.join(" · ")
        );
    }
    for mutant in mutants.iter().filter(|mutant| !counts(mutant.catch) || verbose) {
        let by = mutant.by.as_deref().map(|claim| format!(" by {claim}")).unwrap_or_default();
        let _ = writeln!(
            text,
            "  {:<26} {} -> {}  {}{by}",
            mutant.catch.words(),
            mutant.from,
            mutant.to,
            mutant.place
        );
    }
    text
}

fn mutants_caught(share: &Share) -> usize {
    Catch::ALL
        .iter()
        .filter(|catch| counts(**catch))
        .filter_map(|catch| share.counts.get(catch.words()))
        .sum()
}
