//! `repro params`.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::Answer;
use super::args;
use super::output::Output;
use repro_bundle::storage::Located;
use repro_core::decimal::grouped;
use repro_core::source::Error;
use repro_model::params::{self as params, Convention, CountScope, ModelCounts, ParameterCount};
use repro_report::outcome::ExitStatus;
use repro_report::{visible, wrap};

/// `repro.params/1`.
#[derive(Serialize)]
pub struct CountedModels {
    schema: &'static str,
    pub models: Vec<ModelCounts>,
}

/// Runs the command: every file that can be counted is, the others are rejected.
pub fn run(own: &args::ParamsArgs, output: &Output) -> Answer {
    let json = output.wants_json();
    let (located, mut errors) = located(&own.files);
    let (counted, uncounted) =
        count(located.iter().map(|one| (one.path.as_path(), one.shown.clone())));
    errors.extend(uncounted);
    if json {
        output.print_json(&counted);
    } else {
        output.print(&counted.text());
    }
    if errors.is_empty() { Ok(ExitStatus::Verified) } else { Err(errors) }
}

/// The files that somebody names, by paths or URLs, and those that are not to be had.
fn located(files: &[PathBuf]) -> (Vec<Located>, Vec<Error>) {
    let (mut located, mut errors) = (Vec::new(), Vec::new());
    for file in files {
        match Located::model(file) {
            Ok(one) => located.push(one),
            Err(error) => errors.push(error),
        }
    }
    (located, errors)
}

/// Counts each file that can be counted, with what messages call it; the others are rejected.
pub fn count<'a>(files: impl Iterator<Item = (&'a Path, String)>) -> (CountedModels, Vec<Error>) {
    let (mut models, mut errors) = (Vec::new(), Vec::new());
    for (path, name) in files {
        match params::load(path, &name) {
            Ok(model) => models.push(model),
            Err(error) => errors.push(error),
        }
    }
    (CountedModels { schema: "repro.params/1", models }, errors)
}

impl CountedModels {
    /// All of them for people.
    pub fn text(&self) -> String {
        self.models.iter().map(render).collect::<Vec<_>>().join("\n")
    }
}

/// One model for people: both objects, their parts, and the counts under other conventions.
fn render(model: &ModelCounts) -> String {
    let number = |count: u64| grouped(&count.to_string());
    let mut text = format!("{}\n", visible(&model.file));
    // Writing to a string cannot fail.
    let mut line = |name: &str, total: String, active: String| {
        let _ = writeln!(text, "  {name:<24}{total:>20}{active:>20}");
    };
    let family = model.counts.as_ref().map_or("unknown family", |counts| counts.family);
    line(family, "P_total".to_owned(), "P_active".to_owned());
    let scope = model.counts.as_ref().map(|counts| counts.scope);
    let all = match scope {
        Some(CountScope::LanguageModel) => "language model only",
        _ => "all",
    };
    line(all, number(model.total), model.active.map_or_else(|| "unknown".to_owned(), number));
    if let Some(counts) = &model.counts {
        for (part, count) in counts.breakdown.parts().filter(params::shown) {
            line(&format!("  {}", part.name()), number(count.total), number(count.active));
        }
        for convention in
            Convention::ALL.into_iter().filter(|convention| *convention != Convention::Default)
        {
            let count = |object| number(counts.count(object, convention));
            line(convention.name(), count(ParameterCount::Total), count(ParameterCount::Active));
        }
        line("active FFN width", String::new(), number(counts.active_ffn_width));
    }
    let ignored = model.counts.as_ref().map_or(&[][..], |counts| &counts.ignored);
    if !ignored.is_empty() {
        text.push_str(&paragraph(&format!("ignored fields: {}", ignored.join(", "))));
    }
    for note in &model.notes {
        text.push_str(&paragraph(&format!("note: {note}")));
    }
    text
}

/// Words of a file, made safe, broken at 100 columns and indented.
fn paragraph(words: &str) -> String {
    let lines = wrap(&visible(words), 98, 96);
    let indented = lines
        .iter()
        .enumerate()
        .map(|(at, line)| format!("{}{line}\n", if at == 0 { "  " } else { "    " }));
    indented.collect()
}
