//! `repro seal`.

use super::Answer;
use super::args;
use super::output::Output;
use crate::bundle;
use crate::outcome::ExitStatus;

/// Runs the command: prints the digest to pin.
pub fn run(own: &args::Seal, output: &Output) -> Answer {
    let shown = own.folder.display().to_string();
    let digest = bundle::seal(&own.folder, shown.trim_end_matches('/'), None)
        .map_err(|refusal| vec![refusal])?;
    output.print(&format!("{}\n", digest.prefixed()));
    Ok(ExitStatus::Verified)
}
