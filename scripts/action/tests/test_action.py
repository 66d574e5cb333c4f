"""The action from its first step to its last, on a real repository, with the real program, against GitHub's API as documented."""

from __future__ import annotations

import json
import re
import unittest
from pathlib import Path

from project import ODD_CARD, PROGRAM, REPORT, WRONG_REPORT, Project, example
from server import BOT, GitHub

HOSTILE = (
    "-rf.md",
    "a b/c d.md",
    "line\nend.md",
    "::error::x.md",
    "##[error]x.md",
    "x\n::set-env name=PATH::y.json",
    "$(touch pwned).md",
    "`id`|<img src=x>@you.json",
)


BROKEN_STATE = '{"global_step": 5, "log_history": [{"loss": 1.0}, {'
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"


class ActionCase(unittest.TestCase):
    def setUp(self) -> None:
        self.project = Project()
        self.addCleanup(self.project.remove)

    @property
    def github(self) -> GitHub:
        return self.project.github

    def bodies(self) -> list[str]:
        return [comment["body"] for comment in self.github.comments]


class PullRequests(ActionCase):
    def test_a_wrong_number_fails_the_job_and_is_told_at_its_line(self) -> None:
        self.project.propose({"report.md": WRONG_REPORT, "other.md": "# Nothing of interest\n"})
        run = self.project.run()
        self.assertEqual(run.status, 1, run.log)
        self.assertEqual(run.executed, ["plan", "program", "posts", "changed", "close"])
        self.assertEqual((run.outputs["result"], run.outputs["unreadable"]), ("fail", "0"))
        self.assertGreater(int(run.outputs["refuted"]), 0)
        self.assertRegex(run.log, r"(?m)^::error file=report\.md,line=\d+,col=\d+,title=")
        # `main` has got a wrong report meanwhile, which is not this proposal's
        self.assertNotIn("elsewhere.md", run.log + run.summary + self.bodies()[0])
        self.assertIn("86,420", run.summary)
        self.assertRegex(self.bodies()[0], r"(?m)^\*\*repro\*\* fails: \d+ refuted")
        self.assertNotIn("GET /repos/somebody/results/pulls/7/files", self.github.asked)

    def test_the_comment_is_made_once_and_then_edited(self) -> None:
        self.project.propose({"report.md": WRONG_REPORT})
        self.project.run()
        self.assertEqual(len(self.github.comments), 1)
        self.project.payload["action"] = "synchronize"
        self.project.propose({"report.md": REPORT + "\nA closing line.\n"})
        run = self.project.run()
        self.assertEqual(run.status, 0, run.log)
        self.assertEqual(len(self.github.comments), 1)
        self.assertIn("passes", self.bodies()[0])

    def test_a_comment_of_others_with_the_same_mark_is_left_alone(self) -> None:
        self.project.propose({"report.md": WRONG_REPORT})
        self.project.run()
        mark = self.bodies()[0].splitlines()[0]
        self.github.comments.clear()
        theirs = self.github.add_comment({"login": "somebody", "type": "User"}, f"{mark}\nlooks good")
        for _ in range(100):
            self.github.add_comment({"login": "somebody", "type": "User"}, "a long discussion")
        other_job = self.github.add_comment(BOT, "<!-- repro-action 0123456789abcdef -->\nanother job")
        self.project.run()
        self.project.run()
        self.assertEqual(theirs["body"], f"{mark}\nlooks good")
        self.assertIn("another job", other_job["body"])
        self.assertEqual(len(self.github.comments), 103)
        self.assertIn("**repro** fails", self.bodies()[102])

    def test_a_token_that_may_not_ask_for_its_name_is_that_of_the_job(self) -> None:
        self.github.may_ask_login = False
        self.project.propose({"report.md": WRONG_REPORT})
        self.project.run()
        self.project.run()
        self.assertEqual(len(self.github.comments), 1)

    def test_a_change_without_documents_says_so_and_makes_no_comment(self) -> None:
        self.project.propose({"notes.txt": "other notes\n", "tsconfig.json": '{\n  // strict\n  "a": 1\n}\n'})
        run = self.project.run()
        self.assertEqual(run.status, 0, run.log)
        self.assertEqual(self.github.comments, [])
        self.assertIn("there is nothing to comment on", run.log)
        self.assertIn("passes", run.summary)

    def test_a_repository_without_posts_and_documents(self) -> None:
        self.project.git("rm", "-r", "--quiet", "repro", "receipts", "report.md")
        self.project.base = self.project.commit()
        self.project.propose({"notes.txt": "other notes\n"})
        run = self.project.run()
        self.assertEqual(run.status, 0, run.log)
        self.assertIn("no posts", run.log)
        self.assertEqual(self.github.comments, [])

    def test_a_changed_file_of_a_bundle_stands_for_the_bundle(self) -> None:
        self.project.propose({"receipts/example-invented-numbers/data/metrics.jsonl": "{}\n"})
        run = self.project.run()
        self.assertEqual(run.status, 1, run.log)
        self.assertIn("file=receipts/example-invented-numbers/bag-info.txt", run.log)
        # once by the post, once as a changed bundle
        self.assertEqual(run.outputs["unreadable"], "2")

    def test_a_deleted_lock_is_noticed(self) -> None:
        self.project.propose({"repro/first.lock": None})
        run = self.project.run()
        self.assertEqual(run.status, 1, run.log)
        self.assertIn("posts against their locks", run.summary)
        self.assertEqual(run.outputs["unreadable"], "1")

    def test_a_change_that_deletes_every_post_takes_its_own_gate_away(self) -> None:
        self.project.propose(dict.fromkeys(("repro/first.toml", "repro/first.lock", "repro/index.lock", "repro/first.md")))
        run = self.project.run()
        self.assertEqual((run.status, run.outputs["unreadable"]), (1, "1"), run.log)
        self.assertIn("this change deletes every post", run.log)
        self.assertEqual(self.project.run(posts="none").status, 0)

    def take_away(self, way: str) -> None:
        """A post goes in such a way that all that is left agrees."""
        post, lock, index = (self.project.workspace / "repro" / name for name in ("first.toml", "first.lock", "index.lock"))
        self.project.git("switch", "--quiet", "--force-create", "proposal", self.project.base)
        self.project.write("repro/other.toml", post.read_text(encoding="utf-8").replace("first", "other").replace("title = ", "title = \"B\" # "))
        self.project.write("repro/other.md", (self.project.workspace / "repro/first.md").read_text(encoding="utf-8"))
        self.project.rewrite_locks()
        self.project.base = self.project.commit()
        files: dict[str, str | None] = {"repro/first.toml": None, "repro/first.lock": None}
        if way == "moved":
            files |= {f"repro/old/{path.name}": path.read_text(encoding="utf-8") for path in (post, lock)}
        if way == "renamed":
            files["repro/first.toml.off"] = post.read_text(encoding="utf-8")
        if way == "unlisted":
            kept = [line for line in index.read_text(encoding="utf-8").splitlines(True) if "first" not in line]
            files["repro/index.lock"] = "".join(kept)
        self.project.propose(files)

    def test_a_post_that_goes_with_its_lock_is_noticed(self) -> None:
        for way in ("deleted", "moved", "renamed", "unlisted"):
            with self.subTest(way):
                self.project = Project()
                self.addCleanup(self.project.remove)
                self.take_away(way)
                run = self.project.run(policy="weaker: pass")
                # Only the list of the posts says so, unless it was changed, too: then the base does.
                self.assertEqual(run.status, 0 if way == "unlisted" else 1, run.log)
                run = self.project.run(policy="unreadable: pass")
                self.assertEqual(run.status, 1, run.log)
                self.assertGreater(int(run.outputs["weaker"]), 0, run.log)
                self.assertIn("gone or weaker", run.summary)
                self.assertIn("`first`", self.bodies()[0].partition("<details>")[0])
                if way == "unlisted":
                    self.assertIn("repro/index.lock is changed together with", run.log)

    def test_a_weaker_verdict_is_noticed_though_its_lock_is_written_anew(self) -> None:
        text = (self.project.workspace / "repro/first.toml").read_text(encoding="utf-8")
        for is_shallow in (False, True):
            # The sentence goes, and what is recorded of it.
            self.project.propose({"repro/first.toml": text[: text.index("[[sentence]]")]})
            self.project.git("switch", "--quiet", "proposal")
            self.project.rewrite_locks()
            files = {f"repro/{name}": (self.project.workspace / "repro" / name).read_text(encoding="utf-8") for name in ("first.toml", "first.lock", "index.lock")}
            self.project.propose(dict(files))
            if is_shallow:
                self.project.make_shallow()
                self.github.files = [{"filename": name, "status": "modified"} for name in files]
            run = self.project.run(policy="inconclusive: pass")
            self.assertEqual((run.status, run.outputs["changed"]), (1, "0"), run.log)
            self.assertGreater(int(run.outputs["weaker"]), 0, run.log)
            self.assertIn("repro/first.lock is changed together with `repro/first.toml`", run.log)

    def test_a_base_that_is_not_to_be_had_fails_the_job(self) -> None:
        self.project.propose({"report.md": REPORT + "\nA closing line.\n"})
        self.project.make_shallow()
        self.github.files = [{"filename": "report.md", "status": "modified"}]
        self.project.git("remote", "set-url", "origin", f"file://{self.project.folder}/nowhere")
        run = self.project.run()
        self.assertEqual(run.status, 2, run.log)
        self.assertIn("fetch-depth: 0", run.log)

    def test_posts_without_locks_are_judged_by_their_verdicts(self) -> None:
        self.project.git("rm", "--quiet", "repro/first.lock", "repro/index.lock")
        self.project.base = self.project.commit()
        self.project.propose({"notes.txt": "other notes\n"})
        run = self.project.run()
        self.assertEqual(run.status, 0, run.log)
        self.assertIn("| posts |", run.summary)

    def test_a_comment_that_exists_is_brought_up_to_date_where_nothing_is_left_to_tell(self) -> None:
        self.project.propose({"report.md": WRONG_REPORT})
        self.project.run()
        self.project.propose({"notes.txt": "other notes\n"})
        self.project.run()
        self.assertIn("passes", self.bodies()[0])

    def test_the_comment_can_be_left_out(self) -> None:
        self.project.propose({"report.md": WRONG_REPORT})
        run = self.project.run(comment="false")
        self.assertEqual((run.status, self.github.asked), (1, []))


