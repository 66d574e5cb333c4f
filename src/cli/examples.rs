//! Real lines for the end of each `--help` and of each page of the manual, with what they do. A test reads each as the
//! program would.

/// The lines of a command.
pub fn of(command: &str) -> &'static [(&'static str, &'static str)] {
    let own = EXAMPLES.iter().find(|(name, _)| *name == command);
    own.map_or(&[], |(_, lines)| lines)
}

/// A line, and what it does.
type Lines = &'static [(&'static str, &'static str)];

const EXAMPLES: &[(&str, Lines)] = &[
    (
        "init",
        &[
            ("repro init paper", "a project with invented numbers, to look at"),
            (
                "repro init --log runs/dense runs/moe",
                "a project about your own runs, in this folder",
            ),
        ],
    ),
    (
        "verify",
        &[
            (
                "repro verify --post 0004 --verbose",
                "judge one post and show every claim with its evidence",
            ),
            (
                "repro verify --post all --locked",
                "in CI: fail where a verdict is not the recorded one",
            ),
            (
                "repro verify receipts/run-1 --pubkey author.pub",
                "check a bundle on its own, and who signed it",
            ),
            (
                "repro verify --post all --output html=report.html --output sarif=repro.sarif",
                "the report as a page, and as alerts for code scanning",
            ),
        ],
    ),
    (
        "cluster plan",
        &[
            (
                "repro cluster plan receipts/run-1 receipts/run-2 --replay all --out plan.jsonl",
                "every slice of two runs, to be executed again",
            ),
            (
                "repro cluster plan --post all --out plan.jsonl",
                "all posts of the project, without replays",
            ),
        ],
    ),
    (
        "cluster work",
        &[
            (
                "repro cluster work plan.jsonl --results results --partition 3/8",
                "the third of eight workers; started again, it does what is not done yet",
            ),
            ("repro cluster work plan.jsonl --results results", "whatever is still to be done"),
        ],
    ),
    (
        "cluster merge",
        &[
            (
                "repro cluster merge plan.jsonl --results results --output json=report.json",
                "the report of all workers",
            ),
            (
                "repro cluster merge plan.jsonl --results worker-1 --results worker-2",
                "workers that share no folder",
            ),
        ],
    ),
    (
        "check",
        &[
            ("repro check results.json", "hold an evaluation log against itself"),
            (
                "repro check models leaderboard.md --format markdown",
                "folders and pages, for a comment",
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
                "is it better than a bar, by a rule that was written before?",
            ),
        ],
    ),
    (
        "draft",
        &[
            ("repro draft post.md", "propose what each number of a text is"),
            ("repro draft post.md --update", "again after an edit; what was confirmed stays"),
        ],
    ),
    (
        "review",
        &[
            ("repro review 0004 --list", "what has nobody reviewed yet?"),
            ("repro review 0004 --as Ada --key ada.key", "review it, and sign what you say"),
            ("repro review 0004 --mutate", "which changed numbers would nobody notice?"),
            ("repro review 0004 --coverage", "which numbers of the text does no claim cover?"),
        ],
    ),
    (
        "params",
        &[
            ("repro params config.json", "total and active parameters of a config"),
            (
                "repro params model.safetensors.index.json --format json",
                "of a checkpoint, for a program",
            ),
        ],
    ),
    (
        "diff",
        &[
            (
                "repro diff dense.toml@5000 moe.toml@5000",
                "what do two runs hold fixed after 5000 steps?",
            ),
            (
                "repro diff dense.toml moe.toml --horizon active_dn --coefficient 20",
                "plan step counts: 20 tokens per active parameter",
            ),
            ("repro diff main", "what a branch changes: its posts against those of `main`"),
            ("repro diff before.json after.json", "two reports of `verify` or of `check`"),
        ],
    ),
    (
        "stats",
        &[
            ("repro stats --a 3.28,3.27,3.29 --b 3.25,3.26,3.24", "every test on two lists"),
            (
                "repro stats runs.csv --column dense --column moe",
                "the same from two columns of a file",
            ),
            (
                "repro stats --summary-a 1.65,0.01,3 --summary-b 1.58,0.02,3",
                "from printed means and spreads",
            ),
            ("repro stats eval.csv --baselines eval_meta_data.csv", "CORE of a per-task table"),
        ],
    ),
    (
        "train",
        &[
            ("repro train repro/studies/tiny-moe.toml --list", "which runs a study has"),
            (
                "repro train repro/studies/tiny-moe.toml --out receipts",
                "train them, or go on where it stopped",
            ),
        ],
    ),
    (
        "replay",
        &[
            ("repro replay receipts/tiny-moe-moe-active12-s1", "execute the last slice again"),
            (
                "repro replay receipts/run-1 --full --data data --device cuda:0",
                "everything, from the seed, on a GPU",
            ),
            (
                "repro replay ours/run-1 --against theirs/run-1",
                "where do two runs of one config part?",
            ),
        ],
    ),
    (
        "devices",
        &[
            ("repro devices", "what can compute here, and with which bits"),
            ("repro devices --device cuda:0", "one device alone"),
        ],
    ),
    (
        "import",
        &[
            ("repro import runs --out receipts", "every log below a folder, of whatever format"),
            (
                "repro import csv metrics.csv --map loss=val_loss --out receipts",
                "a CSV whose columns have other names",
            ),
            (
                "repro import mlperf results --dry-run",
                "the score of a submission, and nothing is written",
            ),
        ],
    ),
    (
        "mcp",
        &[
            ("repro mcp --root paper", "serve one project to a model"),
            ("repro mcp --allow papers", "and what lies in another folder"),
        ],
    ),
    (
        "explain",
        &[
            ("repro explain value::differs", "what a finding means and how it can mislead"),
            ("repro explain post", "how a post is written"),
            ("repro explain --search standard error", "what there is about some words"),
            ("repro explain --list functions", "what the expressions of a post can call"),
        ],
    ),
    (
        "bundle challenge",
        &[
            (
                "repro bundle challenge receipts/run-1 --seed 'beacon 5417000' --count 10",
                "draw ten intervals",
            ),
            ("repro bundle challenge receipts/run-1 --seed 9f31c2 --count 1", "draw one"),
        ],
    ),
    (
        "bundle seal",
        &[
            ("repro bundle seal receipts/typed", "a folder of typed evidence becomes a bundle"),
            ("repro bundle seal .", "the same of this folder"),
        ],
    ),
    (
        "bundle keygen",
        &[
            ("repro bundle keygen --out author", "writes `author` and `author.pub`"),
            ("repro bundle keygen --out keys/builder", "the same in a folder"),
        ],
    ),
    (
        "bundle sign",
        &[
            ("repro bundle sign --key author receipts/run-1 receipts/run-2", "sign two bundles"),
            (
                "repro bundle sign --key author verdict.json",
                "sign what `verify --output intoto=verdict.json` wrote",
            ),
        ],
    ),
    (
        "bundle stamp",
        &[
            (
                "repro bundle stamp repro/studies/tiny-moe.toml --out plan.tsq",
                "ask for the time of a plan",
            ),
            (
                "repro bundle stamp receipts/run-1 --of states --out root.tsq",
                "of the states of a run",
            ),
        ],
    ),
    (
        "bundle attest",
        &[
            (
                "repro bundle attest receipts/run-1 --key builder --builder https://ci.example/train",
                "say that this builder made the bundle",
            ),
            (
                "repro bundle attest receipts/run-1 --key builder --builder https://ci.example/train --quiet",
                "the same, and say less",
            ),
        ],
    ),
    (
        "completions",
        &[
            ("repro completions bash", "to ~/.local/share/bash-completion/completions/repro"),
            ("repro completions zsh", "to _repro in a folder of `fpath`"),
            ("repro completions fish", "to ~/.config/fish/completions/repro.fish"),
            ("repro completions powershell", "to a file that `$PROFILE` reads"),
        ],
    ),
    (
        "man",
        &[
            ("repro man", "to repro.1 in a folder man1 of `manpath`"),
            ("repro man verify", "to repro-verify.1 there"),
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
