//! The command line: arguments in, a report on standard output, an exit status out.
//!
//! Only this module prints, and only here is the environment read: terminal, colours, folders.

mod args;
mod arrangement;
#[cfg(feature = "train")]
mod bar;
#[cfg(not(feature = "train"))]
#[path = "no_bar.rs"]
mod bar;
mod challenge;
mod check;
mod cluster;
mod common;
mod compare;
mod core;
mod core_bootstrap;
mod coverage;
mod definition;
mod diff;
mod draft;
mod examples;
mod exit;
mod explain;
mod formats;
mod gate;
mod git;
mod help;
mod history;
mod import;
mod init;
mod lines;
mod list;
mod manual;
mod mcp;
mod mutate;
mod output;
mod pace;
mod params;
mod partwise;
mod review;
mod seal;
mod search;
mod sign;
mod stats;
mod threads;
mod trace;
#[cfg(feature = "train")]
mod trainer;
#[cfg(not(feature = "train"))]
#[path = "no_trainer.rs"]
mod trainer;
mod unjudged;
mod verify;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::FromArgMatches;

use args::{Arguments, BundleCommand, ClusterCommand, Command, JudgedArgs};
use common::CommonArgs;
use output::Output;
use repro_core::source::{Code, Error, Location, codes};
use repro_report::outcome::ExitStatus;

codes! {
    NO_ROOT = "cli::no-root", "no project found", "run this in a project (a folder that contains `repro/`), or pass `--root`";
    BAD_USAGE = "cli::bad-usage", "the arguments are invalid or do not fit together", "see `repro help`";
    BAD_NUMBER = "cli::bad-number", "an argument is not a valid number", "see `repro stats --help` for the format of each option";
    CANNOT_WRITE = "cli::cannot-write", "a file cannot be written", "check that the folder exists, its permissions and the free disk space";
    NOTHING_TO_STAMP = "cli::nothing-to-timestamp", "nothing to timestamp was found", "see `repro bundle stamp --help`";
    NOT_A_STATEMENT = "cli::not-a-statement", "the file is not an in-toto statement", "pass a bundle folder, or a file written by `--output intoto=FILE`";
    UNKNOWN_CODE = "cli::unknown-code", "no code, function, rule or topic has this name", "search with `repro explain --search WORDS`";
}

/// The result of a command: a status, or the inputs that could not be used.
type Answer = Result<ExitStatus, Vec<Error>>;

/// Runs the program on the process's own arguments.
pub fn run() -> ExitCode {
    let parsed = definition::command().try_get_matches().and_then(|matches| {
        let name = definition::name_of(&matches);
        Ok((Arguments::from_arg_matches(&matches)?, name))
    });
    let (mut arguments, name) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => {
            // Clap's own texts; a closed pipe is no reason to complain.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let output = match Output::new(&arguments.common, &name) {
        Ok(output) => output,
        Err(error) => return refuse(&Output::plain(), &[error]),
    };
    if let Some(judged) = arguments.command.judged() {
        judged.take_posts(root(&arguments.common).ok().as_deref());
    }
    let answer = dispatch(&arguments, &output);
    let errors = answer.as_ref().err().map_or(&[][..], Vec::as_slice);
    if let Err(errors) = unjudged::replace_reports(&name, &output, errors) {
        refuse(&output, &errors);
        output.lose();
    }
    match answer {
        Ok(_) if output.has_lost() => ExitCode::from(ExitStatus::Refused.code()),
        Ok(status) => ExitCode::from(status.code()),
        Err(errors) => refuse(&output, &errors),
    }
}

