//! Reports as pages: what stands in them, that they are whole, and that nothing of an input acts in them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The page of a project's report.
fn page(root: &Path, arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html");
    let output = format!("html={}", path.display());
    let ran = Command::new(env!("CARGO_BIN_EXE_repro"))
        .current_dir(root)
        .args(arguments)
        .args(["--output", &output])
        .output()
        .unwrap();
    fs::read_to_string(&path).unwrap_or_else(|_| panic!("{ran:?}"))
}

/// A tag of a page: its name, its attributes, whether it ends an element.
struct PageTag<'p> {
    name: &'p str,
    attributes: Vec<(&'p str, &'p str)>,
    is_end: bool,
}

/// Elements without an end.
const VOID: &[&str] =
    &["br", "hr", "meta", "line", "path", "rect", "circle", "polygon", "polyline"];
/// Attributes that some element may have; none of them acts.
const ATTRIBUTES: &[&str] = &[
    "aria-hidden",
    "aria-label",
    "charset",
    "class",
    "content",
    "cx",
    "cy",
    "d",
    "dy",
    "fill",
    "font-family",
    "font-size",
    "height",
    "href",
    "http-equiv",
    "id",
    "lang",
    "name",
    "opacity",
    "points",
    "popover",
    "popovertarget",
    "preserveAspectRatio",
    "r",
    "rel",
    "role",
    "rx",
    "scope",
    "start",
    "stroke",
    "stroke-width",
    "tabindex",
    "text-anchor",
    "title",
    "transform",
    "type",
    "value",
    "viewBox",
    "width",
    "x",
    "x1",
    "x2",
    "y",
    "y1",
    "y2",
];
const ELEMENTS: &[&str] = &[
    "a",
    "article",
    "aside",
    "blockquote",
    "body",
    "br",
    "button",
    "circle",
    "code",
    "dd",
    "del",
    "details",
    "div",
    "dl",
    "dt",
    "em",
    "figcaption",
    "figure",
    "footer",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "header",
    "hr",
    "html",
    "li",
    "line",
    "main",
    "mark",
    "meta",
    "nav",
    "ol",
    "p",
    "path",
    "polygon",
    "polyline",
    "pre",
    "q",
    "rect",
    "section",
    "small",
    "span",
    "strong",
    "style",
    "summary",
    "sup",
    "svg",
    "table",
    "tbody",
    "td",
    "text",
    "th",
    "thead",
    "title",
    "tr",
    "ul",
];

/// The tags of a page, which must be written as this program writes them.
fn tags(page: &str) -> Vec<PageTag<'_>> {
    let mut rest = page.strip_prefix("<!doctype html>").unwrap();
    let mut tags = Vec::new();
    while let Some(at) = rest.find(['<', '>']) {
        assert!(
            rest[at..].starts_with('<'),
            "a `>` alone: {}",
            &rest[at.saturating_sub(60)..at + 1]
        );
        let end = rest[at..].find('>').unwrap() + at;
        let inside = rest[at + 1..end].trim_end_matches('/');
        rest = &rest[end + 1..];
        let is_end = inside.starts_with('/');
        let inside = inside.trim_start_matches('/');
        let name = inside.split_whitespace().next().unwrap();
        let mut attributes = Vec::new();
        let mut left = inside[name.len()..].trim();
        while !left.is_empty() {
            let (key, behind) = match left.split_once('=') {
                Some((key, behind)) if !key.contains(' ') => (key, behind),
                _ => {
                    let (key, behind) = left.split_once(' ').unwrap_or((left, ""));
                    attributes.push((key, ""));
                    left = behind.trim();
                    continue;
                }
            };
            let value = behind.strip_prefix('"').unwrap_or_else(|| panic!("{inside}"));
            let (value, behind) = value.split_once('"').unwrap();
            attributes.push((key, value));
            left = behind.trim();
        }
        if name == "style" && !is_end {
            rest = &rest[rest.find("</style>").unwrap()..];
        }
        tags.push(PageTag { name, attributes, is_end });
    }
    tags
}

