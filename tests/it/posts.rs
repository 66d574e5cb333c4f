//! The posts of the repository: their reports, the same on every run, and their coverage.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use repro_core::source::Source;
use repro_report::outcome::{ClaimReport, EvidenceOrigin, ExitStatus, Method, Report, Verdict};
use repro_report::{Format, ReportOptions, render};
use repro_verify::covered::{Number, covered};
use repro_verify::page::PostPage;
use repro_verify::post;
use repro_verify::verify::{Demands, verify};

use crate::shared;

/// The posts of the repository.
const IDS: [&str; 10] = [
    "0002",
    "0003",
    "0004",
    "fairness",
    "marin-speedrun",
    "model-cards",
    "moe-equal-resource",
    "nanochat-leaderboard",
    "tiny-dense-vs-sparse",
    "tiny-moe",
];
/// Those that report on this repository's own runs.
const OWN: [&str; 2] = ["fairness", "tiny-moe"];
/// Those that report on results of others: what they say themselves is verified.
pub const AUDITS: [&str; 3] = ["marin-speedrun", "model-cards", "nanochat-leaderboard"];
/// Those in which nothing is refuted.
const CONSISTENT: [&str; 4] = ["0002", "fairness", "tiny-dense-vs-sparse", "tiny-moe"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn judged(ids: &[&str], threads: usize) -> Report {
    let ids: Vec<_> = ids.iter().map(|id| (*id).to_owned()).collect();
    verify(root(), &ids, &Demands::default(), threads)
}

/// The report on one post, judged once for all tests.
fn report(id: &str) -> &'static Report {
    static REPORTS: [OnceLock<Report>; IDS.len()] = [const { OnceLock::new() }; IDS.len()];
    let at = IDS.iter().position(|known| *known == id).unwrap();
    REPORTS[at].get_or_init(|| judged(&[id], 2))
}

/// The report on all of them on one thread.
fn whole() -> &'static Report {
    static WHOLE: OnceLock<Report> = OnceLock::new();
    WHOLE.get_or_init(|| judged(&IDS, 1))
}

/// The claims about one quote.
fn of_quote<'r>(report: &'r Report, quote: &str) -> Vec<&'r ClaimReport> {
    let claims = report.posts.iter().flat_map(|post| &post.claims);
    claims.filter(|claim| claim.quote.contains(quote)).collect()
}

#[test]
fn the_reports_are_as_read() {
    for id in IDS {
        let report = report(id);
        let wanted = match id {
            _ if AUDITS.contains(&id) => ExitStatus::Verified,
            _ if CONSISTENT.contains(&id) => ExitStatus::Undecided,
            _ => ExitStatus::Refuted,
        };
        assert_eq!(report.exit_status(), wanted, "{id}");
        let text = render(report, Format::Text, &ReportOptions::default());
        insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(format!("post_{id}"), text);
        });
    }
}

#[test]
fn reports_are_the_same_bytes_on_every_run_and_thread_count() {
    // Rendering knows no threads: every report is drawn in every format, and judged once.
    for threads in [1, 2, 4] {
        let again = judged(&IDS, threads);
        for format in Format::ALL {
            let [first, again] =
                [whole(), &again].map(|report| render(report, format, &ReportOptions::default()));
            assert!(again == first, "{format:?} with {threads} threads");
        }
    }
}

