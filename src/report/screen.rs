//! A post on one screen: contradictions, the central claim, undecided claims with reasons, and verified claims. `--verbose` shows
//! everything else.

use std::collections::BTreeMap;

use anstyle::{Effects, Style};
use repro_core::decimal::grouped;
use repro_core::source::Code;

use crate::ReportOptions;
use crate::fact_table::FactTable;
use crate::folded::{ToldTogether, by_code, clusters, told_together};
use crate::layout::{GLUE, Page, Piece, claim_mark, columns, mark, wrap};
use crate::lead::{
    self, Block, CentralFate, by_meaning, by_weight, central, central_claims, error_of, headline,
    mark_of, reason_of, rows_of,
};
use crate::outcome::{ClaimReport, PostReport, ReadBy, Verdict, VerdictCounts};
use crate::text::remarks_below;
use crate::visible::{clipped, prose, visible};
use crate::wording::{self, Remarks};

/// The lines of a post; it takes up to [`MOST_LINES`] if fewer would tell less of each part than [`LEAST_ROOM`].
const USUAL_LINES: usize = 43;
const MOST_LINES: usize = 58;
/// The lines of a post if only what is wrong is asked for.
const MOST_QUIET: usize = 8;
/// How much is told of each part where there is room: so many sentences, and a few rows more.
const ROOMIEST: usize = 8;
const LEAST_ROOM: usize = 2;
/// Above this, parts of one paragraph are kept apart.
const ROOMY: usize = 3;
/// A table has so many rows more than there is room for sentences.
const ROWS: usize = 3;
/// Where what is said of a sentence begins.
const INDENT: usize = 4;
/// Where tables begin.
const TABLE: usize = 6;
/// The words before the verified numbers.
const AMONG: &str = "among them ";
/// Only numbers of so many digits are named: shorter ones agree by chance.
const DIGITS: usize = 5;
/// A quote is never cut below so many characters.
const LEAST_QUOTE: usize = 24;
/// The longest place; of a longer one its end is told.
const PLACE: usize = 44;
/// The most lines of quotes behind each other.
const MOST_QUOTED: usize = 3;
/// The columns of "; and 12 more".
const AND_MORE: usize = 13;
/// The most characters of a quote, and of a reason.
const QUOTE: usize = 110;
const REASON: usize = 240;
/// A printed number that is off by less is a slip of digits.
const SLIP: f64 = 1e-4;

/// Codes of open claims that have a part of their own.
const ONE_RUN: &str = "order::one-run";
const NO_THRESHOLD: &str = "sentence::no-threshold";

const PLAIN: Style = Style::new();
const BOLD: Style = Style::new().effects(Effects::BOLD);
const FAINT: Style = Style::new().effects(Effects::DIMMED);

/// The post as text of the width that the reader has. `is_refused` says that a part of its file cannot be used.
pub(super) fn post(post: &PostReport, is_refused: bool, options: &ReportOptions) -> String {
    let drawn = |room| {
        let page = Page::new(options.width, options.colour);
        let (remarks, drawn) = (Remarks::of(post), Vec::new());
        PostScreen { page, post, remarks, drawn, room, is_refused }.draw(options.quiet)
    };
    let lines = |text: &String| text.lines().count();
    if options.quiet {
        let rooms = (1..=ROOMIEST).rev().map(drawn);
        return rooms
            .into_iter()
            .find(|text| lines(text) <= MOST_QUIET)
            .unwrap_or_else(|| drawn(1));
    }
    let roomy = (LEAST_ROOM..=ROOMIEST).rev().map(drawn).find(|text| lines(text) <= USUAL_LINES);
    let long = || (1..=LEAST_ROOM).rev().map(drawn).find(|text| lines(text) <= MOST_LINES);
    roomy.or_else(long).unwrap_or_else(|| drawn(1))
}

