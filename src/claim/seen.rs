//! The visible part of a text. Comments, link addresses, alternative texts of images, tag attributes, text that is declared
//! hidden, white or of size zero, footnotes without a reference, and the settings above a page are blanked. Code is visible
//! as it is, and so are the words of links and the contents of `<details>`: one click shows them, and the summary indicates
//! their presence.
//!
//! Every byte keeps its position, so positions in the visible text are positions in the file.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use crate::markup::{Brackets, Tag};
use crate::styles::StyleSheet;
use crate::tex::Groups;
use crate::words::words;

/// How a text is marked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Markup {
    /// Not at all: everything is seen.
    Plain,
    /// Markdown with HTML in it.
    Markdown,
    /// HTML.
    Html,
    /// TeX.
    Tex,
}

/// The replacement for a hidden byte between two characters that readers see side by side.
pub const HIDDEN: char = '\0';

/// The kinds of hidden parts.
const COMMENT: &str = "a comment";
const UNPRINTED: &str = "a TeX command without visible output";
const NOT_SHOWN: &str = "an element that is not shown";
const ALTERNATIVE: &str = "the alternative text of an image";
const FOLDED: &str = "folded by `<details>`, read as text";
const NOTE: &str = "a footnote without a reference";

/// The maximum number of bytes of the words of a link with a label.
const LONGEST_WORDS: usize = 1000;

impl Markup {
    /// The markup of a file, by the extension of its name; in other files everything is visible.
    pub fn of_name(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        let kinds =
            [("file.html", Self::Html), ("file.tex", Self::Tex), ("file.markdown", Self::Markdown)];
        let kind = kinds.into_iter().find(|(ends, _)| words().end_of(ends, &name).is_some());
        kind.map_or(Self::Plain, |(_, markup)| markup)
    }
}

/// A part of a text that readers do not see, or not at once. Link addresses, attributes and marks do not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiddenPart {
    /// Its position in bytes.
    pub span: Range<usize>,
    /// Its kind: "a comment".
    pub what: &'static str,
}

/// The visible text, and the hidden parts.
#[derive(Debug)]
pub struct SeenText {
    /// The text as readers see it, with the same number of bytes and lines.
    pub text: String,
    /// The hidden or folded parts, in order.
    pub hidden: Vec<HiddenPart>,
}

impl SeenText {
    /// Reads a text.
    pub fn of(text: &str, markup: Markup) -> Self {
        let (blanks, hidden) = match markup {
            Markup::Plain => (Vec::new(), Vec::new()),
            Markup::Tex => {
                let hidden = tex(text);
                (hidden.iter().map(|part| part.span.clone()).collect(), hidden)
            }
            Markup::Markdown | Markup::Html => hidden(text, markup == Markup::Markdown),
        };
        Self { text: blanked(text, &blanks), hidden }
    }
}

/// The visible text of a quote: without link addresses, comments and hidden parts, and without the `>` before the lines of
/// a quotation.
pub fn of_quote(quote: &str, markup: Markup) -> String {
    if !matches!(markup, Markup::Markdown | Markup::Html) {
        return quote.to_owned();
    }
    let page = Page { is_part: true, ..Page::default() };
    let scan = Scan::new(quote, markup == Markup::Markdown, &page).read();
    with_hidden(quote, &scan.hidden, |_, _| {})
}

/// The hidden parts of Markdown or HTML, and those of them that are more than marks. Style sheets, link addresses and
/// footnote references may follow the text that they apply to, so a page with any of these is read twice.
fn hidden(text: &str, is_markdown: bool) -> (Vec<Range<usize>>, Vec<HiddenPart>) {
    let unknown = Page::default();
    let Scan { found, hidden, parts, .. } = Scan::new(text, is_markdown, &unknown).read();
    if found.is_empty() {
        return (hidden, parts);
    }
    let Scan { hidden, parts, .. } = Scan::new(text, is_markdown, &found).read();
    (hidden, parts)
}

/// Whether a character has no width.
pub(crate) fn has_no_width(c: char) -> bool {
    matches!(
        c,
        '\0' | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{20e3}' | '\u{34f}' | '\u{180e}' | '\u{61c}'
    )
}

