"""Tests of the callbacks and of the adapters beside the real libraries: python3 scripts/python/test_libraries.py

REPRO_BIN names the program. What of transformers (with accelerate), lightning, wandb and trackio is not installed is skipped,
unless REPRO_REQUIRE_LIBRARIES is set.
"""
import contextlib
import importlib.util
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
# The package is that of this folder, or with REPRO_INSTALLED the installed one.
FOUND = [] if os.environ.get("REPRO_INSTALLED") else [str(HERE)]
sys.path[:0] = FOUND
import repro_receipts as receipts  # noqa: E402

QUIET = {**os.environ, "PYTHONPATH": os.pathsep.join(FOUND), "HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1",
         "WANDB_MODE": "offline", "WANDB_SILENT": "true", "TRACKIO_NO_UPDATE_CHECK": "1"}


def needs(*names):
    """Skips a test where a library is missing."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    return unittest.skipIf(missing and not os.environ.get("REPRO_REQUIRE_LIBRARIES"), f"{', '.join(missing)}: not installed")


TRANSFORMERS = """
import os, sys, torch, transformers
from repro_receipts.transformers import ReceiptCallback
folder, kill = sys.argv[1], int(sys.argv[2])
torch.manual_seed(0)
config = transformers.GPT2Config(vocab_size=32, n_positions=16, n_embd=16, n_layer=1, n_head=2, resid_pdrop=0.0,
                                 embd_pdrop=0.0, attn_pdrop=0.0)
rows = [{"input_ids": (ids := torch.randint(32, (16,), generator=torch.Generator().manual_seed(at))), "labels": ids}
        for at in range(64)]
arguments = transformers.TrainingArguments(os.path.join(folder, "out"), max_steps=12, logging_steps=1, eval_strategy="steps",
    eval_steps=4, save_steps=4, per_device_train_batch_size=4, learning_rate=1e-3, report_to="none", use_cpu=True, seed=3,
    disable_tqdm=True, include_num_input_tokens_seen="all")
receipt = ReceiptCallback("hf-s3", dir=os.path.join(folder, "receipts"), group="hf")
class Kill(transformers.TrainerCallback):
    def on_step_end(self, args, state, control, **_):
        if state.global_step == kill:
            os.kill(os.getpid(), 9)
trainer = transformers.Trainer(transformers.GPT2LMHeadModel(config), arguments, train_dataset=rows, eval_dataset=rows[:8],
                               callbacks=[receipt, Kill()])
trainer.train(resume_from_checkpoint=os.path.isdir(arguments.output_dir) and any(
    name.startswith("checkpoint-") for name in os.listdir(arguments.output_dir)))
trainer.predict(rows[:4])
trainer.save_state()
receipt.run.finish()
trainer.evaluate()  # it comes too late, and leaves the bundle as it is
"""

LIGHTNING = """
import os, sys, torch, lightning
from repro_receipts.lightning import ReceiptLogger
folder, kill = sys.argv[1], int(sys.argv[2])
class Line(lightning.LightningModule):
    def __init__(self, rate=0.01):
        super().__init__()
        self.save_hyperparameters()
        self.layer = torch.nn.Linear(4, 1)
    def training_step(self, batch, at):
        if self.global_step == kill:
            os.kill(os.getpid(), 9)
        loss = self.layer(batch).square().mean()
        self.log("train/loss", loss)
        return loss
    def validation_step(self, batch, at):
        self.log("val/loss", self.layer(batch).square().mean())
    test_step = lambda self, batch, at: self.log("test/loss", self.layer(batch).square().mean())
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.hparams.rate)
lightning.seed_everything(5, verbose=False)
data = torch.utils.data.DataLoader(torch.randn(32, 4, generator=torch.Generator().manual_seed(1)), batch_size=4)
logger = ReceiptLogger("pl-s5", dir=os.path.join(folder, "receipts"), seeds={"init": 5}, config={"note": object})
kept = lightning.pytorch.callbacks.ModelCheckpoint(os.path.join(folder, "out"), every_n_train_steps=4, save_last=True)
trainer = lightning.Trainer(max_epochs=2, logger=logger, log_every_n_steps=1, callbacks=[kept], accelerator="cpu",
                            enable_progress_bar=False, enable_model_summary=False)
last = os.path.join(folder, "out", "last.ckpt")
trainer.fit(Line(), data, data, ckpt_path=last if os.path.exists(last) else None)
trainer.test(dataloaders=data, verbose=False)
logger.run.finish()
"""

# One script for a tracker and for what stands in its place.
WANDB = """
import sys, math
if sys.argv[1] == "real":
    import wandb
