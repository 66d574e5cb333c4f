//! The exit statuses, as the help text shows them.

/// The table under `--help`; README.md has the same.
pub const TABLE: &str = "\
Exit status, the first rule that applies:
  2  bad usage, an input that cannot be read or is refused, or an output that cannot be written
  1  a claim or a signature is refuted; with --locked instead of claims: a verdict differs from the recorded one
  4  something explicitly requested could not run
  3  something inconclusive, unchecked, disputed, or with a lint that nobody answered (not with --locked), below a
     required minimum, or nothing checked
  0  every claim verified; with --locked: all verdicts as recorded; with --write-lock: they are recorded now, whatever
     they are";

/// Of `repro cluster merge`, which judges nothing anew.
pub const MERGED: &str = "\
Exit status, the first rule that applies:
  2  bad usage, results that are missing or not of the plan, an input that was refused, or an output that cannot be written
  1  a claim or a signature is refuted
  3  something inconclusive or unchecked, below a required minimum, or nothing checked
  0  every claim verified";

/// Of commands that print or write one thing.
pub const PLAIN: &str =
    "Exit status: 0, or 2 for bad usage and for what cannot be read or written.";

/// Of commands that look for what nothing covers.
pub const COVERED: &str = "\
Exit status: 0 if everything is covered, 3 if something is not, 2 for bad usage and for what cannot be read or written.";
