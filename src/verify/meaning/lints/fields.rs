//! Names of fields: words next to a number that another field of the same evidence has for its name.

use repro_bundle::bundle::{Bundle, fact_id};
use repro_core::decimal::Printed;
use repro_core::source::{escape, unescape};
use repro_report::outcome::EvidenceRef;

use super::{LintedClaim, plain_words};
use crate::lexicon::{lexicon, place_of};

/// The longest name of a field, in words.
const LONGEST: usize = 4;
/// The joints between words of a name in files.
const JOINTS: [&str; 4] = ["-", "_", "", " "];

/// A number beside the name of another field: "ARC-Challenge: 0.47" over `arc-easy`. The other field stands at the same
/// place as the own one but for one part of its address, and holds a number.
pub(super) fn field(claim: &LintedClaim<'_>) -> Option<String> {
    claim.number?;
    let evidence = claim.scope.leaves.iter().map(|leaf| leaf.evidence.as_ref());
    let evidence: Vec<&EvidenceRef> = evidence.collect::<Option<_>>()?;
    let (first, others) = evidence.split_first()?;
    if others.iter().any(|other| other.pointer != first.pointer || other.file != first.file) {
        return None;
    }
    let address = Address::of(claim.scope.library.bundle(&first.bundle)?, first);
    let words = words_before(claim);
    // A head or a row is the name as a whole, and the words before a number end with it.
    let near = [claim.head, claim.row].into_iter().flatten();
    let near = near.map(|text| plain_words(text).collect::<Vec<_>>());
    let ends = (1..=words.len()).rev().map(|count| words[words.len() - count..].to_vec());
    let names: Vec<Vec<&str>> = ends.chain(near).filter(|words| words.len() <= LONGEST).collect();
    let is_own = names.iter().any(|words| address.is_own(words));
    let beside = names.iter().find_map(|words| address.named(words)).filter(|_| !is_own);
    let named = beside.or_else(|| named_alone(claim, &words, &address));
    let (said, own) = named.filter(|(said, own)| !is_unit(said, own))?;
    Some(format!("the words next to the number refer to `{said}`, but the value is from `{own}`"))
}

/// Whether a word is the unit of a field, and not the name of another: "0.05 nats or 1.6%" of losses.
fn is_unit(said: &str, field: &str) -> bool {
    let has = |list: &[String], word: &str| list.iter().any(|known| known == word);
    let mut units = lexicon().units.iter();
    units.any(|unit| has(&unit.words, said) && has(&unit.given_by, field))
}

/// The field that any words before the number name, where no word of the claim names the own one: "HumanEval, as in the
/// table: 0.0455".
fn named_alone(
    claim: &LintedClaim<'_>,
    words: &[&str],
    address: &Address<'_>,
) -> Option<(String, String)> {
    let own = address.parts.last()?;
    let last = address.parts.len() - 1;
    let row = claim.row.unwrap_or_default();
    let all = format!("{} {row} {}", claim.words(), claim.context).to_lowercase();
    let own_lower = own.to_lowercase();
    let is_said = |word: &str| plain_words(&all).any(|said| said == word);
    // "A vocabulary of" says `vocab`, as a quantity of the lexicon.
    let mut quantities = lexicon().quantities.iter();
    let is_said_otherwise = quantities.any(|quantity| {
        let is_own = quantity.given_by.contains(&own_lower);
        is_own && quantity.words.iter().any(|words| place_of(&all, words).is_some())
    });
    if plain_words(&own_lower).any(is_said) || is_said_otherwise {
        return None;
    }
    let parts = (1..=LONGEST).rev().flat_map(|count| words.windows(count));
    let names: Vec<String> = parts.flat_map(spellings).collect();
    address.number_at(last, &names).map(|name| (name, own.clone()))
}