class ChangedFiles(ActionCase):
    def test_a_shallow_clone_asks_github_and_reads_every_page(self) -> None:
        self.project.propose({"report.md": WRONG_REPORT})
        self.project.make_shallow()
        self.github.files = [{"filename": f"code/{at}.py", "status": "added"} for at in range(250)]
        self.github.files.append({"filename": "report.md", "previous_filename": "old.md", "status": "renamed"})
        run = self.project.run()
        self.assertEqual(run.status, 1, run.log)
        self.assertIn("file=report.md", run.log)
        self.assertEqual(self.github.asked.count("GET /repos/somebody/results/pulls/7/files"), 3)

    def test_a_passing_fault_is_tried_again_and_a_lasting_one_is_told(self) -> None:
        self.project.propose({"report.md": WRONG_REPORT})
        self.project.make_shallow()
        self.github.files = [{"filename": "report.md", "status": "modified"}]
        self.github.broken_answers = 2
        self.assertEqual(self.project.run().outputs["result"], "fail")
        self.github.broken_answers = 3
        run = self.project.run()
        self.assertEqual(run.status, 2)
        self.assertIn("fetch-depth: 0", run.log)
        self.assertEqual(run.executed, ["plan"])

    def test_a_list_that_github_cuts_is_no_list(self) -> None:
        self.project.propose({"report.md": WRONG_REPORT})
        self.project.make_shallow()
        self.github.files = [{"filename": f"{at}.py", "status": "added"} for at in range(3000)]
        run = self.project.run()
        self.assertEqual(run.status, 2)
        self.assertIn("paths", run.log)
        self.assertEqual(self.project.run(paths="report.md").status, 1)

    def test_names_are_no_options_no_commands_and_no_markup(self) -> None:
        self.project.propose({name: WRONG_REPORT if name.endswith(".md") else BROKEN_STATE for name in HOSTILE})
        run = self.project.run()
        self.assertEqual(run.status, 1, run.log)
        self.assertEqual(int(run.outputs["unreadable"]), 2, run.log)
        self.assertFalse((self.project.workspace / "pwned").exists())
        for line in commands_in(run.log):
            self.assertRegex(line, r"^::(error|warning|notice) (file=|title=)[^\n]*::")
        for text in (run.summary, self.bodies()[0]):
            self.assertNotIn("<img", text)
            self.assertNotIn("@you", text)

    def test_links_of_a_proposal_lead_nowhere(self) -> None:
        secret = self.project.folder / "secret.json"
        secret.write_text('{"password": ')
        (self.project.workspace / "link.json").symlink_to(secret)
        self.project.base = self.project.commit()
        (self.project.workspace / "link.json").unlink()
        (self.project.workspace / "link.json").symlink_to(f"../{secret.name}")
        self.project.propose({})
        run = self.project.run()
        self.assertEqual(run.status, 0, run.log)
        self.assertNotIn("password", run.log)


    def test_what_is_no_document_of_ml_may_change(self) -> None:
        files = {"data.json": POINTER, "lines.json": '{"a": 1}\n{"a": 2}\n', "trainer_state.json": POINTER, "empty.json": ""}
        self.project.propose(files)
        run = self.project.run()
        self.assertEqual((run.status, run.outputs["unreadable"]), (0, "0"), run.log)
        self.assertIn("4 files that cannot be read", run.summary)
        self.project.propose({"trainer_state.json": "{"})
        self.assertEqual(self.project.run().outputs["unreadable"], "1")

    def test_a_bundle_that_loses_its_declaration_is_noticed(self) -> None:
        self.project.write("results/run/bagit.txt", "")
        self.project.write("results/run/data/log.csv", "step\n")
        self.project.base = self.project.commit()
        self.project.propose({"results/run/bagit.txt": None})
        run = self.project.run()
        self.assertEqual((run.status, run.outputs["unreadable"]), (1, "1"), run.log)


