//! The commands as people see them: those of `args`, with the formats that each has, its examples, and in groups.

use clap::CommandFactory;

use super::args::Arguments;
use super::{examples, exit, formats};

/// What stands before the examples of a command, and
pub const EXAMPLES: &str = "\n\nExamples:\n";
/// before what its exit status means.
pub const EXIT_STATUS: &str = "Exit status";

/// The commands by what they are for.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Start", &["init", "import", "draft"]),
    ("Judge", &["verify", "check", "review", "gate", "compare", "coverage", "mutate"]),
    ("Compute", &["params", "diff", "stats", "core"]),
    ("Train and replay", &["train", "replay", "challenge", "dispute", "calibrate", "devices"]),
    ("Many machines", &["plan", "work", "merge"]),
    ("Seal and sign", &["seal", "keygen", "sign", "stamp", "attest"]),
    ("Look up", &["list", "explain", "mcp", "completions", "man"]),
];

/// The whole program.
pub fn command() -> clap::Command {
    let mut command = Arguments::command();
    let names: Vec<_> = command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    for name in names {
        command = command.mut_subcommand(&name, |one| whole(one, &name));
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}Options:\n{{options}}{{after-help}}",
        grouped(&command)
    );
    command.help_template(template)
}

fn whole(command: clap::Command, name: &str) -> clap::Command {
    let notes = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
    let status = if notes.contains(EXIT_STATUS) { "" } else { exit::PLAIN };
    let gap = if notes.is_empty() || status.is_empty() { "" } else { "\n\n" };
    let examples = examples::of(name).iter().map(|(line, what)| format!("  # {what}\n  {line}\n"));
    let examples = examples.collect::<Vec<_>>().concat();
    command
        .args(formats::options(name))
        .after_long_help(format!("{notes}{gap}{status}{EXAMPLES}{examples}"))
}

/// The commands under their headings, a line each.
fn grouped(command: &clap::Command) -> String {
    let width = command.get_subcommands().map(|one| one.get_name().len()).max().unwrap_or_default();
    let mut text = String::new();
    for (heading, names) in GROUPS {
        text += &format!("{heading}:\n");
        for one in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = one.get_about().map(ToString::to_string).unwrap_or_default();
            text += &format!("  {:<width$}  {about}\n", one.get_name());
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_stands_in_one_group() {
        for one in command().get_subcommands() {
            let groups = GROUPS.iter().filter(|(_, names)| names.contains(&one.get_name()));
            assert_eq!(groups.count(), 1, "{}", one.get_name());
        }
    }

    #[test]
    fn a_command_lists_the_formats_that_it_takes() {
        for mut one in command().get_subcommands().cloned() {
            let name = one.get_name().to_owned();
            let formats = formats::of(&name);
            let help = one.render_long_help().to_string();
            for format in repro_report::Format::ALL {
                // Other lists of a command may have the same word, as `import` has `jsonl`.
                let item = format!("- {}: ", format.word());
                let is_item = |line: &str| {
                    let about = line.trim().strip_prefix(&item).map(str::trim_start);
                    about.is_some_and(|about| format.about().starts_with(about))
                };
                let is_listed = help.lines().any(is_item);
                let expected = formats.len() > 1 && formats.contains(&format);
                assert_eq!(is_listed, expected, "{name} {}", format.word());
            }
            assert_eq!(
                help.contains("--output <FORMAT=PATH>"),
                formats::makes_report(formats),
                "{name}"
            );
        }
    }

    #[test]
    fn the_definitions_fit_together() {
        command().debug_assert();
    }
}
