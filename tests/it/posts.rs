//! The posts of the repository: their reports, the same on every run, and their coverage.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use repro_judge::coverage::{Number, coverage, publication};
use repro_judge::covered::covered;
use repro_judge::post;
use repro_judge::post_file::PostFile;
use repro_judge::verify::{BundleStore, Demands, judge, verify};
use repro_receipt::source::Source;
use repro_report::outcome::{EvidenceOrigin, ExitStatus, Method, Report, Verdict};
use repro_report::{Format, ReportOptions, render};

use crate::shared;

/// The posts of the repository.
const IDS: [&str; 7] =
    ["0002", "0003", "0004", "fairness", "moe-equal-resource", "tiny-dense-vs-sparse", "tiny-moe"];
/// Those that report on this repository's own runs.
const OWN: [&str; 2] = ["fairness", "tiny-moe"];

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

#[test]
fn the_reports_are_as_read() {
    for id in IDS {
        let report = report(id);
        let consistent = id == "tiny-dense-vs-sparse" || OWN.contains(&id);
        let wanted = if consistent { ExitStatus::Undecided } else { ExitStatus::Refuted };
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
    let published: [(&str, &str, PathBuf); 12] = [
        (tiny, "turing-wire", text("000_a3bdf51170edcef8.txt")),
        (tiny, "pith", text("001_6d58e06956794bde.txt")),
        ("0004", "post-0004", text("004_266ba8d949829bcd.txt")),
        ("moe-equal-resource", "abstract", text("002_6a79fedcf5598c09.txt")),
        ("moe-equal-resource", "review", text("003_12be9f91795d8813.txt")),
        ("0002", "receipts-0002", data.join("nmoe/0002.receipts.json")),
        ("0004", "receipts-0004", data.join("nmoe/0004.receipts.json")),
        ("0003", "receipts-0003", data.join("nmoe/0003.receipts.json")),
        ("0003", "leaderboard", data.join("nmoe/LEADERBOARD.json")),
        ("0003", "config-dense", data.join("nmoe/small_dense_sdpa.toml")),
        ("0003", "config-moe64", data.join("nmoe/small_moe.toml")),
        ("0003", "config-moe256", data.join("nmoe/small_moe_ultra.toml")),
    ];
    for (id, source, path) in published {
        every_number_is_accounted_for(id, source, &path);
    }
}

/// A report of our own stands beside its post, so this needs no shared data; and whatever it says was
/// recomputed from what a trainer emitted.
#[test]
fn every_number_of_our_own_reports_is_recomputed() {
    for id in OWN {
        every_number_is_accounted_for(id, "report", &root().join(format!("repro/{id}.md")));
        let report = report(id);
        for claim in &report.posts[0].claims {
            let outcome = &claim.outcome;
            assert_eq!(claim.origin, Some(EvidenceOrigin::Emitted), "{id} {}", claim.id);
            // What has to be executed waits for a caller who asks for it.
            if ["slice_replay", "replayed"].contains(&claim.kind) {
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

/// Each number of a publication has a claim that binds it, or a reason why none does.
fn every_number_is_accounted_for(id: &str, source: &str, path: &Path) {
    let name = path.file_name().unwrap().to_str().unwrap().to_owned();
    let text = Source::load(path, name.as_str()).unwrap();
    let found = match PostFile::load(root(), id).unwrap() {
        PostFile::Kinds(post) => {
            let mut shelf = BundleStore::new(1, &[]);
            shelf.fetch(root(), &post).unwrap();
            let judged = judge(&post, &shelf.library, 1).post;
            let publication = publication(&post, Some(source), &name).unwrap();
            coverage(&post, &judged, &shelf.library, publication, text).unwrap()
        }
        PostFile::Language(page) => {
            let known = page.texts.iter().find(|text| text.id == source);
            covered(&page, known.unwrap_or(&page.texts[0]), &text)
        }
    };
    let unbound: Vec<_> = found.numbers.iter().filter(|number| number.is_unbound()).collect();
    assert!(unbound.is_empty(), "{source}: {unbound:?}");
    assert!(found.misplaced.is_empty(), "{source}: {:?}", found.misplaced);
    assert!(found.numbers.iter().any(|number: &Number| !number.bound_by.is_empty()), "{source}");
}

#[test]
fn every_post_is_readable_and_every_bundle_is_pinned() {
    let ids = post::list(root()).unwrap();
    assert_eq!(ids, IDS);
    let report = whole();
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    let bundles: Vec<_> = report.posts.iter().map(|post| post.bundles.len()).collect();
    assert_eq!(bundles, [3, 2, 2, 42, 1, 1, 79]);
}

/// What a referee of the two digests asks first, with the answers.
#[test]
fn the_digests_are_answered() {
    let report = report("tiny-dense-vs-sparse");
    let post = &report.posts[0];
    let claim = |id: &str| post.claims.iter().find(|claim| claim.id == id).unwrap();
    let verdict = |id: &str| claim(id).outcome.verdict;
    // Is each gap significant under every reading of ±?
    for id in ["t-gap-active-noise", "t-gap-total-noise", "p-gap-active-noise", "p-gap-total-noise"]
    {
        assert_eq!(verdict(id), Verdict::Verified, "{id}");
        assert!(claim(id).outcome.recomputed.ends_with("in all 12 tests"), "{id}");
    }
    // Do the gaps follow from the losses, and who leads?
    for id in ["t-gap-active-follows", "p-gap-total-follows", "p-improves", "p-does-not-surpass"] {
        assert_eq!(verdict(id), Verdict::Verified, "{id}");
    }
    // Are the gaps paired by seed? Read as sd they must be, but nobody says what ± is.
    for (id, rho) in [
        ("t-gap-active-paired", "(paired only, ρ from 0.112 to 0.305)"),
        ("p-gap-total-paired", "(paired only, ρ from 0.586 to 0.66)"),
    ] {
        let outcome = &claim(id).outcome;
        assert_eq!(outcome.verdict, Verdict::Inconclusive, "{id}");
        assert!(outcome.reason.contains(&format!("sd, population sd, se {rho}")), "{id}");
    }
    // Neither the matches, nor the size, nor the trends can be recomputed.
    for id in ["t-match", "p-tightly", "p-below-25m", "p-active-means", "p-grows", "p-item-1"] {
        assert_eq!(verdict(id), Verdict::Unchecked, "{id}");
    }
    let refuted: Vec<_> =
        post.claims.iter().filter(|claim| claim.outcome.verdict == Verdict::Refuted).collect();
    assert!(refuted.is_empty(), "{refuted:?}");
    let referee = post.referee.as_ref().unwrap();
    assert!(!referee.load_bearing_premises.is_empty() && !referee.missing_facts.is_empty());
}

/// What post 0002 comes to: its runs are those of the other posts, its commands are not, and its
/// scores cannot be recomputed.
#[test]
fn the_verdicts_of_0002() {
    use Verdict::{Refuted, Unchecked, Verified};
    let report = report("0002");
    let verdict = |id: &str| {
        let claims = report.posts.iter().flat_map(|post| &post.claims);
        let found = claims.filter(|claim| claim.id == id).map(|claim| claim.outcome.verdict);
        found.collect::<Vec<_>>()
    };
    for (id, wanted) in [
        ("healthy-run", Verified),
        ("healthy-run-second", Verified),
        ("three-panel-run", Verified),
        ("collapsed-run", Unchecked),
        ("command-0-steps", Verified),
        ("command-0-config", Unchecked),
        ("command-1-steps", Unchecked),
        ("each-surface-has-its-command", Refuted),
        ("core-variance", Unchecked),
        ("three-panel-core", Unchecked),
        ("three-panel-bpb", Unchecked),
        ("note-super-256", Verified),
    ] {
        assert_eq!(verdict(id), [wanted], "{id}");
    }
    let core = report.posts[0].claims.iter().find(|claim| claim.id == "core-variance").unwrap();
    assert!(core.outcome.reason.contains("core_summaries.json"), "{}", core.outcome.reason);
}

/// What the review of the equal-resource study comes to, and why.
#[test]
fn the_verdicts_of_moe_equal_resource() {
    use Verdict::{Inconclusive, Refuted, Unchecked, Verified};
    let report = report("moe-equal-resource");
    let post = &report.posts[0];
    let claim = |id: &str| post.claims.iter().find(|claim| claim.id == id).unwrap();
    for (id, wanted) in [
        // Four of the five printed formulas follow; the relative cost and what is said of it do not.
        ("formula-params", Verified),
        ("formula-flops", Verified),
        ("formula-rate", Verified),
        ("formula-moe-flops", Verified),
        ("formula-cost", Refuted),
        ("more-tokens", Refuted),
        ("cost-grows", Verified),
        // C1 does not pay for the tokens of the MoE row, and the order at C1 stands on that row.
        ("moe-pays", Refuted),
        ("moe-beats-c1", Inconclusive),
        ("equal-data", Unchecked),
        ("data-at-c1", Refuted),
        ("data-at-c2", Verified),
        ("c2-tokens", Inconclusive),
        ("c2-about-twice", Verified),
        ("double", Refuted),
        ("llama-expansion", Refuted),
        ("up-to-8", Refuted),
        ("relaxed-epochs", Verified),
        ("tokens-per-parameter-7b", Inconclusive),
        ("half-sentence", Inconclusive),
        ("models-highlights", Verified),
        // All five tasks lead one way; neither runs nor items show that it is more than noise.
        ("exceeds-noise", Inconclusive),
        ("gsm8k-lead", Inconclusive),
        ("gaokao-lead", Inconclusive),
        ("exceeds-most", Inconclusive),
        ("gsm8k-moe-items", Verified),
        ("gaokao-dense-items", Verified),
        // Nothing is printed of the runs with reused data.
        ("abstract-reuse", Unchecked),
        ("reuse-lossless", Unchecked),
        ("epochs-high", Unchecked),
    ] {
        assert_eq!(claim(id).outcome.verdict, wanted, "{id}: {}", claim(id).outcome.reason);
    }
    assert!(claim("moe-pays").outcome.recomputed.contains("1.427"));
    assert!(claim("gsm8k-lead").outcome.reason.contains("0.108"));
    assert!(claim("formula-cost").outcome.reason.contains("without context the cost is r_a, but"));
    let referee = post.referee.as_ref().unwrap();
    assert!(referee.load_bearing_premises.len() >= 5 && referee.missing_facts.len() >= 5);
}
