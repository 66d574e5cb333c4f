//! `repro review`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, Read};
use std::path::Path;
use std::time::SystemTime;

use super::args::{JudgedArgs, ReviewArgs};
use super::output::{Output, write_file};
use super::{Answer, BAD_USAGE, coverage, mutate, threads, verify};
use repro_bundle::signature::PrivateKey;
use repro_core::digest::Digest;
use repro_core::source::{Error, Location, Source};
use repro_report::outcome::{ClaimReport, ExitStatus, LintKind, PostReport, Verdict};
use repro_report::{visible, wrap};
use repro_verify::review::decoy::{Decoy, DecoyPlan};
use repro_verify::review::key::WrittenDigest;
use repro_verify::review::record::{
    MOST_NAME, MOST_WORDS, ModelIdentity, ReviewRecord, ReviewVerdict, Reviewer, SessionCounts,
};
use repro_verify::review::session::{self, OpenClaim, ReviewSession, fact_of};
use repro_verify::review::{ReviewPolicy, Reviews, store};
use repro_verify::verify as judge;

/// The columns before what is shown of a claim.
const INDENT: usize = 13;
/// The most bytes of a line of an answer.
const MOST_LINE: u64 = 16_384;
/// The possible answers.
const CHOICES: &str = "approve, dispute REASON, answer N WORDS, column, skip or quit? ";
/// The possible answers for a column.
const COLUMN_CHOICES: &str = "approve, approve except N N ..., or skip? ";

/// Runs the command: 0 if nothing is open, else 3.
pub fn run(root: &Path, own: &ReviewArgs, output: &Output) -> Answer {
    if own.coverage {
        return coverage::run(root, own, output);
    }
    if own.mutate {
        return mutate::run(root, own, output);
    }
    let one = |error: Error| vec![error];
    if output.wants_json() {
        let expected = "`text`, or `--coverage` or `--mutate`";
        return Err(vec![BAD_USAGE.at(Location::file("--format"), expected, "`json`")]);
    }
    let policy = ReviewPolicy::load(root).map_err(one)?;
    let judged = JudgedArgs { text: own.text.clone(), ..JudgedArgs::default() };
    let demands = verify::demands(root, &judged).map_err(one)?;
    let threads = own.threads.unwrap_or_else(threads::cores);
    let mut report = judge::verify(root, std::slice::from_ref(&own.post), &demands, threads);
    let Some(post) = report.posts.pop().filter(|_| report.failures.is_empty()) else {
        return Err(report.failures);
    };
    let open = session::open(&post);
    if own.list {
        output.print(&list(&post, &open, output.width()));
        return Ok(status(&open));
    }
    let mut reviews = Reviews::load(root, &post.id);
    if !reviews.problems.is_empty() {
        // What cannot be read would be lost when the file is written.
        return Err(reviews.problems);
    }
    let key = own.key.as_deref().map(PrivateKey::load).transpose().map_err(one)?;
    let reviewer = reviewer(own, key.as_ref(), &policy).map_err(one)?;
    let date = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
    let session =
        ReviewSession { reviewer: &reviewer, date: &date, counts: SessionCounts::default() };
    let file = RecordFile { root, post: &post.id, key: key.as_ref() };
    if own.exempt {
        let waiting = open.iter().filter(|one| !one.may_wait);
        let exempted: Vec<_> = waiting.map(|one| one.claim).collect();
        for claim in &exempted {
            reviews.add(session.record(claim, ReviewVerdict::Exempt, "", &BTreeMap::new()));
        }
        file.write(&reviews).map_err(one)?;
        let name = store::file(&post.id);
        output.print(&format!("exempted  {} in {}\n", exempted.len(), visible(&name)));
        return Ok(ExitStatus::Verified);
    }
    let texts_away: Vec<_> = post.texts.iter().filter(|text| !text.is_at_hand).collect();
    for text in texts_away {
        let words = "its quotes are not shown for review, because the text is not available";
        output.say(&format!("{}: {words}; pass it with --text FILE", visible(&text.what)));
    }
    let seed = own.seed.clone().unwrap_or_else(|| unknown_seed(&date));
    let definitions = post.definitions.iter();
    let mut live = LiveSession {
        output,
        plan: DecoyPlan::new(seed),
        session,
        arms: definitions.map(|one| one.name.as_str()).collect(),
        judged: Vec::new(),
        done: BTreeSet::new(),
        reviews: &mut reviews,
        file: &file,
    };
    live.go_through(&post, &open).map_err(one)?;
    live.close().map_err(one)?;
    let judged: BTreeSet<_> = live.judged.iter().map(|record| record.claim.as_str()).collect();
    let left = open.iter().filter(|one| !one.may_wait && !judged.contains(one.claim.id.as_str()));
    Ok(if left.count() == 0 { ExitStatus::Verified } else { ExitStatus::Undecided })
}

