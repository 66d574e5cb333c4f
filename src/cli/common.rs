//! The options that every command has.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub struct CommonArgs {
    /// The project folder [default: the nearest parent that holds `repro/`]
    #[arg(long, global = true, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Output format
    #[arg(long, global = true, value_enum, default_value_t = FormatArg::Text)]
    pub format: FormatArg,
    /// Also write the report to a file; may be repeated
    #[arg(long, global = true, value_name = "FORMAT=PATH")]
    pub output: Vec<String>,
    /// Show only refuted claims, errors and differences
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Show everything, including verified claims
    #[arg(long, short, global = true)]
    pub verbose: bool,
    /// When to use color
    #[arg(long, global = true, value_enum, default_value_t = Colour::Auto)]
    pub color: Colour,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    Text,
    Json,
    Junit,
    Github,
    Markdown,
    Intoto,
    Html,
    Sarif,
    Badge,
    Shields,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    Auto,
    Always,
    Never,
}
