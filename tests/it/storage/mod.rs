//! Object storage: a real S3 server, servers that fail in every way, and secrets that no message shows.

mod fetched;
mod proxy;
mod server;
mod worked;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use proxy::{Fault, Proxy};
use repro_bundle::storage::{Created, ObjectPart, Store, StoreSettings};
use repro_core::digest::{Digest, Hasher};
use repro_core::source::Error;
use server::{BUCKET, CANARY, KEY, S3Server, settings, variables};

/// The results of a plan at a server that answers, however long a busy machine takes.
fn store(address: std::net::SocketAddr) -> Store {
    opened(&StoreSettings::of(variables(address)))
}

/// The same for somebody who does not wait long, at a server that may say nothing.
fn hurried(address: std::net::SocketAddr) -> Store {
    opened(&settings(variables(address)))
}

fn opened(settings: &StoreSettings) -> Store {
    Store::open_with(&format!("s3://{BUCKET}/results"), settings).unwrap()
}

/// That a message says nothing of what is secret, and everything else.
fn is_told(error: &Error, code: &str) {
    let told = format!("{error} {error:?}");
    assert!(!told.contains("CANARY"), "{told}");
    assert_eq!(error.code.id, code, "{told}");
    assert!(error.place.file.contains("://"), "{told}");
}

#[test]
fn objects_of_a_real_server() {
    let Some(server) = S3Server::start("objects_of_a_real_server") else { return };
    let store = store(server.address);
    assert_eq!(store.shown(), "s3://bucket/results");
    assert_eq!(store.list(""), Ok(vec![]));
    assert_eq!(store.get("ab/one", 9), Ok(None));
    assert_eq!(store.create("ab/one", b"first"), Ok(Created::New));
    assert_eq!(store.create("ab/one", b"second"), Ok(Created::Exists));
    assert_eq!(store.get("ab/one", 5), Ok(Some(b"first".to_vec())));
    is_told(&store.get("ab/one", 4).unwrap_err(), "storage::too-large");
    assert_eq!(store.replace("ab/one", b"0123456789"), Ok(()));
    assert_eq!(store.create("a/two", b""), Ok(Created::New));
    assert_eq!(store.get("a/two", 0), Ok(Some(vec![])));
    let listed = |below| store.list(below).unwrap();
    assert_eq!(listed(""), [("a/two".to_owned(), 0), ("ab/one".to_owned(), 10)]);
    assert_eq!(listed("a"), [("a/two".to_owned(), 0)], "whole components");
    assert_eq!(listed("b"), []);
    let part = |range| store.part("ab/one", range).unwrap().unwrap();
    assert_eq!(part(2..5), ObjectPart { bytes: b"234".to_vec(), length: 10 });
    assert_eq!(part(8..500), ObjectPart { bytes: b"89".to_vec(), length: 10 });
    assert_eq!(part(10..11), ObjectPart { bytes: vec![], length: 10 });
    assert_eq!(store.part("none", 0..1), Ok(None));
    assert!(server.bucket().join("results/ab/one").is_file(), "it is the server that holds it");
}

#[test]
fn a_large_object_is_hashed_as_it_passes_by() {
    let Some(server) = S3Server::start("a_large_object_is_hashed_as_it_passes_by") else { return };
    let bytes: Vec<u8> = (0..20_000_000_u32).map(|at| (at % 251) as u8).collect();
    store(server.address).create("small", b"").unwrap();
    std::fs::write(server.bucket().join("results/large"), &bytes).unwrap();
    let store = store(server.address);
    let (mut hasher, mut largest) = (Hasher::default(), 0);
    let mut sink = |piece: &[u8]| {
        hasher.update(piece);
        largest = largest.max(piece.len());
        Ok(())
    };
    assert_eq!(store.pass("large", &mut sink), Ok(Some(20_000_000)));
    assert_eq!(hasher.finish(), Digest::of(&bytes));
    assert!(largest < 4 << 20, "it is never held as a whole");
}