struct PostScreen<'a> {
    page: Page,
    post: &'a PostReport,
    remarks: Remarks<'a>,
    /// The tables that stand above.
    drawn: Vec<FactTable>,
    /// How many sentences of each part are told.
    room: usize,
    is_refused: bool,
}

impl<'a> PostScreen<'a> {
    fn draw(mut self, quiet: bool) -> String {
        let title = format!("{}{GLUE}{GLUE}{}", visible(&self.post.id), prose(&self.post.title));
        let (sign, style) = mark_of(self.post, self.is_refused);
        let headline = headline(self.post, self.is_refused);
        let headline = Piece::at(0, style, format!("{sign} {headline}"));
        self.page.ends(Piece::at(0, BOLD, title), headline);
        if quiet {
            self.wrong_in_short();
            self.signatures(true);
            self.page.blank();
            let counts = wording::counts(&VerdictCounts::of(&self.post.claims));
            self.page.paragraph(0, 2, BOLD, &counts);
        } else {
            self.contradicted();
            self.signatures(false);
            self.central();
            self.referee();
            self.open();
            self.questioned();
            self.unchecked();
            self.verified();
            self.below();
            if self.room > ROOMY {
                self.page.blank();
            }
            counted(&mut self.page, self.post);
        }
        self.page.finish()
    }

    /// The refuted sentences, one line each.
    fn wrong_in_short(&mut self) {
        let refuted = by_weight(self.post);
        let told = told_together(&refuted);
        // The title, the counts and what a reader has to know of the report take the others.
        let most = self.room.min(MOST_QUIET / 2);
        for one in told.iter().take(most) {
            self.sentence(one, claim_mark(one.first).0);
        }
        self.more(told.len().saturating_sub(most));
    }

    fn heading(&mut self, sign: &str, style: Style, heading: &str, aside: &str) {
        self.page.blank();
        let words = format!("{sign} {heading}").trim().to_owned();
        let stop = columns(&words) + 3;
        if aside.is_empty() || self.page.fits(stop, aside) {
            self.page.row(2, &[Piece::at(0, style, words), Piece::at(stop, FAINT, aside)]);
        } else {
            self.page.paragraph(0, 2, style, &words);
            self.page.paragraph(2, 2, FAINT, aside);
        }
    }

    /// A heading with text behind it.
    fn inline(&mut self, sign: &str, style: Style, heading: &str, text: &str) {
        if self.room > ROOMY {
            self.page.blank();
        }
        let words = format!("{sign} {heading}").trim().to_owned();
        let stop = columns(&words) + 3;
        let width = self.page.width();
        let lines = wrap(text, width.saturating_sub(stop).max(1), width - 2);
        let first = lines.first().map_or("", String::as_str);
        self.page.row(2, &[Piece::at(0, style, words), Piece::at(stop, PLAIN, first)]);
        for line in lines.iter().skip(1) {
            self.page.row(2, &[Piece::at(2, PLAIN, line.as_str())]);
        }
    }

    /// How many are left out.
    fn more(&mut self, more: usize) {
        if more > 0 {
            self.page.paragraph(2, 2, FAINT, &format!("and {more} more (--verbose lists them)"));
        }
    }

    fn contradicted(&mut self) {
        let refuted = by_weight(self.post);
        for (doubt, claims) in wording::by_doubt(&refuted) {
            let (_, style) = claim_mark(claims[0]);
            match doubt {
                None => {
                    self.heading("✗", style, "CONTRADICTED", &wording::assurance(&claims));
                }
                Some(_) => {
                    let by = match claims[0].meaning.read_by {
                        Some(ReadBy::Drafted) => "drafted by the program, not confirmed",
                        _ => "linked to evidence by one transcriber, not reviewed",
                    };
                    let aside = format!("provisional: {by}");
                    self.heading("≠", style, "DIFFERS FROM THE EVIDENCE", &aside);
                }
            }
            let (slips, others): (Vec<_>, Vec<_>) =
                claims.into_iter().partition(|claim| error_of(claim).is_some_and(|off| off < SLIP));
            let blocks = lead::blocks(&self.remarks, &others);
            let left = self.blocks(&blocks, self.room);
            self.more(left);
            self.slips(&slips);
        }
    }

