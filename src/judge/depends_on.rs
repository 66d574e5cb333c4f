//! Claims that depend on other claims: "A is best" on "A's lead exceeds the noise".
//!
//! A claim's verdict is never stronger than those it depends on, directly or through others; the
//! order is that of [`Verdict`]: refuted, inconclusive, unchecked, verified. Its origin and method are
//! no stronger than theirs either. What a claim comes to by itself is judged in `claims`.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::post::{Claim, Post};
use repro_receipt::source::{Error, Node, codes};
use repro_report::outcome::{ClaimReport, EvidenceOrigin, Method, Verdict};

codes! {
    WEAKER = "depends_on::weaker", "a claim depends on one with a weaker verdict", "see the named claim";
    UNKNOWN_CLAIM = "depends_on::unknown-claim", "a claim depends on one that is not in the post", "correct the id in `depends_on`";
    CIRCULAR = "depends_on::circular", "claims depend on each other in a cycle", "remove one of them from `depends_on`";
}

/// What each claim of a post depends on, by id.
type Dependencies<'a> = HashMap<&'a str, Vec<(&'a str, Node<'a>)>>;

/// Weakens the verdicts of claims that depend on weaker ones. A claim whose `depends_on` is malformed is
/// taken out of `reports` and refused.
pub fn settle(post: &Post, reports: &mut Vec<ClaimReport>) -> Vec<Error> {
    let claims: Vec<_> = post.claims().filter_map(Result::ok).collect();
    if claims.iter().all(|claim| claim.depends_on.is_none()) {
        return Vec::new();
    }
    let mut refused = HashMap::new();
    let dependencies = read(post, &claims, &mut refused);
    let order = order(&claims, &dependencies, &mut refused);
    reports.retain(|report| !refused.contains_key(report.id.as_str()));
    let seats: HashMap<String, usize> =
        reports.iter().enumerate().map(|(seat, report)| (report.id.clone(), seat)).collect();
    let mut assurances: HashMap<&str, Base> = HashMap::new();
    for id in order {
        let Some(report) = seats.get(id).and_then(|seat| reports.get_mut(*seat)) else { continue };
        let mut base = Base::of(report);
        for (below, _) in dependencies.get(id).into_iter().flatten() {
            base.weaken(assurances.get(below).cloned().unwrap_or_else(|| Base::missing(below)));
        }
        base.apply(report);
        assurances.insert(id, base);
    }
    claims.iter().filter_map(|claim| refused.remove(claim.id)).collect()
}

/// Every `depends_on`, read; claims that name an unknown claim are refused.
fn read<'a>(
    post: &'a Post,
    claims: &[Claim<'a>],
    refused: &mut HashMap<&'a str, Error>,
) -> Dependencies<'a> {
    let known = post.claim_ids();
    let mut dependencies = Dependencies::new();
    for claim in claims {
        let Some(list) = claim.depends_on else { continue };
        let items: Result<Vec<_>, Error> = list
            .items()
            .into_iter()
            .flatten()
            .map(|item| match item.text()? {
                id if known.contains(id) => Ok((id, item)),
                id => Err(UNKNOWN_CLAIM.at(
                    item.place(),
                    "the id of a claim of this post",
                    format!("`{id}`"),
                )),
            })
            .collect();
        match items {
            Ok(items) => drop(dependencies.insert(claim.id, items)),
            Err(error) => drop(refused.insert(claim.id, error)),
        }
    }
    dependencies
}