class Projects(ActionCase):
    """Posts that do not lie at the top of the repository."""

    def setUp(self) -> None:
        super().setUp()
        for part in ("repro", "receipts"):
            (self.project.workspace / "ml/paper").mkdir(parents=True, exist_ok=True)
            self.project.git("mv", part, f"ml/paper/{part}")
        self.project.base = self.project.commit()
        text = (self.project.workspace / "ml/paper/repro/first.md").read_text(encoding="utf-8")
        self.changed_text = {"ml/paper/repro/first.md": text + "\nAnother sentence.\n"}
        post = (self.project.workspace / "ml/paper/repro/first.toml").read_text(encoding="utf-8")
        self.changed_post = {"ml/paper/repro/first.toml": post + "\n# a remark\n"}

    def test_posts_that_nobody_verifies_are_told(self) -> None:
        self.project.propose(self.changed_post)
        run = self.project.run()
        self.assertEqual(run.status, 0, run.log)
        self.assertRegex(run.log, r"(?m)^::warning title=repro::posts or receipts changed below `ml/paper`, and are not")
        self.assertIn("`project: ml/paper`", self.bodies()[0])
        self.assertNotIn("not verified", self.project.run(posts="none").log)
        self.project.propose({"other/receipts/paid.csv": "1\n", "other/repro/settings.toml": "a = 1\n"})
        self.assertNotIn("not verified", self.project.run().log)

    def test_a_folder_whose_name_is_not_plain_is_counted(self) -> None:
        self.project.propose({"a`b](x)/repro/p.toml": 'schema = "repro.post/2"\n'})
        run = self.project.run()
        self.assertIn("changed below 1 folder,", run.log)
        self.assertNotIn("](x)", self.bodies()[0])

    def test_the_project_that_is_named_is_verified(self) -> None:
        self.project.propose(self.changed_text)
        run = self.project.run(project="ml/paper")
        self.assertEqual(run.status, 1, run.log)
        self.assertRegex(run.log, r"(?m)^::error file=ml/paper/repro/first\.toml,")
        self.assertNotIn("not verified", run.log)

    def test_a_project_that_is_not_there_is_refused(self) -> None:
        self.project.propose(self.changed_text)
        for name in ("ml", "nowhere", "../workspace/ml/paper", str(self.project.workspace / "ml/paper")):
            run = self.project.run(project=name)
            self.assertEqual((run.status, run.executed), (2, ["plan"]), run.log)
            self.assertIn("input `project`", run.log)

    def test_a_change_of_files_alone_is_no_refutation(self) -> None:
        for files in (self.changed_text, self.changed_post):
            self.project.propose(files)
            run = self.project.run(project="ml/paper")
            self.assertEqual((run.status, run.outputs["refuted"], run.outputs["changed"]), (1, "0", "1"), run.log)
            self.assertIn("1 not as recorded; the policy is", run.log)
            self.assertIn("| | refuted | not as recorded |", run.summary.replace("|  |", "| |"))
            passed = self.project.run(project="ml/paper", policy="changed: pass")
            self.assertEqual(passed.status, 0, passed.log)
            old = self.project.run(project="ml/paper", policy="refuted: fail\ninconclusive: pass\nunreadable: fail")
            self.assertEqual(old.status, 1, old.log)


