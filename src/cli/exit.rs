//! The exit statuses, as the help text shows them.

/// The table under `--help`; README.md has the same.
pub const TABLE: &str = "\
Exit status (the first matching rule applies):
  2  bad usage, an input that cannot be read or is rejected, or an output that cannot be written
  1  a claim is refuted or a signature is invalid; with --locked, a verdict differs from the lock (refuted claims
     alone do not count)
  4  a requested check could not run
  3  something is inconclusive, unchecked or disputed, or has an unresolved lint (these do not count with
     --locked); something is below a required minimum; or nothing was checked
  0  every claim is verified; with --locked, all verdicts match the lock; with --write-lock, the verdicts were
     recorded, whatever they are";

/// The exit statuses of `repro cluster merge`, which judges nothing anew.
pub const MERGED: &str = "\
Exit status (the first matching rule applies):
  2  bad usage, results that are missing or not from this plan, a rejected input, or an output that cannot be written
  1  a claim is refuted or a signature is invalid
  3  something is inconclusive or unchecked, is below a required minimum, or nothing was checked
  0  every claim is verified";

/// The exit statuses of commands that print or write one thing.
pub const PLAIN: &str =
    "Exit status: 0, or 2 for bad usage or for a file that cannot be read or written.";

/// The exit statuses of commands that look for numbers without a claim.
pub const COVERED: &str = "\
Exit status: 0 if every number is covered, 3 if one is not, 2 for bad usage or for a file that cannot be read or written.";