#[test]
fn every_number_of_the_publications_has_a_claim_or_a_reason() {
    let Some(data) = shared::folder("coverage of the posts") else { return };
    let text = |name: &str| data.join("../sources").join(name);
    let tiny = "tiny-dense-vs-sparse";
    let published: [(&str, PathBuf); 12] = [
        (tiny, text("000_a3bdf51170edcef8.txt")),
        (tiny, text("001_6d58e06956794bde.txt")),
        ("0004", text("004_266ba8d949829bcd.txt")),
        ("moe-equal-resource", text("002_6a79fedcf5598c09.txt")),
        ("moe-equal-resource", text("003_12be9f91795d8813.txt")),
        ("0002", data.join("nmoe/0002.receipts.json")),
        ("0004", data.join("nmoe/0004.receipts.json")),
        ("0003", data.join("nmoe/0003.receipts.json")),
        ("0003", data.join("nmoe/LEADERBOARD.json")),
        ("0003", data.join("nmoe/small_dense_sdpa.toml")),
        ("0003", data.join("nmoe/small_moe.toml")),
        ("0003", data.join("nmoe/small_moe_ultra.toml")),
    ];
    for id in IDS.into_iter().filter(|id| !OWN.contains(id) && !AUDITS.contains(id)) {
        let texts = published.iter().filter(|(post, _)| *post == id);
        let texts: Vec<_> = texts.map(|(_, path)| path.clone()).collect();
        let demands = Demands { texts: texts.clone(), ..Demands::default() };
        let with_texts = verify(root(), &[id.to_owned()], &demands, 2);
        assert_eq!(with_texts.failures, [], "{id}");
        let [of_post] = with_texts.posts.as_slice() else { panic!("{id}") };
        assert_eq!(of_post.texts.len(), texts.len(), "{id}");
        for text in &of_post.texts {
            assert!(text.is_at_hand && text.unbound.is_empty(), "{id}: {text:?}");
        }
        // Whether the text is at hand or not, what it is held against is the same.
        let verdicts = |report: &Report| {
            let claims = report.posts.iter().flat_map(|post| &post.claims);
            claims.map(|claim| (claim.id.clone(), claim.outcome.verdict)).collect::<Vec<_>>()
        };
        assert_eq!(verdicts(&with_texts), verdicts(report(id)), "{id}");
    }
}

/// A report of our own stands beside its post, so this needs no shared data; and whatever it says was
/// recomputed from what a trainer emitted.
#[test]
fn every_number_of_our_own_reports_is_recomputed() {
    for id in OWN {
        let page = PostPage::load(root(), id).unwrap();
        let path = root().join(format!("repro/{id}.md"));
        let source = Source::load(&path, format!("repro/{id}.md")).unwrap();
        let found = covered(&page, &page.texts[0], &source).unwrap();
        let unbound: Vec<_> = found.numbers.iter().filter(|number| number.is_unbound()).collect();
        assert!(unbound.is_empty(), "{id}: {unbound:?}");
        assert!(found.misplaced.is_empty(), "{id}: {:?}", found.misplaced);
        assert!(found.numbers.iter().any(|number: &Number| !number.bound_by.is_empty()), "{id}");
        for claim in &report(id).posts[0].claims {
            let outcome = &claim.outcome;
            assert_eq!(claim.origin, Some(EvidenceOrigin::Declared), "{id} {}", claim.id);
            // What has to be executed waits for a caller who asks for it.
            if claim.kind == "replayed" {
                assert_eq!(outcome.verdict, Verdict::Unchecked, "{id} {}", claim.id);
                continue;
            }
            // A setting, and what a run recorded, are compared as they stand.
            assert!(outcome.method >= Some(Method::Compared), "{id} {}", claim.id);
            let settled = [Verdict::Verified, Verdict::Inconclusive].contains(&outcome.verdict);
            assert!(settled, "{id} {}: {}", claim.id, outcome.reason);
        }
    }
}

/// An audit says nothing that its evidence does not give, and leaves no number unbound.
#[test]
fn every_number_of_an_audit_is_verified_or_excused() {
    for id in AUDITS {
        let [post] = report(id).posts.as_slice() else { panic!("{id}") };
        assert!(post.texts.iter().all(|text| text.is_at_hand && text.unbound.is_empty()), "{id}");
        for claim in &post.claims {
            let outcome = &claim.outcome;
            assert_eq!(outcome.verdict, Verdict::Verified, "{id} {}: {}", claim.id, outcome.reason);
            assert_eq!(claim.origin, Some(EvidenceOrigin::Transcribed), "{id} {}", claim.id);
        }
    }
}