/// The claims in an order in which each follows those it depends on; claims without such a place are in
/// a circle, or lead into one, and are refused.
fn order<'a>(
    claims: &[Claim<'a>],
    dependencies: &Dependencies<'a>,
    refused: &mut HashMap<&'a str, Error>,
) -> Vec<&'a str> {
    let mut waiting: HashMap<&str, usize> = HashMap::new();
    let mut above: HashMap<&str, Vec<&'a str>> = HashMap::new();
    let judged: HashSet<&str> = claims.iter().map(|claim| claim.id).collect();
    for claim in claims {
        // A claim that is itself malformed depends on nothing, and may be rested on.
        let below: Vec<_> = dependencies
            .get(claim.id)
            .into_iter()
            .flatten()
            .filter(|(below, _)| judged.contains(below))
            .collect();
        waiting.insert(claim.id, below.len());
        below.into_iter().for_each(|(below, _)| above.entry(below).or_default().push(claim.id));
    }
    let free = claims.iter().map(|claim| claim.id).filter(|id| waiting.get(id) == Some(&0));
    let mut ready: VecDeque<&'a str> = free.collect();
    let mut order = Vec::with_capacity(claims.len());
    while let Some(id) = ready.pop_front() {
        order.push(id);
        for next in above.get(id).into_iter().flatten() {
            if let Some(count) = waiting.get_mut(next) {
                *count -= 1;
                if *count == 0 {
                    ready.push_back(next);
                }
            }
        }
    }
    let settled: HashSet<&str> = order.iter().copied().collect();
    for claim in claims.iter().filter(|claim| !settled.contains(claim.id)) {
        let inward = dependencies.get(claim.id).and_then(|below| {
            below.iter().find(|(below, _)| judged.contains(below) && !settled.contains(below))
        });
        if let Some((below, item)) = inward {
            let expected = format!("a claim that does not lead back to `{}`", claim.id);
            let found = match *below == claim.id {
                true => "the claim itself".to_owned(),
                false => format!("`{below}`, which leads to a cycle"),
            };
            refused.insert(claim.id, CIRCULAR.at(item.place(), expected, found));
        }
    }
    order
}

/// How strongly a claim stands, and which claim keeps it from standing stronger.
#[derive(Debug, Clone)]
struct Base {
    verdict: Verdict,
    /// The claim whose own verdict this is.
    decided_by: String,
    reason: String,
    origin: Option<EvidenceOrigin>,
    method: Option<Method>,
}

impl Base {
    fn of(report: &ClaimReport) -> Self {
        Self {
            verdict: report.outcome.verdict,
            decided_by: report.id.clone(),
            reason: report.outcome.reason.clone(),
            origin: report.origin,
            method: report.outcome.method,
        }
    }

    /// The base that a claim is for others where it was refused.
    fn missing(id: &str) -> Self {
        Self {
            verdict: Verdict::Unchecked,
            decided_by: id.to_owned(),
            reason: "it is malformed, or its evidence is".to_owned(),
            origin: None,
            method: None,
        }
    }

    /// Takes the weaker of two, part by part; a claim without evidence says nothing about a assurance.
    fn weaken(&mut self, below: Base) {
        self.origin = self.origin.into_iter().chain(below.origin).min();
        self.method = self.method.into_iter().chain(below.method).min();
        if below.verdict < self.verdict {
            let (origin, method) = (self.origin, self.method);
            *self = Base { origin, method, ..below };
        }
    }

