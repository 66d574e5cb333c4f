//! Post files, `repro/<post>.toml`: which statements of which publications are checked, against what.
//!
//! Owns the frame of the file: header, sources, pinned bundles, the fields that every claim has.
//! The fields that only one kind of claim has are left to that kind.

use std::collections::HashSet;
use std::path::Path;

use repro_receipt::digest::Digest;
use repro_receipt::source::{Code, Document, Error, Location, Node, Source, codes};
use repro_report::outcome::Referee;
use repro_signature::PublicKey;

/// The schema id that a post file opens with.
pub const SCHEMA: &str = "repro.post/1";

codes! {
    WRONG_SCHEMA = "post::wrong-schema", "the file has another schema", "start it with `schema = \"repro.post/2\"`; `repro explain post`";
    WRONG_NAME = "post::wrong-name", "the post's id differs from its file name", "give both the same name";
    REPEATED_ID = "post::repeated-id", "an id is used twice", "give each its own id";
    BAD_ID = "post::bad-id", "an id has characters that are not allowed", "use lowercase letters, digits, `-`, `_` and `.`";
    UNKNOWN_SOURCE = "post::unknown-source", "a place names a source that the post does not list", "add a `[[source]]` with this id, or correct it";
    UNKNOWN_BUNDLE = "post::unknown-bundle", "evidence names a bundle that the post does not pin", "add a `[[bundle]]` with name and digest, or correct it";
    UNKNOWN_STUDY = "post::unknown-study", "evidence names a study that the post does not pin", "add a `[[study]]` with name and digest, or correct it";
    BAD_DIGEST = "post::bad-digest", "a digest is malformed", "write `sha256:` and 64 hexadecimal digits, as `repro list bundles` prints them";
    NO_SUCH_SOURCE = "post::no-such-source", "the post has no source with this id", "name one that the post lists";
    NO_SUCH_POST = "post::no-such-post", "no post has this name", "`repro list posts` lists them";
}

/// A published document whose statements are checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publication {
    /// The id that places use.
    pub id: String,
    /// What it is, for people.
    pub what: String,
    /// The name of its file where it has one; `repro coverage` finds the source by it.
    pub file: Option<String>,
}

/// A bundle or a study that the post depends on.
#[derive(Debug, Clone)]
pub struct Pin {
    /// Its name: of the folder `receipts/<name>`, or of the file `repro/studies/<name>.toml`.
    pub name: String,
    /// The digest that it must have.
    pub digest: Digest,
    /// Where the pin stands.
    pub place: Location,
    /// The key that must have signed it, as the author of the post says; bundles only.
    pub key: Option<PublicKey>,
}

/// Numbers of a publication that deliberately carry no claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unbound {
    /// The source that they stand in.
    pub source: String,
    /// The words around them, or a JSON pointer.
    pub quote: String,
    /// Why nothing is claimed.
    pub reason: String,
}

/// A post file.
#[derive(Debug)]
pub struct Post {
    document: Document,
    /// Its name.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The publications that it checks.
    pub sources: Vec<Publication>,
    /// The bundles that it depends on.
    pub pins: Vec<Pin>,
    /// The studies whose plans it depends on.
    pub studies: Vec<Pin>,
    /// The bundle that evidence means where it names none.
    pub default_bundle: Option<String>,
    /// Numbers without a claim, with the reason.
    pub unbound: Vec<Unbound>,
    /// What a referee would ask.
    pub referee: Option<Referee>,
}

/// The fields that every claim has.
#[derive(Debug, Clone, Copy)]
pub struct Claim<'a> {
    /// Its name, unique in the post.
    pub id: &'a str,
    /// Its kind.
    pub kind: &'a str,
    /// The words of the publication.
    pub quote: &'a str,
    /// The source and the place in it.
    pub at: Option<At<'a>>,
    /// The claimed value, exactly as printed.
    pub claimed: Option<Node<'a>>,
    /// What the author of the post file adds for readers.
    pub note: &'a str,
    /// Which occurrence of the claimed value within the quote is meant, from 1.
    pub occurrence: usize,
    /// The claims without which it cannot hold: a list of ids.
    pub depends_on: Option<Node<'a>>,
    /// Its position in the post file.
    pub index: usize,
    /// The whole table, for the fields of its kind.
    pub node: Node<'a>,
}

/// A place in a publication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At<'a> {
    /// The source's id.
    pub source: &'a str,
    /// A JSON pointer, or words such as "section 3, table 1, row MoE-64".
    pub place: &'a str,
}

