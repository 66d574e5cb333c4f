//! The report as one self-contained page: no network, no script, no font. The claims about a number open as a native popover, which
//! browsers support with keys and for screen readers.
//!
//! A policy in the page forbids everything but its own style, which it knows by digest; no text of an input becomes markup.

mod card;
mod charts;
mod escaped;
mod figure;
mod lead;
mod line;
mod marks;
mod prose;
mod readings;
mod replayed;

use std::collections::{BTreeSet, HashMap};

use base64ct::{Base64, Encoding};
use repro_core::digest::Digest;
use repro_core::source::Error;

use self::card::ToldOfClaims;
use self::escaped::escaped;
use self::marks::{MarkedNumber, NumberMarks};
use crate::SCOPE;
use crate::folded::{ToldTogether, told_together};
use crate::outcome::{
    ClaimReport, PostReport, Report, TextMarkup, TextReport, Verdict, VerdictCounts,
};
use crate::wording::{self, Remarks};

/// How a page says by what it was made.
pub(super) const GENERATOR: &str = "<meta name=\"generator\" content=\"repro\">";
const STYLE: &str = include_str!("style.css");
/// The order in which verdicts are counted.
const VERDICTS: [Verdict; 4] =
    [Verdict::Refuted, Verdict::Inconclusive, Verdict::Unchecked, Verdict::Verified];

/// The whole report as a page.
pub(super) fn render(report: &Report) -> String {
    let mut page = String::new();
    head(&mut page, report);
    for (index, post) in report.posts.iter().enumerate() {
        article(&mut page, report, post, index);
    }
    let scope = crate::replay_scope(report);
    let scope = scope.map_or_else(String::new, |words| format!("<p>{words}</p>\n"));
    let closing = SCOPE.replacen('`', "<code>", 1).replacen('`', "</code>", 1);
    page.push_str(&format!(
        "</main>\n<footer>\n{scope}<p>{closing}</p>\n</footer>\n</body>\n</html>\n"
    ));
    page
}

fn head(page: &mut String, report: &Report) {
    let digest = Base64::encode_string(Digest::of(STYLE.as_bytes()).bytes());
    let title = match report.posts.as_slice() {
        [post] => escaped(title_of(post)).into_owned(),
        posts => wording::many(posts.len(), "report"),
    };
    page.push_str(&format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n{GENERATOR}\n\
         <title>{title} - repro</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
    ));
    if report.posts.len() != 1 {
        page.push_str(&format!(
            "<h1>{title}</h1>\n<p>{}</p>\n",
            escaped(&match report.is_not_judged() {
                true => wording::NOT_JUDGED.to_owned(),
                false => wording::counts(&report.summary()),
            })
        ));
        let link = |post: &PostReport| {
            let counts = wording::counts(&VerdictCounts::of(&post.claims));
            format!(
                "<li><a href=\"#post-{0}\">{0}</a> {1}: {2}</li>\n",
                escaped(&post.id),
                escaped(title_of(post)),
                escaped(&counts)
            )
        };
        let links: String = report.posts.iter().map(link).collect();
        page.push_str(&format!("<nav aria-label=\"posts\"><ul>\n{links}</ul></nav>\n"));
    }
    list(page, "Inputs that cannot be used", report.failures.iter().map(failure));
    if let Some(differences) = &report.locked {
        let told = differences.iter().map(|one| {
            let name = escaped(&format!("{}/{}", one.post, one.claim)).into_owned();
            format!("<code>{name}</code>: {}", escaped(&wording::change(one)))
        });
        list(page, "Verdicts not as recorded", told);
    }
    let below = report.below_minimum.iter();
    list(
        page,
        "Below the required minimum",
        below.map(|claim| format!("<code>{}</code>", escaped(claim))),
    );
}

/// The level of the headings of posts.
fn level_of(report: &Report) -> usize {
    if report.posts.len() == 1 { 1 } else { 2 }
}

fn title_of(post: &PostReport) -> &str {
    if post.title.is_empty() { &post.id } else { &post.title }
}

fn failure(error: &Error) -> String {
    format!(
        "<code>{}</code>: {} <code>{}</code>; expected {}, found {}. {}",
        escaped(&error.place.to_string()),
        escaped(error.code.meaning),
        error.code.id,
        escaped(&error.expected),
        escaped(&error.found),
        escaped(&error.help)
    )
}

