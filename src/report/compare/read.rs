//! Reads reports of `repro verify` and `repro check` from their JSON.

use std::collections::{BTreeMap, BTreeSet};

use crate::outcome::{EvidenceOrigin, Method, Verdict};
use repro_core::source::{Document, Error, Node, Source};

use crate::compare::ground::{Ground, GroundKind};
use crate::compare::judged::{JudgedEntry, JudgedPart, JudgedReport, ReportKind};
use crate::compare::{NOT_A_REPORT, TWICE};

/// The most bytes of a report that is read: some 35,000 claims,
pub const REPORT_CAP: usize = 128 << 20;
/// and the most values.
const VALUES: usize = 8_000_000;

/// Reads the JSON of a report, which people know as `name`.
pub fn parse(name: &str, source: Source) -> Result<JudgedReport, Error> {
    let document = Document::parse_long_json(source, VALUES)?;
    let root = document.root();
    let schema = root.get("schema").and_then(|schema| schema.text().ok());
    let (kind, parts) = match schema {
        Some("repro.report/2") => (ReportKind::Verify, posts(root)?),
        Some("repro.check/1") => (ReportKind::Check, documents(root)?),
        _ => {
            let found = schema.map_or("no `schema`".to_owned(), |schema| format!("`{schema}`"));
            return Err(NOT_A_REPORT.at(
                root.place(),
                "`repro.report/2` or `repro.check/1`",
                found,
            ));
        }
    };
    if kind == ReportKind::Verify {
        counted(root.required("summary")?, &parts)?;
    }
    let failures = root.required("failures")?.items()?.map(failure);
    let failures = failures.collect::<Result<BTreeSet<_>, _>>()?;
    let files = BTreeMap::new();
    Ok(JudgedReport { name: name.to_owned(), kind, parts, failures, files })
}

/// Refuses a report that counts other verdicts than its claims have.
fn counted(summary: Node, parts: &BTreeMap<String, JudgedPart>) -> Result<(), Error> {
    for verdict in Verdict::ALL {
        let counted = summary.required(verdict.word())?.integer()?;
        let entries = parts.values().flat_map(|part| part.entries.values());
        let has = entries.filter(|entry| entry.verdict == verdict).count();
        if has as u64 != counted {
            let expected = format!("{has} {}, as many as its claims", verdict.word());
            return Err(NOT_A_REPORT.at(summary.place(), expected, counted.to_string()));
        }
    }
    Ok(())
}

/// The text of a member; empty where it is absent.
fn text(node: Node, key: &str) -> Result<String, Error> {
    node.get(key).map_or(Ok(String::new()), |value| value.text().map(str::to_owned))
}

fn items<'d>(node: Node<'d>, key: &str) -> Result<Vec<Node<'d>>, Error> {
    node.get(key).map_or(Ok(Vec::new()), |list| Ok(list.items()?.collect()))
}

fn ground(kind: GroundKind, of: impl Into<String>, value: impl Into<String>) -> Ground {
    Ground { kind, of: of.into(), value: value.into() }
}

fn failure(node: Node) -> Result<String, Error> {
    let place = node.required("place")?;
    let [file, code, found] = [text(place, "file")?, text(node, "code")?, text(node, "found")?];
    Ok(format!("{file}: {found} [{code}]"))
}

/// Puts `entry` into `all`, where its name may stand once.
fn insert<T>(
    all: &mut BTreeMap<String, T>,
    name: String,
    entry: T,
    node: Node,
) -> Result<(), Error> {
    let found = format!("`{name}` twice");
    match all.insert(name, entry) {
        None => Ok(()),
        Some(_) => Err(TWICE.at(node.place(), "each name once", found)),
    }
}

fn verdict(node: Node) -> Result<Verdict, Error> {
    let word = node.text()?;
    let known = Verdict::ALL.into_iter().find(|verdict| verdict.word() == word);
    known.ok_or_else(|| NOT_A_REPORT.at(node.place(), "a verdict", format!("`{word}`")))
}

fn posts(root: Node) -> Result<BTreeMap<String, JudgedPart>, Error> {
    let below: BTreeSet<_> = items(root, "below_minimum")?
        .into_iter()
        .map(|one| one.text())
        .collect::<Result<_, _>>()?;
    let mut parts = BTreeMap::new();
    for node in root.required("posts")?.items()? {
        let id = node.required("id")?.text()?.to_owned();
        let part = post(node, &id, &below)?;
        insert(&mut parts, id, part, node)?;
    }
    Ok(parts)
}

/// The digests of bundles, and what names stand for: what claims of a post share.
struct Shared {
    bundles: BTreeMap<String, String>,
    meanings: Vec<(String, String)>,
}

