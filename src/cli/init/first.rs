//! The first post: one sentence about the last value of a metric of a log, in words in which it is verified.

use std::path::Path;

use repro_core::source::{Error, Source};
use repro_formats::import::{Import, LogGroup, LoggedRun, MetricPlace, places};
use repro_report::outcome::Verdict;
use repro_verify::covered::covered;
use repro_verify::draft::{parsed, sentence_statement, toml_text};
use repro_verify::page::PostPage;
use repro_verify::texts::{TextAtHand, TextsAtHand};
use repro_verify::verify::{BundleStore, judge};

/// Its name.
pub const ID: &str = "first";
/// The name of its text, next to it.
pub const TEXT: &str = "first.md";
/// Its opening comment, with the next steps.
const HEAD: &str = include_str!("first.toml");
const TITLE: &str = "A first post";
/// The remark about the invented numbers.
const INVENTED: &str =
    "The numbers in this post are invented; they only show what a post looks like.\n\n";
/// The number of metrics to try.
const TRIED: usize = 40;
/// Words in progress metrics, which a post rarely states.
const OF_THE_WAY: [&str; 7] = ["token", "epoch", "step", "time", "second", "rate", "lr"];

/// Whether a text may be that of a first post.
pub fn could_be(text: &str) -> bool {
    text.strip_prefix("# ").is_some_and(|text| text.starts_with(TITLE))
}

/// A post and its text, not yet written.
#[derive(Debug, Clone)]
pub struct FirstPost {
    pub post: String,
    pub text: String,
}

/// The posts that could be the first, the best first: of the first run that has a number at its end.
pub fn candidates(import: &Import, is_example: bool) -> Vec<FirstPost> {
    let (mut runs, others): (Vec<_>, Vec<_>) = import.runs().partition(|(_, run)| run.counts());
    runs.extend(others);
    let stated = runs.into_iter().map(|(group, run)| (run, stated(group, run)));
    let Some((run, metrics)) = stated.into_iter().find(|(_, metrics)| !metrics.is_empty()) else {
        return Vec::new();
    };
    let posts = metrics.iter().take(TRIED).flat_map(|metric| of(run, metric, is_example));
    posts.collect()
}

/// The metrics of a run whose last value is a number that a post can name.
fn stated(group: &LogGroup, run: &LoggedRun) -> Vec<MetricPlace> {
    let alone = LogGroup {
        name: group.name.clone(),
        format: group.format,
        runs: vec![run.clone()],
        figures: group.figures.clone(),
    };
    let is_number = |place: &MetricPlace| {
        place.pointer.is_some() && place.values.iter().all(|value| value.nonfinite().is_none())
    };
    let mut metrics: Vec<_> = places(&alone).into_iter().filter(is_number).collect();
    metrics.sort_by_key(rank);
    metrics
}

/// A loss of evaluations first, then other metrics of evaluations, losses of training, and what says how far the run is.
fn rank(metric: &MetricPlace) -> (bool, bool, bool) {
    let name = metric.name.to_lowercase();
    let pointer = metric.pointer.as_deref().unwrap_or_default();
    let is_of_the_way = OF_THE_WAY.iter().any(|word| name.contains(word));
    (is_of_the_way, !pointer.contains("/validation.csv#"), !name.contains("loss"))
}

/// The posts that state a metric of a run, in several wordings: a name may hold what reads as a number. All words are plain,
/// so that another number in their place is refuted.
fn of(run: &LoggedRun, metric: &MetricPlace, is_example: bool) -> Vec<FirstPost> {
    let (Some(pointer), [value]) = (&metric.pointer, metric.values.as_slice()) else {
        return Vec::new();
    };
    let (run, name, value) = (&run.name, &metric.name, value.text());
    let wordings = [
        format!("The run `{run}` ends with a `{name}` of {value}."),
        format!("The run ends with a `{name}` of {value}."),
        format!("The log ends with a value of {value}."),
    ];
    let remark = if is_example { INVENTED } else { "" };
    let post = |sentence: String| FirstPost {
        post: format!(
            "{HEAD}\nschema = \"repro.post/2\"\nid = \"{ID}\"\ntitle = \"{TITLE}\"\ntext = \"{TEXT}\"\n\n\
             [names]\nlast = {}\n\n{}",
            toml_text(pointer),
            sentence_statement(TITLE, &sentence, ["last"])
        ),
        text: format!("# {TITLE}\n\n{remark}{sentence}\n"),
    };
    wordings.map(post).into()
}

/// The first of some posts that is verified as a whole, by the bundles of the project.
pub fn verified(
    root: &Path,
    posts: Vec<FirstPost>,
    threads: usize,
) -> Result<Option<FirstPost>, Vec<Error>> {
    let mut store = BundleStore::new(threads, &[]);
    for post in posts {
        // A name that no post can hold makes none.
        let Ok(page) = parsed(ID, post.post.clone()) else { continue };
        store.fetch(root, &page, None)?;
        if holds(&page, &store, &post.text, threads).map_err(|error| vec![error])? {
            return Ok(Some(post));
        }
    }
    Ok(None)
}

/// Whether all claims of a post are verified, and each number of its text is bound.
fn holds(
    page: &PostPage,
    store: &BundleStore<'_>,
    text: &str,
    threads: usize,
) -> Result<bool, Error> {
    let text = TextAtHand::of(&Source::new(format!("repro/{TEXT}"), text.as_bytes().to_vec())?)?;
    let Some(source) = page.texts.first() else { return Ok(false) };
    let is_bound = covered(page, source, &text.seen)?.counts().2 == 0;
    let texts = TextsAtHand::from([(source.id.clone(), text)]);
    let claims = judge(page, &store.library, &texts, threads).post.claims;
    let is_verified = claims.iter().all(|claim| claim.outcome.verdict == Verdict::Verified);
    Ok(is_bound && is_verified && !claims.is_empty())
}
