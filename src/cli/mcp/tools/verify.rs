//! `verify`.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use super::super::super::git;
use super::super::super::history::GitHistory;
use super::super::super::{threads, trainer};
use super::super::BAD_NAME;
use super::super::staged::PrivateFolder;
use super::said::emptied;
use super::scene::{WIDTH, arguments, odd};
use super::{ModelTool, ToolAnswer, ToolScene, schema};
use repro_core::digest::Digest;
use repro_core::source::{Document, Error, Location, Source};
use repro_report::outcome::{ExitStatus, PostReport, Report};
use repro_report::{Format, ReportOptions, render};
use repro_verify::page::{PostPage, TextSource};
use repro_verify::post;
use repro_verify::texts::{NONE_NAMED, OTHER_TEXT};
use repro_verify::verify::{self, Demands};

pub const TOOL: ModelTool = ModelTool {
    name: "verify",
    title: "Verify posts against their receipts",
    description: "Use this to decide whether the numbers in a text follow from receipts: the project's post files (`posts`, ids or \
`all`), bundles on their own (`bundles`, folders), or a post file that you wrote or drafted, given inline (`post`, the TOML, and `text`, \
the complete text that it quotes) and judged against the bundles in the project's `receipts/`. It returns one verdict per claim, with \
claimed and recomputed value, tolerance and reason. `explain` with name `post` explains how to write post files; `draft` starts one. \
A post with statements marked as unconfirmed is `undecided` at best: do not remove the marks yourself.",
    scope: "A pass shows that numbers follow from the receipts and that the receipts agree; it does not show that the receipts are \
honest, that no other runs were made, or that all arms were tuned with equal care.",
    input,
    output,
    answer,
};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct VerifyCall {
    posts: Vec<String>,
    bundles: Vec<PathBuf>,
    post: Option<String>,
    text: Option<String>,
    all_bound: bool,
    all: bool,
}

fn input() -> Json {
    schema::arguments(json!({
        "posts": schema::paths("ids of the project's posts, or `all`; default without other arguments: all"),
        "bundles": schema::paths("bundle folders to check on their own"),
        "post": schema::text("a post file, the TOML itself; goes with `text`"),
        "text": schema::text("the complete text that `post` quotes, unchanged"),
        "all_bound": schema::truth("return `undecided` if a number in a text is not covered by a claim"),
        "all": schema::truth("also list verified claims, and the evidence of each claim as data"),
    }))
}

fn output() -> Json {
    schema::answer_with(
        schema::REPORT,
        "omitted from `report`: the number of verified claims, and the evidence references and measured values of others",
    )
}

fn answer(scene: &ToolScene<'_>, call: Json) -> Result<ToolAnswer, Vec<Error>> {
    let call: VerifyCall = arguments(call)?;
    let mut report = match (&call.post, &call.text) {
        (None, None) => of_project(scene, &call)?,
        (Some(post), Some(text)) if call.posts.is_empty() && call.bundles.is_empty() => {
            inline(scene, post, text)?
        }
        (Some(_), Some(_)) => {
            return Err(odd("`post` and `text`, or `posts` and `bundles`", "both"));
        }
        (Some(_), None) => return Err(odd("`text` with `post`", "only `post`")),
        (None, Some(_)) => return Err(odd("`post` with `text`", "only `text`")),
    };
    report.wants_all_bound = call.all_bound;
    report.base = git::below_top(&scene.roots.project);
    let options = ReportOptions { width: WIDTH, verbose: call.all, ..ReportOptions::default() };
    let text = render(&report, Format::Text, &options);
    let told = render(&report, Format::Json, &options);
    let mut told = serde_json::from_str(&told).unwrap_or_default();
    let left_out = if call.all { Map::new() } else { without_what_is_verified(&mut told) };
    let answer = ToolAnswer::new(Some(status(&report, call.post.is_some())), TOOL.scope, text);
    Ok(answer.with_report(told, left_out))
}

fn demands(project: &Path) -> Demands {
    Demands {
        project: Some(project.to_owned()),
        history: Some(Arc::new(GitHistory::of(project))),
        initial_weights: trainer::INITIAL_WEIGHTS,
        ..Demands::default()
    }
}

/// The posts and bundles that are named; all posts if nothing is.
fn of_project(scene: &ToolScene<'_>, call: &VerifyCall) -> Result<Report, Vec<Error>> {
    let VerifyCall { posts, bundles, .. } = call;
    scene.roots.confine(bundles)?;
    let project = &scene.roots.project;
    let demands = demands(project);
    let mut report = Report::default();
    if !posts.is_empty() || bundles.is_empty() {
        scene.roots.confine_project()?;
        let is_all = posts.is_empty() || posts.iter().any(|id| id == "all");
        let listed = || post::list(project).map_err(|error| vec![error]);
        let ids = if is_all { listed()? } else { posts.clone() };
        report = verify::verify_with(project, &ids, &demands, threads::cores(), None);
    }
    for bundle in bundles {
        let (bundle, threads) = (bundle.as_path(), threads::cores());
        verify::inspect_all(&[bundle], &demands, threads, None, &mut report);
    }
    Ok(report)
}

