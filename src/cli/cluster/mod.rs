//! `repro cluster plan`, `repro cluster work`, `repro cluster merge`, and `repro verify --resume`, which is all three in one.

mod asked;
mod merge;
mod plan;
mod resume;
mod shift;
mod work;

pub use merge::merge;
pub use plan::plan;
pub use resume::resumed;
pub use work::work;

use std::path::Path;

use repro_core::source::{Error, codes};
use repro_verify::cluster::{Asked, Planner, Program, WorkPlan};
use repro_verify::verify::Demands;

use super::output::outside_bundles;
use super::trainer::RunData;
use repro_bundle::storage::{Store, local_path};

codes! {
    NO_ITEM = "work::unknown-item", "the plan has no item with this key", "copy an item key from the plan";
    NOT_DONE = "work::not-done", "an item could not be executed here", "run the worker on a machine that can execute the item";
}

/// This program, as plans and results name it.
fn program() -> Program {
    Program {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        source: env!("REPRO_SOURCE_SHA256").to_owned(),
        trains: cfg!(feature = "train"),
    }
}

/// The plan of what was asked for, by this program.
fn planned(
    root: &Path,
    asked: Asked,
    demands: &Demands,
    (data, threads): (&RunData, usize),
) -> Result<WorkPlan, Vec<Error>> {
    let (program, estimator) = (program(), data.estimator());
    let planner = Planner { root, asked, demands, program, estimator, threads };
    planner.plan().map_err(|error| vec![error])
}

/// The store where results are kept: not in a bundle, which they would spoil.
fn kept_in(address: &str) -> Result<Store, Vec<Error>> {
    let one = |error| vec![error];
    if let Some(path) = local_path(address).map_err(one)? {
        outside_bundles(&path.join("00")).map_err(one)?;
    }
    Store::open(address).map_err(one)
}

/// Reads a plan of this program.
fn load(path: &Path) -> Result<WorkPlan, Vec<Error>> {
    WorkPlan::load(path, &program()).map_err(|error| vec![error])
}
