"""A room of hosts on this machine: an sshd of the distribution for each, with a home of its own and what is in it."""

from __future__ import annotations

import getpass
import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

import processes
from case import PROGRAM, wait_until

SSHD = "/usr/sbin/sshd"


class Room:
    """Starts with the object and ends with `close`. Nothing is shared among the homes."""

    def __init__(self, hosts: tuple[str, ...]) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="repro-room-"))
        self.ports = {host: processes.free_port() for host in hosts}
        self.daemons: dict[str, subprocess.Popen[bytes]] = {}
        if os.geteuid() == 0:
            # the empty folder that sshd locks itself into
            Path("/run/sshd").mkdir(exist_ok=True)
        for name in ("host_key", "user_key"):
            keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / name]
            subprocess.run(keygen, check=True)
        self._write_client()
        for host in hosts:
            self.home(host).mkdir()
            self.switch_on(host)

    def close(self) -> None:
        for host in list(self.daemons):
            self.switch_off(host)
        shutil.rmtree(self.folder)

    def home(self, host: str) -> Path:
        return self.folder / host

    def switch_on(self, host: str) -> None:
        with (self.folder / f"{host}.log").open("ab") as log:
            daemon = [SSHD, "-D", "-e", "-f", self._configured(host)]
            self.daemons[host] = subprocess.Popen(daemon, stdin=subprocess.DEVNULL, stderr=log)
        asked = [self.client, host, "true"]
        wait_until(f"{host} answers", lambda: subprocess.run(asked, capture_output=True, check=False).returncode == 0)

    def switch_off(self, host: str) -> None:
        """Kills the daemon and all that was begun through it: a machine that lost its power."""
        daemon = self.daemons.pop(host)
        processes.kill(*processes.with_descendants(daemon.pid))
        daemon.wait()

    @property
    def client(self) -> Path:
        """An `ssh` that knows the hosts by their names."""
        return self.folder / "bin/ssh"

    def environment(self) -> dict[str, str]:
        return {**os.environ, "PATH": f"{self.client.parent}{os.pathsep}{os.environ['PATH']}"}

    def _write_client(self) -> None:
        configuration = self.folder / "client"
        common = f"User {getpass.getuser()}\nHostName 127.0.0.1\nIdentityFile {self.folder}/user_key\nIdentitiesOnly yes\n"
        known = "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n"
        hosts = "".join(f"Host {host}\nPort {port}\n" for host, port in self.ports.items())
        configuration.write_text(f"{hosts}Host *\n{common}{known}")
        real = shutil.which("ssh")
        self.client.parent.mkdir()
        self.client.write_text(f'#!/bin/sh\nexec {real} -F {configuration} "$@"\n')
        self.client.chmod(0o755)

    def _configured(self, host: str) -> Path:
        file = self.folder / f"{host}.conf"
        path = os.pathsep.join([str(PROGRAM.parent), os.environ["PATH"]])
        # the account has one home; each host has another
        entered = f'cd {self.home(host)} && HOME=$PWD PATH={shlex.quote(path)} exec sh -c "$SSH_ORIGINAL_COMMAND"'
        file.write_text(
            f"ListenAddress 127.0.0.1\nPort {self.ports[host]}\nHostKey {self.folder}/host_key\nPidFile none\nUsePAM no\n"
            f"AuthorizedKeysFile {self.folder}/user_key.pub\nStrictModes no\nPermitRootLogin prohibit-password\n"
            f"ForceCommand {entered}\n"
        )
        return file