/// The text with blanks for some of its stretches.
fn blanked(text: &str, hidden: &[Range<usize>]) -> String {
    let is_solid = |c: Option<char>| c.is_some_and(|c| !c.is_whitespace());
    with_hidden(text, hidden, |seen, stretch| {
        let joins = is_solid(text[..stretch.start].chars().next_back())
            && is_solid(text[stretch.end..].chars().next());
        let blank = if joins { HIDDEN } else { ' ' };
        let bytes = text[stretch.clone()].bytes();
        seen.extend(bytes.map(|byte| if byte == b'\n' { '\n' } else { blank }));
    })
}

/// The text with some parts replaced, which are in order.
fn with_hidden(
    text: &str,
    hidden: &[Range<usize>],
    put: impl Fn(&mut String, &Range<usize>),
) -> String {
    let mut seen = String::with_capacity(text.len());
    let mut at = 0;
    for stretch in hidden.iter().filter(|stretch| !stretch.is_empty()) {
        if stretch.start >= at {
            seen.push_str(&text[at..stretch.start]);
            put(&mut seen, stretch);
            at = stretch.end;
        }
    }
    seen.push_str(&text[at..]);
    seen
}

/// The parts that TeX does not print: comments, and text hidden by commands.
fn tex(text: &str) -> Vec<HiddenPart> {
    let groups = Groups::of(text);
    let mut hidden = Vec::new();
    let mut hide = |span: Range<usize>, what| hidden.push(HiddenPart { span, what });
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let mut blocks = words().pairs("comment_of_tex");
        if let Some((open, close)) = blocks.find(|(open, _)| rest.starts_with(open)) {
            let start = at + open.len();
            let end = text[start..].find(close).map_or(text.len(), |end| start + end + close.len());
            hide(at..end, COMMENT);
            at = end;
        } else if rest.starts_with("\\end{document}") {
            hide(at..text.len(), "after the end of the document");
            at = text.len();
        } else if let Some(unseen) = groups.hidden(text, at) {
            at = unseen.end;
            hide(unseen, UNPRINTED);
        } else if let Some(escaped) = rest.strip_prefix('\\') {
            at += 1 + next_width(escaped);
        } else if rest.starts_with('%') {
            let end = line_end(text, at);
            hide(at..end, COMMENT);
            at = end;
        } else {
            at += next_width(rest);
        }
    }
    hidden
}

/// Information about a page collected in one pass.
#[derive(Debug, Default)]
struct Page {
    styles: StyleSheet,
    /// The labels of link addresses: `[1]: https://…`.
    labels: BTreeSet<String>,
    /// The notes that are written, `[^1]: words`, with those that their words point to; and the notes that the text points to.
    notes: BTreeMap<String, BTreeSet<String>>,
    pointed: BTreeSet<String>,
    /// Whether it is part of a larger page, whose labels are unknown and whose first line may start before it.
    is_part: bool,
}

impl Page {
    fn is_empty(&self) -> bool {
        self.styles.is_empty() && self.labels.is_empty() && self.notes.is_empty()
    }

    /// The footnotes that the text refers to.
    fn reached(&self) -> BTreeSet<&str> {
        let mut reached = BTreeSet::new();
        let mut open: Vec<&str> = self.pointed.iter().map(String::as_str).collect();
        while let Some(label) = open.pop() {
            if reached.insert(label) {
                open.extend(self.notes.get(label).into_iter().flatten().map(String::as_str));
            }
        }
        reached
    }

    fn has_label(&self, label: &str) -> bool {
        if self.is_part {
            !label.contains('^')
        } else {
            self.labels.contains(&label.to_lowercase())
        }
    }
}

/// The next positions of marks. A later search continues from there.
#[derive(Default)]
struct NextMarks(HashMap<&'static str, AskedMark>);

struct AskedMark {
    from: usize,
    found: Option<usize>,
}

impl NextMarks {
    fn from(&mut self, mark: &'static str, text: &str, at: usize) -> Option<usize> {
        let is_known =
            |asked: &&AskedMark| asked.from <= at && asked.found.is_none_or(|found| found >= at);
        if let Some(asked) = self.0.get(mark).filter(is_known) {
            return asked.found;
        }
        let found = text[at..].find(mark).map(|found| at + found);
        self.0.insert(mark, AskedMark { from: at, found });
        found
    }
}

/// One pass over Markdown or HTML.
struct Scan<'t> {
    text: &'t str,
    is_markdown: bool,
    /// The known information about the page.
    page: &'t Page,
    /// The information found in this pass.
    found: Page,
    hidden: Vec<Range<usize>>,
    /// The hidden parts that are more than marks.
    parts: Vec<HiddenPart>,
    groups: Groups,
    /// The referenced footnotes of the page, if they are known.
    reached: Option<BTreeSet<&'t str>>,
    /// The note that the lines belong to.
    note: Option<String>,
    /// The open elements with their own background, each with the number of open elements of its name inside it.
    grounds: Vec<(String, usize)>,
    /// The starts of the open folded elements.
    folded: Vec<usize>,
    closed: Brackets,
    next: NextMarks,
    /// The number of open brackets in this paragraph: a link address only follows a bracket.
    brackets: usize,
    /// Whether the lines belong to a list, in which fences are indented.
    in_list: bool,
}

