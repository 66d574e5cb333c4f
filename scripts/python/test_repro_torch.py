"""Tests of repro_receipts.torch: python3 scripts/python/test_repro_torch.py

They need PyTorch, and for the callbacks transformers with accelerate, and lightning; what is missing is skipped.
"""
import contextlib
import copy
import importlib.util
import io
import json
import math
import os
import pathlib
import shutil
import struct
import sys
import tempfile
import types
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "reference")]
HAS = {name: importlib.util.find_spec(name) is not None for name in ("torch", "transformers", "accelerate", "lightning")}
if not HAS["torch"]:
    raise unittest.SkipTest("PyTorch is not installed")

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

import repro_receipts as receipts  # noqa: E402
import repro_receipts.torch  # noqa: E402
from repro_receipts import _replayable as replayable  # noqa: E402

TORCH_KINDS = {"F32": torch.float32, "U32": torch.int32}
needs_transformers = unittest.skipUnless(HAS["transformers"], "transformers is not installed")
needs_trainer = unittest.skipUnless(HAS["transformers"] and HAS["accelerate"], "transformers or accelerate is not installed")
needs_lightning = unittest.skipUnless(HAS["transformers"] and HAS["lightning"], "lightning is not installed")


def tensors_of(path):
    """The tensors of a safetensors file."""
    data = path.read_bytes()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:start])
    return {name: torch.frombuffer(bytearray(data[start + entry["data_offsets"][0]:start + entry["data_offsets"][1]]),
                                   dtype=TORCH_KINDS[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in header.items() if name != "__metadata__"}


class Model(torch.nn.Module):
    """An embedding, a matrix, a norm and a head."""

    def __init__(self, dropout=0.0, width=6):
        super().__init__()
        torch.manual_seed(1)
        self.embed, self.layer = torch.nn.Embedding(11, width), torch.nn.Linear(width, width, bias=False)
        self.norm, self.head = torch.nn.LayerNorm(width), torch.nn.Linear(width, 11, bias=False)
        self.after = torch.nn.Dropout(dropout)

    def forward(self, tokens):
        return self.head(self.after(self.norm(self.layer(self.embed(tokens)).tanh())))


class Muon(torch.optim.Optimizer):
    """Keller Jordan's rule, in float32."""

    def __init__(self, params, lr=0.02, momentum=0.95):
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": 0.0})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            stated = replayable.muon_of(group)
            for p in group["params"]:
                mean = self.state[p].setdefault("momentum_buffer", torch.zeros_like(p))
                mean.lerp_(p.grad, 1 - group["momentum"])
                ahead = p.grad.lerp(mean, group["momentum"])
                p.sub_(group["lr"] * replayable.adjusted("original", p.shape) * replayable.orthogonal(stated, ahead))


class SingleDeviceMuonWithAuxAdam(torch.optim.Optimizer):
    """Two rules in one optimizer, told apart by `use_muon`."""

    def __init__(self, groups):
        super().__init__(groups, {})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            stated = replayable.rule_of(self, group)
            stated["weight_decay"] = group["weight_decay"]
            for p in group["params"]:
                kept = self.state[p]
                kept["step"] = kept.get("step", 0) + 1
                p.copy_(replayable.moved(stated, p, p.grad, kept, kept["step"], group["lr"]))


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        # The models here are nobody's: what the program says of models is test_first_batch.py's.
        nowhere = mock.patch.dict(os.environ, {"REPRO_BIN": str(self.folder / "no program")})
        nowhere.start()
        self.addCleanup(nowhere.stop)
        self.said = io.StringIO()
        stderr = contextlib.redirect_stderr(self.said)
        stderr.__enter__()
        self.addCleanup(stderr.__exit__, None, None, None)

    CONFIG = {"model_type": "llama", "vocab_size": 11, "hidden_size": 6, "num_hidden_layers": 1,
              "num_attention_heads": 1, "rms_norm_eps": 1e-5, "notes": {"test": True}}

    def init(self, **config):
        return receipts.init("run", self.folder, {**self.CONFIG, **config}, {"name": "test"}, {"init": 1}, rank=0)

    def slice(self, start=0):
        """Tensors and statement of a slice."""
        stem = self.folder / "run" / "data" / "slices" / f"slice-{start:06}"
        return tensors_of(stem.with_suffix(".safetensors")), json.loads(stem.with_suffix(".stated.json").read_text())

    def slices(self):
        folder = self.folder / "run" / "data" / "slices"
        return sorted(path.name for path in folder.glob("*.safetensors")) if folder.exists() else []

    def train(self, record, model, optimizers, steps=3, micro=1, loss_of=None, before=None):
        """A plain loop; `norms` are those by which gradients were scaled down."""
        self.norms = []
        source = torch.Generator().manual_seed(2)
        for step in range(steps):
            for _ in range(micro):
                rows = torch.randint(11, (2, 6), generator=source)
                record.batch(rows[:, :-1], rows[:, 1:])
                logits = model(rows[:, :-1]).flatten(0, 1)
                loss = (loss_of or F.cross_entropy)(logits, rows[:, 1:].flatten())
                record.loss(loss)
                (loss / micro).backward()
            if record.grad_clip:
                self.norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), record.grad_clip).item())
            for optimizer in optimizers:
                if before:
                    before(step, optimizer)
                optimizer.step()
                optimizer.zero_grad()


