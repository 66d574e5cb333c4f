//! The results of verification: verdicts, their assurance, findings, and the report. Data only: judging
//! is done in `claims`, drawing in `report`.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

pub use crate::meaning::{
    Fact, FactCell, FactRow, Lint, LintKind, Meaning, ReadBy, Reading, ReviewStatus, TextPlace,
    TokenReading,
};
use repro_bundle::bundle;
pub use repro_bundle::signature::{PinnedBy, SignatureReport};
pub use repro_core::Verdict;
use repro_core::kept::{self, ProgramWord};
use repro_core::source::{Code, Error, Location};

/// Where the evidence comes from, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceOrigin {
    /// Typed from a publication.
    Transcribed,
    /// In an intact bundle, by whoever made it.
    Declared,
    /// Signed by a key that the caller pinned.
    Signed,
    /// Made by a builder whose key the caller pinned, as it attests of exactly these files.
    Attested,
}

impl EvidenceOrigin {
    /// The word in reports and lock files.
    pub fn word(self) -> &'static str {
        match self {
            Self::Transcribed => "transcribed",
            Self::Declared => "declared",
            Self::Signed => "signed",
            Self::Attested => "attested",
        }
    }

    /// The origin of a bundle with this signature, and where it is `attested`. What was typed from a publication stays
    /// so, whoever signs it; and only the caller's key counts, because an author's own shows no more than the author.
    pub fn vouched_for(self, signature: Option<&SignatureReport>, attested: bool) -> Self {
        let by_caller = signature.is_some_and(|signature| {
            signature.verdict == Verdict::Verified && signature.pinned_by == Some(PinnedBy::Caller)
        });
        match self {
            Self::Declared if attested => Self::Attested,
            Self::Declared if by_caller => Self::Signed,
            other => other,
        }
    }
}

impl From<bundle::Origin> for EvidenceOrigin {
    fn from(origin: bundle::Origin) -> Self {
        match origin {
            bundle::Origin::Transcribed => Self::Transcribed,
            bundle::Origin::Emitted => Self::Declared,
        }
    }
}

/// How the evidence was used, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Two statements of one fact were compared.
    Compared,
    /// The claimed quantity was derived again from raw evidence.
    Recomputed,
    /// The claimed quantity itself was produced again by re-execution.
    Replayed,
    /// The same by two engines that share no code, and agree.
    #[serde(rename = "replayed by two engines")]
    ReplayedByTwo,
}

impl Method {
    /// The word in reports and lock files.
    pub fn word(self) -> &'static str {
        match self {
            Self::Compared => "compared",
            Self::Recomputed => "recomputed",
            Self::Replayed => "replayed",
            Self::ReplayedByTwo => "replayed by two engines",
        }
    }
}

/// How much weight a finding has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// A claim does not hold.
    Error,
    /// A claim cannot be decided, or holds only under a stated assumption.
    Warning,
    /// Worth knowing.
    Note,
}

/// One explanation of a verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Its kind.
    pub code: &'static Code,
    /// Its weight.
    pub severity: Severity,
    /// One line for a reader of the post.
    pub message: String,
    /// The location of the claim or other subject.
    #[serde(with = "kept::place")]
    pub place: Location,
    /// The claim it belongs to.
    pub claim: Option<String>,
}

impl Finding {
    /// A finding that belongs to no claim.
    pub fn new(
        code: &'static Code,
        severity: Severity,
        message: impl Into<String>,
        place: Location,
    ) -> Self {
        Self { code, severity, message: message.into(), place, claim: None }
    }
}

/// Where a piece of evidence stands, and in which published document it was printed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Hash)]
pub struct EvidenceRef {
    /// The bundle.
    pub bundle: String,
    /// The file inside it.
    pub file: String,
    /// The pointer inside the file.
    pub pointer: String,
    /// The published document that a transcribed fact was typed from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
    /// Its place in that document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed_at: Option<String>,
}

/// Whether being wrong here would turn a conclusion of the post, or only a digit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Impact {
    /// Who wins, what is equal, whether a target is met.
    Decision,
    /// A printed digit.
    Digit,
}

