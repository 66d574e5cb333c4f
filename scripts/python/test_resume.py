"""Tests of runs that are killed and go on: python3 scripts/python/test_resume.py

Where REPRO_BIN names the program, it has to verify every bundle that comes out.
"""
import json
import math
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import traceback
import unittest
from unittest import mock

from test_repro_receipts import HERE, PLAIN, Case, chained_lines, floats, is_whole, receipts
from repro_receipts import _found, _lock

STEPS = 30


def train(dir, lineage=0, steps=STEPS, done=None, changes=None, started=lambda: None):
    """A loop that goes on after `done` updates, where its own checkpoint was. From step 15 on its numbers are those of its
    lineage, as they are on a device that adds up in another order each time. `started` is called when the run is open."""
    own = pathlib.Path(dir, "own")
    done = (int(own.read_text()) if own.exists() else 0) if done is None else done
    run = receipts.init("run", dir, resume=True, rank=0, **{**PLAIN, **(changes or {})})
    started()
    for step in range(done + 1, steps + 1):
        number = lineage if step > 15 else 0
        run.log({"loss": 1 / step + number, "val/acc": step / 100}, step=step, tokens=8 * step)
        run.timing({"seconds": number}, step=step)
        if step % 10 == 0:
            run.evaluation(step, {"wer": step / 7 + number})
            run.task(step, "t", outcomes=[True, False, number % 2], baseline=0.25)
            run.checkpoint(step, {"w": floats(step, number)}, tokens_seen=8 * step)
            run.slice(step - 1, ("I64", (1, 1, 2), struct.pack("<2q", 1, 2)), {"loss": floats(1 + number)},
                      {"w": (floats(1, 1), floats(step, number))}, stated={"grad_clip": 0.0})
            partial = pathlib.Path(dir, "own.partial")
            partial.write_text(str(step))
            os.replace(partial, own)
    run.summary({"best": 0.5})
    return run