class Loops(Case):
    def test_config_is_completed_and_updates_are_kept(self):
        run, model = self.init(), Model()
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.1)
        first = {name: p.detach().clone() for name, p in model.named_parameters()}
        record = receipts.torch.Recorder(run, model, optimizer, [(0, 2), (2, 1)], grad_clip=0.5)
        self.train(record, model, [optimizer], micro=2)
        self.assertIsNotNone(run.finish())
        self.assertEqual(run.problems, [])
        config = json.loads((self.folder / "run/data/config.json").read_text())
        self.assertEqual([config[name] for name in ("batch_size", "seq_len", "steps", "dtype")], [4, 5, 3, "float32"])
        tensors, stated = self.slice()
        self.assertEqual(list(tensors["tokens"].shape), [2, 4, 6])
        self.assertNotIn("counted", tensors)
        for kept, norm in zip(tensors["logged.clip_norm"], self.norms):
            self.assertAlmostEqual(kept.item() / norm, 1.0, delta=2e-6)  # PyTorch divides by a millionth more
        self.assertEqual((stated["micro_batches"], stated["mean_over"], stated["grad_clip"]), (2, "micro_batches", 0.5))
        self.assertEqual(sorted(stated), ["grad_clip", "groups", "mean_over", "micro_batches", "norms"])
        self.assertEqual(stated["groups"][0]["tensors"], sorted(first))
        kept = tensors_of(self.folder / "run/data/checkpoints/step-000000.safetensors")
        self.assertTrue(all(torch.equal(kept[name], value) for name, value in first.items()))
        self.assertIn("optimizer.v.head.weight", tensors_of(self.folder / "run/data/checkpoints/step-000002.safetensors"))

    def test_masters_of_a_model_in_bfloat16(self):
        for is_kept in (True, False):
            run, model = self.init(), Model()
            masters = {name: p.detach().clone().requires_grad_() for name, p in model.named_parameters()}
            model.bfloat16()
            optimizer = torch.optim.SGD(masters.values(), lr=0.1)
            self.assertIn("with `masters`", " ".join(receipts.torch.check(run, model, optimizer)))
            record = receipts.torch.Recorder(run, model, optimizer, [(0, 2)], masters=masters)
            for step in range(2):
                rows = torch.randint(11, (2, 6), generator=torch.Generator().manual_seed(step))
                record.batch(rows[:, :-1], rows[:, 1:])
                loss = F.cross_entropy(model(rows[:, :-1]).flatten(0, 1).float(), rows[:, 1:].flatten())
                record.loss(loss)
                loss.backward()
                for name, p in model.named_parameters():
                    masters[name].grad = p.grad.float()
                optimizer.step()
                model.zero_grad()
                with torch.no_grad():
                    for name, p in model.named_parameters():
                        p.copy_(masters[name] if is_kept else masters[name] * 1.1)
            run.finish()
            if is_kept:
                self.assertEqual((self.slice()[1]["compute"], run.problems), ("bfloat16", []))
                kept = tensors_of(self.folder / "run/data/checkpoints/step-000000.safetensors")
                self.assertEqual({value.dtype for value in kept.values()}, {torch.float32})
                shutil.rmtree(self.folder / "run")
            else:
                self.assertIn("are not their rounded masters", run.problems[0])

    def test_several_optimizers_and_momentum_that_changes(self):
        run, model = self.init(), Model()
        muon = Muon([model.layer.weight])
        adam = torch.optim.AdamW([p for p in model.parameters() if p is not model.layer.weight], lr=0.01)
        record = receipts.torch.Recorder(run, model, [muon, adam], [(0, 1), (1, 2)])

        def before(step, optimizer):
            for group in optimizer.param_groups:
                group["lr"] = 0.01 * (step + 1)
                if "momentum" in group:
                    group["momentum"] = 0.8 + 0.05 * step

        self.train(record, model, [muon, adam], before=before)
        self.assertEqual((record.done, run.problems), (3, []))
        groups = self.slice(1)[1]["groups"]
        wanted = {"optimizer": "muon", "momentum": [0.8 + 0.05, 0.8 + 0.1], "nesterov": True, "ns_steps": 5, "eps": 1e-7,
                  "ns_coefficients": [3.4445, -4.775, 2.0315], "dtype": "bfloat16", "adjust": "original",
                  "variant": "reference", "tensors": ["layer.weight"], "lr": [0.02, 0.03], "weight_decay": 0}
        self.assertEqual(groups[0], wanted)
        self.assertEqual((groups[1]["optimizer"], groups[1]["lr"], groups[1]["beta1"]), ("adamw", [0.02, 0.03], 0.9))
        self.assertEqual(self.slice(0)[1]["groups"][0]["momentum"], 0.8)
        kept = tensors_of(self.folder / "run/data/checkpoints/step-000001.safetensors")
        self.assertIn("optimizer.m.layer.weight", kept)
        self.assertNotIn("optimizer.v.layer.weight", kept)

    def test_muon_of_pytorch_and_muon_beside_adam_in_one(self):
        model = Model()
        rest = [p for p in model.parameters() if p is not model.layer.weight]
        torch_muon = torch.optim.Muon([model.layer.weight], adjust_lr_fn="match_rms_adamw")
        both = SingleDeviceMuonWithAuxAdam([
            {"params": [model.layer.weight], "use_muon": True, "lr": 0.02, "momentum": 0.9, "weight_decay": 0.1},
            {"params": rest, "use_muon": False, "lr": 0.01, "betas": (0.9, 0.95), "eps": 1e-10, "weight_decay": 0.0}])
        names = {id(p): [name] for name, p in model.named_parameters()}
        stated = replayable.stated_group(torch_muon, torch_muon.param_groups[0], names)
        self.assertEqual((stated["variant"], stated["adjust"], stated["weight_decay"]), ("torch", "match_rms_adamw", 0.1))
        kinds = [replayable.stated_group(both, group, names)["optimizer"] for group in both.param_groups]
        self.assertEqual(kinds, ["muon", "adamw"])
        for optimizers in ([torch_muon, torch.optim.AdamW(rest)], [both]):
            self.assertEqual(replayable.against_run(model, optimizers, {}), [])

    def test_an_optimizer_that_steps_more_often_ends_the_slice(self):
        run, model = self.init(), Model()
        one = torch.optim.AdamW([model.layer.weight])
        other = torch.optim.AdamW([p for p in model.parameters() if p is not model.layer.weight])
        record = receipts.torch.Recorder(run, model, [one, other], [(0, 1)])
        self.train(record, model, [one, one, other], steps=1)
        self.assertIn("steps more often", " ".join(run.problems))
        self.assertEqual(self.slices(), [])

    def test_what_is_not_as_stated_ends_the_slice(self):
        def moved(model):
            with torch.no_grad():
                model.head.weight.mul_(1.01)

        def scaled(model):
            for p in model.parameters():
                p.grad.mul_(0.5)

        def lost(model):
            model.norm.bias.grad = None

        for change, said in ((moved, "changed between two updates"), (scaled, "gradients of norm"),
                             (lost, "no gradient of")):
            with self.subTest(said):
                self.folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
                run, model = self.init(), Model()
                optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
                record = receipts.torch.Recorder(run, model, optimizer, [(0, 2)])
                self.train(record, model, [optimizer], before=lambda *_: change(model))
                self.assertIn(said, " ".join(run.problems))
                self.assertEqual(self.slices(), [])

    def test_an_optimizer_that_lost_its_state_gives_no_slice(self):
        run, model = self.init(), Model()
        optimizer = torch.optim.AdamW(model.parameters())
        receipts.torch.Recorder(run, model, optimizer, [(5, 1)], done=5)
        self.assertIn("has no state for", " ".join(run.problems))
        for p in model.parameters():
            optimizer.state[p] = {"step": torch.tensor(5.0), "exp_avg": torch.zeros_like(p, dtype=torch.bfloat16)}
        self.assertIn("as torch.bfloat16", replayable.against_state([optimizer], dict(model.named_parameters()), 5)[0])
        optimizer.state[model.norm.weight]["exp_avg"] = torch.zeros(6)
        self.assertIn("made 5 steps", replayable.against_state([optimizer], {"w": model.norm.weight}, 6)[0])

    def test_smoothing_and_z_loss_are_stated(self):
        run, model = self.init(), Model()
        optimizer = torch.optim.Adam(model.parameters())
        record = receipts.torch.Recorder(run, model, optimizer, [(0, 1)], label_smoothing=0.1, z_loss=1e-4)
        self.train(record, model, [optimizer], 1)
        stated = self.slice()[1]
        self.assertEqual((stated["label_smoothing"], stated["z_loss"]), (0.1, 1e-4))
        self.assertEqual(stated["groups"][0]["optimizer"], "adam")

    def test_autocast_is_seen(self):
        run, model = self.init(), Model()
        optimizer = torch.optim.AdamW(model.parameters())
        record = receipts.torch.Recorder(run, model, optimizer, [(0, 1)])
        with torch.autocast("cpu", torch.bfloat16):
            self.train(record, model, [optimizer], 1)
        self.assertEqual(self.slice()[1]["autocast"], "bfloat16")

    def test_documents_and_positions_are_written_where_they_are_unusual(self):
        tokens = torch.tensor([[1, 2, 3, 4]])
        ones, places = torch.ones(1, 4), torch.arange(4)[None]
        self.assertEqual(receipts.torch.Batch(tokens, torch.tensor([[2, 3, 4, 5]]), ones, places).given, {})
        batch = receipts.torch.Batch(tokens, torch.tensor([[2, -1, 4, -1]]), torch.tensor([[1, 1, 2, 2]]),
                                  torch.tensor([[0, 1, 0, 1]]))
        self.assertEqual(batch.fitted("documents", 2, 5).tolist(), [[1, 1, 2, 2, 0], [0, 0, 0, 0, 0]])
        self.assertEqual(batch.fitted("positions", 2, 5).tolist(), [[0, 1, 0, 1, 4], [0, 1, 2, 3, 4]])
        self.assertEqual(batch.fitted("tokens", 1, 5).tolist(), [[1, 2, 3, 4, 0, 0]])
        self.assertEqual(batch.fitted("counted", 1, 5).tolist(), [[1, 0, 1, 0, 0]])
        with self.assertRaisesRegex(ValueError, "shifted by one"):
            receipts.torch.Batch(tokens, torch.tensor([[1, 2, 3, 4]]))


    def test_a_slice_that_the_budget_has_no_room_for_is_refused_at_the_call(self):
        model = Model(width=256)
        optimizer = torch.optim.AdamW(model.parameters())
        weights = 4 * sum(p.numel() for p in model.parameters())
        run = receipts.init("run", self.folder, self.CONFIG, {"name": "test"}, {"init": 1}, rank=0, max_mb=5.5 * weights / 1e6)
        record = receipts.torch.Recorder(run, model, optimizer, [(0, 1), (2, 1), (4, 1)])
        self.assertIn("the slice from update 4", self.said.getvalue())
        self.assertEqual(sorted(record.slices), [2], "that from update 0 is open")
        run.checkpoint(1, dict(model.named_parameters()))
        run.checkpoint(3, dict(model.named_parameters()))
        self.train(record, model, [optimizer], steps=6)
        self.assertTrue(run.finish(), run.problems)
        self.assertEqual(self.slices(), ["slice-000000.safetensors", "slice-000002.safetensors"],
                         "what is kept beside them does not take their room")
        told = json.loads((self.folder / "run" / "data" / "receipt.json").read_text())["predicate"]["extra"]["left_out"]
        self.assertEqual(told["what"], ["the slice from update 4", "the weights of step 3"])


