"""Tests of the program as Python calls it, and of what stands in the place of trackers: python3 scripts/python/test_program.py

REPRO_BIN names the program; without it what needs it is skipped.
"""
import argparse
import contextlib
import html
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import unittest
from unittest import mock

from test_repro_receipts import HERE, Case, chained_lines, is_whole, receipts
from repro_receipts import trackio, wandb

RECEIPTS = HERE.parent.parent / "receipts"
BIN = os.environ.get("REPRO_BIN")


class Program(Case):
    @unittest.skipUnless(BIN, "REPRO_BIN names no program")
    def test_a_report_is_an_object_and_a_page(self):
        report = receipts.verify(RECEIPTS / "nmoe-0003")
        self.assertEqual((report.exit_status, report.failures), (0, []))
        self.assertEqual(report.verdicts, report.document["summary"])
        self.assertTrue(report.claims and all(claim["verdict"] == "verified" for claim in report.claims))
        self.assertIn("its claim follows from the evidence", str(report))
        self.assertIn("verified", repr(report))
        self.assertTrue(report.html.startswith("<!doctype html>"))
        shown = report._repr_html_()
        self.assertTrue(shown.startswith("<iframe sandbox srcdoc="))
        self.assertIn(html.escape(report.html, quote=True), shown)
        self.assertEqual(shown.count("<"), 2)  # of the frame alone

    @unittest.skipUnless(BIN, "REPRO_BIN names no program")
    def test_a_bundle_that_is_refused_is_a_report(self):
        report = receipts.verify(self.folder / "nothing")
        self.assertEqual((report.exit_status, report.failures[0]["code"]), (2, "bundle::not-found"))
        self.init().log({"loss": 1}, step=1)
        self.assertEqual(receipts.verify(self.folder / "run").failures[0]["code"], "bundle::unfinished")

    @unittest.skipUnless(BIN, "REPRO_BIN names no program")
    def test_documents_and_posts(self):
        report = receipts.check(RECEIPTS / "nanochat-leaderboard")
        self.assertEqual(report.exit_status, 1)
        self.assertGreater(report.verdicts["refuted"], 0)
        self.assertEqual(len(report.claims), report.verdicts["refuted"] + report.verdicts["inconclusive"])
        self.assertEqual(receipts.verify(post="0004", cwd=RECEIPTS.parent, options=["--locked"]).exit_status, 0)

    @unittest.skipUnless(BIN, "REPRO_BIN names no program")
    def test_no_report_is_an_error_that_says_why(self):
        with self.assertRaisesRegex(receipts.ProgramError, "exited with status 2 and without a report.*unexpected argument"):
            receipts.verify(self.folder, options=["--such"])
        with self.assertRaises(subprocess.TimeoutExpired):
            receipts.verify(RECEIPTS / "nmoe-0003", timeout=1e-6)

    def test_where_the_program_is(self):
        beside = self.folder / "repro"
        with mock.patch.dict(os.environ, {"REPRO_BIN": str(beside)}):
            with self.assertRaisesRegex(receipts.ProgramMissing, "REPRO_BIN is .*which is not a program"):
                receipts.verify("x")
        beside.write_text("#!/bin/sh\necho other\n")
        beside.chmod(0o755)
        with mock.patch.dict(os.environ, {"PATH": str(self.folder)}), \
                mock.patch.object(sys, "executable", str(self.folder / "python")):
            os.environ.pop("REPRO_BIN", None)
            self.assertEqual(receipts.program(), beside)
            with self.assertRaisesRegex(receipts.ProgramError, "without a report; it printed: other"):
                receipts.verify("x")
            beside.unlink()
            with mock.patch("sysconfig.get_path", return_value=str(self.folder)):
                with self.assertRaisesRegex(receipts.ProgramMissing, "install the wheel"):
                    receipts.check("x")

    @unittest.skipUnless(BIN, "REPRO_BIN names no program")
    def test_the_version_is_that_of_the_program(self):
        said = subprocess.run([BIN, "--version"], capture_output=True, text=True).stdout.split()
        self.assertEqual(said[1], receipts.__version__)


@contextlib.contextmanager
def trackio_run(folder):
    """A run of trackio, called `other`."""
    run = trackio.init("p", name="other", dir=folder)
    yield run
    run.finish()