class Tokens(ActionCase):
    def test_a_fork_that_may_only_read_is_told_and_not_failed(self) -> None:
        self.github.may_write = False
        self.project.propose({"report.md": REPORT + "\nA closing line.\n"})
        self.project.payload["pull_request"]["head"]["repo"]["id"] = 4711
        run = self.project.run(upload="failure")
        self.assertEqual(run.status, 0, run.log)
        self.assertRegex(run.log, r"::notice title=repro::no comment could be made \(status 403: .*fork")
        self.assertEqual(self.github.comments, [])

    def test_a_fork_that_is_gone(self) -> None:
        self.project.propose({"report.md": WRONG_REPORT})
        self.project.payload["pull_request"]["head"]["repo"] = None
        self.assertEqual(self.project.run().status, 1)

    def test_no_token_at_all(self) -> None:
        self.project.propose({"report.md": REPORT + "\nA closing line.\n"})
        run = self.project.run(token="")
        self.assertEqual(run.status, 0, run.log)
        self.assertIn("no token was given", run.log)
        self.assertEqual(self.github.asked, [])

    def test_the_event_that_would_give_strangers_a_token_is_refused(self) -> None:
        self.project.propose({"report.md": WRONG_REPORT})
        self.project.name = "pull_request_target"
        run = self.project.run()
        self.assertEqual((run.status, run.executed), (2, ["plan"]))
        self.assertIn("pull_request_target", run.log)


