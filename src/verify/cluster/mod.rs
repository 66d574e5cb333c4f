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
    BAD_PLAN = "cluster::bad-plan", "a plan is malformed, cut or changed", "make it again with `repro cluster plan`";
    OTHER_PROGRAM = "cluster::other-program", "a plan was made by another program", "plan, work and merge with one build of `repro`";
    CHANGED = "cluster::changed", "something is not what was planned", "put it back, or plan again: results of what is unchanged are used again";
    NO_STEPS = "cluster::no-steps", "steps cannot be executed", "use a program that is built with the trainer";
    NOT_KEPT = "cluster::not-kept", "a result cannot be kept", "see why; the item has none now";
    NOT_SIGNED = "cluster::not-signed", "a result is not signed by a key that was named", "find out who wrote it; `repro cluster work --sign KEY` makes it again";
    DOUBLED = "cluster::doubled", "two results of one item differ", "find out which worker computes something else, take its results away, and work again";
    MISSING = "cluster::missing", "items have no result", "start the workers again: what is done is skipped";
    EMPTY = "cluster::empty", "a place for results has none", "see whether it is the right one, and whether its worker ran";
    DAMAGED = "cluster::damaged", "a result is not whole", "start the workers again: it is made anew";
    OTHER_PLAN = "cluster::other-plan", "results are of the same work and of another plan", "take them away; or, where plans share a store, merge with `--shared`";
    FOREIGN = "cluster::foreign", "results are not of this plan", "take them away; or, where plans share a store, merge with `--shared`";
}