fn dispatch(arguments: &Arguments, output: &Output) -> Answer {
    let common = &arguments.common;
    match &arguments.command {
        Command::Init(own) => init::run(common.root.as_deref(), own, output),
        Command::Import(own) => import::run(own, output),
        Command::Draft(own) => draft::run(&root(common)?, own, output),
        Command::Verify(own) => {
            // What was found and kept is read with its codes.
            if own.resume.is_some() {
                Code::learn(list::codes());
            }
            verify::run(&root_of(&own.judged, common)?, own, output)
        }
        Command::Check(own) => check::run(own, output),
        Command::Review(own) => review::run(&root(common)?, own, output),
        Command::Gate(own) => gate::run(root_if_any(common)?, own, output),
        Command::Diff(own) if compare::is_meant(own) => {
            compare::run(root_if_any(common)?.as_deref(), own, output)
        }
        Command::Diff(own) => diff::run(own, output),
        Command::Params(own) => params::run(own, output),
        Command::Stats(own) if !own.baselines.is_empty() => core::run(own, output),
        Command::Stats(own) => stats::run(own, output),
        Command::Trainer(own) => trainer::run(own, output),
        Command::Bundle(own) => of_bundles(own, output),
        Command::Cluster(own) => of_clusters(own, common, output),
        Command::Explain(own) => explain::run(common, own, output),
        Command::Mcp(own) => mcp::run(common, own),
        Command::Completions(own) => manual::completions(own, output),
        Command::Man(own) => manual::man(own, output),
    }
}

fn of_bundles(command: &BundleCommand, output: &Output) -> Answer {
    match command {
        BundleCommand::Seal(own) => seal::run(own, output),
        BundleCommand::Keygen(own) => sign::keygen(own, output),
        BundleCommand::Sign(own) => sign::run(own, output),
        BundleCommand::Stamp(own) => sign::stamp(own, output),
        BundleCommand::Attest(own) => sign::attest(own, output),
        BundleCommand::Challenge(own) => challenge::run(own, output),
    }
}

fn of_clusters(command: &ClusterCommand, common: &CommonArgs, output: &Output) -> Answer {
    Code::learn(list::codes());
    match command {
        ClusterCommand::Plan(own) => cluster::plan(&root_of(&own.judged, common)?, own, output),
        ClusterCommand::Work(own) => {
            cluster::work(&root_unless(common.root.is_none(), common)?, own, output)
        }
        ClusterCommand::Merge(own) => {
            cluster::merge(&root_unless(common.root.is_none(), common)?, own, output)
        }
    }
}

/// Says on standard error why nothing came of it.
fn refuse(output: &Output, errors: &[Error]) -> ExitCode {
    for error in errors {
        output.complain(error);
    }
    ExitCode::from(ExitStatus::Refused.code())
}

/// The project: as named, else the nearest folder upward that holds `repro/`.
fn root(common: &CommonArgs) -> Result<PathBuf, Vec<Error>> {
    let holds = |folder: &Path| folder.join("repro").is_dir();
    if let Some(named) = &common.root {
        let shown = named.display().to_string();
        let none = || NO_ROOT.at(Location::file(shown), "a folder that contains `repro/`", "none");
        return if holds(named) { Ok(named.clone()) } else { Err(vec![none()]) };
    }
    let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    let found = here.ancestors().find(|folder| holds(folder)).map(Path::to_path_buf);
    found.ok_or_else(|| {
        vec![NO_ROOT.at(Location::file("."), "a parent folder that contains `repro/`", "none")]
    })
}

/// The project of what is to be judged: bundles alone can lie outside of any.
fn root_of(judged: &JudgedArgs, common: &CommonArgs) -> Result<PathBuf, Vec<Error>> {
    root_unless(common.root.is_none() && verify::is_of_bundles_alone(judged), common)
}

/// The project, or this folder where the command can do without one and there is none.
fn root_unless(without: bool, common: &CommonArgs) -> Result<PathBuf, Vec<Error>> {
    let root = root(common);
    if without { root.or_else(|_| Ok(PathBuf::from("."))) } else { root }
}

/// The project, for commands that can do without; one that is named has to be there.
fn root_if_any(common: &CommonArgs) -> Result<Option<PathBuf>, Vec<Error>> {
    if common.root.is_some() { root(common).map(Some) } else { Ok(root(common).ok()) }
}
