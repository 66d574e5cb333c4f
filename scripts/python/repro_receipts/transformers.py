"""Receipts for the `Trainer` of Hugging Face transformers:

    from repro_receipts.transformers import ReceiptCallback

    receipt = ReceiptCallback("dense-s1", dir="receipts")
    trainer = Trainer(..., callbacks=[receipt])
    trainer.train()
    trainer.evaluate()
    receipt.run.finish()                # last: later calls write nothing

Records contain what the trainer logs, evaluations what it evaluates, under the same names. The config is the trainer's and
the model's, without paths on this machine; a killed run resumes when the same program is started again. A run that nobody
finishes is sealed when the interpreter ends.
"""
from __future__ import annotations

import json
import os
from typing import Any, Dict, Mapping, Optional, Tuple, Union

import transformers

from ._ending import seal_at_exit
from ._init import init
from ._quiet import say
from ._run import Run
from ._tracker import folder_name, writable

__all__ = ["ReceiptCallback"]

# Of the arguments of a trainer: where things lie, who is to see them, and which process this is.
PLACES = ("output_dir", "logging_dir", "run_name", "resume_from_checkpoint", "local_rank", "_n_gpu", "hub_model_id",
          "overwrite_output_dir", "report_to", "disable_tqdm", "push_to_hub_model_id", "push_to_hub_organization",
          "push_to_hub_token", "hub_token", "project", "trackio_space_id")


class ReceiptCallback(transformers.TrainerCallback):  # type: ignore[misc, unused-ignore]
    """Writes a receipt of a trainer's run. It starts the run when training starts; `run` is None until then. A run from
    `repro_receipts.init` may be given instead of a name; then only its own config is written."""

    def __init__(self, name: Union[str, Run, None] = None, dir: Union[str, "os.PathLike[str]"] = "receipts",
                 **named: Any) -> None:
        self.run: Optional[Run] = name if isinstance(name, Run) else None
        self._name, self._dir, self._named = None if isinstance(name, Run) else name, dir, named
        self._at_end = self._has_said = False
        self._evaluated: Dict[Tuple[int, str], str] = {}

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **more: Any) -> None:
        """Starts or resumes the run."""
        if self.run is not None:
            return
        given = {"config": _config_of(args, model), "trainer": {"name": "transformers.Trainer",
                                                                "version": transformers.__version__},
                 "seeds": _seeds_of(args), "model": _model_of(model), "resume": True, **self._named}
        called = folder_name(os.path.basename(os.path.normpath(args.run_name or args.output_dir)))
        self.run = init(self._name or called, self._dir, rank=0 if state.is_world_process_zero else 1, **given)
        seal_at_exit(self.run, lambda: self._at_end or None)

    def on_log(self, args: Any, state: Any, control: Any, logs: Optional[Mapping[str, Any]] = None, **more: Any) -> None:
        """Writes a record, and separately its time. Values for the whole run become its summary, and
        evaluations are written on their own."""
        if self.run is None or not logs:
            return
        if "train_loss" in logs:
            self.run.summary(logs)
        elif not any(name.endswith("_runtime") and name != "train_runtime" for name in logs):
            numbers, times = _parted(logs)
            self.run.log(numbers, step=state.global_step, tokens=_tokens_of(state))
            if times:
                self.run.timing(times, step=state.global_step)

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Optional[Mapping[str, Any]] = None,
                    **more: Any) -> None:
        """Writes an evaluation. Its duration is written with the times."""
        if self.run is None and state.is_world_process_zero and not self._has_said:
            self._has_said = True
            say("an evaluation before training is not written: the run starts when training does; give the callback a run from "
                "`repro_receipts.init`")
        if self.run is None or not metrics:
            return
        numbers, times = _parted(metrics)
        self.run.evaluation(state.global_step, self._again(state.global_step, numbers), tokens_seen=_tokens_of(state))
        if times:
            self.run.timing(times, step=state.global_step)

    def _again(self, step: int, numbers: Mapping[str, Any]) -> Dict[str, Any]:
        """The numbers of an evaluation; a value that differs from an earlier one at this step, such as that of the best model
        loaded at the end, gets the prefix `again/`."""
        named: Dict[str, Any] = {}
        for called, value in numbers.items():
            name = called
            while self._evaluated.setdefault((step, name), str(value)) != str(value):
                name = f"again/{name}"
            if name != called:
                say(f"a second value of `{called}` after step {step} is kept as `{name}`")
            named[name] = value
        return named

    def on_predict(self, args: Any, state: Any, control: Any, metrics: Optional[Mapping[str, Any]] = None,
                   **more: Any) -> None:
        """Writes an evaluation of a test set."""
        self.on_evaluate(args, state, control, metrics)

    def on_train_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """Notes that training is complete."""
        self._at_end = state.global_step >= state.max_steps


def _parted(values: Mapping[str, Any]) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """Numbers, and wall-clock times, which differ between executions of the same steps."""
    times = {name: value for name, value in values.items() if name.endswith(("_runtime", "_per_second", "_time"))}
    return {name: value for name, value in values.items() if name not in times}, times


def _tokens_of(state: Any) -> Optional[int]:
    """The number of tokens seen, if the trainer counts them."""
    return getattr(state, "num_input_tokens_seen", 0) or None


def _config_of(args: Any, model: Any) -> Dict[str, Any]:
    own: Any = getattr(model, "config", None)
    config = json.loads(own.to_json_string(use_diff=False)) if hasattr(own, "to_json_string") else {}
    for name in ("_name_or_path", "transformers_version"):
        config.pop(name, None)
    told = {name: value for name, value in args.to_dict().items() if name not in PLACES}
    return {**config, "training_arguments": writable(told)}


def _seeds_of(args: Any) -> Dict[str, int]:
    return {"init": args.seed, "data": args.seed if args.data_seed is None else args.data_seed}


def _model_of(model: Any) -> Optional[Dict[str, Any]]:
    if model is None or not hasattr(model, "parameters"):
        return None
    family = getattr(getattr(model, "config", None), "model_type", None)
    return {"params_total": sum(parameter.numel() for parameter in model.parameters()),
            **({"family": family} if family else {})}
