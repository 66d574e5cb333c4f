"""Receipts for Lightning's `Trainer`:

    from repro_receipts.lightning import ReceiptLogger

    logger = ReceiptLogger("dense-s1", dir="receipts")
    trainer = lightning.Trainer(..., logger=logger)
    trainer.fit(model)
    logger.run.finish()

Records contain what modules log, under the same names; validation and test metrics are also evaluations. The config comes
from `save_hyperparameters` and `config=`; a killed run resumes when the same program is started again. A run that nobody
finishes is sealed when the interpreter ends.
"""
from __future__ import annotations

import os
from argparse import Namespace
from typing import Any, Dict, Mapping, Optional, Union

try:
    import lightning.pytorch as pytorch_lightning
    from lightning.pytorch.loggers import Logger
    from lightning.pytorch.utilities import rank_zero_only
except ImportError:
    import pytorch_lightning
    from pytorch_lightning.loggers import Logger  # type: ignore[no-redef, unused-ignore]
    from pytorch_lightning.utilities import rank_zero_only  # type: ignore[no-redef, unused-ignore]

from ._ending import seal_at_exit
from ._init import init
from ._run import Run
from ._tracker import seeds_of, table_of, writable

__all__ = ["ReceiptLogger"]


class ReceiptLogger(Logger):  # type: ignore[misc, unused-ignore]
    """Writes a receipt of what a trainer logs. The run starts with the first logged value. `named` are arguments of
    `repro_receipts.init`; seeds that are not given are taken from the config."""

    def __init__(self, name: str, dir: Union[str, "os.PathLike[str]"] = "receipts", **named: Any) -> None:
        super().__init__()
        self._run_name, self._dir, self._named = name, dir, named
        self._run: Optional[Run] = None
        self._config: Dict[str, Any] = writable(named.pop("config", None) or {})
        self._at_end = False

    @property
    def name(self) -> str:
        """The name of the run."""
        return self._run_name

    @property
    def version(self) -> str:
        """Runs have names and no versions."""
        return ""

    @property
    def save_dir(self) -> str:
        """The folder for trainers' own checkpoints."""
        return os.fspath(self._dir)

    @property
    def run(self) -> Run:
        """The run that is written."""
        if self._run is None:
            given = {"trainer": {"name": "lightning.Trainer", "version": str(vars(pytorch_lightning)["__version__"])},
                     "seeds": seeds_of(self._config), "resume": True, **self._named}
            self._run = init(self._run_name, self._dir, self._config, rank=getattr(rank_zero_only, "rank", 0), **given)
            seal_at_exit(self._run, lambda: self._at_end or None)
        return self._run

    def log_hyperparams(self, params: Union[Dict[str, Any], Namespace], *arguments: Any, **named: Any) -> None:
        """Adds to the config."""
        told = writable(table_of(params))
        if self._run is None:
            self._config = {**told, **self._config}
        else:
            self._run.complete(told)

    def log_metrics(self, metrics: Mapping[str, float], step: Optional[int] = None) -> None:
        """Writes a record."""
        if metrics:
            self.run.log(metrics, step=0 if step is None else step)

    def log_graph(self, *arguments: Any, **named: Any) -> None:
        """Does nothing: a receipt has no graphs."""

    def finalize(self, status: str) -> None:
        """Notes how the trainer ended. The run continues, because a test may follow."""
        self._at_end = status == "success"
