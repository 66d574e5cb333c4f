//! Work on many machines: a plan of items, results that are kept by what they are of, and the report of one machine.

mod asked;
mod execute;
mod ground;
mod inputs;
mod item;
mod merge;
mod partition;
mod plan;
mod planning;
mod program;
mod result;
mod results;

pub use asked::{Asked, AskedChallenge, AskedFile};
pub use execute::Worker;
pub use item::{DeviceClass, WorkItem, WorkTask};
pub use merge::{Merging, ResultChecks};
pub use partition::{Partition, longest_first, sample};
pub use plan::{MergedPost, WorkPlan};
pub use planning::{Estimator, Planner};
pub use program::Program;
pub use result::{Found, WorkResult, read as read_result};
pub use results::{Known, keep, known};

use repro_core::source::codes;

codes! {
    BAD_PLAN = "cluster::bad-plan", "the plan is malformed, truncated or modified", "create it again with `repro cluster plan`";
    OTHER_PROGRAM = "cluster::different-build", "the plan was made by a different build of `repro`", "use the same build of `repro` for plan, work and merge";
    CHANGED = "cluster::changed", "an input changed after the plan was made", "restore the input, or plan again; results for unchanged inputs are reused";
    NO_STEPS = "cluster::no-trainer", "this build cannot execute training steps", "use a build that includes the trainer";
    NOT_KEPT = "cluster::unstored-result", "a result cannot be stored", "fix the reported error, then start the worker again";
    NOT_SIGNED = "cluster::not-signed", "a result is not signed with a trusted key", "find out who wrote it; `repro cluster work --sign KEY` recomputes it";
    DOUBLED = "cluster::conflicting-results", "two results for the same item differ", "find the faulty worker, delete its results, and start the workers again";
    MISSING = "cluster::missing-results", "items have no result", "start the workers again; they skip finished items";
    EMPTY = "cluster::empty-store", "the results store is empty", "check the path of the store, and whether its worker ran";
    DAMAGED = "cluster::damaged", "a result file is damaged", "start the workers again to recompute it";
    OTHER_PLAN = "cluster::different-plan", "results belong to a different plan of the same work", "delete them, or use `--shared` if plans share a store";
    FOREIGN = "cluster::unrelated-results", "results do not belong to this plan", "delete them, or use `--shared` if plans share a store";
}