/// The words before a number, without those that link a name to it: "an MMLU score of".
fn words_before<'c>(claim: &'c LintedClaim<'_>) -> Vec<&'c str> {
    let place = claim.before_start().zip(claim.number);
    let own = place.and_then(|(start, number)| claim.quote.get(start..number.span.start));
    // "ARC-E / MMLU = 46.8 / 33.1": names of a list go with their numbers one by one.
    let own = own.filter(|own| !own.contains('/') && !claim.goes_on_from_a_number());
    let own = own.unwrap_or_default();
    let mut words: Vec<&str> = plain_words(own).collect();
    let links = ["beside.links", "beside.measures"];
    let is_link =
        |word: &&str| links.iter().any(|list| lexicon().is_in(list, &word.to_lowercase()));
    while words.last().is_some_and(is_link) {
        words.pop();
    }
    words
}

/// The names of fields that some words may be: joined in each way, as they are and in lower case.
fn spellings(words: &[&str]) -> Vec<String> {
    let lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let spelled = |joint: &str| [words.join(joint), lower.join(joint)];
    JOINTS.iter().flat_map(|joint| spelled(joint)).collect()
}

/// Where a value is in its bundle, part by part.
struct Address<'b> {
    bundle: &'b Bundle,
    file: &'b str,
    /// As they are called: `train/loss`, which a pointer spells `train~1loss`.
    parts: Vec<String>,
    /// Whether it is the id of a typed fact.
    is_fact: bool,
}

impl<'b> Address<'b> {
    fn of(bundle: &'b Bundle, evidence: &'b EvidenceRef) -> Self {
        let id = fact_id(&evidence.pointer);
        let parts = match id {
            Some(id) => id.split('.').map(str::to_owned).collect(),
            None => evidence.pointer.split('/').skip(1).filter_map(unescape).collect(),
        };
        Self { bundle, file: &evidence.file, parts, is_fact: id.is_some() }
    }

    /// Whether some words name a part of the address itself: `run1-depth` is a "depth", `warmup` are "warmup steps".
    fn is_own(&self, words: &[&str]) -> bool {
        let is_in = |one: &str, all: &[&str]| all.iter().any(|word| word.eq_ignore_ascii_case(one));
        let names = spellings(words);
        self.parts.iter().any(|part| {
            let own: Vec<&str> = plain_words(part).collect();
            words.iter().all(|word| is_in(word, &own))
                || own.iter().all(|one| is_in(one, words))
                || names.iter().any(|name| name == part)
        })
    }

    /// The field that some words name, with the part of the address that is there.
    fn named(&self, words: &[&str]) -> Option<(String, String)> {
        let names = spellings(words);
        let mut places = (0..self.parts.len()).rev();
        places.find_map(|at| Some((self.number_at(at, &names)?, self.parts.get(at)?.clone())))
    }

    /// The name that leads to a number where it replaces the part of the address at one place.
    fn number_at(&self, at: usize, names: &[String]) -> Option<String> {
        let (before, rest) = self.parts.split_at_checked(at)?;
        let behind = rest.get(1..)?;
        let is_number = |text: &str| Printed::parse(text).is_ok();
        if self.is_fact {
            let id = |name: &str| {
                let parts = before.iter().map(String::as_str).chain([name]);
                parts.chain(behind.iter().map(String::as_str)).collect::<Vec<_>>().join(".")
            };
            let fact = |name: &str| self.bundle.fact(&id(name)).map(|(_, fact)| fact);
            let holds = |name: &&String| fact(name).is_some_and(|fact| is_number(&fact.value));
            return names.iter().find(holds).cloned();
        }
        let root = self.bundle.document(self.file).ok()?.root();
        let (parent, behind) = (root.at(&pointer(before)).ok()?, pointer(behind));
        let printed = |name: &str| parent.get(name)?.at(&behind).ok()?.printed().ok();
        names.iter().find(|name| printed(name).is_some_and(is_number)).cloned()
    }
}

/// Parts of an address as a pointer.
fn pointer(parts: &[String]) -> String {
    parts.iter().map(|part| format!("/{}", escape(part))).collect()
}