class Gradients(unittest.TestCase):
    def test_the_scale_of_a_loss_is_found_and_another_loss_is_not(self):
        torch.manual_seed(3)
        logits = torch.randn(2, 5, 7, requires_grad=True)
        targets = torch.randint(7, (2, 5))
        targets[0, 1] = -100
        mean = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), label_smoothing=0.1)
        counts = (targets >= 0).unsqueeze(-1)
        z = (logits.logsumexp(-1, keepdim=True).square() * counts).sum() / counts.sum()
        for scale, coefficient in ((1.0, 0.0), (0.25, 0.0), (0.5, 0.01)):
            gradient, = torch.autograd.grad(scale * (mean + coefficient * z), logits, retain_graph=True)
            self.assertAlmostEqual(receipts.torch.scale_of(gradient, logits, targets, 0.1, coefficient), scale, 5)
            self.assertIsNone(receipts.torch.scale_of(gradient, logits, targets, 0.3, coefficient))
        self.assertAlmostEqual(receipts.torch.cross_entropy(logits, targets, 0.1), mean.item(), 6)

    def test_steps_of_pytorch_are_those_of_the_rules(self):
        tensor = torch.nn.Parameter(torch.ones(3, 4))
        for optimizer in (torch.optim.AdamW([tensor], amsgrad=True), torch.optim.Adam([tensor], weight_decay=0.1),
                          torch.optim.SGD([tensor], 0.1, 0.9, 0.3), torch.optim.SGD([tensor], 0.1, 0.9, nesterov=True),
                          torch.optim.SGD([tensor], 0.1, weight_decay=0.1), torch.optim.Muon([tensor])):
            group = optimizer.param_groups[0]
            stated = replayable.stated_group(optimizer, group, {id(tensor): ["t"]})
            self.assertEqual(replayable.against_steps(optimizer, group, stated), [], optimizer)
            self.assertTrue(torch.equal(tensor, torch.ones(3, 4)) and not optimizer.state)


