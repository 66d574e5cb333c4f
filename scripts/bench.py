#!/usr/bin/env python3
"""Benchmarks, side by side in one run: whole processes of `repro verify`, and intervals in process.

  scripts/bench.py scipy    `verify --post all` against `python3 -c "import scipy.stats"`, in turn
  scripts/bench.py linear   posts of 1 000 to 10 000 claims, one after the other, in rounds
  scripts/bench.py bootstrap  BCa of 22 values with 10 000 resamples against `scipy.stats.bootstrap`, in
                            process, one thread each, call by call in turn

For the first two, times are wall seconds of the whole process, memory is its peak resident set; both are medians, ratios
are medians of pairs. Needs `cargo build --release` before, GNU time, and scipy for the first. The third builds
its own program and needs scipy. Other load on the machine is printed, because it moves every figure.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
REPRO = ROOT / "target" / "release" / "repro"
RUNS = 15


def run(command):
    """Wall seconds, peak resident MiB and exit status of one finished process."""
    start = time.perf_counter()
    # A child inherits the peak of the process it was forked from; GNU time is small, this one is not.
    timed = ["/usr/bin/time", "--quiet", "--format", "%M", *command]
    child = subprocess.run(timed, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    seconds = time.perf_counter() - start
    return seconds, int(child.stderr.split()[-1]) / 1024, child.returncode


def load():
    one, _, _ = os.getloadavg()
    return f"load average {one:.2f} on {os.cpu_count()} cores"


def against_scipy():
    ours = [str(REPRO), "--root", str(ROOT), "verify", "--post", "all"]
    scipy = [sys.executable, "-c", "import scipy.stats"]
    if run(scipy)[2] != 0:
        sys.exit("scipy is not installed: pip install scipy")
    run(ours)
    pairs = [(run(ours), run(scipy)) for _ in range(RUNS)]
    a = [pair[0] for pair in pairs]
    b = [pair[1] for pair in pairs]
    print(load())
    print(f"verify --post all      {statistics.median(x[0] for x in a):.4f} s  "
          f"{statistics.median(x[1] for x in a):.1f} MiB  exit {a[0][2]}")
    print(f"import scipy.stats     {statistics.median(x[0] for x in b):.4f} s  "
          f"{statistics.median(x[1] for x in b):.1f} MiB")
    ratio = statistics.median(x[0] / y[0] for x, y in pairs)
    print(f"time ratio of pairs    {ratio:.4f} (goal: at most 0.1)")


def project(folder, claims):
    """A post with `claims` claims over as many facts, half of them recomputed."""
    bundle = folder / "receipts" / "facts"
    (bundle / "data").mkdir(parents=True)
    (folder / "repro").mkdir()
    facts = [{"id": f"f{i}", "value": str(i + 1), "at": {"source": "text", "place": f"row {i}"}}
             for i in range(claims)]
    (bundle / "data" / "facts.json").write_text(json.dumps({"facts": facts}))
    receipt = {"schema": "repro.receipt/1", "origin": "transcribed"}
    (bundle / "data" / "receipt.json").write_text(json.dumps(receipt))
    sealed = subprocess.run([str(REPRO), "seal", str(bundle)], capture_output=True, text=True, check=True)
    lines = ['schema = "repro.post/1"', 'id = "many"', 'title = "Many claims"', 'default_bundle = "facts"',
             '[[source]]', 'id = "text"', 'what = "a table"',
             '[[bundle]]', 'name = "facts"', f'digest = "{sealed.stdout.strip()}"']
    for i in range(claims):
        lines += ["[[claim]]", f'id = "c{i}"', f'at = {{ source = "text", place = "claim {i}" }}']
        if i % 2:
            lines += ['kind = "cross_artifact"', f'claimed = "{i + 1}"', f'with = [{{ fact = "f{i}" }}]']
        else:
            lines += ['kind = "identity"', 'formula = "sum"', f'claimed = "{2 * i + 2}"',
                      f'inputs = {{ terms = [{{ fact = "f{i}" }}, {{ fact = "f{i}" }}] }}']
    (folder / "repro" / "many.toml").write_text("\n".join(lines) + "\n")


def linear():
    sizes = [1_000, 2_000, 5_000, 10_000]
    with tempfile.TemporaryDirectory() as name:
        folders = [(n, pathlib.Path(name) / str(n)) for n in sizes]
        for n, folder in folders:
            project(folder, n)
        commands = {n: [str(REPRO), "--root", str(folder), "verify", "--post", "many"] for n, folder in folders}
        rounds = [{n: run(command) for n, command in commands.items()} for _ in range(RUNS)]
    print(load())
    for n in sizes:
        seconds = statistics.median(one[n][0] for one in rounds)
        memory = statistics.median(one[n][1] for one in rounds)
        print(f"{n:>6} claims  {seconds:.4f} s  {1e6 * seconds / n:.1f} us a claim  {memory:.1f} MiB  exit {rounds[0][n][2]}")
    ratio = statistics.median(one[10_000][0] / one[1_000][0] for one in rounds)
    print(f"10 000 against 1 000 claims, ratio of pairs: {ratio:.2f} (linear: at most 10)")


def timing_program():
    """The timing program of tests/benches, built by cargo."""
    built = subprocess.run(["cargo", "bench", "--no-run", "--bench", "bootstrap", "--message-format", "json"],
                           cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    messages = [json.loads(line) for line in built.stdout.splitlines()]
    return next(m["executable"] for m in messages
                if m.get("target", {}).get("name") == "bootstrap" and m.get("executable"))


def bootstrap():
    for name in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"]:
        os.environ[name] = "1"
    import numpy
    from scipy import stats
    values = [round(((37 * i) % 23 - 8) * 0.013 + 0.0021 * i, 6) for i in range(22)]
    program = subprocess.Popen([timing_program()], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def line(text):
        program.stdin.write(text + "\n")
        program.stdin.flush()

    line(" ".join(map(str, values)))

    def ours(calls=20):
        line(str(calls))
        seconds, low, high = map(float, program.stdout.readline().split())
        return seconds / calls, (low, high)

    def scipys(seed, **settings):
        start = time.perf_counter()
        found = stats.bootstrap((values,), numpy.mean, n_resamples=10_000, confidence_level=0.95,
                                method="BCa", rng=numpy.random.default_rng(seed), **settings)
        return time.perf_counter() - start, tuple(found.confidence_interval)

    settings = {"as it comes": {}, "batch=1000": {"batch": 1000}, "batch=100": {"batch": 100}}
    ours(), [scipys(0, **one) for one in settings.values()]
    rounds = [(ours(), [scipys(seed, **one) for one in settings.values()]) for seed in range(10 * RUNS)]
    program.stdin.close()
    print(load())
    print(f"repro        {1e3 * statistics.median(r[0][0] for r in rounds):.3f} ms  {rounds[0][0][1]}")
    for at, name in enumerate(settings):
        seconds = statistics.median(r[1][at][0] for r in rounds)
        ratios = [r[1][at][0] / r[0][0] for r in rounds]
        print(f"scipy {name:<12} {1e3 * seconds:.3f} ms  {rounds[0][1][at][1]}  "
              f"ratio of pairs {statistics.median(ratios):.1f} (goal: at least 5, aim 15)")


if __name__ == "__main__":
    chosen = {"scipy": against_scipy, "linear": linear, "bootstrap": bootstrap}.get(sys.argv[1] if len(sys.argv) == 2 else "")
    sys.exit(chosen() if chosen else __doc__)
