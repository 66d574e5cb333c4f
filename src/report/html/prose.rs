//! The text of a post as a page: rendered Markdown, other texts verbatim.
//!
//! The text has no active content: its own HTML is shown as text, images as their alt text, and links lead only to web addresses.

use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::escaped::escaped;
use super::marks::NumberMarks;

/// Adds a text that reads as it is written.
pub fn plain(page: &mut String, text: &str, marks: &mut NumberMarks<'_>) {
    page.push_str("<pre class=\"written\">");
    marks.add(page, text, 0..text.len(), text);
    page.push_str("</pre>\n");
}

/// Adds Markdown below a heading of a level that has a title, without a first heading of these words.
pub fn markdown(
    page: &mut String,
    text: &str,
    (level, title): (usize, &str),
    marks: &mut NumberMarks<'_>,
) {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let told = told_title(text, title);
    let mut writer = ProseWriter { above: level - usize::from(told > 0), ..ProseWriter::default() };
    for (event, place) in Parser::new_ext(text, options).into_offset_iter() {
        if place.end <= told {
            continue;
        }
        match event {
            Event::Start(tag) => writer.start(page, &tag),
            Event::End(end) => writer.end(page, end),
            _ if writer.is_hidden => {}
            Event::Text(words) => marks.add(page, text, place, &words),
            Event::Code(words) => {
                page.push_str("<code>");
                // The marks around code are no part of it.
                let start =
                    text[place.clone()].find(&*words).map_or(place.start, |at| place.start + at);
                marks.add(page, text, start..start + words.len(), &words);
                page.push_str("</code>");
            }
            Event::Html(html) | Event::InlineHtml(html) => match html.trim() {
                "<br>" | "<br/>" | "<br />" => page.push_str("<br>"),
                comment if comment.starts_with("<!--") => {}
                _ => marks.add(page, text, place, &html),
            },
            Event::SoftBreak => page.push('\n'),
            Event::HardBreak => page.push_str("<br>\n"),
            Event::Rule => page.push_str("<hr>\n"),
            Event::TaskListMarker(is_done) => page.push_str(if is_done { "☑ " } else { "☐ " }),
            Event::FootnoteReference(label) => {
                page.push_str(&format!("<sup>[{}]</sup>", escaped(&label)));
            }
            Event::InlineMath(words) | Event::DisplayMath(words) => {
                page.push_str(&escaped(&words));
            }
        }
    }
}

/// Where a text goes on behind a first line that is its title.
fn told_title(text: &str, title: &str) -> usize {
    let first = text.lines().next().unwrap_or_default();
    let is_title = first.strip_prefix("# ").is_some_and(|words| words.trim() == title.trim());
    // With the line end, which belongs to the heading.
    if is_title { first.len() + 1 } else { 0 }
}

/// The elements that are open while a text is written.
#[derive(Default)]
struct ProseWriter {
    /// By so many levels its headings stand below those of the text.
    above: usize,
    columns: Vec<Alignment>,
    column: usize,
    is_head: bool,
    /// Settings above a text.
    is_hidden: bool,
    /// Whether each open link leads somewhere.
    links: Vec<bool>,
}

impl ProseWriter {
    fn start(&mut self, page: &mut String, tag: &Tag<'_>) {
        match tag {
            Tag::Paragraph => page.push_str("<p>"),
            Tag::Heading { level, .. } => page.push_str(&format!("<h{}>", self.below(*level))),
            Tag::BlockQuote(_) => page.push_str("<blockquote>\n"),
            Tag::CodeBlock(CodeBlockKind::Fenced(_) | CodeBlockKind::Indented) => {
                page.push_str("<pre tabindex=\"0\"><code>");
            }
            Tag::HtmlBlock => page.push_str("<pre class=\"written\">"),
            Tag::List(Some(first)) => page.push_str(&format!("<ol start=\"{first}\">\n")),
            Tag::List(None) => page.push_str("<ul>\n"),
            Tag::Item => page.push_str("<li>"),
            Tag::FootnoteDefinition(label) => {
                page.push_str(&format!("<aside><p>[{}]</p>", escaped(label)));
            }
            Tag::Table(columns) => {
                self.columns.clone_from(columns);
                // A table that is too wide can be moved by keys, too.
                page.push_str("<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"table\"><table>\n");
            }
            Tag::TableHead => {
                (self.is_head, self.column) = (true, 0);
                page.push_str("<thead><tr>");
            }
            Tag::TableRow => {
                self.column = 0;
                page.push_str("<tr>");
            }
            Tag::TableCell => self.cell(page),
            Tag::Emphasis => page.push_str("<em>"),
            Tag::Strong => page.push_str("<strong>"),
            Tag::Strikethrough => page.push_str("<del>"),
            Tag::Link { dest_url, .. } => {
                let leads = ["https://", "http://"].iter().any(|start| dest_url.starts_with(start));
                self.links.push(leads);
                if leads {
                    let address = escaped(dest_url);
                    page.push_str(&format!(
                        "<a href=\"{address}\" rel=\"noopener noreferrer nofollow\">"
                    ));
                }
            }
            Tag::Image { .. } => page.push_str("<span class=\"image\">[image: "),
            Tag::MetadataBlock(_) => self.is_hidden = true,
            _ => {}
        }
    }

    fn cell(&mut self, page: &mut String) {
        let name = self.cell_name();
        let side = match self.columns.get(self.column) {
            Some(Alignment::Right) => " class=\"right\"",
            Some(Alignment::Center) => " class=\"center\"",
            _ => "",
        };
        let scope = if self.is_head { " scope=\"col\"" } else { "" };
        page.push_str(&format!("<{name}{scope}{side}>"));
        self.column += 1;
    }

    fn below(&self, level: HeadingLevel) -> usize {
        (level as usize + self.above).min(6)
    }

    fn cell_name(&self) -> &'static str {
        if self.is_head { "th" } else { "td" }
    }

    fn end(&mut self, page: &mut String, end: TagEnd) {
        match end {
            TagEnd::Paragraph => page.push_str("</p>\n"),
            TagEnd::Heading(level) => page.push_str(&format!("</h{}>\n", self.below(level))),
            TagEnd::BlockQuote(_) => page.push_str("</blockquote>\n"),
            TagEnd::CodeBlock => page.push_str("</code></pre>\n"),
            TagEnd::HtmlBlock => page.push_str("</pre>\n"),
            TagEnd::List(true) => page.push_str("</ol>\n"),
            TagEnd::List(false) => page.push_str("</ul>\n"),
            TagEnd::Item => page.push_str("</li>\n"),
            TagEnd::FootnoteDefinition => page.push_str("</aside>\n"),
            TagEnd::Table => page.push_str("</tbody></table></div>\n"),
            TagEnd::TableHead => {
                self.is_head = false;
                page.push_str("</tr></thead><tbody>\n");
            }
            TagEnd::TableRow => page.push_str("</tr>\n"),
            TagEnd::TableCell => page.push_str(&format!("</{}>", self.cell_name())),
            TagEnd::Emphasis => page.push_str("</em>"),
            TagEnd::Strong => page.push_str("</strong>"),
            TagEnd::Strikethrough => page.push_str("</del>"),
            TagEnd::Link => {
                let leads = self.links.pop() == Some(true);
                page.push_str(if leads { "</a>" } else { "" });
            }
            TagEnd::Image => page.push_str("]</span>"),
            TagEnd::MetadataBlock(_) => self.is_hidden = false,
            _ => {}
        }
    }
}
