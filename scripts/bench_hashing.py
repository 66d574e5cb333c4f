"""The tables of `scripts/bench.py hashing`: the cost of hashing and of `repro verify`, compared with other programs.

Every row is a whole process, and the rows of a table run in turn, round after round. CPU time (user and system) depends
less on other load than wall time. Times are minima over rounds, because load only adds; ratios are medians over rounds.
"""
import hashlib
import itertools
import json
import os
import pathlib
import platform
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = 5
SMALL = 10_000
LARGE = 2 << 30
STREAM = 512 << 20
KEPT = "## Effect of each optimization"


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"


def bundle(path, files):
    """A finished bundle of files, given as (name, pieces), without flushing."""
    digests, sizes = {}, {}

    def put(name, pieces):
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        digest, size = hashlib.sha256(), 0
        with open(file, "wb", buffering=0) as out:
            for piece in pieces:
                out.write(piece)
                digest.update(piece)
                size += len(piece)
        digests[name], sizes[name] = digest.hexdigest(), size

    for name, pieces in files:
        put(name, pieces)
    receipt = {
        "_type": "https://in-toto.io/Statement/v1", "predicateType": "https://repro.example/receipt/v1",
        "subject": [{"name": name, "digest": {"sha256": digests[name]}} for name in sorted(digests)],
        "predicate": {"schema": "repro.receipt/1", "origin": "emitted", "run": {"id": path.name},
                      "files": [{"name": name, "bytes": sizes[name]} for name in sorted(sizes)]}}
    put("data/receipt.json", [canonical(receipt).encode()])
    payload = "".join(f"{digests[name]}  {name}\n" for name in sorted(digests))
    tags = {"bag-info.txt": f"Payload-Oxum: {sum(sizes.values())}.{len(sizes)}\n",
            "bagit.txt": "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n", "manifest-sha256.txt": payload}
    for name, text in tags.items():
        put(name, [text.encode()])
    put("tagmanifest-sha256.txt", ["".join(f"{digests[name]}  {name}\n" for name in sorted(tags)).encode()])
    return path


def weights(size, seed=1):
    """A safetensors file of finite floats, in pieces of 1 MiB, so that the page cache stores it in large parts."""
    count = (size - 4096) // 4
    header = json.dumps({"w": {"dtype": "F32", "shape": [count], "data_offsets": [0, 4 * count]}}).encode().ljust(4088)
    piece = bytearray(random.Random(seed).randbytes(1 << 20))
    for at in range(3, len(piece), 4):
        piece[at] &= 0x3f
    left = 4096 + 4 * count
    start = len(header).to_bytes(8, "little") + header
    for part in itertools.chain([start], itertools.repeat(bytes(piece))):
        yield part[:left]
        left -= min(left, len(part))
        if not left:
            return


def small(number):
    record = {"id": f"r{number}", "loss": number / 7 + 0.1, "note": "x" * 200, "steps": list(range(20))}
    return canonical(record).encode()


