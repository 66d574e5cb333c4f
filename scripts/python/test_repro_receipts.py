"""Tests of repro_receipts: python3 scripts/python/test_repro_receipts.py

The vectors in tests/corpus/emitter are checked from here and, by tests/it/emitter.rs, from the Rust writer, which
also has `write_vector_bundle` make a bundle and compares it with its own, file by file.
"""
import contextlib
import errno
import hashlib
import io
import json
import math
import os
import pathlib
import random
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import repro_receipts as receipts  # noqa: E402
from repro_receipts import _files, _found, _head, _quiet, _run, _tensors  # noqa: E402

VECTORS = HERE.parent.parent / "tests" / "corpus" / "emitter"
PLAIN = {"config": {"width": 1}, "trainer": {"name": "trainer", "arithmetic": "x"}, "seeds": {"init": 1}}


def vectors(name):
    return json.loads((VECTORS / f"{name}.json").read_text("utf-8"))


def tensor(entry):
    return entry["dtype"], entry["shape"], bytes.fromhex(entry["hex"])


def tensors(entries):
    return {name: tensor(entry) for name, entry in entries.items()}


def floats(*values):
    return "F32", (len(values),), struct.pack(f"<{len(values)}f", *values)


def write_vector_bundle(folder):
    """The bundle of bundle.json below `folder`; answers its digest."""
    vector = vectors("bundle")
    run = receipts.init(dir=folder, rank=0, **vector["init"])
    for record in vector["records"]:
        run.log(**record)
    for record in vector["timing"]:
        run.timing(**record)
    run.evaluation(**vector["evaluation"])
    for point in vector["checkpoints"]:
        moments = {name: tensors(pair) for name, pair in point["optimizer"].items()}
        run.checkpoint(**{**point, "weights": tensors(point["weights"]), "optimizer": moments})
    part = vector["slice"]
    pairs = {name: tuple(map(tensor, pair)) for name, pair in part["tensors"].items()}
    run.slice(**{**part, "tokens": tensor(part["tokens"]), "logged": tensors(part["logged"]), "tensors": pairs})
    digest = run.finish()
    assert not run.problems, run.problems
    return digest


def chained_lines(data):
    """The whole lines of metrics.jsonl, after their chain was checked; what follows the last line feed is torn."""
    records, last = [], ""
    for line in data[:data.rfind(b"\n") + 1].decode().splitlines():
        record = json.loads(line)
        chain = record.pop("chain")
        assert chain == hashlib.sha256((last + receipts.canonical(record)).encode()).hexdigest(), line
        records.append(record)
        last = chain
    return records


def is_whole(folder):
    """Whether the folder is a bundle; if it looks like one, every digest must be right."""
    if not (folder / "bagit.txt").exists():
        return False
    listed = set()
    for manifest in ("tagmanifest-sha256.txt", "manifest-sha256.txt"):
        for line in (folder / manifest).read_text().splitlines():
            digest, name = line.split("  ")
            assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest, name
            listed.add(name)
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert found == listed | {"tagmanifest-sha256.txt"}, found
    assert all(any(path.iterdir()) for path in folder.rglob("*") if path.is_dir()), "an empty folder"
    return True


