//! Per-task tables in their usual formats, the baselines that center them, and the scores that follow from both.
//!
//! Owns reading of tables (DCLM evaluations, nanochat, receipts, plain dicts) and of baseline files, the units of both, and
//! which version of the baselines each stated part of a table follows. The formulas are in `scores`; `src/verify` judges
//! statements about scores.

mod baselines;
pub mod bootstrap;
mod cell;
mod reading;
mod scored;
mod sets;
mod table;
mod trouble;

pub use baselines::Baselines;
pub use cell::{Cell, CellAgreement, Scale};
pub use reading::{Centering, Followed, TableReading};
pub use scored::{ScoredTask, TableScores};
pub use sets::{CORE, Measure, TaskSet};
pub use table::{StatedAggregate, TableKind, TaskRow, TaskTable};
pub use trouble::Trouble;

use repro_core::source::codes;

/// The maximum number of tasks in a table; a larger one is not a task table.
pub const TASK_CAP: usize = 4096;

codes! {
    NO_TABLE = "tasks::no-table", "the file is not a per-task table in a known format", "provide a DCLM evaluation, a CSV with `task` and `accuracy`, or a JSON table of task and accuracy";
    NO_ACCURACY = "tasks::no-accuracy", "a task has no accuracy", "add its accuracy";
    REPEATED_TASK = "tasks::repeated-task", "a task is listed twice", "remove one of the two rows";
    NOT_A_SHARE = "tasks::bad-accuracy", "an accuracy is not between 0 and 1 (0% and 100%)", "correct the accuracy, or state `percent` if the table is in percent";
    UNCLEAR_UNIT = "tasks::unclear-unit", "a table seems to mix fractions and percent", "state the unit, `fraction` or `percent`, or correct the value shown";
    NO_BASELINES = "tasks::no-baselines", "the file has no random baselines", "provide a CSV with `Eval Task` and `Random baseline`, or a JSON table of task and baseline";
    NO_BASELINE = "tasks::no-baseline", "a task is missing from the baseline file", "use the baseline file that the table was made with";
    BAD_BASELINE = "tasks::bad-baseline", "a baseline is out of range", "write a baseline from 0 to below 1 (100%)";
    WRONG_COUNT = "tasks::bad-count", "an item count is impossible", "write whole numbers, with `correct` at most the number of items";
}
