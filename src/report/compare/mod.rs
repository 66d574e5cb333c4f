//! Compares two reports on the same inputs: which verdicts changed, and why.

mod change;
mod drawn;
mod ground;
mod judged;
mod locks;
mod paired;
mod read;
mod status;

pub use change::{ReportComparison, compare};
pub use drawn::{json, markdown, text};
pub use judged::JudgedReport;
pub use read::{REPORT_CAP, parse};

use repro_core::source::codes;

codes! {
    NOT_A_REPORT = "compare::not-a-report", "a file is not a report that can be compared", "write one with `repro verify --output json=FILE` or `repro check --output json=FILE`";
    TWICE = "compare::duplicate-entry", "a report has two entries with the same name", "write the report again";
    OTHER_KIND = "compare::different-commands", "the two reports come from different commands", "compare two reports of `repro verify`, or two of `repro check`";
}
