//! `repro replay A --against B`: where two runs part that should be equal, and which of the two follows from their config.

use std::path::Path;

use serde_json::{Value as Json, json};

use super::args;
use super::place::machine;
use super::replay::Bar;
use crate::cli::output::Output;
use crate::cli::{Answer, BAD_USAGE};
use repro_bundle::bundle::{Bundle, CONFIG};
use repro_core::source::{Error, Location};
use repro_model::challenge::{CommittedStates, Parting, startable};
use repro_model::replay::{Choice, Extent, Replay};
use repro_model::study::table;
use repro_replay::replay::{Corpora, Machine, replay};
use repro_report::outcome::ExitStatus;

/// One of the two.
struct Side {
    name: &'static str,
    shown: String,
    bundle: Bundle,
    states: CommittedStates,
}

impl Side {
    fn load(name: &'static str, path: &Path, threads: usize) -> Result<Self, Error> {
        let shown = path.display().to_string();
        let bundle = Bundle::load_folder(path, &shown, None, threads)?;
        let states = CommittedStates::of(&bundle)?;
        Ok(Self { name, shown, bundle, states })
    }

    /// Executes the steps up to the first state in which the two differ.
    fn executed(
        &self,
        parting: Parting,
        machine: &Machine,
        corpora: &Corpora,
        output: &Output,
    ) -> Result<Replay, Error> {
        let from = startable(&self.bundle, parting.equal.unwrap_or(0));
        let choice = Choice::This(Extent::States { from, to: parting.different });
        let bar = Bar::new(output, &format!("steps of {}", self.shown), None);
        let replayed = replay(&self.bundle, (choice, None), machine, corpora, &bar);
        bar.end();
        replayed
    }

    fn json(&self) -> Json {
        json!({
            "bundle": self.shown,
            "digest": self.bundle.digest().prefixed(),
            "root": self.states.root.to_string(),
        })
    }
}

/// The result of replaying one side.
struct Judged {
    follows: Option<bool>,
    /// In words.
    what: String,
}

impl Judged {
    fn of(replay: &Replay, parting: Parting) -> Self {
        match &replay.divergence {
            None if replay.states.contains(&parting.different) => {
                let what =
                    format!("the committed state after step {} was reproduced", parting.different);
                Self { follows: Some(true), what }
            }
            None => Self { follows: None, what: replay.reason.clone() },
            Some(parted) => {
                // Behind the last step of which something was compared and came out.
                let compared = replay.steps.iter().map(|step| step.step);
                let after = compared.filter(|step| *step < parted.step).chain(parting.equal).max();
                let steps = match after {
                    Some(after) if after + 1 < parted.step => {
                        format!("steps {} to {}", after + 1, parted.step)
                    }
                    _ => format!("step {}", parted.step),
                };
                let (logged, made) = (&parted.logged, &parted.replayed);
                let what = format!(
                    "diverges in {steps}: {} is logged as {logged}, replayed as {made}",
                    parted.shown()
                );
                Self { follows: Some(false), what }
            }
        }
    }
}

/// Runs the command.
pub fn run(a: &Path, b: &Path, own: &args::MachineArgs, output: &Output) -> Answer {
    let wants_json = output.wants_json();
    let one = |error| vec![error];
    let machine = match machine(own, output).map_err(one)? {
        Ok(machine) => machine,
        Err(status) => return Ok(status),
    };
    let sides = [("a", a), ("b", b)];
    let sides = sides.map(|(name, path)| Side::load(name, path, machine.threads).map_err(one));
    let [a, b] = sides;
    let (a, b) = (a?, b?);
    same_config(&a, &b).map_err(one)?;
    let Some(parting) = a.states.parting(&b.states) else {
        let count = a.states.states.len();
        if wants_json {
            output
                .print_json(&json!({"a": a.json(), "b": b.json(), "equal": true, "states": count}));
        } else {
            output.print(&format!("all {count} committed states are equal\n"));
        }
        return Ok(ExitStatus::Verified);
    };
    let corpora = Corpora::new(own.data.clone());
    let executed = |side: &Side| side.executed(parting, &machine, &corpora, output).map_err(one);
    let judged = [&a, &b].map(|side| executed(side).map(|replay| Judged::of(&replay, parting)));
    let [in_a, in_b] = judged;
    let (in_a, in_b) = (in_a?, in_b?);
    if wants_json {
        let side = |side: &Side, judged: &Judged| {
            let mut json = side.json();
            json["follows"] = json!(judged.follows);
            json["found"] = json!(judged.what);
            json
        };
        let Parting { equal, different } = parting;
        output.print_json(&json!({
            "a": side(&a, &in_a), "b": side(&b, &in_b), "equal": false,
            "equal_up_to": equal, "different_after": different,
        }));
    } else {
        output.print(&told(&[(&a, &in_a), (&b, &in_b)], parting));
    }
    Ok(match (in_a.follows, in_b.follows) {
        (Some(_), Some(_)) => ExitStatus::Refuted,
        _ => ExitStatus::Undecided,
    })
}

fn told(sides: &[(&Side, &Judged); 2], parting: Parting) -> String {
    let Parting { equal, different } = parting;
    let states = match equal {
        Some(equal) => format!("equal up to step {equal}, different after step {different}"),
        None => format!("different from the first state, after step {different}"),
    };
    let mut text = format!("states  {states}\n");
    for (side, judged) in sides {
        let word = match judged.follows {
            Some(true) => "matches",
            Some(false) => "does not match",
            None => "undecided",
        };
        text.push_str(&format!(
            "{}       {word}: {}\n        {}\n",
            side.name, side.shown, judged.what
        ));
    }
    text
}

/// Settings that select what a run keeps, which do not change its states.
const OF_KEEPING: [&str; 2] = ["kept_checkpoints", "slices"];

/// Rejects two runs that are not meant to be equal.
fn same_config(a: &Side, b: &Side) -> Result<(), Error> {
    let config = |side: &Side| table(side.bundle.document(CONFIG)?.root());
    let (ours, theirs) = (config(a)?, config(b)?);
    let keys = ours.keys().chain(theirs.keys());
    let keys = keys.filter(|key| !OF_KEEPING.contains(&key.as_str()));
    let Some(other) = keys.into_iter().find(|key| ours.get(*key) != theirs.get(*key)) else {
        return Ok(());
    };
    let of = |config: &serde_json::Map<String, Json>| {
        config.get(other).map_or("nothing".to_owned(), Json::to_string)
    };
    let place = Location::file(format!("{}/{CONFIG}", b.shown));
    let expected = format!("`{other}` as in `{}`, {}", a.shown, of(&ours));
    Err(BAD_USAGE.at(place, expected, of(&theirs)))
}