else:
    import repro_receipts.wandb as wandb
run = wandb.init(project="p", name="dense-s1", group="dense", config={"lr": 0.1, "seed": 1, "nested": {"a": [1, 2]}},
                 dir=sys.argv[2], tags=["t"])
wandb.config.update({"width": 8})
wandb.config.depth = 2
wandb.define_metric("val/loss", step_metric="epoch")
for step in range(5):
    wandb.log({"train/loss": 1 / (step + 1), "epoch": step // 2})
wandb.log({"val/loss": 0.5}, commit=False)
wandb.log({"val/acc": 0.25})
wandb.log({"a": 1}, step=10)
wandb.log({"b": 2}, step=10)
wandb.log({"late": 3}, step=9)
wandb.log({"c": math.nan, "d": 1e-7}, step=12)
wandb.summary["best"] = 0.125
wandb.run.summary.update({"of": {"all": 3}})
wandb.finish()
"""

TRACKIO = """
import sys
if sys.argv[1] == "real":
    import trackio
    where = {}
else:
    import repro_receipts.trackio as trackio
    where = {"dir": sys.argv[2]}
trackio.init(project="p", name="dense-s1", group="dense", config={"lr": 0.1, "seed": 1}, **where)
for step in range(4):
    trackio.log({"train/loss": 1 / (step + 1)})
trackio.log({"val/loss": 0.5}, step=10)
trackio.log({"train/loss": 0.1})
trackio.finish()
"""


class Case(unittest.TestCase):
    """A test with a folder, and scripts that it runs there."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def run_script(self, script, *arguments, status=0, **environment):
        done = subprocess.run([sys.executable, "-c", script, *map(str, arguments)], capture_output=True, text=True,
                              env={**QUIET, **environment}, cwd=self.folder)
        self.assertEqual(done.returncode, status, done.stderr[-3000:])
        return done

    def records(self, folder, name="metrics"):
        lines = (folder / "data" / f"{name}.jsonl").read_text().splitlines()
        return [{key: value for key, value in json.loads(line).items() if key != "chain"} for line in lines]

    def predicate(self, folder):
        return json.loads((folder / "data" / "receipt.json").read_text())["predicate"]

    def evaluation(self, folder, step):
        return json.loads((folder / "data" / "evaluation" / f"step-{step:06}.json").read_text())

    def assert_verified(self, folder):
        report = receipts.verify(folder)
        self.assertEqual((report.exit_status, report.failures), (0, []), str(report))
        self.assertEqual(self.predicate(folder).get("extra", {}).get("emitter_problems"), None)


@needs("transformers", "accelerate")
class Transformers(Case):
    def test_a_trainer_that_is_killed_and_goes_on(self):
        whole, killed = self.folder / "whole", self.folder / "killed"
        self.run_script(TRANSFORMERS, whole, 0)
        self.run_script(TRANSFORMERS, killed, 7, status=-9)
        self.assertEqual(receipts.verify(killed / "receipts/hf-s3").failures[0]["code"], "bundle::unfinished")
        self.run_script(TRANSFORMERS, killed, 0)
        whole, killed = (folder / "receipts/hf-s3" for folder in (whole, killed))
        history = json.loads((whole.parent.parent / "out/trainer_state.json").read_text())["log_history"]
        wanted = [{key: value for key, value in row.items() if key not in ("train_runtime", "train_tokens_per_second")}
                  for row in history if "loss" in row]
        found = [{key: value for key, value in row.items() if key != "tokens"} for row in self.records(whole)]
        self.assertEqual(found, wanted)
        for step in (4, 8, 12):
            evaluated = next(row for row in history if row["step"] == step and "eval_loss" in row)
            for name in ("eval_loss", "epoch"):
                self.assertEqual(self.evaluation(whole, step)[name], evaluated[name])
        self.assertIn("test_loss", self.evaluation(whole, 12))
        for folder in (whole, killed):
            self.assert_verified(folder)
            self.assertEqual([row["step"] for row in self.records(folder)], list(range(1, 13)))
            self.assertTrue(self.predicate(folder)["run"]["finished"])
        # The trainer goes on from its checkpoint of step 4: steps 5 and 6 are executed again.
        resume, = self.predicate(killed)["extra"]["resumes"]
        self.assertEqual(resume["records"], 6)
        self.assertEqual([row["loss"] for row in self.records(whole)], [row["loss"] for row in self.records(killed)])
        predicate = self.predicate(whole)
        self.assertEqual((predicate["seeds"], predicate["extra"]["group"]), ({"data": "3", "init": "3"}, "hf"))
        config = (whole / "data/config.json").read_text()
        self.assertNotIn(str(self.folder), config)
        self.assertEqual(json.loads(config)["training_arguments"]["learning_rate"], 0.001)


@needs("lightning")
class Lightning(Case):
    def test_a_trainer_that_is_killed_and_goes_on(self):
        whole, killed = self.folder / "whole", self.folder / "killed"
        self.run_script(LIGHTNING, whole, -1)
        self.run_script(LIGHTNING, killed, 11, status=-9)
        self.run_script(LIGHTNING, killed, -1)
        whole, killed = (folder / "receipts/pl-s5" for folder in (whole, killed))
        for folder in (whole, killed):
            self.assert_verified(folder)
            losses = [(row["step"], row["train/loss"]) for row in self.records(folder) if "train/loss" in row]
            self.assertEqual([step for step, _ in losses], list(range(16)))
            self.assertTrue(self.predicate(folder)["run"]["finished"])
        self.assertEqual(*([row for row in self.records(folder) if "train/loss" in row] for folder in (whole, killed)))
        self.assertEqual(self.predicate(killed)["extra"]["resumes"][0]["records"], 12)
        validated = [row for row in self.records(whole) if "val/loss" in row]
        self.assertEqual([self.evaluation(whole, row["step"])["val/loss"] for row in validated],
                         [row["val/loss"] for row in validated])
        config = json.loads((whole / "data/config.json").read_text())
        self.assertEqual((config["rate"], config["note"]), (0.01, "<class 'object'>"))


@needs("wandb")
class Wandb(Case):
    def test_the_same_script_logs_the_same(self):
        (self.folder / "real").mkdir()
        self.run_script(WANDB, "real", self.folder / "real")
        self.run_script(WANDB, "ours", self.folder / "ours")
        ours = self.folder / "ours/dense-s1"
        # What wandb wrote, as `repro import` reads it.
        program = str(receipts.program())
        done = subprocess.run([program, "import", str(self.folder / "real"), "--out", str(self.folder / "imported")],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        theirs = next(path for path in (self.folder / "imported").glob("dense-*"))
        printed = {}
        for table in (theirs / "data/printed").glob("*.csv"):
            if table.stem == "summary":
                continue
            head, *rows = [line.split(",") for line in table.read_text().splitlines()]
            printed.update({(int(row[0]), name): cell for row in rows for name, cell in zip(head[1:], row[1:]) if cell})
        told = {(row["step"], name): receipts.canonical(value) for row in self.records(ours) for name, value in row.items()
                if name not in ("step", "nonfinite", "not_finite")}
        not_finite = {(row["step"], name): word for row in self.records(ours)
                      for name, word in row.get("not_finite", {}).items()}
        numbers = {key: float(value) for key, value in printed.items() if value.lower() not in ("nan", "")}
        self.assertEqual({key: value for key, value in numbers.items() if not key[1].startswith("_")},
                         {key: float(value) for key, value in told.items()})
        self.assertEqual(not_finite, {(12, "c"): "nan"})
        self.assertEqual(json.loads((ours / "data/config.json").read_text()),
                         {"depth": 2, "lr": 0.1, "nested": {"a": [1, 2]}, "seed": 1, "width": 8})
        self.assertEqual((ours / "data/summary.csv").read_text(), "metric,value\nbest,0.125\nof.all,3\n")
        self.assertEqual(self.evaluation(ours, 5)["val/loss"], 0.5)
        # That a value came too late is told, as wandb tells it.
        problem, = self.predicate(ours)["extra"]["emitter_problems"]
        self.assertIn("step 9 after", problem)
        self.assertEqual(receipts.verify(ours).exit_status, 0)


@needs("trackio")
class Trackio(Case):
    def test_the_same_script_logs_the_same(self):
        self.run_script(TRACKIO, "real", self.folder, TRACKIO_DIR=str(self.folder / "real"), HF_HOME=str(self.folder / "hf"))
        self.run_script(TRACKIO, "ours", self.folder / "ours")
        ours, database = self.folder / "ours/dense-s1", next((self.folder / "real").rglob("*.db"))
        with contextlib.closing(sqlite3.connect(database)) as connection:
            rows = connection.execute("SELECT step, metrics FROM metrics ORDER BY id").fetchall()
        self.assertEqual([{**json.loads(metrics), "step": step} for step, metrics in rows], self.records(ours))
        self.assert_verified(ours)


if __name__ == "__main__":
    unittest.main()
