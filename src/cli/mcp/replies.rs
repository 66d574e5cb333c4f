//! The standard output of the server, on which nothing stands but messages.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use serde_json::Value as Json;

use repro_report::outcome::ExitStatus;

/// Where answers go, whole and one after the other.
#[derive(Debug, Default)]
pub struct Replies(Mutex<()>);

impl Replies {
    /// Writes a message. Where nobody reads any more there is nothing left to do: calls end with their server.
    pub fn send(&self, message: &Json) {
        let _alone = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = repro_report::escaped_json(message.to_string());
        text.push('\n');
        let mut stdout = io::stdout().lock();
        if stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).is_err() {
            std::process::exit(i32::from(ExitStatus::Refused.code()));
        }
    }
}
