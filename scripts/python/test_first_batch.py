"""Tests of the comparison before the first update: REPRO_BIN=target/release/repro python3 scripts/python/test_first_batch.py

They need PyTorch and the program; those that need the program are skipped where REPRO_BIN does not name it.
"""
import contextlib
import hashlib
import importlib.util
import io
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
if importlib.util.find_spec("torch") is None:
    raise unittest.SkipTest("PyTorch is not installed")

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

import repro_receipts as receipts  # noqa: E402
import repro_receipts.torch  # noqa: E402
from repro_receipts import _first, _table  # noqa: E402
from repro_receipts._json import canonical  # noqa: E402
from repro_receipts._tensors import TensorFile  # noqa: E402

PROGRAM = os.environ.get("REPRO_BIN", "")
needs_program = unittest.skipUnless(PROGRAM and os.path.isfile(PROGRAM), "REPRO_BIN names no program")
CONFIG = {"model_type": "llama", "vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
          "num_key_value_heads": 2, "intermediate_size": 48, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu"}


class Norm(nn.Module):
    def __init__(self, width, epsilon):
        super().__init__()
        self.weight, self.epsilon = nn.Parameter(torch.ones(width)), epsilon

    def forward(self, x):
        return F.rms_norm(x, x.shape[-1:], self.weight, self.epsilon)


class Attention(nn.Module):
    def __init__(self, change):
        super().__init__()
        self.change = change
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(32, n, bias=False) for n in (32, 16, 16, 32))

    def turned(self, x):
        size = x.shape[-1]
        angles = torch.outer(torch.arange(x.shape[-2]).float(), 10000.0 ** -(torch.arange(0, size, 2) / size))
        if self.change == "interleaved":
            left, right = x[..., ::2], x[..., 1::2]
            return torch.stack([left * angles.cos() - right * angles.sin(), left * angles.sin() + right * angles.cos()],
                               -1).flatten(-2)
        left, right = x.chunk(2, -1)
        return torch.cat([left * angles.cos() - right * angles.sin(), right * angles.cos() + left * angles.sin()], -1)

    def forward(self, x):
        q, k, v = (f(x).unflatten(-1, (-1, 8)).transpose(1, 2) for f in (self.wq, self.wk, self.wv))
        dropped = 0.1 if self.change == "dropped scores" and self.training else 0.0
        mixed = F.scaled_dot_product_attention(self.turned(q), self.turned(k), v, is_causal=True, enable_gqa=True,
                                               dropout_p=dropped)
        return self.wo(mixed.transpose(1, 2).flatten(2))


class Network(nn.Module):
    def __init__(self, change):
        super().__init__()
        self.change = change
        self.w1, self.w3, self.w2 = (nn.Linear(*sizes, bias=False) for sizes in ((32, 48), (32, 48), (48, 32)))

    def forward(self, x):
        function = F.gelu if self.change == "gelu" else F.silu
        y = self.w2(function(self.w1(x)) * self.w3(x))
        return F.dropout(y, 0.1, self.training) if self.change == "dropped" else y


class Block(nn.Module):
    def __init__(self, change):
        super().__init__()
        epsilon = 1e-2 if change == "epsilon" else 1e-5
        self.change = change
        self.attention_norm, self.attention = Norm(32, epsilon), Attention(change)
        self.ffn_norm, self.feed_forward = Norm(32, epsilon), Network(change)

    def forward(self, x):
        if self.change == "parallel":
            return x + self.attention(self.attention_norm(x)) + self.feed_forward(self.ffn_norm(x))
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed_forward(self.ffn_norm(x))


class Llama(nn.Module):
    """A Llama with names of its own, and perhaps something else in it."""

    def __init__(self, change=""):
        super().__init__()
        torch.manual_seed(1)
        self.tok, self.blocks = nn.Embedding(64, 32), nn.ModuleList(Block(change) for _ in range(2))
        self.norm, self.out = Norm(32, 1e-5), nn.Linear(32, 64, bias=False)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, tokens):
        self.calls += 1
        x = self.tok(tokens)
        for block in self.blocks:
            x = block(x)
        return self.out(self.norm(x))


