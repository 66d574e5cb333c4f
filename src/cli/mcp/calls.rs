//! The calls that run: each in a process of its own, for so long and no longer, until it is answered or cancelled.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value as Json;
use tempfile::TempDir;

use super::answer::ToolCall;
use super::message::{INVALID_REQUEST, ProtocolFault};
use super::replies::Replies;
use super::roots::ReadableRoots;
use super::tools::{ToolAnswer, find};
use super::{NO_ANSWER, TOO_LONG, TOO_MANY_CALLS};
use repro_core::source::{Error, Location};
use rustix::process::{Pid, Signal, kill_process_group};

/// The most calls that run at a time.
const MOST_AT_A_TIME: usize = 8;
/// The longest answer of a call in bytes.
const LONGEST_ANSWER: u64 = 64 << 20;

/// The calls that are neither answered nor cancelled, by the id of the request.
type Running = BTreeMap<String, RunningCall>;

/// A call that waits for its answer.
#[derive(Debug, Clone, Copy)]
struct RunningCall {
    /// Its number: the id of a cancelled request may be used again.
    number: u64,
    /// None once it has ended, when its number may be that of another process.
    process: Option<Pid>,
}

impl RunningCall {
    /// Ends the process and what it started; one that has ended is no reason to complain.
    fn end(self) {
        if let Some(pid) = self.process {
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}

/// The calls of a server.
pub struct RunningCalls {
    roots: ReadableRoots,
    time_limit: Duration,
    running: Arc<(Mutex<Running>, Condvar)>,
    /// How many calls were started.
    started: u64,
    threads: Vec<JoinHandle<()>>,
}

/// A call whose process was started.
struct StartedCall {
    id: Json,
    number: u64,
    call: ToolCall,
    child: Child,
    /// Taken away with the call.
    _folder: TempDir,
}

impl RunningCalls {
    pub fn new(roots: ReadableRoots, time_limit: Duration) -> Self {
        Self { roots, time_limit, running: Arc::default(), started: 0, threads: Vec::new() }
    }

    /// Starts a call; `reply` makes the answer of what it comes to.
    pub fn start(
        &mut self,
        id: Json,
        call: ToolCall,
        replies: &Arc<Replies>,
        reply: impl FnOnce(&Json, Json) -> Json + Send + 'static,
    ) -> Result<(), ProtocolFault> {
        self.threads.retain(|thread| !thread.is_finished());
        let mut running = lock(&self.running.0);
        if running.contains_key(&id.to_string()) {
            return Err(ProtocolFault::new(
                INVALID_REQUEST,
                "a request with this id is still running",
            ));
        }
        if running.len() >= MOST_AT_A_TIME {
            let place = Location::file("tools/call");
            let expected = format!("at most {MOST_AT_A_TIME} calls at a time");
            let error = TOO_MANY_CALLS.at(place, expected, "one more");
            replies.send(&reply(&id, refused(&call, error)));
            return Ok(());
        }
        let number = self.started;
        let started = match self.spawn(id.clone(), number, call) {
            Ok(started) => started,
            Err(refused) => {
                replies.send(&reply(&id, refused));
                return Ok(());
            }
        };
        let process = Some(started.child_pid());
        running.insert(id.to_string(), RunningCall { number, process });
        drop(running);
        self.started += 1;
        let (running, replies, limit) = (self.running.clone(), replies.clone(), self.time_limit);
        self.threads.push(std::thread::spawn(move || {
            let (id, key) = (started.id.clone(), started.key());
            let result = started.answer(limit, &running.0);
            // Whoever cancels waits for what is said here: nothing is said of a call after it was cancelled.
            let mut waiting = lock(&running.0);
            if waiting.get(&key).is_some_and(|call| call.number == number) {
                replies.send(&reply(&id, result));
                waiting.remove(&key);
            }
            drop(waiting);
            running.1.notify_all();
        }));
        Ok(())
    }

    /// Ends a call, which is then not answered. One that is not known was answered before.
    pub fn cancel(&self, id: &Json) {
        let mut running = lock(&self.running.0);
        if let Some(call) = running.remove(&id.to_string()) {
            call.end();
        }
    }

    /// Waits a while for what runs, and ends the rest.
    pub fn finish(self, grace: Duration) {
        let (running, answered) = &*self.running;
        let waited =
            answered.wait_timeout_while(lock(running), grace, |running| !running.is_empty());
        let (mut left, _) = waited.unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *left).into_values().for_each(RunningCall::end);
        drop(left);
        for thread in self.threads {
            // A thread that failed has nothing to say.
            let _ = thread.join();
        }
    }

    fn spawn(&self, id: Json, number: u64, call: ToolCall) -> Result<StartedCall, Json> {
        let started = || {
            let mut builder = tempfile::Builder::new();
            // Nobody else on the machine reads the documents of a call.
            builder
                .prefix("repro-mcp-")
                .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
            let folder = builder.tempdir()?;
            let mut command = Command::new(this_program()?);
            command.arg0("repro");
            command.arg("--root").arg(&self.roots.project).arg("mcp");
            for other in &self.roots.others {
                command.arg("--allow").arg(other);
            }
            command.arg("--answer").arg(folder.path()).current_dir(&self.roots.project);
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            // What it starts itself ends with it.
            let child = command.process_group(0).spawn()?;
            io::Result::Ok((folder, child))
        };
        match started() {
            Ok((folder, child)) => Ok(StartedCall { id, number, call, child, _folder: folder }),
            Err(error) => {
                let place = Location::file("tools/call");
                let error = NO_ANSWER.at(place, "a process for the call", error.to_string());
                Err(refused(&call, error))
            }
        }
    }
}

impl StartedCall {
    fn child_pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    fn key(&self) -> String {
        self.id.to_string()
    }