class Sarif(ActionCase):
    def test_both_commands_upload_under_categories_of_their_own(self) -> None:
        self.project.propose({"report.md": WRONG_REPORT})
        run = self.project.run(sarif="auto")
        self.assertEqual(run.status, 1, run.log)
        uploads = [used for used in run.used if used.action.startswith("github/codeql-action/upload-sarif@")]
        self.assertEqual([used.given["category"] for used in uploads], ["repro-posts", "repro-changed"])
        posts, changed = (json.loads(Path(used.given["sarif_file"]).read_text(encoding="utf-8")) for used in uploads)
        self.assertEqual((posts["version"], posts["runs"][0]["results"]), ("2.1.0", []))
        self.assertEqual(changed["runs"][0]["invocations"][0]["exitCode"], 1)
        [place] = {
            location["physicalLocation"]["artifactLocation"]["uri"]
            for result in changed["runs"][0]["results"]
            for location in result["locations"]
        }
        self.assertEqual(place, "report.md")

    def test_an_upload_that_is_refused_is_told_and_fails_no_job(self) -> None:
        self.project.propose({"report.md": REPORT + "\nA closing line.\n"})
        run = self.project.run(sarif="auto", upload="failure")
        self.assertEqual(run.status, 0, run.log)
        self.assertIn("::notice title=repro::SARIF could not be uploaded", run.log)
        self.assertNotIn("could not be uploaded", self.project.run(sarif="auto").log)

    def test_a_private_repository_has_to_ask_for_it(self) -> None:
        self.project.propose({"report.md": WRONG_REPORT})
        self.project.payload["repository"]["private"] = True
        run = self.project.run(sarif="auto")
        self.assertEqual(run.used, [])
        self.assertIn("unless `sarif: true` asks for it", run.log)
        self.assertEqual(len(self.project.run(sarif="true").used), 2)

    def test_without_a_program_the_checkout_of_the_action_is_built_and_cached(self) -> None:
        """The build itself is that of `cargo install`; here the cache has the program already."""
        self.project.propose({"report.md": REPORT + "\nA closing line.\n"})
        built = self.project.folder / "temporary/repro-action/program/bin/repro"
        built.parent.mkdir(parents=True)
        built.symlink_to(PROGRAM)
        run = self.project.run(program="")
        self.assertEqual(run.status, 0, run.log)
        [cache] = [used for used in run.used if used.action.startswith("actions/cache@")]
        self.assertEqual(cache.given["path"], str(built.parent.parent))
        self.assertRegex(cache.given["key"], r"\Arepro-\w+-\w+-[0-9a-f]{64}\Z")