fn post(node: Node, id: &str, below: &BTreeSet<&str>) -> Result<JudgedPart, Error> {
    let mut shared = Shared { bundles: BTreeMap::new(), meanings: meanings(node, "definitions")? };
    let mut grounds = vec![ground(GroundKind::Post, "", text(node, "digest")?)];
    for bundle in items(node, "bundles")? {
        let (name, digest) = (text(bundle, "name")?, text(bundle, "digest")?);
        grounds.push(ground(GroundKind::Bundle, &name, &digest));
        if let Some(signature) = bundle.get("signature") {
            grounds.push(ground(GroundKind::Signature, &name, text(signature, "verdict")?));
        }
        shared.bundles.insert(name, digest);
    }
    for one in items(node, "texts")? {
        if let Some(digest) = one.get("digest") {
            grounds.push(ground(GroundKind::Text, text(one, "id")?, digest.text()?));
        }
        if let Some(file) = one.get("file") {
            grounds.push(ground(GroundKind::TextFile, text(one, "id")?, file.text()?));
        }
        grounds.extend(unbound(one)?);
    }
    for one in items(node, "excused")? {
        grounds.push(ground(GroundKind::Excused, text(one, "words")?, text(one, "reason")?));
    }
    for one in items(node, "findings")?.into_iter().filter(|one| one.get("claim").is_none()) {
        grounds.push(ground(GroundKind::Finding, text(one, "code")?, text(one, "message")?));
    }
    let mut entries = BTreeMap::new();
    for claim in node.required("claims")?.items()? {
        let name = claim.required("id")?.text()?.to_owned();
        let is_below = below.contains(format!("{id}/{name}").as_str());
        let entry = self::claim(claim, &name, &shared, is_below)?;
        insert(&mut entries, name, entry, claim)?;
    }
    Ok(JudgedPart { title: text(node, "title")?, entries, grounds })
}

/// The numbers of a text that are bound to nothing, each with the lines in which it stands.
fn unbound(node: Node) -> Result<Vec<Ground>, Error> {
    let mut lines: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for one in items(node, "unbound")? {
        let told = one.text()?;
        let (number, line) = told.split_once(" (line ").unwrap_or((told, ""));
        lines.entry(number).or_default().push(line.trim_end_matches(')'));
    }
    let id = text(node, "id")?;
    let told = |(number, lines): (&str, Vec<&str>)| {
        ground(GroundKind::Unbound, format!("\"{number}\" in `{id}`"), lines.join(", "))
    };
    Ok(lines.into_iter().map(told).collect())
}

fn meanings(node: Node, key: &str) -> Result<Vec<(String, String)>, Error> {
    let of = |one: Node| Ok((text(one, "name")?, text(one, "meaning")?));
    items(node, key)?.into_iter().map(of).collect()
}

fn claim(node: Node, name: &str, shared: &Shared, is_below: bool) -> Result<JudgedEntry, Error> {
    let verdict = verdict(node.required("verdict")?)?;
    let [claimed, said, quote] =
        [text(node, "claimed")?, text(node, "said")?, text(node, "quote")?];
    let [recomputed, tolerance, reason] =
        [text(node, "recomputed")?, text(node, "tolerance")?, text(node, "reason")?];
    let [origin, method] = [text(node, "origin")?, text(node, "method")?];
    let mut grounds = vec![
        ground(GroundKind::Name, "", name),
        ground(GroundKind::Number, "", &claimed),
        ground(GroundKind::Words, "", spaced(&quote)),
        ground(GroundKind::Expression, "", &said),
        ground(GroundKind::Result, "", &recomputed),
        ground(GroundKind::Agreement, "", tolerance),
    ];
    let row = meanings(node, "row")?;
    grounds.extend(used(&said, &row, &shared.meanings));
    let own: Vec<_> =
        items(node, "own_numbers")?.into_iter().map(|one| one.text()).collect::<Result<_, _>>()?;
    grounds.push(ground(GroundKind::OwnNumbers, "", own.join(", ")));
    let (mut places, mut bundles) = (BTreeSet::new(), BTreeMap::new());
    for one in items(node, "evidence")? {
        let bundle = text(one, "bundle")?;
        bundles.extend(shared.bundles.get_key_value(&bundle));
        places.insert(format!("{bundle}/{}{}", text(one, "file")?, text(one, "pointer")?));
    }
    grounds
        .extend(bundles.into_iter().map(|(name, digest)| ground(GroundKind::Bundle, name, digest)));
    grounds.push(ground(GroundKind::Evidence, "", Vec::from_iter(places).join(", ")));
    if is_below {
        grounds.push(ground(GroundKind::Minimum, "", "not reached"));
    }
    let lints = items(node, "lints")?;
    let is_unquestioned = lints.iter().all(|lint| lint.get("answer").is_some());
    let questioned = if is_unquestioned { "" } else { "but questioned" };
    let words = [verdict.word(), &origin, &method, questioned];
    let words: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
    Ok(JudgedEntry {
        verdict,
        strength: [rank_of_origin(&origin), rank_of_method(&method), is_unquestioned.into()],
        judged_as: words.join(" "),
        title: title(&quote, &claimed, name),
        reason,
        grounds,
    })
}