    /// Hands the call over and waits for what it comes to.
    fn answer(mut self, limit: Duration, running: &Mutex<Running>) -> Json {
        let (sender, received) = mpsc::channel();
        let stdin = self.child.stdin.take();
        let stdout = self.child.stdout.take();
        let text = serde_json::to_vec(&self.call).unwrap_or_default();
        // The input stays open until the answer is there: its end means that nobody waits.
        let asked = std::thread::spawn(move || handed_over(stdin, &text));
        std::thread::spawn(move || {
            let mut answer = Vec::new();
            let read = stdout.map(|stdout| stdout.take(LONGEST_ANSWER).read_to_end(&mut answer));
            let _ = sender.send(read.is_some_and(|read| read.is_ok()).then_some(answer));
        });
        let complaints = self.child.stderr.take();
        std::thread::spawn(move || {
            complaints.map(|mut complaints| io::copy(&mut complaints, &mut io::stderr()))
        });
        let answer = received.recv_timeout(limit);
        self.end(running);
        let _ = asked.join();
        let status = self.child.wait();
        let place = || Location::file(self.call.tool.as_str());
        match answer {
            Err(_) => {
                let expected = format!("an answer within {} s", limit.as_secs());
                refused(&self.call, TOO_LONG.at(place(), expected, "none"))
            }
            Ok(answer) => {
                let answer = answer.and_then(|bytes| serde_json::from_slice::<Json>(&bytes).ok());
                answer.filter(Json::is_object).unwrap_or_else(|| {
                    let found = status.map_or_else(|error| error.to_string(), |s| s.to_string());
                    refused(&self.call, NO_ANSWER.at(place(), "an answer", found))
                })
            }
        }
    }

    /// Ends the process, before it is waited for: so long its number is its own.
    fn end(&self, running: &Mutex<Running>) {
        let mut running = lock(running);
        match running.get_mut(&self.key()) {
            Some(call) if call.number == self.number => {
                call.end();
                call.process = None;
            }
            // Who cancelled it has ended it.
            _ => {}
        }
    }
}

/// The program that runs, even where another was put in its place since it was started.
fn this_program() -> io::Result<PathBuf> {
    let own = PathBuf::from("/proc/self/exe");
    if own.exists() { Ok(own) } else { std::env::current_exe() }
}

/// Writes the call to its process; one that has ended reads nothing.
fn handed_over(stdin: Option<ChildStdin>, text: &[u8]) -> Option<ChildStdin> {
    let mut stdin = stdin?;
    let _ = stdin.write_all(text).and_then(|()| stdin.write_all(b"\n"));
    Some(stdin)
}

/// The result of a call that could not be answered.
fn refused(call: &ToolCall, error: Error) -> Json {
    let scope = find(&call.tool).map_or("", |tool| tool.scope);
    ToolAnswer::refused(scope, &[error]).result()
}

fn lock(running: &Mutex<Running>) -> MutexGuard<'_, Running> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}