    fn apply(&self, report: &mut ClaimReport) {
        report.origin = self.origin;
        report.outcome.method = self.method;
        if self.verdict < report.outcome.verdict {
            let Base { decided_by, reason, .. } = self;
            report.outcome.verdict = self.verdict;
            report.outcome.code = Some(&WEAKER);
            report.outcome.reason =
                format!("it depends on `{decided_by}`, which is {}: {reason}", self.verdict.word());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use repro_receipt::source::{Location, Source};
    use repro_report::outcome::{Impact, Outcome};

    /// A post of claims `(id, ids it depends on)`.
    fn post(claims: &[(String, Vec<String>)]) -> Post {
        let mut text = "schema = \"repro.post/1\"\nid = \"p\"\ntitle = \"T\"\n".to_owned();
        for (id, dependencies) in claims {
            text +=
                &format!("[[claim]]\nid = \"{id}\"\nkind = \"x\"\ndepends_on = {dependencies:?}\n");
        }
        Post::parse(Source::new("repro/p.toml", text.into_bytes()).unwrap()).unwrap()
    }

    fn report(id: &str, verdict: Verdict) -> ClaimReport {
        let mut outcome = Outcome::verified().by(Method::Recomputed);
        (outcome.verdict, outcome.reason) = (verdict, format!("why {id}"));
        ClaimReport {
            id: id.to_owned(),
            kind: "x",
            claimed: String::new(),
            said: String::new(),
            quote: String::new(),
            at: None,
            note: String::new(),
            place: Location::default(),
            origin: Some(EvidenceOrigin::Emitted),
            impact: Impact::Decision,
            outcome,
            evidence: Vec::new(),
        }
    }

    /// The settled verdicts and reasons, and the refusals as code and line.
    fn settled(
        claims: &[(&str, Verdict, &[&str])],
    ) -> (Vec<ClaimReport>, Vec<(&'static str, usize)>) {
        let owned: Vec<_> = claims
            .iter()
            .map(|(id, _, dependencies)| {
                ((*id).to_owned(), dependencies.iter().map(|id| (*id).to_owned()).collect())
            })
            .collect();
        let mut reports: Vec<_> =
            claims.iter().map(|(id, verdict, _)| report(id, *verdict)).collect();
        let errors = settle(&post(&owned), &mut reports);
        let errors = errors.iter().map(|error| (error.code.id, error.place.line)).collect();
        (reports, errors)
    }

    #[test]
    fn the_weakest_of_a_chain_decides_and_is_named() {
        let (reports, errors) = settled(&[
            ("best", Verdict::Verified, &["table", "lead"]),
            ("table", Verdict::Unchecked, &[]),
            ("lead", Verdict::Verified, &["noise"]),
            ("noise", Verdict::Inconclusive, &[]),
            ("worst", Verdict::Refuted, &["noise"]),
        ]);
        assert_eq!(errors, []);
        let outcome =
            |at: usize| (reports[at].outcome.verdict, reports[at].outcome.reason.as_str());
        let why = "it depends on `noise`, which is inconclusive: why noise";
        assert_eq!(outcome(0), (Verdict::Inconclusive, why));
        assert_eq!(outcome(2), (Verdict::Inconclusive, why));
        assert_eq!(outcome(4), (Verdict::Refuted, "why worst"));
        assert_eq!(reports[0].outcome.code, Some(&WEAKER));
    }

    #[test]
    fn the_basis_is_that_of_the_weakest() {
        let mut reports = vec![report("a", Verdict::Verified), report("b", Verdict::Verified)];
        reports[1].origin = Some(EvidenceOrigin::Transcribed);
        reports[1].outcome.method = Some(Method::Compared);
        let claims = [("a".to_owned(), vec!["b".to_owned()]), ("b".to_owned(), Vec::new())];
        assert_eq!(settle(&post(&claims), &mut reports), []);
        assert_eq!(reports[0].outcome.verdict, Verdict::Verified);
        assert_eq!(reports[0].origin, Some(EvidenceOrigin::Transcribed));
        assert_eq!(reports[0].outcome.method, Some(Method::Compared));
    }

    #[test]
    fn circles_and_unknown_claims_are_refused_where_they_stand() {
        let (reports, errors) = settled(&[
            ("itself", Verdict::Verified, &["itself"]),
            ("one", Verdict::Verified, &["two"]),
            ("two", Verdict::Verified, &["free", "one"]),
            ("free", Verdict::Verified, &[]),
            ("astray", Verdict::Verified, &["nowhere"]),
            ("above", Verdict::Verified, &["astray"]),
        ]);
        let circular = "depends_on::circular";
        let expected = [(circular, 7), (circular, 11), (circular, 15)];
        assert_eq!(errors[..3], expected);
        assert_eq!(errors[3], ("depends_on::unknown-claim", 23));
        assert_eq!(reports.iter().map(|r| r.id.as_str()).collect::<Vec<_>>(), ["free", "above"]);
        assert_eq!(reports[1].outcome.verdict, Verdict::Unchecked);
    }

    proptest! {
        /// Whatever depends on what: no claim ends above any it depends on, none rises, and those that
        /// depend on nothing keep what they came to.
        #[test]
        fn no_claim_is_stronger_than_what_it_rests_on(
            verdicts in prop::collection::vec(prop::sample::select(&Verdict::ALL[..]), 1..12),
            links in prop::collection::vec((0usize..12, 0usize..12), 0..24),
        ) {
            let id = |at: usize| format!("c{at}");
            let mut claims: Vec<_> = (0..verdicts.len()).map(|at| (id(at), Vec::new())).collect();
            for (from, to) in links.into_iter().filter(|(from, to)| from.max(to) < &verdicts.len()) {
                claims[from].1.push(id(to));
            }
            let mut reports: Vec<_> =
                verdicts.iter().enumerate().map(|(at, verdict)| report(&id(at), *verdict)).collect();
            let errors = settle(&post(&claims), &mut reports);
            prop_assert_eq!(reports.len() + errors.len(), claims.len());
            let found: HashMap<_, _> =
                reports.iter().map(|r| (r.id.clone(), r.outcome.verdict)).collect();
            for (at, (id, dependencies)) in claims.iter().enumerate() {
                let Some(verdict) = found.get(id) else { continue };
                prop_assert!(*verdict <= verdicts[at]);
                prop_assert!(!dependencies.is_empty() || *verdict == verdicts[at]);
                for below in dependencies {
                    prop_assert!(verdict <= found.get(below).unwrap_or(&Verdict::Unchecked));
                }
            }
        }
    }
}
