//! Challenges: step ranges between committed states of a run, drawn after the root of the states is published.
//!
//! The verifier chooses a seed that the author could not know when the run was sealed. Ranges that end in an evaluated
//! state are always part of the challenge, because posts cite them. Each range is executed again, from the nearest state
//! with a checkpoint, and has to end in the committed state.

use std::collections::BTreeSet;
use std::path::Path;

use repro_bundle::bundle::record::{RecordValue, record};
use repro_bundle::bundle::{Bundle, RECEIPT};
use repro_core::digest::Digest;
use repro_core::source::{Document, Error, Location, Source, codes};
use repro_stats::rng::Rng;
use serde::{Deserialize, Serialize};

/// The schema of a challenge.
const SCHEMA: &str = "repro.challenge/2";
/// The time of the first round of drand's network `quicknet`, in seconds since 1970, and the seconds between two rounds
/// (<https://api.drand.sh/v2/beacons/quicknet/info>).
const QUICKNET: [u64; 2] = [1_692_803_367, 3];
/// The last round whose time is computed, in the year 2118.
const LAST_ROUND: u64 = 1_000_000_000;

codes! {
    NO_STATES = "challenge::no-states", "the run has no committed states", "train it with a trainer that writes `data/states.jsonl`";
    TOO_SHORT = "challenge::too-short", "the run has fewer than two committed states", "replay the whole run: `repro replay BUNDLE --full`";
    BAD_STATES = "challenge::state-order", "the committed states are not in order of their steps", "write the states of one run, in the order of their steps";
    BAD_CHALLENGE = "challenge::bad-challenge", "a challenge is malformed", "generate it with `repro bundle challenge BUNDLE --seed TEXT --count N`";
    BAD_SEED = "challenge::bad-seed", "a seed does not have the format of its source", "write `drand:ROUND:RANDOMNESS` from the quicknet network, `commit:ID`, or any other text";
    OTHER_CHALLENGE = "challenge::other", "a challenge belongs to a different bundle, or was not drawn from its seed", "draw it from this bundle with `repro bundle challenge`";
}

record! {
    #[derive(Serialize, Deserialize)]
    /// The steps from one committed state to the next.
    StateInterval {
        /// The steps before the first state.
        from: u64,
        /// The steps before the second one.
        to: u64,
    }
}

record! {
    #[derive(Serialize, Deserialize)]
    /// Step ranges of a run that have to be executed again.
    Challenge {
        /// The schema, [`SCHEMA`].
        schema: String,
        /// The digest of the bundle.
        bundle: Digest,
        /// The root of its states.
        root: Digest,
        /// The seed of the random draw.
        seed: String,
        /// The ends of the ranges that are always part of the challenge, because the run was evaluated there.
        evaluated: Vec<u64>,
        /// These ranges and the randomly drawn ones, in the order of their steps.
        intervals: Vec<StateInterval>,
        /// The number of ranges in the run.
        of: u64,
    }
}

/// The source of a seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeedSource {
    /// A round of the randomness beacon drand, network quicknet: `drand:ROUND:RANDOMNESS`. Whether the randomness belongs
    /// to this round is not checked.
    Drand {
        /// The number of the round.
        round: u64,
    },
    /// A commit: `commit:ID`.
    Commit,
    /// Any other text. The verifier may have tried many.
    Text,
}

impl SeedSource {
    /// Detects the source of a seed. Rejects a seed with the prefix of a source but a different format.
    pub fn of(seed: &str, place: &Location) -> Result<Self, Error> {
        let is_hex = |text: &str, lengths: &[usize]| {
            lengths.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        let source = match seed.split_once(':') {
            Some(("drand", rest)) => rest.split_once(':').and_then(|(round, randomness)| {
                let round = round.parse().ok().filter(|round| (1..=LAST_ROUND).contains(round))?;
                is_hex(randomness, &[64]).then_some(Self::Drand { round })
            }),
            Some(("commit", id)) => is_hex(id, &[40, 64]).then_some(Self::Commit),
            _ => Some(Self::Text),
        };
        source.ok_or_else(|| {
            let expected =
                "`drand:ROUND:RANDOMNESS` with 64 hexadecimal digits, or `commit:ID` with 40 or 64";
            BAD_SEED.at(place.clone(), expected, seed.chars().take(100).collect::<String>())
        })
    }

    /// The time at which the seed became public, in seconds since 1970, if its source determines it.
    pub fn known_at(self) -> Option<u64> {
        let [genesis, period] = QUICKNET;
        match self {
            Self::Drand { round } => Some(genesis + (round - 1) * period),
            Self::Commit | Self::Text => None,
        }
    }
}

/// A committed state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommittedState {
    /// The number of steps before it.
    pub step: u64,
    /// The digest of weights and moments.
    pub tensors: Digest,
    /// The chain over this state and all states before it.
    pub chain: Digest,
}

/// The committed states of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommittedStates {
    /// The chain of the last state.
    pub root: Digest,
    /// All states, in the order of their steps.
    pub states: Vec<CommittedState>,
}

