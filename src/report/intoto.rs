//! A report as an in-toto statement: the judged files, and the verdict on each claim. It can be signed
//! like any other statement, so that somebody vouches for the verdicts.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::outcome::{EvidenceOrigin, Method, PostReport, Report, Verdict, VerdictCounts};
use crate::visible::escaped_json;
use repro_bundle::bundle::STATEMENT;
use repro_core::source::{Error, Location, codes};

/// The type of what is said.
pub const VERDICT: &str = "https://repro.example/verdict/v1";

#[derive(Serialize)]
struct Statement<'a> {
    #[serde(rename = "_type")]
    kind: &'static str,
    subject: Vec<Subject<'a>>,
    #[serde(rename = "predicateType")]
    predicate_type: &'static str,
    predicate: Predicate<'a>,
}

#[derive(Serialize)]
struct Subject<'a> {
    name: String,
    digest: BTreeMap<&'static str, &'a str>,
}

#[derive(Serialize)]
struct Predicate<'a> {
    verifier: Verifier,
    posts: Vec<Judged<'a>>,
    summary: VerdictCounts,
    /// Inputs that could not be used.
    refused: Vec<&'static str>,
    exit_code: u8,
}

#[derive(Serialize)]
struct Verifier {
    name: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
struct Judged<'a> {
    id: &'a str,
    claims: Vec<Claim<'a>>,
}

#[derive(Serialize)]
struct Claim<'a> {
    id: &'a str,
    verdict: Verdict,
    code: Option<&'static str>,
    origin: Option<EvidenceOrigin>,
    method: Option<Method>,
}

codes! {
    NO_SUBJECT = "report::no-subject", "no file was checked, so there is nothing to attest", "find out why no post or bundle could be checked, or leave out `--output intoto=`";
}

/// Refuses a report that no statement can be made of: one about no file at all is not valid.
pub fn has_subjects(report: &Report) -> Result<(), Error> {
    match subjects(report).is_empty() {
        false => Ok(()),
        true => Err(NO_SUBJECT.at(Location::file("--output"), "a judged file", "none")),
    }
}

/// The statement about a report.
pub fn render(report: &Report) -> String {
    let statement = Statement {
        kind: STATEMENT,
        subject: subjects(report),
        predicate_type: VERDICT,
        predicate: Predicate {
            verifier: Verifier { name: "repro", version: env!("CARGO_PKG_VERSION") },
            posts: report.posts.iter().map(judged).collect(),
            summary: report.summary(),
            refused: report.failures.iter().map(|error| error.code.id).collect(),
            exit_code: report.exit_status().code(),
        },
    };
    // Only strings, numbers and lists: nothing here can fail to serialise.
    escaped_json(serde_json::to_string_pretty(&statement).unwrap_or_default()) + "\n"
}

/// The files that were judged, each once: posts, their texts, and of each bundle the file whose digest is its own.
fn subjects(report: &Report) -> Vec<Subject<'_>> {
    let mut files: BTreeMap<String, &str> = BTreeMap::new();
    for post in &report.posts {
        if !post.digest.is_empty() {
            files.insert(post.file.clone(), &post.digest);
        }
        for text in &post.texts {
            let digest = text.digest.as_deref();
            files.extend(digest.map(|digest| (format!("{}: {}", post.file, text.id), digest)));
        }
        for bundle in &post.bundles {
            files.insert(format!("{}/tagmanifest-sha256.txt", bundle.name), &bundle.digest);
        }
    }
    files
        .into_iter()
        .map(|(name, digest)| {
            let plain = digest.strip_prefix("sha256:").unwrap_or(digest);
            Subject { name, digest: BTreeMap::from([("sha256", plain)]) }
        })
        .collect()
}

fn judged(post: &PostReport) -> Judged<'_> {
    let claims = post.claims.iter().map(|claim| Claim {
        id: &claim.id,
        verdict: claim.outcome.verdict,
        code: claim.outcome.code.map(|code| code.id),
        origin: claim.origin,
        method: claim.outcome.method,
    });
    Judged { id: &post.id, claims: claims.collect() }
}
