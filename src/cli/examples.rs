//! Examples for the end of each `--help` and each man page, with descriptions. A test parses each line as the
//! program would.

/// The examples of a command.
pub fn of(command: &str) -> &'static [(&'static str, &'static str)] {
    let own = EXAMPLES.iter().find(|(name, _)| *name == command);
    own.map_or(&[], |(_, lines)| lines)
}

/// Command lines with their descriptions.
type Lines = &'static [(&'static str, &'static str)];

const EXAMPLES: &[(&str, Lines)] = &[
    (
        "init",
        &[
            ("repro init paper", "an example project with made-up numbers"),
            (
                "repro init --log runs/dense runs/moe",
                "a project about your own runs, in the current folder",
            ),
        ],
    ),
    (
        "verify",
        &[
            (
                "repro verify --post 0004 --verbose",
                "check one post and show every claim with its evidence",
            ),
            ("repro verify --post all --locked", "in CI: fail if a verdict differs from the lock"),
            (
                "repro verify receipts/run-1 --pubkey author.pub",
                "check a bundle on its own, including its signature",
            ),
            (
                "repro verify --post all --output html=report.html --output sarif=repro.sarif",
                "also write the report as a web page and as code scanning alerts",
            ),
        ],
    ),
    (
        "cluster plan",
        &[
            (
                "repro cluster plan receipts/run-1 receipts/run-2 --replay all --out plan.jsonl",
                "replay every slice of two runs",
            ),
            (
                "repro cluster plan --post all --out plan.jsonl",
                "check all posts of the project, without replays",
            ),
        ],
    ),
    (
        "cluster work",
        &[
            (
                "repro cluster work plan.jsonl --results results --partition 3/8",
                "run the third of eight workers; restarting it continues where it stopped",
            ),
            ("repro cluster work plan.jsonl --results results", "execute all remaining items"),
        ],
    ),
    (
        "cluster merge",
        &[
            (
                "repro cluster merge plan.jsonl --results results --output json=report.json",
                "write the merged report",
            ),
            (
                "repro cluster merge plan.jsonl --results worker-1 --results worker-2",
                "merge results from workers without a shared folder",
            ),
        ],
    ),
    (
        "check",
        &[
            ("repro check results.json", "check an evaluation log for contradictions"),
            (
                "repro check models leaderboard.md --format markdown",
                "check folders and pages, and print Markdown for a comment",
            ),
        ],
    ),
    (
        "gate",
        &[
            (
                "repro gate --baseline runs/base --candidate runs/new --metric validation/loss",
                "is the candidate better than the baseline?",
            ),
            (
                "repro gate --rule repro/gates/modded-nanogpt.toml --candidate logs",
                "is it better than a threshold, according to a rule fixed in advance?",
            ),
        ],
    ),
    (
        "draft",
        &[
            ("repro draft post.md", "propose an expression for each number in a text"),
            (
                "repro draft post.md --update",
                "update the draft after an edit; keeps confirmed statements",
            ),
        ],
    ),
    (
        "review",
        &[
            ("repro review 0004 --list", "which claims have not been reviewed yet?"),
            ("repro review 0004 --as Ada --key ada.key", "review the post and sign your records"),
            ("repro review 0004 --mutate", "which changed numbers would go unnoticed?"),
            (
                "repro review 0004 --coverage",
                "which numbers in the text are not covered by a claim?",
            ),
        ],
    ),
    (
        "params",
        &[
            ("repro params config.json", "total and active parameters of a config"),
            (
                "repro params model.safetensors.index.json --format json",
                "parameters of a checkpoint, as JSON",
            ),
        ],
    ),
    (
        "diff",
        &[
            (
                "repro diff dense.toml@5000 moe.toml@5000",
                "what is held fixed between two runs after 5000 steps?",
            ),
            (
                "repro diff dense.toml moe.toml --horizon active_dn --coefficient 20",
                "plan step counts: 20 tokens per active parameter",
            ),
            ("repro diff main", "what a branch changes: its posts against those of `main`"),
            ("repro diff before.json after.json", "two reports from `verify` or from `check`"),
        ],
    ),
    (
        "stats",
        &[
            ("repro stats --a 3.28,3.27,3.29 --b 3.25,3.26,3.24", "every test on two lists"),
            (
                "repro stats runs.csv --column dense --column moe",
                "the same tests on two columns of a file",
            ),
            (
                "repro stats --summary-a 1.65,0.01,3 --summary-b 1.58,0.02,3",
                "tests from reported means and standard deviations",
            ),
            ("repro stats eval.csv --baselines eval_meta_data.csv", "CORE from a per-task table"),
        ],
    ),
    (
        "train",
        &[
            ("repro train repro/studies/tiny-moe.toml --list", "list the runs in a study"),
            (
                "repro train repro/studies/tiny-moe.toml --out receipts",
                "train them, or resume after an interruption",
            ),
        ],
    ),
    (
        "replay",
        &[
            ("repro replay receipts/tiny-moe-moe-active12-s1", "replay the last slice"),
            (
                "repro replay receipts/run-1 --full --data data --device cuda:0",
                "replay the whole run from its seed, on a GPU",
            ),
            (
                "repro replay ours/run-1 --against theirs/run-1",
                "where do two runs of the same config diverge?",
            ),
        ],
    ),
    (
        "devices",
        &[
            ("repro devices", "list devices and whether they reproduce the reference results"),
            ("repro devices --device cuda:0", "check only one device"),
        ],
    ),
    (
        "import",
        &[
            ("repro import runs --out receipts", "import every log in a folder, in any format"),
            (
                "repro import csv metrics.csv --map loss=val_loss --out receipts",
                "import a CSV with different column names",
            ),
            (
                "repro import mlperf results --dry-run",
                "print the score of a submission without writing anything",
            ),
        ],
    ),
    (
        "mcp",
        &[
            ("repro mcp --root paper", "start an MCP server for one project"),
            ("repro mcp --allow papers", "also allow files in a different folder"),
        ],
    ),
    (
        "explain",
        &[
            ("repro explain value::differs", "what a finding means, and how it can mislead"),
            ("repro explain post", "how to write a post"),
            ("repro explain --search standard error", "search names by keyword"),
            ("repro explain --list functions", "list the functions for expressions in posts"),
        ],
    ),
    (
        "bundle challenge",
        &[
            (
                "repro bundle challenge receipts/run-1 --seed 'beacon 5417000' --count 10",
                "draw ten step ranges",
            ),
            (
                "repro bundle challenge receipts/run-1 --seed 9f31c2 --count 1",
                "draw one step range",
            ),
        ],
    ),
    (
        "bundle seal",
        &[
            (
                "repro bundle seal receipts/typed",
                "turn a folder of transcribed evidence into a bundle",
            ),
            ("repro bundle seal .", "seal the current folder"),
        ],
    ),
    (
        "bundle keygen",
        &[
            ("repro bundle keygen --out author", "write `author` and `author.pub`"),
            ("repro bundle keygen --out keys/builder", "write the keys to a folder"),
        ],
    ),
    (
        "bundle sign",
        &[
            ("repro bundle sign --key author receipts/run-1 receipts/run-2", "sign two bundles"),
            (
                "repro bundle sign --key author verdict.json",
                "sign a report from `verify --output intoto=verdict.json`",
            ),
        ],
    ),
    (
        "bundle stamp",
        &[
            (
                "repro bundle stamp repro/studies/tiny-moe.toml --out plan.tsq",
                "request a timestamp for a plan",
            ),
            (
                "repro bundle stamp receipts/run-1 --of states --out root.tsq",
                "request a timestamp for a run's committed states",
            ),
        ],
    ),
    (
        "bundle attest",
        &[
            (
                "repro bundle attest receipts/run-1 --key builder --builder https://ci.example/train",
                "attest, as this builder, to the files in the bundle",
            ),
            (
                "repro bundle attest receipts/run-1 --key builder --builder https://ci.example/train --quiet",
                "the same, with less output",
            ),
        ],
    ),
    (
        "completions",
        &[
            ("repro completions bash", "save as ~/.local/share/bash-completion/completions/repro"),
            ("repro completions zsh", "save as _repro in a folder in `fpath`"),
            ("repro completions fish", "save as ~/.config/fish/completions/repro.fish"),
            ("repro completions powershell", "append to `$PROFILE`"),
        ],
    ),
    (
        "man",
        &[
            ("repro man", "save as man1/repro.1 in a folder in `manpath`"),
            ("repro man verify", "save as man1/repro-verify.1"),
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::definition;

    /// The words of a line as a shell has them; quotes hold words together.
    fn words(line: &str) -> Vec<String> {
        let parts = line.split('\'').enumerate();
        let words = parts.flat_map(|(at, part)| match at % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        });
        words.collect()
    }

    #[test]
    fn every_line_is_one_that_the_program_takes() {
        let leaves = definition::leaves(&definition::command(), "");
        // A program without the trainer has fewer commands.
        let known = EXAMPLES.iter().filter(|(name, _)| leaves.iter().any(|(leaf, _)| leaf == name));
        for (command, lines) in known {
            for (line, _) in *lines {
                let words = words(line);
                let read = definition::command().try_get_matches_from(&words);
                let read = read.unwrap_or_else(|error| panic!("{line}: {error}"));
                assert_eq!(definition::name_of(&read), *command, "{line}");
            }
        }
    }

    #[test]
    fn every_command_has_two_to_four() {
        for (name, _) in definition::leaves(&definition::command(), "") {
            let count = of(&name).len();
            assert!((2..=4).contains(&count), "{name}: {count}");
        }
    }
}
