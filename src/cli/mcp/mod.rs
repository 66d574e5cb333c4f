//! `repro mcp`: the Model Context Protocol over standard input and output, so that a model can ask and the program decides.
//!
//! The server speaks the protocol and computes nothing. Each call of a tool runs in a process of its own (`answer`),
//! which can be ended at any moment, may not write to any file, and whose failure is an answer like others. What the
//! tools say is what the commands say.
//!
//! The official crate, `rmcp`, would bring 31 crates, a runtime for asynchronous code among them, and a tenth of the
//! time of a first build, for the few methods of a server that has nothing but tools. So the messages are read here;
//! `scripts/mcp.sh` holds them against the official schemas and has the official client talk to the program.

mod answer;
mod calls;
mod line;
mod message;
mod replies;
mod revision;
mod roots;
mod serve;
mod staged;
mod tools;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::Answer;
use super::common::CommonArgs;
use repro_core::source::codes;
use roots::ReadableRoots;

codes! {
    NO_FOLDER = "mcp::no-folder", "a folder for the MCP server does not exist", "pass an existing folder";
    OUTSIDE = "mcp::outside", "a path is outside the folders that the MCP server may read", "use a path inside the project, or start the server with `--allow DIR`";
    TOO_MANY_FILES = "mcp::too-many-files", "a path contains too many files for one call", "pass the subfolders one at a time, or use the command line";
    BAD_ARGUMENTS = "mcp::bad-arguments", "the tool's arguments are invalid or do not fit together", "compare the arguments with the tool's input schema";
    BAD_NAME = "mcp::bad-name", "a document's name is not a plain file name", "pass the file name without a folder: `README.md`";
    TOO_LONG = "mcp::timeout", "a call exceeded the server's time limit", "request less per call, or start the server with a larger `--time-limit`";
    TOO_MANY_CALLS = "mcp::too-many-calls", "too many calls are running at the same time", "wait for a running call to finish, then retry";
    NO_ANSWER = "mcp::no-answer", "a call ended without an answer", "run the same command in a terminal to see the error";
}

#[derive(Debug, Args)]
pub struct McpArgs {
    /// An additional folder that the server may read; may be repeated
    #[arg(long, value_name = "DIR")]
    pub allow: Vec<PathBuf>,
    /// Time limit for a call, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub time_limit: u64,
    /// Answers one call from standard input, with this private folder for its documents
    #[arg(long, value_name = "DIR", hide = true)]
    pub answer: Option<PathBuf>,
}

/// Runs the command: the server, or one call for it.
pub fn run(common: &CommonArgs, own: &McpArgs) -> Answer {
    let roots = ReadableRoots::of(common.root.as_deref(), &own.allow)?;
    match &own.answer {
        Some(folder) => answer::run(&roots, folder),
        None => serve::run(roots, Duration::from_secs(own.time_limit)),
    }
}