/// A post that the call holds itself, judged as one of the project: beside its text, over the same bundles and plans.
fn inline(scene: &ToolScene<'_>, post: &str, text: &str) -> Result<Report, Vec<Error>> {
    let project = scene.roots.confine_project()?;
    let one = |error: Error| vec![error];
    let PrivateFolder(folder) = scene.folder;
    let source = Source::new("post", post.as_bytes().to_vec()).map_err(one)?;
    let document = Document::parse_toml(source).map_err(one)?;
    let id = document.root().required("id").and_then(|id| id.text()).map_err(one)?;
    let page = repro_verify::draft::parsed(id, post.to_owned())?;
    let file = given(&page, text).map_err(one)?.file.as_deref();
    let mut demands = demands(project);
    // A text that is known by its digest alone may have any name.
    let name = file.unwrap_or("text.md");
    if file.is_none() {
        demands.texts = vec![folder.join("repro").join(name)];
    }
    let own = format!("{id}.toml");
    if name.contains(['/', '\\']) || name.starts_with('.') || name == own {
        let place = Location::file("post");
        return Err(vec![BAD_NAME.at(place, "a text next to the post file", format!("`{name}`"))]);
    }
    scene.folder.write(&Path::new("repro").join(own), post).map_err(one)?;
    scene.folder.write(&Path::new("repro").join(name), text).map_err(one)?;
    for shared in ["receipts", "repro/studies"] {
        // What the project does not have is missed where a claim asks for it.
        let _ = symlink(project.join(shared), folder.join(shared));
    }
    Ok(verify::verify_with(folder, &[id.to_owned()], &demands, threads::cores(), None))
}

/// Which text of a post the text of the call is: the one with its digest, else the first that is known by its file alone.
fn given<'p>(page: &'p PostPage, text: &str) -> Result<&'p TextSource, Error> {
    let digest = Digest::of(text.as_bytes());
    let has_digest = |one: &&TextSource| one.sha256.as_ref() == Some(&digest);
    let is_by_file = |one: &&TextSource| one.sha256.is_none() && one.file.is_some();
    let texts = || page.texts.iter();
    texts().find(has_digest).or_else(|| texts().find(is_by_file)).ok_or_else(|| {
        match (texts().next(), texts().find_map(|one| Some((one, one.sha256.as_ref()?)))) {
            (None, _) => NONE_NAMED.at(page.place(), "the name of the given text", "none"),
            (_, Some((one, wanted))) => {
                OTHER_TEXT.at(one.place.clone(), wanted.prefixed(), digest.prefixed())
            }
            (Some(one), None) => {
                let error =
                    OTHER_TEXT.at(one.place.clone(), "its `file` or its `sha256`", "neither");
                error.help("add `file`, the text's file name next to the post")
            }
        }
    })
}

/// That of the command; but a draft that nobody has confirmed is no pass, whatever its digits are, and neither is an inline
/// post with other texts than the one that is given: what it quotes of them was not looked up.
fn status(report: &Report, is_inline: bool) -> ExitStatus {
    let lacks_a_text = |post: &PostReport| post.texts.iter().any(|text| !text.is_at_hand);
    let is_open = |post: &PostReport| post.drafted > 0 || is_inline && lacks_a_text(post);
    match report.exit_status() {
        ExitStatus::Verified if report.posts.iter().any(is_open) => ExitStatus::Undecided,
        status => status,
    }
}

/// Takes the claims that are verified out of a report, and of the others what programs alone read.
fn without_what_is_verified(report: &mut Json) -> Map<String, Json> {
    let (mut verified, mut evidence) = (0, 0);
    for post in report["posts"].as_array_mut().into_iter().flatten() {
        let Some(claims) = post["claims"].as_array_mut() else { continue };
        let before = claims.len();
        claims.retain(|claim| claim["verdict"] != "verified");
        verified += before - claims.len();
        evidence += claims
            .iter_mut()
            .flat_map(|claim| ["evidence", "measured"].map(|key| emptied(&mut claim[key])))
            .sum::<usize>();
    }
    let left_out = [("verified_claims", verified), ("evidence", evidence)];
    left_out.into_iter().map(|(name, count)| (name.to_owned(), count.into())).collect()
}
