//! Styles that hide the contents of an element: its own, and those of style sheets in the text.

use std::collections::BTreeMap;

use crate::markup::Tag;
use crate::words::words;

/// Further off than any page is wide.
const OFF_PAGE: f64 = -500.0;

/// Properties with their values, the last of each.
type Declarations = BTreeMap<String, String>;

/// The declarations of one element; later ones take precedence.
struct Applied<'s> {
    of_sheets: Vec<&'s Declarations>,
    own: Declarations,
}

impl Applied<'_> {
    fn get(&self, property: &str) -> &str {
        let all = self.of_sheets.iter().copied().chain([&self.own]);
        all.rev().find_map(|one| one.get(property)).map_or("", String::as_str)
    }
}

/// The rules of the style sheets of a text, by class, id or name of element.
#[derive(Debug, Default)]
pub(crate) struct StyleSheet(BTreeMap<String, Declarations>);

impl StyleSheet {
    /// Adds the rules of a style sheet. Rules for print or for some widths do not apply to every reader.
    pub(crate) fn read(&mut self, css: &str) {
        let css = without_comments(&css.to_ascii_lowercase());
        // Whether the rules of each open block hold for every reader.
        let mut open: Vec<bool> = Vec::new();
        let mut selector = "";
        let mut rest = css.as_str();
        while let Some(at) = rest.find(['{', '}']) {
            let before = &rest[..at];
            if rest[at..].starts_with('{') {
                selector = before.rsplit(';').next().unwrap_or_default().trim();
                let is_rule = !selector.starts_with('@');
                let is_for_all = ["@media screen", "@media all", "@layer"].contains(&selector);
                open.push(is_rule || is_for_all);
            } else {
                if open.iter().all(|holds| *holds) && !selector.starts_with('@') {
                    self.add(selector, before);
                }
                open.pop();
                selector = "@";
            }
            rest = &rest[at + 1..];
        }
    }

    fn add(&mut self, selectors: &str, css: &str) {
        let is_simple = |name: &&str| {
            let bare = name.strip_prefix(['.', '#']).unwrap_or(name);
            !bare.is_empty() && bare.chars().all(|c| c.is_alphanumeric() || "-_".contains(c))
        };
        for selector in selectors.split(',').map(str::trim).filter(is_simple) {
            self.0.entry(selector.to_owned()).or_default().extend(declarations(css));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a style hides an element. White text is hidden on the page, but not on a different background.
    pub(crate) fn hides(&self, tag: &Tag<'_>, is_on_ground: bool) -> bool {
        let all = self.declarations(tag);
        let color = tag.attributes.iter().find(|(name, _)| name == "color" && tag.name == "font");
        let is_white =
            color.is_some_and(|(_, value)| is_white(value)) || is_white(all.get("color"));
        hide(&all) || is_white && !is_on_ground && !grounds(&all)
    }

    /// Whether an element has its own background that is not white.
    pub(crate) fn has_ground(&self, tag: &Tag<'_>) -> bool {
        let is_colored = |(name, value): &(String, String)| name == "bgcolor" && !is_white(value);
        tag.attributes.iter().any(is_colored) || grounds(&self.declarations(tag))
    }

    /// The declarations of all styles for an element.
    fn declarations(&self, tag: &Tag<'_>) -> Applied<'_> {
        let of = |key: &str| {
            let found = tag.attributes.iter().find(|(name, _)| name == key);
            found.map_or("", |(_, value)| value.as_str())
        };
        let classes = of("class").split_whitespace().map(|class| format!(".{class}"));
        let id = format!("#{}", of("id"));
        let names = std::iter::once(tag.name.clone()).chain(classes).chain([id]);
        let of_sheets = names.filter_map(|name| self.0.get(&name)).collect();
        Applied { of_sheets, own: declarations(&without_comments(of("style"))).collect() }
    }
}

/// Whether declarations set a background on which white text is readable.
fn grounds(all: &Applied<'_>) -> bool {
    words().list("styles.grounds").iter().any(|property| {
        let ground = all.get(property);
        !(ground.is_empty() || ground == "none" || is_white(ground) || is_transparent(ground))
    })
}

fn without_comments(css: &str) -> String {
    let mut parts = css.split("/*");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + part.split_once("*/").map_or("", |(_, rest)| rest))
}

fn declarations(css: &str) -> impl Iterator<Item = (String, String)> + '_ {
    css.split(';').filter_map(|one| {
        let (property, value) = one.split_once(':')?;
        let value = value.trim().trim_end_matches("!important").trim();
        Some((property.trim().to_owned(), value.to_owned()))
    })
}

/// The number at the start of a length or percentage.
pub(crate) fn amount(value: &str) -> Option<f64> {
    value.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%').trim().parse().ok()
}

/// Whether declarations hide an element.
fn hide(all: &Applied<'_>) -> bool {
    let of = |property: &str| all.get(property);
    let number = |property: &str| amount(of(property));
    let any =
        |list: &str, hides: &dyn Fn(&str) -> bool| words().list(list).iter().any(|one| hides(one));
    let is_off = |property: &str| number(property).is_some_and(|amount| amount <= OFF_PAGE);
    let is_small =
        |property: &str| number(property).is_some_and(|amount| (0.0..=1.0).contains(&amount));
    let is_moved = words().is_in("styles.positions", of("position"));
    let is_clipped = words().is_in("styles.overflows", of("overflow"));
    let clip: String = format!("{}{}", of("clip"), of("clip-path")).split_whitespace().collect();
    let transform: String = of("transform").split_whitespace().collect();
    let is_far = transform.strip_prefix("translate").is_some_and(|rest| {
        let amounts = rest.trim_start_matches(['x', 'y', '3', 'd', '(']).trim_end_matches(')');
        amounts.split(',').any(|one| amount(one).is_some_and(|amount| amount <= OFF_PAGE))
    });
    words()
        .lists("style")
        .any(|(property, values)| values.iter().any(|value| value == of(property)))
        || any("styles.zero", &|property| number(property) == Some(0.0))
        || number("font-size").is_some_and(|size| size <= smallest(of("font-size")))
        || any("styles.color", &|property| is_transparent(of(property)))
        || any("styles.off_page", &is_off)
        || is_moved && any("styles.sides", &is_off)
        || is_clipped && any("styles.sizes", &is_small)
        || any("styles.clips", &|shape| clip.contains(shape))
        || transform.starts_with("scale(0)")
        || is_far
}

/// The largest unreadable font size, in the unit of `size`.
fn smallest(size: &str) -> f64 {
    match size.trim_end_matches(|c: char| !c.is_ascii_alphabetic() && c != '%') {
        size if size.ends_with("em") => 0.1,
        size if size.ends_with('%') => 10.0,
        _ => 1.0,
    }
}

/// Whether a color is white.
pub(crate) fn is_white(color: &str) -> bool {
    let squeezed: String = color.split_whitespace().collect();
    words().is_in("styles.white", &squeezed)
}

/// Whether a color is fully transparent.
fn is_transparent(color: &str) -> bool {
    let squeezed: String = color.split_whitespace().collect();
    if let Some(hex) = squeezed.strip_prefix('#') {
        return matches!(hex.len(), 4 | 8)
            && hex.is_ascii()
            && hex[hex.len() * 3 / 4..].bytes().all(|b| b == b'0');
    }
    let parts = color
        .split_once('(')
        .filter(|(name, _)| name.starts_with("rgb") || name.starts_with("hsl"));
    let alpha = parts.and_then(|(_, parts)| {
        let parts = parts.trim_end_matches(')');
        parts.rsplit_once('/').map(|(_, alpha)| alpha).or_else(|| parts.split(',').nth(3))
    });
    squeezed == "transparent" || alpha.and_then(amount) == Some(0.0)
}

#[cfg(test)]
mod tests {
    use super::StyleSheet;
    use crate::markup::Tag;