/// The numbers behind an outcome, for programs: one for each number that was compared, in its unit.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Measured {
    /// The run, arm or reading of ± that it belongs to, if there are several.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub of: String,
    /// The number of the text, where there is one.
    pub claimed: Option<f64>,
    /// The unit of both: empty, `%`, `M`, ...
    #[serde(deserialize_with = "kept::word")]
    pub unit: ProgramWord,
    /// The value from the evidence.
    pub value: Option<f64>,
    /// The interval of possible values in the evidence, because printed digits are rounded.
    pub interval: Option<[f64; 2]>,
    /// The ends between which a value agrees with the text.
    pub allowed: Option<[f64; 2]>,
    /// The test, where there is one.
    pub test: Option<TestNumbers>,
    /// The numbers of runs of which it is the spread, in its unit; for pictures, which are made where it is found.
    #[serde(skip)]
    pub spread_of: Vec<f64>,
}

/// The numbers of a test between runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TestNumbers {
    /// Its name.
    #[serde(deserialize_with = "kept::word")]
    pub name: ProgramWord,
    /// The difference of the means, the first less the second.
    pub estimate: f64,
    /// The ends of its 95% interval.
    pub interval95: [f64; 2],
    /// The statistic.
    pub t: f64,
    /// Its degrees of freedom.
    pub df: f64,
    /// The two-sided p.
    pub p: f64,
    /// How many runs there are on each side.
    pub n: Vec<usize>,
}

/// The result of checking one claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The verdict.
    pub verdict: Verdict,
    /// Why, in one line; never empty unless verified.
    pub reason: String,
    /// The kind of finding that this verdict is, where it is not verified.
    pub code: Option<&'static Code>,
    /// How the evidence was used; `None` where nothing was.
    pub method: Option<Method>,
    /// The value from the evidence, printed; empty if nothing was derived.
    pub recomputed: String,
    /// The tolerance for agreement, printed.
    pub tolerance: String,
    /// The tolerance rule: `rounding_interval`, `exact_integer`, `float_4ulp`, or the kind's own.
    #[serde(deserialize_with = "kept::word")]
    pub rule: ProgramWord,
    /// The numbers behind it.
    pub measured: Vec<Measured>,
    /// The impact of an error here, if it differs from the impact of the kind in general.
    pub impact: Option<Impact>,
    /// Further findings, besides the verdict itself.
    pub notes: Vec<(&'static Code, String)>,
}

impl Outcome {
    /// The claim follows from the evidence.
    pub fn verified() -> Self {
        Self::new(Verdict::Verified, None, String::new())
    }

    /// The evidence contradicts the claim.
    pub fn refuted(code: &'static Code, reason: impl Into<String>) -> Self {
        Self::new(Verdict::Refuted, Some(code), reason.into())
    }

    /// The evidence cannot decide.
    pub fn inconclusive(code: &'static Code, reason: impl Into<String>) -> Self {
        Self::new(Verdict::Inconclusive, Some(code), reason.into())
    }

    /// There is no evidence, or the check was not run.
    pub fn unchecked(code: &'static Code, reason: impl Into<String>) -> Self {
        Self::new(Verdict::Unchecked, Some(code), reason.into())
    }

    fn new(verdict: Verdict, code: Option<&'static Code>, reason: String) -> Self {
        let (recomputed, tolerance) = (String::new(), String::new());
        Self {
            verdict,
            reason,
            code,
            method: None,
            recomputed,
            tolerance,
            rule: "",
            measured: Vec::new(),
            impact: None,
            notes: Vec::new(),
        }
    }

    /// Whether the claim follows from the evidence.
    pub fn is_verified(&self) -> bool {
        self.verdict == Verdict::Verified
    }

    /// How the evidence was used.
    pub fn by(mut self, method: Method) -> Self {
        self.method = Some(method);
        self
    }

    /// The value from the evidence.
    pub fn giving(mut self, recomputed: impl Into<String>) -> Self {
        self.recomputed = recomputed.into();
        self
    }

    /// The rule that judged, and what it lets pass.
    pub fn within(mut self, rule: &'static str, tolerance: impl Into<String>) -> Self {
        self.rule = rule;
        self.tolerance = tolerance.into();
        self
    }

    /// The numbers behind it.
    pub fn measuring(mut self, numbers: impl IntoIterator<Item = Measured>) -> Self {
        self.measured.extend(numbers);
        self
    }

