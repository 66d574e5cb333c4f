//! `repro seal`.

use super::Answer;
use super::args;
use super::output::Output;
use crate::bundle::{self, Bundle, SIGNATURE};
use crate::outcome::{ExitStatus, Verdict};
use crate::signature;

/// Runs the command: prints the digest to pin.
pub fn run(own: &args::Seal, output: &Output) -> Answer {
    let shown = own.folder.display().to_string();
    let shown = shown.trim_end_matches('/');
    let digest = bundle::seal(&own.folder, shown, None).map_err(|refusal| vec![refusal])?;
    if own.folder.join(SIGNATURE).exists() {
        let sealed = Bundle::load_folder(&own.folder, shown, Some(&digest), 1);
        let signature = sealed.and_then(|sealed| signature::judge(&sealed, &[], None));
        let signature = signature.map_err(|refusal| vec![refusal])?;
        if signature.is_some_and(|signature| signature.verdict == Verdict::Refuted) {
            output.say(&format!(
                "`{shown}/{SIGNATURE}` signs other files than these: remove it, and sign again"
            ));
        }
    }
    output.print(&format!("{}\n", digest.prefixed()));
    Ok(ExitStatus::Verified)
}