impl<'a> Claim<'a> {
    /// The fields that every kind of claim shares.
    pub const COMMON_FIELDS: [&'static str; 8] =
        ["id", "kind", "quote", "at", "claimed", "note", "occurrence", "depends_on"];

    /// Where the claim stands: at its value where it has one, else at its id.
    pub fn place(&self) -> Location {
        let (field, node) = match (self.claimed, self.node.get("id")) {
            (Some(claimed), _) => ("/claimed", claimed),
            (None, Some(id)) => ("/id", id),
            (None, None) => ("", self.node),
        };
        // The pointer is known here; searching the document for each claim would cost its square.
        node.place_at(format!("/claim/{}{field}", self.index))
    }

    fn parse(index: usize, node: Node<'a>, post: &Post) -> Result<Self, Error> {
        let optional = |field: &str| {
            node.get(field).map(Node::text).transpose().map(Option::unwrap_or_default)
        };
        let claimed = node.get("claimed");
        if let Some(claimed) = claimed {
            claimed.text()?;
        }
        let at = node.get("at").map(|at| post.parse_at(at)).transpose()?;
        let depends_on = node.get("depends_on");
        if let Some(list) = depends_on {
            list.items()?.try_for_each(|id| id.text().map(drop))?;
        }
        let occurrence = node.get("occurrence").map(Node::integer).transpose()?.unwrap_or(1);
        Ok(Self {
            id: identifier(node.required("id")?)?,
            kind: node.required("kind")?.text()?,
            quote: optional("quote")?,
            at,
            claimed,
            note: optional("note")?,
            occurrence: usize::try_from(occurrence).unwrap_or(usize::MAX),
            depends_on,
            index,
            node,
        })
    }
}

/// The parsed file `repro/<id>.toml` below `root`.
pub(crate) fn open(root: &Path, id: &str) -> Result<Document, Error> {
    let name = format!("repro/{id}.toml");
    let path = root.join("repro").join(format!("{id}.toml"));
    if id.is_empty() || id.contains(['/', '\\']) || !path.is_file() {
        return Err(NO_SUCH_POST.at(Location::file(name), "a post file", "none"));
    }
    Document::parse_toml(Source::load(&path, name)?)
}

impl Post {
    /// Reads `repro/<id>.toml` below `root`.
    pub fn load(root: &Path, id: &str) -> Result<Self, Error> {
        Self::of_document(open(root, id)?)
    }

    /// Parses the text of a post file.
    pub fn parse(source: Source) -> Result<Self, Error> {
        Self::of_document(Document::parse_toml(source)?)
    }

    /// Parses a post file.
    pub fn of_document(document: Document) -> Result<Self, Error> {
        let root = document.root();
        let schema = root.required("schema")?;
        if schema.text()? != SCHEMA {
            return Err(WRONG_SCHEMA.at(
                schema.place(),
                format!("`repro.post/2` or `{SCHEMA}`"),
                format!("`{}`", schema.text()?),
            ));
        }
        root.only(&[
            "schema",
            "id",
            "title",
            "default_bundle",
            "source",
            "bundle",
            "study",
            "claim",
            "unbound",
            "referee",
        ])?;
        let id = root.required("id")?;
        matches_file_name(&document, id)?;
        let mut post = Self {
            id: identifier(id)?.to_owned(),
            title: root.required("title")?.text()?.to_owned(),
            sources: each(root, "source", parse_publication)?,
            pins: each(root, "bundle", |node| parse_pin(node, &["name", "digest", "pubkey"]))?,
            studies: each(root, "study", |node| parse_pin(node, &["name", "digest"]))?,
            default_bundle: None,
            unbound: Vec::new(),
            referee: root.get("referee").map(parse_referee).transpose()?,
            document: document.clone(),
        };
        unique(root, "source", "id")?;
        unique(root, "bundle", "name")?;
        unique(root, "study", "name")?;
        unique(root, "claim", "id")?;
        if let Some(name) = root.get("default_bundle") {
            post.pin(name.text()?, name)?;
            post.default_bundle = Some(name.text()?.to_owned());
        }
        post.unbound = each(root, "unbound", |node| post.parse_unbound(node))?;
        Ok(post)
    }

    /// Its claims in the order of the file; each is a refusal of its own where its frame is malformed.
    pub fn claims(&self) -> impl Iterator<Item = Result<Claim<'_>, Error>> {
        let list = self.document.root().get("claim").and_then(|node| node.items().ok());
        list.into_iter().flatten().enumerate().map(|(index, node)| Claim::parse(index, node, self))
    }

