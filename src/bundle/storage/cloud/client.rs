//! Requests over HTTP: where they may lead, and what is remembered of their answers.
//!
//! Messages contain only what is recorded here, and no text of the library, which quotes addresses, headers and answers that
//! may contain secrets.

use std::cell::RefCell;

use async_trait::async_trait;
use http_body_util::{BodyExt, Limited};
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use object_store::{ClientConfigKey, ClientOptions};
use reqwest::redirect::Policy;
use reqwest::{Client, Url};

use crate::storage::limits::Limits;

/// The most bytes of an answer that says what went wrong.
const ANSWER_CAP: usize = 64 << 10;
/// The longest word by which a server calls an error.
const WORD_CAP: usize = 64;
/// So many redirections are followed where any are.
const REDIRECTIONS: usize = 5;

/// A record of the requests of one operation.
#[derive(Debug, Clone, Default)]
pub struct SeenRequests {
    /// How many there were.
    pub requests: usize,
    /// The status of the last, if it was an error.
    pub status: Option<u16>,
    /// The server's own word for that.
    pub word: Option<String>,
    /// Why the last had no answer.
    pub broken: Option<HttpErrorKind>,
}

tokio::task_local! {
    static SEEN: RefCell<SeenRequests>;
}

/// The outcome of an operation, with what its requests met.
pub async fn watched<T>(operation: impl Future<Output = T>) -> (T, SeenRequests) {
    let operation = async {
        let outcome = operation.await;
        (outcome, SEEN.with(|seen| seen.take()))
    };
    SEEN.scope(RefCell::default(), operation).await
}

/// Notes the end of a request, in place of that of the one before.
fn note(status: Option<u16>, word: Option<String>, broken: Option<HttpErrorKind>) {
    // Outside of an operation nobody asks.
    let _ = SEEN.try_with(|seen| {
        let requests = seen.borrow().requests + 1;
        seen.replace(SeenRequests { requests, status, word, broken });
    });
}

/// Where requests may lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leads {
    /// To the server that was named and to no other: they carry credentials, some in headers that no client knows to be secret.
    ToOne,
    /// On to others: they carry nothing.
    On,
}

/// Makes clients.
#[derive(Debug, Clone, Copy)]
pub struct Connector {
    /// Where their requests may lead.
    pub leads: Leads,
    /// How long is waited.
    pub limits: Limits,
}

impl HttpConnector for Connector {
    /// A client that asks without TLS where the options let it: this machine, and the library those that give machines of a
    /// provider their credentials, if the environment names these.
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        // Another may be installed already; then it is that one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let in_the_clear = options.get_config_value(&ClientConfigKey::AllowHttp);
        let in_the_clear = in_the_clear.is_some_and(|value| value == "true");
        let mut builder = Client::builder()
            .user_agent(concat!("repro/", env!("CARGO_PKG_VERSION")))
            .https_only(!in_the_clear)
            .redirect(redirections(self.leads))
            .referer(false)
            .connect_timeout(self.limits.connect)
            .read_timeout(self.limits.silence);
        if in_the_clear {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|source| object_store::Error::Generic {
            store: "client",
            source: Box::new(source.without_url()),
        })?;
        Ok(HttpClient::new(Watched(client)))
    }
}

fn redirections(leads: Leads) -> Policy {
    match leads {
        Leads::ToOne => Policy::none(),
        Leads::On => Policy::custom(|attempt| {
            if attempt.previous().len() > REDIRECTIONS || !may_follow(attempt.url()) {
                attempt.stop()
            } else {
                attempt.follow()
            }
        }),
    }
}

fn may_follow(url: &Url) -> bool {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let host = url.host_str().unwrap_or_default();
    url.scheme() == "https" || crate::storage::address::is_loopback(&format!("{host}{port}"))
}

/// A client whose answers are remembered. Of one that says what went wrong only the server's word for it goes on.
#[derive(Debug)]
struct Watched(Client);

#[async_trait]
impl HttpService for Watched {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let response = match HttpService::call(&self.0, request).await {
            Err(error) => {
                note(None, None, Some(error.kind()));
                return Err(error);
            }
            Ok(response) => response,
        };
        if response.status().is_success() {
            note(None, None, None);
            return Ok(response);
        }
        let (parts, body) = response.into_parts();
        let answer = Limited::new(body, ANSWER_CAP).collect().await;
        let answer = answer.map(|answer| answer.to_bytes()).unwrap_or_default();
        let word = word(&answer);
        let body = word.as_deref().map(|word| format!("<Error><Code>{word}</Code></Error>"));
        note(Some(parts.status.as_u16()), word, None);
        Ok(HttpResponse::from_parts(parts, body.unwrap_or_default().into()))
    }
}

/// The server's word for what went wrong, as S3, GCS and Azure write it.
fn word(answer: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(answer);
    let (word, _) = text.split_once("<Code>")?.1.split_once("</Code>")?;
    let is_word = (1..=WORD_CAP).contains(&word.len());
    (is_word && word.bytes().all(|byte| byte.is_ascii_alphabetic())).then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{may_follow, word};

    #[test]
    fn only_a_word_is_taken_from_an_answer() {
        let word = |answer: &str| word(answer.as_bytes());
        let denied = "<?xml?><Error><Code>AccessDenied</Code><Message>SECRET</Message></Error>";
        assert_eq!(word(denied).as_deref(), Some("AccessDenied"));
        for answer in [
            "",
            "<Code>",
            "<Code></Code>",
            "<Code>a b</Code>",
            "<Code>AKIA123</Code>",
            "{\"error\":1}",
        ] {
            assert_eq!(word(answer), None, "{answer}");
        }
        assert_eq!(word(&format!("<Code>{}</Code>", "a".repeat(65))), None);
    }

    #[test]
    fn redirections_stay_under_tls() {
        for (url, follows) in [
            ("https://cdn.example.org/a?sig=1", true),
            ("http://127.0.0.1:9000/a", true),
            ("http://169.254.169.254/latest/meta-data", false),
            ("http://example.org/a", false),
            ("ftp://example.org/a", false),
        ] {
            assert_eq!(may_follow(&url.parse().unwrap()), follows, "{url}");
        }
    }
}
