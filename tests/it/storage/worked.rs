//! Work items whose bundles and results lie in object storage.

use std::fs;

use super::fetched::{repro, with_bundle};
use super::proxy::{Fault, Proxy};
use super::server::{BUCKET, variables};

/// A bundle of the store, and one of this repository.
const BUNDLES: [&str; 2] = ["s3://bucket/runs/tiny-moe-moe-active12-s1", "receipts/nmoe-0004"];

/// Every third request is answered with 503, or its answer comes by half, or gets lost.
fn disturbs(at: usize) -> Fault {
    match at % 9 {
        2 => Fault::Status(503, String::new()),
        5 => Fault::Half,
        8 => Fault::Lost,
        _ => Fault::None,
    }
}

#[test]
fn two_workers_on_one_store_come_to_the_report_of_one_machine() {
    let Some(server) = with_bundle("two workers on one store") else { return };
    let calm = || variables(server.address);
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan.jsonl").to_str().unwrap().to_owned();
    let planned = repro(calm(), &["cluster", "plan", BUNDLES[0], BUNDLES[1], "--out", &plan]);
    assert!(planned.status.success(), "{planned:?}");
    assert_eq!(fs::read_to_string(&plan).unwrap().lines().count(), 3);
    // A store that is not there for long enough ends the work, and nothing is kept.
    let results = format!("s3://{BUCKET}/results");
    let away = Proxy::before(server.address, |_, head| {
        if head.contains("/results/") { Fault::Status(503, String::new()) } else { Fault::None }
    });
    let work = ["cluster", "work", &plan, "--results", &results];
    let failed = repro(variables(away.address), &work);
    assert_eq!(failed.status.code(), Some(2), "{failed:?}");
    assert!(String::from_utf8_lossy(&failed.stderr).contains("storage::unreachable"), "{failed:?}");
    assert!(!server.bucket().join("results").exists());
    // Two at once on the same items, by a way that loses requests and answers.
    let proxy = Proxy::before(server.address, |at, _| disturbs(at));
    let workers = [(); 2].map(|()| {
        let (variables, plan, results) = (variables(proxy.address), plan.clone(), results.clone());
        std::thread::spawn(move || {
            repro(variables, &["cluster", "work", &plan, "--results", &results])
        })
    });
    for worker in workers {
        let worked = worker.join().unwrap();
        assert!(worked.status.success(), "{worked:?}");
    }
    let again = repro(calm(), &work);
    let told = String::from_utf8_lossy(&again.stdout).into_owned();
    assert_eq!(told, "2 items: 0 executed, 2 already done\n");
    for format in ["json", "text", "jsonl"] {
        let alone = repro(calm(), &["verify", BUNDLES[0], BUNDLES[1], "--format", format]);
        let merged =
            repro(calm(), &["cluster", "merge", &plan, "--results", &results, "--format", format]);
        assert_eq!(merged.status, alone.status, "{merged:?}");
        assert!(!alone.stdout.is_empty() && merged.stdout == alone.stdout, "{format}");
    }
    // What is cut in the store is named, and made again.
    let folders = fs::read_dir(server.bucket().join("results")).unwrap();
    let cut = folders.map(|one| one.unwrap().path()).find(|path| path.is_dir()).unwrap();
    let cut = fs::read_dir(cut).unwrap().next().unwrap().unwrap().path();
    let whole = fs::read(&cut).unwrap();
    fs::write(&cut, &whole[..whole.len() / 2]).unwrap();
    let refused = repro(calm(), &["cluster", "merge", &plan, "--results", &results]);
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(2) && told.contains("cluster::damaged"), "{told}");
    assert!(repro(calm(), &work).status.success());
    assert_eq!(fs::read(&cut).unwrap(), whole);
}

#[test]
fn a_plan_holds_no_secret() {
    for url in ["s3://CANARY:secret@bucket/run", "https://localhost/run?X-Amz-Signature=CANARY"] {
        let refused = repro(Vec::new(), &["cluster", "plan", url]);
        assert_eq!((refused.status.code(), refused.stdout.len()), (Some(2), 0), "{refused:?}");
    }
}
