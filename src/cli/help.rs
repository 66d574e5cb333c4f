//! Notes under the options of commands, for `--help` and the manual.

/// The help of the first argument of `repro import`.
pub const FORMATS: &str = "\
A format, or `auto`, followed by logs or folders of logs. Without a format, each log's format is detected:
- speedrun: `s:N tel:X`, or `step:N/M val_loss:X train_time:Yms step_avg:Zms`
- mlperf: results of MLPerf Training, lines with `:::MLLOG`
- jsonl: one JSON object per line, such as W&B history exports
- csv: a table with a header row: Lightning, Ultralytics, Keras, exports
- hf-trainer: `trainer_state.json` of the Hugging Face Trainer; of several checkpoints, the last
- tensorboard: event files; all files in one folder are one run
- wandb: `run-ID.wandb`, W&B's local record of a run, including offline runs
- mlflow: runs in a file store or a SQLite database
- dvclive: folders with `plots/metrics`
- megatron: golden values of Megatron's tests
- step-loss: a step and a loss per line, as in torchtitan's tests
- marin: results of Marin's speedrun leaderboard
- nanochat: `report.md` of nanochat";

/// Under the options of `repro init`.
pub const INIT: &str = "\
Writes these files, then verifies the post:
  receipts/                      bundles made from your logs; without --log, from an example with made-up numbers
  repro/first.toml               a post with one sentence about the last value of a metric
  repro/first.md, first.lock     its text and its lock
  repro/index.lock               the list of posts
  .gitattributes                 adds the lines `receipts/** -text` and `repro/** -text`
  .github/workflows/repro.yml    a CI workflow, at the repository root

Running it again keeps existing files and writes the missing ones. If the project already has posts, no first post is
created.

Exit status: the status of `repro verify --post first`, or 2 if an existing file is in the way or a log cannot be read.";

/// Under the options of `repro import`.
pub const IMPORT: &str = "\
Each run becomes a bundle `DIR/<group>-<run>` that `repro verify` accepts. Metrics keep their names and their values
exactly as logged, in `data/printed/`; the report shows how a post refers to each metric. The bundle contains the log's
digest, and with --keep-source the whole log. A bundle that already exists is an error. If one log is rejected, nothing is
written; with --keep-going, bundles for the other logs are still written.

Logs in one folder form a group, and so do sibling folders with one run each. If names contain a seed, such as
`dense/1/metrics.csv`, `dense-s1.csv`, `dense_seed2.csv` or `seed_1/dense/metrics.csv`, runs that differ only in
the seed form a group. A log and its `-rerun` are in the same group.

Copies (identical bytes, metric lines or seeds) and runs that stop early, end without a validation step, or diverge are
reported, but excluded from their group's statistics. With --target, each group gets a one-sided t test: p is the
probability of a mean this far below the target if the true mean equaled the target.

mlperf: the score is the mean time from run_start to run_stop excluding the fastest and the slowest run (four of each for
unet3d), in minutes, times the factor in the `scaling.json` next to the logs. Runs that did not converge count as the
slowest. With --rcp, the samples to convergence are compared with the reference: they must average at least
m - t(0.95; n + N - 2) s sqrt(1/n + 1/N), where m is the reference's olympic mean, n the number of runs behind it, s the
standard deviation of all its runs (divisor n - 1), and N the number of runs in the submission's own mean. Points that
converge more slowly than the line between their neighbors are dropped, and so are points with a smaller batch than the
fastest point. Between two batch sizes, m and s are interpolated; above the largest, there is no verdict. The official checker
uses divisor n for s; the report says when that changes the result.

Exit status: 0 if every log was read, 2 for bad usage or if a log was rejected (even with --keep-going).";

/// Under the options of `repro check`.
pub const CHECK: &str = "\
Does not require a post or a project. Reads each file or folder of a known kind (`repro explain check` lists them) and
recomputes every number that follows from other numbers in it. A finding shows the location, the printed number and the
recomputed one. It also shows a likely cause if one of the interpretations tried reproduces the printed digits exactly.

With --changed, the paths are the files of a changeset as listed by version control or its hooks, including deleted files.
For a file in a bundle or model folder, the whole folder is checked. Unreadable files are skipped and listed, unless they
are recognizably of a known kind.

Exit status: 1 if two numbers cannot both be right, 2 if a file could not be read (the others are still checked), 3 if
something looks odd or nothing could be checked (not with --changed), otherwise 0.";

/// Under the options of `repro gate`.
pub const GATE: &str = "\
RUNS are bundle folders, names of the project's bundles, logs in any format that `repro import` reads, or folders of
these. Copies count once. If a run is in both arms or has diverged, or if runs are measured after different amounts of
training, no test is run and the gate exits with status 3.

`repro explain gate` lists the keys of a rule and what a gate cannot see.

Exit status: 0 better, 1 worse, 3 within noise or not comparable, 2 if an input cannot be read or the inputs are
incompatible.";

/// Under the options of `repro diff`.
pub const DIFF: &str = "\
If both sides are configs, checkpoints or bundles, compares the runs. If they are reports, projects or commits, lists
what changed claim by claim.

Commits are evaluated with this version of `repro`, from the `repro/`, `receipts/` and post texts stored in git. For each
claim whose verdict or evidence changed, the report shows the cause: the wording, the expression, the definition of a
name, the files of a bundle, or the values computed from them.

