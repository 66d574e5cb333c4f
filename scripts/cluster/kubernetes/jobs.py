"""What Kubernetes does with a Job, as its documentation has it, on this machine: a pod is a sandbox (bubblewrap) with the container's
command, environment, working directory and mounts, a root that cannot be written to, and nothing else of this machine but the program.

There is no API server, no scheduler and no image: defaults, admission, quotas and permissions on volumes are not tried.
"""

from __future__ import annotations

import re
import subprocess
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from case import PROGRAM

REFERENCE = re.compile(r"\$(?:\$|\((\w+)\))")


@dataclass
class Pod:
    """A pod of an index, which ends with the exit status of its container."""

    index: int
    process: subprocess.Popen[str]
    disrupted: bool = False
    log: str = ""

    def evict(self) -> None:
        """Takes the pod from its node, as draining one does."""
        self.disrupted = True
        self.process.terminate()

    @property
    def status(self) -> int:
        """As a container runtime gives it: 128 and the signal where one ended it."""
        return self.process.returncode if self.process.returncode >= 0 else 128 - self.process.returncode


@dataclass
class Job:
    """A Job and the folders that stand for its claims."""

    manifest: Mapping[str, Any]
    claims: Mapping[str, Path]
    pods: list[Pod] = field(default_factory=list)
    failed: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.spec = self.manifest["spec"]
        self.indexed = self.spec.get("completionMode") == "Indexed"
        # what the API server refuses, and no schema knows
        assert self.spec["template"]["spec"]["restartPolicy"] == "Never", "a pod failure policy needs it"
        assert self.indexed or "backoffLimitPerIndex" not in self.spec
        assert not (self.indexed and "backoffLimit" in self.spec), "one limit would hide the other"
        (self.container,) = self.spec["template"]["spec"]["containers"]
        names = {rule["onExitCodes"]["containerName"] for rule in self.rules() if "onExitCodes" in rule}
        assert names <= {self.container["name"]}, names

    def rules(self) -> list[Mapping[str, Any]]:
        return list(self.spec.get("podFailurePolicy", {}).get("rules", []))

    def run(self) -> None:
        """Until every index has succeeded or failed."""
        with ThreadPoolExecutor(self.spec.get("parallelism", 1)) as nodes:
            list(nodes.map(self._index, range(self.spec.get("completions", 1))))

    def start(self) -> threading.Thread:
        running = threading.Thread(target=self.run)
        running.start()
        return running

    def tries(self, index: int) -> list[Pod]:
        return [pod for pod in self.pods if pod.index == index]

    def _index(self, index: int) -> None:
        left = self.spec.get("backoffLimitPerIndex", self.spec.get("backoffLimit", 6))
        while True:
            pod = Pod(index, subprocess.Popen(self._sandboxed(index), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
            self.pods.append(pod)
            pod.log = pod.process.communicate()[0]
            if pod.status == 0:
                return
            action = self._action(pod)
            left -= action == "Count"
            if action == "FailIndex" or left < 0:
                self.failed.add(index)
                return

    def _action(self, pod: Pod) -> str:
        """The first rule that fits."""
        for rule in self.rules():
            conditions = [condition["type"] for condition in rule.get("onPodConditions", [])]
            codes = rule.get("onExitCodes", {"operator": "In", "values": []})
            if pod.disrupted and "DisruptionTarget" in conditions:
                return str(rule["action"])
            if (pod.status in codes["values"]) is (codes["operator"] == "In"):
                return str(rule["action"])
        return "Count"

    def _sandboxed(self, index: int) -> list[str]:
        security = self.spec["template"]["spec"]["securityContext"]
        environment = {"PATH": "/opt:/usr/bin"}
        if self.indexed:
            environment["JOB_COMPLETION_INDEX"] = str(index)
        for variable in self.container.get("env", []):
            environment[variable["name"]] = expanded(variable["value"], environment)
        words = [*self.container["command"], *self.container.get("args", [])]
        command = ["bwrap", "--die-with-parent", "--unshare-all", "--tmpfs", "/", "--ro-bind", "/usr", "/usr"]
        for folder in ("bin", "lib", "lib64"):
            command += ["--symlink", f"usr/{folder}", f"/{folder}"]
        command += ["--ro-bind", str(PROGRAM), "/opt/repro", "--proc", "/proc", "--dev", "/dev"]
        for mount in self.container["volumeMounts"]:
            command += ["--bind", str(self._folder(mount["name"])), mount["mountPath"]]
        command += ["--remount-ro", "/", "--chdir", self.container["workingDir"], "--clearenv"]
        command += ["--uid", str(security["runAsUser"]), "--gid", str(security["runAsGroup"])]
        for name, value in environment.items():
            command += ["--setenv", name, value]
        return [*command, *(expanded(word, environment) for word in words)]

    def _folder(self, volume: str) -> Path:
        (found,) = [one for one in self.spec["template"]["spec"]["volumes"] if one["name"] == volume]
        return self.claims[found["persistentVolumeClaim"]["claimName"]]


def expanded(text: str, environment: Mapping[str, str]) -> str:
    """`$(NAME)` is a variable, `$$` a `$`, and a name that is not known stays as it is."""
    return REFERENCE.sub(lambda found: environment.get(found[1], found[0]) if found[1] else "$", text)
