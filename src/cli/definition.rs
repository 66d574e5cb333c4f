//! The commands as users see them: the definitions in `args`, with formats, examples and groups.

use clap::CommandFactory;

use super::args::Arguments;
use super::{examples, exit, formats};

/// The heading of a command's examples.
pub const EXAMPLES: &str = "\n\nExamples:\n";
/// The start of a command's exit status note.
pub const EXIT_STATUS: &str = "Exit status";

/// The commands, grouped by purpose.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Start", &["init", "import", "draft"]),
    ("Judge", &["verify", "check", "review", "gate", "diff"]),
    ("Compute", &["params", "stats"]),
    ("Run", &["train", "replay", "devices"]),
    ("Manage", &["bundle", "cluster"]),
    ("Look up", &["explain"]),
];

/// The whole program.
pub fn command() -> clap::Command {
    let command = completed(Arguments::command(), "");
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}Options:\n{{options}}{{after-help}}",
        grouped(&command)
    );
    command.help_template(template)
}

/// The command that was called: `verify`, `bundle sign`.
pub fn name_of(matches: &clap::ArgMatches) -> String {
    let mut names = Vec::new();
    let mut at = matches.subcommand();
    while let Some((name, inner)) = at {
        names.push(name);
        at = inner.subcommand();
    }
    names.join(" ")
}

/// A command with formats, examples and exit status for each of those in it.
fn completed(mut command: clap::Command, above: &str) -> clap::Command {
    let names: Vec<_> = command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    for name in names {
        let whole_name = format!("{above}{name}");
        command = command.mut_subcommand(&name, |one| {
            if one.has_subcommands() {
                completed(one, &format!("{whole_name} "))
            } else {
                whole(one, &whole_name)
            }
        });
    }
    command
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

/// The commands that do something, by their whole names.
#[cfg(test)]
pub fn leaves(command: &clap::Command, above: &str) -> Vec<(String, clap::Command)> {
    let mut found = Vec::new();
    for one in command.get_subcommands() {
        let name = format!("{above}{}", one.get_name());
        if one.has_subcommands() {
            found.extend(leaves(one, &format!("{name} ")));
        } else {
            found.push((name, one.clone()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_that_is_shown_stands_in_one_group() {
        for one in command().get_subcommands() {
            let groups = GROUPS.iter().filter(|(_, names)| names.contains(&one.get_name()));
            assert_eq!(groups.count(), usize::from(!one.is_hide_set()), "{}", one.get_name());
        }
    }

    #[test]
    fn a_command_lists_the_formats_that_it_takes() {
        for (name, mut one) in leaves(&command(), "") {
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
