"""A Slurm cluster of two nodes on this machine: munged, slurmctld and two slurmd of the distribution, in a folder of their own."""

from __future__ import annotations

import getpass
import os
import secrets
import shutil
import subprocess
import tempfile
from pathlib import Path

import processes
from case import PROGRAM, wait_until

NODES = ("node1", "node2")


class LocalSlurm:
    """Starts with the object and ends with `stop`. A node that is silent for five seconds counts as down."""

    def __init__(self, cpus: int) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="repro-slurm-"))
        self.configuration = self.folder / "slurm.conf"
        self.daemons: dict[str, subprocess.Popen[bytes]] = {}
        try:
            self._start(cpus)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        for node in NODES:
            self.kill_node(node)
        for daemon in self.daemons.values():
            daemon.kill()
            daemon.wait()
        shutil.rmtree(self.folder)

    def start_nodes(self) -> None:
        """Those that do not run."""
        for node in NODES:
            if node not in self.daemons:
                self._run(node, "slurmd", "-D", "-N", node)
        wait_until("two idle nodes", lambda: self.asked("sinfo", "--noheader", "--format=%D %T") == "2 idle")

    def kill_node(self, node: str) -> None:
        """Kills the daemon and all that runs there: a machine that lost its power."""
        steps = {processes.parent(script) or script for script in self.scripts(node)}
        below = [pid for step in steps for pid in processes.with_descendants(step)]
        daemon = self.daemons.pop(node, None)
        processes.kill(*([daemon.pid] if daemon else []), *below)
        if daemon:
            daemon.wait()

    def scripts(self, node: str) -> list[int]:
        """The processes of the scripts that run on a node."""
        return processes.with_arguments(f"{self.folder}/spool-{node}/")

    def asked(self, *command: str | Path) -> str:
        """What a command of Slurm answers."""
        words = [str(word) for word in command]
        ran = subprocess.run(words, env=self._environment(), text=True, capture_output=True, check=False, timeout=60)
        if ran.returncode != 0:
            raise AssertionError(f"{words} ended with {ran.returncode}: {ran.stderr}")
        return ran.stdout.strip()

    def _start(self, cpus: int) -> None:
        self.folder.chmod(0o755)
        (self.folder / "state").mkdir()
        key = self.folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(128))
        self.configuration.write_text(self._configured(cpus))
        files = {name: self.folder / f"munged.{name}" for name in ("socket", "pid-file", "seed-file")}
        options = [f"--{name}={path}" for name, path in files.items()]
        # --force: anybody may write into the folder that the cluster's folder is in
        self._run("munged", "munged", "--foreground", "--force", f"--key-file={key}", *options)
        wait_until("the socket of munged", files["socket"].exists)
        self._run("slurmctld", "slurmctld", "-D", "-c")
        self.start_nodes()

    def _run(self, name: str, *command: str) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            self.daemons[name] = subprocess.Popen(
                command, env=self._environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def _environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "SBATCH"))}
        path = os.pathsep.join([str(PROGRAM.parent), os.environ["PATH"], "/usr/sbin"])
        return {**inherited, "PATH": path, "SLURM_CONF": str(self.configuration)}

    def _configured(self, cpus: int) -> str:
        user = getpass.getuser()
        settings = {
            "ClusterName": "repro",
            "SlurmctldHost": "localhost(127.0.0.1)",
            "SlurmctldPort": processes.free_port(),
            "SlurmUser": user,
            "SlurmdUser": user,
            "AuthType": "auth/munge",
            "CredType": "cred/munge",
            # a task that is requeued waits until its old credential has expired
            "AuthInfo": f"socket={self.folder}/munged.socket,cred_expire=5",
            "ProctrackType": "proctrack/linuxproc",
            "TaskPlugin": "task/none",
            "JobAcctGatherType": "jobacct_gather/none",
            "AccountingStorageType": "accounting_storage/none",
            "MpiDefault": "none",
            "MailProg": "/bin/true",
            "SelectType": "select/cons_tres",
            "SelectTypeParameters": "CR_Core",
            "StateSaveLocation": f"{self.folder}/state",
            "SlurmctldPidFile": f"{self.folder}/slurmctld.pid",
            "SlurmdPidFile": f"{self.folder}/slurmd-%n.pid",
            "SlurmdSpoolDir": f"{self.folder}/spool-%n",
            "SlurmdTimeout": 5,
            "ReturnToService": 2,
            "KillWait": 1,
            "SchedulerParameters": "batch_sched_delay=0,bf_interval=1",
        }
        nodes = "".join(
            f"NodeName={node} NodeAddr=127.0.0.1 NodeHostname=localhost Port={processes.free_port()} CPUs={cpus}\n"
            for node in NODES
        )
        partition = f"PartitionName=all Nodes={','.join(NODES)} Default=YES MaxTime=INFINITE State=UP\n"
        return "".join(f"{name}={value}\n" for name, value in settings.items()) + nodes + partition