/// The point where the states of two runs diverge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parting {
    /// The number of steps before the last common state; none if the first states differ.
    pub equal: Option<u64>,
    /// The number of steps before the first state that differs.
    pub different: u64,
}

impl CommittedStates {
    /// Reads the states of a bundle, whose chain was checked when it was loaded.
    pub fn of(bundle: &Bundle) -> Result<Self, Error> {
        let Some(declared) = &bundle.receipt().states else {
            let place = bundle.place(RECEIPT).with_pointer("/predicate/states".to_owned());
            return Err(NO_STATES.at(place, "`states` in the receipt", "none"));
        };
        let mut states: Vec<CommittedState> = Vec::new();
        for line in bundle.document(&declared.file)?.root().items()? {
            let step = line.required("step")?;
            let number = step.integer()?;
            if let Some(before) = states.last().filter(|before| before.step >= number) {
                let found = format!("step {number} after step {}", before.step);
                return Err(BAD_STATES.at(step.place(), "a later step in each line", found));
            }
            let digest = |field: &str| Digest::read(line.required(field)?);
            let (tensors, chain) = (digest("tensors_sha256")?, digest("chain")?);
            states.push(CommittedState { step: number, tensors, chain });
        }
        if states.len() < 2 {
            let expected = "at least two committed states, with steps between them";
            let found = format!("{}; the run ended before the second", states.len());
            return Err(TOO_SHORT.at(bundle.place(&declared.file), expected, found));
        }
        Ok(Self { root: declared.root, states })
    }

    /// The step ranges between consecutive states.
    pub fn intervals(&self) -> impl ExactSizeIterator<Item = StateInterval> {
        let pairs = std::iter::zip(&self.states, self.states.iter().skip(1));
        pairs.map(|(from, to)| StateInterval { from: from.step, to: to.step })
    }

    /// The point where these states and those of a different run diverge; none if all are equal. The chain of a state
    /// covers all states before it, so binary search finds the point for runs under one plan.
    pub fn parting(&self, other: &Self) -> Option<Parting> {
        let pairs: Vec<_> = std::iter::zip(&self.states, &other.states).collect();
        // With a different plan or start, the chains differ from the first state on.
        let same_chains = pairs.first().is_some_and(|(a, b)| a.chain == b.chain);
        let differs = |(a, b): &(&CommittedState, &CommittedState)| {
            (a.step, a.tensors) != (b.step, b.tensors)
        };
        let first = match same_chains {
            true => pairs.partition_point(|(a, b)| a.chain == b.chain),
            false => pairs.iter().position(differs).unwrap_or(pairs.len()),
        };
        let equal = first.checked_sub(1).and_then(|at| pairs.get(at)).map(|(a, _)| a.step);
        let different = match pairs.get(first) {
            Some((a, b)) => a.step.min(b.step),
            // One of the two has more states.
            None => self.states.get(first).or(other.states.get(first))?.step,
        };
        Some(Parting { equal, different })
    }
}

/// The nearest step, at or before `step`, from which a run can be executed: one with a checkpoint in the bundle, or the
/// first.
pub fn startable(bundle: &Bundle, step: u64) -> u64 {
    let kept = bundle.kept_checkpoints().map(|(checkpoint, _)| checkpoint.step);
    kept.filter(|kept| *kept <= step).max().unwrap_or(0)
}

impl Challenge {
    /// Draws all ranges that end in an evaluated state, and at most `count` others, each with equal probability.
    pub fn draw(bundle: &Bundle, seed: &str, count: usize) -> Result<Self, Error> {
        SeedSource::of(seed, &Location::file("--seed"))?;
        let states = CommittedStates::of(bundle)?;
        let points = bundle.receipt().checkpoints.iter();
        let evaluated: BTreeSet<u64> =
            points.filter(|point| point.evaluation.is_some()).map(|point| point.step).collect();
        let is_evaluated =
            |one: &StateInterval| evaluated.range(one.from + 1..=one.to).next().is_some();
        let of = states.intervals().len() as u64;
        let (mut intervals, others): (Vec<_>, Vec<_>) = states.intervals().partition(is_evaluated);
        let evaluated = intervals.iter().map(|one| one.to).collect();
        let mut rng = Rng::new(0, &format!("challenge\n{}\n{seed}", states.root));
        let drawn = rng.permutation(others.len()).into_iter().take(count);
        intervals.extend(drawn.filter_map(|at| others.get(at as usize).cloned()));
        intervals.sort_unstable_by_key(|one| one.from);
        let (schema, bundle, root) = (SCHEMA.to_owned(), bundle.digest(), states.root);
        Ok(Self { schema, bundle, root, seed: seed.to_owned(), evaluated, intervals, of })
    }