impl<'t> Scan<'t> {
    fn new(text: &'t str, is_markdown: bool, page: &'t Page) -> Self {
        Self {
            text,
            is_markdown,
            page,
            found: Page::default(),
            hidden: Vec::new(),
            parts: Vec::new(),
            groups: Groups::of(text),
            reached: (!page.notes.is_empty()).then(|| page.reached()),
            note: None,
            grounds: Vec::new(),
            folded: Vec::new(),
            closed: Brackets::of(text),
            next: NextMarks::default(),
            brackets: 0,
            in_list: false,
        }
    }

    /// Finds hidden parts, and information about the page.
    fn read(mut self) -> Self {
        let mut at = if self.is_markdown && !self.page.is_part { self.settings() } else { 0 };
        let mut line_begins = !self.page.is_part;
        while at < self.text.len() {
            if line_begins {
                let begun = at;
                at = self.quotation(at);
                if let Some(end) = self.line(at, at > begun) {
                    at = end;
                    continue;
                }
                if at >= self.text.len() {
                    break;
                }
            }
            line_begins = self.text[at..].starts_with('\n');
            at = self.step(at);
        }
        self.unfold(self.text.len());
        self.parts.sort_by_key(|part| part.span.start);
        self
    }

    /// Ends a folded part. Folds inside other folds are not reported.
    fn unfold(&mut self, end: usize) {
        let start = self.folded.first().copied();
        self.folded.clear();
        self.parts.extend(start.map(|start| HiddenPart { span: start..end, what: FOLDED }));
    }

    /// After the marks `>` that a line of a quotation begins with.
    fn quotation(&mut self, at: usize) -> usize {
        let line = &self.text[at..];
        let bare = line.trim_start_matches(' ');
        if !self.is_markdown || line.len() - bare.len() > 3 || !bare.starts_with('>') {
            return at;
        }
        let behind = bare.trim_start_matches(['>', ' ']);
        let marks = bare[..bare.len() - behind.len()].trim_end_matches(' ').len();
        let mark = at + line.len() - bare.len();
        self.hide(mark..mark + marks)
    }

    fn hide(&mut self, stretch: Range<usize>) -> usize {
        let end = stretch.end;
        self.hidden.push(stretch);
        end
    }

    /// Hides a part that is more than a mark.
    fn hide_part(&mut self, span: Range<usize>, what: &'static str) -> usize {
        self.parts.push(HiddenPart { span: span.clone(), what });
        self.hide(span)
    }

    /// The settings at the top of a page, of which sites show the title and descriptions.
    fn settings(&mut self) -> usize {
        let fence = self.text.lines().next().unwrap_or_default();
        if !matches!(fence, "---" | "+++") {
            return 0;
        }
        let mut at = fence.len() + 1;
        let mut hidden: Vec<_> = std::iter::once(0..fence.len()).collect();
        while at < self.text.len() {
            let end = line_end(self.text, at);
            let line = self.text[at..end].trim_end();
            if line == fence || (fence == "---" && line == "...") {
                self.hidden = hidden;
                return self.hide(at..end);
            }
            let key = line.split([':', '=']).next().unwrap_or_default().trim();
            let is_shown = words().is_in("page.shown_settings", key);
            hidden.push(at..if is_shown { at + key.len() + 1 } else { end });
            at = end + 1;
        }
        0
    }

