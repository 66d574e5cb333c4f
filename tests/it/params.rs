//! Parameter objects of published models: those written anew in `tests/corpus/params`, and all
//! configs of the shared data.

use std::path::{Path, PathBuf};

use repro::params::{Part, recompute};
use repro::source::{Document, Source};
use serde_json::Value;

/// The folder of shared data; where it is absent the test says so, or fails if it must be there.
fn shared() -> Option<PathBuf> {
    let folder = std::env::var_os("REPRO_SHARED_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data"),
        PathBuf::from,
    );
    if folder.is_dir() {
        return Some(folder);
    }
    assert_ne!(std::env::var("REPRO_REQUIRE_SHARED").as_deref(), Ok("1"), "no shared data");
    #[expect(clippy::disallowed_macros, reason = "a skipped test must say so")]
    {
        eprintln!("skipped: no shared data at {}", folder.display());
    }
    None
}

fn document(path: &Path) -> Document {
    Document::parse(Source::load(path, path.file_name().unwrap().to_string_lossy()).unwrap())
        .unwrap()
}

#[test]
fn every_shared_config_counts_as_the_reference_does() {
    let Some(shared) = shared() else { return };
    let folder = shared.join("model_configs");
    let text = std::fs::read_to_string(folder.join("counts.json")).unwrap();
    let counts: Value = serde_json::from_str(&text).unwrap();
    let counts = counts["counts"].as_object().unwrap();
    assert_eq!(counts.len(), 26);
    for (name, expected) in counts {
        let objects = recompute(&document(&folder.join(format!("{name}.json"))))
            .unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
        let found = [
            objects.total(),
            objects.active(),
            objects.breakdown.part(Part::Embedding).total,
            objects.breakdown.part(Part::Head).total,
        ];
        let wanted = ["total", "active", "embedding", "lm_head"];
        assert_eq!(found, wanted.map(|key| expected[key].as_u64().unwrap()), "{name}");
        assert_eq!(objects.tied, expected["tied_embeddings"].as_bool().unwrap(), "{name}");
    }
}

#[test]
fn the_published_nmoe_runs_count_as_their_receipts_say() {
    let Some(shared) = shared() else { return };
    for (name, total, active, width) in [
        ("small_dense_sdpa", 190_532_352, 190_532_352, 3072),
        ("small_moe", 755_534_592, 191_073_024, 3072),
        ("small_moe_ultra", 2_836_482_816, 192_891_648, 3072),
    ] {
        let objects = recompute(&document(&shared.join(format!("nmoe/{name}.toml")))).unwrap();
        let found = (objects.total(), objects.active(), objects.active_ffn_width);
        assert_eq!(found, (total, active, width), "{name}");
    }
}