class Vectors(unittest.TestCase):
    def test_numbers(self):
        for vector in vectors("numbers"):
            if "bits" in vector:
                value = struct.unpack(">d", bytes.fromhex(vector["bits"]))[0]
            else:
                value = int(vector["integer"])
            self.assertEqual(receipts.canonical(value), vector["text"], vector)

    def test_values(self):
        for vector in vectors("values"):
            self.assertEqual(receipts.canonical(vector["value"]), vector["text"])

    def test_any_float_survives(self):
        source = random.Random(7)
        for _ in range(20_000):
            value = struct.unpack(">d", source.randbytes(8))[0]
            if math.isfinite(value):
                text = receipts.canonical(value).strip('"')
                self.assertEqual(float(text), value)
                self.assertNotRegex(text, r"e[+-]0|^-0$|\.\d*0(e|$)|\.(e|$)|E")

    def test_evaluations(self):
        with tempfile.TemporaryDirectory() as folder:
            run = receipts.init("e", folder, rank=0, **PLAIN)
            for vector in vectors("evaluations"):
                sums = vector["sums"]
                run.evaluation(**{**sums, "nats": float(sums["nats"]), "blocks": list(map(float, sums["blocks"]))})
                file = pathlib.Path(folder, "e", "data", "evaluation", f"step-{sums['step']:06}.json")
                self.assertEqual(file.read_text("utf-8"), vector["text"] + "\n")
            self.assertEqual(run.problems, [])

    def test_tensors(self):
        for vector in vectors("tensors"):
            file = _tensors.TensorFile(tensors(vector["tensors"]), vector["metadata"])
            self.assertEqual(hashlib.sha256(b"".join(file.chunks())).hexdigest(), vector["sha256"])
            self.assertEqual(file.tensors_sha256.hexdigest(), vector["tensors_sha256"])

    def test_bundle(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(write_vector_bundle(folder), vectors("bundle")["digest"])
            self.assertTrue(is_whole(pathlib.Path(folder, "vector-s1")))


class Case(unittest.TestCase):
    """A test with a folder for runs and with stderr caught."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder, self.said = pathlib.Path(temporary.name), io.StringIO()
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.stack.enter_context(contextlib.redirect_stderr(self.said))
        for name in _head.RANKS:
            self.stack.enter_context(mock.patch.dict(os.environ))
            os.environ.pop(name, None)

    def init(self, name="run", **more):
        return receipts.init(name, self.folder, **{**PLAIN, **more})

    def data(self, name, run="run"):
        return (self.folder / run / "data" / name).read_bytes()

    def predicate(self, run="run"):
        return json.loads(self.data("receipt.json", run))["predicate"]


class Records(Case):
    def test_lines_are_chained_and_on_disk_at_once(self):
        run = self.init()
        for step in range(1, 4):
            run.log({"loss": 1 / step, "step": step}, step=step, tokens=step * 8)
            run.timing({"seconds": 0.5}, step=step)
            wanted = [{"loss": 1 / n, "step": n, "tokens": n * 8} for n in range(1, step + 1)]
            self.assertEqual(chained_lines(self.data("metrics.jsonl")), wanted)
            self.assertEqual(self.data("timing.jsonl"), b"".join(b'{"seconds":0.5,"step":%d}\n' % n
                                                                 for n in range(1, step + 1)))
        self.assertFalse(is_whole(self.folder / "run"))
        self.assertRegex(run.finish(), "sha256:[0-9a-f]{64}")
        self.assertTrue(is_whole(self.folder / "run"))
        self.assertEqual((run.problems, self.said.getvalue()), ([], ""))

    def test_what_is_not_finite_is_a_word(self):
        run = self.init()
        run.log({"loss": math.nan, "lr": math.inf, "tokens": 1.0}, step=1)
        run.log({"router": {"z": -math.inf, "w": 2, "layers": [{"cv": math.nan, "dead": 1}]}, "v": [1, math.inf]},
                step=2)
        first, second = chained_lines(self.data("metrics.jsonl"))
        self.assertEqual(first, {"nonfinite": "nan", "not_finite": {"loss": "nan", "lr": "inf"}, "tokens": 1, "step": 1})
        self.assertEqual(second, {"nonfinite": "-inf", "not_finite": {"router": "-inf", "v": "inf"},
                                  "router": {"layers": [{"dead": 1}], "w": 2}, "step": 2})
        self.assertEqual(run.problems, [])

    def test_what_readers_refuse_is_left_out(self):
        def nested(levels):
            value = 1
            for _ in range(levels):
                value = [value]
            return value

        run = self.init()
        run.log({"deep": nested(55), "deeper": nested(70)}, step=1)
        run.log({"long": "x" * _files.LINE_CAP}, step=2)
        run.log({"loss": 1}, step=3)
        wanted = [{"deep": nested(55), "step": 1}, {"loss": 1, "step": 3}]
        self.assertEqual(chained_lines(self.data("metrics.jsonl")), wanted)
        self.assertEqual(len(run.problems), 2)
        for at in range(2 * _quiet.PROBLEM_CAP):
            run.log({f"odd{at}": object()}, step=4)
        self.assertEqual(len(run.problems), _quiet.PROBLEM_CAP + 1)
        self.assertEqual(run.problems[-1], f"further problems ({_quiet.PROBLEM_CAP + 2} times)")

    def test_numbers_of_other_libraries(self):
        class Scalar:
            def __init__(self, value):
                self.value = value

            def item(self):
                return self.value

        class Wide(float):
            def __repr__(self):
                return "Wide"

        run = self.init()
        run.log({"loss": Scalar(0.1), "count": Scalar(3), "wide": Wide(0.5), "seed": 1 << 60, "yes": Scalar(True)},
                step=1)
        wanted = {"loss": 0.1, "count": 3, "wide": 0.5, "seed": str(1 << 60), "yes": True, "step": 1}
        self.assertEqual(chained_lines(self.data("metrics.jsonl")), [wanted])

    def test_threads_share_one_chain(self):
        run = self.init()

        def work(thread):
            for at in range(50):
                run.log({"thread": thread}, step=at)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(chained_lines(self.data("metrics.jsonl"))), 400)

    def test_evaluations_say_only_what_follows(self):
        run = self.init()
        run.evaluation(5, nats=8.0, predicted_tokens=4, bytes=8, router={"layers": []})
        record = json.loads(self.data("evaluation/step-000005.json"))
        self.assertEqual(record, {"step": 5, "nats": 8, "predicted_tokens": 4, "bytes": 8, "loss": 2,
                                  "bpb": 8 / (math.log(2) * 8), "router": {"layers": []}})
        run.evaluation(6, {"wer": math.nan}, nats=8.0, predicted_tokens=4, loss=1.0)
        self.assertEqual(json.loads(self.data("evaluation/step-000006.json")), {
            "step": 6, "nats": 8, "predicted_tokens": 4, "loss": 2, "metric/loss": 1, "not_finite": {"wer": "nan"}})
        run.evaluation(7, {"loss": math.inf, "wer": 1})
        self.assertEqual(json.loads(self.data("evaluation/step-000007.json")),
                         {"step": 7, "nonfinite": "inf", "not_finite": {"loss": "inf"}, "wer": 1})
        for second in ({"loss": 1}, {"wer": math.nan}):
            run.evaluation(7, second)
        self.assertEqual(run.problems, [f"evaluation: a second value of `{name}` at step 7" for name in ("loss", "wer")])
        run.finish()
        self.assertEqual([point["step"] for point in self.predicate()["checkpoints"]], [5, 6, 7])

    def test_what_is_not_finite_at_last_is_no_earlier_number(self):
        run = self.init()
        run.log({"val/loss": 2, "val/acc": 0.5}, step=1)
        run.log({"val/loss": math.nan}, step=1)
        run.log({"val/loss": math.inf}, step=2)
        run.log({"val/loss": 3}, step=2)
        run.log({"val/loss": math.nan, "train/x": math.nan}, step=3)
        run.evaluation(3, {"wer": math.inf})
        self.assertIsNotNone(run.finish())
        told = [json.loads(self.data(f"evaluation/step-00000{step}.json")) for step in (1, 2, 3)]
        self.assertEqual(told, [{"step": 1, "val/acc": 0.5, "not_finite": {"val/loss": "nan"}}, {"step": 2, "val/loss": 3},
                                {"step": 3, "not_finite": {"val/loss": "nan", "wer": "inf"}}])
        self.assertEqual(run.problems, [])

    def test_numbers_beyond_2_53_are_numbers_of_evaluations_and_summaries(self):
        run = self.init()
        run.log({"val/flos": 1e18, "val/word": "high"}, step=1)
        run.summary({"flos": 1e18, "tokens": -(1 << 60), "tiny": 5e-324, "yes": True, "word": "1", "table": {}})
        self.assertIsNotNone(run.finish())
        self.assertEqual(json.loads(self.data("evaluation/step-000001.json")), {"step": 1, "val/flos": "1000000000000000000"})
        self.assertEqual(self.data("summary.csv").decode(),
                         "metric,value\nflos,1000000000000000000\ntokens,-1152921504606846976\ntiny,5e-324\nyes,true\n")
        self.assertEqual(len(run.problems), 2, run.problems)

    def test_a_record_and_an_evaluation_that_differ_are_told(self):
        run = self.init()
        run.log({"val/loss": 3, "val/acc": 0.5, "val/wer": math.nan}, step=5)
        run.evaluation(5, {"val/loss": 2.5, "val/acc": 0.5, "val/wer": 1})
        self.assertIsNotNone(run.finish())
        self.assertEqual(run.problems, [f"finish, `val/{name}` at step 5: a record and the evaluation have different numbers"
                                        for name in ("loss", "wer")])
        self.assertEqual(self.predicate()["extra"]["emitter_problems"], run.problems)
        self.assertEqual(json.loads(self.data("evaluation/step-000005.json")),
                         {"step": 5, "val/loss": 2.5, "val/acc": 0.5, "val/wer": 1})

    def test_a_metric_that_is_called_as_a_member_of_the_record_is_kept(self):
        run = self.init()
        own = {"step": 100, "chain": "mine", "tokens": 7, "nonfinite": 3, "not_finite": 4}
        for step in (1, 2):
            run.log({**own, "metric/step": 5, "loss": math.nan}, step=step, tokens=8)
            run.timing({"step": 0.5, "seconds": 1}, step=step)
        run.log({"step": 3.0, "tokens": 9, "chain": None}, step=3)  # the same, none beside, and nothing
        run.log({"step": math.nan}, step=4)
        first, _, third, fourth = chained_lines(self.data("metrics.jsonl"))
        self.assertEqual(first, {"step": 1, "tokens": 8, "nonfinite": "nan", "not_finite": {"loss": "nan"}, "metric/step": 5,
                                 "metric/metric/step": 100, "metric/chain": "mine", "metric/tokens": 7,
                                 "metric/nonfinite": 3, "metric/not_finite": 4})
        self.assertEqual(third, {"step": 3, "tokens": 9})
        self.assertEqual(fourth, {"step": 4, "nonfinite": "nan", "not_finite": {"metric/step": "nan"}})
        self.assertEqual(json.loads(self.data("timing.jsonl").splitlines()[0]), {"metric/step": 0.5, "seconds": 1, "step": 1})
        sums = {"step": 2, "tasks": 3, "tokens_seen": 4, "bytes": 5, "bpb": 6}
        run.evaluation(1, sums, nats=8.0, predicted_tokens=4)
        run.task(1, "arc", 1, 2)
        document = json.loads(self.data("evaluation/step-000001.json"))
        self.assertEqual({name: document[f"metric/{name}"] for name in sums}, sums)
        self.assertEqual((document["step"], document["loss"], list(document["tasks"])), (1, 2, ["table"]))
        renamed = {f"metric/{name}": name for name in {**own, **sums}}
        self.assertIsNotNone(run.finish())
        self.assertEqual(self.predicate()["extra"], {"renamed": {**renamed, "metric/metric/step": "step"}})
        said = self.said.getvalue().splitlines()
        self.assertEqual(len(said), len(renamed) + 1)
        self.assertIn("repro_receipts: the metric `step` is kept as `metric/step`: records have their own `step`, "
                      "the argument `step`", said)
        self.assertEqual(run.problems, [])


class Tensors(Case):
    def test_kinds_are_widened_and_checked(self):
        def raw(kind, shape, data):
            return _tensors.elements((kind, shape, data))
        self.assertEqual(raw("BF16", [2], b"\x80\x3f\x00\xc0"), struct.pack("<2f", 1, -2))
        self.assertEqual(raw("F16", [3], struct.pack("<3e", 0.1, -2, 6e-8)),
                         struct.pack("<3f", *struct.unpack("<3e", struct.pack("<3e", 0.1, -2, 6e-8))))
        self.assertEqual(raw("I64", [2], struct.pack("<2q", 0, (1 << 32) - 1)), struct.pack("<2I", 0, (1 << 32) - 1))
        self.assertEqual(raw("I32", [1], struct.pack("<i", 7)), struct.pack("<I", 7))
        for kind, shape, data in (("I64", [1], struct.pack("<q", 1 << 32)), ("I64", [1], struct.pack("<q", -1)),
                                  ("F64", [1], bytes(8)), ("F32", [2], bytes(4)), ("F32", [0], b"")):
            with self.assertRaises(receipts.Unwritable):
                raw(kind, shape, data)

    def test_arrays_of_other_libraries(self):
        class Array:
            def __init__(self, dtype, data, widened=False):
                self.dtype, self.shape, self.data, self.widened = dtype, (len(data) // 4,), data, widened

            def tobytes(self):
                return self.data

        class Torch(Array):
            detach = cpu = contiguous = lambda self: self

            def numpy(self):
                assert self.dtype != "torch.bfloat16"
                return Array("float32", self.data)

            def float(self):
                return Torch("torch.float32", self.data)

        data = struct.pack("<2f", 1, 2)
        for value in (Array("float32", data), Torch("torch.float32", data), Torch("torch.bfloat16", data)):
            self.assertEqual((_tensors.elements(value), _tensors.outline(value)[1:]), (data, ("F32", [2])))

    def test_checkpoints_are_kept_or_hashed(self):
        run = self.init()
        moments = {"w": {"exp_avg": floats(0, 1), "exp_avg_sq": floats(2, 3), "step": 4}}
        run.checkpoint(1, {"w": floats(1, 2)}, moments, tokens_seen=10, rng="seed 1")
        run.checkpoint(2, {"w": floats(1, 2)}, moments, keep=False)
        run.checkpoint(3, {"w": floats(1, math.inf)})
        run.checkpoint(4, {"w": ("F64", (1,), bytes(8))})
        run.checkpoint(1, {"w": floats(9)})
        run.checkpoint(5, {"": floats(9)})
        names = os.listdir(self.folder / "run/data/checkpoints")
        self.assertEqual(names, ["step-000001.safetensors"], "nothing half-written")
        self.assertIsNotNone(run.finish())
        points = self.predicate()["checkpoints"]
        kept = self.data("checkpoints/step-000001.safetensors")
        self.assertEqual(points[0]["weights_sha256"], hashlib.sha256(kept).hexdigest())
        self.assertEqual(points[0]["tensors_sha256"], points[1]["tensors_sha256"])
        self.assertEqual(["weights" in point for point in points], [True, False, False])
        header = json.loads(kept[8:8 + int.from_bytes(kept[:8], "little")])
        self.assertEqual(header["__metadata__"], {"arithmetic": "x", "rng": "seed 1", "step": "1"})
        self.assertEqual(sorted(header), ["__metadata__", "optimizer.m.w", "optimizer.v.w", "w"])
        self.assertEqual(len(run.problems), 4, run.problems)
        self.assertEqual(self.predicate()["extra"]["emitter_problems"], run.problems)

    def test_slices_are_whole_or_left_out(self):
        run = self.init()
        tokens = ("I64", (2, 1, 3), struct.pack("<6q", *range(6)))
        logged = {"loss": floats(2, 1)}
        run.slice(0, tokens, logged, {"b": (floats(1, 1), floats(4, 5)),
                                      "a": {"sha256_after": "x", "update_norm": 0.5}})
        lines = list(map(json.loads, self.data("slices/slice-000000.tensors.jsonl").splitlines()))
        after = hashlib.sha256(floats(4, 5)[2]).hexdigest()
        self.assertEqual(lines, [{"name": "a", "sha256_after": "x", "update_norm": 0.5},
                                 {"name": "b", "sha256_after": after, "update_norm": 5}])
        run.checkpoint(5, {"w": floats(1)})
        run.slice(5, tokens, logged, {}, seconds=1.5)
        run.slice(6, tokens, {"loss": floats(math.nan, 1)}, {})
        run.slice(7, tokens, {"loss": floats(1)}, {})
        run.slice(8, tokens, logged, {"b": (floats(1), floats(math.inf))})
        run.slice(0, tokens, logged, {})
        names = [f"slice-{at:06}.{ending}" for at in (0, 5) for ending in ("safetensors", "tensors.jsonl")]
        self.assertEqual(sorted(os.listdir(self.folder / "run/data/slices")), names)
        self.assertIsNotNone(run.finish())
        self.assertTrue(is_whole(self.folder / "run"))
        name = "data/slices/slice-{}.safetensors".format
        self.assertEqual(self.predicate()["slices"], [
            {"from_step": 0, "steps": 2, "file": name("000000")},
            {"from_step": 5, "steps": 2, "file": name("000005"), "checkpoint_step": 5, "seconds": 1.5}])
        self.assertEqual(len(run.problems), 4, run.problems)

    def test_a_slice_states_how_its_updates_were_made(self):
        run = self.init()
        tokens = ("I64", (2, 1, 3), struct.pack("<6q", *range(6)))
        stated = {"grad_clip": 0.0, "groups": [{"tensors": ["w"], "lr": [0.5, 0.25], "optimizer": "sgd"}]}
        run.slice(0, tokens, {"loss": floats(2, 1)}, {}, stated=stated)
        self.assertEqual(json.loads(self.data("slices/slice-000000.stated.json")), stated)
        run.slice(2, tokens, {"loss": floats(2, 1)}, {}, stated={"lr": math.nan})
        self.assertEqual(len(os.listdir(self.folder / "run/data/slices")), 3)
        run.checkpoint(0, {"w": floats(1)}, optimizer={"w": {"momentum_buffer": floats(2), "step": 7}})
        header = (self.folder / "run/data/checkpoints/step-000000.safetensors").read_bytes()
        self.assertIn(b"optimizer.m.w", header)
        self.assertNotIn(b"optimizer.v.w", header)
        self.assertIsNotNone(run.finish())
        self.assertEqual(len(run.problems), 1, run.problems)


class Beginnings(Case):
    def test_what_a_reader_refuses_is_refused_at_once(self):
        for more, word in (
            ({"trainer": {"nme": "t"}}, "trainer.nme"), ({"trainer": {"version": "1"}}, "name"),
            ({"trainer": {"name": 3}}, "trainer.name"), ({"seeds": {"init": 1.5}}, "seeds.init"),
            ({"model": {"params_total": -1}}, "params_total"), ({"model": {"params_total": True}}, "params_total"),
            ({"contract": {"coefficient": math.nan}}, "coefficient"), ({"data": {"sha256": "A" * 64}}, "sha256"),
            ({"environment": {"threads": "2"}}, "threads"), ({"environment": {"libraries": {"a": 1}}}, "libraries"),
            ({"config": {"a": math.inf}}, "config"), ({"config": [1]}, "config"), ({"extra": {"a": object()}}, "extra"),
            ({"extra": {"resumes": 1}}, "extra.resumes"), ({"study": 3}, "string"), ({"name": "a/b"}, "name"), ({"name": "run.pt"}, "name"), ({"name": ".x"}, "name"),
            ({"name": "con"}, "name"), ({"name": "Lpt1.run"}, "name"),
        ):
            with self.assertRaisesRegex(receipts.Unwritable, word):
                self.init(**{"name": "run", **more})
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_all_that_is_missing_or_wrong_is_told_at_once(self):
        with self.assertRaises(receipts.Unwritable) as caught:
            receipts.init(name="a/b", config={"a": math.inf}, trainer={"version": "1"}, study=3, rank=0)
        for word in ("name: expected letters", "dir: ", "config: ", "seeds: expected a table, such as", "expected a `name`", "study: "):
            self.assertIn(word, str(caught.exception))

    def test_a_config_is_completed(self):
        run = self.init(config={"lr": 1})
        run.complete({"lr": 2, "steps": 3})
        run.complete({"steps": 4, "width": 5})
        run.complete({"depth": math.inf})
        self.assertEqual(run.config, {"lr": 1, "steps": 3, "width": 5})
        self.assertEqual(json.loads(self.data("config.json")), run.config)
        called = []
        run.before_finish(lambda: called.append(run.complete({"last": True})))
        self.assertIsNotNone(run.finish())
        run.finish()
        self.assertEqual((json.loads(self.data("config.json"))["last"], len(called)), (True, 1))
        self.assertTrue(is_whole(self.folder / "run"))
        self.assertEqual(len(run.problems), 1, run.problems)

    def test_a_folder_with_a_run_is_refused(self):
        run = self.init()
        with self.assertRaisesRegex(FileExistsError, "unfinished"):
            self.init()
        digest = run.finish()
        with self.assertRaisesRegex(FileExistsError, "finished"):
            self.init()
        self.assertEqual((run.finish(), is_whole(self.folder / "run")), (digest, True))

    def test_only_rank_0_writes(self):
        for name in _head.RANKS:
            # Launchers of one training say how many processes it has, and it is known what its other ranks do.
            with mock.patch.dict(os.environ, {name: "3", **({"WORLD_SIZE": "4"} if name == "RANK" else {})}):
                run = self.init()
                self.assertIsNone(run.finish())
                said = self.said.getvalue()
                run.log({"loss": 1}, step=1)
                run.checkpoint(1, {})
                self.assertIsNone(run.finish())
                told = self.said.getvalue()[len(said):]
                self.assertRegex(told, "^$" if name == "RANK" else f"^repro_receipts: {name} is 3, and only rank 0 .*rank=0.*\n$")
        said = self.said.getvalue()
        with mock.patch.dict(os.environ, {"RANK": "1"}):
            self.assertIsNotNone(self.init("zero", rank=0).finish())
        with mock.patch.dict(os.environ, {"RANK": "0", "SLURM_PROCID": "5"}):
            self.assertIsNotNone(self.init("torchrun").finish())
        self.assertIsNone(self.init("one", rank=1).finish())
        self.assertEqual(sorted(os.listdir(self.folder)), ["torchrun", "zero"])
        self.assertEqual(self.said.getvalue(), said)

    def test_the_machine_is_found_and_what_is_given_wins(self):
        self.init(environment={"cpu": "mine", "features": ["a"]}).finish()
        found = self.predicate()["environment"]
        self.assertEqual((found["cpu"], found["features"]), ("mine", ["a"]))
        self.assertTrue(found["os"] and found["threads"] >= 1 and found["libraries"]["python"])
        extra = {"a": [1]}
        run = self.init("later", extra=extra)
        extra["a"].append(object())
        run.finish()
        self.assertEqual(self.predicate("later")["extra"], {"a": [1]})

    def test_how_a_block_ends_is_how_the_run_ended(self):
        with self.init("good"):
            pass
        with self.assertRaises(ZeroDivisionError), self.init("bad"):
            raise ZeroDivisionError
        self.assertEqual([self.predicate(run)["run"]["finished"] for run in ("good", "bad")], [True, False])


class Failures(Case):
    def test_nothing_raises_inside_the_loop(self):
        class Hostile:
            def __getattr__(self, name):
                raise RuntimeError("no")

        looped = {}
        looped["self"] = looped
        junk = [None, 3, "x", [], {}, object(), Hostile(), looped, math.nan, -1, "\ud800", {1: 2}, b"x", (1, 2),
                1 << 99]
        run = self.init()
        calls = (run.log, run.timing, run.evaluation, run.checkpoint, run.slice)
        source = random.Random(1)
        for call in calls:
            call()
            for _ in range(200):
                call(*source.choices(junk, k=source.randrange(6)))
                call(source.choice(junk), nats=source.choice(junk), predicted_tokens=source.choice(junk), bytes=9)
        self.assertLessEqual(len(run.problems), _quiet.PROBLEM_CAP + 1)
        self.assertEqual(len(self.said.getvalue().splitlines()), len(run.problems))
        run.log({"loss": 1}, step=10)
        self.assertIsNotNone(run.finish())
        self.assertTrue(is_whole(self.folder / "run"))
        self.assertEqual(chained_lines(self.data("metrics.jsonl"))[-1], {"loss": 1, "step": 10})

    def test_a_sealed_bundle_is_not_touched_again(self):
        run = self.init()
        run.log({"loss": 1}, step=1)
        digest = run.finish()
        before = {path: path.stat() for path in self.folder.rglob("*")}
        slices = ("I64", (1, 1, 3), struct.pack("<3q", *range(3)))
        late = {"log": ({"loss": 2}, 2), "timing": ({"seconds": 1}, 2), "evaluation": (2, {"wer": 1}), "summary": ({"best": 1},),
                "task": (2, "arc", 1, 2), "checkpoint": (2, {"w": floats(1)}), "slice": (0, slices, {"loss": floats(1)}, {}),
                "complete": ({"depth": 1},), "change": ({"width": 2},), "problem": ("what", ValueError("why")),
                "reserve": (2, 10), "before_finish": (lambda: self.fail("it is finished"),)}
        others = {"finish", "has_checkpoint", "has_room", "has_slice", "release"} | {name for name, member in vars(receipts.Run).items() if isinstance(member, property)}
        self.assertEqual({name for name in dir(run) if name[0] != "_"} - others - {"problems", "is_finished"}, set(late))
        for _ in range(2):
            for name, arguments in late.items():
                getattr(run, name)(*arguments)
            self.assertEqual(run.finish(), digest)
            with run:
                pass
        self.assertEqual({path: path.stat() for path in self.folder.rglob("*")}, before)
        self.assertTrue(is_whole(self.folder / "run"))
        said = self.said.getvalue().splitlines()
        self.assertEqual([text.split(": ")[1] for text in said], [name if name != "problem" else "what" for name in late])
        self.assertTrue(all("after `finish`" in text for text in said if ": what: " not in text), said)

    def test_what_fails_after_the_seal_leaves_it(self):
        run, sync = self.init(), _run.sync_folder

        def failing(path):
            if (path / "bagit.txt").exists():
                raise OSError(errno.EIO, "the lights went out")
            sync(path)

        with mock.patch.object(_run, "sync_folder", failing):
            self.assertIsNotNone(run.finish())
        self.assertTrue(is_whole(self.folder / "run"))
        self.assertEqual(run.problems, ["finish: the lights went out"])

    def test_a_call_inside_a_call_changes_nothing(self):
        class Interrupting:
            def item(self):
                run.log({"loss": 2}, step=2)
                self.digest = run.finish()
                return 0.5

        run, value = self.init(), Interrupting()
        run.log({"loss": value}, step=1)
        self.assertIsNone(value.digest)
        self.assertEqual(chained_lines(self.data("metrics.jsonl")), [{"loss": 0.5, "step": 1}])
        self.assertEqual([text.partition(":")[0] for text in run.problems], ["log", "finish"])
        self.assertIsNotNone(run.finish())

    def test_a_closed_stderr_is_no_reason_to_raise(self):
        run = self.init()
        with mock.patch.object(sys, "stderr", None):
            run.log({"a": object()}, step=1)
        closed = io.StringIO()
        closed.close()
        with mock.patch.object(sys, "stderr", closed):
            run.log({"b": object()}, step=2)
        self.assertEqual(len(run.problems), 2)

    def test_a_program_may_go_elsewhere(self):
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        run = receipts.init("run", "receipts", **PLAIN)
        (self.folder / "other").mkdir()
        os.chdir("other")
        run.evaluation(1, {"wer": 1})
        self.assertIsNotNone(run.finish())
        self.assertTrue(is_whole(self.folder / "receipts/run"))
        self.assertEqual(os.listdir(), [])

    def test_a_folder_that_cannot_be_made(self):
        (self.folder / "file").write_text("")
        run = receipts.init("run", self.folder / "file", **PLAIN)
        for step in range(3):
            run.log({"loss": 1}, step=step)
        self.assertIsNone(run.finish())
        self.assertEqual(len(self.said.getvalue().splitlines()), 1)

    def test_a_full_disk_is_said_once_and_leaves_whole_lines(self):
        run, write = self.init(), os.write
        run.log({"loss": 1}, step=1)

        def full(descriptor, data):
            write(descriptor, bytes(data)[:len(data) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with mock.patch.object(os, "write", full):
            for step in range(2, 5):
                run.log({"loss": 2}, step=step)
                run.timing({"seconds": 1}, step=step)
        self.assertEqual(len(chained_lines(self.data("metrics.jsonl"))), 1)
        run.log({"loss": 3}, step=5)
        self.assertIsNotNone(run.finish())
        self.assertTrue(is_whole(self.folder / "run"))
        self.assertEqual([record["step"] for record in chained_lines(self.data("metrics.jsonl"))], [1, 5])
        self.assertFalse((self.folder / "run/data/timing.jsonl").exists(), "an empty file")
        wanted = [f"{what}: {os.strerror(errno.ENOSPC)} (3 times)" for what in ("log", "timing")]
        self.assertEqual(self.predicate()["extra"]["emitter_problems"], wanted)
        self.assertEqual(len(self.said.getvalue().splitlines()), 2)

    def test_an_interrupt_in_the_middle_of_a_line_parts_nothing(self):
        run, write = self.init(), os.write
        run.log({"loss": 1}, step=1)

        def interrupted(descriptor, data):
            write(descriptor, data)
            raise KeyboardInterrupt

        with mock.patch.object(os, "write", interrupted), self.assertRaises(KeyboardInterrupt):
            run.log({"loss": 2}, step=2)
        run.log({"loss": 3}, step=3)
        self.assertIsNotNone(run.finish(finished=False))
        self.assertTrue(is_whole(self.folder / "run"))
        self.assertEqual([record["step"] for record in chained_lines(self.data("metrics.jsonl"))], [1, 3])

    @unittest.skipUnless(sys.platform.startswith("linux"), "limits of file sizes")
    def test_a_file_that_may_not_grow(self):
        program = f"""
import resource, sys
sys.path.insert(0, {str(HERE)!r})
import repro_receipts as receipts
run = receipts.init("run", {str(self.folder)!r}, rank=0, **{PLAIN!r})
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, resource.RLIM_INFINITY))
run.checkpoint(1, {{"w": ("F32", (2000,), bytes(8000))}})
for step in range(100):
    run.log({{"loss": 1.5}}, step=step)