    /// The role of a whole line: fenced code, or a link label.
    fn line(&mut self, at: usize, is_quotation: bool) -> Option<usize> {
        if !self.is_markdown {
            return None;
        }
        let line = &self.text[at..line_end(self.text, at)];
        let bare = line.trim_start_matches([' ', '\t']);
        let indent = line.len() - bare.len();
        if bare.trim().is_empty() {
            self.brackets = 0;
            return None;
        }
        let numberless = bare.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_item = ["- ", "* ", "+ "].iter().any(|mark| bare.starts_with(mark))
            || numberless.len() < bare.len() && numberless.starts_with(". ");
        self.in_list = is_item || self.in_list && indent > 0;
        let may_open = indent < 4 || self.in_list;
        if may_open && let Some(end) = fenced(self.text, at, bare, is_quotation) {
            // A fence of formulas is typeset, not code.
            let is_set = bare.trim_start_matches(['`', '~']).trim_start().starts_with("math");
            let mut next = at;
            while let Some(found) = self.text[next..end].find('\\').filter(|_| is_set) {
                next = self.command(next + found).unwrap_or(next + found + 1).min(end);
            }
            return Some(end);
        }
        if indent == 0 && is_blank_before(self.text, at) {
            self.note = None;
        }
        if indent < 4
            && let Some(end) = self.note(at, bare, line.len())
        {
            return Some(end);
        }
        let (label, target) = (indent < 4).then(|| definition(line)).flatten()?;
        self.found.labels.insert(label.to_lowercase());
        let start = at + indent + 1;
        self.hide(start..start + label.len());
        Some(self.hide(at + target..at + line.len()))
    }

    /// A footnote, `[^1]: words`, which is not shown without a reference.
    fn note(&mut self, at: usize, line: &str, length: usize) -> Option<usize> {
        let (label, _) = line.strip_prefix("[^")?.split_once("]:")?;
        if label.is_empty() || label.contains([']', ' ']) || self.page.is_part {
            return None;
        }
        let label = label.to_lowercase();
        let is_shown = self.reached.as_ref().is_none_or(|reached| reached.contains(label.as_str()));
        // Of two footnotes with the same label, the first is shown.
        let is_first = !self.found.notes.contains_key(&label);
        self.found.notes.entry(label.clone()).or_default();
        self.note = Some(label);
        if is_shown && is_first {
            return None;
        }
        let mut end = at + length;
        while let Some(next) = self.text.get(end + 1..).filter(|rest| !rest.is_empty()) {
            let line = next.split('\n').next().unwrap_or_default();
            let is_inside = line.starts_with("    ") || line.starts_with('\t');
            let goes_on = !line.starts_with("[^") && !is_blank_before(self.text, end + 1);
            if !(is_inside || goes_on || line.trim().is_empty()) {
                break;
            }
            end += 1 + line.len();
        }
        Some(self.hide_part(at..end, NOTE))
    }

    /// Records that the text refers to a footnote with `[^1]`.
    fn point(&mut self, at: usize) {
        let close = self.closed.close(at).filter(|close| close - at < LONGEST_WORDS);
        let inside = close.and_then(|close| self.text.get(at + 1..close));
        let Some(label) = inside.and_then(|inside| inside.strip_prefix('^')) else { return };
        let pointed = match &self.note {
            Some(note) => self.found.notes.entry(note.clone()).or_default(),
            None => &mut self.found.pointed,
        };
        pointed.insert(label.to_lowercase());
    }

    /// The part hidden by a TeX command in a formula, and the position after it.
    fn command(&mut self, at: usize) -> Option<usize> {
        let unseen = self.groups.hidden(self.text, at)?;
        Some(self.hide_part(unseen, UNPRINTED))
    }

    /// The alternative text of an image: `![words](address)`.
    fn image(&mut self, at: usize) -> Option<usize> {
        let close = self.closed.close(at + 1)?;
        let behind = self.text.as_bytes().get(close + 1)?;
        let target = self.closed.close(close + 1).and_then(|end| self.text.get(close + 2..end));
        let is_image = match behind {
            b'(' => is_address(target?),
            b'[' => self.page.has_label(target?),
            _ => !self.page.is_part && self.page.has_label(&self.text[at + 2..close]),
        };
        if !is_image {
            return None;
        }
        self.hide_part(at + 2..close, ALTERNATIVE);
        Some(match target {
            Some(target) if matches!(behind, b'(' | b'[') => {
                self.hide(close + 2..close + 2 + target.len()) + 1
            }
            _ => close + 1,
        })
    }