    /// Printed numbers that are wrong in their last digits, one a line.
    fn slips(&mut self, claims: &[&'a ClaimReport]) {
        let clusters = clusters(&self.remarks, told_together(claims));
        for told in clusters.iter().take(self.room) {
            let first = &told[0];
            let times =
                if told.len() > 1 { format!(" ({} times)", told.len()) } else { String::new() };
            let title = clipped_title(first, QUOTE / 2);
            let code =
                first.first.outcome.code.map_or(String::new(), |code| format!(" [{}]", code.id));
            let words = format!("{title}{times}: {}{code}", prose(&first.first.outcome.reason));
            self.page.paragraph(2, INDENT, PLAIN, &words);
        }
        self.more(clusters.iter().skip(self.room).map(Vec::len).sum());
    }

    /// Sentences with their values and why they are where they are; how many sentences are left out.
    fn blocks(&mut self, blocks: &[Block<'a>], most: usize) -> usize {
        blocks.iter().take(most).for_each(|block| self.block(block));
        blocks.iter().skip(most).map(|block| block.told.len()).sum()
    }

    /// The most characters of a reason: two lines, where there is no room for more.
    fn longest(&self) -> usize {
        if self.room > LEAST_ROOM { REASON } else { 2 * (self.page.width() - INDENT) - LEAST_QUOTE }
    }

    /// The words of a sentence and their place, in one line.
    fn sentence(&mut self, told: &ToldTogether<'_>, sign: &str) {
        let place = short_place(told);
        let room = self.page.width().saturating_sub(columns(&place) + columns(sign) + 5);
        let title = clipped_title(told, room.max(QUOTE / 2));
        let style = claim_mark(told.first).1;
        let words = format!("{sign} {title}").trim().to_owned();
        self.page.ends(Piece::at(2, style, words), Piece::at(0, FAINT, place));
    }

    fn block(&mut self, block: &Block<'a>) {
        let are_above = !block.tables.is_empty()
            && block.tables.iter().all(|own| self.drawn.iter().any(|other| own.is_part_of(other)));
        if are_above {
            let quotes = self.quotes(&block.told, 2);
            return self.page.paragraph(2, 2, PLAIN, &format!("{quotes}: values above"));
        }
        let most = self.room.div_ceil(2) + 1;
        for told in block.told.iter().take(most) {
            self.sentence(told, "");
        }
        if let Some(more) = block.told.len().checked_sub(most).filter(|more| *more > 0) {
            self.page.paragraph(2, 2, FAINT, &format!("and {more} more"));
        }
        let Some(told) = block.told.first() else { return };
        let premise = prose(&told.first.meaning.premise);
        let is_refuted = told.first.outcome.verdict == Verdict::Refuted;
        if !premise.is_empty() && !is_refuted {
            let premise = format!("contradicted if one assumes: {premise}");
            let premise = clipped(&premise, self.longest());
            self.page.paragraph(INDENT, INDENT, PLAIN, &premise);
        }
        self.tables(&block.tables, block.tables.len());
        let mut words = Vec::new();
        if block.tables.is_empty() {
            for claims in told.by_reason().into_iter().take(self.room.div_ceil(3)) {
                words.extend(self.fact(claims[0]));
                words.push(clipped(&reason_of(claims[0]), self.longest()));
            }
        }
        if is_refuted {
            words.extend(told.notes().first().map(|note| clipped(&prose(note), self.longest())));
            let code = told.first.outcome.code.map(|code| format!("[{}]", code.id));
            match words.last_mut() {
                Some(last) => last.extend(code.map(|code| format!(" {code}"))),
                None => words.extend(code),
            }
        }
        for words in words {
            self.page.paragraph(INDENT, INDENT, PLAIN, &words);
        }
        for told in &block.told {
            for finding in told.claims().flat_map(|claim| self.remarks.on(&claim.id)) {
                let words = format!("! {}", clipped(&prose(&finding.message), REASON));
                self.page.paragraph(INDENT, INDENT + 2, PLAIN, &words);
            }
        }
    }

    /// The fact of a refuted claim. A long formula in words tells nobody anything; `--verbose` has it.
    fn fact(&self, claim: &ClaimReport) -> Option<String> {
        let fact = claim.meaning.fact.as_ref().map(|fact| visible(&fact.sentence))?;
        let most = 2 * (self.page.width() - INDENT) - LEAST_QUOTE;
        let is_refuted = claim.outcome.verdict == Verdict::Refuted;
        (is_refuted && columns(&fact) <= most).then(|| format!("fact: {fact}"))
    }

    /// The central claim, and whether it was tested.
    fn central(&mut self) {
        let Some(central) = central(self.post) else { return };
        let CentralFate { worst, claims, fate } = &central;
        let (sign, style) = claim_mark(worst);
        self.heading(sign, style, "CENTRAL CLAIM", fate);
        for one in told_together(claims).iter().take(self.room.div_ceil(2).max(2)) {
            self.sentence(one, "");
        }
        let tables = FactTable::all(claims.iter().flat_map(|claim| rows_of(claim)));
        self.tables(&tables, 2);
        if tables.is_empty() {
            let facts = claims.iter().filter_map(|claim| claim.meaning.fact.as_ref());
            for fact in facts.take(self.room.div_ceil(2).max(2)) {
                let fact = clipped(&visible(&fact.sentence), self.longest());
                self.page.paragraph(INDENT, INDENT + 2, PLAIN, &fact);
            }
        }
        if !worst.outcome.reason.is_empty() {
            let reason = clipped(&prose(&worst.outcome.reason), self.longest());
            self.page.paragraph(2, 2, PLAIN, &reason);
        }
    }

    /// The questions that a referee would ask, missing facts first.
    fn referee(&mut self) {
        let Some(referee) = &self.post.referee else { return };
        let asked = [
            ("missing fact", &referee.missing_facts),
            ("premise", &referee.load_bearing_premises),
            ("free choice", &referee.free_parameters),
        ];
        let counts = asked.iter().filter(|(_, items)| !items.is_empty());
        let counts: Vec<_> = counts.map(|(name, items)| wording::many(items.len(), name)).collect();
        if counts.is_empty() {
            return;
        }
        if self.post.central.is_empty() {
            self.page.blank();
        }
        self.inline("", BOLD, "A REFEREE WOULD ASK", &counts.join(" · "));
        let items = asked.iter().flat_map(|(name, items)| {
            items.iter().take(self.room / 3).map(move |item| (name, item))
        });
        for (name, item) in items.take(self.room.saturating_sub(ROOMY)) {
            let item = format!("{name}: {}", clipped(&prose(item), REASON / 2));
            self.page.paragraph(2, INDENT, PLAIN, &item);
        }
    }

    /// The undecided claims, by reason.
    fn open(&mut self) {
        let (meant, mut others) = by_meaning(self.post);
        // What the post stands on is told above.
        let central = central_claims(self.post);
        others.retain(|claim| !central.iter().any(|other| other.id == claim.id));
        let style = mark(Verdict::Inconclusive).1;
        if !meant.is_empty() {
            let mut blocks = lead::blocks(&self.remarks, &meant);
            blocks.sort_by_key(Block::effort);
            let most = self.room.div_ceil(2) + 2;
            let left: usize = blocks.iter().skip(most).map(|block| block.told.len()).sum();
            let aside = match left {
                0 => of_claims(&meant),
                _ => format!("{}; {left} more with --verbose", of_claims(&meant)),
            };
            self.heading("?", style, "DEPENDS ON WHAT IS MEANT", &aside);
            self.blocks(&blocks, most);
        }
        let mut groups: Vec<(&Code, Vec<&ClaimReport>)> = Vec::new();
        for claim in others {
            let Some(code) = claim.outcome.code else { continue };
            match groups.iter_mut().find(|(known, _)| known.id == code.id) {
                Some((_, group)) => group.push(claim),
                None => groups.push((code, vec![claim])),
            }
        }
        let order = [ONE_RUN, NO_THRESHOLD];
        let rank = |id: &str| order.iter().position(|known| *known == id).unwrap_or(order.len());
        groups.sort_by_key(|(code, group)| (rank(code.id), std::cmp::Reverse(group.len())));
        for (code, group) in groups {
            match code.id {
                ONE_RUN => {
                    let aside = format!("{}, noise unknown", of_claims(&group));
                    self.heading("?", style, "HOLDS AS PRINTED, ONE RUN PER ARM", &aside);
                    let rows = group.iter().flat_map(|claim| rows_of(claim));
                    let mut tables = FactTable::all(rows);
                    tables.iter_mut().for_each(|table| table.leave_out(&self.drawn));
                    tables.sort_by_key(|table| std::cmp::Reverse(table.size()));
                    self.tables(&tables, self.room.div_ceil(2));
                    let quotes = self.quotes(&told_together(&group), 2);
                    self.page.paragraph(2, 2, PLAIN, &quotes);
                }
                NO_THRESHOLD => {
                    let heading = "WORDS WITHOUT A THRESHOLD";
                    let quotes = self.quotes(&told_together(&group), heading.len() + 2 * INDENT);
                    self.inline("?", style, heading, &quotes);
                }
                _ => {
                    let told = told_together(&group);
                    if told.len() <= self.room.div_ceil(2) {
                        self.heading("?", style, "OPEN", code.meaning);
                        let blocks = lead::blocks(&self.remarks, &group);
                        self.blocks(&blocks, usize::MAX);
                        continue;
                    }
                    let before = code.meaning.len() + 3 * INDENT;
                    let count = of_claims(&group);
                    let quotes = self.quotes(&told, before + count.len());
                    self.inline(
                        "?",
                        style,
                        "OPEN",
                        &format!("{count}: {}: {quotes}", code.meaning),
                    );
                }
            }
        }
    }

    /// Sentences in one paragraph behind so many columns: as many as have room, and how many more there are.
    fn quotes(&self, told: &[ToldTogether<'_>], before: usize) -> String {
        let lines = self.room.div_ceil(3).min(MOST_QUOTED);
        let most = (self.page.width() * lines).saturating_sub(before + AND_MORE);
        let one = |told: &ToldTogether| {
            let place = short_place(told);
            let title = clipped_title(
                told,
                (QUOTE / 2).min(most.saturating_sub(columns(&place) + 3)).max(LEAST_QUOTE),
            );
            if place.is_empty() { title } else { format!("{title} ({place})") }
        };
        let mut words = String::new();
        for (at, next) in told.iter().map(one).enumerate() {
            if at > 0 && columns(&words) + 2 + columns(&next) > most {
                return format!("{words}; and {} more", told.len() - at);
            }
            words = if at == 0 { next } else { format!("{words}; {next}") };
        }
        words
    }

    /// Draws tables, with their arms in the order of those that stand above.
    fn tables(&mut self, tables: &[FactTable], most: usize) {
        for table in tables.iter().take(most) {
            let table = table.clone().ordered_like(&self.drawn);
            table.draw(&mut self.page, TABLE, self.room + ROWS, FAINT);
            self.drawn.push(table);
        }
    }

    /// The verified claims with an unanswered lint or a dispute.
    fn questioned(&mut self) {
        let claims = wording::ranked(self.post, Verdict::Verified);
        let claims: Vec<_> = claims.into_iter().filter(|claim| claim.is_questioned()).collect();
        if claims.is_empty() {
            return;
        }
        let style = claim_mark(claims[0]).1;
        self.heading(
            "!",
            style,
            "FOLLOWS, BUT THE WORDS MAY SAY SOMETHING ELSE",
            &of_claims(&claims),
        );
        let told = told_together(&claims);
        for one in told.iter().take(self.room) {
            self.sentence(one, "");
            let questions: Vec<_> =
                one.claims().map(wording::questions).filter(|words| !words.is_empty()).collect();
            self.page.paragraph(INDENT, INDENT, PLAIN, &clipped(&questions.join("; "), REASON));
        }
        self.more(told.len().saturating_sub(self.room));
    }

    fn unchecked(&mut self) {
        let claims = wording::ranked(self.post, Verdict::Unchecked);
        if claims.is_empty() {
            return;
        }
        let reasons = by_code(&claims).into_iter();
        let reasons: Vec<_> =
            reasons.map(|(code, count)| format!("{count}{GLUE}{}", code.meaning)).collect();
        let words = match reasons.as_slice() {
            [one] => one.replacen(GLUE, ": ", 1),
            several => format!("{}: {}", claims.len(), several.join("; ")),
        };
        self.inline("·", mark(Verdict::Unchecked).1, "NOT CHECKED", &words);
    }

    fn verified(&mut self) {
        let claims = wording::ranked(self.post, Verdict::Verified);
        let claims: Vec<_> = claims.into_iter().filter(|claim| !claim.is_questioned()).collect();
        if claims.is_empty() {
            return;
        }
        let readers = wording::readers(&claims);
        // One reader of all needs no count.
        let readers = readers.strip_prefix(&format!("{} ", claims.len())).unwrap_or(&readers);
        let rests_on = [wording::verified_on(&claims).as_str(), readers].map(str::to_owned);
        let rests_on: Vec<_> = rests_on.into_iter().filter(|part| !part.is_empty()).collect();
        let count = wording::many(claims.len(), "claim");
        let words = format!("{count}: {}", rests_on.join(" · "));
        self.inline("✓", mark(Verdict::Verified).1, "FOLLOWS FROM THE EVIDENCE", &words);
        let most = (self.page.width() - 2) * self.room.min(MOST_QUOTED) - AMONG.len();
        let what = quantities(&claims, most);
        if !what.is_empty() {
            self.page.paragraph(2, 2, FAINT, &format!("{AMONG}{what}"));
        }
    }

    /// The verdicts on signatures, or only the wrong ones; signatures are not claims.
    fn signatures(&mut self, wrong_only: bool) {
        let said =
            wording::signatures(self.post, |verdict| !wrong_only || verdict == Verdict::Refuted);
        if said.is_empty() {
            return;
        }
        self.heading("", BOLD, "SIGNATURES", "");
        for words in said {
            self.page.paragraph(2, INDENT, PLAIN, &words);
        }
    }

    /// A challenge, and findings of the post itself.
    fn below(&mut self) {
        if let Some(challenge) = &self.post.challenge {
            self.heading("", BOLD, "CHALLENGE", "");
            self.page.paragraph(2, 2, PLAIN, &wording::challenge(challenge));
        }
        remarks_below(&mut self.page, self.post, &self.remarks, false);
    }
}

/// The last lines of a post that is told in full.
pub(super) fn closing(page: &mut Page, post: &PostReport, is_refused: bool) {
    let (sign, style) = mark_of(post, is_refused);
    let words = format!("{sign} {}: {}", visible(&post.id), headline(post, is_refused));
    page.paragraph(0, 2, style, &words);
    counted(page, post);
}

/// The counts, and what was not looked at.
fn counted(page: &mut Page, post: &PostReport) {
    let counts = VerdictCounts::of(&post.claims);
    let mut words = vec![wording::counts(&counts)];
    words.extend(wording::excused(post).map(|left| format!("{left} excused")));
    let own = counts.with_own_numbers;
    words.extend((own > 0).then(|| format!("{own} verified with the post's own constants")));
    let away = post.texts.iter().filter(|text| !text.is_at_hand).count();
    if away > 0 {
        let texts = if away == 1 { "the text".to_owned() } else { format!("{away} texts") };
        words.push(format!("quotes not checked against {texts} (--text FILE)"));
    }
    if post.drafted > 0 {
        words.push(format!("{} not confirmed", wording::many(post.drafted, "draft")));
    }
    page.paragraph(0, 2, BOLD, &words.join(" · "));
    for words in post.texts.iter().filter_map(wording::unbound).chain(wording::hidden(post)) {
        page.paragraph(2, INDENT, PLAIN, &words);
    }
}

/// "§3, table 2", of a pointer its end.
fn short_place(told: &ToldTogether) -> String {
    let place = told.place();
    let place = place.strip_prefix("section ").map_or(place.clone(), |rest| format!("§{rest}"));
    match place.chars().count().checked_sub(PLACE).filter(|over| *over > 0) {
        Some(over) => format!("…{}", place.chars().skip(over + 1).collect::<String>()),
        None => place,
    }
}

/// The words of a sentence, of which the end may be left out.
fn clipped_title(told: &ToldTogether<'_>, most: usize) -> String {
    let title = told.title();
    match title.strip_prefix('"').and_then(|words| words.strip_suffix('"')) {
        Some(words) => format!("\"{}\"", clipped(words, most.saturating_sub(2))),
        None => clipped(&title, most),
    }
}

/// "10 claims in 7 sentences".
fn of_claims(claims: &[&ClaimReport]) -> String {
    let (count, sentences) = (claims.len(), told_together(claims).len());
    match sentences == count {
        true => wording::many(count, "claim"),
        false => format!("{count} claims in {}", wording::many(sentences, "sentence")),
    }
}

/// The numbers that hold, by quantity: those with the most digits first, as more of them can be wrong.
fn quantities(claims: &[&ClaimReport], most: usize) -> String {
    const SHOWN: usize = 3;
    let mut by_quantity: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let digits = |token: &&str| token.bytes().filter(u8::is_ascii_digit).count();
    let is_long = |claim: &&&ClaimReport| digits(&claim.claimed.as_str()) >= DIGITS;
    for claim in claims.iter().filter(is_long) {
        let [row] = rows_of(claim) else { continue };
        // A name of the post that stands for a number is no quantity.
        if row.quantity == row.series || row.cells.iter().any(|cell| cell.arm == row.quantity) {
            continue;
        }
        by_quantity.entry(&row.quantity).or_default().push(&claim.claimed);
    }
    let mut all: Vec<_> = by_quantity.into_iter().collect();
    all.sort_by_key(|(_, printed)| std::cmp::Reverse(printed.iter().map(digits).max()));
    let one = |(quantity, printed): &(&str, Vec<&str>)| {
        let mut tokens: Vec<String> = Vec::new();
        for token in printed.iter().map(|token| readable(token)) {
            if !tokens.contains(&token) {
                tokens.push(token);
            }
        }
        let more = if tokens.len() > SHOWN { " …" } else { "" };
        tokens.truncate(SHOWN);
        format!("{} {}{more}", visible(quantity), tokens.join(" / "))
    };
    let mut words = String::new();
    for group in all.iter().map(one) {
        let next = if words.is_empty() { group } else { format!("{words}; {group}") };
        if columns(&next) > most {
            break;
        }
        words = next;
    }
    words
}

/// A printed number with separators, where it has none.
fn readable(token: &str) -> String {
    let token = visible(token);
    if token.len() > 4 && token.bytes().all(|byte| byte.is_ascii_digit()) {
        grouped(&token)
    } else {
        token
    }
}
