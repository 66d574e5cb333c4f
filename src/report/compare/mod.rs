//! Holds two reports of one thing against each other: which verdicts changed, and why.

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
    NOT_A_REPORT = "compare::not-a-report", "a file is no report that can be compared", "write one with `repro verify --output json=FILE` or `repro check --output json=FILE`";
    TWICE = "compare::twice", "a report has two entries of one name", "write the report anew";
    OTHER_KIND = "compare::other-kinds", "reports of two commands are no two states of one thing", "compare two reports of `repro verify`, or two of `repro check`";
}