    /// Processes one position, and returns the next one.
    fn step(&mut self, at: usize) -> usize {
        let rest = &self.text[at..];
        match rest.as_bytes()[0] {
            b'\\' => match self.command(at) {
                Some(end) => end,
                None if self.is_markdown => at + 1 + next_width(&rest[1..]),
                None => at + 1,
            },
            b'!' if self.is_markdown && rest.starts_with("![") => self.image(at).unwrap_or(at + 1),
            b'`' if self.is_markdown => self.code_end(at),
            b'[' => {
                self.point(at);
                self.brackets += 1;
                at + 1
            }
            b']' if self.is_markdown && self.brackets > 0 => {
                self.brackets -= 1;
                self.behind_words(at + 1)
            }
            b'<' => self.tag(at),
            b'{' => match self.comment_of_site(at) {
                Some(end) => self.hide_part(at..end, COMMENT),
                None => at + 1,
            },
            _ => at + next_width(rest),
        }
    }

    /// The address of a link, or its label, after its words.
    fn behind_words(&mut self, at: usize) -> usize {
        let Some(close) = self.closed.close(at) else { return at };
        let inside = &self.text[at + 1..close];
        let is_target = match self.text.as_bytes()[at] {
            b'(' => is_address(inside),
            _ => self.page.has_label(inside) && self.follows_words(at),
        };
        if is_target { self.hide(at + 1..close) + 1 } else { at }
    }

    /// Whether the bracket closed before a position contains words: `[MoE][1]`, but not `a[i][1]`.
    fn follows_words(&self, at: usize) -> bool {
        let far = at.saturating_sub(LONGEST_WORDS);
        let open = self.text.as_bytes()[far..at].iter().rposition(|byte| *byte == b'[');
        open.is_some_and(|open| !self.text[..far + open].ends_with(char::is_alphanumeric))
    }

    /// A comment, or a tag: its attributes, and its contents if they are not shown.
    fn tag(&mut self, at: usize) -> usize {
        if let Some(end) = self.comment(at) {
            return self.hide_part(at..end, COMMENT);
        }
        let rest = &self.text[at..];
        let Some(tag) = Tag::read(rest) else { return at + 1 };
        let end = at + tag.length;
        if is_hiding(&tag, &self.page.styles, !self.grounds.is_empty()) {
            let close = close_of(self.text, end, &tag.name);
            if matches!(tag.name.as_str(), "style" | "head") {
                self.sheets(at..close);
            }
            return if words().is_in("html.of_machines", &tag.name) {
                self.hide(at..close)
            } else {
                self.hide_part(at..close, NOT_SHOWN)
            };
        }
        if tag.name == "details" {
            let is_folded = tag.attributes.iter().all(|(name, _)| name != "open");
            match tag.is_closing {
                true if self.folded.len() > 1 => drop(self.folded.pop()),
                true => self.unfold(at),
                false if is_folded || !self.folded.is_empty() => self.folded.push(at),
                false => {}
            }
        }
        self.ground(&tag);
        if !tag.inside.trim_matches(['/', ' ']).is_empty() {
            self.hide(end - 1 - tag.inside.len()..end - 1);
        }
        end
    }

    /// Records whether the following text has its own background.
    fn ground(&mut self, tag: &Tag<'_>) {
        if tag.is_alone() || words().is_in("html.void", &tag.name) {
            return;
        }
        let inside = self.grounds.last_mut().filter(|(name, _)| *name == tag.name);
        match inside {
            Some((_, 0)) if tag.is_closing => drop(self.grounds.pop()),
            Some((_, depth)) if tag.is_closing => *depth -= 1,
            Some((_, depth)) => *depth += 1,
            None if !tag.is_closing && self.page.styles.has_ground(tag) => {
                self.grounds.push((tag.name.clone(), 0));
            }
            None => {}
        }
    }

    /// The style sheets in hidden parts.
    fn sheets(&mut self, hidden: Range<usize>) {
        let part = self.text[hidden].to_ascii_lowercase();
        for sheet in part.split("<style").skip(1) {
            let sheet = sheet.split("</style").next().unwrap_or_default();
            self.found.styles.read(sheet.split_once('>').map_or("", |(_, css)| css));
        }
    }

    fn begins_line(&self, at: usize) -> bool {
        let before = &self.text.as_bytes()[at.saturating_sub(4)..at];
        let spaces = before.iter().rev().take_while(|byte| **byte == b' ').count();
        spaces < 4 && (spaces == at || before[before.len() - spaces - 1] == b'\n')
    }

