//! One call, in a process of its own: it reads the call, answers on standard output, and ends.

use std::io::{self, BufReader, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::super::Answer;
use super::line::{self, InputLine};
use super::roots::ReadableRoots;
use super::staged::{PrivateFolder, may_write};
use super::tools::{ToolAnswer, ToolScene, find};
use super::{BAD_ARGUMENTS, NO_ANSWER};
use repro_core::source::{Error, Location};
use repro_report::outcome::ExitStatus;

/// The input of a call's process.
#[derive(Debug, Serialize, Deserialize)]
pub struct ToolCall {
    pub tool: String,
    pub arguments: Map<String, Json>,
}

/// Answers the call that stands on standard input.
pub fn run(roots: &ReadableRoots, folder: &Path) -> Answer {
    may_write(false);
    let call = read().map_err(|error| vec![error])?;
    end_with_the_server(folder);
    let scene = ToolScene { roots, folder: PrivateFolder(folder) };
    let unknown = || {
        let found = format!("`{}`", call.tool);
        vec![BAD_ARGUMENTS.at(Location::file("tool"), "the name of a tool", found)]
    };
    let tool = find(&call.tool).ok_or_else(unknown)?;
    let answer = (tool.answer)(&scene, Json::Object(call.arguments));
    let answer = answer.unwrap_or_else(|errors| ToolAnswer::refused(tool.scope, &errors));
    let mut text = answer.result().to_string();
    text.push('\n');
    let mut stdout = io::stdout().lock();
    if stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).is_err() {
        abandon(folder);
    }
    Ok(ExitStatus::Verified)
}

/// Written anew by the server a call may be somewhat longer than its message was.
fn read() -> Result<ToolCall, Error> {
    let read = line::next(&mut BufReader::new(io::stdin()), 2 * line::MOST);
    let InputLine::Read(bytes) = read.map_err(|error| lost(&error))? else {
        return Err(NO_ANSWER.at(Location::file("standard input"), "a call", "none"));
    };
    serde_json::from_slice(&bytes).map_err(|error| {
        NO_ANSWER.at(Location::file("standard input"), "a call", error.to_string())
    })
}

fn lost(error: &io::Error) -> Error {
    let place = Location::file("standard input and output");
    NO_ANSWER.at(place, "a server on standard input and output", error.to_string())
}

/// The server keeps the input open until it has the answer.
fn end_with_the_server(folder: &Path) {
    let folder = folder.to_owned();
    std::thread::spawn(move || {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        abandon(&folder);
    });
}

/// Ends where the server has ended: nobody waits for an answer, and nobody else takes the private folder away.
fn abandon(folder: &Path) -> ! {
    let _ = std::fs::remove_dir_all(folder);
    std::process::exit(i32::from(ExitStatus::Refused.code()))
}
