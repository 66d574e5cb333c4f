//! Runs that are one run, wherever several runs are used: posts, bundles checked together, folders, gates.

use std::fmt::Write as _;
use std::path::Path;

use tempfile::TempDir;

use crate::program::repro;

/// The records between two evaluations.
const BETWEEN: usize = 20;
const RECORDS: usize = 200;

/// The losses of a run: of its batches, and of its evaluations by the records before them.
#[derive(Clone)]
struct Losses {
    training: Vec<f64>,
    validation: Vec<(usize, f64)>,
}

/// Numbers between 0 and 1 (SplitMix64).
struct Rng(u64);

impl Rng {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}

fn rounded(value: f64, unit: f64) -> f64 {
    (value / unit).round() * unit
}

impl Losses {
    /// Those of a run from a level and a seed.
    fn of(level: f64, seed: u64) -> Self {
        let mut rng = Rng(seed);
        let level = level + 0.004 * rng.normal();
        let curve = |at: usize| level + 4.0 / (10.0 * at as f64).powf(0.4);
        let training = (1..=RECORDS).map(|at| curve(at) + 0.03 * rng.normal()).collect();
        let evaluated = (BETWEEN..=RECORDS).step_by(BETWEEN);
        let validation = evaluated.map(|at| (at, curve(at) + 0.001 * rng.normal())).collect();
        Self { training, validation }
    }

    /// Each loss with something done to it.
    fn each(&self, of: impl Fn(f64) -> f64) -> Self {
        Self {
            training: self.training.iter().map(|loss| of(*loss)).collect(),
            validation: self.validation.iter().map(|(at, loss)| (*at, of(*loss))).collect(),
        }
    }

    /// The first records alone.
    fn cut(&self, at: usize) -> Self {
        let kept = self.validation.iter().filter(|(of, _)| *of <= at);
        Self { training: self.training[..at].to_vec(), validation: kept.copied().collect() }
    }

    /// This up to a record, and another run after it.
    fn then(&self, at: usize, other: &Self) -> Self {
        let start = self.cut(at);
        let rest = other.validation.iter().filter(|(of, _)| *of > at);
        Self {
            training: [&start.training, &other.training[at..]].concat(),
            validation: start.validation.iter().chain(rest).copied().collect(),
        }
    }

    fn table(&self, digits: usize) -> String {
        let mut text = String::from("step,loss,val_loss,lr\n");
        for (at, loss) in self.training.iter().enumerate() {
            let known = self.validation.iter().find(|(of, _)| *of == at + 1);
            let validation = known.map_or(String::new(), |(_, loss)| format!("{loss:.digits$}"));
            writeln!(text, "{},{loss:.digits$},{validation},0.001", 10 * (at + 1)).unwrap();
        }
        text
    }
}

/// A project with three seeds of two arms, and what became of the third one of the second.
struct Study(TempDir);

impl Study {
    fn of(third: &Losses, digits: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for seed in 1..=3 {
            write(folder.path(), "adam", seed, &Losses::of(2.35, seed).table(4));
        }
        for seed in 1..=2 {
            write(folder.path(), "muon", seed, &Losses::of(2.30, 10 + seed).table(4));
        }
        write(folder.path(), "muon", 3, &third.table(digits));
        // One by one: logs of one command that are equal are told by `import` already.
        for arm in ["adam", "muon"] {
            for seed in 1..=3 {
                let log = format!("runs/{arm}/{seed}");
                let import = ["import", "csv", &log, "--out", "receipts", "--group", arm];
                let ran = repro(folder.path(), &import);
                assert!(ran.status.success(), "{ran:?}");
            }
        }
        std::fs::create_dir(folder.path().join("repro")).unwrap();
        std::fs::write(folder.path().join("repro/p.md"), "Muon is better.\n").unwrap();
        let post = "schema = 'repro.post/2'\nid = 'p'\ntitle = 'Seeds'\ntext = 'p.md'\n\
                    [names]\nadam = 'adam-{1..3}'\nmuon = 'muon-{1..3}'\n\
                    [[sentence]]\nquote = 'Muon is better'\nsays = 'muon.loss < adam.loss'\n";
        std::fs::write(folder.path().join("repro/p.toml"), post).unwrap();
        Self(folder)
    }

