//! The report of a command that ends before it judges anything, so that an earlier report does not look like this run's.

use super::BAD_USAGE;
use super::output::Output;
use repro_core::source::Error;
use repro_formats::check::{self as check, CheckReport};
use repro_report::outcome::Report;
use repro_report::{self as report, Badge, BadgeColour, Format, ReportOptions};

/// Replaces the reports of earlier runs by one that says that nothing was judged, and why.
pub fn replace_reports(command: &str, output: &Output, errors: &[Error]) -> Result<(), Vec<Error>> {
    match command {
        "verify" | "cluster merge" | "check" | "gate" => {
            // `verify`, `merge` and `check` report inputs that cannot be used; `gate` ends there, and has no other report of them. Whoever
            // asked for what cannot be gets no new file.
            let is_misused = errors.iter().any(|error| error.code.id == BAD_USAGE.id);
            let wants_all = command == "gate" && !is_misused;
            let draw = |format, options: &_| drawn(command, format, errors, options);
            output.replaced(wants_all, &draw)
        }
        _ => Ok(()),
    }
}

/// The report in a format; none, where the format has no words for it.
fn drawn(
    command: &str,
    format: Format,
    errors: &[Error],
    options: &ReportOptions,
) -> Option<String> {
    let badge = || Badge {
        label: "repro gate",
        message: "not judged".to_owned(),
        colour: BadgeColour::Red,
    };
    match (format, command) {
        (Format::Intoto, _) | (Format::Json, "gate") => None,
        (Format::Badge, "gate") => Some(badge().svg()),
        (Format::Shields, "gate") => Some(badge().shields()),
        (Format::Json, "check") => {
            Some(check::json(&CheckReport { failures: errors.to_vec(), ..CheckReport::default() }))
        }
        _ => Some(report::render(&Report::not_judged(errors), format, options)),
    }
}
