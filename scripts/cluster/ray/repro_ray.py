#!/usr/bin/env python3
"""The items of a plan as tasks of a Ray cluster: a task that loses its node, or whose program is killed, runs again elsewhere.

Start it in the project's folder on a machine of the cluster; `repro`, this folder and STORE have to be there on every node.
Then `repro cluster merge PLAN --results STORE` makes the report.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import subprocess
import sys
import time

import ray

RETRIES = 5
REFUSED = 2
"""The exit status where an input is refused or a result cannot be kept, as on a full disk."""


class WorkerEnded(Exception):
    """The program ended in a way that may be the node's fault."""


@ray.remote(max_retries=RETRIES, retry_exceptions=[WorkerEnded])
def work(command: list[str], folder: str) -> None:
    """Executes items; those that an earlier try finished are not executed again."""
    ran = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if ran.returncode == REFUSED:
        raise ValueError(ran.stderr)
    if ran.returncode != 0:
        raise WorkerEnded(f"{ran.stderr}\nexit status {ran.returncode}")


def cost(items: list[dict]) -> int:
    return sum(item["cost_ms"] for item in items)


def grouped(items: list[dict], tasks: int) -> list[list[dict]]:
    """Large items alone and small ones together, about this many groups, the largest first. An item for a processor shares no
    group with one that a GPU may execute."""
    share = cost(items) / tasks
    groups: list[list[dict]] = []
    for item in sorted(items, key=lambda item: (item["class"], -item["cost_ms"], item["key"])):
        same = groups and groups[-1][0]["class"] == item["class"]
        if same and cost(groups[-1]) + item["cost_ms"] <= share:
            groups[-1].append(item)
        else:
            groups.append([item])
    return sorted(groups, key=cost, reverse=True)


def submitted(group: list[dict], asked: argparse.Namespace, options: list[str]) -> ray.ObjectRef:
    command = ["repro", "cluster", "work", asked.plan, "--results", asked.results, "--threads", str(asked.threads), *options]
    command += [word for item in group for word in ("--item", item["key"])]
    gpus = asked.gpus if group[0]["class"] == "any" else 0
    if gpus:
        command += ["--device", asked.device]
    return work.options(num_cpus=asked.threads, num_gpus=gpus).remote(command, os.getcwd())


def followed(tasks: dict[ray.ObjectRef, list[dict]]) -> list[str]:
    """Waits for all and says how far they are; gives what went wrong."""
    start, faults, waiting = time.monotonic(), [], list(tasks)
    total, over = sum(map(cost, tasks.values())), 0
    while waiting:
        (ended,), waiting = ray.wait(waiting)
        try:
            ray.get(ended)
        except ray.exceptions.RayError as error:
            faults.append(f"{[item['key'] for item in tasks[ended]]}: {error}")
        over += cost(tasks[ended])
        left = (time.monotonic() - start) * (total / over - 1)
        print(f"{over / total:.0%} of the work, about {left:.0f} s left", file=sys.stderr)
    return faults


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, epilog="Other options are for `repro cluster work`.", allow_abbrev=False)
    parser.add_argument("plan")
    parser.add_argument("--results", required=True, metavar="STORE")
    parser.add_argument("--threads", type=int, default=1, help="cores of a task [default: 1]")
    parser.add_argument("--gpus", type=float, default=0, help="of a task whose items may run on one; 0.25: four share it")
    # Ray shows a task its own GPUs alone: the first is the right one
    parser.add_argument("--device", default="cuda:0", help="what the program calls that GPU [default: cuda:0]")
    asked, options = parser.parse_known_args()

    with open(asked.plan) as plan:
        items = [json.loads(line) for line in plan][1:]
    ray.init(logging_level=logging.WARNING)  # the cluster of RAY_ADDRESS, or one of this machine
    cores = ray.cluster_resources().get("CPU", asked.threads)
    groups = grouped(items, tasks=int(8 * cores / asked.threads))
    faults = followed({submitted(group, asked, options): group for group in groups})
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