fn status(open: &[OpenClaim<'_>]) -> ExitStatus {
    if open.iter().all(|one| one.may_wait) { ExitStatus::Verified } else { ExitStatus::Undecided }
}

/// Who reviews, by the arguments and by what the project lists.
fn reviewer(
    own: &ReviewArgs,
    key: Option<&PrivateKey>,
    policy: &ReviewPolicy,
) -> Result<Reviewer, Error> {
    let identity = key.map(|key| key.public().id());
    let listed = identity.and_then(|identity| policy.reviewer(identity));
    let name = own.reviewer.clone().or_else(|| listed.map(|one| one.name.clone()));
    let Some(name) = name.filter(|name| !name.trim().is_empty()) else {
        let place = Location::file("--as");
        return Err(BAD_USAGE.at(
            place,
            "your name, or a key that is listed with a name",
            "neither",
        ));
    };
    is_short("--as", &name)?;
    let model = match (&own.model, &own.model_version, &own.prompt) {
        (Some(model), Some(version), Some(prompt)) => {
            is_short("--model", model)?;
            is_short("--model-version", version)?;
            let prompt = Source::load(prompt, prompt.display().to_string())?;
            let prompt = WrittenDigest(Digest::of(prompt.text().as_bytes()));
            Some(ModelIdentity { name: model.clone(), version: version.clone(), prompt })
        }
        _ => None,
    };
    Ok(Reviewer { name, public_key: identity, model })
}

fn is_short(option: &str, text: &str) -> Result<(), Error> {
    match text.chars().count() {
        0..=MOST_NAME => Ok(()),
        more => {
            let expected = format!("at most {MOST_NAME} characters");
            Err(BAD_USAGE.at(Location::file(option), expected, format!("{more}")))
        }
    }
}

/// A seed that the reviewer does not know beforehand.
fn unknown_seed(date: &str) -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format!("{date} {} {}", since.as_nanos(), std::process::id())
}

/// The open claims, one line each, and their number.
fn list(post: &PostReport, open: &[OpenClaim<'_>], width: usize) -> String {
    let mut text = String::new();
    for one in open {
        let line = format!("{}: {}", visible(&one.claim.id), visible(&one.why));
        text += &(wrap(&line, width, width - 4).join("\n    ") + "\n");
    }
    let of_words = post.claims.iter().filter(|claim| claim.meaning.read_by.is_some()).count();
    text + &format!("{} of {of_words} claims are open\n", open.len())
}

/// Where records are written, and who signs them.
struct RecordFile<'a> {
    root: &'a Path,
    post: &'a str,
    key: Option<&'a PrivateKey>,
}

impl RecordFile<'_> {
    fn sign(&self, record: &mut ReviewRecord) {
        if let Some(key) = self.key {
            record.sign(self.post, key);
        }
    }

    fn write(&self, reviews: &Reviews) -> Result<(), Error> {
        let name = store::file(self.post);
        write_file(self.root, &name, &name, reviews.render(self.post).as_bytes())
    }
}

/// A reviewer's answer.
enum Reply {
    Approve,
    Dispute(String),
    Explain(usize, String),
    Column,
    Skip,
    Quit,
    Other,
}

impl Reply {
    fn parse(line: &str) -> Self {
        let line = line.trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        match word.to_lowercase().as_str() {
            "a" | "approve" if rest.is_empty() => Self::Approve,
            "d" | "dispute" if !rest.is_empty() => Self::Dispute(shortened(rest)),
            "answer" => {
                let parts = rest.split_once(char::is_whitespace);
                match parts.map(|(number, words)| (number.parse(), words.trim())) {
                    Some((Ok(number), words)) if !words.is_empty() => {
                        Self::Explain(number, shortened(words))
                    }
                    _ => Self::Other,
                }
            }
            "c" | "column" if rest.is_empty() => Self::Column,
            "s" | "skip" if rest.is_empty() => Self::Skip,
            "q" | "quit" if rest.is_empty() => Self::Quit,
            _ => Self::Other,
        }
    }
}

