//! A report that grows in parts. Up to a number of bundles on their own, everything is kept and reported one by one. Beyond it only
//! sums and groups are kept, unless a requested format lists all claims.

use crate::crowd::Crowd;
use crate::outcome::{PostReport, Report, ReportTotals};
use crate::part::{PartSubject, ReportPart, ReportSink};
use crate::{Format, ReportOptions, text};
use repro_core::source::Error;

/// So many bundles are told one by one; of more nobody reads the text.
const TOLD_ONE_BY_ONE: usize = 200;

/// How much of its bundles a report keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldBundles {
    /// All of them, for formats that list all claims.
    All,
    /// All of them, and the text tells them one by one however many they are.
    AllTold,
    /// Sums and groups, where they are many.
    Few,
}

impl HeldBundles {
    /// The amount to keep for these formats, of which a text may have to report everything.
    pub fn for_formats(formats: impl IntoIterator<Item = Format>, is_verbose: bool) -> Self {
        match formats.into_iter().any(Format::needs_all_posts) {
            _ if is_verbose => Self::AllTold,
            true => Self::All,
            false => Self::Few,
        }
    }
}

/// A report in the making.
#[derive(Debug)]
pub struct GrowingReport {
    held: HeldBundles,
    /// The posts, and what all depend on as far as it was told before the bundles.
    first: Report,
    bundles: Report,
    /// The findings that concern all of them, reported after the bundles.
    last: Vec<Error>,
    crowd: Crowd,
}

impl GrowingReport {
    /// Nothing so far.
    pub fn new(held: HeldBundles) -> Self {
        let [first, bundles] = [Report::default(), Report::default()];
        Self { held, first, bundles, last: Vec::new(), crowd: Crowd::default() }
    }

    /// The posts so far, without bundles on their own.
    pub fn posts(&self) -> &[PostReport] {
        &self.first.posts
    }

    /// Whether something could not be used.
    pub fn has_failures(&self) -> bool {
        let before = !self.first.failures.is_empty() || !self.last.is_empty();
        before || self.crowd.totals().failures > 0
    }

    /// The whole.
    pub fn finish(self) -> GrownReport {
        let Self { held, first: report, bundles, last, crowd } = self;
        let before = report.failures.len();
        let mut grown = GrownReport { report, crowd: None, bundles: None, before };
        if crowd.len() > TOLD_ONE_BY_ONE && held != HeldBundles::AllTold {
            grown.report.not_held = crowd.totals();
            grown.crowd = Some(crowd);
            grown.bundles = (held == HeldBundles::All).then_some(bundles);
        } else {
            grown.hold(bundles);
        }
        grown.report.failures.extend(last);
        grown
    }

    fn take_bundle(&mut self, part: ReportPart) {
        self.crowd.add(&part);
        self.first.replayed += part.replayed;
        if self.held == HeldBundles::Few && self.crowd.len() > TOLD_ONE_BY_ONE {
            self.bundles = Report::default();
        } else {
            self.bundles.take(part);
        }
    }
}

impl ReportSink for GrowingReport {
    fn take(&mut self, part: ReportPart) {
        match part.subject {
            PartSubject::Bundle(_) => self.take_bundle(part),
            PartSubject::Run if self.crowd.len() > 0 => self.last.extend(part.failures),
            PartSubject::Run | PartSubject::Post(_) => self.first.take(part),
        }
    }
}

/// A report that has all its parts.
#[derive(Debug)]
pub struct GrownReport {
    /// It, of many bundles only their sums.
    pub report: Report,
    crowd: Option<Crowd>,
    /// The many bundles, where they are held.
    bundles: Option<Report>,
    /// How many failures stand before those of the bundles.
    before: usize,
}

impl GrownReport {
    /// It as text where its bundles are too many to be told one by one.
    pub fn text_of_many(&self, options: &ReportOptions) -> Option<String> {
        self.crowd.as_ref().map(|crowd| text::render(&self.report, Some(crowd), options))
    }

    /// It with all bundles that are held.
    pub fn into_whole(mut self) -> Report {
        if let Some(bundles) = self.bundles.take() {
            self.report.not_held = ReportTotals::default();
            self.hold(bundles);
        }
        self.report
    }

    /// Puts bundles behind the posts; how many replays there were is known already.
    fn hold(&mut self, bundles: Report) {
        self.report.posts.extend(bundles.posts);
        self.report.below_minimum.extend(bundles.below_minimum);
        self.report.failures.splice(self.before..self.before, bundles.failures);
    }
}