assert run.finish() is None or len(run.problems) > 0
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert run.finish(), run.problems
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(is_whole(self.folder / "run"))
        records = chained_lines(self.data("metrics.jsonl"))
        self.assertEqual([record["step"] for record in records], list(range(len(records))))
        self.assertTrue(10 < len(records) < 100, len(records))
        [point] = self.predicate()["checkpoints"]
        self.assertEqual(("weights" in point, len(point["weights_sha256"])), (False, 64))

    def test_wherever_finish_stops_the_folder_is_unfinished_or_whole(self):
        names, refused = ("fsync", "replace"), 0
        for steps in range(1000):
            name, left = f"run{steps}", [steps]
            run = self.init(name)
            run.log({"loss": 1}, step=1)
            run.checkpoint(1, {"w": floats(1)})

            def failing(call):
                def step(*arguments):
                    left[0] -= 1
                    if left[0] < 0:
                        raise OSError(errno.EIO, "the lights went out")
                    return call(*arguments)
                return step

            with contextlib.ExitStack() as stack:
                for call in names:
                    stack.enter_context(mock.patch.object(os, call, failing(getattr(os, call))))
                digest = run.finish()
            whole = is_whole(self.folder / name)
            self.assertTrue(whole or digest is None)
            if left[0] >= 0:
                break
            refused += not whole
            self.assertIsNotNone(run.finish(), run.problems)
            self.assertTrue(is_whole(self.folder / name))
        self.assertEqual((digest is not None, refused > 10), (True, True))

    def test_a_bundle_is_made_only_of_what_was_written(self):
        run = self.init()
        run.log({"loss": 1}, step=1)
        metrics = self.folder / "run/data/metrics.jsonl"
        for name in ("notes.txt", "data/model.pt", "model.partial", "bag-info.txt", "data/receipt.json", "bagit.txt"):
            path = self.folder / "run" / name
            path.write_text("mine")
            self.assertIsNone(run.finish())
            self.assertEqual(path.read_text(), "mine")
            self.assertIn(f"did not write: {name};", run.problems[-1])
            path.unlink()
        link = self.folder / "run/link"
        link.symlink_to(self.folder, target_is_directory=True)
        self.assertIsNone(run.finish())
        link.unlink()
        good = metrics.read_bytes()
        for bad in (good[:-1], good.replace(b":1", b":2"), None):
            metrics.unlink()
            if bad is not None:
                metrics.write_bytes(bad)
            self.assertIsNone(run.finish())
            self.assertFalse((self.folder / "run/bagit.txt").exists())
            metrics.write_bytes(good)
        self.assertIsNotNone(run.finish(), run.problems)

    @unittest.skipUnless(hasattr(os, "fork"), "no fork")
    def test_a_forked_worker_writes_nothing(self):
        run = self.init()
        run.log({"loss": 1}, step=1)
        child = os.fork()
        if not child:
            run.log({"loss": 2}, step=2)
            run.log({"loss": 3}, step=3)
            run.finish()
            (self.folder / "said").write_text(self.said.getvalue())
            os._exit(0)
        os.waitpid(child, 0)
        self.assertRegex((self.folder / "said").read_text(), "^repro_receipts: a process forked from .* are lost; .*\n$")
        self.assertEqual(len(chained_lines(self.data("metrics.jsonl"))), 1)
        self.assertFalse((self.folder / "run/bagit.txt").exists())

    @unittest.skipUnless(hasattr(signal, "SIGKILL"), "no SIGKILL")
    def test_a_killed_run_is_unfinished_or_whole(self):
        program = f"""
import sys
sys.path.insert(0, {str(HERE)!r})
import repro_receipts as receipts
print("ready", flush=True)
run = receipts.init("run", sys.argv[1], rank=0, **{PLAIN!r})
for step in range(1, 40):
    run.log({{"loss": 1 / step}}, step=step)
    if step % 10 == 0:
        run.checkpoint(step, {{"w": ("F32", (4000,), bytes(16000))}})
        run.evaluation(step, nats=1.5, predicted_tokens=3, bytes=4)
run.finish()
"""
        source, seen, spent = random.Random(3), [0, 0], math.inf
        for attempt in range(24):
            folder = self.folder / str(attempt)
            with subprocess.Popen([sys.executable, "-c", program, str(folder)], stdout=subprocess.PIPE) as child:
                child.stdout.readline()
                start = time.monotonic()
                if attempt:
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        child.wait(source.random() * spent)
                    child.kill()
                child.wait()
            # Kills are drawn from the time of the quickest whole run, however loaded the machine was at first.
            if not child.returncode:
                spent = min(spent, time.monotonic() - start)
            if not (folder / "run/data").exists():
                continue
            seen[is_whole(folder / "run")] += 1
            metrics = folder / "run/data/metrics.jsonl"
            if metrics.exists():
                chained_lines(metrics.read_bytes())
        self.assertTrue(seen[0] >= 5 and seen[1] >= 1, seen)