Exit status: 0 for runs. For reports and commits: 1 if something is newly refuted; 3 if something is no longer verified,
rests on weaker evidence, or if a number is no longer covered by a claim; 2 if a side cannot be read or an input can no
longer be used; otherwise 0.";

/// Under the options of `repro bundle challenge`.
pub const CHALLENGE: &str = "\
`repro train` commits a run to its states: at the start, the end, each checkpoint and every 50 steps (`state_every`),
`data/states.jsonl` records the digest of all weights and moments, in a chain. The receipt records the chain value of the
last line, the root. The author publishes the root. Then somebody else draws step ranges:

    repro bundle challenge BUNDLE --seed TEXT --count 10 > challenge.json
    repro verify BUNDLE --challenge challenge.json --data DIR

TEXT must be something that nobody knew when the root was published. A seed may identify its source:
`drand:ROUND:RANDOMNESS` is a round of the public drand beacon (quicknet network), whose time is compared with a timestamp
of the states; `commit:ID` is a commit made later. Any other text is accepted, and the report marks it as free text.

Every step range with an evaluation is always drawn, because posts cite the evaluations. N random step ranges are added.
Each one is replayed from the nearest saved checkpoint, or from the run's seed, and must end in the committed state, bit
for bit. If one does not, the run is refuted. With n step ranges without an evaluation, the best forgery of one of them
goes undetected by m random draws with probability 1 - m/n, or 0 if reaching the evaluated ranges requires going through
all the others.

Exit status: 0 if step ranges were drawn, 2 if the bundle is rejected or has no committed states.";

/// Under the options of `repro bundle stamp`.
pub const STAMP: &str = "\
A timestamp authority (TSA) certifies that it had seen a digest by a given time, so nothing that the digest covers can be
newer.

    repro bundle stamp repro/studies/ID.toml --out plan.tsq          # before the runs
    repro bundle stamp repro/studies/ID.starts.jsonl --out start.tsq # after a run starts: the chain value of the last line
    repro bundle stamp BUNDLE --of states --out root.tsq             # after the run
    curl --data-binary @root.tsq -H 'Content-Type: application/timestamp-query' AUTHORITY > root.tsr
    repro verify BUNDLE --timestamp root.tsr --authority CA.pem

You choose which certificates to trust. Nothing is fetched, so revoked certificates are not detected.

Exit status: 0 if the request was written, otherwise 2.";

/// Under the options of `repro completions`.
pub const COMPLETIONS: &str = "\
Redirect the script to the file that your shell reads at startup:

    repro completions bash > ~/.local/share/bash-completion/completions/repro
    repro completions zsh > ~/.zfunc/_repro        # a folder in `fpath`, before `compinit`
    repro completions fish > ~/.config/fish/completions/repro.fish
    repro completions powershell >> $PROFILE";

/// Under the options of `repro man`.
pub const MAN: &str = "\
    repro man > /usr/local/share/man/man1/repro.1
    repro man verify > /usr/local/share/man/man1/repro-verify.1

Then `man repro-verify` shows the page. To read it without installing: `repro man verify | man -l -`.";

/// Under the options of `repro cluster plan`.
pub const PLAN: &str = "\
Writes a plan with one line per item: a bundle to check, a step range to replay, or a post to evaluate. An item's key
covers everything that its result depends on: the item, the bytes of its inputs, and this program. Paths are stored as you
write them, so workers must run in the same folder or in a copy of it. Posts whose claims need replays are evaluated
during the merge.

Exit status: 0, or 2 for bad usage or for a file that cannot be read or written. Rejected bundles and posts appear in
the report, not here.";

/// Under the options of `repro cluster work`.
pub const WORK: &str = "\
Skips items that already have a result, so you can restart a killed worker with the same command. It is harmless for two
workers to execute the same item. Partitions depend only on the plan and K/N: items are assigned longest first, each to
the part with the least work.

Exit status: 0 if every selected item has a result, whatever the verdicts are; 2 for bad usage or if an item could not be
executed or stored; 4 if a device is missing or fails. `repro cluster merge` reports the verdicts.";

/// Under the options of `repro review`.
pub const REVIEW: &str = "\
Shows each claim that nobody else has approved, with its quote, the paragraph around it, the fact it is bound to, how its
numbers were interpreted, its lints, and what changed since the last record. Answer on standard input, one command per line:
  approve            the wording matches this fact
  dispute REASON     it does not
  answer N WORDS     why lint N does not matter; respond to every lint before you approve
  column             show all open cells of this table column, to approve them together
  skip, quit
There is no \"approve all\". One in twelve facts is a decoy: an altered fact that is never recorded. The record states how
many decoys you saw and how many you disputed. Records are stored in `repro/POST.reviews.toml`. An approval counts if it
is signed by a key that `repro/config.toml` lists and that does not belong to an author.

With `--coverage`, lists every number in a text with the claims that cover it, or the reason why none does.

With `--mutate`, changes each number in a verified claim and counts the results: `refuted` (a claim is refuted, or the
post no longer parses), `linted` (a lint reports that the wording does not match the evidence), `weakened` (the claim
becomes inconclusive or unchecked), `still true` (the changed number still satisfies a limit or an \"about\"), or `missed`
(nothing changes).

Exit status: 0 if nothing is open; 3 if a claim is open, with `--coverage` if a number is not covered by a claim, with
`--mutate` if a changed first digit is missed (`--random` always exits with 0, because some random changes stay within
rounding); 2 for bad usage or for a file that cannot be read or written.";
