//! The server: reads messages, answers what concerns the protocol, and hands calls of tools on.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value as Json, json};

use super::super::Answer;
use super::answer::ToolCall;
use super::calls::RunningCalls;
use super::line::{self, InputLine};
use super::message::{
    self, INVALID_PARAMS, INVALID_REQUEST, Incoming, NO_SUCH_METHOD, ProtocolFault,
};
use super::replies::Replies;
use super::revision::{self, McpEra, SUBSCRIPTION_KEY};
use super::roots::ReadableRoots;
use super::tools::{INSTRUCTIONS, find, listed};
use repro_report::outcome::ExitStatus;

/// How long calls may go on when the input has ended: clients wait two seconds before they end a server.
const GRACE: Duration = Duration::from_millis(1500);

/// Serves until the input ends.
pub fn run(roots: ReadableRoots, time_limit: Duration) -> Answer {
    let mut server = McpServer {
        session: None,
        calls: RunningCalls::new(roots, time_limit),
        replies: Arc::default(),
    };
    let mut input = io::stdin().lock();
    loop {
        match line::next(&mut input, line::MOST) {
            // An input that breaks off is one that has ended.
            Ok(InputLine::End) | Err(_) => break,
            Ok(InputLine::TooLong) => {
                let long = format!("a message may have at most {} bytes", line::MOST);
                server
                    .replies
                    .send(&message::error(None, ProtocolFault::new(INVALID_REQUEST, long)));
            }
            Ok(InputLine::Read(line)) if line.trim_ascii().is_empty() => {}
            Ok(InputLine::Read(line)) => server.take(&line),
        }
    }
    server.calls.finish(GRACE);
    Ok(ExitStatus::Verified)
}

struct McpServer {
    /// The revision of the session, where `initialize` has begun one.
    session: Option<&'static str>,
    calls: RunningCalls,
    replies: Arc<Replies>,
}

impl McpServer {
    fn take(&mut self, line: &[u8]) {
        match Incoming::parse(line) {
            Incoming::Ignored => {}
            Incoming::Faulty { id, fault } => {
                self.replies.send(&message::error(id.as_ref(), fault));
            }
            Incoming::Notification { method, params } => {
                if let ("notifications/cancelled", Some(id)) =
                    (method.as_str(), params.get("requestId"))
                {
                    self.calls.cancel(id);
                }
            }
            Incoming::Request { id, method, params } => {
                if let Err(fault) = self.request(&id, &method, params) {
                    self.replies.send(&message::error(Some(&id), fault));
                }
            }
        }
    }

    fn request(
        &mut self,
        id: &Json,
        method: &str,
        params: Map<String, Json>,
    ) -> Result<(), ProtocolFault> {
        // These two stand outside of any session.
        let result = match method {
            "initialize" => self.initialize(&params)?,
            "ping" if !params.contains_key("_meta") || self.session.is_some() => json!({}),
            _ => {
                return self.request_of(
                    McpEra::of(&params, self.session.is_some())?,
                    id,
                    method,
                    params,
                );
            }
        };
        self.replies.send(&message::result(id, result));
        Ok(())
    }

    fn request_of(
        &mut self,
        era: McpEra,
        id: &Json,
        method: &str,
        params: Map<String, Json>,
    ) -> Result<(), ProtocolFault> {
        let result = match (era, method) {
            (_, "tools/call") => return self.call(era, id, params),
            (_, "tools/list") if params.contains_key("cursor") => {
                return Err(ProtocolFault::new(
                    INVALID_PARAMS,
                    "the list of tools has only one page",
                ));
            }
            (_, "tools/list") => era.lasting(json!({"tools": listed()})),
            (McpEra::Stateless, "server/discover") => era.lasting(json!({
                "supportedVersions": revision::all().collect::<Vec<_>>(),
                "capabilities": {"tools": {}},
                "instructions": INSTRUCTIONS,
            })),
            (McpEra::Stateless, "subscriptions/listen") => self.nothing_to_listen_to(id),
            _ => {
                return Err(ProtocolFault::new(
                    NO_SUCH_METHOD,
                    format!("unknown method `{method}`"),
                ));
            }
        };
        self.replies.send(&message::result(id, result));
        Ok(())
    }

    fn initialize(&mut self, params: &Map<String, Json>) -> Result<Json, ProtocolFault> {
        let asked = params.get("protocolVersion").and_then(Json::as_str);
        let lacks =
            || ProtocolFault::new(INVALID_PARAMS, "`protocolVersion` (a string) is missing");
        let revision = revision::of_session(asked.ok_or_else(lacks)?);
        self.session = Some(revision);
        Ok(json!({
            "protocolVersion": revision,
            "capabilities": {"tools": {}},
            "serverInfo": revision::server(),
            "instructions": INSTRUCTIONS,
        }))
    }

    /// The tools are those of the program: a subscription to changes ends as soon as it is acknowledged.
    fn nothing_to_listen_to(&self, id: &Json) -> Json {
        let meta = json!({SUBSCRIPTION_KEY: id});
        self.replies.send(&json!({
            "jsonrpc": "2.0",
            "method": "notifications/subscriptions/acknowledged",
            "params": {"_meta": meta, "notifications": {}},
        }));
        McpEra::Stateless.result(json!({"_meta": meta}))
    }

    fn call(
        &mut self,
        era: McpEra,
        id: &Json,
        mut params: Map<String, Json>,
    ) -> Result<(), ProtocolFault> {
        let name = params.get("name").and_then(Json::as_str).unwrap_or_default().to_owned();
        if find(&name).is_none() {
            return Err(ProtocolFault::new(INVALID_PARAMS, format!("unknown tool `{name}`")));
        }
        let arguments = match params.remove("arguments") {
            None => Map::new(),
            Some(Json::Object(arguments)) => arguments,
            Some(_) => {
                return Err(ProtocolFault::new(INVALID_PARAMS, "`arguments` is not an object"));
            }
        };
        let call = ToolCall { tool: name, arguments };
        let reply = move |id: &Json, result| message::result(id, era.result(result));
        self.calls.start(id.clone(), call, &self.replies, reply)
    }
}
