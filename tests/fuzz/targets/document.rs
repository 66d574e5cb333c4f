//! Published results, as `repro check` recognises them, from a text that lists files as the target `bundle` does.

use repro_formats::check::{CheckOptions, CheckReport, check as check_paths, json};
use repro_report::ReportOptions;

use super::bundle::{parse, put};
use super::new_folder;

/// A folder is checked twice alike, and its report can be written.
pub fn check(bytes: &[u8]) {
    let parent = new_folder();
    let folder = parent.path().join("results");
    if !put(&parse(bytes), &folder) {
        return;
    }
    let options = CheckOptions { paths: vec![folder], is_change: false, threads: 1 };
    let report = || -> CheckReport { check_paths(&options) };
    let once = report();
    assert_eq!(json(&once), json(&report()));
    let _ = repro_formats::check::text(&once, &ReportOptions::default());
}