class Checks(Case):
    def reasons(self, model=None, optimizer=None, **config):
        model = model or Model()
        return " | ".join(receipts.torch.check(
            {"model_type": "llama", "vocab_size": 11, "hidden_size": 6, "num_hidden_layers": 1, "num_attention_heads": 1,
             "rms_norm_eps": 1e-5, **config}, model, optimizer or torch.optim.AdamW(model.parameters())))

    def test_nothing_stands_against_a_plain_run(self):
        self.assertEqual(self.reasons(), "")
        self.assertEqual(self.reasons(lr=0.1, optim="lion", dropout=0.0, sliding_window=None), "")

    def test_all_reasons_come_at_once(self):
        model = Model(dropout=0.1)
        model.head.half()
        model.noise = torch.nn.Module()
        model.noise.jitter_noise = 0.01
        found = self.reasons(model, torch.optim.Adagrad([model.layer.weight]), my_trick=1,
                             hidden_size=None)
        for part in ("`hidden_size`", "`my_trick` = 1", "`p` = 0.1 in Dropout", "`jitter_noise` = 0.01",
                     "1 weights in torch.float16", "rule of Adagrad", "4 trained tensors in no optimizer group"):
            self.assertIn(part, found)

    def test_what_a_group_may_not_have(self):
        model = Model()
        self.assertIn("maximize", self.reasons(model, torch.optim.SGD(model.parameters(), maximize=True)))
        twice = [torch.optim.AdamW(model.parameters()), torch.optim.AdamW([model.head.weight])]
        self.assertIn("1 tensors in several groups: head.weight", self.reasons(model, twice))
        strange = torch.optim.AdamW([*model.parameters(), torch.nn.Parameter(torch.ones(2))])
        self.assertIn("1 tensors in a group of AdamW that are not in the model", self.reasons(model, strange))

    def test_a_class_of_a_known_name_that_moves_otherwise_is_found(self):
        class AdamW(torch.optim.SGD):
            def __init__(self, parameters):
                super().__init__(parameters, 0.1)
                for group in self.param_groups:
                    group.update(betas=(0.9, 0.999), eps=1e-8)

        model = Model()
        self.assertIn("AdamW moves a tensor", self.reasons(model, AdamW(model.parameters())))

    def test_strict_raises_and_otherwise_the_run_tells(self):
        model = Model(dropout=0.5)
        optimizer = torch.optim.AdamW(model.parameters())
        run = self.init(my_trick=1)
        with self.assertRaisesRegex(receipts.Unwritable, "(?s)my_trick.*Dropout"):
            receipts.torch.Recorder(run, model, optimizer, [(0, 1)], strict=True)
        record = receipts.torch.Recorder(run, model, optimizer, [(0, 1)])
        self.train(record, model, [optimizer])
        self.assertIn("no slices are recorded: randomness", self.said.getvalue())
        self.assertIn("will refuse the slices: settings that no replay reads: `my_trick` = 1", self.said.getvalue())
        self.assertEqual((len(run.problems), self.slices()), (2, []))
        self.assertIsNotNone(run.finish())

    def test_models_in_the_manner_of_others_say_what_they_are(self):
        import nanochat_style
        import nanogpt_style
        gpt = nanogpt_style.GPT(nanogpt_style.GPTConfig(8, 11, 2, 2, 8, dropout=0.1))
        chat = nanochat_style.GPT(nanochat_style.GPTConfig(8, 11, 2, 4, 2, 16))
        for model, kind in ((gpt, "nanogpt"), (chat, "nanochat")):
            config = replayable.config_of(torch.compile(model))
            self.assertEqual((config["model_type"], config["dtype"]), (kind, "float32"))

    @needs_transformers
    def test_configs_of_transformers_are_known(self):
        import hf_loop
        for kind in hf_loop.CONFIGS:
            chosen = types.SimpleNamespace(model=kind, hidden=16, layers=1, heads=4, length=32, vocabulary=256, balance=0.0,
                                           set=[], seed=1)
            _, model = hf_loop.model_of(chosen)
            with self.subTest(kind):
                optimizer = torch.optim.AdamW(model.parameters())
                self.assertEqual(receipts.torch.check({}, model, optimizer), [])

    def test_angles_that_nobody_reads_are_told(self):
        plain = {"rope_theta": 10000.0, "rope_type": "default"}
        for table, told in ((plain, None), ({**plain, "rope_type": "dynamic", "factor": 2.0}, "`rope_type` is dynamic"),
                            ({**plain, "partial_rotary_factor": 0.5}, "`default` angles that no replay reads: `partial_"),
                            ({"full_attention": plain, "sliding_attention": {**plain, "factor": 2.0}}, "`factor`"),
                            ({**plain, "rope_type": "linear", "factor": 2.0}, None)):
            reasons = replayable.against_angles({"rope_parameters": table})
            self.assertEqual(len(reasons), int(told is not None), reasons)
            self.assertIn(told or "", "".join(reasons))


