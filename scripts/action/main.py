#!/usr/bin/env python3
"""The steps of the action, each a word: `plan`, `program`, `posts`, `changed`, `close`.

They share a folder, whose path is in REPRO_FOLDER. Inputs come as environment variables, never as text of a script.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import changes
import commands
import comment
import event
import policy
import program
import projects
from api import Api, ApiError
from commands import Refusal
from judgement import Judgement, held_against, judge

ROOM = 500_000
"""The most bytes of file names that one command takes everywhere."""
PARTS = ("posts", "base", "changed-files")
"""The folders of what is judged."""
CHOICES = ("auto", "true", "false")


def plan(environment: Mapping[str, str]) -> int:
    """Reads the inputs and the event, so that what is wrong with them is told before anything is built."""
    folder = shared_folder(environment)
    forget(folder)
    policy.parse(environment.get("REPRO_POLICY", ""))
    choice("comment", environment)
    projects.of(environment)
    happened = event.load(environment)
    if happened.pull_request and not lines(environment.get("REPRO_PATHS", "")):
        names = changes.changed_files(happened.pull_request, Api.of(environment))
        (folder / "changed").write_bytes(b"\0".join(map(os.fsencode, names)))
    origin = program.source(environment)
    commands.output("source", origin)
    commands.output("sarif", str(wants_sarif(environment, happened)).lower())
    if origin == "build":
        commands.output("key", program.checkout_key(Path(environment["GITHUB_ACTION_PATH"])))
    return 0


def forget(folder: Path) -> None:
    """Begins anew: a job may take this action twice."""
    for part in PARTS:
        shutil.rmtree(folder / part, ignore_errors=True)
    (folder / "changed").unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)


def wants_sarif(environment: Mapping[str, str], happened: event.Event) -> bool:
    """A private repository has code scanning only where somebody bought it, so there one has to ask for it."""
    wanted = choice("sarif", environment)
    if wanted == "auto" and happened.is_private:
        commands.annotate("notice", "no SARIF is uploaded from a private repository, unless `sarif: true` asks for it")
    return wanted == "true" or wanted == "auto" and not happened.is_private


def choice(name: str, environment: Mapping[str, str]) -> str:
    stated = environment.get(f"REPRO_{name.upper()}", "").strip() or "auto"
    if stated not in CHOICES:
        allowed = "`, `".join(CHOICES)
        raise Refusal(f"one of `{allowed}` in the input `{name}`", f"`{stated}`", "correct it")
    return stated


def get_program(environment: Mapping[str, str]) -> int:
    """Comes by the program and says which it is."""
    folder = shared_folder(environment) / "program"
    origin = program.source(environment)
    if origin == "given":
        path = program.given(environment["REPRO_PROGRAM"].strip())
    elif origin == "release":
        path = program.release(environment["REPRO_VERSION"], environment, folder)
    else:
        path = program.build(Path(environment["GITHUB_ACTION_PATH"]), folder)
    commands.show(f"{program.version_of(path)} ({origin})")
    commands.output("path", str(path))
    return 0


def judge_posts(environment: Mapping[str, str]) -> int:
    """Verifies the posts of the repository, against their locks where it has any, or had before this change."""
    posts = environment.get("REPRO_POSTS", "").split() or ["all"]
    folder = shared_folder(environment) / "posts"
    if posts == ["none"]:
        return 0
    verified = projects.of(environment)
    unverified = not_verified(environment)
    if unverified:
        commands.annotate("warning", projects.warning(unverified))
    touched = [name for name in changed(environment) or [] if verified.is_of_posts(name)]
    if posts == ["all"] and not verified.posts() and not verified.locks():
        return without_posts(folder, verified, bool(touched))
    is_locked = bool(verified.locks()) or any(name.endswith(".lock") for name in touched)
    arguments = ["verify", *(f"--post={post}" for post in posts), *(["--locked"] if is_locked else [])]
    arguments += [f"--root={verified.folder}"] if verified.is_named else []
    title = "posts against their locks" if is_locked else "posts"
    judged(judge(title, environment["REPRO_PATH"], arguments, folder, has_sarif(environment)), folder)
    happened = event.load(environment)
    if not happened.pull_request:
        return 0
    server = environment.get("GITHUB_SERVER_URL", "https://github.com")
    base = changes.base_commit(happened.pull_request, server, environment.get("REPRO_TOKEN", ""))
    chosen = [f"--post={post}" for post in posts if post != "all"]
    chosen += [f"--root={verified.folder}"] if verified.is_named else []
    folder = shared_folder(environment) / "base"
    return judged(held_against(base, environment["REPRO_PATH"], chosen, folder), folder)


def not_verified(environment: Mapping[str, str]) -> list[str]:
    """Folders with posts that the change touches and no step verifies; whoever names a project, or no posts, knows."""
    is_asked = environment.get("REPRO_POSTS", "").split() != ["none"]
    if not is_asked or projects.of(environment).is_named:
        return []
    return projects.elsewhere(changed(environment) or [])


def without_posts(folder: Path, verified: projects.Project, were_there: bool) -> int:
    """No posts are fine where there never were any; a change that deletes them all takes its own gate away."""
    if not were_there and verified.is_named:
        raise Refusal(
            "posts in the folder that the input `project` names",
            "none in its `repro/`",
            "name another one, or say `posts: none`",
        )
    if not were_there:
        commands.say("no posts: there is no file repro/ID.toml")
        return 0
    commands.annotate("error", "this change deletes every post; `posts: none` says that there shall be none")
    folder.mkdir(parents=True, exist_ok=True)
    gone = Judgement("posts that are gone", 0, {**dict.fromkeys(policy.DEFAULT, 0), "unreadable": 1})
    gone.save(folder)
    return judged(gone, folder)


def judge_changed(environment: Mapping[str, str]) -> int:
    """Checks the paths that were named, or else what the pull request changes."""
    named = lines(environment.get("REPRO_PATHS", ""))
    names = changed(environment)
    folder = shared_folder(environment) / "changed-files"
    if named:
        title, arguments = "named paths", ["check", "--", *named]
    elif names is None:
        commands.say("no pull request and no `paths`: nothing besides posts is checked")
        return 0
    elif not names:
        commands.say("the pull request changes no file")
        return 0
    elif sum(len(os.fsencode(name)) + 1 for name in names) > ROOM:
        raise Refusal(f"names of changed files of up to {ROOM} bytes", "more", "name what to check in `paths`")
    else:
        title, arguments = "changed files", ["check", "--changed", "--", *names]
    return judged(judge(title, environment["REPRO_PATH"], arguments, folder, has_sarif(environment)), folder)


def has_sarif(environment: Mapping[str, str]) -> bool:
    return environment.get("REPRO_SARIF_WANTED") == "true"


def judged(judgement: Judgement, folder: Path) -> int:
    """A judgement fails no step: what is uploaded and told comes first, and `close` decides."""
    sarif = folder / "report.sarif"
    if sarif.is_file():
        commands.output("sarif", str(sarif))
    counts = " · ".join(policy.counted(sort, count) for sort, count in judgement.counts.items())
    commands.say(f"{judgement.title}: {counts}")
    return 0


def close(environment: Mapping[str, str]) -> int:
    """Adds up, comments, and ends the job by the policy."""
    folder = shared_folder(environment)
    known = ((name, Judgement.load(folder / name)) for name in PARTS)
    judgements = {name: judgement for name, judgement in known if judgement}
    counts = {sort: sum(one.counts[sort] for one in judgements.values()) for sort in policy.DEFAULT}
    rules = policy.parse(environment.get("REPRO_POLICY", ""))
    failing = rules.fails(counts)
    unverified = not_verified(environment)
    head = closing_sentence(judgements, counts, failing, unverified)
    counted = counts_table(judgements, rules)
    commands.summarize(f"{head}\n\n{counted}" if judgements else head)
    say_of_uploads(environment)
    happened = event.load(environment)
    if happened.pull_request and choice("comment", environment) != "false":
        reports = [(one.title, read(folder / name / "report.markdown")) for name, one in judgements.items() if name != "base"]
        reports.append(("counts and policy", counted))
        text = comment.body(comment.marker(environment), head, changes_against_base(folder / "base"), reports)
        is_told = bool(unverified) or is_of_interest(environment, judgements, counts)
        tell(environment, happened.pull_request, text, is_told)
    for sort, count in counts.items():
        commands.output(sort, str(count))
    commands.output("reports", str(folder))
    commands.output("result", "fail" if failing else "pass")
    if failing:
        found = ", ".join(policy.counted(sort, counts[sort]) for sort in failing)
        commands.annotate("error", f"{found}; the policy is {rules}")
    return 1 if failing else 0


def closing_sentence(
    judgements: Mapping[str, Judgement], counts: Mapping[str, int], failing: list[str], unverified: list[str]
) -> str:
    """The result in one sentence. None of its words come from the judged repository, except plain names of folders."""
    warning = f"\n\n⚠ {projects.warning(unverified)}" if unverified else ""
    if not judgements:
        return f"**repro**: no file that it can check{warning}"
    found = " · ".join(policy.counted(sort, count) for sort, count in counts.items() if count) or "nothing found"
    return f"**repro** {'fails' if failing else 'passes'}: {found}{warning}"


def counts_table(judgements: Mapping[str, Judgement], rules: policy.Policy) -> str:
    sorts = list(policy.DEFAULT)
    rows = [["", *(policy.words(sort) for sort in sorts)], ["---"] * (len(sorts) + 1)]
    rows += [[one.title, *(str(one.counts[sort]) for sort in sorts)] for one in judgements.values()]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"{table}\n\nPolicy: {rules}"


def changes_against_base(folder: Path) -> str:
    """The table of what changed against the base of the pull request, or nothing if no verdict and no lock changed."""
    report = read(folder / "report.json")
    compared = json.loads(report) if report else {}
    is_changed = any(compared.get(name) for name in ("changes", "posts", "locks"))
    return read(folder / "report.markdown") if is_changed else ""


def is_of_interest(
    environment: Mapping[str, str], judgements: Mapping[str, Judgement], counts: Mapping[str, int]
) -> bool:
    """Whether a comment is worth a reader's time: a document, a post or a bundle changed, or something was found."""
    documents = judgements["changed-files"].documents if "changed-files" in judgements else 0
    is_changed = any(map(projects.of(environment).is_input, changed(environment) or []))
    return documents > 0 or any(counts.values()) or "posts" in judgements and is_changed


