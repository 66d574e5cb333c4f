//! The mutation check: change each published number in turn, judge again, and see which changes
//! nobody would notice.
//!
//! The unit is a number of a publication, not a typing of it: a number that stands in a claim and in
//! a bundle is changed in both, so that comparing it with its own copy can never catch anything. A
//! catch counts if it comes from a recomputation or from another document. Nothing is written;
//! changed documents live in memory.

mod units;

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

use serde::Serialize;

use crate::evidence::Library;
use crate::post::{Claim, Post};
use crate::verify::{judge, judge_claim};
use repro_receipt::source::{Document, Error, Node, Source};
use repro_report::outcome::{ClaimReport, EvidenceOrigin, Method, Verdict};
pub use units::{Digit, MutationUnit, Typing};

/// How the change of one number came to light, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Catch {
    /// By a claim that recomputes.
    Recomputed,
    /// By a claim that compares two documents.
    AcrossDocuments,
    /// Only by comparing two places of the document that the number is from: does not count.
    WithinDocument,
    /// Not at all.
    Uncaught,
}

impl Catch {
    /// Whether it counts.
    pub fn counts(self) -> bool {
        matches!(self, Self::Recomputed | Self::AcrossDocuments)
    }
}

/// One published number and what became of its two changes.
#[derive(Debug, Clone, Serialize)]
pub struct Mutant {
    /// The number.
    #[serde(flatten)]
    pub unit: MutationUnit,
    /// With its first digit changed.
    pub first_digit: Catch,
    /// With its last digit changed.
    pub last_digit: Catch,
}

/// Changes every number that `posts` claim or depend on.
pub fn mutate(posts: &[Post], library: &mut Library) -> Result<Vec<Mutant>, Error> {
    let bench = Bench::new(posts, library);
    let units = units::collect(posts, library, &bench.readers)?;
    let mut mutants = Vec::with_capacity(units.len());
    for unit in units {
        let first_digit = bench.change(&unit, Digit::First, library)?;
        let last_digit = bench.change(&unit, Digit::Last, library)?;
        mutants.push(Mutant { unit, first_digit, last_digit });
    }
    Ok(mutants)
}

/// A claim by its post and its position there.
type Seat = (usize, usize);

/// By bundle and file: the pointer that is read, empty for the whole file, and the claim that reads it.
type Readers = HashMap<(String, String), Vec<(String, Seat)>>;

/// The claims of all posts as they are judged without any change, and what each of them reads.
struct Bench<'a> {
    posts: &'a [Post],
    claims: Vec<Vec<Claim<'a>>>,
    before: HashMap<Seat, ClaimReport>,
    readers: Readers,
    seats: HashMap<(usize, String), Seat>,
}

impl<'a> Bench<'a> {
    fn new(posts: &'a [Post], library: &Library) -> Self {
        let claims =
            posts.iter().map(|post| post.claims().filter_map(Result::ok).collect()).collect();
        let mut bench = Self {
            posts,
            claims,
            before: HashMap::new(),
            readers: HashMap::new(),
            seats: HashMap::new(),
        };
        for (at, post) in posts.iter().enumerate() {
            let positions: HashMap<_, _> = bench.claims[at]
                .iter()
                .enumerate()
                .map(|(position, claim)| (claim.id, position))
                .collect();
            for report in judge(post, library, 1).post.claims {
                let Some(&position) = positions.get(report.id.as_str()) else { continue };
                let seat = (at, position);
                for evidence_ref in &report.evidence {
                    let key = (evidence_ref.bundle.clone(), evidence_ref.file.clone());
                    bench
                        .readers
                        .entry(key)
                        .or_default()
                        .push((evidence_ref.pointer.clone(), seat));
                }
                bench.seats.insert((at, report.id.clone()), seat);
                bench.before.insert(seat, report);
            }
        }
        bench
    }

    /// Changes one digit of a number wherever it was typed; the strongest catch wins.
    fn change(
        &self,
        unit: &MutationUnit,
        digit: Digit,
        library: &mut Library,
    ) -> Result<Catch, Error> {
        let to = digit.change(&unit.text);
        let files = unit.files();
        for (bundle, file) in &files {
            // A change that makes the file unreadable would be noticed by whoever reads it.
            let altered = unit.alter(library, bundle, file, &to);
            match altered {
                Ok(altered) => library.replace(bundle, file, Some(altered)),
                Err(_) => {
                    files.iter().for_each(|(bundle, file)| library.replace(bundle, file, None));
                    return Ok(Catch::Recomputed);
                }
            }
        }
        let claimed = claimed_as(&to)?;
        let own = self.own_seats(unit);
        let mut strongest = Catch::Uncaught;
        for seat in self.concerned(unit, &own) {
            let (Some(before), Some(claim)) = (
                self.before.get(&seat),
                self.claims.get(seat.0).and_then(|claims| claims.get(seat.1)),
            ) else {
                continue;
            };
            let changed = own.contains(&seat);
            let claim = match changed {
                true => Claim { claimed: Some(claimed.root()), ..*claim },
                false => *claim,
            };
            let after = judge_claim(&self.posts[seat.0], &claim, library).ok().map(|mut after| {
                after.outcome.verdict = after.outcome.verdict.min(self.floor(seat));
                after
            });
            strongest = strongest.min(catch_of(before, after.as_ref(), unit, changed));
        }
        files.iter().for_each(|(bundle, file)| library.replace(bundle, file, None));
        Ok(strongest)
    }