def once(command):
    """Wall seconds, CPU seconds and peak resident MiB of one finished process."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    timed = ["/usr/bin/time", "--quiet", "--format", "%M", *map(str, command)]
    child = subprocess.run(timed, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if child.returncode != 0:
        sys.exit(f"{' '.join(timed)}: exit {child.returncode}\n{child.stderr}")
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, spent, int(child.stderr.split()[-1]) / 1024


class Table:
    """Rows of one comparison, run in turn and compared with the first."""

    def __init__(self, title, rows, rounds=ROUNDS, note=""):
        self.title, self.note = title, note
        taken = [{name: once(command) for name, command in rows} for _ in range(rounds)]
        self.rows = []
        for name, _ in rows:
            wall, memory = (min(one[name][at] for one in taken) for at in (0, 2))
            ratios = [statistics.median(one[name][at] / one[rows[0][0]][at] for one in taken) for at in range(2)]
            self.rows.append((name, wall, *ratios, memory))

    def __str__(self):
        lines = [f"## {self.title}", "", "| | wall s | wall ratio | CPU ratio | peak MiB |", "|---|---|---|---|---|"]
        lines += [f"| {name} | {wall:.3f} | {walls:.2f} | {spents:.2f} | {memory:.0f} |"
                  for name, wall, walls, spents, memory in self.rows]
        return "\n".join(lines + ([self.note] if self.note else []))


def signer(python, folder, bundle):
    """The command by which `model_signing` verifies a bundle, if `python` has it."""
    command = [python, "-m", "model_signing"]
    if not python or subprocess.run([*command, "--version"], capture_output=True).returncode != 0:
        return None
    private, public, signature = folder / "private.pem", folder / "public.pem", folder / f"{bundle.name}.sig"
    subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", private], check=True)
    subprocess.run(["openssl", "ec", "-in", private, "-pubout", "-out", public], check=True, capture_output=True)
    subprocess.run([*command, "sign", "key", "--private_key", private, "--signature", signature, bundle],
                   check=True, capture_output=True)
    return [*command, "verify", "key", "--public_key", public, "--signature", signature, bundle]


def tables(folder, repro, timing):
    verify = [repro, "--root", folder, "verify"]
    (folder / "repro").mkdir()
    one = bundle(folder / "one", [("data/w.safetensors", weights(STREAM))]) / "data/w.safetensors"
    hashlib_script = "import hashlib, sys; hashlib.file_digest(open(sys.argv[1], 'rb'), 'sha256')"
    yield Table(f"One stream of {STREAM >> 20} MiB", [
        ("lower bound: one buffer in L1 cache, hashed repeatedly", [timing, "floor", STREAM]),
        ("repro, one thread", [timing, "stream", 1, one]),
        ("repro, two threads", [timing, "stream", 2, one]),
        ("`openssl dgst -sha256`", ["openssl", "dgst", "-sha256", one]),
        ("Python `hashlib.file_digest`", [sys.executable, "-c", hashlib_script, one]),
        ("`sha256sum`", ["sha256sum", one])],
        note="\nWith two threads, one reads and checks, and the other hashes.")
    yield Table(f"`repro verify` of a {STREAM >> 20} MiB checkpoint, compared with hashing its file", [
        ("hashing, one thread", [timing, "stream", 1, one]),
        ("`repro verify --threads 1`", [*verify, folder / "one", "--threads", 1]),
        ("`repro verify --threads 2`", [*verify, folder / "one", "--threads", 2])])
    shutil.rmtree(folder / "one")

    names = (f"data/{number // 100:03d}/{number:05d}.json" for number in range(SMALL))
    bundle(folder / "small", ((name, [small(number)]) for number, name in enumerate(names)))
    yield Table(f"{SMALL:,} small files, 2 threads", [
        ("open, read and hash each file", [timing, "each", 2, folder / "small"]),
        ("`repro verify`", [*verify, folder / "small", "--threads", 2])], rounds=2 * ROUNDS)
    shutil.rmtree(folder / "small")

    pieces = [(f"data/w{number}.safetensors", weights(LARGE // 4, number)) for number in range(4)]
    yield whole(bundle(folder / "pieces", pieces), verify)


def whole(path, verify):
    """Verifies a large bundle, again with a cache, and with `model_signing`."""
    # The cache ignores files that changed less than two seconds ago.
    time.sleep(4)
    cached = [*verify, path, "--cache", path.parent / "cache"]
    once(cached)
    rows = [("`repro verify`, two threads", [*verify, path, "--threads", 2]),
            ("the same, one thread", [*verify, path, "--threads", 1]),
            ("the same with `--cache`, bundle unchanged", cached)]
    theirs = signer(os.environ.get("REPRO_MODEL_SIGNING", ""), path.parent, path)
    if theirs:
        rows.append(("`model_signing verify key`", theirs))
    note = "\nSHA-256 processes the blocks of one file in sequence, so each thread hashes two files side by side."
    if not theirs:
        note += " The row of `model_signing` is missing: REPRO_MODEL_SIGNING is not a Python that has it."
    return Table(f"A {LARGE >> 30} GiB bundle in four files", rows, rounds=5, note=note)


def hashing(repro, timing, load, write):
    """Prints all tables, and writes them to the file `write` if given."""
    print(load(), flush=True)
    found = []
    with tempfile.TemporaryDirectory(dir=os.environ.get("REPRO_BENCH_FOLDER")) as name:
        for table in tables(pathlib.Path(name), repro, timing):
            print(f"\n{table}", flush=True)
            found.append(str(table))
    processors = [line.partition(":")[2].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")]
    system = f"{processors[0] if processors else platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}"
    head = ["# Cost of hashing", "", "This page measures the cost of hashing and of `repro verify`. `scripts/bench.py hashing "
            "--write` writes it.", "", "Each row is a whole process with its files in the page cache. Times are minima over "
            "rounds. Ratios are medians of pairs with the", "first row of the table.", "", f"{system}; {load()}.", ""]
    if write:
        write.parent.mkdir(exist_ok=True)
        # Keeps the section measured on modified programs, which no command here builds.
        _, mark, kept = (write.read_text() if write.exists() else "").partition(KEPT)
        write.write_text("\n".join(head) + "\n" + "\n\n".join(found) + "\n" + (f"\n{mark}{kept}" if mark else ""))