class Policies(ActionCase):
    def test_each_line_decides(self) -> None:
        self.project.propose({"report.md": WRONG_REPORT, "broken.json": BROKEN_STATE})
        for policy, status in {
            "refuted: pass": 1,
            "refuted: pass\nunreadable: pass": 0,
            "  refuted :pass \n\n unreadable: pass \n inconclusive: fail": 0,
            "unreadable: pass": 1,
        }.items():
            run = self.project.run(policy=policy)
            self.assertEqual(run.status, status, f"{policy}\n{run.log}")

    def test_an_undecided_number_fails_where_the_policy_says_so(self) -> None:
        self.project.propose({"model/README.md": ODD_CARD})
        for policy, status in {"": 0, "inconclusive: fail": 1}.items():
            run = self.project.run(policy=policy)
            self.assertEqual((run.status, run.outputs["inconclusive"]), (status, "1"), run.log)

    def test_a_word_that_is_not_known_is_refused_with_those_that_are(self) -> None:
        self.project.propose({"report.md": WRONG_REPORT})
        for policy in ("refuted: warn", "refutd: fail", "refuted fail", "refuted: fail\nrefuted: pass"):
            run = self.project.run(policy=policy)
            self.assertEqual((run.status, run.executed), (2, ["plan"]), policy)
            self.assertIn("::error title=repro::expected", run.log)
        self.assertIn("once in `policy`", run.log)
        self.assertIn("`refuted` or `changed` or `weaker` or `inconclusive` or `unreadable`", self.project.run(policy="x").log)
        self.assertEqual(self.project.run(sarif="yes").status, 2)
        self.assertEqual(self.project.run(comment="no").status, 2)


class OtherEvents(ActionCase):
    def test_a_push_verifies_the_posts(self) -> None:
        self.project.name, self.project.payload = "push", example("push")
        run = self.project.run()
        self.assertEqual(run.status, 0, run.log)
        self.assertIn("nothing besides posts is checked", run.log)
        self.assertIn("posts against their locks", run.summary)
        self.assertEqual(self.github.asked, [])

    def test_named_paths_are_checked_at_every_event(self) -> None:
        self.project.name, self.project.payload = "workflow_dispatch", example("workflow_dispatch")
        self.project.write("wrong/report.md", WRONG_REPORT)
        run = self.project.run(paths="report.md\n wrong \n", posts="none")
        self.assertEqual(run.status, 1, run.log)
        self.assertIn("named paths", run.summary)
        self.assertNotIn("| posts", run.summary)
        self.assertEqual(self.github.asked, [])

    def test_a_second_use_in_a_job_forgets_the_first(self) -> None:
        self.project.propose({"report.md": WRONG_REPORT})
        self.assertEqual(self.project.run().status, 1)
        self.project.name, self.project.payload = "push", example("push")
        run = self.project.run(posts="none")
        self.assertEqual(run.status, 0, run.log)
        self.assertIn("no file that it can check", run.summary)

    def test_a_post_that_is_not_there_is_unreadable(self) -> None:
        self.project.name, self.project.payload = "push", example("push")
        run = self.project.run(posts="nowhere")
        self.assertEqual((run.status, run.outputs["unreadable"]), (1, "1"), run.log)


def commands_in(log: str) -> list[str]:
    """The lines that a runner would take as commands: none between `stop-commands` and its token, and `##[` counts anywhere."""
    found, token = [], None
    for line in log.splitlines():
        stop = re.fullmatch(r"::stop-commands::(\w+)", line)
        if token is None and stop:
            token = stop[1]
        elif line == f"::{token}::":
            token = None
        elif token is None and (line.lstrip().startswith("::") or "##[" in line and not line.startswith("::")):
            found.append(line)
    return found


if __name__ == "__main__":
    unittest.main()