/// A heading and a list, unless there is nothing to list.
fn list(page: &mut String, heading: &str, items: impl Iterator<Item = String>) {
    let items: String = items.map(|item| format!("<li>{item}</li>\n")).collect();
    if !items.is_empty() {
        page.push_str(&format!(
            "<section class=\"list\">\n<h2>{heading}</h2>\n<ul>\n{items}</ul>\n</section>\n"
        ));
    }
}

/// One post: what it comes to, its texts with their numbers, and what else is claimed.
fn article(page: &mut String, report: &Report, post: &PostReport, index: usize) {
    let id = escaped(&post.id);
    page.push_str(&format!("<article class=\"post\" id=\"post-{id}\">\n"));
    // What a count leads to is before all that it filters, so that a style can hide the rest.
    for (word, _) in lead::GROUPS {
        page.push_str(&format!("<span class=\"only {word}\" id=\"only-{word}-{index}\"></span>\n"));
    }
    page.push_str(&format!("<span id=\"all-{index}\"></span>\n"));
    let level = level_of(report);
    page.push_str(&format!("<header>\n<h{level}>{}</h{level}>\n", escaped(title_of(post))));
    summary(page, report, post, index);
    page.push_str("</header>\n");
    let remarks = Remarks::of(post);
    lead::draw(page, report, post, &remarks);
    let mut cards = PostCards {
        page: String::new(),
        told: ToldOfClaims { remarks: &remarks, spreads: &post.pictures.spreads },
        count: 0,
        post: index,
    };
    let mut told: BTreeSet<&str> = BTreeSet::new();
    let pictures = charts::drawn(post);
    let beside = if pictures.is_empty() { "" } else { " beside" };
    page.push_str(&format!("<div class=\"columns{beside}\">\n<div>\n"));
    for text in &post.texts {
        told.extend(shown_text(page, (level, post), text, &mut cards));
    }
    let untold: Vec<_> = post.claims.iter().filter(|claim| !told.contains(&*claim.id)).collect();
    statements(page, &untold, index, &mut cards);
    page.push_str(&format!("</div>\n{pictures}</div>\n"));
    about(page, post, &remarks);
    page.push_str(&format!("<div class=\"cards\">\n{}</div>\n</article>\n", cards.page));
}

/// The verdict and the counts above a post.
fn summary(page: &mut String, report: &Report, post: &PostReport, index: usize) {
    let counts = VerdictCounts::of(&post.claims);
    let is_refused = report.failures.iter().any(|failure| failure.place.file == post.file);
    let sentence = match &report.locked {
        Some(differences) if differences.is_empty() => wording::as_recorded(&counts),
        Some(differences) => wording::entries_differ(differences.len()),
        None => {
            let (sign, _) = crate::lead::mark_of(post, is_refused);
            format!("{sign} {}", crate::lead::headline(post, is_refused))
        }
    };
    page.push_str(&format!("<p class=\"sentence\">{}</p>\n", escaped(&sentence)));
    page.push_str("<ul class=\"counts\">\n");
    for (many, word) in wording::verdicts(&counts, &VERDICTS) {
        let class = if word == "differ" { "differs" } else { word };
        page.push_str(&format!(
            "<li><a class=\"verdict {class}\" href=\"#only-{class}-{index}\">{word} {many}</a></li>\n"
        ));
    }
    let command = command(report, post);
    page.push_str(&format!(
        "<li><a href=\"#all-{index}\">all</a></li>\n</ul>\n<p class=\"repeat\">To reproduce this: <code>{}</code></p>\n",
        escaped(&command)
    ));
}

/// The command that gives this report again.
fn command(report: &Report, post: &PostReport) -> String {
    let replay = if report.replayed > 0 { " --replay all" } else { "" };
    match post.digest.is_empty() {
        true => format!("repro verify {}{replay} --verbose", post.file),
        false => format!("repro verify --post {}{replay} --verbose", post.id),
    }
}

/// The cards of a post so far.
struct PostCards<'r> {
    page: String,
    told: ToldOfClaims<'r>,
    count: usize,
    /// Which post of the page it is.
    post: usize,
}

impl PostCards<'_> {
    /// The name of the next card.
    fn next_id(&mut self) -> String {
        self.count += 1;
        format!("n{}-{}", self.post, self.count)
    }

    fn add(&mut self, id: &str, claims: &[&ClaimReport]) {
        card::card(&mut self.page, id, claims, &self.told);
    }
}

