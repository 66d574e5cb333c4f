//! `repro stats`.

mod input;
mod text;

use serde_json::{Map, Value as Json, json};

use super::output::Output;
use super::{Answer as Status, args};
use repro_core::decimal::format_float;
use repro_core::source::Error;
use repro_report::outcome::ExitStatus;
use repro_stats::answers::{Answer, AnswerField, Entry, StatsRequest, answers};

/// The schema of all that this command prints as JSON.
pub const SCHEMA: &str = "repro.stats/1";
/// The significant digits of a number for programs.
const DIGITS: usize = 10;

/// Runs the command: all numbers are read, or nothing is computed.
pub fn run(own: &args::StatsArgs, output: &Output) -> Status {
    let json = output.wants_json();
    let answered = AnsweredStats::of(own).map_err(|error| vec![error])?;
    if json {
        output.print_json(&answered.json());
    } else {
        output.print(&answered.text(output.width()));
    }
    Ok(ExitStatus::Verified)
}

/// A request with all its answers.
pub struct AnsweredStats {
    asked: StatsRequest,
    entries: Vec<Entry>,
}

impl AnsweredStats {
    /// Reads the arguments, and answers.
    pub fn of(own: &args::StatsArgs) -> Result<Self, Error> {
        let asked = input::read(own)?;
        let entries = answers(&asked);
        Ok(Self { asked, entries })
    }

    /// As `repro.stats/1`.
    pub fn json(&self) -> Json {
        document(&self.asked, &self.entries)
    }

    /// For people, in lines of `width` columns.
    pub fn text(&self, width: usize) -> String {
        text::render(&self.asked, &self.entries, width)
    }
}

fn document(asked: &StatsRequest, entries: &[Entry]) -> Json {
    let results: Map<String, Json> =
        entries.iter().map(|entry| (entry.key.to_owned(), result(entry))).collect();
    json!({
        "schema": SCHEMA,
        "level": number(asked.level),
        "seed": asked.seed,
        "resamples": asked.resamples,
        "results": results,
    })
}

fn result(entry: &Entry) -> Json {
    let answer = match &entry.answer {
        Ok(answer) => answer,
        Err(why) => return json!({"refused": why.0}),
    };
    let Answer { fields, doubt } = answer;
    let mut members: Map<String, Json> =
        fields.iter().map(|(key, field)| ((*key).to_owned(), value(field))).collect();
    members.insert("evidence".to_owned(), doubt.is_none().into());
    if let Some(doubt) = doubt {
        members.insert("why".to_owned(), doubt.as_str().into());
    }
    members.into()
}

fn value(field: &AnswerField) -> Json {
    match field {
        AnswerField::Number(one) => number(*one),
        AnswerField::Count(count) => (*count).into(),
        AnswerField::Numbers(all) => all.iter().map(|one| number(*one)).collect(),
        AnswerField::Counts(all) => all.as_slice().into(),
        AnswerField::Word(word) => (*word).into(),
        AnswerField::Truth(truth) => (*truth).into(),
        AnswerField::Refused(why) => json!({"refused": why.0}),
    }
}

/// A number of ten significant digits.
fn number(value: f64) -> Json {
    format_float(value, DIGITS).parse::<f64>().map_or(Json::Null, Json::from)
}