    /// A different verdict on the evidence of `other`: its value, by the rule that judged it.
    pub fn with_evidence_of(self, other: Self) -> Self {
        let Self { recomputed, measured, rule, tolerance, .. } = other;
        Self { recomputed, measured, rule, tolerance, ..self }
    }

    /// The same evidence, used in the same way, and undecided.
    pub fn undecided(self, code: &'static Code, reason: impl Into<String>) -> Self {
        let method = self.method;
        Self { method, ..Self::inconclusive(code, reason).with_evidence_of(self) }
    }

    /// The impact of an error in this claim.
    pub fn with_impact(mut self, impact: Impact) -> Self {
        self.impact = Some(impact);
        self
    }

    /// Something worth knowing besides the verdict.
    pub fn noting(mut self, code: &'static Code, message: impl Into<String>) -> Self {
        self.notes.push((code, message.into()));
        self
    }
}

/// One claim and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimReport {
    /// Its name in the post file.
    pub id: String,
    /// Its kind.
    #[serde(deserialize_with = "kept::word")]
    pub kind: ProgramWord,
    /// The claimed value as printed; empty for statements without one.
    pub claimed: String,
    /// The expression that it is compared with; empty for claims by kind.
    pub said: String,
    /// The meaning of each name of the table's row; none outside tables.
    pub row: Vec<Definition>,
    /// Numbers that the post itself brings in by an operation: `moe.loss * 0.91`.
    pub own_numbers: Vec<String>,
    /// The sentence around the words, where they are a part of one.
    pub around: String,
    /// The words of the publication.
    pub quote: String,
    /// The published document and the place in it.
    pub at: Option<(String, String)>,
    /// The author's note in the post file.
    pub note: String,
    /// Its meaning, and who vouches for it.
    #[serde(default)]
    pub meaning: Meaning,
    /// The location of the claim in the post file.
    #[serde(with = "kept::place")]
    pub place: Location,
    /// The weakest origin of the evidence used.
    pub origin: Option<EvidenceOrigin>,
    /// The possible impact of an error.
    pub impact: Impact,
    /// The outcome.
    pub outcome: Outcome,
    /// The evidence used.
    pub evidence: Vec<EvidenceRef>,
}

impl ClaimReport {
    /// Where its author looks: the words of the text where the project has it, else the post file.
    pub fn written_at(&self) -> Location {
        match &self.meaning.written_at {
            Some(TextPlace { file: Some(file), line, .. }) => {
                Location { line: *line, ..Location::file(file.clone()) }
            }
            _ => self.place.clone(),
        }
    }

    /// The same, where being wrong changes something else.
    pub fn with_impact(self, impact: Impact) -> Self {
        Self { impact, ..self }
    }

    /// Why its refutation is told as a difference: the words were bound by a program or by a transcriber, and nobody else has
    /// confirmed it.
    pub fn differs(&self) -> Option<&'static str> {
        (self.outcome.verdict == Verdict::Refuted).then(|| self.meaning.doubt()).flatten()
    }

    /// Whether it only differs, by a drafted binding that nobody confirmed.
    pub fn is_unconfirmed_difference(&self) -> bool {
        self.outcome.verdict == Verdict::Refuted && self.meaning.read_by == Some(ReadBy::Drafted)
    }

    /// Whether somebody disputes that its words mean its fact.
    pub fn is_disputed(&self) -> bool {
        !self.meaning.review.disputed_by.is_empty()
    }

    /// Whether it is verified, and yet a lint is unanswered or somebody disputes it.
    pub fn is_questioned(&self) -> bool {
        self.outcome.verdict == Verdict::Verified
            && (self.meaning.is_questioned() || self.is_disputed())
    }
}

/// The questions that a referee would ask, written by people in the post file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Referee {
    /// Premises that the conclusions depend on.
    pub load_bearing_premises: Vec<String>,
    /// Choices that were free.
    pub free_parameters: Vec<String>,
    /// Facts that would settle what cannot be decided.
    pub missing_facts: Vec<String>,
}