/// At most as many characters as a record holds.
fn shortened(words: &str) -> String {
    words.chars().take(MOST_WORDS).collect()
}

/// A session with a person at the other end of standard input.
struct LiveSession<'a> {
    output: &'a Output,
    plan: DecoyPlan,
    session: ReviewSession<'a>,
    /// The names of the post, of which a decoy may take another.
    arms: Vec<&'a str>,
    judged: Vec<ReviewRecord>,
    /// The open claims, by their places in the list, that are judged or skipped.
    done: BTreeSet<usize>,
    reviews: &'a mut Reviews,
    file: &'a RecordFile<'a>,
}

/// Whether the session goes on.
#[derive(PartialEq, Eq)]
enum Next {
    Claim,
    End,
}

impl LiveSession<'_> {
    fn go_through(&mut self, post: &PostReport, open: &[OpenClaim<'_>]) -> Result<(), Error> {
        for (at, one) in open.iter().enumerate() {
            // A quote without its paragraph cannot be judged.
            let is_shown = !one.claim.meaning.context.is_empty() || post.texts.is_empty();
            if !is_shown || self.session.has_approved(self.reviews, one.claim) {
                self.done.insert(at);
            }
        }
        for at in 0..open.len() {
            if self.plan.is_due(self.session.counts.shown)
                && let Some((other, decoy)) = self.decoy(open)
                && self.show_decoy(open, other, &decoy)? == Next::End
            {
                return Ok(());
            }
            if !self.done.contains(&at) && self.show(open, at)? == Next::End {
                return Ok(());
            }
        }
        Ok(())
    }

    /// An open claim with its fact altered, if there is one.
    fn decoy(&self, open: &[OpenClaim<'_>]) -> Option<(usize, Decoy)> {
        let shown = self.session.counts.shown;
        let start = usize::try_from(self.plan.draw("claim", shown, open.len() as u64)).ok()?;
        let order = (start..open.len()).chain(0..start).filter(|at| !self.done.contains(at));
        let mut altered = order.map(|at| (at, self.plan.alter(open[at].claim, &self.arms, shown)));
        altered.find_map(|(at, decoy)| Some((at, decoy?)))
    }

    /// Shows an altered fact; nothing of it is recorded but whether it was caught.
    fn show_decoy(
        &mut self,
        open: &[OpenClaim<'_>],
        at: usize,
        decoy: &Decoy,
    ) -> Result<Next, Error> {
        self.session.counts.shown += 1;
        self.session.counts.decoys += 1;
        let text = self.described(&open[at], &decoy.sentence);
        self.output.print(&text);
        loop {
            match self.reply(CHOICES)? {
                Reply::Approve => {
                    self.tell(&format!("missed: this was a decoy, {} was altered", decoy.altered));
                }
                Reply::Dispute(_) => {
                    self.session.counts.caught += 1;
                    self.tell(&format!("caught: this was a decoy, {} was altered", decoy.altered));
                }
                Reply::Column if !self.has_column(open[at].claim) => continue,
                Reply::Column => {
                    let altered = BTreeMap::from([(at, decoy.clone())]);
                    return self.column(open, at, altered);
                }
                Reply::Skip => {}
                Reply::Quit => return Ok(Next::End),
                Reply::Explain(..) => {
                    self.tell("noted");
                    continue;
                }
                Reply::Other => continue,
            }
            return Ok(Next::Claim);
        }
    }

    /// Shows a claim, and records what is said of it.
    fn show(&mut self, open: &[OpenClaim<'_>], at: usize) -> Result<Next, Error> {
        let claim = open[at].claim;
        self.session.counts.shown += 1;
        let text = self.described(&open[at], &fact_of(claim));
        self.output.print(&text);
        let mut answers = BTreeMap::new();
        loop {
            match self.reply(CHOICES)? {
                Reply::Approve => {
                    let open_lint =
                        claim.meaning.unanswered().find(|lint| !answers.contains_key(&lint.kind));
                    if let Some(lint) = open_lint {
                        let kind = lint.kind.word();
                        self.tell(&format!("answer its lint first ({kind}): answer N WORDS"));
                        continue;
                    }
                    self.done.insert(at);
                    self.record(claim, ReviewVerdict::Approve, "", &answers)?;
                }
                Reply::Dispute(reason) => {
                    self.done.insert(at);
                    self.record(claim, ReviewVerdict::Dispute, &reason, &answers)?;
                }
                Reply::Explain(number, words) => {
                    match number.checked_sub(1).and_then(|at| claim.meaning.lints.get(at)) {
                        Some(lint) => drop(answers.insert(lint.kind, words)),
                        None => self.tell("there is no lint with this number"),
                    }
                    continue;
                }
                Reply::Column if !self.has_column(claim) => continue,
                Reply::Column => return self.column(open, at, BTreeMap::new()),
                Reply::Skip => drop(self.done.insert(at)),
                Reply::Quit => return Ok(Next::End),
                Reply::Other => continue,
            }
            return Ok(Next::Claim);
        }
    }

    /// Shows the open cells of a column together. Those with a lint are judged one by one.
    fn column(
        &mut self,
        open: &[OpenClaim<'_>],
        at: usize,
        mut altered: BTreeMap<usize, Decoy>,
    ) -> Result<Next, Error> {
        let name = &open[at].claim.meaning.column;
        let cells = (0..open.len()).filter(|other| {
            let meaning = &open[*other].claim.meaning;
            !self.done.contains(other) && meaning.column == *name && !meaning.is_questioned()
        });
        let cells: Vec<usize> = cells.collect();
        let mut text = format!("column {}\n", visible(name.as_deref().unwrap_or_default()));
        for (number, cell) in cells.iter().enumerate() {
            let claim = open[*cell].claim;
            if *cell != at {
                let shown = self.session.counts.shown;
                if self.plan.is_due(shown)
                    && let Some(decoy) = self.plan.alter(claim, &self.arms, shown)
                {
                    self.session.counts.decoys += 1;
                    altered.insert(*cell, decoy);
                }
                self.session.counts.shown += 1;
            }
            let fact = altered.get(cell).map_or_else(|| fact_of(claim), |one| one.sentence.clone());
            let words = format!("{} -> {fact}", claim.quote);
            text += &self.entry(&format!("{}", number + 1), &words);
        }
        self.output.print(&text);
        let kept = loop {
            let Some(line) = self.line(COLUMN_CHOICES)? else { return Ok(Next::End) };
            let words: Vec<_> = line.split_whitespace().collect();
            let numbers = match words.as_slice() {
                ["skip" | "s"] => {
                    self.done.extend(cells);
                    return Ok(Next::Claim);
                }
                ["approve" | "a"] => &[],
                ["approve" | "a", "except", numbers @ ..] => numbers,
                _ => continue,
            };
            let numbers: Result<BTreeSet<usize>, _> =
                numbers.iter().map(|number| number.trim_matches(',').parse()).collect();
            if let Ok(numbers) = numbers {
                break numbers;
            }
        };
        for (number, cell) in cells.iter().enumerate() {
            let is_approved = !kept.contains(&(number + 1));
            match altered.get(cell) {
                Some(decoy) if is_approved => {
                    let altered = decoy.altered;
                    self.tell(&format!(
                        "missed: {} was a decoy, {altered} was altered",
                        number + 1
                    ));
                }
                Some(_) => {
                    self.session.counts.caught += 1;
                    self.tell(&format!("caught: {} was a decoy", number + 1));
                }
                None if is_approved => {
                    self.done.insert(*cell);
                    let claim = open[*cell].claim;
                    self.record(claim, ReviewVerdict::Approve, "", &BTreeMap::new())?;
                }
                None => {}
            }
        }
        // What was left out, or shown altered, stays open.
        Ok(Next::Claim)
    }

    /// Adds a record and writes the file: what was said is never lost.
    fn record(
        &mut self,
        claim: &ClaimReport,
        verdict: ReviewVerdict,
        reason: &str,
        answers: &BTreeMap<LintKind, String>,
    ) -> Result<(), Error> {
        let mut record = self.session.record(claim, verdict, reason, answers);
        self.file.sign(&mut record);
        self.reviews.add(record.clone());
        self.judged.push(record);
        self.file.write(self.reviews)
    }

    /// Writes the records of the session again, with what the whole of it was worth.
    fn close(&mut self) -> Result<(), Error> {
        let SessionCounts { shown, decoys, caught } = self.session.counts;
        for record in &mut self.judged {
            record.session = Some(self.session.counts);
            self.file.sign(record);
            self.reviews.add(record.clone());
        }
        if !self.judged.is_empty() {
            self.file.write(self.reviews)?;
        }
        let count = |verdict| self.judged.iter().filter(|one| one.verdict == verdict).count();
        let [approved, disputed] = [ReviewVerdict::Approve, ReviewVerdict::Dispute].map(count);
        let signed = match self.file.key {
            Some(_) => "signed",
            None => "unsigned, so recorded only as notes",
        };
        self.output.print(&format!(
            "\n{approved} approved, {disputed} disputed, {signed}; {shown} facts shown, {decoys} of them decoys, {caught} caught\n"
        ));
        Ok(())
    }

    /// Whether a claim is a cell of a table, and says so where it is not.
    fn has_column(&self, claim: &ClaimReport) -> bool {
        if claim.meaning.column.is_none() {
            self.tell("this is not a table cell");
        }
        claim.meaning.column.is_some()
    }

    fn tell(&self, words: &str) {
        self.output.print(&format!("{}\n", visible(words)));
    }

    fn reply(&self, choices: &str) -> Result<Reply, Error> {
        Ok(self.line(choices)?.map_or(Reply::Quit, |line| Reply::parse(&line)))
    }

    /// The next line of standard input; none at its end.
    fn line(&self, choices: &str) -> Result<Option<String>, Error> {
        self.output.print(choices);
        let mut line = String::new();
        let read = std::io::stdin().lock().take(MOST_LINE).read_line(&mut line);
        let read = read.map_err(|error| {
            BAD_USAGE.at(Location::file("standard input"), "lines of text", error.to_string())
        })?;
        self.output.print(if read == 0 { "\n" } else { "" });
        Ok((read > 0).then_some(line))
    }

    /// The text that shows a claim.
    fn described(&self, one: &OpenClaim<'_>, fact: &str) -> String {
        let (claim, meaning) = (one.claim, &one.claim.meaning);
        let width = self.output.width();
        let head = format!("[{}] {}: {}", self.session.counts.shown, claim.id, one.why);
        let mut text = format!("\n{}\n", wrap(&visible(&head), width, width - 4).join("\n    "));
        text += &self.entry("quote", &format!("\"{}\"", claim.quote));
        for (at, lines) in meaning.context.lines().enumerate() {
            let name = match (at, &meaning.column) {
                (0, Some(_)) => "head",
                (_, Some(_)) => "row",
                (0, None) => "paragraph",
                _ => "and",
            };
            text += &self.entry(name, lines);
        }
        text += &self.entry("bound to", &meaning.expanded);
        text += &self.entry("fact", fact);
        let readings = meaning.readings.iter();
        let readings = readings
            .map(|one| format!("{} {} ({})", one.token, one.reading.word(), one.because))
            .collect::<Vec<_>>();
        text += &self.entry("reading", &readings.join(", "));
        text += &self.entry("premise", &meaning.premise);
        for (at, lint) in meaning.lints.iter().enumerate() {
            let answer = lint.answer.as_ref().map(|answer| format!("; answered: {answer}"));
            let words =
                format!("{}: {}{}", lint.kind.word(), lint.message, answer.unwrap_or_default());
            text += &self.entry(&format!("lint {}", at + 1), &words);
        }
        let check = match claim.outcome.verdict {
            Verdict::Verified => "the numbers agree with this fact".to_owned(),
            _ => claim.outcome.reason.clone(),
        };
        text + &self.entry("check", &check)
    }

    /// A name and what is said of it, wrapped; nothing if it is empty.
    fn entry(&self, name: &str, words: &str) -> String {
        let words = words.split_whitespace().map(visible).collect::<Vec<_>>().join(" ");
        if words.is_empty() {
            return String::new();
        }
        let width = self.output.width() - INDENT;
        let lines = wrap(&words, width, width).join(&format!("\n{:INDENT$}", ""));
        format!("  {name:<width$}{lines}\n", width = INDENT - 2)
    }
}
