//! `repro bundle seal`.

use super::Answer;
use super::args;
use super::output::Output;
use repro_bundle::bundle::{self, SIGNATURE};
use repro_bundle::signature;
use repro_report::outcome::{ExitStatus, Verdict};

/// Runs the command: prints the digest to pin.
pub fn run(own: &args::SealArgs, output: &Output) -> Answer {
    let shown = own.folder.display().to_string();
    let shown = shown.trim_end_matches('/');
    let sealed = bundle::seal(&own.folder, shown, None).map_err(|error| vec![error])?;
    let signature = signature::judge(&sealed, &[], None).map_err(|error| vec![error])?;
    if signature.is_some_and(|signature| signature.verdict == Verdict::Refuted) {
        let file = sealed.place(SIGNATURE).file;
        output.say(&format!("`{file}` signs different files: remove it, and sign again"));
    }
    output.print(&format!("{}\n", sealed.digest().prefixed()));
    Ok(ExitStatus::Verified)
}