    fn hides(style: &str) -> bool {
        let tag = format!("<span style=\"{style}\">");
        StyleSheet::default().hides(&Tag::read(&tag).unwrap(), false)
    }

    #[test]
    fn styles_that_show_nothing_hide() {
        for style in [
            "display: none",
            "display:none !important",
            "color:transparent",
            "opacity:0.0",
            "opacity: 0%",
            "opacity:.0",
            "font-size:0px",
            "font-size: 0",
            "position:absolute;left:-9999px",
            "text-indent: -9999px",
            "visibility:hidden",
            "color:rgba(0, 0, 0, 0)",
            "color:#00000000",
            "width:1px;height:1px;overflow:hidden",
            "color: red; display/**/: none",
            "clip: rect(0, 0, 0, 0)",
            "transform: translatex(-9999px)",
            "position:fixed;top:-100vh;left:-2000px",
            "display:block;display:none",
            "color:rgb(0 0 0 / 0)",
            "color:white",
            "color: #FFF; font-size: 12px",
            "color:rgb(255, 255, 255);background:#ffffff",
            "font-size:0.5px",
            "font-size:.01em",
            "font-size: 1%",
        ] {
            assert!(hides(style), "{style}");
        }
    }

    #[test]
    fn styles_that_show_something_hide_nothing() {
        for style in [
            "",
            "display:block",
            "display:none;display:inline",
            "color:red",
            "opacity:0.5",
            "font-size:0.8em",
            "color:#000000",
            "left:-9999px",
            "position:relative;left:-2px",
            "overflow:hidden",
            "height:0.5em;overflow:auto",
            "color:rgba(0,0,0,0.5)",
            "background-color:transparent",
            "text-indent:1em",
            "border:none",
            "color:white;background:#333",
            "color:#fff; background-image: url(x)",
            "font-size:2px",
            "font-size:90%",
        ] {
            assert!(!hides(style), "{style}");
        }
    }

    #[test]
    fn style_sheets_hide_by_class_id_and_name() {
        let mut sheet = StyleSheet::default();
        sheet.read(
            "@charset 'x'; .x, #y {color: red; display:none} /* .z{display:none} */ del { opacity: 0 } \
             @media print { .p {display:none} } @media screen { .s {display:none} } .b{display:none} .b{display:block} \
             .m .n {display:none} .h:hover {display:none}",
        );
        let of = |tag: &str| sheet.hides(&Tag::read(tag).unwrap(), false);
        assert!(of("<i class='a x'>") && of("<i id=y>") && of("<i class=s>") && of("<del>"));
        for class in ["z", "p", "b", "n", "m", "h", "y"] {
            assert!(!of(&format!("<i class={class}>")), "{class}");
        }
        assert!(!of("<i class=x style=display:inline>"));
    }
}
