//! `repro completions` and `repro man`: files for shells and for `man`, from the definitions that the program itself reads.

use clap_mangen::Man;

use super::args::{CompletionsArgs, ManArgs};
use super::output::Output;
use super::{Answer, BAD_USAGE, definition};
use repro_core::similar;
use repro_core::source::{Error, Location};
use repro_report::outcome::ExitStatus;

/// Prints a shell completion script.
pub fn completions(own: &CompletionsArgs, output: &Output) -> Answer {
    let mut script = Vec::new();
    clap_complete::generate(own.shell, &mut definition::command(), "repro", &mut script);
    output.print(&String::from_utf8_lossy(&script));
    Ok(ExitStatus::Verified)
}

/// Prints a man page.
pub fn man(own: &ManArgs, output: &Output) -> Answer {
    let mut whole = definition::command();
    whole.build();
    let below = |at: &clap::Command, name: &String| at.find_subcommand(name).cloned();
    let command = own.command.iter().try_fold(whole.clone(), |at, name| below(&at, name));
    let command = command.ok_or_else(|| vec![unknown(&whole, own)])?;
    // Written into memory: nothing here can fail.
    output.print(&page(command).unwrap_or_default());
    Ok(ExitStatus::Verified)
}

fn unknown(whole: &clap::Command, own: &ManArgs) -> Error {
    let name = own.command.join(" ");
    let known = whole.get_subcommands().map(clap::Command::get_name);
    let error = BAD_USAGE.at(Location::file("man"), "a command", format!("`{name}`"));
    match similar::did_you_mean(&name, known) {
        Some(meant) => error.help(meant),
        None => error,
    }
}

/// The page of a command: what clap knows, then notes, exit status and examples as sections of their own.
fn page(command: clap::Command) -> std::io::Result<String> {
    let notes = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
    let (notes, examples) = notes.split_once(definition::EXAMPLES).unwrap_or((&notes, ""));
    let at = notes.find(definition::EXIT_STATUS).unwrap_or(notes.len());
    let (notes, status) = notes.split_at(at);
    let source = concat!("repro ", env!("CARGO_PKG_VERSION"));
    // No date, so that equal programs print equal pages; an empty one would be left out and shift the others.
    let has_commands = command.has_subcommands();
    let man = Man::new(command).date(" ").source(source).manual("repro");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if has_commands {
        man.render_subcommands_section(&mut page)?;
    }
    let mut text = String::from_utf8_lossy(&page).into_owned();
    for (heading, words) in [("NOTES", notes), ("EXIT STATUS", status), ("EXAMPLES", examples)] {
        if !words.trim().is_empty() {
            text += &format!(".SH \"{heading}\"\n{}", roff(words));
        }
    }
    Ok(text)
}

/// Paragraphs, in which indented lines stay as they are.
fn roff(words: &str) -> String {
    let paragraphs = words.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty());
    let drawn = paragraphs.map(|paragraph| {
        let lines: Vec<_> = paragraph.trim_matches('\n').lines().map(line).collect();
        match paragraph.lines().any(|line| line.starts_with(' ')) {
            true => format!(".nf\n{}\n.fi\n", lines.join("\n")),
            false => format!("{}\n", lines.join("\n")),
        }
    });
    drawn.collect::<Vec<_>>().join(".PP\n")
}

/// A line in which nothing is a request, and hyphens are those of commands.
fn line(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    let text = text.replace('`', "\\(ga").replace('\'', "\\(aq");
    if text.starts_with('.') { format!("\\&{text}") } else { text }
}
