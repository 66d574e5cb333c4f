//! Challenges: intervals between states that a run has committed itself to, drawn when the root is known.
//!
//! Whoever draws chooses a seed that the author of the run could not know when the run was sealed. Intervals with an evaluation are
//! drawn whatever the seed is: these are what a post cites. Each interval is then executed again, from the nearest state that can be
//! started from, and has to end in the committed one.

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
/// When the first round of the network `quicknet` of drand was published, in seconds since 1970, and the seconds between two
/// (<https://api.drand.sh/v2/beacons/quicknet/info>).
const QUICKNET: [u64; 2] = [1_692_803_367, 3];
/// The last round that is told by its time, in the year 2118.
const LAST_ROUND: u64 = 1_000_000_000;

codes! {
    NO_STATES = "challenge::no-states", "the run has no committed states", "train it with a trainer that writes `data/states.jsonl`";
    TOO_SHORT = "challenge::too-short", "the run has fewer than two committed states", "replay the whole run: `repro replay BUNDLE --full`";
    BAD_STATES = "challenge::bad-states", "the committed states are not in order of their steps", "write the states of one run, in the order of their steps";
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
    /// Intervals of a run that are to be executed again.
    Challenge {
        /// The schema, [`SCHEMA`].
        schema: String,
        /// The digest of the bundle.
        bundle: Digest,
        /// The root of its states.
        root: Digest,
        /// What the intervals are drawn from.
        seed: String,
        /// The ends of those that are always drawn, as the run was evaluated in them.
        evaluated: Vec<u64>,
        /// These and those that were drawn, in the order of their steps.
        intervals: Vec<StateInterval>,
        /// How many there are to draw from.
        of: u64,
    }
}

/// Where a seed comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeedSource {
    /// A round of the randomness beacon drand, network quicknet: `drand:ROUND:RANDOMNESS`. That the randomness is that of the round
    /// is what the caller says.
    Drand {
        /// Its number.
        round: u64,
    },
    /// A commit: `commit:ID`.
    Commit,
    /// Anything else: whoever draws may have tried many.
    Text,
}

impl SeedSource {
    /// The source that a seed names; a seed that names one and is not of its form is refused.
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

    /// When everybody could know the seed, in seconds since 1970, where its source says so.
    pub fn known_at(self) -> Option<u64> {
        let [genesis, period] = QUICKNET;
        match self {
            Self::Drand { round } => Some(genesis + (round - 1) * period),
            Self::Commit | Self::Text => None,
        }
    }
}

/// A state that a run has committed itself to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommittedState {
    /// The steps before it.
    pub step: u64,
    /// The digest of weights and moments.
    pub tensors: Digest,
    /// The chain of it and all before it.
    pub chain: Digest,
}

/// The states that a run has committed itself to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommittedStates {
    /// The chain of the last one.
    pub root: Digest,
    /// All of them, in the order of their steps.
    pub states: Vec<CommittedState>,
}

/// Where the states of two runs part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parting {
    /// The steps before the last state that both have; none where they begin with different ones.
    pub equal: Option<u64>,
    /// The steps before the first state in which they differ.
    pub different: u64,
}

impl CommittedStates {
    /// Of a bundle, whose chain was checked when it was loaded.
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
            let expected =
                "two committed states or more, between which there is something to execute";
            let found = format!("{} of a run that ended before the second", states.len());
            return Err(TOO_SHORT.at(bundle.place(&declared.file), expected, found));
        }
        Ok(Self { root: declared.root, states })
    }

    /// The intervals between them.
    pub fn intervals(&self) -> impl ExactSizeIterator<Item = StateInterval> {
        let pairs = std::iter::zip(&self.states, self.states.iter().skip(1));
        pairs.map(|(from, to)| StateInterval { from: from.step, to: to.step })
    }

    /// Where these states and those of another run part: the chain of a state is one of all before it, so that it is
    /// found by halving, in runs under one plan. None where all are equal.
    pub fn parting(&self, other: &Self) -> Option<Parting> {
        let pairs: Vec<_> = std::iter::zip(&self.states, &other.states).collect();
        // Other plans and starts give other chains from the first state on.
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
            // One of the two goes on.
            None => self.states.get(first).or(other.states.get(first))?.step,
        };
        Some(Parting { equal, different })
    }
}

/// The nearest step, not after `step`, that a run can be executed again from: one whose checkpoint the bundle keeps,
/// or the first.
pub fn startable(bundle: &Bundle, step: u64) -> u64 {
    let kept = bundle.kept_checkpoints().map(|(checkpoint, _)| checkpoint.step);
    kept.filter(|kept| *kept <= step).max().unwrap_or(0)
}

impl Challenge {
    /// Draws the intervals of a bundle in which the run was evaluated, and at most `count` different others, each equally likely.
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

    /// Reads the file that [`Challenge::draw`] was written to.
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

    /// Refuses a challenge that is not one of this bundle, drawn from its seed.
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
            let expected = format!("the {} intervals that its seed gives", drawn.intervals.len());
            return refused(expected, "others".to_owned());
        }
        if self.intervals.is_empty() {
            return refused("an interval or more".to_owned(), "none".to_owned());
        }
        Ok(())
    }

    /// With which probability the best forgery of one interval passes, where `led` of the drawn ones lead to their states. It is of one
    /// that is in no walk that is always made, if there is one (`has_spared`): it is seen where it is drawn itself. One that could not
    /// be executed may be the forged one.
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
        // Where the evaluated ones are reached through all others nothing is spared.
        assert_eq!(challenge(&[5], &[0, 4]).escape(2, false), 0.0);
        // One that was not executed may be the forged one.
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
