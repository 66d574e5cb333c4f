//! `repro bundle challenge`.

use super::Answer;
use super::args::ChallengeArgs;
use super::output::Output;
use repro_bundle::bundle::Bundle;
use repro_bundle::bundle::record::RecordValue;
use repro_model::challenge::Challenge;
use repro_report::outcome::ExitStatus;

/// Runs the command: prints the challenge, which `repro verify --challenge` reads.
pub fn run(own: &ChallengeArgs, output: &Output) -> Answer {
    let shown = own.bundle.display().to_string();
    let threads = super::threads::cores();
    let drawn = Bundle::load_folder(&own.bundle, &shown, None, threads)
        .and_then(|bundle| Challenge::draw(&bundle, &own.seed, own.count.get()))
        .map_err(|error| vec![error])?;
    // Digests, a text and counts are all that is in it.
    let written = drawn.write().ok().flatten().unwrap_or_default();
    output.print_json(&written);
    let (count, of) = (drawn.intervals.len(), drawn.of);
    let evaluated = drawn.evaluated.len();
    output.say(&format!(
        "drew {count} of {of} step ranges, {evaluated} of them because they contain an evaluation; the root is {}",
        drawn.root
    ));
    Ok(ExitStatus::Verified)
}