    /// Reads a file with the output of [`Challenge::draw`].
    pub fn load(path: &Path) -> Result<Self, Error> {
        let document = Document::parse_json(Source::load(path, path.display().to_string())?)?;
        let root = document.root();
        let schema = root.required("schema")?;
        if schema.text()? != SCHEMA {
            let found = format!("`{}`", schema.text()?.chars().take(40).collect::<String>());
            return Err(BAD_CHALLENGE.at(schema.place(), format!("`{SCHEMA}`"), found));
        }
        Self::read(root)
    }

    /// Rejects a challenge that does not belong to this bundle or does not follow from its seed.
    pub fn check(&self, bundle: &Bundle, file: &str) -> Result<(), Error> {
        let refused = |expected: String, found: String| {
            Err(OTHER_CHALLENGE.at(Location::file(file), expected, found))
        };
        if self.bundle != bundle.digest() {
            return refused(bundle.digest().prefixed(), self.bundle.prefixed());
        }
        SeedSource::of(&self.seed, &Location::file(file))?;
        let count = self.intervals.len().saturating_sub(self.evaluated.len());
        let drawn = Self::draw(bundle, &self.seed, count)?;
        if *self != drawn {
            let expected = format!("the {} step ranges drawn with its seed", drawn.intervals.len());
            return refused(expected, "others".to_owned());
        }
        if self.intervals.is_empty() {
            return refused("at least one step range".to_owned(), "none".to_owned());
        }
        Ok(())
    }

    /// The probability that the best forgery of one range goes unnoticed, if `led` of the drawn ranges led to their states.
    /// The best forgery is in a range outside every replay that is always executed, if there is one (`has_spared`); it is
    /// detected only if that range is drawn. A range that could not be executed may be the forged one.
    pub fn escape(&self, led: usize, has_spared: bool) -> f64 {
        if led < self.intervals.len() {
            return 1.0;
        }
        let evaluated = self.evaluated.len() as u64;
        let (others, drawn) = (self.of - evaluated, led as u64 - evaluated);
        if others == 0 || !has_spared { 0.0 } else { 1.0 - drawn as f64 / others as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_part_once() {
        let state = |step: u64, chain: u64| CommittedState {
            step,
            tensors: Digest::of(&chain.to_le_bytes()),
            chain: Digest::of(&chain.to_le_bytes()),
        };
        let run = |chains: &[u64]| CommittedStates {
            root: Digest::of(b""),
            states: (0..)
                .step_by(50)
                .zip(chains)
                .map(|(step, chain)| state(step, *chain))
                .collect(),
        };
        let parting = |a: &[u64], b: &[u64]| run(a).parting(&run(b));
        assert_eq!(parting(&[1, 2, 3], &[1, 2, 3]), None);
        let at = |equal, different| Some(Parting { equal, different });
        assert_eq!(parting(&[1, 2, 3, 4], &[1, 2, 5, 6]), at(Some(50), 100));
        assert_eq!(parting(&[1, 2], &[7, 8]), at(None, 0));
        assert_eq!(parting(&[1, 2], &[1, 2, 3]), at(Some(50), 100));
    }

    #[test]
    fn the_best_forgery_spares_what_is_always_drawn() {
        let interval = |from| StateInterval { from, to: from + 1 };
        let challenge = |evaluated: &[u64], intervals: &[u64]| Challenge {
            schema: SCHEMA.to_owned(),
            bundle: Digest::of(b""),
            root: Digest::of(b""),
            seed: "1".to_owned(),
            evaluated: evaluated.to_vec(),
            intervals: intervals.iter().copied().map(interval).collect(),
            of: 5,
        };
        let escape = |one: &Challenge| one.escape(one.intervals.len(), true);
        assert_eq!(escape(&challenge(&[5], &[0, 4])), 0.75);
        assert_eq!(escape(&challenge(&[5], &[4])), 1.0);
        assert_eq!(escape(&challenge(&[5], &[0, 1, 2, 3, 4])), 0.0);
        assert_eq!(escape(&challenge(&[1, 2, 3, 4, 5], &[0, 1, 2, 3, 4])), 0.0);
        // If the evaluated ranges are reached through all others, no range is spared.
        assert_eq!(challenge(&[5], &[0, 4]).escape(2, false), 0.0);
        // A range that was not executed may be the forged one.
        assert_eq!(challenge(&[5], &[0, 1, 4]).escape(2, true), 1.0);
    }

    #[test]
    fn a_seed_names_its_source() {
        let of = |seed: &str| SeedSource::of(seed, &Location::default());
        let hex = "0123456789abcdef".repeat(4);
        let drand = of(&format!("drand:2:{hex}")).unwrap();
        assert_eq!(
            (drand, drand.known_at()),
            (SeedSource::Drand { round: 2 }, Some(1_692_803_370))
        );
        assert_eq!(of(&format!("commit:{hex}")).unwrap(), SeedSource::Commit);
        assert_eq!(of("round 5417000 of drand").unwrap(), SeedSource::Text);
        for wrong in ["drand:2:ab", "drand:0:", "commit:main", &format!("drand:99999999999:{hex}")]
        {
            assert_eq!(of(wrong).unwrap_err().code.id, "challenge::bad-seed", "{wrong}");
        }
    }
}
