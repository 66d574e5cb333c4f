//! What stands under the options of commands that need more words than their options have.

/// What `repro import` takes first.
pub const FORMATS: &str = "\
A format, or `auto`, and logs or folders of logs. Without a format each log tells its own:
- speedrun: `s:N tel:X`, or `step:N/M val_loss:X train_time:Yms step_avg:Zms`
- mlperf: results of MLPerf Training, lines with `:::MLLOG`
- jsonl: one JSON object per line, as W&B exports histories
- csv: a table whose first row names the columns: Lightning, Ultralytics, Keras, exports
- hf-trainer: `trainer_state.json` of Hugging Face's Trainer; of several checkpoints the last
- tensorboard: event files; those of one folder are one run
- wandb: `run-ID.wandb`, which W&B keeps of a run, offline ones too
- mlflow: runs of a file store, or a SQLite database
- dvclive: folders with `plots/metrics`
- megatron: golden values of Megatron's tests
- step-loss: a step and a loss per line, as torchtitan's tests keep them
- marin: results of Marin's speedrun leaderboard
- nanochat: `report.md` of nanochat";

/// Under the options of `repro init`.
pub const INIT: &str = "\
Written are: bundles of the logs in `receipts/`, or without --log of an example of invented numbers; a post
`repro/first.toml` with one sentence about the last value of a metric, its text `repro/first.md` and its lock
`repro/first.lock`, the list of posts `repro/index.lock`; the lines `receipts/** -text` and `repro/** -text` in `.gitattributes`; a workflow `.github/workflows/repro.yml` at the
top of the repository. Then the post is verified.

What is there is left as it is, and a project with posts gets no other. A second run writes what is missing.

Exit status: that of `repro verify --post first`, or 2 where something stands in the way or a log cannot be read.";

/// Under the options of `repro import`.
pub const IMPORT: &str = "\
Each run becomes a bundle `DIR/<group>-<run>` that `repro verify` accepts. Metrics keep their names, whatever they
are, and their numbers as printed, in `data/printed/`; the report says how a post names each of them. The bundle holds
the log's digest, and with --keep-source the whole log. An existing bundle is refused, and if one log is refused
nothing is written, or with --keep-going the bundles of the others.

The logs of a folder are a group; so are folders beside each other that hold one run each. Where names tell a seed, as
`dense/1/metrics.csv`, `dense-s1.csv`, `dense_seed2.csv` or `seed_1/dense/metrics.csv`, what differs in it alone is a
group, and so are a log and its `-rerun`.

Copies (equal bytes, equal metric lines, equal seeds), runs that stop early, end without a validation or
diverge are reported and do not count in the statistics of their group. With --target each group gets a
one-sided t test: p is the probability of a mean this far below the target if the true mean equaled it.

mlperf: the score is the mean time from run_start to run_stop without the fastest and the slowest run
(four of each for unet3d), in minutes, times the factor of the `scaling.json` next to the logs. Runs that
did not converge count as the slowest. With --rcp the samples to convergence are compared with the
reference: they must average at least m - t(0.95; n + N - 2) s sqrt(1/n + 1/N), where m is the reference's
olympic mean, n the runs behind it, s the standard deviation of all its runs (divisor n - 1), and N the runs
of the submission behind its own mean. Points that converge more slowly than the line between their neighbors
are dropped, as are those of smaller batches than the fastest. Between two batch sizes m and s are
interpolated; above the largest nothing is decided. The rules' own checker divides by n in s; the report says
where that changes the result.

Exit status: 0 if every log was read, 2 if one was refused (with --keep-going too) or the usage was bad.";

/// Under the options of `repro check`.
pub const CHECK: &str = "\
No post and no project is needed. Each file or folder of a known kind (`repro explain check` lists them) is read, and each number in
it that follows from others is computed again. A finding names the place, what is printed, what it should be, and what would
explain the difference where a reading that was tried gives exactly the printed digits.

With --changed the paths are the files of a change, as version control and its hooks name them, deleted ones too. A file of a bundle
or of a model's folder stands for all of it. What cannot be read is passed over, and named, unless something shows that it is of a
known kind.

Exit status: 1 if two numbers cannot both be right, 2 if a file could not be read (the others are checked all the same), 3 if
something is odd or nothing could be checked (not with --changed), else 0.";

/// Under the options of `repro gate`.
pub const GATE: &str = "\
RUNS are folders of bundles, names of bundles of the project, logs of every format that `repro import` reads, or folders of
either. Copies count once; a run on both sides, a diverged run, and runs read after unequal training decide nothing.

`repro explain gate` has the keys of a rule, and what a gate does not see.

Exit status: 0 better, 1 worse, 3 within noise or not comparable, 2 if something could not be read or does not go together.";

/// Under the options of `repro diff`.
pub const DIFF: &str = "\
Runs are compared where both sides are configs, checkpoints or bundles; reports, projects and commits by what changed in them.

Commits are judged by this program, from the bytes that git keeps of `repro/`, `receipts/` and the texts that posts name. Of each claim whose verdict or ground
changed the report names what did: the words, the expression, what a name stands for, the files of a bundle, what they come to.