#[test]
fn every_post_is_readable_and_every_bundle_is_pinned() {
    assert_eq!(post::list(root()).unwrap(), IDS);
    let report = whole();
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    let bundles: Vec<_> = report.posts.iter().map(|post| post.bundles.len()).collect();
    assert_eq!(bundles, [3, 2, 2, 42, 1, 1, 1, 1, 1, 79]);
    for id in IDS {
        let lock = repro_verify::lock::read(root(), id).unwrap().unwrap();
        let post = report.posts.iter().find(|post| post.id == id).unwrap();
        let found = repro_verify::lock::PostLock::of(post);
        assert_eq!(lock.differences(id, &found), [], "{id}");
    }
}

/// Every post says what it stands on, and shows values beside a sentence that decide nothing.
#[test]
fn a_post_names_what_it_stands_on_and_shows_values_beside() {
    for id in IDS {
        assert!(!report(id).posts[0].central.is_empty(), "{id}");
    }
    let quote = "The three models saw almost the same tokens per active parameter";
    let claims = of_quote(report("0004"), quote);
    let claim = claims.iter().find(|claim| claim.outcome.verdict == Verdict::Refuted).unwrap();
    let [compared, beside] = claim.meaning.fact.as_ref().unwrap().rows.as_slice() else {
        panic!("{claim:?}");
    };
    assert_eq!((compared.holds(), beside.holds()), (Some(false), None));
    assert_eq!(beside.quantity, "planned per active");
    let planned: Vec<_> = beside.cells.iter().map(|cell| (cell.arm.as_str(), cell.value)).collect();
    assert!((planned[0].1 - 26.24).abs() < 0.01 && planned[2].0 == "MoE-256", "{planned:?}");

    let text = std::fs::read_to_string(root().join("repro/0002.toml")).unwrap();
    let other = text.replace("sentences = [\"each-", "sentences = [\"no-");
    let source = Source::new("repro/0002.toml", other.into_bytes()).unwrap();
    let document = repro_core::source::Document::parse_toml(source).unwrap();
    assert_eq!(PostPage::parse(document).unwrap_err().code.id, "post::unknown-sentence");
}

#[test]
fn what_stands_beside_a_sentence_is_read_from_evidence() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| crate::program::repro(folder.path(), arguments);
    assert_eq!(run(&["init"]).status.code(), Some(0));
    let file = folder.path().join("repro/first.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let beside = |value: &str| {
        std::fs::write(&file, format!("{text}\nbeside = \"{value}\"\n")).unwrap();
        let output = run(&["verify", "--post", "first"]);
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(beside("last").0, Some(0));
    let (code, words) = beside("[1.5, 1.6]");
    assert_eq!(code, Some(2), "{words}");
    assert!(words.contains("sentence::beside-without-evidence"), "{words}");
}

/// What a reader sees in the reports of the posts is explained at length.
#[test]
fn every_code_of_the_posts_is_explained() {
    let claims = whole().posts.iter().flat_map(|post| &post.claims);
    let codes: std::collections::BTreeSet<_> =
        claims.filter_map(|claim| claim.outcome.code.map(|code| code.id)).collect();
    assert!(codes.len() > 10);
    for code in codes {
        let output = crate::program::repro(root(), &["explain", code]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("Example: ") && text.contains("How it can mislead: "), "{text}");
    }
}

/// What a reader of the posts asks first, by the words that are asked about.
#[test]
fn the_words_that_matter_come_to_this() {
    use Verdict::{Inconclusive, Refuted, Verified};
    for (id, quote, verdicts) in [
        ("0004", "almost the same tokens per active parameter", &[Verified, Refuted, Refuted][..]),
        ("0004", "almost-perfect active-parameter comparison", &[Verified, Verified, Verified]),
        ("0004", "d12 separated on both bpb and CORE", &[Inconclusive, Inconclusive]),
        ("0004", "the dense curve is already fixed", &[Inconclusive]),
        ("0004", "is not a toy effect", &[Inconclusive]),
    ] {
        let found = of_quote(report(id), quote);
        let found: Vec<_> = found.iter().map(|claim| claim.outcome.verdict).collect();
        assert_eq!(found, verdicts, "{id}: {quote}");
    }
}