#[test]
fn writers_at_one_time_leave_whole_objects() {
    let Some(server) = S3Server::start("writers_at_one_time_leave_whole_objects") else { return };
    let (one, other) = (store(server.address), store(server.address));
    let news = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for writer in 0..4_u8 {
            let (store, news) = (if writer % 2 == 0 { &one } else { &other }, &news);
            scope.spawn(move || {
                for object in 0..20 {
                    let name = format!("ab/{object}");
                    let created = store.create(&name, &[writer; 5_000]).unwrap();
                    news.fetch_add(usize::from(created == Created::New), Ordering::Relaxed);
                    let bytes = store.get(&name, 5_000).unwrap().unwrap();
                    assert!(bytes.len() == 5_000 && bytes.iter().all(|byte| *byte == bytes[0]));
                }
            });
        }
    });
    assert!(news.into_inner() >= 20);
    assert_eq!(one.list("ab").unwrap().len(), 20);
}

/// A store behind a proxy that misbehaves at the first requests, and has `ab/one` of ten bytes.
fn disturbed(server: &S3Server, faults: &[Fault]) -> (Proxy, Store) {
    store(server.address).replace("ab/one", b"0123456789").unwrap();
    let faults = faults.to_vec();
    let proxy =
        Proxy::before(server.address, move |at, _| faults.get(at).cloned().unwrap_or(Fault::None));
    let store = hurried(proxy.address);
    (proxy, store)
}

/// An answer of S3 that says more than it should.
fn said(status: u16, word: &str) -> Fault {
    let body = format!(
        "<Error><Code>{word}</Code><Message>{CANARY}</Message><AWSAccessKeyId>{KEY}</AWSAccessKeyId></Error>"
    );
    Fault::Status(status, body)
}

#[test]
fn what_passes_is_tried_again() {
    let Some(server) = S3Server::start("what_passes_is_tried_again") else { return };
    let busy = || said(503, "SlowDown");
    let two = |fault: Fault| vec![fault.clone(), fault];
    for faults in
        [two(busy()), two(Fault::Hangs), two(Fault::Half), two(Fault::Lost), two(Fault::Stalls)]
    {
        let (proxy, store) = disturbed(&server, &faults);
        assert_eq!(store.get("ab/one", 10).unwrap().unwrap(), b"0123456789", "{faults:?}");
        assert_eq!(proxy.asked().len(), 3, "{faults:?}");
    }
    for faults in [two(busy()), two(Fault::Hangs), vec![Fault::Stalls]] {
        let (_proxy, store) = disturbed(&server, &faults);
        assert_eq!(store.list("ab").unwrap().len(), 1, "{faults:?}");
    }
    for (at, faults) in [two(busy()), two(Fault::Hangs), vec![Fault::Lost], vec![Fault::Stalls]]
        .into_iter()
        .enumerate()
    {
        let (_proxy, store) = disturbed(&server, &faults);
        let name = format!("new/{at}");
        let created = store.create(&name, b"new").unwrap();
        let is_unsure = matches!(faults[0], Fault::Lost | Fault::Stalls);
        assert!(created == Created::New || is_unsure, "{faults:?}");
        assert_eq!(store.get(&name, 3).unwrap().unwrap(), b"new", "{faults:?}");
        assert_eq!(store.replace(&name, b"newer"), Ok(()));
    }
}