/// The draw of a challenge, and how much a pass shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChallengeReport {
    /// The seed of the random draw.
    pub seed: String,
    /// Where that comes from, and what does not follow from it, in words.
    pub source: String,
    /// The root of the committed states.
    pub root: String,
    /// How many intervals there are.
    pub of: u64,
    /// How many were executed because the run was evaluated in them,
    pub evaluated: usize,
    /// and how many were drawn in all.
    pub drawn: usize,
    /// How many of these were executed again and led to the committed state.
    pub led: usize,
    /// The probability that the best forgery of one step range passes; none if one was refuted.
    pub escape: Option<f64>,
}

/// A bundle that was used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BundleReport {
    /// Its name.
    pub name: String,
    /// Its digest, `sha256:…`.
    pub digest: String,
    /// Its origin.
    pub origin: EvidenceOrigin,
    /// Its signature, where it has one.
    pub signature: Option<SignatureReport>,
    /// The builder that attests its files, where the caller named its key.
    pub attested_by: Option<String>,
}

/// A text that a post is about, as far as this run could read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextReport {
    /// Its name in the post file.
    pub id: String,
    /// Its description.
    pub what: String,
    /// Its file as the post names it, where it lies in the project.
    pub file: Option<String>,
    /// Whether it was read: quotes and digits are looked up in it.
    pub is_at_hand: bool,
    /// The digest of what was read, `sha256:…`.
    pub digest: Option<String>,
    /// Its numbers that no claim binds and nothing excuses, as `1.58 (line 12)`.
    pub unbound: Vec<String>,
    /// How many of its numbers the post leaves without a claim, with a reason.
    pub excused: usize,
    /// The content that was read; empty for a text that is missing.
    pub content: String,
    /// How that reads.
    pub markup: TextMarkup,
    /// Its numbers, in order.
    pub numbers: Vec<TextNumber>,
}

/// How the content of a text reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TextMarkup {
    Markdown,
    /// As it is written; what its own marks hide is blank.
    AsWritten,
}

impl TextReport {
    /// Of a text that was not read.
    pub fn not_at_hand(id: String, what: String) -> Self {
        Self {
            id,
            what,
            file: None,
            is_at_hand: false,
            digest: None,
            unbound: Vec::new(),
            excused: 0,
            content: String::new(),
            markup: TextMarkup::AsWritten,
            numbers: Vec::new(),
        }
    }
}

/// A number of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextNumber {
    /// Its position, in bytes.
    pub span: Range<usize>,
    /// Its line, from 1.
    pub line: usize,
    /// The claims about it, by their names.
    pub claims: Vec<String>,
    /// The reason for having no claim, if the post states one.
    pub reason: Option<String>,
}

/// The meaning of a name or a formula of a post.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    /// The name, with what a formula is given.
    pub name: String,
    /// Where the evidence lies, or the expression.
    pub meaning: String,
}

/// Numbers that a post leaves without a claim, on purpose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExcusedWords {
    /// The words around them.
    pub words: String,
    /// Why nothing is claimed.
    pub reason: String,
}

/// How a number went in the runs of some arms, to be drawn in one picture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CourseChart {
    /// The plotted quantity.
    pub title: String,
    /// Over what: `tokens` or `step`.
    #[serde(deserialize_with = "kept::word")]
    pub axis: ProgramWord,
    pub arms: Vec<CourseArm>,
}

/// The runs of one arm, each a list of places on the axis and numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CourseArm {
    pub name: String,
    pub runs: Vec<Vec<[f64; 2]>>,
}

/// The charts of a post besides its claims.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PostPictures {
    /// How its runs went.
    pub courses: Vec<CourseChart>,
    /// The differences of replays relative to their tolerances.
    pub replays: Vec<ReplayChart>,
    /// The possible readings of the number behind a printed ±, by the claims about these numbers.
    pub spreads: BTreeMap<String, SpreadChart>,
}

/// Steps that were executed again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplayChart {
    /// The run, and which of its steps: `NAME 967..977`.
    pub title: String,
    /// The compared quantities: `10 steps, 79 tensors`.
    pub compared: String,
    /// How the comparison ended.
    pub verdict: Verdict,
    /// Whether the comparison was bit for bit.
    pub is_bitwise: bool,
    /// The largest difference per step and kind of number; empty if the comparison was bit for bit.
    pub shares: Vec<DrawnShare>,
    /// The faults that would have been seen.
    pub seen: Vec<String>,
    /// The limits of these steps, one line each.
    pub unseen: Vec<String>,
}