    /// The end of an HTML comment or declaration. In a Markdown paragraph it ends with the paragraph, or is not a comment.
    fn comment(&mut self, at: usize) -> Option<usize> {
        let text = self.text;
        let in_paragraph = self.is_markdown && !self.begins_line(at);
        if let Some(rest) = text[at..].strip_prefix("<!--") {
            let start = at + 4;
            if let Some(short) = [">", "->"].iter().find(|end| rest.starts_with(**end)) {
                return Some(start + short.len());
            }
            let mut end_of = |mark| Some(self.next.from(mark, text, start)? + mark.len());
            let end = ["-->", "--!>"].into_iter().filter_map(&mut end_of).min();
            let paragraph = self.next.from("\n\n", text, start);
            return match end {
                Some(end) if in_paragraph && paragraph.is_some_and(|last| last < end) => None,
                Some(end) => Some(end),
                None => (!in_paragraph).then_some(text.len()),
            };
        }
        let rest = &text[at..];
        let is_declaration = rest.starts_with("<?")
            || rest.strip_prefix("<!").is_some_and(|rest| rest.starts_with(char::is_alphabetic));
        let end = is_declaration.then(|| self.next.from(">", text, at)).flatten()?;
        Some(end + 1)
    }

    /// The end of a comment in a template language: `{% comment %}`, `{# #}`, `{/* */}`.
    fn comment_of_site(&mut self, at: usize) -> Option<usize> {
        let rest = &self.text[at..];
        let mut all = words().pairs("comment_of_site");
        let (open, close) = all.find(|(open, _)| rest.starts_with(open))?;
        Some(self.next.from(close, self.text, at + open.len())? + close.len())
    }

    /// The end of inline code, or of the marks if they open none.
    fn code_end(&mut self, at: usize) -> usize {
        let text = self.text;
        let width = |at: usize| text[at..].bytes().take_while(|byte| *byte == b'`').count();
        let own = width(at);
        let paragraph = self.next.from("\n\n", text, at).unwrap_or(text.len());
        let mut next = at + own;
        while let Some(found) = text.get(next..paragraph).and_then(|rest| rest.find('`')) {
            next += found;
            let other = width(next);
            next += other;
            if other == own {
                return next;
            }
        }
        at + own
    }
}

/// Whether an element hides its contents.
fn is_hiding(tag: &Tag<'_>, styles: &StyleSheet, is_on_ground: bool) -> bool {
    if tag.is_closing || tag.is_alone() || words().is_in("html.void", &tag.name) {
        return false;
    }
    words().is_in("html.not_shown", &tag.name)
        || tag.attributes.iter().any(|(name, _)| name == "hidden" || name == "popover")
        || tag.name == "dialog" && tag.attributes.iter().all(|(name, _)| name != "open")
        || styles.hides(tag, is_on_ground)
}

/// After the tag that closes an element, or the end of the text.
fn close_of(text: &str, start: usize, name: &str) -> usize {
    let (mut at, mut depth) = (start, 1usize);
    while let Some(next) = text[at..].find('<') {
        at += next;
        match Tag::read(&text[at..]).filter(|tag| tag.name == name) {
            Some(tag) if tag.is_closing => {
                depth -= 1;
                at += tag.length;
                if depth == 0 {
                    return at;
                }
            }
            Some(tag) => {
                depth += usize::from(!tag.is_alone());
                at += tag.length;
            }
            None => at += 1,
        }
    }
    text.len()
}

/// The end of fenced code, if a line opens a fence.
fn fenced(text: &str, at: usize, line: &str, is_quotation: bool) -> Option<usize> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let width = line.find(|c| c != mark).unwrap_or(line.len());
    if width < 3 || (mark == '`' && line[width..].contains('`')) {
        return None;
    }
    let mut next = line_end(text, at) + 1;
    while next < text.len() {
        let end = line_end(text, next);
        let mut line = text[next..end].trim();
        if is_quotation {
            // Code in a quotation ends with it.
            let Some(rest) = line.strip_prefix('>') else { return Some(next - 1) };
            line = rest.trim_start_matches(['>', ' ']);
        }
        if line.len() >= width && line.chars().all(|c| c == mark) {
            return Some(end);
        }
        next = end + 1;
    }
    Some(text.len())
}

