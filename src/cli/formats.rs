//! Which formats each command can print, and its options for them.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgAction};
use repro_report::Format;

/// The heading of the output options.
pub const HEADING: &str = "Output";
/// Two groups of runs are no list of posts.
const GATED: [Format; 10] = [
    Format::Text,
    Format::Json,
    Format::Junit,
    Format::Github,
    Format::Markdown,
    Format::Intoto,
    Format::Html,
    Format::Sarif,
    Format::Badge,
    Format::Shields,
];
/// Of these no statement: documents that are checked have no digests, which it would be about.
const WITHOUT_STATEMENT: [Format; 9] = [
    Format::Text,
    Format::Json,
    Format::Junit,
    Format::Github,
    Format::Markdown,
    Format::Html,
    Format::Sarif,
    Format::Badge,
    Format::Shields,
];
/// The formats of a comparison: for people, for a comment, or for programs.
const COMPARED: [Format; 3] = [Format::Text, Format::Json, Format::Markdown];
/// The formats of commands without a report: for people or for programs.
const ANSWER: [Format; 2] = [Format::Text, Format::Json];

/// The formats of a command.
pub fn of(command: &str) -> &'static [Format] {
    match command {
        "verify" | "cluster merge" => &Format::ALL,
        "gate" => &GATED,
        "diff" => &COMPARED,
        "check" => &WITHOUT_STATEMENT,
        "cluster work" | "devices" | "explain" | "import" | "params" | "replay" | "review"
        | "stats" | "train" => &ANSWER,
        _ => &[Format::Text],
    }
}

/// Whether a command makes a report, which files can be written of.
pub fn makes_report(formats: &[Format]) -> bool {
    formats.len() > ANSWER.len()
}

/// Reads one of some formats.
pub fn parser(formats: &[Format]) -> impl TypedValueParser<Value = Format> + use<> {
    let values =
        formats.iter().map(|format| PossibleValue::new(format.word()).help(format.about()));
    let known = |word: String| Format::of_word(&word).ok_or("not a format");
    PossibleValuesParser::new(values.collect::<Vec<_>>()).try_map(known)
}

/// The options of a command, in the place of those that stand before all commands.
pub fn options(command: &str) -> [Arg; 2] {
    let formats = of(command);
    let format = Arg::new("format").long("format").value_name("FORMAT").help("Output format");
    let output = Arg::new("output").long("output").value_name("FORMAT=PATH");
    [
        format
            .help_heading(HEADING)
            .default_value(Format::Text.word())
            .value_parser(parser(formats))
            .hide(formats.len() == 1),
        output
            .help_heading(HEADING)
            .help("Also write the report to a file, in any of these formats; may be repeated")
            .action(ArgAction::Append)
            .hide(!makes_report(formats)),
    ]
}
