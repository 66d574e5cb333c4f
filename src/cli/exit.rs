//! The exit statuses, as the help text shows them.

/// The table under `--help`; README.md has the same.
pub const TABLE: &str = "\
Exit status, the first rule that applies:
  2  bad usage, or an input that cannot be read or is refused
  1  a claim or a signature is refuted; with --locked: a verdict differs from the recorded one
  4  something explicitly requested could not run
  3  nothing refuted, something inconclusive or unchecked, or below a required minimum
  0  every claim verified; with --locked: all verdicts as recorded";
