//! Which revision of the protocol a request belongs to, and in what the answers of revisions differ.

use serde_json::{Map, Value as Json, json};

use super::message::{INVALID_PARAMS, OTHER_VERSION, ProtocolFault};

/// The revision in which each request stands alone and names its revision,
const STATELESS: &str = "2026-07-28";
/// and those in which `initialize` names it for all that follow, newest first.
const OF_SESSIONS: [&str; 2] = ["2025-11-25", "2025-06-18"];

/// Where a request of the stateless revision says what it is.
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";
pub const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// How long a client may keep the list of tools, in milliseconds: it changes with the program alone.
const FRESH_MS: u64 = 3_600_000;

/// How a request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpEra {
    Stateless,
    Session,
}

/// All revisions that are spoken, newest first.
pub fn all() -> impl Iterator<Item = &'static str> {
    std::iter::once(STATELESS).chain(OF_SESSIONS)
}

/// The revision of a session: the one that is asked for, where it is spoken, else the newest of them.
pub fn of_session(asked: &str) -> &'static str {
    let known = OF_SESSIONS.into_iter().find(|known| *known == asked);
    known.unwrap_or(OF_SESSIONS[0])
}

impl McpEra {
    /// That of a request, by what it says of itself; one that says nothing belongs to the session, if there is one.
    pub fn of(params: &Map<String, Json>, has_session: bool) -> Result<Self, ProtocolFault> {
        let meta = params.get("_meta").and_then(Json::as_object);
        let Some(version) = meta.and_then(|meta| meta.get(VERSION_KEY)) else {
            let lacks =
                format!("`params._meta` lacks `{VERSION_KEY}`, and there was no `initialize`");
            return if has_session {
                Ok(Self::Session)
            } else {
                Err(ProtocolFault::new(INVALID_PARAMS, lacks))
            };
        };
        let Some(version) = version.as_str() else {
            return Err(ProtocolFault::new(
                INVALID_PARAMS,
                format!("`{VERSION_KEY}` is not a string"),
            ));
        };
        if version != STATELESS {
            let data = json!({"supported": all().collect::<Vec<_>>(), "requested": version});
            let fault = ProtocolFault::new(OTHER_VERSION, "Unsupported protocol version");
            return Err(ProtocolFault { data: Some(data), ..fault });
        }
        let has_capabilities =
            meta.and_then(|meta| meta.get(CAPABILITIES_KEY)).is_some_and(Json::is_object);
        if !has_capabilities {
            let lacks = format!("`params._meta` lacks `{CAPABILITIES_KEY}`, an object");
            return Err(ProtocolFault::new(INVALID_PARAMS, lacks));
        }
        Ok(Self::Stateless)
    }

    /// A result as this era has it.
    pub fn result(self, mut result: Json) -> Json {
        if self == Self::Stateless {
            result["resultType"] = "complete".into();
            result["_meta"][SERVER_KEY] = server();
        }
        result
    }

    /// The same of a result that clients may keep.
    pub fn lasting(self, mut result: Json) -> Json {
        if self == Self::Stateless {
            result["ttlMs"] = FRESH_MS.into();
            result["cacheScope"] = "public".into();
        }
        self.result(result)
    }
}

/// Who answers.
pub fn server() -> Json {
    json!({"name": "repro", "title": "repro", "version": env!("CARGO_PKG_VERSION")})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn era(meta: Json, has_session: bool) -> Result<McpEra, i64> {
        let params = json!({"_meta": meta});
        McpEra::of(params.as_object().unwrap(), has_session).map_err(|fault| fault.code)
    }

    #[test]
    fn a_request_says_which_revision_it_is_of_or_belongs_to_a_session() {
        let whole = json!({VERSION_KEY: STATELESS, CAPABILITIES_KEY: {}});
        assert_eq!(era(whole, false), Ok(McpEra::Stateless));
        assert_eq!(era(json!({"progressToken": 1}), true), Ok(McpEra::Session));
        assert_eq!(era(json!({}), false), Err(INVALID_PARAMS));
        assert_eq!(era(json!({VERSION_KEY: STATELESS}), true), Err(INVALID_PARAMS));
        assert_eq!(era(json!({VERSION_KEY: 7}), true), Err(INVALID_PARAMS));
        assert_eq!(era(json!({VERSION_KEY: "1999-01-01"}), true), Err(OTHER_VERSION));
    }

    #[test]
    fn a_session_has_the_revision_that_is_asked_for_or_the_newest() {
        assert_eq!(of_session("2025-06-18"), "2025-06-18");
        assert_eq!(of_session("2024-11-05"), "2025-11-25");
        assert_eq!(of_session(STATELESS), "2025-11-25");
    }
}
