//! The post file: drafted statements with a mark that the author takes away, alternatives and open numbers as comments.

use std::ops::Range;

use crate::page::is_draft_mark;

/// The lines at the head of a new post.
const HEAD: &str = "\
# Written by `repro draft`. Each statement binds its numbers to expressions found by their digits and the words around them. Read it, correct
# it, and delete the line `# drafted` above it once it matches the text. `repro draft --update` rewrites the statements that
# still have that line and leaves all others as they are.
";

/// A string of TOML.
pub fn toml_text(text: &str) -> String {
    let mut written = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => written.push_str("\\\""),
            '\\' => written.push_str("\\\\"),
            '\n' | '\t' | '\r' => written.push(' '),
            c if c.is_control() => written.push_str(&format!("\\u{:04X}", c as u32)),
            c => written.push(c),
        }
    }
    written.push('"');
    written
}

/// Words of a text on one line, without the marks of lists and quotations before them.
pub fn quoted(text: &str, span: &Range<usize>) -> String {
    let words = text.get(span.clone()).unwrap_or_default();
    let lines = words.lines().map(|line| line.trim_start_matches(['>', ' ', '\t']));
    let joined = lines.collect::<Vec<_>>().join(" ");
    let bare = joined.trim();
    let bare = bare.strip_prefix("- ").or_else(|| bare.strip_prefix("* ")).unwrap_or(bare);
    bare.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A sentence as a statement of a post file, without its mark.
pub fn sentence_statement<'e>(
    place: &str,
    quote: &str,
    is: impl IntoIterator<Item = &'e str>,
) -> String {
    let is: Vec<_> = is.into_iter().map(toml_text).collect();
    let (place, quote) = (toml_text(place), toml_text(quote));
    format!("[[sentence]]\nplace = {place}\nquote = {quote}\nis = {}\n", one_or_list(&is))
}

/// One value of TOML as it is, several as a list.
pub fn one_or_list(values: &[String]) -> String {
    match values {
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}

/// A post file taken apart: what stands before its first statement, and each statement with the comments above it.
#[derive(Debug, Default)]
pub struct WrittenPost {
    pub head: String,
    pub statements: Vec<WrittenStatement>,
}

/// A statement as it is in a post file.
#[derive(Debug)]
pub struct WrittenStatement {
    pub text: String,
    /// Whether nobody has confirmed it.
    pub is_drafted: bool,
}

impl WrittenPost {
    /// Of the text of a post file.
    pub fn of(text: &str) -> Self {
        let is_statement = |line: &str| {
            line.trim_start().starts_with("[[") || line.trim_start().starts_with("[referee")
        };
        let mut post = Self::default();
        let mut comments = String::new();
        for line in text.split_inclusive('\n') {
            let bare = line.trim();
            if is_statement(line) {
                let is_drafted = comments.lines().any(is_draft_mark);
                let text = std::mem::take(&mut comments) + line;
                post.statements.push(WrittenStatement { text, is_drafted });
            } else if bare.is_empty() || bare.starts_with('#') {
                comments.push_str(line);
            } else {
                let before = std::mem::take(&mut comments);
                let part = match post.statements.last_mut() {
                    Some(statement) => &mut statement.text,
                    None => &mut post.head,
                };
                part.push_str(&before);
                part.push_str(line);
            }
        }
        // Comments at the end belong to what was open, which is found anew.
        if post.statements.is_empty() {
            post.head.push_str(&comments);
        }
        post
    }

    /// The statements that the author has confirmed.
    pub fn confirmed(&self) -> impl Iterator<Item = &str> {
        self.statements.iter().filter(|one| !one.is_drafted).map(|one| one.text.as_str())
    }
}

/// The head of a new post.
pub fn new_head(id: &str, title: &str, text: &str, names: &str) -> String {
    format!(
        "{HEAD}schema = \"repro.post/2\"\nid = {}\ntitle = {}\ntext = {}\n\n[names]\n{names}",
        toml_text(id),
        toml_text(title),
        toml_text(text)
    )
}

/// The head of a post with names that it lacks.
pub fn with_names(head: &str, names: &str) -> String {
    let known = |line: &str| {
        let name = line.split('=').next().unwrap_or_default().trim();
        head.lines().any(|other| other.split('=').next().unwrap_or_default().trim() == name)
    };
    let missing: String =
        names.lines().filter(|line| !known(line)).map(|line| format!("{line}\n")).collect();
    if missing.is_empty() {
        return head.to_owned();
    }
    match head.find("[names]\n") {
        Some(at) => {
            let (before, behind) = head.split_at(at + "[names]\n".len());
            format!("{before}{missing}{behind}")
        }
        None => format!("{}\n[names]\n{missing}", head.trim_end().to_owned() + "\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_confirmed_is_kept_as_it_stands() {
        let text = "id = \"a\"\n\n[names]\nx = \"y\"\n\n# mine\n[[sentence]]\nquote = \"1\"\n\n# drafted\n# also: z\n[[sentence]]\nquote = \"2\"\n# open: 3\n";
        let post = WrittenPost::of(text);
        assert_eq!(post.head, "id = \"a\"\n\n[names]\nx = \"y\"\n");
        let confirmed: Vec<_> = post.confirmed().collect();
        assert_eq!(confirmed, ["\n# mine\n[[sentence]]\nquote = \"1\"\n"]);
        assert_eq!(
            with_names(&post.head, "x = \"y\"\nw = \"v\"\n"),
            "id = \"a\"\n\n[names]\nw = \"v\"\nx = \"y\"\n"
        );
    }

    #[test]
    fn quotes_are_one_line_of_toml() {
        let text = "- a \"b\"\n  c\\d";
        assert_eq!(toml_text(&quoted(text, &(0..text.len()))), r#""a \"b\" c\\d""#);
    }
}
