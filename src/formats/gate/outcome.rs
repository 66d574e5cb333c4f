//! Converts the report to a post with claims for formats that have no other reports: each line of the rule becomes a
//! claim.

use repro_core::source::Location;
use repro_report::outcome::{
    BundleReport, ClaimReport, EvidenceOrigin, EvidenceRef, Impact, Meaning, Measured, Method,
    Outcome, PostReport, Report, TestNumbers, TextReport,
};

use crate::gate::decision::GateReport;
use crate::gate::inputs::RunValue;
use crate::gate::line::{LineState, RuleLine};

impl GateReport {
    /// The report as one post.
    pub fn as_report(&self) -> Report {
        let title =
            format!("the candidate's {} is {}", self.inputs.metric.name, self.decision.words());
        let post = PostReport {
            id: "gate".to_owned(),
            title,
            file: self.place().file,
            texts: self.runs().filter_map(log).collect(),
            bundles: self.runs().filter_map(bundle).collect(),
            claims: self.lines.iter().map(|line| self.claim(line)).collect(),
            ..PostReport::default()
        };
        Report { posts: vec![post], ..Report::default() }
    }

    /// Every run, baseline runs first.
    pub fn runs(&self) -> impl Iterator<Item = &RunValue> {
        let baseline = self.inputs.baseline.iter().flat_map(|side| side.runs.iter());
        baseline.chain(&self.inputs.candidate.runs)
    }

    /// The files behind the answer, and unreadable files that look like runs.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        let runs = self.runs().map(|run| run.file.as_str());
        let unread = self.inputs.unread.iter().map(String::as_str);
        runs.chain(unread).chain(self.rule.file.as_deref())
    }

    /// Where the answer is reported: at the rule, or without a rule file at the first run involved.
    fn place(&self) -> Location {
        let run = self.inputs.candidate.runs.first().filter(|_| self.rule.file.is_none());
        run.map_or_else(|| self.rule.place(), |run| Location::file(run.file.clone()))
    }

    fn claim(&self, line: &RuleLine) -> ClaimReport {
        let outcome = match (line.state, line.code) {
            (LineState::Against, Some(code)) => Outcome::refuted(code, line.found.clone()),
            (LineState::Open, Some(code)) => Outcome::inconclusive(code, line.found.clone()),
            _ => Outcome::verified(),
        };
        let is_test = self.lines.last().is_some_and(|last| std::ptr::eq(last, line));
        let measured = if is_test { self.measured() } else { None };
        let recomputed = self.gap_in_words().filter(|_| is_test).unwrap_or_default();
        ClaimReport {
            id: line.asks.clone(),
            kind: "rule",
            claimed: String::new(),
            said: String::new(),
            row: Vec::new(),
            own_numbers: Vec::new(),
            around: String::new(),
            quote: line.asks.clone(),
            at: None,
            note: String::new(),
            meaning: Meaning::default(),
            place: self.place(),
            origin: Some(EvidenceOrigin::Declared),
            impact: Impact::Decision,
            outcome: outcome.by(Method::Recomputed).giving(recomputed).measuring(measured),
            evidence: if is_test { self.runs().map(evidence).collect() } else { Vec::new() },
        }
    }

    /// The numbers of the test.
    fn measured(&self) -> Option<Measured> {
        let gap = self.gap.as_ref()?;
        let test = TestNumbers {
            name: gap.test.word(),
            estimate: gap.estimate,
            interval95: gap.interval95,
            t: gap.t.t,
            df: gap.t.df,
            p: gap.t.p_two_sided(),
            n: gap.n.clone(),
        };
        Some(Measured { value: Some(gap.estimate), test: Some(test), ..Measured::default() })
    }
}

/// A bundle that was used.
fn bundle(run: &RunValue) -> Option<BundleReport> {
    Some(BundleReport {
        name: run.file.clone(),
        digest: run.digest.clone().filter(|_| run.is_bundle)?,
        origin: EvidenceOrigin::Declared,
        signature: None,
        attested_by: None,
    })
}

/// A log that was used.
fn log(run: &RunValue) -> Option<TextReport> {
    let digest = run.digest.clone().filter(|_| !run.is_bundle)?;
    Some(TextReport {
        is_at_hand: true,
        digest: Some(digest),
        ..TextReport::not_at_hand(run.shown(), "a log".to_owned())
    })
}

/// The location of a value.
fn evidence(run: &RunValue) -> EvidenceRef {
    let Location { file, .. } = run.place();
    let step = run.step.map(|step| format!("step={step}.")).unwrap_or_default();
    EvidenceRef {
        bundle: String::new(),
        file,
        pointer: format!("{step}{}", run.metric),
        document: None,
        printed_at: None,
    }
}