def weighed(logits, targets):
    """A loss in which later tokens count more."""
    each = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
    return (each * torch.linspace(0.5, 1.5, targets.shape[1]).repeat(len(targets))).mean()


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def train(self, model, config=None, loss_of=None, clipped=None, steps=2, finish=True, resume=False, after=None, max_mb=None,
              **more):
        """Trains a model and records all of it; answers what was said. `after` is called with the recorder at the end."""
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            run = receipts.init("run", self.folder, CONFIG if config is None else config, {"name": "test"}, {"init": 1}, rank=0,
                                resume=resume, max_mb=max_mb)
            optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
            record = receipts.torch.Recorder(run, model, optimizer, [(0, steps)], grad_clip=0.05, **more)
            source = torch.Generator().manual_seed(2)
            for _ in range(steps):
                rows = torch.randint(64, (4, 17), generator=source)
                record.batch(rows[:, :-1], rows[:, 1:])
                logits = model(rows[:, :-1])
                loss = F.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
                record.loss(loss)
                (loss_of(logits, rows[:, 1:]) if loss_of else loss).backward()
                nn.utils.clip_grad_norm_((clipped or model).parameters(), 0.05)
                optimizer.step()
                optimizer.zero_grad()
            if after:
                after(record)
            if finish:
                run.finish()
            else:
                run._lock.release(remove=False)
        return said.getvalue()

    def verdict(self, folder=None):
        """What `repro replay` says of the bundle."""
        done = subprocess.run([PROGRAM, "replay", str(folder or self.folder / "run"), "--format", "json"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", check=False)
        self.assertTrue(done.stdout, done.stderr)
        return json.loads(done.stdout)["verdict"]

    def is_recorded(self):
        return any((self.folder / "run/data").glob("slices/*.safetensors"))


@needs_program
class Compared(Case):
    def test_an_own_model_is_recorded_and_its_names_are_found(self):
        said = self.train(Llama())
        self.assertIn("the first batch confirms names that were found by shapes", said)
        self.assertIn("'blocks.*.attention.wq.weight': 'model.layers.*.self_attn.q_proj.weight'", said)
        self.assertEqual(self.verdict(), "verified")

    def test_the_part_that_differs_is_named_before_the_first_update(self):
        for change, told in (("interleaved", "the attention of layer 0"), ("epsilon", "the norm of layer 0"),
                             ("gelu", "the MLP of layer 0"), ("parallel", "the residual stream before the norm of layer 0"),
                             ("dropped", "uses random numbers"), ("dropped scores", "uses random numbers")):
            with self.subTest(change), tempfile.TemporaryDirectory() as folder:
                self.folder = pathlib.Path(folder)
                said = self.train(Llama(change))
                self.assertIn("no slices are recorded", said)
                self.assertIn(told, said)
                self.assertFalse(self.is_recorded())

    def test_a_setting_that_would_agree_is_named(self):
        self.assertIn('the batch agrees with `hidden_act` = "gelu"', self.train(Llama("gelu")))

    def test_losses_and_gradients_that_are_others_are_found(self):
        def hooked(model):
            model.blocks[0].feed_forward.w1.weight.register_hook(lambda gradient: gradient * 0.5)
            return model
        for told, model, more in (("gradient of", Llama(), {"loss_of": weighed}),
                                  ("gradient of `model.layers.0.mlp.gate_proj.weight`", hooked(Llama()), {})):
            with self.subTest(told), tempfile.TemporaryDirectory() as folder:
                self.folder = pathlib.Path(folder)
                said = self.train(model, **more)
                self.assertIn(told, said)
                self.assertFalse(self.is_recorded())

    def test_a_clip_of_some_tensors_is_found(self):
        model = Llama()
        self.assertIn("a replay scales all gradients by one number", self.train(model, clipped=model.blocks))
        self.assertFalse(self.is_recorded())

    def test_strict_raises_before_the_first_update(self):
        model = Llama("gelu")
        before = model.out.weight.detach().clone()
        with self.assertRaisesRegex(receipts.Unwritable, "the MLP of layer 0"):
            self.train(model, strict=True)
        self.assertTrue(torch.equal(before, model.out.weight))

    def test_training_is_the_same_with_and_without_it(self):
        states = []
        for compare in (None, False):
            with tempfile.TemporaryDirectory() as folder:
                self.folder, model = pathlib.Path(folder), Llama("dropped")
                torch.manual_seed(7)
                self.train(model, compare=compare)
                states.append((model.state_dict(), torch.get_rng_state()))
        for name, value in states[0][0].items():
            self.assertTrue(torch.equal(value, states[1][0][name]), name)
        self.assertTrue(torch.equal(states[0][1], states[1][1]))

    def test_some_rows_stand_for_a_large_batch(self):
        size = sum(p.numel() for p in Llama().parameters())
        for told, change, tokens, words in (
                ("2 of 4 rows", "", 40, "confirms names"), ("1 of 4 rows, 8 of 16 tokens", "", 1, "confirms names"),
                ("2 of 4 rows", "gelu", 40, "the MLP of layer 0"), ("1 of 4 rows, 8 of 16 tokens", "interleaved", 1, "the attention")):
            with self.subTest(told, change=change), tempfile.TemporaryDirectory() as folder, \
                    mock.patch.object(_first, "ENOUGH", _first.work_of(size, tokens)), mock.patch.object(_first, "SHORTEST", 8):
                self.folder = pathlib.Path(folder)
                said = self.train(Llama(change))
                self.assertIn(f"the first batch was compared by {told};", said)
                self.assertIn(words, said)
                self.assertEqual(self.is_recorded(), not change)

    def test_a_loss_that_rows_do_not_show_has_the_whole_batch_compared(self):
        with mock.patch.object(_first, "ENOUGH", 1.0):
            said = self.train(Llama(), loss_of=weighed)
        self.assertIn("gradient of", said)
        self.assertNotIn("compared by", said)
        self.assertFalse(self.is_recorded())

    def test_only_where_one_row_takes_too_long_nothing_is_compared(self):
        with mock.patch.object(_first, "ENOUGH", 1.0), mock.patch.object(_first, "WORK", 2.0):
            self.assertIn("was not compared", self.train(Llama(), names={"tok.weight": "model.embed_tokens.weight"}))
        self.assertTrue(self.is_recorded())

    def test_a_run_that_goes_on_is_not_compared_again(self):
        self.train(Llama(), finish=False)
        with mock.patch.object(_first, "ask", side_effect=AssertionError):
            said = self.train(Llama(), resume=True)
        self.assertNotIn("compared", said)
        self.assertEqual(self.verdict(), "verified")

    def test_the_example_of_the_page_is_replayed(self):
        page = (HERE.parents[1] / "docs/how-to/python.md").read_text("utf-8")
        found = re.search(r"<!-- own mixture -->\n```python\n(.*?)```", page, re.DOTALL)
        self.assertLessEqual(found.group(1).count("#+\n"), 8)
        (self.folder / "own.py").write_text(found.group(1), "utf-8")
        done = subprocess.run([sys.executable, "own.py"], cwd=self.folder, env={**os.environ, "PYTHONPATH": str(HERE)},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(self.verdict(self.folder / "receipts/own"), "verified")
        receipt = json.loads((self.folder / "receipts/own/data/receipt.json").read_text("utf-8"))["predicate"]
        self.assertNotIn("emitter_problems", receipt["extra"])


def tensors_of(path):
    """The float32 tensors of a file."""
    data = path.read_bytes()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:start])
    return {name: torch.frombuffer(bytearray(data[slice(*(start + at for at in entry["data_offsets"]))]),
                                   dtype=torch.float32).reshape(entry["shape"])
            for name, entry in header.items() if name != "__metadata__"}


@needs_program
class KeptAtTheEnd(Case):
    """A checkpoint that is kept where a slice ends."""

    def setUp(self):
        super().setUp()
        self.text = self.folder / "text.bin"
        self.text.write_bytes(bytes(at * at % 61 for at in range(400)))
        self.train(Llama(), after=lambda record: record.evaluation(self.text, dtype="uint8"), max_mb=9)

    def codes(self, *command):
        """The exit status, and what is said beside it."""
        done = subprocess.run([PROGRAM, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=False)
        return done.returncode, done.stdout

    def forge(self, change, is_told):
        """Puts other tensors into the checkpoint at the end, makes all digests right, and where `is_told` also those that the
        slice has of its end."""
        run = self.folder / "run"
        start, end = (run / f"data/checkpoints/step-{step:06}.safetensors" for step in (0, 2))
        first = tensors_of(start)
        forged = {name: change(name, first[name], value) for name, value in tensors_of(end).items()}
        file = TensorFile(forged, {"step": "2"})
        end.write_bytes(b"".join(file.chunks()))
        receipt = run / "data/receipt.json"
        statement = json.loads(receipt.read_text("utf-8"))
        entry = next(entry for entry in statement["predicate"]["checkpoints"] if entry["step"] == 2)
        entry.update(weights_sha256=hashlib.sha256(end.read_bytes()).hexdigest(), tensors_sha256=file.tensors_sha256.hexdigest())
        receipt.write_text(canonical(statement) + "\n", "utf-8")
        if is_told:
            table = run / "data/slices/slice-000000.tensors.jsonl"
            lines = [json.loads(line) for line in table.read_text("utf-8").splitlines()]
            for line in lines:
                line["sha256_after"] = hashlib.sha256(forged[line["name"]].numpy().tobytes()).hexdigest()
            table.write_text("".join(canonical(line) + "\n" for line in lines), "utf-8")
        self.assertEqual(self.codes("bundle", "seal", str(run))[0], 0)

    def test_the_tensors_of_the_run_are_those_with_which_the_slice_ends(self):
        status, said = self.codes("verify", str(self.folder / "run"), "--verbose")
        self.assertIn("the tensors with which a slice ends", " ".join(said.split()))
        self.assertNotIn("not-as-logged", said)
        self.assertEqual(status, 0, said)
        self.assertEqual(self.verdict(), "verified")

    def test_a_checkpoint_of_another_run_is_refuted_without_a_step(self):
        torch.manual_seed(5)
        self.forge(lambda _, start, end: end + 1e-3 * torch.randn_like(end), is_told=False)
        status, said = self.codes("verify", str(self.folder / "run"))
        self.assertIn("weights::not-as-logged", said)
        self.assertEqual(status, 1, said)

    def test_a_checkpoint_as_far_away_in_another_direction_is_refuted_by_a_replay(self):
        self.forge(lambda _, start, end: start - (end - start), is_told=True)
        self.assertNotIn("not-as-logged", self.codes("verify", str(self.folder / "run"))[1])
        status, said = self.codes("replay", str(self.folder / "run"))
        self.assertIn("step 2: the kept checkpoint of", said)
        self.assertEqual(status, 1, said)


@needs_program
class Records(Case):
    def logged(self, factor):
        """The verdict about a run whose records have the losses of its steps times a factor."""
        def log(record):
            losses = tensors_of(self.folder / "run/data/slices/slice-000000.safetensors")["logged.loss"].tolist()
            for step, loss in enumerate(losses, 1):
                record.run.log({"loss": factor * loss}, step=step)
        self.train(Llama(), steps=4, after=log)
        return self.verdict()

    def test_losses_times_a_constant_are_refuted(self):
        self.assertEqual(self.logged(0.98), "refuted")

    def test_losses_of_the_steps_are_verified(self):
        self.assertEqual(self.logged(1.0), "verified")


def own_mixture():
    """The classes of the mixture of the page, in a namespace whose `record` its routers tell their choices."""
    page = (HERE.parents[1] / "docs/how-to/python.md").read_text("utf-8")
    found = re.search(r"<!-- own mixture -->\n```python\n(.*?)torch.manual_seed", page, re.DOTALL)
    names = {}
    exec(found.group(1), names)
    return names


@needs_program
class RoutedRows(Case):
    CONFIG = {"model_type": "mixtral", "vocab_size": 256, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
              "num_key_value_heads": 4, "intermediate_size": 48, "num_local_experts": 4, "num_experts_per_tok": 2,
              "rms_norm_eps": 1e-5, "rope_theta": 1e4}

    def train_mixture(self, config=None, balance=None):
        """Trains the mixture of the page for two updates, all of them recorded; answers what was said."""
        torch.manual_seed(1)
        names, said = own_mixture(), io.StringIO()
        model = names["Model"](256, 32, 4, 2)
        routers = [module for module in model.modules() if isinstance(module, names["Mixture"])]
        seen = []
        for module in routers:
            module.router.register_forward_hook(lambda _, __, output: seen.append(output.softmax(-1)))
        with contextlib.redirect_stderr(said):
            run = receipts.init("run", self.folder, {**self.CONFIG, **(config or {})}, {"name": "test"}, {"init": 1}, rank=0)
            optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
            record = names["record"] = receipts.torch.Recorder(run, model, optimizer, [(0, 2)], balance=balance)
            for _ in range(2):
                rows = torch.randint(256, (4, 17))
                seen.clear()
                record.batch(rows[:, :-1], rows[:, 1:])
                loss = F.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
                record.loss(loss)
                (loss + (balance or 0.0) * self.balance_of(seen)).backward()
                optimizer.step()
                optimizer.zero_grad()
            run.finish()
        return said.getvalue()

    @staticmethod
    def balance_of(seen):
        """The balance loss of `mixtral`: over all layers at once."""
        every = torch.cat(seen)
        chosen = F.one_hot(every.topk(2).indices, 4).float().mean(0)
        return 4 * (chosen * every.mean(0)).sum()

    @staticmethod
    def enough_for(rows):
        count = sum(p.numel() for p in own_mixture()["Model"](256, 32, 4, 2).parameters())
        return _first.work_of(count, rows * 16) * 1.01

    def test_some_rows_stand_for_a_large_batch_whose_tokens_are_routed(self):
        for config, words in ((None, "confirms names"), ({"rms_norm_eps": 1e-2}, "no slices are recorded: the first part that differs")):
            with self.subTest(words), tempfile.TemporaryDirectory() as folder, mock.patch.object(_first, "ENOUGH", self.enough_for(2)):
                self.folder = pathlib.Path(folder)
                said = self.train_mixture(config)
                self.assertIn("the first batch was compared by 2 of 4 rows;", said)
                self.assertIn(words, said)
                self.assertNotIn("will not record the routing of tokens", said)
                self.assertEqual(self.is_recorded(), config is None)
                if config is None:
                    self.assertEqual(self.verdict(), "verified")

    def test_beside_a_balance_loss_rows_stand_for_a_batch_that_takes_too_long(self):
        with mock.patch.object(_first, "ENOUGH", self.enough_for(1)):
            self.assertNotIn("was compared by", self.train_mixture(balance=0.01))
        for config, words in ((None, "confirms names"), ({"rms_norm_eps": 1e-2}, "no slices are recorded")):
            with self.subTest(words), tempfile.TemporaryDirectory() as folder, \
                    mock.patch.object(_first, "ENOUGH", self.enough_for(1)), mock.patch.object(_first, "WORK", self.enough_for(2)):
                self.folder = pathlib.Path(folder)
                said = self.train_mixture(config, balance=0.01)
                self.assertIn("the first batch was compared by 1 of 4 rows, without the balance loss;", said)
                self.assertIn(words, said)
                self.assertEqual(self.is_recorded(), config is None)
                if config is None:
                    self.assertEqual(self.verdict(), "verified")


class Tables(Case):
    def test_a_parameter_may_be_several_tensors(self):
        table = {"b.*.qkv": [("l.*.q", 4), ("l.*.k", 2), ("l.*.v", 2)], "b.*.down": "l.*.experts.#.down.T"}
        parts = _table.parts_of("b.3.qkv", (8, 5), table)
        self.assertEqual([(part.name, part.rows) for part in parts], [("l.3.q", (0, 4)), ("l.3.k", (4, 6)), ("l.3.v", (6, 8))])
        tensor = torch.arange(24.0).reshape(2, 3, 4)
        parts = _table.parts_of("b.1.down", (2, 3, 4), table)
        self.assertEqual([part.name for part in parts], ["l.1.experts.0.down", "l.1.experts.1.down"])
        self.assertTrue(torch.equal(parts[1].of(tensor), tensor[1].T))
        self.assertEqual([part.name for part in _table.parts_of("other", (2,), table)], ["other"])

    def test_experts_of_transformers_come_one_by_one(self):
        parts = _table.parts_of("model.layers.0.mlp.experts.gate_up_proj", (2, 6, 4), {})
        self.assertEqual([(part.name.rpartition("experts.")[2], part.rows) for part in parts[:2]],
                         [("0.gate_proj.weight", (0, 3)), ("0.up_proj.weight", (3, 6))])

    def test_without_the_program_it_is_said_and_training_is_recorded(self):
        with mock.patch.dict(os.environ, {"REPRO_BIN": str(self.folder / "nothing")}):
            said = self.train(Llama(), names={"tok.weight": "model.embed_tokens.weight"})
        self.assertIn("was not compared", said)
        self.assertTrue(self.is_recorded())


if __name__ == "__main__":
    unittest.main()
