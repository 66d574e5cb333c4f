//! The options of every command.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use repro_report::Format;

use super::formats;

#[derive(Debug, Args)]
pub struct CommonArgs {
    /// Project folder [default: the nearest parent that contains `repro/`]
    #[arg(long, global = true, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Output format; `repro help COMMAND` lists the formats that a command supports
    #[arg(long, global = true, default_value = "text", hide_possible_values = true, value_parser = formats::parser(&Format::ALL), help_heading = formats::HEADING)]
    pub format: Format,
    /// Also write the report to a file; may be repeated
    #[arg(long, global = true, value_name = "FORMAT=PATH", help_heading = formats::HEADING)]
    pub output: Vec<String>,
    /// Show only refuted claims, errors and differences
    #[arg(long, short, global = true, help_heading = formats::HEADING)]
    pub quiet: bool,
    /// Show everything, including verified claims
    #[arg(long, short, global = true, help_heading = formats::HEADING)]
    pub verbose: bool,
    /// When to use color
    #[arg(long, global = true, value_enum, default_value_t = Colour::Auto, help_heading = formats::HEADING)]
    pub color: Colour,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    Auto,
    Always,
    Never,
}