/// Whether a text is an address, with a title after it or without one.
fn is_address(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let target = words.next().unwrap_or_default();
    let is_title = words.next().is_none_or(|title| title.starts_with(['"', '\'', '(']));
    is_title && target.contains(|c: char| c.is_alphabetic() || "/#".contains(c))
}

/// The label of a line `[label]: address`, and the start of the address; a footnote, `[^1]:`, is text.
fn definition(line: &str) -> Option<(&str, usize)> {
    let label = line.trim_start().strip_prefix('[').filter(|rest| !rest.starts_with('^'))?;
    let end = label.find("]:")?;
    let target = &label[end + 2..];
    let is_one = !label[..end].contains(['[', ']']) && is_address(target);
    is_one.then_some((&label[..end], line.len() - target.len()))
}

/// Whether the line before the one that begins at a place is empty.
fn is_blank_before(text: &str, at: usize) -> bool {
    let before = text[..at].strip_suffix('\n').unwrap_or_default();
    before.rsplit('\n').next().is_none_or(|line| line.trim().is_empty())
}

fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |end| at + end)
}

fn next_width(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: &str, markup: Markup) -> String {
        let seen = SeenText::of(text, markup).text;
        assert_eq!(seen.len(), text.len());
        seen.replace(HIDDEN, "").split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn readers_of_markdown_see_no_comments_and_no_addresses() {
        for (text, expected) in [
            ("a <!-- 1.5 --> b", "a b"),
            ("a <!--\n| 1.5 |\n--> b", "a b"),
            ("1.7<!-- x -->016", "1.7016"),
            ("<!-- 1.5", ""),
            ("a <!-- 1.5", "a <!-- 1.5"),
            ("<!--> 1.5 <!-- -->", "1.5"),
            ("`<!-- 1.5 -->`", "`<!-- 1.5 -->`"),
            ("```\n<!-- 1.5 -->\n```\n<!-- 2 -->c", "``` <!-- 1.5 --> ``` c"),
            (r"\<!-- 1.5 -->", r"\<!-- 1.5 -->"),
            ("[the 5](x/1.5 \"7\") and ![9](p1.5.png)", "[the 5]() and ![]()"),
            (
                "[![1.5](a.png)](x.html) ![1.5][p] ![no](5)\n\n[p]: x.png",
                "[![]()]() ![][] ![no](5) []:",
            ),
            (
                r"$\phantom{1.5}$ \hphantom{1.6} `\phantom{5}`",
                r"$\phantom{}$ \hphantom{} `\phantom{5}`",
            ),
            ("```math\n\\phantom{1.5} 2\n```\n", "```math \\phantom{} 2 ```"),
            (
                "A[^a] b\n\n[^a]: 1.5\n    1.6\n\n[^b]: 1.7\nand 1.8\n\n    1.9\n\nend 2",
                "A[^a] b [^a]: 1.5 1.6 end 2",
            ),
            ("A b\n\n[^a]: 1.5[^b]\n\n[^b]: 1.7[^a]\n", "A b"),
            ("A[^a]\n\n[^a]: 1.5[^b]\n\n[^b]: 1.7\n\n[^a]: 1.8\n", "A[^a] [^a]: 1.5[^b] [^b]: 1.7"),
            ("<span style=\"color:white\">1.5</span><font color='#fff'>1.6</font>2", "2"),
            (
                "<div style='background:#222'><div>a</div><b style='color:#fff'>1.5</b></div><b style='color:#fff'>1.6</b>",
                "<div><div>a</div><b>1.5</b></div>",
            ),
            (
                "<details><summary>All</summary>1.5</details><dialog>1.6</dialog>",
                "<details><summary>All</summary>1.5</details>",
            ),
            ("[loss](1.55) of a[i](5)", "[loss](1.55) of a[i](5)"),
            ("It[^1].\n\n[a]: http://x/1.5 \"7\"\n[^1]: 1.5 of it", "It[^1]. []: [^1]: 1.5 of it"),
            ("[//]: # (1.5)", "[]:"),
            ("The [MoE][1] at 5\n\n[1]: http://x/9", "The [MoE][] at 5 []:"),
            ("The [MoE][1] at 5, a[i][1]\n\n[2]: http://x/9", "The [MoE][1] at 5, a[i][1] []:"),
            ("a[i][1]\n\n[1]: http://x/9", "a[i][1] []:"),
            ("> is 1.7,\n> > the 5\n>\nlazy > 3", "is 1.7, the 5 lazy > 3"),
            ("> ```\n> <!-- 5 -->\n> ```\n> <!-- 6 -->\nb", "``` > <!-- 5 --> > ``` b"),
            ("> ```\n> 5\nc <!-- 6 -->", "``` > 5 c"),
            (
                "<style>.x { display : none }</style>a <b class=\"y x\">5</b><i class=y>6</i>",
                "a <i>6</i>",
            ),
            ("<b class=x>5</b><style>.x{opacity:0}</style>", ""),
            (
                "`<style>.x{opacity:0}</style>` <b class=x>5</b>",
                "`<style>.x{opacity:0}</style>` <b>5</b>",
            ),
            ("<i style=\"color: transparent\">5</i><i style=\"color: red\">6</i>", "<i>6</i>"),
            ("[1]: Smith 2020, with 5 more", "[1]: Smith 2020, with 5 more"),
            ("---\ntitle: 5 runs\nweight: 7\n---\n8", "5 runs 8"),
            ("---\nweight: 7\n8", "--- weight: 7 8"),
            ("<td title=\"1.5\">1.7</td>", "<td>1.7</td>"),
            ("a <b and 1.5> c", "a <b and 1.5> c"),
            ("<p hidden>1.5 <p>2</p></p>3", "3"),
            ("<span style=\"display: none\">1.5</span>3", "3"),
            ("<script>x = 1.5</script>3 <img src='1.5.png'>", "3 <img>"),
            ("{/* 1.5 */}2 {% comment %}3{% endcomment %}4", "2 4"),
            ("x < 5 and y > 3", "x < 5 and y > 3"),
            ("<https://x.org/1.5>", "<https://x.org/1.5>"),
        ] {
            assert_eq!(words(text, Markup::Markdown), expected, "{text}");
        }
    }

    #[test]
    fn each_markup_has_its_own_comments() {
        for (name, text, expected) in [
            ("a.txt", "<!-- 1.5 -->", "<!-- 1.5 -->"),
            ("a.json", "[5](x1)", "[5](x1)"),
            ("a.html", "a <!-- 5\n\n6 --> `<!-- 7 -->`", "a ``"),
            ("a.html", "[5](x1)", "[5](x1)"),
            ("a.html", "<head><style>.x{opacity:0}</style></head><p class='x'>5</p>6", "6"),
            ("a.html", "> 5", "> 5"),
            ("a.tex", "5\\% of % 1.5\nb \\iffalse 3 \\fi", "5\\% of b"),
            (
                "a.tex",
                "a \\phantom{1.5} {\\color{white} 2 {3} 4} b \\end{document} 6",
                "a \\phantom{} {\\color{white}} b",
            ),
        ] {
            assert_eq!(words(text, Markup::of_name(name)), expected, "{text}");
        }
    }

    #[test]
    fn quotes_are_seen_as_their_text_is() {
        for (quote, expected) in [
            ("The [MoE](https://x.org/123) at **1.702**", "The [MoE]() at **1.702**"),
            ("The [MoE][1] at 1.702", "The [MoE][] at 1.702"),
            ("is a[i](5) and a[0][1]", "is a[i](5) and a[0][1]"),
            ("> 1.702,\n> the > 3", "> 1.702,\n the > 3"),
            ("1.702<!-- 5 --> it", "1.702 it"),
            ("5 [1.7] (x)", "5 [1.7] (x)"),
        ] {
            assert_eq!(of_quote(quote, Markup::Markdown), expected);
            assert_eq!(of_quote(quote, Markup::Plain), quote);
        }
    }

    proptest! {
        #[test]
        fn every_byte_keeps_its_place(parts in prop::collection::vec(prop::sample::select(vec![
            "<!--", "-->", "`", "```\n", "\n", "[a]", "(x", ")", "é", "<b", " c='", "'", ">", "1.5", "---\n", "\\", "{/*",
            "*/}", "[a]: x", "<p hidden>", "</p>", " ", "%", "\\iffalse", "> ", "][", "]: ",
            "<style>.x{opacity:0}</style>", "<i class=x>",
        ]), 0..14)) {
            let text = parts.concat();
            for markup in [Markup::Plain, Markup::Markdown, Markup::Html, Markup::Tex] {
                let seen = SeenText::of(&text, markup).text;
                prop_assert_eq!(seen.len(), text.len());
                prop_assert_eq!(seen.matches('\n').count(), text.matches('\n').count());
            }
        }
    }
}