class Resumes(Case):
    def go_on(self, **named):
        return train(self.folder, **named)

    def read(self, name):
        return json.loads((self.folder / "run" / name).read_text("utf-8"))

    def assert_whole(self, run=None):
        """Whether the run is a bundle without a fault, all of whose steps are there once."""
        if run is not None:
            self.assertIsNotNone(run.finish(), run.problems)
        self.assertTrue(is_whole(self.folder / "run"))
        self.assertEqual([record["step"] for record in chained_lines(self.data("metrics.jsonl"))], list(range(1, STEPS + 1)))
        times = [json.loads(line)["step"] for line in self.data("timing.jsonl").splitlines()]
        self.assertEqual(times, list(range(1, STEPS + 1)))
        predicate = self.predicate()
        self.assertEqual([point["step"] for point in predicate["checkpoints"]], list(range(1, STEPS + 1)))
        self.assertEqual([part["from_step"] for part in predicate["slices"]], [9, 19, 29])
        self.assertNotIn("emitter_problems", predicate.get("extra", {}))
        for point in predicate["checkpoints"]:
            self.assertIn("val/acc", self.read(point["evaluation"]))
            self.assertEqual("weights" in point, point["step"] % 10 == 0)
        if os.environ.get("REPRO_BIN"):
            report = receipts.verify(self.folder / "run")
            self.assertEqual((report.exit_status, report.failures), (0, []), str(report))

    def leave(self, run):
        """Lets go of a run as the death of its process does."""
        run._lock.release(remove=False)
        run._metrics.close()
        run._timing.close()

    def test_a_run_goes_on_without_a_line_twice(self):
        self.leave(self.go_on(steps=23))
        self.assertEqual(len(self.predicate_of_state()["checkpoints"]), 2)
        run = self.go_on()
        self.assertEqual((run.is_resumed, run.last_step), (True, STEPS))
        self.assert_whole(run)
        self.assertEqual(self.predicate()["extra"]["resumes"], [{"records": 23, "told_again": 3, "torn_bytes": 0}])
        self.assertEqual([path.name for path in (self.folder / "run/data/abandoned/001").iterdir()], ["timing.jsonl"])

    def predicate_of_state(self):
        return self.read("state.json")

    def test_what_comes_out_otherwise_is_put_aside_whole(self):
        self.leave(self.go_on(lineage=1, steps=25, done=0))
        before = self.data("metrics.jsonl").splitlines(keepends=True)
        (self.folder / "own").write_text("10")
        run = self.go_on(lineage=2)
        self.assert_whole(run)
        self.assertEqual(self.data("metrics.jsonl").splitlines(keepends=True)[:15], before[:15])
        aside = self.folder / "run/data/abandoned/001"
        self.assertEqual((aside / "metrics.jsonl").read_bytes(), b"".join(before[15:]))
        self.assertEqual(sorted(path.relative_to(aside).as_posix() for path in aside.rglob("*") if path.is_file()), [
            "checkpoints/step-000020.safetensors", "evaluation/step-000020.json", "evaluation/step-000020.outcomes.jsonl",
            "evaluation/step-000020.tasks.csv", "metrics.jsonl", "slices/slice-000019.safetensors",
            "slices/slice-000019.stated.json", "slices/slice-000019.tensors.jsonl", "timing.jsonl"])
        self.assertEqual(self.read("data/evaluation/step-000020.json")["wer"], 20 / 7 + 2)
        resume, = self.predicate()["extra"]["resumes"]
        self.assertEqual((resume["records"], resume["told_again"], resume["abandoned"][0]["step"]), (25, 5, 20))

    def test_a_run_that_ends_earlier_the_second_time_leaves_the_rest_aside(self):
        self.leave(self.go_on(steps=STEPS))
        run = receipts.init("run", self.folder, resume=True, **PLAIN)
        run.log({"loss": 1 / 20, "val/acc": 20 / 100}, step=20, tokens=160)
        self.assertEqual(len(chained_lines(self.data("metrics.jsonl"))), STEPS)
        self.assertIsNotNone(run.finish(), run.problems)
        self.assertTrue(is_whole(self.folder / "run"))
        self.assertEqual(len(chained_lines(self.data("metrics.jsonl"))), 20)
        self.assertEqual(max(point["step"] for point in self.predicate()["checkpoints"]), 20)
        self.assertEqual([part["from_step"] for part in self.predicate()["slices"]], [9, 19])

    def test_torn_lines_are_dropped_and_told(self):
        run = self.go_on(steps=12)
        self.leave(run)
        whole = self.data("metrics.jsonl")
        for torn in (b'{"chain":"ab', b"\0" * 50, b'{"chain"\0\0\0}\n'):
            (self.folder / "run/data/metrics.jsonl").write_bytes(whole + torn)
            run = receipts.init("run", self.folder, resume=True, **PLAIN)
            self.assertEqual(run._resumes[-1]["torn_bytes"], len(torn))
            self.assertEqual((self.data("metrics.jsonl"), run.last_step), (whole, 12))
            self.leave(run)
        self.assert_whole(self.go_on())

    def test_a_file_that_was_edited_is_refused(self):
        self.leave(self.go_on(steps=12))
        metrics, whole = self.folder / "run/data/metrics.jsonl", self.data("metrics.jsonl")
        lines = whole.splitlines(keepends=True)
        for edited, word in ((whole.replace(b'"step":5', b'"step":6'), "metrics.jsonl:5: the chain"),
                             (b"".join(lines[:3] + lines[4:]), "metrics.jsonl:4: the chain"),
                             (b"what\n" + whole, "metrics.jsonl:1: "), (b"[]\n" + whole, "metrics.jsonl:1: no record")):
            metrics.write_bytes(edited)
            with self.assertRaisesRegex(receipts.Unwritable, word):
                self.go_on()
            self.assertEqual(metrics.read_bytes(), edited)
        metrics.write_bytes(whole)
        state = self.folder / "run/state.json"
        for text, word in (("{", "state.json: "), ('{"schema":"repro.emitter-state/2"}', "expected the schema")):
            kept = state.read_text()
            state.write_text(text)
            with self.assertRaisesRegex(receipts.Unwritable, word):
                self.go_on()
            state.write_text(kept)
        state.rename(self.folder / "elsewhere")
        with self.assertRaisesRegex(receipts.Unwritable, "is missing"):
            self.go_on()
        (self.folder / "elsewhere").rename(state)
        self.assert_whole(self.go_on())

    def test_changes_are_refused_or_told(self):
        self.leave(self.go_on(steps=12))
        changes = {"config": {"width": 2, "depth": 3}, "seeds": {"init": 2}}
        with self.assertRaisesRegex(receipts.Unwritable, "config.width was 1 and is 2.*|seeds.init was '1' and is '2'"):
            self.go_on(changes=changes)
        run = self.go_on(changes={**changes, "allow_changes": True})
        self.assert_whole(run)
        self.assertEqual(self.predicate()["extra"]["resumes"][0]["before"],
                         {"config": {"width": 1, "depth": None}, "seeds": {"init": "1"}})
        self.assertEqual((self.read("data/config.json"), self.predicate()["seeds"]),
                         ({"depth": 3, "width": 2}, {"init": "2"}))

    def test_a_change_of_the_config_is_told(self):
        run = self.init()
        run.log({"loss": 1}, step=1)
        run.change({"width": 1, "lr": 2})
        run.change({"lr": 3})
        self.assertIsNotNone(run.finish())
        self.assertEqual(self.predicate()["extra"]["config_changes"],
                         [{"after_step": 1, "before": {"lr": None}}, {"after_step": 1, "before": {"lr": 2}}])

    def test_files_of_others_are_kept_and_not_taken(self):
        run = self.init()
        run.log({"loss": 1}, step=1)
        others = [self.folder / "run" / name for name in ("data/model.safetensors", "bag-info.txt")]
        for path in others:
            path.write_text("mine")
        self.assertIsNone(run.finish())
        self.leave(run)
        run = self.init(resume=True)
        self.assertIsNone(run.finish())
        self.assertIn("did not write: bag-info.txt, data/model.safetensors;", run.problems[-1])
        for path in others:
            self.assertEqual(path.read_text(), "mine")
            path.unlink()
        self.assertIsNotNone(run.finish())
        self.assertTrue(is_whole(self.folder / "run"))

    def test_names_that_were_told_are_told_again(self):
        for leave in (self.leave, receipts.Run.finish):
            run = self.init(resume=True)
            for step in range(1, 4):
                run.log({"step": 10 * step}, step=step)
            leave(run)
        self.assertEqual([record["metric/step"] for record in chained_lines(self.data("metrics.jsonl"))], [10, 20, 30])
        extra = self.predicate()["extra"]
        self.assertEqual((extra["renamed"], extra["resumes"][0]["told_again"]), ({"metric/step": "step"}, 3))

    def test_one_writer_at_a_time(self):
        run = self.go_on(steps=12)
        with self.assertRaisesRegex(receipts.Busy, "which is this one"):
            self.go_on()
        program = (f"import sys; sys.path.insert(0, {str(HERE)!r})\n"
                   f"import test_resume as t\nt.train({str(self.folder)!r})")
        other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertIn(f"Busy: process {os.getpid()} writes", other.stderr)
        self.leave(run)
        self.assert_whole(self.go_on())
        with self.assertRaisesRegex(FileExistsError, "finished"):
            self.go_on()

    @unittest.skipUnless(hasattr(os, "fork"), "no fork")
    def test_a_worker_that_outlives_its_run_keeps_no_lock(self):
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            try:
                train(self.folder, steps=12)
                if not os.fork():
                    os.close(writing)
                    os.read(reading, 1)  # until the pipe is closed
                    os._exit(0)
            finally:
                os.kill(os.getpid(), 9)
        os.waitpid(child, 0)
        os.close(reading)
        self.assertEqual(len(chained_lines(self.data("metrics.jsonl"))), 12)
        self.assert_whole(self.go_on())
        os.close(writing)

    @unittest.skipUnless(hasattr(os, "fork"), "no fork")
    def test_a_kill_before_or_after_any_call_of_the_system_loses_nothing(self):
        calls = [(os, name) for name in ("write", "fsync", "replace", "unlink", "ftruncate", "mkdir", "rmdir")]
        at, killed = 0, 0
        while True:
            for lineage in (0, at):  # the second time the same comes out, or another
                shutil.rmtree(self.folder / "run", ignore_errors=True)
                (self.folder / "own").unlink(missing_ok=True)
                first = self.dying(calls, at, lineage=0, until_end=True)
                is_sealed = (self.folder / "run" / "bagit.txt").exists()
                second = not is_sealed and self.dying(calls, at // 2, lineage=lineage, until_end=False)
                if is_sealed:
                    self.assert_whole()
                else:
                    flushed = self.lines_so_far()
                    run = self.go_on(lineage=2 * lineage)
                    self.assert_whole(run)
                    kept = {line for path in (self.folder / "run/data").rglob("metrics.jsonl")
                            for line in path.read_bytes().splitlines()}
                    self.assertLessEqual(flushed, kept)
                killed += first + second
            if not first:
                break
            at += 11
        self.assertGreater(killed, 40)

    def lines_so_far(self):
        data = self.folder / "run/data"
        return {line for path in data.rglob("metrics.jsonl") for line in _found.whole(path.read_bytes()).splitlines()}

    def dying(self, calls, at, lineage, until_end):
        """Has a process train that dies at one call of the system; answers whether it did."""
        child = os.fork()
        if not child:
            left = at

            def dying(call):
                def step(*arguments, **named):
                    nonlocal left
                    left -= 1
                    if left < 0:
                        os._exit(9)
                    return call(*arguments, **named)
                return step

            try:
                for module, name in calls:
                    mock.patch.object(module, name, dying(getattr(module, name))).start()
                run = train(self.folder, lineage=lineage)
                if until_end:
                    run.finish()
                os._exit(0 if until_end else 9)
            except BaseException:
                traceback.print_exc(file=sys.__stderr__)
                os._exit(3)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        self.assertIn(status, (0, 9))
        return status == 9

    @unittest.skipUnless(hasattr(os, "fork"), "no fork")
    def test_a_kill_at_any_moment_loses_nothing(self):
        program = (f"import sys; sys.path.insert(0, {str(HERE)!r})\n"
                   "import test_resume as t\n"
                   "run = t.train(sys.argv[1], lineage=int(sys.argv[2]), started=lambda: print('ready', flush=True))\n"
                   "assert run.finish(), run.problems")
        source, kills, lineage, rounds = random.Random(11), 0, 0, 0
        while kills < 25:
            rounds += 1
            shutil.rmtree(self.folder / "run", ignore_errors=True)
            (self.folder / "own").unlink(missing_ok=True)
            while not (self.folder / "run/bagit.txt").exists():
                lineage += rounds % 2  # in every second round all comes out the same
                flushed = self.lines_so_far() if (self.folder / "run/data").exists() else set()
                with subprocess.Popen([sys.executable, "-c", program, str(self.folder), str(lineage)],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
                    child.stdout.readline()
                    try:
                        child.wait(math.exp(source.uniform(-7, -1.2)))
                    except subprocess.TimeoutExpired:
                        child.kill()
                        kills += 1
                    said = child.stderr.read().decode()
                self.assertIn(child.returncode, (0, -9), said)
                if flushed:
                    self.assertLessEqual(flushed, self.lines_so_far())
            self.assert_whole()
        self.assertGreaterEqual(kills, 25)


if __name__ == "__main__":
    unittest.main()