    /// The ids of all claims, of malformed ones too.
    pub fn claim_ids(&self) -> HashSet<&str> {
        let list = self.document.root().get("claim").and_then(|node| node.items().ok());
        let ids = list.into_iter().flatten().filter_map(|claim| claim.get("id"));
        ids.filter_map(|id| id.text().ok()).collect()
    }

    /// The pin of the bundle of this name; an unknown one is refused at `asked`.
    pub fn pin(&self, name: &str, asked: Node) -> Result<&Pin, Error> {
        pinned(&self.pins, name, asked, &UNKNOWN_BUNDLE)
    }

    /// The pin of the study of this name; an unknown one is refused at `asked`.
    pub fn study(&self, name: &str, asked: Node) -> Result<&Pin, Error> {
        pinned(&self.studies, name, asked, &UNKNOWN_STUDY)
    }

    /// The name of the file.
    pub fn file(&self) -> &str {
        self.document.source.name()
    }

    /// The parsed file.
    pub fn document(&self) -> &Document {
        &self.document
    }

    fn parse_at<'a>(&self, node: Node<'a>) -> Result<At<'a>, Error> {
        node.only(&["source", "place"])?;
        let at = At {
            source: self.known_source(node.required("source")?)?,
            place: node.required("place")?.text()?,
        };
        Ok(at)
    }

    fn parse_unbound(&self, node: Node) -> Result<Unbound, Error> {
        node.only(&["source", "quote", "reason"])?;
        Ok(Unbound {
            source: self.known_source(node.required("source")?)?.to_owned(),
            quote: node.required("quote")?.text()?.to_owned(),
            reason: node.required("reason")?.text()?.to_owned(),
        })
    }

    fn known_source<'a>(&self, node: Node<'a>) -> Result<&'a str, Error> {
        let text = node.text()?;
        if self.sources.iter().any(|source| source.id == text) {
            return Ok(text);
        }
        let known: Vec<_> = self.sources.iter().map(|source| format!("`{}`", source.id)).collect();
        Err(UNKNOWN_SOURCE.at(
            node.place(),
            format!("one of {}", known.join(", ")),
            format!("`{text}`"),
        ))
    }
}

/// Refuses a post whose id is not the name of its file.
pub(crate) fn matches_file_name(document: &Document, id: Node) -> Result<(), Error> {
    let file = document.source.name().rsplit('/').next();
    match file.and_then(|name| name.strip_suffix(".toml")) {
        Some(stem) if stem != id.text()? => {
            Err(WRONG_NAME.at(id.place(), format!("`{stem}`"), format!("`{}`", id.text()?)))
        }
        _ => Ok(()),
    }
}

/// The pin of this name; any other name is refused.
fn pinned<'a>(
    pins: &'a [Pin],
    name: &str,
    asked: Node,
    unknown: &'static Code,
) -> Result<&'a Pin, Error> {
    pins.iter().find(|pin| pin.name == name).ok_or_else(|| {
        let known: Vec<_> = pins.iter().map(|pin| format!("`{}`", pin.name)).collect();
        let expected = format!("one of {}", known.join(", "));
        unknown.at(asked.place(), expected, format!("`{name}`"))
    })
}

/// The names of all posts below `root`: the stems of `repro/*.toml`, sorted.
pub fn list(root: &Path) -> Result<Vec<String>, Error> {
    let unreadable = |error: std::io::Error| {
        repro_receipt::source::UNREADABLE.at(
            Location::file("repro"),
            "a folder of post files",
            error.to_string(),
        )
    };
    let mut names = Vec::new();
    for entry in std::fs::read_dir(root.join("repro")).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_file() && path.extension().is_some_and(|ending| ending == "toml") {
            names.extend(path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned));
        }
    }
    names.sort();
    Ok(names)
}

/// Each table of the list `key`, parsed; an absent list is empty.
fn each<'a, T>(
    root: Node<'a>,
    key: &str,
    parse: impl Fn(Node<'a>) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    match root.get(key) {
        Some(list) => list.items()?.map(parse).collect(),
        None => Ok(Vec::new()),
    }
}

/// Refuses two tables of the list `key` with the same `field`.
fn unique(root: Node, key: &str, field: &str) -> Result<(), Error> {
    let mut seen = HashSet::new();
    for node in each(root, key, Ok)? {
        let Some(id) = node.get(field) else { continue };
        if !seen.insert(id.text()?) {
            return Err(REPEATED_ID.at(
                id.place(),
                format!("each {field} once"),
                format!("`{}` again", id.text()?),
            ));
        }
    }
    Ok(())
}