/// How much of what is allowed a difference takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DrawnShare {
    /// The step, as records count.
    pub step: u64,
    /// The kind of number: `loss`, `gradient norm`, `update`, ...
    #[serde(deserialize_with = "kept::word")]
    pub kind: ProgramWord,
    /// Of which tensor it is the largest, and so on.
    pub what: String,
    /// The share; above one the two differ.
    pub share: f64,
}

/// A number behind ±, with all its possible readings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpreadChart {
    /// The printed number.
    pub printed: f64,
    /// Its unit.
    #[serde(deserialize_with = "kept::word")]
    pub unit: ProgramWord,
    /// The interval of numbers with the printed digits.
    pub allowed: [f64; 2],
    /// The values of the runs.
    pub runs: Vec<f64>,
    /// Their mean.
    pub mean: f64,
    /// The name of each reading, and its value for these runs.
    pub readings: Vec<(String, f64)>,
}

/// One post and its claims, in the order of the post file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PostReport {
    /// The post's name.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its file.
    pub file: String,
    /// The digest of the post file, `sha256:…`; empty for a bundle on its own.
    pub digest: String,
    /// The texts that it is about.
    pub texts: Vec<TextReport>,
    /// The meanings of its names and formulas.
    pub definitions: Vec<Definition>,
    /// Its excused numbers.
    pub excused: Vec<ExcusedWords>,
    /// The bundles that it depends on.
    pub bundles: Vec<BundleReport>,
    /// Its claims.
    pub claims: Vec<ClaimReport>,
    /// All findings, worst first, then by place.
    pub findings: Vec<Finding>,
    /// The draw of a challenge of its run.
    pub challenge: Option<ChallengeReport>,
    /// The questions that a referee would ask.
    pub referee: Option<Referee>,
    /// The central sentences of the post, by their names in the post file; may be empty.
    #[serde(default)]
    pub central: Vec<String>,
    /// The charts of the post, if the caller wants them.
    pub pictures: PostPictures,
    /// The number of drafted statements that nobody has confirmed.
    pub drafted: usize,
}

impl PostReport {
    /// Whether it is of a bundle on its own: only these have no digest of a post file.
    pub fn is_of_a_bundle(&self) -> bool {
        self.digest.is_empty()
    }

    /// How many of the signatures of its bundles are refuted.
    pub fn forged(&self) -> usize {
        let signatures = self.bundles.iter().filter_map(|bundle| bundle.signature.as_ref());
        signatures.filter(|signature| signature.verdict == Verdict::Refuted).count()
    }
}

/// The number of claims with each verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct VerdictCounts {
    /// Follow from the evidence.
    pub verified: usize,
    /// Contradicted.
    pub refuted: usize,
    /// Undecidable with the evidence that is there.
    pub inconclusive: usize,
    /// Without evidence.
    pub unchecked: usize,
    /// The number of contradicted claims that only differ, because nobody has confirmed their binding.
    #[serde(skip)]
    pub differing: usize,
    /// How many of the verified ones take a number from the post itself.
    #[serde(skip)]
    pub with_own_numbers: usize,
    /// The weakest origin of the verified ones; none if none of them uses evidence.
    #[serde(skip)]
    pub origin: Option<EvidenceOrigin>,
}

impl VerdictCounts {
    /// Counts `claims`.
    pub fn of<'a>(claims: impl IntoIterator<Item = &'a ClaimReport>) -> Self {
        let mut summary = Self::default();
        for claim in claims {
            *summary.count_mut(claim.outcome.verdict) += 1;
            summary.differing += usize::from(claim.differs().is_some());
            if claim.outcome.is_verified() {
                summary.with_own_numbers += usize::from(!claim.own_numbers.is_empty());
                summary.origin = summary.origin.into_iter().chain(claim.origin).min();
            }
        }
        summary
    }

    /// The count of one verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        let mut copy = *self;
        *copy.count_mut(verdict)
    }

    /// The same with more claims.
    pub fn and(self, more: Self) -> Self {
        Self {
            verified: self.verified + more.verified,
            refuted: self.refuted + more.refuted,
            inconclusive: self.inconclusive + more.inconclusive,
            unchecked: self.unchecked + more.unchecked,
            differing: self.differing + more.differing,
            with_own_numbers: self.with_own_numbers + more.with_own_numbers,
            origin: self.origin.into_iter().chain(more.origin).min(),
        }
    }

    /// All claims.
    pub fn total(&self) -> usize {
        self.verified + self.refuted + self.inconclusive + self.unchecked
    }

    fn count_mut(&mut self, verdict: Verdict) -> &mut usize {
        match verdict {
            Verdict::Verified => &mut self.verified,
            Verdict::Refuted => &mut self.refuted,
            Verdict::Inconclusive => &mut self.inconclusive,
            Verdict::Unchecked => &mut self.unchecked,
        }
    }
}

