//! `repro plan`, `repro work`, `repro merge`, and `repro verify --resume`, which is all three in one.

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

use repro_cluster::{Program, WorkPlan};
use repro_receipt::source::{Error, codes};

codes! {
    NO_ITEM = "work::no-item", "a plan has no such item", "name the key of an item, as the plan has it";
    NOT_DONE = "work::not-done", "an item could not be executed here", "start the worker again where it can be";
}

/// This program, as plans and results name it.
fn program() -> Program {
    Program {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        source: env!("REPRO_SOURCE_SHA256").to_owned(),
        trains: cfg!(feature = "train"),
    }
}

/// Reads a plan of this program.
fn load(path: &Path) -> Result<WorkPlan, Vec<Error>> {
    WorkPlan::load(path, &program()).map_err(|error| vec![error])
}
