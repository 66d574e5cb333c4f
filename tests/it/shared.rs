//! The real data that lies beside the project, where it does.

use std::path::PathBuf;

/// The folder of the shared data. Where it is absent the caller skips, and says so, unless
/// `REPRO_REQUIRE_SHARED` is set.
pub fn folder(test: &str) -> Option<PathBuf> {
    let named = std::env::var_os("REPRO_SHARED_DATA").map(PathBuf::from);
    let folder =
        named.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data"));
    if folder.is_dir() {
        return Some(folder);
    }
    assert!(std::env::var_os("REPRO_REQUIRE_SHARED").is_none(), "{} is required", folder.display());
    say_skipped(test, &format!("there is no shared data at {}", folder.display()));
    None
}

/// Says that a test did not run on this machine.
#[expect(clippy::disallowed_macros, reason = "a skipped test says so")]
pub fn say_skipped(test: &str, reason: &str) {
    println!("{test}: skipped, {reason}");
}