class Trackers(Case):
    def wandb(self, **named):
        run = wandb.init(**{"dir": self.folder, "name": "run", **named})
        self.addCleanup(lambda: run.is_ended or run.finish())
        return run

    def test_steps_are_those_of_wandb(self):
        run = self.wandb(project="p", group="g", config=argparse.Namespace(lr=0.1, seed=4))
        self.assertIs(wandb.run, run)
        self.assertIs(self.wandb(name="other"), run)
        wandb.log({"a": 1})
        wandb.log({"b": 1}, commit=False)
        wandb.log({"c": 1})
        wandb.log({"d": 1}, step=7)
        wandb.log({"e": math.nan}, step=7)
        wandb.log({"f": 1}, step=8, commit=True)
        self.assertEqual((wandb.config.lr, wandb.config["seed"], wandb.summary["f"]), (0.1, 4, 1))
        wandb.finish(exit_code=1)
        self.assertIsNone(wandb.run)
        self.assertEqual(chained_lines(self.data("metrics.jsonl")), [
            {"a": 1, "step": 0}, {"b": 1, "c": 1, "step": 1},
            {"d": 1, "nonfinite": "nan", "not_finite": {"e": "nan"}, "step": 7}, {"f": 1, "step": 8}])
        predicate = self.predicate()
        self.assertEqual((predicate["run"], predicate["seeds"], predicate["extra"]["group"]),
                         ({"finished": False, "id": "run", "study": "p"}, {"init": "4"}, "g"))
        self.assertTrue(is_whole(self.folder / "run"))

    def test_a_step_among_the_metrics_is_kept(self):
        run = self.wandb()
        wandb.define_metric("val/*", step_metric="step")
        for at in range(3):
            wandb.log({"step": 100 * at, "loss": 1})
        wandb.log({"val/acc": 0.5})
        run.finish()
        with trackio_run(self.folder) as other:
            other.log({"step": 100})
        self.assertEqual(chained_lines(self.data("metrics.jsonl")), [
            {"loss": 1, "step": 0}, {"loss": 1, "metric/step": 100, "step": 1}, {"loss": 1, "metric/step": 200, "step": 2},
            {"metric/step": 200, "step": 3, "val/acc": 0.5}])
        self.assertEqual(chained_lines(self.data("metrics.jsonl", "other")), [{"metric/step": 100, "step": 0}])
        for name in ("run", "other"):
            self.assertEqual(self.predicate(name)["extra"]["renamed"], {"metric/step": "step"})
        self.assertEqual(self.said.getvalue().count("`step` is kept as `metric/step`"), 2)

    def test_a_config_of_any_values(self):
        looped = {}
        looped["self"] = looped
        config = {"out": pathlib.PurePosixPath("a/b"), "clip": math.inf, "by": {1: 2, "type": float, "list": [math.nan, 1]},
                  "looped": looped, "lr": 0.5}
        run = self.wandb(config=config)
        run.config.update({"later": pathlib.PurePosixPath("c")})
        run.finish()
        written = json.loads(self.data("config.json"))
        self.assertIn("self", written.pop("looped"))
        self.assertEqual(written, {"out": "a/b", "clip": "inf", "lr": 0.5, "later": "c",
                                   "by": {"1": 2, "type": "<class 'float'>", "list": ["nan", 1]}})

    def test_what_scripts_set_is_told(self):
        class Array:
            def item(self):
                raise ValueError("of more than one")

            def tolist(self):
                return [1, 2]

        run = self.wandb(settings=wandb.Settings(start_method="thread"), tags=["a"])
        run.name, run.tags, run.notes = "better", ("a", "b"), "why"
        run.log({"counts": Array()})
        with self.assertRaisesRegex(NotImplementedError, "run.config = "):
            run.config = {}
        files = pathlib.Path(run.dir)
        (files / "model.pt").write_text("weights")
        self.addCleanup(shutil.rmtree, files.parent)
        self.assertEqual((files, run.name), (self.folder.parent / f"{self.folder.name}-files" / "run", "better"))
        run.finish()
        self.assertEqual(self.predicate()["extra"]["tracker_set"], {"name": "better", "tags": ["a", "b"], "notes": "why"})
        self.assertEqual(chained_lines(self.data("metrics.jsonl")), [{"counts": [1, 2], "step": 0}])
        self.assertTrue(is_whole(self.folder / "run"))

    def test_what_comes_too_late_is_said(self):
        run = self.wandb(config={"a": 1})
        run.log({"loss": 1})
        run.finish()
        for late in (lambda: run.log({"loss": 2}, commit=False), lambda: run.summary.update({"best": 1}),
                     lambda: run.config.update({"b": 1}), run.finish):
            late()
        self.assertTrue(is_whole(self.folder / "run"))
        self.assertEqual(self.said.getvalue().count("after `finish`"), 3)

    def test_a_disabled_tracker_writes_nothing(self):
        with mock.patch.dict(os.environ, {"WANDB_MODE": "disabled"}):
            wandb.init(dir=self.folder, name="run").log({"a": 1})
            wandb.finish()
        self.wandb(name="online", mode="online").finish()
        self.assertEqual((os.listdir(self.folder), self.said.getvalue()), (["online"], ""))

    def test_what_has_no_place_in_a_receipt_is_refused_by_name(self):
        run = self.wandb(config={"a": 1})
        for wrong in (lambda: wandb.Image, lambda: wandb.Table(data=[]), lambda: wandb.watch(1), lambda: run.log_artifact(1),
                      lambda: wandb.init(sync_tensorboard=True), lambda: trackio.Table, lambda: trackio.init("p", space_id="s")):
            with self.assertRaisesRegex(NotImplementedError, "a receipt contains a config, numbers by step"):
                wrong()
        for wrong, word in ((lambda: run.log({"a": object()}), "`a` is a object"), (lambda: run.log({1: 2}), "found 1"),
                            (lambda: run.log([1]), "a table of metrics"),
                            (lambda: run.summary.update({"best": "x"}), "expected numbers")):
            with self.assertRaisesRegex(TypeError, word):
                wrong()
        for wrong in (lambda: run.config.update({"a": 2}), lambda: setattr(run.config, "a", 2)):
            with self.assertRaisesRegex(receipts.Unwritable, "config.a is 1 and would become 2"):
                wrong()
        run.config.update({"a": 2, "b": 3}, allow_val_change=True)
        run.finish()
        self.assertEqual(self.predicate()["extra"]["config_changes"], [{"after_step": None, "before": {"a": 1, "b": None}}])
        with self.assertRaisesRegex(RuntimeError, "call init"):
            wandb.log({"a": 1})

    def test_a_run_of_wandb_goes_on(self):
        program = (f"import os, sys; sys.path.insert(0, {str(HERE)!r})\n"
                   "import repro_receipts.wandb as wandb\n"
                   f"run = wandb.init(dir={str(self.folder)!r}, name='run', config={{'a': 1}}, resume='allow')\n"
                   "for step in range(3): wandb.log({'loss': run.step})\n"
                   "if not run.resumed: os.kill(os.getpid(), 9)")
        for _ in range(2):
            subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
        self.assertEqual([record["step"] for record in chained_lines(self.data("metrics.jsonl"))], list(range(6)))
        # Nobody said how it ended: it is sealed, and says nothing of it.
        self.assertTrue(is_whole(self.folder / "run"))
        self.assertEqual(self.predicate()["run"], {"id": "run"})

    def test_a_trainer_that_goes_back_to_its_checkpoint_goes_another_way(self):
        program = (f"import os, sys; sys.path.insert(0, {str(HERE)!r})\n"
                   "import repro_receipts.wandb as wandb\n"
                   f"run = wandb.init(dir={str(self.folder)!r}, name='run', resume='allow')\n"
                   "for step in range(3 if run.resumed else 0, 6): wandb.log({'loss': step + run.resumed}, step=step)\n"
                   "wandb.log({}, step=6)\n"
                   "if not run.resumed: os.kill(os.getpid(), 9)")
        for _ in range(2):
            done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertEqual(done.stderr, "")
        self.assertEqual([(record["step"], record["loss"]) for record in chained_lines(self.data("metrics.jsonl"))],
                         [(0, 0), (1, 1), (2, 2), (3, 4), (4, 5), (5, 6)])
        self.assertEqual(self.data("abandoned/001/metrics.jsonl").count(b"\n"), 3)

    def test_a_program_that_breaks_leaves_a_run_that_did_not_come_to_its_end(self):
        program = (f"import sys; sys.path.insert(0, {str(HERE)!r})\n"
                   "import repro_receipts.trackio as trackio\n"
                   f"trackio.init('p', name='run', dir={str(self.folder)!r})\n"
                   "trackio.log({'loss': 1})\n1 / 0")
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertIn("ZeroDivisionError", done.stderr)
        self.assertEqual(self.predicate()["run"], {"finished": False, "id": "run", "study": "p"})
        self.assertEqual(pathlib.Path(self.folder, "run", "data", "metrics.jsonl").read_text().count("\n"), 1)

    def test_other_ranks_write_nothing(self):
        with mock.patch.dict(os.environ, {"SLURM_PROCID": "1"}):
            wandb.init(dir=self.folder, name="run")
            wandb.log({"a": 1})
            wandb.finish()
            self.assertEqual(list(self.folder.iterdir()), [])
            self.assertRegex(self.said.getvalue(), "^repro_receipts: SLURM_PROCID is 1, .* rank=0 and a separate name to `init`\n$")
            self.wandb(name="apart", rank=0).finish()
            trackio.init("p", name="other", dir=self.folder, rank=0).finish()
        self.assertEqual(sorted(os.listdir(self.folder)), ["apart", "other"])


if __name__ == "__main__":
    unittest.main()