def again(model, tensors, step, smoothing=0.0):
    """The loss of a step of a slice, by a mask of its documents and its positions."""
    tokens, counted = tensors["tokens"][step].long(), tensors["counted"][step].bool()
    rows, length = counted.shape
    documents = tensors["documents"][step] if "documents" in tensors else torch.ones(rows, length)
    positions = tensors["positions"][step].long() if "positions" in tensors else torch.arange(length).repeat(rows, 1)
    sees = (documents[:, :, None] == documents[:, None]) & torch.ones(length, length).tril().bool()
    mask = torch.zeros(rows, 1, length, length).masked_fill(~sees[:, None], float("-inf"))
    with torch.no_grad():
        logits = model(input_ids=tokens[:, :-1], attention_mask=mask, position_ids=positions).logits.double()
    return F.cross_entropy(logits[counted], tokens[:, 1:][counted], label_smoothing=smoothing).item()


@needs_trainer
class Transformers(Case):
    def chosen(self, **more):
        text = self.folder / "text"
        text.write_bytes(bytes(range(32, 127)) * 40)
        usual = dict(text=text, model="llama", rows_as="full", smoothing=0.0, balance=0.0, bf16=False, compile=False,
                     checkpointing=False, evaluate=0, lr=3e-3, hidden=16, layers=1, heads=4, length=12, rows=2, micro=1,
                     vocabulary=256, steps=4, seed=1)
        return types.SimpleNamespace(**{**usual, **more})

    def run_trainer(self, slices=((0, 1), (2, 2)), config=None, change=None, **more):
        """A run of Trainer with the callback; answers the run and a model with its first weights."""
        import hf_trainer
        chosen = self.chosen(**more)
        run = receipts.init("run", self.folder, config or {}, {"name": "test"}, {"init": 1}, rank=0)
        trainer = hf_trainer.trainer_of(chosen, self.folder / "kept", chosen.steps, [receipts.torch.callback(run, slices)])
        (change or (lambda trainer: None))(trainer)
        with contextlib.redirect_stdout(io.StringIO()):
            trainer.train()
        return run, hf_trainer.model_of(chosen)

    def holds(self, start=0, smoothing=0.0, model=None):
        """Whether the loss of the first step of a slice follows from its tensors and its checkpoint."""
        tensors, stated = self.slice(start)
        weights = tensors_of(self.folder / f"run/data/checkpoints/step-{start:06}.safetensors")
        model.load_state_dict({name: value for name, value in weights.items() if not name.startswith("optimizer.")})
        self.assertAlmostEqual(again(model, tensors, 0, smoothing), tensors["logged.loss"][0].item(), 5)
        return tensors, stated

    def test_whole_rows(self):
        run, model = self.run_trainer(micro=2, evaluate=1)
        tensors, stated = self.holds(2, model=model)
        self.assertEqual((run.problems, stated["mean_over"], stated["micro_batches"]), ([], "targets", 2))
        self.assertEqual(list(tensors["tokens"].shape), [2, 4, 13])
        self.assertEqual(tensors["counted"].sum().item(), 2 * 4 * 11)
        self.assertNotIn("documents", tensors)
        self.assertIsNotNone(run.finish())
        config = json.loads((self.folder / "run/data/config.json").read_text())
        self.assertEqual([config[name] for name in ("steps", "batch_size", "seq_len", "model_type")], [4, 4, 12, "llama"])
        logged = [json.loads(line) for line in (self.folder / "run/data/metrics.jsonl").read_text().splitlines()]
        self.assertEqual([record["step"] for record in logged], [2, 4])

    def test_padding_on_the_right_needs_no_documents(self):
        run, model = self.run_trainer(config={"seq_len": 12}, rows_as="right", micro=2)
        tensors, _ = self.holds(2, model=model)
        self.assertEqual(run.problems, [])
        self.assertNotIn("documents", tensors)

    def test_padding_on_the_left_is_document_0(self):
        run, model = self.run_trainer(config={"seq_len": 12}, rows_as="left")
        tensors, _ = self.holds(2, model=model)
        self.assertEqual(run.problems, [])
        self.assertEqual(set(tensors["documents"].flatten().tolist()), {0, 1})
        self.assertNotIn("positions", tensors)

    def test_packed_rows_have_documents_and_positions(self):
        run, model = self.run_trainer(config={"seq_len": 64}, rows_as="packed", length=32, rows=2, micro=2)
        tensors, stated = self.holds(2, model=model)
        self.assertEqual(run.problems, [])
        self.assertEqual(list(tensors["documents"].shape), [2, 2, 64])
        self.assertEqual(tensors["documents"].max().item(), 8)
        starts = (tensors["positions"] == 0) & (tensors["documents"] > 0)
        self.assertEqual(starts.sum().item(), 2 * 2 * 8)

    def test_labels_that_are_smoothed_are_seen(self):
        from transformers.trainer_pt_utils import LabelSmoother
        own = LabelSmoother.__call__
        run, model = self.run_trainer(smoothing=0.2, micro=2, rows_as="masked")
        _, stated = self.holds(2, 0.2, model)
        self.assertEqual((run.problems, stated["label_smoothing"]), ([], 0.2))
        self.assertIs(LabelSmoother.__call__, own)

    def test_rows_that_grow_are_told(self):
        run, _ = self.run_trainer(slices=[(0, 1), (1, 1), (2, 1)], rows_as="right", rows=1)
        self.assertIn("give the largest of the run to `init`", " ".join(run.problems))

    def test_another_loss_is_told_and_gives_no_slice(self):
        def weighted(trainer):
            own = trainer.compute_loss

            def compute_loss(model, inputs, return_outputs=False, **named):
                loss, outputs = own(model, inputs, return_outputs=True, **named)
                return factor * loss + more * outputs.logits.logsumexp(-1).square().mean()
            trainer.compute_loss = compute_loss

        for factor, more, said in ((1.0, 1e-4, "is not the cross-entropy of its targets"), (0.5, 0.0, None)):
            with self.subTest(said):
                self.folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
                run, _ = self.run_trainer(change=weighted)
                self.assertEqual(bool(self.slices()), said is None)
                self.assertIn(said or "", " ".join(run.problems))
                if said is None:
                    scales = self.slice(0)[1]["loss_scale"]
                    self.assertTrue(scales and all(abs(scale - 0.5) < 1e-4 for scale in scales), scales)

    def test_copies_of_the_model_keep_nothing(self):
        run, model = self.run_trainer(slices=[])
        recorder = receipts.torch.Recorder(run, model, torch.optim.SGD(model.parameters(), lr=0.1), [(0, 1)])
        other = copy.deepcopy(model)
        tokens = torch.arange(8)[None]
        other(input_ids=tokens).logits.sum().backward()
        torch.save(model, io.BytesIO())
        self.assertEqual((recorder.open.gradients, recorder.open.batches), ({}, []))
        recorder.close()

    def test_targets_after_padding_on_the_left_are_refused(self):
        mask, targets = torch.tensor([[0, 1, 1]]), torch.tensor([[5, 6, -100]])
        model = types.SimpleNamespace(config=types.SimpleNamespace(_attn_implementation="sdpa"))
        given = {"input_ids": torch.tensor([[0, 5, 6]]), "attention_mask": mask}
        with self.assertRaisesRegex(receipts.Unwritable, "targets that count after padding"):
            replayable.seen_by(given, targets, model)
        model.config.output_router_logits = True
        with self.assertRaisesRegex(receipts.Unwritable, "balance loss"):
            replayable.seen_by(given, targets, model)

    def test_a_mixture_counts_its_routes_once(self):
        run, _ = self.run_trainer(model="mixtral", balance=0.01, checkpointing=True)
        self.assertEqual(run.problems, [])
        tensors, _ = self.slice(2)
        self.assertEqual(tensors["logged.routed"][0].sum().item(), 2 * 12 * 2)

    def test_each_micro_batch_adds_all_of_the_balance_loss(self):
        for micro in (1, 2):
            run, _ = self.run_trainer(model="mixtral", balance=0.01, micro=micro)
            self.assertEqual(run.problems, [])
            _, stated = self.slice(2)
            self.assertEqual(stated.get("balance_whole", False), micro == 2)
            shutil.rmtree(self.folder / "run")

    def test_a_run_that_goes_on_from_a_checkpoint(self):
        import hf_trainer
        chosen = self.chosen(steps=6)
        with contextlib.redirect_stdout(io.StringIO()):
            hf_trainer.trainer_of(chosen, self.folder / "kept", 3, [hf_trainer.End(3)]).train()
            run = receipts.init("run", self.folder, {}, {"name": "test"}, {"init": 1}, rank=0)
            callback = receipts.torch.callback(run, [(0, 1), (3, 1), (4, 2)])
            trainer = hf_trainer.trainer_of(chosen, self.folder / "kept", 6, [callback])
            trainer.train(resume_from_checkpoint=str(self.folder / "kept" / "checkpoint-3"))
        self.holds(4, model=hf_trainer.model_of(chosen))
        self.assertEqual(run.problems, [])
        self.assertEqual(self.slices(), ["slice-000003.safetensors", "slice-000004.safetensors"])