class BudgetTest(unittest.TestCase):
    """What a run keeps within `max_mb`."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.said = io.StringIO()

    def run_with(self, name="run", **more):
        with contextlib.redirect_stderr(self.said):
            return receipts.init(name, self.folder, rank=0, **PLAIN, **more)

    def kept(self, name="run"):
        return sorted(path.name for path in (self.folder / name / "data" / "checkpoints").glob("*"))

    def receipt(self, name="run"):
        return json.loads((self.folder / name / "data" / "receipt.json").read_text())["predicate"]

    def weights(self, megabytes):
        count = int(megabytes * 250_000)
        return {"w": ("F32", (count,), bytes(4 * count))}

    def test_what_is_beyond_the_budget_is_left_out_and_told_once(self):
        run = self.run_with()
        with contextlib.redirect_stderr(self.said):
            for step in range(4):
                run.checkpoint(step, self.weights(1))
            run.slice(3, tokens=("U32", (1, 1, 3), bytes(12)), logged={}, tensors={})
            self.assertTrue(run.finish(), run.problems)
        self.assertEqual(self.kept(), ["step-000000.safetensors", "step-000001.safetensors"])
        self.assertEqual(self.said.getvalue().count("beyond 2.5 MB"), 2, "the first, and the slice that was asked for")
        self.assertIn("`init(max_mb=3.1)` keeps it", self.said.getvalue())
        self.assertIn("the slice from update 3 (1.0 MB)", self.said.getvalue())
        told = self.receipt()
        self.assertEqual(told["extra"]["left_out"], {"max_mb": 2.5, "what": [
            "the weights of step 2", "the weights of step 3", "the slice from update 3"]})
        self.assertNotIn("emitter_problems", told["extra"])
        self.assertEqual([("weights" in point, "weights_sha256" in point) for point in told["checkpoints"]],
                         [(True, True), (True, True), (False, True), (False, True)])
        self.assertNotIn("slices", told)

    def test_the_first_is_kept_unless_a_budget_is_stated(self):
        for name, more, kept in (("free", {}, 1), ("large", {"max_mb": 4}, 1), ("small", {"max_mb": 1}, 0), ("none", {"max_mb": 0}, 0)):
            run = self.run_with(name, **more)
            with contextlib.redirect_stderr(self.said):
                run.checkpoint(0, self.weights(3))
                self.assertTrue(run.finish(), run.problems)
            self.assertEqual(len(self.kept(name)), kept, name)
        with self.assertRaises(receipts.Unwritable):
            self.run_with("wrong", max_mb=-1)

    def test_a_resumed_run_counts_what_is_there(self):
        run = self.run_with()
        with contextlib.redirect_stderr(self.said):
            for step in (0, 1, 2):
                run.checkpoint(step, self.weights(1))
        run._lock.release(remove=True)  # as after a kill
        again = self.run_with(resume=True)
        with contextlib.redirect_stderr(self.said):
            again.checkpoint(2, self.weights(1))
            again.checkpoint(3, self.weights(1))
            self.assertTrue(again.finish(), again.problems)
        self.assertEqual(self.kept(), ["step-000000.safetensors", "step-000001.safetensors"])
        self.assertEqual(self.receipt()["extra"]["left_out"]["what"], ["the weights of step 2", "the weights of step 3"])


if __name__ == "__main__":
    unittest.main()