#[test]
fn what_does_not_pass_is_told_in_time() {
    let Some(server) = S3Server::start("what_does_not_pass_is_told_in_time") else { return };
    let denied = said(403, "AccessDenied");
    let skewed = said(403, "RequestTimeTooSkewed");
    let cases = [
        (said(503, "SlowDown"), "storage::unreachable", "503 (SlowDown) to the last of 4 requests"),
        (said(500, "InternalError"), "storage::unreachable", "500 (InternalError)"),
        (Fault::Hangs, "storage::unreachable", "broke"),
        (Fault::Noise, "storage::unreachable", "broke"),
        (denied, "storage::access-refused", "403 (AccessDenied)"),
        (skewed, "storage::access-refused", "clock"),
        (said(400, "ExpiredToken"), "storage::access-refused", "new credentials"),
        (said(404, "NoSuchBucket"), "storage::", "check the bucket name"),
        (said(301, "PermanentRedirect"), "storage::", "AWS_REGION"),
        (Fault::Endless(500), "storage::unreachable", "500"),
        (Fault::Endless(403), "storage::access-refused", "403"),
        (said(418, CANARY), "storage::", "418"),
    ];
    for (fault, code, words) in cases {
        let (_proxy, store) = disturbed(&server, &vec![fault.clone(); 50]);
        let began = Instant::now();
        let errors = [
            store.get("ab/one", 10).unwrap_err(),
            store.part("ab/one", 0..2).unwrap_err(),
            store.pass("ab/one", &mut |_| Ok(())).unwrap_err(),
            store.create("ab/new", b"new").unwrap_err(),
            store.replace("ab/one", b"new").unwrap_err(),
            store.list("").unwrap_err(),
        ];
        for error in &errors {
            let told = format!("{error} {error:?}");
            assert!(!told.contains("CANARY"), "{told}");
            assert!(error.code.id.starts_with(code) && told.contains(words), "{fault:?}: {told}");
        }
        assert!(began.elapsed() < Duration::from_secs(70), "{fault:?}: {:?}", began.elapsed());
    }
}

#[test]
fn a_server_that_says_412_without_an_object_is_not_believed() {
    let Some(server) = S3Server::start("a_server_that_says_412") else { return };
    let exists = || said(412, "PreconditionFailed");
    // Once: another write was under way that came to nothing.
    let (_proxy, store) = disturbed(&server, &[exists()]);
    assert_eq!(store.create("ab/new", b"new"), Ok(Created::New));
    assert_eq!(store.create("ab/new", b"other"), Ok(Created::Exists));
    let conflict = said(409, "ConditionalRequestConflict");
    let (_proxy, store) = disturbed(&server, &[conflict]);
    assert_eq!(store.create("ab/newer", b"newer"), Ok(Created::New));
    // Always.
    let proxy =
        Proxy::before(
            server.address,
            move |_, head| {
                if head.starts_with("PUT") { exists() } else { Fault::None }
            },
        );
    let store = self::store(proxy.address);
    let error = store.create("ab/newest", b"newest").unwrap_err();
    is_told(&error, "storage::not-written");
    assert_eq!(store.get("ab/newest", 9), Ok(None));
}

#[test]
fn a_body_cut_in_half_is_noticed() {
    let Some(server) = S3Server::start("a_body_cut_in_half_is_noticed") else { return };
    let (_proxy, store) = disturbed(&server, &vec![Fault::Half; 50]);
    for error in
        [store.get("ab/one", 10).unwrap_err(), store.pass("ab/one", &mut |_| Ok(())).unwrap_err()]
    {
        is_told(&error, "storage::unreachable");
    }
    // Of a part it is known how long it should be.
    let (_proxy, store) = disturbed(&server, &vec![Fault::HalfAsWhole; 50]);
    is_told(&store.part("ab/one", 0..10).unwrap_err(), "storage::unreachable");
}

#[test]
fn credentials_follow_no_redirection() {
    let other = Proxy::alone(|_, _| Fault::None);
    let to = format!("http://{}/elsewhere", other.address);
    let proxy = Proxy::alone(move |_, _| Fault::Leads(to.clone()));
    let mut variables = variables(proxy.address);
    variables.push(("AWS_SESSION_TOKEN".to_owned(), CANARY.to_owned()));
    let store = Store::open_with("s3://bucket/a", &settings(variables)).unwrap();
    for error in [
        store.get("one", 10).unwrap_err(),
        store.create("one", b"1").unwrap_err(),
        store.list("").unwrap_err(),
    ] {
        assert!(error.to_string().contains("a redirect"), "{error}");
        assert!(!error.to_string().contains("CANARY"), "{error}");
    }
    assert!(proxy.asked()[0].head.contains(CANARY), "the token goes to the server that was named");
    assert_eq!(other.asked().len(), 0, "and to no other");
}