    /// The exit status and the words of a command.
    fn run(&self, arguments: &str) -> (i32, String) {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let ran = repro(self.0.path(), &arguments);
        let text = String::from_utf8([ran.stdout, ran.stderr].concat()).unwrap();
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        (ran.status.code().unwrap(), words)
    }
}

fn write(root: &Path, arm: &str, seed: u64, table: &str) {
    let folder = root.join(format!("runs/{arm}/{seed}"));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("metrics.csv"), table).unwrap();
}

const POST: &str = "verify --post p";
const BUNDLES: &str = "verify receipts/muon-1 receipts/muon-2 receipts/muon-3";
const GATE: &str = "gate --baseline receipts/adam-1 receipts/adam-2 receipts/adam-3 \
                    --candidate receipts/muon-1 receipts/muon-2 receipts/muon-3 --format json";

#[test]
fn a_third_seed_that_is_the_second_one_is_refused_everywhere() {
    let (second, third) = (Losses::of(2.30, 12), Losses::of(2.30, 13));
    let mut edited = second.clone();
    edited.training.iter_mut().skip(4).step_by(9).for_each(|loss| *loss += 0.02);
    let last = edited.validation.last_mut().unwrap();
    last.1 -= 0.01;
    for (what, copy, digits) in [
        ("as it is", second.clone(), 4),
        ("shifted", second.each(|loss| rounded(loss, 1e-4) + 0.0031), 4),
        ("scaled", second.each(|loss| 0.998 * rounded(loss, 1e-4)), 4),
        ("rounded", second.clone(), 3),
        ("cut", second.cut(140), 4),
        ("edited", edited, 4),
    ] {
        let study = Study::of(&copy, digits);
        let (code, words) = study.run(POST);
        assert_eq!(code, 2, "{what}: {words}");
        assert!(words.contains("error[group::repeated-run]"), "{what}: {words}");
        assert!(words.contains("runs with different seeds differ by"), "{what}: {words}");
        let (code, words) = study.run(BUNDLES);
        assert_eq!(code, 2, "{what}: {words}");
        assert!(words.contains("error[verify::same-run]"), "{what}: {words}");
        let (code, words) = study.run("check receipts");
        assert_eq!(code, 1, "{what}: {words}");
        assert!(words.contains("muon-3 and muon-2"), "{what}: {words}");
        let (_, words) = study.run(GATE);
        assert!(
            words.contains("\"gate::duplicate-run\"")
                || words.contains("\"gate::conflicting-logs\"")
                || words.contains("\"gate::same-start\""),
            "{what}: {words}"
        );
    }
    let honest = Study::of(&third, 4);
    for command in [POST, BUNDLES, "check receipts", GATE] {
        let (code, words) = honest.run(command);
        assert_eq!(code, 0, "{command}: {words}");
    }
}

#[test]
fn runs_that_go_on_from_one_parent_decide_nothing() {
    let study = Study::of(&Losses::of(2.30, 12).then(80, &Losses::of(2.30, 13)), 4);
    let (code, words) = study.run(POST);
    assert_eq!(code, 3, "{words}");
    assert!(words.contains("`muon-2` and `muon-3` share a start"), "{words}");
    assert!(words.contains("up to step 800, and differ from step 810"), "{words}");
    // They are no lie about their seeds.
    for command in [BUNDLES, "check receipts"] {
        let (code, words) = study.run(command);
        assert_eq!(code, 0, "{command}: {words}");
    }
}

#[test]
fn one_run_may_be_imported_twice() {
    let study = Study::of(&Losses::of(2.30, 13), 4);
    let again = "import csv runs/muon/3 --out again --group muon";
    assert_eq!(study.run(again).0, 0);
    let (code, words) = study.run("verify receipts/muon-3 again/muon-3");
    assert_eq!(code, 0, "{words}");
}
