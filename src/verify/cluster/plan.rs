//! A plan: a line that says what was asked and by which program, then one line of canonical JSON for each item.

use std::collections::{BTreeSet, HashSet};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use repro_core::digest::{Digest, Hasher};
use repro_core::source::{Error, Location, UNREADABLE};
use serde::{Deserialize, Serialize};

use crate::cluster::asked::Asked;
use crate::cluster::item::{WorkItem, WorkTask, line, written};
use crate::cluster::program::Program;
use crate::cluster::{BAD_PLAN, OTHER_PROGRAM};

/// The schema of plans.
const SCHEMA: &str = "repro.plan/1";
/// The most bytes of one line: the first has the challenges.
const LINE_CAP: u64 = 64 << 20;

/// A post that is judged where the plan is merged, because it needs the replays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MergedPost {
    /// The post.
    pub id: String,
    /// The digest of what it is judged by, besides the replays; none if that could not be read.
    pub inputs: Option<Digest>,
}

/// The first line of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanHead {
    schema: String,
    program: Program,
    asked: Asked,
    project: Option<Digest>,
    merged: Vec<MergedPost>,
    items: usize,
    items_sha256: Digest,
}

/// Work that was cut into items.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkPlan {
    /// Who planned.
    pub program: Program,
    /// The request.
    pub asked: Asked,
    /// The digest of the project, where a result depends on more of it than a bundle.
    pub project: Option<Digest>,
    /// The posts that are judged where the plan is merged.
    pub merged: Vec<MergedPost>,
    /// The items: first those of bundles, in the order of the report.
    pub items: Vec<WorkItem>,
}

impl WorkPlan {
    /// The text of a plan.
    pub fn text(&self) -> String {
        let lines: String = self.items.iter().map(|item| item.line() + "\n").collect();
        let head = PlanHead {
            schema: SCHEMA.to_owned(),
            program: self.program.clone(),
            asked: self.asked.clone(),
            project: self.project,
            merged: self.merged.clone(),
            items: self.items.len(),
            items_sha256: Digest::of(lines.as_bytes()),
        };
        line(&written(&head)) + "\n" + &lines
    }

    /// Whether something begins like a plan, of whatever program.
    pub fn is_one(from: impl BufRead) -> bool {
        let mut lines = Lines { from, shown: "", number: 0 };
        let first = lines.next().ok().flatten().and_then(|text| serde_json::from_str(&text).ok());
        first.is_some_and(|head: PlanHead| head.schema == SCHEMA)
    }

    /// Reads a plan of this program.
    pub fn load(path: &Path, program: &Program) -> Result<Self, Error> {
        let shown = path.display().to_string();
        let unreadable = |error: std::io::Error| {
            UNREADABLE.at(Location::file(&shown), "a readable plan", error.to_string())
        };
        let file = repro_core::source::open_plain(path).map_err(unreadable)?;
        Self::read(BufReader::new(file), &shown, program)
    }

    /// A request without an item, or an item without a request.
    fn leaves_out(&self) -> Option<&str> {
        let of = |task| self.items.iter().filter(move |item| item.task == task);
        let bundles = of(WorkTask::Inspect).map(|item| item.at.as_str());
        let merged = self.merged.iter().map(|post| post.id.as_str());
        let posts: BTreeSet<&str> =
            of(WorkTask::Judge).map(|item| item.at.as_str()).chain(merged).collect();
        let mut asked = self.asked.bundles.iter().map(String::as_str);
        let mut given = bundles.fuse();
        // Bundles are reported in this order.
        let other = loop {
            match (asked.next(), given.next()) {
                (None, None) => break None,
                (asked, given) if asked == given => {}
                (asked, given) => break asked.or(given),
            }
        };
        let mut asked = self.asked.posts.iter().map(String::as_str);
        let open = asked.find(|id| !posts.contains(id));
        let known = |id: &&str| self.asked.posts.iter().any(|own| own == id);
        other.or(open).or_else(|| posts.iter().copied().find(|id| !known(id)))
    }

    /// The same from anything that can be read.
    pub fn read(from: impl BufRead, shown: &str, program: &Program) -> Result<Self, Error> {
        let mut lines = Lines { from, shown, number: 0 };
        let first = lines.next()?;
        let Some(first) = first else {
            return Err(BAD_PLAN.at(Location::file(shown), "a plan", "an empty file"));
        };
        let head: PlanHead = lines.parsed(&first)?;
        let refused = |expected: String, found: String| {
            Err(BAD_PLAN.at(Location::file(shown), expected, found))
        };
        if head.schema != SCHEMA {
            return refused(format!("`{SCHEMA}`"), format!("`{}`", head.schema));
        }
        if head.program != *program {
            let (expected, found) = (program.told(), head.program.told());
            return Err(OTHER_PROGRAM.at(Location::file(shown), expected, found));
        }
        let mut hash = Hasher::default();
        let (mut items, mut keys) = (Vec::new(), HashSet::new());
        while let Some(text) = lines.next()? {
            hash.update(text.as_bytes());
            hash.update(b"\n");
            let item: WorkItem = lines.parsed(&text)?;
            let key = item.own_key(program);
            if item.key != key {
                let expected = format!("the key of the item, {key}");
                return Err(BAD_PLAN.at(lines.place(), expected, item.key.to_string()));
            }
            if !keys.insert(key) {
                let expected = "each item only once";
                return Err(BAD_PLAN.at(lines.place(), expected, format!("a second item {key}")));
            }
            items.push(item);
        }
        if items.len() != head.items || hash.finish() != head.items_sha256 {
            let expected = format!("{} items, as stated in its first line", head.items);
            return refused(expected, format!("{} items, or different ones", items.len()));
        }
        let PlanHead { program, asked, project, merged, .. } = head;
        let plan = Self { program, asked, project, merged, items };
        match plan.leaves_out() {
            None => Ok(plan),
            Some(what) => refused(
                format!("items for everything requested, including `{what}`"),
                "none".to_owned(),
            ),
        }
    }
}

/// The lines of a plan.
struct Lines<'a, R> {
    from: R,
    shown: &'a str,
    number: usize,
}

impl<R: BufRead> Lines<'_, R> {
    /// The next line, without its end; a last line that does not end was cut.
    fn next(&mut self) -> Result<Option<String>, Error> {
        self.number += 1;
        let mut text = String::new();
        let read = self.from.by_ref().take(LINE_CAP).read_line(&mut text);
        let refused = |found: String| BAD_PLAN.at(self.place(), "a complete line of text", found);
        let length = read.map_err(|error| refused(error.to_string()))?;
        if length == 0 {
            return Ok(None);
        }
        match text.pop() {
            Some('\n') => Ok(Some(text)),
            _ => Err(refused(format!("{length} bytes without a line end"))),
        }
    }

    /// Parses a line, which must be in canonical form.
    fn parsed<T: Serialize + for<'de> Deserialize<'de>>(&self, text: &str) -> Result<T, Error> {
        let refused = |found: String| BAD_PLAN.at(self.place(), "a line of a plan", found);
        let value: T = serde_json::from_str(text).map_err(|error| refused(error.to_string()))?;
        if text.ends_with('\r') {
            return Err(refused("a line that ends in CR LF instead of LF".to_owned()));
        }
        if line(&written(&value)) != text {
            return Err(refused("JSON that is not in canonical form".to_owned()));
        }
        Ok(value)
    }

    fn place(&self) -> Location {
        Location { line: self.number, column: 1, ..Location::file(self.shown) }
    }
}