#[test]
fn a_server_by_https_is_read_from_and_asked_for_nothing_else() {
    let bytes = Proxy::alone(|_, head| {
        if head.contains("/none") { Fault::Status(404, String::new()) } else { Fault::None }
    });
    let to = format!("http://{}/x", bytes.address);
    let first = Proxy::alone(move |_, _| Fault::Leads(to.clone()));
    // Whatever the environment holds.
    let settings = settings(variables(first.address));
    let open = |address| Store::open_with(&format!("http://{address}/files"), &settings).unwrap();
    let store = open(first.address);
    assert_eq!(store.get("one", 10), Ok(Some(vec![b'x'; 10])));
    for asked in bytes.asked().iter().chain(&first.asked()) {
        let head = asked.head.to_ascii_lowercase();
        assert!(
            !head.contains("canary")
                && !head.contains("authorization")
                && !head.contains("referer"),
            "{head}"
        );
    }
    let store = open(bytes.address);
    assert_eq!(store.get("none", 10), Ok(None));
    is_told(&store.part("one", 0..5).unwrap_err(), "storage::unreadable");
    for error in [
        store.create("one", b"").unwrap_err(),
        store.replace("one", b"").unwrap_err(),
        store.list("").unwrap_err(),
    ] {
        is_told(&error, "storage::read-only");
    }
    let in_circles =
        Proxy::alone(|_, head| Fault::Leads(head.split(' ').nth(1).unwrap().to_owned()));
    is_told(&open(in_circles.address).get("one", 10).unwrap_err(), "storage::unreadable");
    assert!(in_circles.asked().len() < 10);
    let into_the_clear = Proxy::alone(|_, _| Fault::Leads("http://192.0.2.1/a".to_owned()));
    is_told(&open(into_the_clear.address).get("one", 10).unwrap_err(), "storage::unreadable");
}

#[test]
fn nobody_is_asked_for_credentials() {
    let none = StoreSettings::of([]);
    for url in ["s3://bucket/a", "gs://bucket/a", "az://container/a"] {
        let error = Store::open_with(url, &none).unwrap_err();
        is_told(&error, "storage::no-credentials");
        assert!(error.help.contains("_SKIP_SIGNATURE=true"), "{error}");
    }
    let named = |pairs: &[(&str, &str)]| {
        StoreSettings::of(
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        )
    };
    // Half of a pair, a file that is not there, an account that is not named.
    for (url, pairs) in [
        ("s3://bucket/a", &[("AWS_ACCESS_KEY_ID", CANARY)][..]),
        ("gs://bucket/a", &[("GOOGLE_APPLICATION_CREDENTIALS", CANARY)]),
        ("gs://bucket/a", &[("GOOGLE_SERVICE_ACCOUNT_KEY", CANARY)]),
        ("az://container/a", &[("AZURE_STORAGE_ACCOUNT_KEY", CANARY)]),
    ] {
        is_told(&Store::open_with(url, &named(pairs)).unwrap_err(), "storage::bad-settings");
    }
    let in_the_clear = [
        ("AWS_ACCESS_KEY_ID", KEY),
        ("AWS_SECRET_ACCESS_KEY", CANARY),
        ("AWS_ENDPOINT_URL", "http://example.org"),
    ];
    let error = Store::open_with("s3://bucket/a", &named(&in_the_clear)).unwrap_err();
    is_told(&error, "storage::bad-settings");
    assert!(error.expected.contains("AWS_ENDPOINT_URL"), "{error}");
}