Exit status: 0 for runs; of reports and commits 1 if something is refuted that was not, 3 if something is no longer verified, or by weaker evidence, or a number has lost its
claim, 2 if a side cannot be read or an input cannot be used any more, else 0, whatever else changed.";

/// Under the options of `repro bundle challenge`.
pub const CHALLENGE: &str = "\
A run of `repro train` commits itself to its states: at its ends, at each checkpoint and every 50 steps (`state_every`)
`data/states.jsonl` has the digest of all weights and moments, chained, and the receipt has the chain of the last
line, the root. The author publishes the root. Then somebody else draws:

    repro bundle challenge BUNDLE --seed TEXT --count 10 > challenge.json
    repro verify BUNDLE --challenge challenge.json --data DIR

TEXT is something that nobody knew when the root was published. A seed may name its source: `drand:ROUND:RANDOMNESS` is a
round of the public beacon drand (network quicknet), whose time is held against a timestamp of the states; `commit:ID` is a
commit that was made later. Any other text is free, and the report says so.

Each interval in which the run was evaluated is drawn whatever the seed is, as posts cite these, and N others beside them.
Each is executed again from the nearest kept checkpoint, or from the seed of the run, and has to end in the committed state,
bit for bit. A run that parts on the way is refuted. Of n intervals without an evaluation, the best forgery of one escapes m random
draws with 1 - m/n, and with 0 where the way to the evaluated ones leads through all others.

Exit status: 0 if intervals were drawn, 2 if the bundle is refused or commits to no states.";

/// Under the options of `repro bundle stamp`.
pub const STAMP: &str = "\
An authority says that it knew a digest at a time: nothing that leads to the digest can have been made later.

    repro bundle stamp repro/studies/ID.toml --out plan.tsq          # before the runs
    repro bundle stamp repro/studies/ID.starts.jsonl --out start.tsq # when one has begun: the chain of the last line
    repro bundle stamp BUNDLE --of states --out root.tsq             # when it is over
    curl --data-binary @root.tsq -H 'Content-Type: application/timestamp-query' AUTHORITY > root.tsr
    repro verify BUNDLE --timestamp root.tsr --authority CA.pem

The certificates that count come from the caller. Nothing is fetched: revocations are not seen.

Exit status: 0 if the request was written, 2 if not.";

/// Under the options of `repro completions`.
pub const COMPLETIONS: &str = "\
Redirect the script into the file that the shell reads when it starts:

    repro completions bash > ~/.local/share/bash-completion/completions/repro
    repro completions zsh > ~/.zfunc/_repro        # a folder of `fpath`, before `compinit`
    repro completions fish > ~/.config/fish/completions/repro.fish
    repro completions powershell >> $PROFILE";

/// Under the options of `repro man`.
pub const MAN: &str = "\
    repro man > /usr/local/share/man/man1/repro.1
    repro man verify > /usr/local/share/man/man1/repro-verify.1

Then `man repro-verify` shows it. Without a file: `repro man verify | man -l -`.";

/// Under the options of `repro cluster plan`.
pub const PLAN: &str = "\
A plan has one line for each item: a bundle to be read and checked, a stretch of steps to be executed, a post to be judged. Its key stands for
all that the result depends on: the item, the bytes of its inputs, this program. Paths stand in it as they were
written: workers run in the same folder, or in a copy of it. Posts whose claims need replays are judged where the
results are merged.

Exit status: 0, or 2 for bad usage and for what cannot be read or written. What is refused of bundles and posts
stands in the report, not here.";

/// Under the options of `repro cluster work`.
pub const WORK: &str = "\
An item that has a result is skipped, so a worker that was killed is started again with the same line. Two workers on one
item are harmless. Partitions depend on the plan and K/N alone: the longest item first, each to the part that has least.

Exit status: 0 if every item that was asked for has a result, whatever the verdicts are; 2 if one could not be executed here or kept,
or for bad usage; 4 if a device is missing or fails. `repro cluster merge` gives the verdicts.";

/// Under the options of `repro review`.
pub const REVIEW: &str = "\
Each claim that nobody else has approved is shown with its quote, the paragraph around it, its fact, the readings of its
numbers, its lints, and what changed since the last record. Answers are lines on standard input:
  approve            the words mean this fact
  dispute REASON     they do not
  answer N WORDS     why lint N is no objection; each lint needs an answer before you approve
  column             show all open cells of this table column, to be approved together
  skip, quit
There is no way to accept everything. One of twelve facts is a decoy: it is altered, never recorded, and the record says
how many you were shown and how many you disputed. Records are kept in `repro/POST.reviews.toml`. An approval counts
where it is signed by a key that `repro/config.toml` lists and that is not an author's.

With `--coverage` every number of a text is listed with the claims that cover it, or the reason why none does.

With `--mutate` each change of a number in a verified claim is counted once: `refuted` (a claim is refuted, or the post no longer
parses), `linted` (a lint says that words and evidence do not fit), `weakened` (the claim becomes inconclusive or unchecked),
`still true` (a limit or \"about\" holds for the changed number as well), or `missed` (nothing changes).

Exit status: 0 if nothing is open, 3 if something is: a claim, with `--coverage` a number that nothing covers, with `--mutate` a
changed first digit that is missed (`--random` always ends with 0: some random changes stay within a rounding); 2 for bad usage and
for what cannot be read or written.";
