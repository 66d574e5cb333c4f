//! A report in parts: the result of one post or one bundle, passed on as soon as it is known, and dropped by consumers that need
//! only sums.

use crate::outcome::{PostReport, Report};
use repro_core::source::Error;

/// The subject of a part of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartSubject {
    /// The post of this name.
    Post(String),
    /// The bundle in this folder, on its own.
    Bundle(String),
    /// The inputs that all posts and bundles depend on.
    Run,
}

/// The result of one post, one bundle, or an input that all of them depend on.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportPart {
    /// Its subject.
    pub subject: PartSubject,
    /// The report; none if it could not be judged.
    pub post: Option<PostReport>,
    /// The inputs that could not be used.
    pub failures: Vec<Error>,
    /// Claims below the caller's minimum, as `post/claim`.
    pub below_minimum: Vec<String>,
    /// How many replays were executed for it.
    pub replayed: usize,
}

impl ReportPart {
    /// A part that could not be judged.
    pub fn refused(subject: PartSubject, failures: Vec<Error>) -> Self {
        Self { subject, post: None, failures, below_minimum: Vec::new(), replayed: 0 }
    }
}

impl ReportPart {
    /// Leaves out what is told already: the failure before it, of this part or the one before.
    pub fn tell_once(&mut self, told: &mut Option<Error>) {
        self.failures.retain(|failure| told.replace(failure.clone()).as_ref() != Some(failure));
    }
}

/// Who takes the parts of a report, in the order in which they are reported.
pub trait ReportSink {
    /// Takes the next part.
    fn take(&mut self, part: ReportPart);
}

/// Parts that are handed on later.
impl ReportSink for Vec<ReportPart> {
    fn take(&mut self, part: ReportPart) {
        self.push(part);
    }
}

/// A report that holds all of it.
impl ReportSink for Report {
    fn take(&mut self, part: ReportPart) {
        self.posts.extend(part.post);
        self.failures.extend(part.failures);
        self.below_minimum.extend(part.below_minimum);
        self.replayed += part.replayed;
    }
}
