//! What re-executing steps costs against training them: `replay BUNDLE FROM TO THREADS PAIRS` trains the steps
//! of a slice from its checkpoint and replays them, in turn, and prints the seconds of loading the checkpoint, of
//! training and of the replay, which loads it too. `scripts/bench.py replay` calls it.

use std::error::Error;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use repro_bundle::bundle::Bundle;
use repro_kernels::portable::Isa;
use repro_model::replay::{Choice, Extent};
use repro_replay::backend::{Host, Place};
use repro_replay::learner::Learner;
use repro_replay::model::Sequences;
use repro_replay::replay::{Corpora, Machine, Progress, ReplayPhase, replay};
use repro_replay::{Regime, TensorData, TensorFile};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Notes when the steps begin and end, and leaves planted faults out.
#[derive(Default)]
struct Watch {
    began: Mutex<Option<Instant>>,
    ended: Mutex<Option<Instant>>,
}

impl Progress for Watch {
    fn begins(&self, phase: ReplayPhase) -> ControlFlow<()> {
        let (moment, flow) = match phase {
            ReplayPhase::Executing => (&self.began, ControlFlow::Continue(())),
            ReplayPhase::Planting => (&self.ended, ControlFlow::Break(())),
            _ => return ControlFlow::Continue(()),
        };
        if let Ok(mut moment) = moment.lock() {
            *moment = Some(Instant::now());
        }
        flow
    }

    fn step(&self, _: u64, _: u64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl Watch {
    fn seconds(&self) -> Option<f64> {
        let moment = |moment: &Mutex<Option<Instant>>| *moment.lock().ok()?;
        Some(moment(&self.ended)?.duration_since(moment(&self.began)?).as_secs_f64())
    }
}

/// The seconds of loading the checkpoint, and of training the steps of a slice.
fn trained(
    bundle: &Bundle,
    weights: &TensorFile,
    tokens: &[u32],
    (from, to): (u64, u64),
) -> Result<[f64; 2], Box<dyn Error>> {
    let config = bundle.document("data/config.json")?.root();
    let regime = Regime::read(config)?;
    let start = Instant::now();
    let mut learner = Learner::new(config, &regime, 1, Host::<f32>::new(Isa::best()))?;
    learner.restore(from, weights, "the checkpoint")?;
    let load = start.elapsed().as_secs_f64();
    let width = regime.shape.seq_len + 1;
    let start = Instant::now();
    for (step, rows) in (from..to).zip(tokens.chunks(regime.shape.batch_size * width)) {
        let inputs: Vec<u32> =
            rows.chunks(width).flat_map(|row| &row[..width - 1]).copied().collect();
        let targets: Vec<u32> = rows.chunks(width).flat_map(|row| &row[1..]).copied().collect();
        let sequences = Sequences::new(&inputs, &targets, regime.shape.batch_size);
        learner.step(sequences, &regime.rates.of(step))?;
    }
    Ok([load, start.elapsed().as_secs_f64()])
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    // `cargo test --benches` runs this without arguments: then there is nothing to time.
    let [_, folder, from, to, threads, pairs] = arguments.as_slice() else { return Ok(()) };
    let (from, to, threads) = (from.parse()?, to.parse()?, threads.parse()?);
    let bundle = Bundle::load_folder(Path::new(folder), folder, None, 1)?;
    let stem = |kind: &str, name: &str| format!("data/{kind}/{name}-{from:06}.safetensors");
    let weights = TensorFile::parse("weights", &bundle.tensors(&stem("checkpoints", "step"))?)?;
    let slice = TensorFile::parse("slice", &bundle.tensors(&stem("slices", "slice"))?)?;
    let tokens = slice.tensors.get("tokens").and_then(TensorData::as_numbers).ok_or("no tokens")?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    let (machine, corpora) = (Machine::new(Place::host(Isa::best()), threads), Corpora::new(None));
    for _ in 0..pairs.parse::<u32>()? {
        let train =
            || trained(&bundle, &weights, &tokens, (from, to)).map_err(|error| error.to_string());
        let [load, ours] = pool.install(train)?;
        let watch = Watch::default();
        let choice = Choice::This(Extent::Steps { from, to });
        replay(&bundle, (choice, None), &machine, &corpora, &watch)?;
        let again = watch.seconds().ok_or("the replay did not come to its end")?;
        writeln!(std::io::stdout(), "{load} {ours} {again}")?;
    }
    Ok(())
}