def tell(environment: Mapping[str, str], request: event.PullRequest, text: str, is_of_interest: bool) -> None:
    """Comments where the token may; elsewhere the job's summary has the same, and the job does not fail for it."""
    api = Api.of(environment)
    try:
        done = comment.publish(api, request.number, comment.marker(environment), text, is_of_interest)
        commands.say(done)
    except ApiError as error:
        cause = (
            "the token of a fork's pull request can only read"
            if request.is_from_fork
            else "is `pull-requests: write` given?"
        )
        commands.annotate("notice", f"no comment could be made ({error}): {cause}; the job's summary has the report")


def say_of_uploads(environment: Mapping[str, str]) -> None:
    outcomes = (environment.get(name, "") for name in ("REPRO_UPLOAD_POSTS", "REPRO_UPLOAD_CHANGED"))
    if "failure" in outcomes:
        commands.annotate(
            "notice",
            "SARIF could not be uploaded: it takes `security-events: write` and code scanning; `sarif: false` leaves it out",
        )


def changed(environment: Mapping[str, str]) -> list[str] | None:
    """The names that `plan` found; none where there is no pull request."""
    path = shared_folder(environment) / "changed"
    if not path.is_file():
        return None
    return [os.fsdecode(name) for name in path.read_bytes().split(b"\0") if name]


def shared_folder(environment: Mapping[str, str]) -> Path:
    return Path(environment["REPRO_FOLDER"])


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


STEPS = {
    "plan": plan,
    "program": get_program,
    "posts": judge_posts,
    "changed": judge_changed,
    "close": close,
}


def main(arguments: list[str]) -> int:
    step = STEPS.get(arguments[0]) if len(arguments) == 1 else None
    if step is None:
        print(f"usage: main.py {'|'.join(STEPS)}", file=sys.stderr)
        return 2
    try:
        return step(os.environ)
    except Refusal as refusal:
        return commands.refused(refusal)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