/// Words with single spaces between them: where a line ends is no matter.
fn spaced(words: &str) -> String {
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The words of a claim, else its number, else its name.
fn title(quote: &str, claimed: &str, name: &str) -> String {
    match [quote, claimed].into_iter().find(|words| !words.trim().is_empty()) {
        Some(words) => format!("\"{}\"", words.trim()),
        None => name.to_owned(),
    }
}

/// The place of a word among those of a list from weak to strong, from 1; 0 for none of them.
fn rank(word: &str, words: &[&str]) -> usize {
    words.iter().position(|known| *known == word).map_or(0, |at| at + 1)
}

fn rank_of_origin(word: &str) -> usize {
    use EvidenceOrigin::{Attested, Declared, Signed, Transcribed};
    rank(word, &[Transcribed, Declared, Signed, Attested].map(EvidenceOrigin::word))
}

fn rank_of_method(word: &str) -> usize {
    use Method::{Compared, Recomputed, Replayed, ReplayedByTwo};
    rank(word, &[Compared, Recomputed, Replayed, ReplayedByTwo].map(Method::word))
}

/// The meanings of the names in an expression, and of the names in those, in the row of a table and in the post.
fn used(said: &str, row: &[(String, String)], post: &[(String, String)]) -> Vec<Ground> {
    let mut grounds = Vec::new();
    let mut known = BTreeSet::new();
    let mut open = vec![said];
    while let Some(expression) = open.pop() {
        let is_part = |c: char| c.is_alphanumeric() || "_-".contains(c);
        for word in expression.split(|c| !is_part(c)).filter(|word| known.insert(*word)) {
            let names = |(name, _): &&(String, String)| name.split('(').next() == Some(word);
            let Some((name, meaning)) = row.iter().chain(post).find(names) else { continue };
            grounds.push(ground(GroundKind::Meaning, name, meaning));
            open.push(meaning);
        }
    }
    grounds
}

fn documents(root: Node) -> Result<BTreeMap<String, JudgedPart>, Error> {
    let mut parts = BTreeMap::new();
    for node in items(root, "documents")? {
        let mut part = JudgedPart { title: text(node, "kind")?, ..JudgedPart::default() };
        for relation in items(node, "relations")? {
            let code = relation.required("code")?.text()?.to_owned();
            let entry = relation_grounds(relation)?;
            // One code may be asked in more than one way.
            let known = part.entries.entry(code).or_insert_with_key(|code| holding(code));
            known.grounds.extend(entry);
        }
        insert(&mut parts, node.required("path")?.text()?.to_owned(), part, node)?;
    }
    for finding in items(root, "findings")? {
        broken(finding, &mut parts)?;
    }
    Ok(parts)
}

/// A relation and its row count; the findings list what breaks it.
fn relation_grounds(node: Node) -> Result<[Ground; 2], Error> {
    let rows = node.required("asked")?.integer()?.to_string();
    Ok([
        ground(GroundKind::Expression, "", text(node, "says")?),
        ground(GroundKind::Rows, "", rows),
    ])
}

/// A relation of which nothing is known that breaks it.
fn holding(code: &str) -> JudgedEntry {
    JudgedEntry {
        verdict: Verdict::Verified,
        strength: [0; 3],
        judged_as: "holds".to_owned(),
        title: code.to_owned(),
        reason: String::new(),
        grounds: Vec::new(),
    }
}

/// Adds a finding to the relation that it breaks; what is asked of several documents together is a part of its own.
fn broken(node: Node, parts: &mut BTreeMap<String, JudgedPart>) -> Result<(), Error> {
    let code = node.required("code")?.text()?.to_owned();
    let part = parts.entry(text(node, "document")?).or_default();
    let verdict = verdict(node.required("verdict")?)?;
    let entry = part.entries.entry(code.clone()).or_insert_with(|| holding(&code));
    entry.verdict = entry.verdict.min(verdict);
    entry.judged_as = entry.verdict.word().to_owned();
    entry.title = format!("{} [{code}]", text(node, "meaning")?);
    let at = match node.get("place") {
        Some(place) => text(place, "pointer")?,
        None => String::new(),
    };
    let of = [at, text(node, "row")?].into_iter().filter(|part| !part.is_empty());
    let of = Vec::from_iter(of).join(" ");
    let of = if of.is_empty() { "in the document".to_owned() } else { of };
    let value = match (text(node, "printed")?, text(node, "recomputed")?, text(node, "reason")?) {
        (_, _, reason) if !reason.is_empty() => reason,
        (printed, recomputed, _) if printed.is_empty() => format!("recomputed {recomputed}"),
        (printed, recomputed, _) if recomputed.is_empty() => format!("printed {printed}"),
        (printed, recomputed, _) => format!("printed {printed}, recomputed {recomputed}"),
    };
    entry.grounds.push(ground(GroundKind::Broken, of, value));
    Ok(())
}