@needs_lightning
class Lightning(Case):
    def fit(self, module, **more):
        import lightning
        run = receipts.init("run", self.folder, {}, {"name": "test"}, {"init": 1}, rank=0)
        callback = receipts.torch.lightning_callback(run, [(0, 1), (2, 2)])
        module.callback = [callback]
        trainer = lightning.Trainer(max_steps=4, accelerator="cpu", logger=False, enable_checkpointing=False,
                                    enable_progress_bar=False, enable_model_summary=False, callbacks=[callback], **more)
        text = self.folder / "text"
        text.write_bytes(bytes(range(32, 127)) * 40)
        import lightning_loop
        chosen = types.SimpleNamespace(text=text, rows=2, length=8, seed=1)
        loader = torch.utils.data.DataLoader(lightning_loop.Rows(chosen), batch_size=None)
        with contextlib.redirect_stdout(io.StringIO()):
            trainer.fit(module, loader, loader)
        return run

    def module(self):
        import lightning_loop
        return lightning_loop.Module(types.SimpleNamespace(lr=3e-3, hidden=16, layers=1, heads=4, length=8))

    def test_a_llama_that_is_given_labels(self):
        run = self.fit(self.module(), gradient_clip_val=0.5, accumulate_grad_batches=2, val_check_interval=2,
                       limit_val_batches=1)
        self.assertEqual(run.problems, [])
        tensors, stated = self.slice(2)
        self.assertEqual((stated["grad_clip"], stated["micro_batches"]), (0.5, 2))
        for rate, step in zip(stated["groups"][0]["lr"], (2, 3)):
            self.assertAlmostEqual(rate, 0.003 * (0.2 + 0.8 * step / 10), 12)
        weights = tensors_of(self.folder / "run/data/checkpoints/step-000002.safetensors")
        model = self.module().llama
        model.load_state_dict({name: value for name, value in weights.items() if not name.startswith("optimizer.")})
        self.assertAlmostEqual(again(model, tensors, 0), tensors["logged.loss"][0].item(), 5)
        self.assertEqual(run.config["steps"], 4)

    def test_losses_of_ones_own_are_given_to_the_recorder(self):
        module = self.module()

        def training_step(rows, batch_idx):
            record, inputs, targets = module.callback[0].recorder, rows[:, :-1], rows[:, 1:]
            record.batch(inputs, targets)
            loss = F.cross_entropy(module.llama(input_ids=inputs).logits.flatten(0, 1), targets.flatten())
            record.loss(loss)
            return loss

        module.training_step = training_step
        run = self.fit(module, limit_val_batches=0)
        self.assertEqual(run.problems, [])
        self.assertEqual(list(self.slice(2)[0]["tokens"].shape), [2, 2, 8])

    def test_clipping_by_value_is_refused(self):
        run = self.fit(self.module(), gradient_clip_val=0.5, gradient_clip_algorithm="value", limit_val_batches=0)
        self.assertIn("clipped by value", " ".join(run.problems))
        self.assertEqual(self.slices(), [])


if __name__ == "__main__":
    unittest.main()