/// Holds a page against all that one must be: whole, and of nothing but what cannot act.
fn is_inert(page: &str) {
    let mut open: Vec<&str> = Vec::new();
    let (mut ids, mut targets) = (BTreeSet::new(), BTreeSet::new());
    for PageTag { name, attributes, is_end } in tags(page) {
        assert!(ELEMENTS.contains(&name), "<{name}>");
        for (key, value) in attributes {
            assert!(ATTRIBUTES.contains(&key), "{key} in <{name}>");
            match key {
                "href" => assert!(
                    ["https://", "http://", "#"].iter().any(|start| value.starts_with(start)),
                    "{value}"
                ),
                "id" => assert!(ids.insert(value.to_owned()), "{value} twice"),
                "popovertarget" => drop(targets.insert(value.to_owned())),
                _ => {}
            }
        }
        if is_end {
            assert_eq!(open.pop(), Some(name));
        } else if !VOID.contains(&name) {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
    assert!(targets.is_subset(&ids), "{:?}", targets.difference(&ids).next());
    assert_eq!(page.matches("<style>").count(), 1);
    let policy = "default-src &#39;none&#39;";
    assert!(page.contains("default-src 'none'; style-src 'sha256-") || page.contains(policy));
}

#[test]
fn every_post_is_a_page_that_is_whole() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for post in
        ["0004", "fairness", "marin-speedrun", "model-cards", "nanochat-leaderboard", "tiny-moe"]
    {
        let arguments = ["verify", "--post", post];
        let drawn = page(root, &arguments);
        is_inert(&drawn);
        assert_eq!(drawn, page(root, &arguments), "{post}");
        assert!(drawn.len() < 1_000_000, "{post}: {}", drawn.len());
    }
    let all = page(root, &["verify", "--post", "0004", "--post", "tiny-moe"]);
    is_inert(&all);
    is_inert(&page(root, &["check", "receipts/nanochat-leaderboard"]));
}

/// A project of one post about invented numbers, with another text and title.
fn project(text: &str, title: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let made = Command::new(env!("CARGO_BIN_EXE_repro"))
        .current_dir(folder.path())
        .arg("init")
        .output()
        .unwrap();
    assert!(made.status.success());
    let read = |name: &str| fs::read_to_string(folder.path().join("repro").join(name)).unwrap();
    let post = read("first.toml");
    let (before, _) = post.split_once("title = ").unwrap();
    let (_, behind) = post.split_once("title = ").unwrap().1.split_once('\n').unwrap();
    let title = serde_json::to_string(title).unwrap();
    fs::write(folder.path().join("repro/first.toml"), format!("{before}title = {title}\n{behind}"))
        .unwrap();
    fs::write(folder.path().join("repro/first.md"), format!("{}\n\n{text}", read("first.md")))
        .unwrap();
    folder
}

#[test]
fn nothing_of_a_hostile_text_acts() {
    const TEXT: &str = "# <script>alert(1)</script> 12\n\n\
        <script>alert(2)</script>\n\n<img src=x onerror=alert(3)> and <a href=\"javascript:alert(4)\" onclick=alert(5)>5</a>\n\n\
        [6](javascript:alert(6)) [7](data:text/html,<b>) [8](https://example.org/\"onclick=\"alert(8)) ![9](https://example.org/9.png)\n\n\
        </article></main><style>*{display:none}</style> <svg onload=alert(10)>\n\n\
        | a | `</td><script>` |\n|---|---|\n| 11 | <button popovertarget=x>12</button> |\n\n\
        ```\"><script>\n</code></pre><script>13\n```\n\n<!-- --><script>14</script><!--\n\n\
        &lt;script&gt; \u{202e}15\u{202c} \u{0} \u{feff} [^1]\n\n[^1]: \"><script>\n";
    for title in ["</title><script>alert(0)</script>", "\"><img src=x>", "a\u{202e}b"] {
        let folder = project(TEXT, title);
        let drawn = page(folder.path(), &["verify", "--post", "first"]);
        is_inert(&drawn);
        assert!(!drawn.contains('\u{202e}') && drawn.contains("&lt;script&gt;"));
    }
}

#[test]
fn a_number_opens_what_is_behind_it() {
    let folder = project("It has 731 parameters.\n", "A title");
    let drawn = page(folder.path(), &["verify", "--post", "first"]);
    is_inert(&drawn);
    let (button, _) =
        drawn.split_once("\" aria-label=\"2.4713, verified\">2.4713</button>").unwrap();
    let (_, id) = button.rsplit_once("popovertarget=\"").unwrap();
    let card = format!("<section class=\"card\" id=\"{id}\"");
    let (_, card) = drawn.split_once(&card).unwrap();
    let (card, _) = card.split_once("</section>").unwrap();
    for wanted in ["fact", "read as", "expression", "repro/first.toml"] {
        assert!(card.contains(wanted), "{wanted}: {card}");
    }
    assert!(
        drawn.contains("<span class=\"n unbound\" title=\"not covered by a claim\">731</span>")
    );
    assert_eq!(drawn.matches("<h1>A title</h1>").count(), 1);
    assert!(drawn.contains("To reproduce this: <code>repro verify --post first --verbose</code>"));
}

/// A project whose text prints a spread, bound to the standard deviation of three numbers, and says that they are one.
fn spreads(printed: &str) -> tempfile::TempDir {
    let folder = project("", "A title");
    let names = ["0", "100", "200"].map(|step| {
        format!("at{step} = \"example-invented-numbers:data/printed/validation.csv#step={step}.val_loss\"\n")
    });
    let post = format!(
        "schema = \"repro.post/2\"\nid = \"first\"\ntitle = \"A title\"\ntext = \"first.md\"\n[names]\n{}\
         [[sentence]]\nquote = \"{printed}\"\nis = [\"mean([at0, at100, at200])\", \"sd([at0, at100, at200])\"]\n\
         [[sentence]]\nquote = \"of one loss\"\nsays = \"nearly_fixed([at0, at100, at200])\"\n",
        names.concat()
    );
    fs::write(folder.path().join("repro/first.toml"), post).unwrap();
    let text = format!("It is {printed} of one loss.\n");
    fs::write(folder.path().join("repro/first.md"), text).unwrap();
    folder
}

#[test]
fn a_printed_spread_stands_beside_all_that_it_can_be() {
    // The sd of 4.8391, 3.0877 and 2.6550 is 1.1566, its standard error 0.6677.
    for (printed, meaning, marked) in
        [("3.53 ± 1.16", "sd", "± 1.16 ✓"), ("3.53 ± 0.67", "se", "± 0.668 ✓")]
    {
        let drawn = page(spreads(printed).path(), &["verify", "--post", "first"]);
        is_inert(&drawn);
        let caption = format!("the printed digits match {meaning} (✓)");
        assert!(drawn.contains(&caption) && drawn.contains(marked), "{printed}");
        assert_eq!(drawn.matches("<figure class=\"readings\">").count(), 1);
    }
    let neither = page(spreads("3.53 ± 0.5").path(), &["verify", "--post", "first"]);
    assert!(neither.contains("no reading matches the printed digits"));
}

#[test]
fn what_is_contradicted_leads_with_its_values() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let drawn = page(root, &["verify", "--post", "0004"]);
    let at = |words: &str| drawn.find(words).unwrap_or_else(|| panic!("{words}"));
    let quote = at("<span class=\"s differs\">&quot;The three models saw almost the same");
    let value = at("<td class=\"right\">13.22</td>");
    assert!(quote < value && value < at("Central claim") && at("Central claim") < at("Depends on"));
    assert!(drawn.len() < 300_000, "{} bytes", drawn.len());
}

#[test]
fn an_order_of_printed_runs_has_the_p_of_each_reading() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let drawn = page(root, &["verify", "--post", "tiny-dense-vs-sparse"]);
    is_inert(&drawn);
    assert!(drawn.contains("6 of 6 are below 0.05") && drawn.contains(">half-range</text>"));
}