/// A claim whose verdict is not the recorded one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockDifference {
    /// The post.
    pub post: String,
    /// The claim.
    pub claim: String,
    /// The verdict in the lock file; `None`: the claim is new.
    pub recorded: Option<String>,
    /// The verdict of this run; `None`: the claim is gone.
    pub found: Option<String>,
    /// Whether a verdict differs, or a claim that is not recorded is refuted. Otherwise words, an expression, an assurance or a file
    /// differs.
    pub is_of_verdict: bool,
}

/// Sums over bundles of which a report keeps only the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReportTotals {
    /// How many of them could be judged.
    pub bundles: usize,
    /// Their claims.
    pub claims: VerdictCounts,
    /// How many signatures are refuted.
    pub forged: usize,
    /// How many inputs could not be used.
    pub failures: usize,
    /// How many claims are below the caller's minimum.
    pub below_minimum: usize,
}

/// Everything that one run of `verify` found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// The posts, by name.
    pub posts: Vec<PostReport>,
    /// Inputs that could not be used.
    pub failures: Vec<Error>,
    /// Counts of further posts and inputs, if there were too many to keep.
    pub not_held: ReportTotals,
    /// With `--locked`: the differences to the lock file.
    pub locked: Option<Vec<LockDifference>>,
    /// The way from the top of the repository that this runs in to the root of the project, with a slash at
    /// its end; empty where they are one folder. Tools that show files go by it.
    pub base: String,
    /// How many replays were executed.
    pub replayed: usize,
    /// Claims below the caller's `--min-origin`, `--min-method` or `--min-reading`, as `post/claim`.
    pub below_minimum: Vec<String>,
    /// The minimum origin of verified claims (`--min-origin`): without one no badge is green.
    pub min_origin: Option<EvidenceOrigin>,
    /// Whether a number of a text that is bound to nothing, or a text that is not at hand, fails.
    pub wants_all_bound: bool,
    /// Whether a requested check could not run to its end.
    pub not_run: bool,
    /// Whether the question was what a change breaks: then what stays open, or that there was nothing to check, fails nothing.
    pub is_of_change: bool,
    /// Changed files that could not be read and show no known kind.
    pub passed_over: Vec<String>,
}

impl Report {
    /// Counts over all posts.
    pub fn summary(&self) -> VerdictCounts {
        VerdictCounts::of(self.posts.iter().flat_map(|post| &post.claims)).and(self.not_held.claims)
    }

    /// How many signatures are refuted.
    pub fn forged(&self) -> usize {
        self.posts.iter().map(PostReport::forged).sum::<usize>() + self.not_held.forged
    }

    /// How many inputs could not be used.
    pub fn count_failures(&self) -> usize {
        self.failures.len() + self.not_held.failures
    }

    /// How many claims are below the caller's minimum.
    pub fn count_below_minimum(&self) -> usize {
        self.below_minimum.len() + self.not_held.below_minimum
    }

    /// The claim of a post.
    pub fn claim(&self, post: &str, claim: &str) -> Option<&ClaimReport> {
        let post = self.posts.iter().find(|one| one.id == post)?;
        post.claims.iter().find(|one| one.id == claim)
    }

    /// Whether a claim is below a minimum that the caller requires.
    pub fn is_below(&self, post: &PostReport, claim: &ClaimReport) -> bool {
        !self.below_minimum.is_empty()
            && self.below_minimum.contains(&format!("{}/{}", post.id, claim.id))
    }