/// Adds a text with its numbers; answers the claims that these tell of.
fn shown_text<'r>(
    page: &mut String,
    (level, post): (usize, &'r PostReport),
    text: &'r TextReport,
    cards: &mut PostCards<'_>,
) -> Vec<&'r str> {
    if text.content.is_empty() {
        return Vec::new();
    }
    let by_id: HashMap<&str, &ClaimReport> =
        post.claims.iter().map(|claim| (&*claim.id, claim)).collect();
    let numbers = text.numbers.iter().map(|number| {
        let claims = number.claims.iter().filter_map(|id| by_id.get(&**id).copied()).collect();
        MarkedNumber { number, claims, id: cards.next_id() }
    });
    let numbers = numbers.collect();
    let mut marks = NumberMarks::new(marks::quoted(text, &post.claims), numbers);
    page.push_str("<section class=\"prose\" aria-label=\"text\">\n");
    if post.texts.len() > 1 {
        page.push_str(&format!("<p class=\"what\">{}</p>\n", escaped(&text.what)));
    }
    match text.markup {
        TextMarkup::Markdown => {
            prose::markdown(page, &text.content, (level, title_of(post)), &mut marks)
        }
        TextMarkup::AsWritten => prose::plain(page, &text.content, &mut marks),
    }
    page.push_str("</section>\n");
    let mut told = Vec::new();
    for (one, _) in marks.claimed().filter(|(_, is_shown)| *is_shown) {
        cards.add(&one.id, &one.claims);
        told.extend(one.claims.iter().map(|claim| &*claim.id));
    }
    told
}

/// Claims that no number of a text on the page tells of: those of one verdict together, the worst first.
fn statements(page: &mut String, claims: &[&ClaimReport], post: usize, cards: &mut PostCards<'_>) {
    for (word, heading) in lead::GROUPS {
        let told = told_together(claims).into_iter();
        let told: Vec<_> = told
            .filter(|one| marks::class_of(&one.claims().collect::<Vec<_>>()) == Some(word))
            .collect();
        if told.is_empty() {
            continue;
        }
        let count = wording::many(told.len(), "statement");
        page.push_str(&format!(
            "<section class=\"statements {word}\" id=\"{word}-{post}\">\n<h2>{heading} <small>{count}</small></h2>\n<ul>\n"
        ));
        told.iter().for_each(|one| statement(page, one, cards));
        page.push_str("</ul>\n</section>\n");
    }
}

fn statement(page: &mut String, told: &ToldTogether<'_>, cards: &mut PostCards<'_>) {
    let claims: Vec<_> = told.claims().collect();
    let Some(word) = marks::class_of(&claims) else { return };
    let (id, words) = (cards.next_id(), told.title());
    let place = match told.place() {
        place if place.is_empty() => String::new(),
        place => format!(" <small>{}</small>", escaped(&place)),
    };
    page.push_str(&format!(
        "<li><button class=\"n {word}\" popovertarget=\"{id}\">{}</button>{place}</li>\n",
        escaped(&words)
    ));
    cards.add(&id, &claims);
}

/// The rest of a post's report: its evidence, excused numbers, remarks, and a referee's questions.
fn about(page: &mut String, post: &PostReport, remarks: &Remarks<'_>) {
    let others =
        remarks.all().iter().filter(|finding| finding.claim.is_none()).map(|finding| {
            format!("{} <code>{}</code>", escaped(&finding.message), finding.code.id)
        });
    list(page, "Also", others);
    let unbound = post.texts.iter().flat_map(|text| &text.unbound);
    list(
        page,
        "Numbers not covered by a claim",
        unbound.map(|number| escaped(number).into_owned()),
    );
    let excused = post
        .excused
        .iter()
        .map(|one| format!("<q>{}</q>: {}", escaped(&one.words), escaped(&one.reason)));
    list(page, "Excused", excused);
    let bundles = post.bundles.iter().map(|bundle| {
        let origin = bundle.origin.word();
        format!(
            "<code>{}</code> {origin} <code class=\"digest\">{}</code>",
            escaped(&bundle.name),
            escaped(&bundle.digest)
        )
    });
    list(page, "Evidence", bundles);
    let said = wording::disclosures(post).into_iter();
    list(page, "What this rests on", said.map(|words| escaped(&words).into_owned()));
    let asked = post.referee.iter().flat_map(wording::asked);
    let asked = asked.map(|(name, item)| format!("{name}: {}", escaped(item)));
    list(page, "A referee would ask", asked);
}