    /// The weakest verdict among the claims that one depends on, as they stand without any change.
    fn floor(&self, seat: Seat) -> Verdict {
        let claim = self.claims.get(seat.0).and_then(|claims| claims.get(seat.1));
        let below = claim.and_then(|claim| claim.depends_on).and_then(|list| list.items().ok());
        let verdict = |id: Node| {
            let seat = self.seats.get(&(seat.0, id.text().ok()?.to_owned()))?;
            Some(self.before.get(seat)?.outcome.verdict)
        };
        below.into_iter().flatten().filter_map(verdict).min().unwrap_or(Verdict::Verified)
    }

    /// The claims that state the number.
    fn own_seats(&self, unit: &MutationUnit) -> BTreeSet<Seat> {
        let seat = |typing: &Typing| match typing {
            Typing::Claim { post, id } => {
                let at = self.posts.iter().position(|known| known.id == *post)?;
                self.seats.get(&(at, id.clone())).copied()
            }
            Typing::Value { .. } => None,
        };
        unit.typings.iter().filter_map(seat).collect()
    }

    /// The claims that state the number or read it.
    fn concerned(&self, unit: &MutationUnit, own: &BTreeSet<Seat>) -> BTreeSet<Seat> {
        let mut seats = own.clone();
        for typing in &unit.typings {
            let Typing::Value { bundle, file, shown, pointer } = typing else { continue };
            let key = (bundle.clone(), file.clone());
            let reads = self.readers.get(&key).into_iter().flatten();
            let here =
                reads.filter(|(read, _)| read.is_empty() || read == shown || read == pointer);
            seats.extend(here.map(|(_, seat)| *seat));
        }
        seats
    }
}

/// A document that holds nothing but the changed number, to stand in for a claimed value.
fn claimed_as(text: &str) -> Result<Document, Error> {
    let quoted = serde_json::Value::from(text).to_string();
    Document::parse_json(Source::new("a changed number", quoted.into_bytes())?)
}

/// Whether a claim notices: its verdict is another, it is refuted before and after, or it refuses.
/// `stated` says that the claim itself states the number that was changed.
fn catch_of(
    before: &ClaimReport,
    after: Option<&ClaimReport>,
    unit: &MutationUnit,
    stated: bool,
) -> Catch {
    let noticed = after.is_none_or(|after| {
        after.outcome.verdict != before.outcome.verdict || after.outcome.verdict == Verdict::Refuted
    });
    if !noticed {
        return Catch::Uncaught;
    }
    let method = after.map_or(before.outcome.method, |after| after.outcome.method);
    if method.or(before.outcome.method) != Some(Method::Compared) {
        return Catch::Recomputed;
    }
    let own = before.at.as_ref().map(|(source, _)| source.as_str());
    let across = match stated {
        true => before.evidence.iter().any(|evidence_ref| evidence_ref.document.as_deref() != own),
        false => unit.document.as_deref() != own,
    };
    if across { Catch::AcrossDocuments } else { Catch::WithinDocument }
}

/// The share caught by kind of number, for people and for `tests/docs/posts-and-claims.md`.
pub fn table(mutants: &[Mutant]) -> String {
    let mut text = String::from(
        "                                first digit changed                last digit changed\n\
         numbers typed as        count   caught  recomputed  compared       caught  recomputed  compared\n",
    );
    for (name, origin) in GROUPS {
        let group: Vec<_> = mutants.iter().filter(|mutant| mutant.unit.origin == origin).collect();
        if group.is_empty() {
            continue;
        }
        // Writing to a string cannot fail.
        let _ = write!(text, "{name:<22}{:>7}", group.len());
        for digit in [|mutant: &Mutant| mutant.first_digit, |mutant: &Mutant| mutant.last_digit] {
            let count = |catch| group.iter().filter(|mutant| digit(mutant) == catch).count();
            let (recomputed, compared) = (count(Catch::Recomputed), count(Catch::AcrossDocuments));
            let share = 100.0 * (recomputed + compared) as f64 / group.len() as f64;
            let _ = write!(text, "   {share:>5.1}%  {recomputed:>10}  {compared:>8}    ");
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

/// The rows of the table: how the number was typed, and the origin of its evidence.
const GROUPS: [(&str, Option<EvidenceOrigin>); 4] = [
    ("a claim only", None),
    ("evidence, transcribed", Some(EvidenceOrigin::Transcribed)),
    ("evidence, emitted", Some(EvidenceOrigin::Emitted)),
    ("evidence, signed", Some(EvidenceOrigin::Signed)),
];