/// A name made of characters that are safe in file names, selectors and messages.
pub(crate) fn identifier(node: Node<'_>) -> Result<&str, Error> {
    let text = node.text()?;
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_.".contains(&b);
    if text.is_empty() || !text.bytes().all(allowed) {
        return Err(BAD_ID.at(node.place(), "an id such as `p-total-moe64`", format!("`{text}`")));
    }
    Ok(text)
}

fn parse_publication(node: Node) -> Result<Publication, Error> {
    node.only(&["id", "what", "date", "file", "url"])?;
    for field in ["date", "url"] {
        node.get(field).map(Node::text).transpose()?;
    }
    Ok(Publication {
        id: identifier(node.required("id")?)?.to_owned(),
        what: node.required("what")?.text()?.to_owned(),
        file: node.get("file").map(Node::text).transpose()?.map(str::to_owned),
    })
}

fn parse_pin(node: Node, known: &[&str]) -> Result<Pin, Error> {
    node.only(known)?;
    let digest = node.required("digest")?;
    let text = digest.text()?;
    let parsed = Digest::parse_prefixed(text);
    Ok(Pin {
        name: identifier(node.required("name")?)?.to_owned(),
        digest: parsed
            .ok_or_else(|| BAD_DIGEST.at(digest.place(), "`sha256:…`", format!("`{text}`")))?,
        place: digest.place(),
        key: node
            .get("pubkey")
            .map(|key| PublicKey::parse(key.text()?, key.place()))
            .transpose()?,
    })
}

pub(crate) fn parse_referee(node: Node) -> Result<Referee, Error> {
    node.only(&["load_bearing_premises", "free_parameters", "missing_facts"])?;
    let lines = |field: &str| -> Result<Vec<String>, Error> {
        each(node, field, |line| line.text().map(str::to_owned))
    };
    Ok(Referee {
        load_bearing_premises: lines("load_bearing_premises")?,
        free_parameters: lines("free_parameters")?,
        missing_facts: lines("missing_facts")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "schema = \"repro.post/1\"\nid = \"p\"\ntitle = \"T\"\n[[source]]\nid = \"post\"\nwhat = \"text\"\n";

    fn parse(claims: &str) -> Result<Post, Error> {
        Post::parse(Source::new("repro/p.toml", format!("{HEADER}{claims}").into_bytes()).unwrap())
    }

    #[test]
    fn studies_are_pinned_like_bundles() {
        let pin = format!("[[study]]\nname = \"s\"\ndigest = \"sha256:{}\"\n", "0".repeat(64));
        let post = parse(&pin).unwrap();
        let asked = post.document().root();
        assert_eq!(post.study("s", asked).unwrap().name, "s");
        assert_eq!(post.study("t", asked).unwrap_err().code.id, "post::unknown-study");
        assert_eq!(parse(&format!("{pin}{pin}")).unwrap_err().code.id, "post::repeated-id");
    }

    #[test]
    fn the_frame_of_a_claim_is_read() {
        let post = parse("[[claim]]\nid = \"a\"\nkind = \"identity\"\nclaimed = \"1.5\"\nat = { source = \"post\", place = \"1\" }\n").unwrap();
        let claim = post.claims().next().unwrap().unwrap();
        assert_eq!((claim.id, claim.at.unwrap().place, claim.place().line), ("a", "1", 10));
    }

    #[test]
    fn a_malformed_frame_is_refused_where_it_stands() {
        let code = |text: &str| match parse(text) {
            Err(error) => error.code.id,
            Ok(post) => {
                post.claims().find_map(Result::err).map_or("accepted", |error| error.code.id)
            }
        };
        assert_eq!(
            code("[[claim]]\nid = \"a\"\nkind = \"x\"\n[[claim]]\nid = \"a\"\nkind = \"x\"\n"),
            "post::repeated-id"
        );
        assert_eq!(code("[[claim]]\nid = \"A b\"\nkind = \"x\"\n"), "post::bad-id");
        assert_eq!(
            code("[[claim]]\nid = \"a\"\nkind = \"x\"\nclaimed = 1\n"),
            "source::wrong-type"
        );
        assert_eq!(
            code("[[claim]]\nid = \"a\"\nkind = \"x\"\nat = { source = \"q\", place = \"\" }\n"),
            "post::unknown-source"
        );
        assert_eq!(code("[[bundle]]\nname = \"b\"\ndigest = \"md5:00\"\n"), "post::bad-digest");
        assert_eq!(code("colour = 1\n"), "source::unknown-field");
        let wrong = Source::new("repro/q.toml", HEADER.into()).unwrap();
        assert_eq!(Post::parse(wrong).unwrap_err().code.id, "post::wrong-name");
    }
}