    /// The posts without anything to check, if others had something. Documents, which have no digest, need not have claims.
    pub fn posts_without_claims(&self) -> impl Iterator<Item = &PostReport> {
        let is_any = self.summary().total() > 0;
        let is_empty = |post: &&PostReport| post.claims.is_empty() && !post.digest.is_empty();
        self.posts.iter().filter(move |post| is_any && is_empty(post))
    }

    /// The number of drafted statements that nobody has confirmed.
    pub fn drafted(&self) -> usize {
        self.posts.iter().map(|post| post.drafted).sum()
    }

    fn claims(&self) -> impl Iterator<Item = &ClaimReport> {
        self.posts.iter().flat_map(|post| &post.claims)
    }

    /// The number of claims with an unanswered lint.
    pub fn questioned(&self) -> usize {
        self.claims().filter(|claim| claim.meaning.is_questioned()).count()
    }

    /// How many claims somebody disputes.
    pub fn disputed(&self) -> usize {
        self.claims().filter(|claim| claim.is_disputed()).count()
    }

    /// The number of refuted claims without unconfirmed drafts.
    pub(crate) fn confirmed_refutations(&self) -> usize {
        let drafts = self.claims().filter(|claim| claim.is_unconfirmed_difference()).count();
        self.summary().refuted.saturating_sub(drafts)
    }

    /// Whether the run ended before it judged anything.
    pub fn is_not_judged(&self) -> bool {
        self.not_run && self.posts.is_empty() && self.not_held.bundles == 0
    }

    /// A report of a run that ended before it judged anything.
    pub fn not_judged(failures: &[Error]) -> Self {
        Self { failures: failures.to_vec(), not_run: true, ..Self::default() }
    }

    /// Whether every text was read and every number of it is bound or excused.
    pub fn all_bound(&self) -> bool {
        let mut texts = self.posts.iter().flat_map(|post| &post.texts);
        texts.all(|text| text.is_at_hand && text.unbound.is_empty())
    }

    /// The exit status of this report; the format never changes it.
    pub fn exit_status(&self) -> ExitStatus {
        match self.status_of_verdicts() {
            ExitStatus::Verified | ExitStatus::Undecided if self.not_run => ExitStatus::NotRun,
            ExitStatus::Undecided if self.is_of_change => ExitStatus::Verified,
            status => status,
        }
    }

    /// The exit status as if all requested checks had run.
    fn status_of_verdicts(&self) -> ExitStatus {
        let summary = self.summary();
        let wrong = match &self.locked {
            Some(differences) => !differences.is_empty(),
            None => self.confirmed_refutations() > 0,
        };
        if self.count_failures() > 0 {
            ExitStatus::Refused
        } else if self.forged() > 0 || wrong {
            ExitStatus::Refuted
        } else if summary.total() == 0
            || self.count_below_minimum() > 0
            || self.wants_all_bound && !self.all_bound()
            || self.locked.is_none()
                && (summary.verified < summary.total()
                    || self.questioned() > 0
                    || self.disputed() > 0)
        {
            ExitStatus::Undecided
        } else {
            ExitStatus::Verified
        }
    }
}

/// The exit status of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    /// Every claim verified.
    Verified,
    /// A claim or a signature is refuted; with `--locked`, a verdict differs from the recorded one.
    Refuted,
    /// Bad usage, or an input that cannot be read or is refused.
    Refused,
    /// Nothing refuted; something inconclusive, unchecked, or below the required minimum.
    Undecided,
    /// Something explicitly requested could not run.
    NotRun,
}

impl ExitStatus {
    /// The number that the shell sees.
    pub fn code(self) -> u8 {
        match self {
            Self::Verified => 0,
            Self::Refuted => 1,
            Self::Refused => 2,
            Self::Undecided => 3,
            Self::NotRun => 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_checked_is_never_zero() {
        assert_eq!(Report::default().exit_status(), ExitStatus::Undecided);
    }

    #[test]
    fn what_did_not_run_is_told() {
        let report = Report { not_run: true, ..Report::default() };
        assert_eq!(report.exit_status(), ExitStatus::NotRun);
    }

    #[test]
    fn a_failure_outranks_a_refutation() {
        let failures =
            vec![repro_core::source::UNREADABLE.at(Location::file("x"), "a file", "nothing")];
        let report = Report { failures, locked: Some(Vec::new()), ..Report::default() };
        assert_eq!(report.exit_status(), ExitStatus::Refused);
    }
}
