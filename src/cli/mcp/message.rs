//! Messages of JSON-RPC 2.0: what a line says, and what is written back.

use serde_json::{Map, Value as Json, json};

/// The codes of errors of the protocol.
pub const PARSE_ERROR: i64 = -32700;
pub const INVALID_REQUEST: i64 = -32600;
pub const NO_SUCH_METHOD: i64 = -32601;
pub const INVALID_PARAMS: i64 = -32602;
/// Of this protocol: a version that the server does not speak.
pub const OTHER_VERSION: i64 = -32022;

/// A client's request, or the reason why it cannot be parsed.
#[derive(Debug, PartialEq)]
pub enum Incoming {
    /// An answer is expected under the id, a text or a whole number.
    Request {
        id: Json,
        method: String,
        params: Map<String, Json>,
    },
    Notification {
        method: String,
        params: Map<String, Json>,
    },
    /// A message that needs no answer and changes nothing: this server sends no requests to its client.
    Ignored,
    /// The id is that of the request, where it can be read.
    Faulty {
        id: Option<Json>,
        fault: ProtocolFault,
    },
}

/// An error of the protocol.
#[derive(Debug, PartialEq)]
pub struct ProtocolFault {
    pub code: i64,
    pub message: String,
    pub data: Option<Json>,
}

impl ProtocolFault {
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }
}

impl Incoming {
    /// Reads a line.
    pub fn parse(line: &[u8]) -> Self {
        let faulty = |id: Option<&Json>, code, message: &str| Self::Faulty {
            id: id.cloned(),
            fault: ProtocolFault::new(code, message),
        };
        let message: Json = match serde_json::from_slice(line) {
            Ok(message) => message,
            Err(error) => return faulty(None, PARSE_ERROR, &format!("not JSON: {error}")),
        };
        let Json::Object(mut message) = message else {
            let batches =
                "a message must be one object; the supported protocol revisions have no batches";
            return faulty(None, INVALID_REQUEST, batches);
        };
        let id = message.remove("id");
        let known = id.as_ref().filter(|id| id.is_string() || id.is_i64() || id.is_u64());
        if message.get("jsonrpc").and_then(Json::as_str) != Some("2.0") {
            return faulty(known, INVALID_REQUEST, "`jsonrpc` is not \"2.0\"");
        }
        let Some(method) = message.get("method") else {
            let is_answer = message.contains_key("result") || message.contains_key("error");
            return if is_answer {
                Self::Ignored
            } else {
                faulty(known, INVALID_REQUEST, "`method` is missing")
            };
        };
        let Some(method) = method.as_str().map(str::to_owned) else {
            return faulty(known, INVALID_REQUEST, "`method` is not a string");
        };
        let params = match message.remove("params") {
            None => Some(Map::new()),
            Some(Json::Object(params)) => Some(params),
            Some(_) => None,
        };
        match (id.is_some(), known, params) {
            (false, _, None) => Self::Ignored,
            (false, _, Some(params)) => Self::Notification { method, params },
            (true, None, _) => {
                faulty(None, INVALID_REQUEST, "`id` is neither a string nor an integer")
            }
            (true, Some(id), None) => faulty(Some(id), INVALID_PARAMS, "`params` is not an object"),
            (true, Some(id), Some(params)) => Self::Request { id: id.clone(), method, params },
        }
    }
}

/// The answer to a request.
pub fn result(id: &Json, result: Json) -> Json {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// The answer to what cannot be answered.
pub fn error(id: Option<&Json>, fault: ProtocolFault) -> Json {
    let ProtocolFault { code, message, data } = fault;
    let mut error = json!({"code": code, "message": message});
    if let Some(data) = data {
        error["data"] = data;
    }
    match id {
        Some(id) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
        None => json!({"jsonrpc": "2.0", "error": error}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_of(line: &str) -> Option<(bool, i64)> {
        match Incoming::parse(line.as_bytes()) {
            Incoming::Faulty { id, fault } => Some((id.is_some(), fault.code)),
            _ => None,
        }
    }

    #[test]
    fn what_is_no_request_is_told_with_its_code() {
        let cases = [
            ("{", false, PARSE_ERROR),
            ("", false, PARSE_ERROR),
            ("[]", false, INVALID_REQUEST),
            ("1", false, INVALID_REQUEST),
            (r#"{"id":1,"method":"ping"}"#, true, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1}"#, true, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, true, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, false, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, false, INVALID_REQUEST),
            (r#"{"jsonrpc":"2.0","id":"a","method":"ping","params":[]}"#, true, INVALID_PARAMS),
        ];
        for (line, has_id, code) in cases {
            assert_eq!(code_of(line), Some((has_id, code)), "{line}");
        }
        let nested = format!("{{\"jsonrpc\":{}", "[".repeat(100_000));
        assert_eq!(code_of(&nested), Some((false, PARSE_ERROR)));
    }

    #[test]
    fn answers_and_odd_notifications_are_passed_over() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/x","params":3}"#,
        ] {
            assert_eq!(Incoming::parse(line.as_bytes()), Incoming::Ignored, "{line}");
        }
    }
}
