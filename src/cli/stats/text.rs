//! The answers for people: what matters most first, a table for each kind of answer.

use repro_core::decimal::format_float;
use repro_report::wrap;
use repro_report::{Columns, paragraph};
use repro_stats::answers::{Answer, AnswerField, Entry, NO_TARGET, POWER_METHOD, StatsRequest};

/// The significant digits that people see.
const DIGITS: usize = 6;
/// The mark of a number that decides nothing.
const MARK: &str = " *";

/// A table: its title, its columns as heading and field, and the field that a row of it must have.
struct Table {
    title: String,
    columns: &'static [(&'static str, &'static str)],
    of: &'static str,
}

/// The whole answer on a page of `width` columns.
pub fn render(asked: &StatsRequest, entries: &[Entry], width: usize) -> String {
    let mut parts = vec![headline(asked, entries, width)];
    parts.extend(tables(asked).iter().map(|table| draw(table, entries, width)));
    parts.push(adjusted(entries, width));
    parts.push(notes(asked, entries, width));
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

/// The answer that most people look for, in one sentence.
fn headline(asked: &StatsRequest, entries: &[Entry], width: usize) -> String {
    let find = |key: &str| entries.iter().find(|entry| entry.key == key);
    let main = find("welch").or_else(|| find("one_sample_t"));
    let Some(Entry { answer: Ok(answer), .. }) = main else { return String::new() };
    let cell = |name| cell(answer, name);
    let (what, against) = match asked.b {
        Some(_) => ("a - b", "by Welch's t".to_owned()),
        None => ("mean of a", format!("against {}", cell("target"))),
    };
    let level = format_float(100.0 * asked.level, DIGITS);
    let sentence = format!(
        "{what} = {}, {level}% interval [{}, {}], two-sided p = {} {against}",
        cell("diff|mean"),
        cell("ci.0"),
        cell("ci.1"),
        cell("p_two_sided"),
    );
    let lines = wrap(&sentence, width, width);
    lines.join("\n") + "\n"
}

fn tables(asked: &StatsRequest) -> Vec<Table> {
    let percent = format_float(100.0 * asked.level, DIGITS);
    let [low, high] = asked.margin.unwrap_or_default().map(|end| format_float(end, DIGITS));
    let (power, alpha) =
        (format_float(asked.power, DIGITS), format_float(1.0 - asked.level, DIGITS));
    let table = |title: &str, of, columns| Table { title: title.to_owned(), of, columns };
    vec![
        table("lists", "sd", &[("n", "n"), ("mean", "mean"), ("sd", "sd"), ("se", "se")]),
        table(
            "tests",
            "p_two_sided",
            &[
                ("t, z or U", "t|z|u"),
                ("df", "df"),
                ("p two-sided", "p_two_sided"),
                ("p less", "p_less"),
                ("p greater", "p_greater"),
            ],
        ),
        table(
            "distributions, groups, categories",
            "statistic",
            &[("D, F or chi2", "statistic"), ("df", "df.0"), ("df within", "df.1"), ("p", "p")],
        ),
        table(
            &format!("{percent}% intervals"),
            "ci",
            &[("estimate", "estimate|diff|mean"), ("low", "ci.0"), ("high", "ci.1"), ("se", "se")],
        ),
        table(
            &format!("inside {low}..{high}"),
            "p_lower",
            &[("p", "p"), ("p above low", "p_lower"), ("p below high", "p_upper")],
        ),
        table(
            &format!("power {power} at {alpha}"),
            "runs_needed",
            &[
                ("gap observed", "observed_gap"),
                ("runs needed", "runs_needed"),
                ("minimum detectable", "minimum_detectable_gap"),
            ],
        ),
        table(
            "proportions",
            "wilson",
            &[
                ("k", "k"),
                ("n", "n"),
                ("share", "mean"),
                ("se", "se"),
                ("Wilson low", "wilson.0"),
                ("high", "wilson.1"),
            ],
        ),
        table("pairs", "r", &[("r", "r")]),
    ]
}

/// One table, or nothing if no answer belongs in it.
fn draw(table: &Table, entries: &[Entry], width: usize) -> String {
    let headings = table.columns.iter().map(|(heading, _)| (*heading).to_owned()).collect();
    let mut drawn = Columns::new(headings);
    let mut rows = 0;
    for entry in entries {
        let Ok(answer) = &entry.answer else { continue };
        if answer.field(table.of).is_none() || table.of == "sd" && answer.field("t").is_some() {
            continue;
        }
        let label = format!("{}{}", entry.label, if answer.doubt.is_some() { MARK } else { "" });
        drawn.row(&label, table.columns.iter().map(|(_, name)| cell(answer, name)).collect());
        rows += 1;
    }
    if rows == 0 { String::new() } else { drawn.render(&table.title, width, false) }
}

/// A field by its name, by the first of several names, or by its place in a list: `ci.0`.
fn cell(answer: &Answer, names: &str) -> String {
    let found = names.split('|').find_map(|name| {
        let (name, place) = name.split_once('.').unwrap_or((name, "0"));
        Some((answer.field(name)?, place.parse::<usize>().ok()?))
    });
    match found {
        Some((AnswerField::Number(one), _)) => format_float(*one, DIGITS),
        Some((AnswerField::Count(count), _)) => count.to_string(),
        Some((AnswerField::Numbers(all), place)) => {
            all.get(place).map_or_else(String::new, |one| format_float(*one, DIGITS))
        }
        Some((AnswerField::Refused(_), _)) => "refused".to_owned(),
        _ => String::new(),
    }
}

/// P-values beside what Holm's rule makes of them.
fn adjusted(entries: &[Entry], width: usize) -> String {
    let answers = entries.iter().filter(|entry| entry.key == "holm");
    let lists = answers.filter_map(|entry| {
        let answer = entry.answer.as_ref().ok()?;
        match (answer.field("p")?, answer.field("adjusted")?) {
            (AnswerField::Numbers(p), AnswerField::Numbers(adjusted)) => Some((p, adjusted)),
            _ => None,
        }
    });
    let mut text = String::new();
    for (p_values, adjusted) in lists {
        let mut table = Columns::new(vec!["p".to_owned(), "Holm".to_owned()]);
        for (at, (p, adjusted)) in p_values.iter().zip(adjusted).enumerate() {
            table.row(
                &(at + 1).to_string(),
                vec![format_float(*p, DIGITS), format_float(*adjusted, DIGITS)],
            );
        }
        text.push_str(&table.render("p-values", width, false));
    }
    text
}

/// Notes on rejected results, results that decide nothing, and methods.
fn notes(asked: &StatsRequest, entries: &[Entry], width: usize) -> String {
    let (mut refused, mut doubted) = (Reasons::default(), Reasons::default());
    for Entry { label, answer, .. } in entries {
        match answer {
            Err(why) if why.0 == NO_TARGET => {}
            Err(why) => refused.add(&why.0, label),
            Ok(answer) => {
                if let Some(doubt) = &answer.doubt {
                    doubted.add(doubt, label);
                }
                for (_, field) in &answer.fields {
                    if let AnswerField::Refused(why) = field {
                        refused.add(&why.0, label);
                    }
                }
            }
        }
    }
    let mut text = String::new();
    for (why, labels) in &doubted.0 {
        let sentence = format!("no evidence: {why} ({})", labels.join(", "));
        text.push_str(&paragraph("*", &sentence, width));
    }
    for (why, labels) in &refused.0 {
        text.push_str(&paragraph("refused", &format!("{}: {why}", labels.join(", ")), width));
    }
    for (word, sentence) in made(asked, entries) {
        text.push_str(&paragraph(word, &sentence, width));
    }
    text
}

/// How the numbers were made.
fn made(asked: &StatsRequest, entries: &[Entry]) -> Vec<(&'static str, String)> {
    let computed =
        || entries.iter().filter_map(|entry| Some((entry.key, entry.answer.as_ref().ok()?)));
    let truth = |name, wanted| {
        computed().any(|(_, answer)| matches!(answer.field(name), Some(AnswerField::Truth(truth)) if *truth == wanted))
    };
    let mut notes = Vec::new();
    if computed().any(|(key, _)| key == "paired_t") {
        notes.push((
            "pairs",
            "use the paired result only if the pairs were declared before the runs and share \
             their data; otherwise use Welch's"
                .to_owned(),
        ));
    }
    if truth("enumerated", true) {
        notes.push((
            "exact",
            "bootstrap intervals (percentile, BCa) enumerate all resamples".to_owned(),
        ));
    }
    let drawn = computed().any(|(key, _)| key == "interquartile_mean");
    if truth("enumerated", false) || truth("exact", false) || drawn {
        notes.push((
            "drawn",
            format!(
                "bootstrap intervals (percentile, BCa) use {} resamples with seed {}",
                asked.resamples, asked.seed
            ),
        ));
    }
    if computed().any(|(_, answer)| answer.field("runs_needed").is_some()) {
        notes.push(("power", POWER_METHOD.to_owned()));
    }
    notes
}

/// Reasons in the order of their first use, each with the names it holds for.
#[derive(Default)]
struct Reasons<'a>(Vec<(&'a str, Vec<&'a str>)>);

impl<'a> Reasons<'a> {
    fn add(&mut self, why: &'a str, label: &'a str) {
        match self.0.iter_mut().find(|(known, _)| *known == why) {
            Some((_, labels)) if labels.contains(&label) => {}
            Some((_, labels)) => labels.push(label),
            None => self.0.push((why, vec![label])),
        }
    }
}
