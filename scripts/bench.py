#!/usr/bin/env python3
"""Benchmarks of `repro`, side by side in one run: whole processes, and intervals in process.

  scripts/bench.py scipy      `verify --post all` against `python3 -c "import scipy.stats"`, in turn
  scripts/bench.py linear     posts of 500 to 5 000 claims, one after the other, in rounds
  scripts/bench.py import     `import speedrun --dry-run` of 1 500 complete logs against a script with one
                              regular expression, in turn; the writing of their bundles on its own
  scripts/bench.py bootstrap  BCa of 22 values with 10 000 resamples against `scipy.stats.bootstrap`, in
                              process, one thread each, call by call in turn
  scripts/bench.py train [N]  training steps, dense and sparse, on one and two threads, against PyTorch, eager and
                              by torch.compile, in N rounds of the three; `scripts/bench_train.sh` finds a Python
                              that has it. For a GPU see scripts/gpu.py
  scripts/bench.py hashing    hashing against the processor's floor and other programs, 10 000 small files, a bundle of
                              2 GiB with and without `--cache`; `--write` puts it into docs/explanation/hashing.md, and
                              REPRO_MODEL_SIGNING names a Python that has `model_signing`
  scripts/bench.py replay     the steps of a slice of each arm of tiny-moe, replayed against trained, in turn, on
                              one and two threads, in process

Of whole processes, times are wall seconds and memory is the peak resident set; figures are medians, ratios are
medians of pairs. Needs the published build, `cargo build --profile dist`, before, GNU time, and scipy where it is named; `bootstrap` builds
its own program, as do `hashing`, `train` and `replay`. Other load on the machine is printed, because it moves every figure.
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
REPRO = ROOT / "target" / "dist" / "repro"
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
    subprocess.run([str(REPRO), "bundle", "seal", str(bundle)], capture_output=True, check=True)
    lines = ['schema = "repro.post/2"', 'id = "many"', 'title = "Many claims"', 'text = "many.md"',
             '[names]', 'facts = "facts"']
    text = []
    for i in range(claims):
        value, what = (i + 1, f"facts.f{i}") if i % 2 else (2 * i + 2, f"facts.f{i} + facts.f{i}")
        text.append(f"Row {i}, value {value}.")
        lines += ["[[sentence]]", f'quote = "{text[-1]}"', f'is = ["_ the number of the row", "{what}"]']
    (folder / "repro" / "many.md").write_text("\n".join(text) + "\n")
    (folder / "repro" / "many.toml").write_text("\n".join(lines) + "\n")


def linear():
    sizes = [500, 1_000, 2_000, 5_000]
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
    ratio = statistics.median(one[5_000][0] / one[500][0] for one in rounds)
    print(f"5 000 against 500 claims, ratio of pairs: {ratio:.2f} (linear: at most 10)")


SCRIPT = r"""
import pathlib, re, statistics, sys
LINE = re.compile(r"^(?:step:(\d+)/(\d+)(?: val_loss:(\S+))?(?: train_time:(\d+)ms)(?: step_avg:(\S+)ms)|s:(\d+) (tel|trl):(\S+))$", re.M)
groups, rows = {}, 0
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.txt")):
    found = LINE.findall(path.read_text(errors="replace"))
    rows += len(found)
    losses = [float(row[2] or row[7]) for row in found if row[2] or row[6] == "tel"]
    groups.setdefault(path.parent.name, []).append(losses[-1])
for name, finals in groups.items():
    print(name, len(finals), statistics.mean(finals), statistics.stdev(finals))
print(rows)
"""
LOGS = 1500


def complete_logs(folder):
    """Complete logs made of the shared ones: source, machine, and metric lines with other last digits."""
    shared = pathlib.Path(os.environ.get("REPRO_SHARED_DATA", ROOT.parent / "shared" / "data")) / "speedrun_logs"
    bare = sorted(shared.rglob("*.txt"))
    if not bare:
        sys.exit(f"no logs below {shared}")
    library = pathlib.Path(os.__file__).parent
    source = "".join((library / name).read_text() for name in ("argparse.py", "statistics.py"))
    source += 'print0(f"step:{step}/{args.num_iterations} val_loss:{val_loss:.4f} train_time:{ms:.0f}ms")\n'
    machine = "".join(f"package-{i}=={i}.{i % 7}.0\n" for i in range(120))
    table = "".join(f"|   {i}  NVIDIA H100 80GB HBM3   On  |   00000000:{i}9:00.0 Off |          0 |\n" for i in range(8)) * 4
    rule = "=" * 100 + "\n"
    size = 0
    for i in range(LOGS):
        log = bare[i % len(bare)]
        lines = [line.replace("ms step_avg", f"{i:04d}ms step_avg") for line in log.read_text().splitlines()]
        text = source + rule + machine + table + rule + "\n".join(lines) + "\n"
        path = folder / log.parent.name / f"{i:04d}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        size += len(text)
    print(f"{LOGS} logs, {size / 2**20:.0f} MiB, {size // LOGS} bytes each")


def against_regex():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        logs = folder / "logs"
        logs.mkdir()
        complete_logs(logs)
        script = folder / "one_regex.py"
        script.write_text(SCRIPT)
        ours = [str(REPRO), "import", "speedrun", str(logs), "--dry-run", "--quiet"]
        regex = [sys.executable, str(script), str(logs)]
        commands = {"one regular expression": regex, "repro, one thread": [*ours, "--threads", "1"], "repro": ours}
        rounds = [{name: run(command) for name, command in commands.items()} for _ in range(RUNS)]
        out = folder / "receipts"
        seconds, memory, status = run([*[part for part in ours if part != "--dry-run"], "--out", str(out)])
        bundles = len(list(out.iterdir()))
    print(load())
    for name in commands:
        print(f"{name:<24}{statistics.median(one[name][0] for one in rounds):.4f} s  "
              f"{statistics.median(one[name][1] for one in rounds):.1f} MiB  exit {rounds[0][name][2]}")
    for name in ("repro, one thread", "repro"):
        ratio = statistics.median(one["one regular expression"][0] / one[name][0] for one in rounds)
        print(f"{name} is faster, ratio of pairs: {ratio:.1f} (goal: at least 5, aim 10)")
    print(f"with writing            {seconds:.2f} s for {bundles} bundles, {1e3 * seconds / max(bundles, 1):.1f} ms each  "
          f"{memory:.1f} MiB  exit {status}")


def timing_program(name):
    """A timing program of tests/benches, built by cargo."""
    built = subprocess.run(["cargo", "bench", "--no-run", "--bench", name, "--message-format", "json"],
                           cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    messages = [json.loads(line) for line in built.stdout.splitlines()]
    return next(m["executable"] for m in messages
                if m.get("target", {}).get("name") == name and m.get("executable"))


def replay():
    program = timing_program("replay")
    print(load())
    for arm in ("dense_active", "moe", "dense_total"):
        bundle = ROOT / "receipts" / f"tiny-moe-{arm}-active12-s1"
        for threads in (1, 2):
            command = [program, str(bundle), "967", "977", str(threads), str(RUNS)]
            out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
            pairs = [tuple(map(float, line.split())) for line in out.splitlines()]
            ratio = statistics.median((replayed - loaded) / trained for loaded, trained, replayed in pairs)
            loaded, trained, replayed = (statistics.median(column) for column in zip(*pairs))
            print(f"{arm:<14}{threads} threads  loaded {loaded:.3f} s  trained {trained:.3f} s  replayed {replayed:.3f} s  "
                  f"replay less load against training, ratio of pairs {ratio:.3f} (goal: at most 1.1)")


def bootstrap():
    for name in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"]:
        os.environ[name] = "1"
    import numpy
    from scipy import stats
    values = [round(((37 * i) % 23 - 8) * 0.013 + 0.0021 * i, 6) for i in range(22)]
    program = subprocess.Popen([timing_program("bootstrap")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

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


class Side:
    """One of the trainers that stand ready and train when they are told to."""

    def __init__(self, name, command):
        began = time.perf_counter()
        self.name, self.process = name, subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.said = self.process.stdout.readline().strip()
        self.ready = self.said == "ready"
        self.started = time.perf_counter() - began
        self.at_rest = self.memory("VmRSS") if self.ready else 0

    def warm(self):
        """What the trainer says of its first steps, which nobody times; its peak of memory starts after them."""
        answer = self.train(WARM)
        pathlib.Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")
        return answer

    def memory(self, field):
        """MiB of resident memory, now (`VmRSS`) or at the peak (`VmHWM`)."""
        lines = pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(field + ":")) / 1024

    def own_ticks(self):
        """Processor time of this process."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    def steps(self, count):
        """What the trainer says of so many steps: seconds, losses, loads of routers."""
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def train(self, count):
        """The same, and the part of the machine that others took meanwhile."""
        began, own, others = time.perf_counter(), self.own_ticks(), busy_ticks()
        answer = self.steps(count)
        ticks, own = os.sysconf("SC_CLK_TCK"), self.own_ticks() - own
        available = (time.perf_counter() - began) * ticks * os.cpu_count()
        answer["others"] = max(0, (busy_ticks() - others) - own) / available
        answer["processor"] = own / ticks
        return answer

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def busy_ticks():
    """Processor time that was used on this machine, or taken from it by its host."""
    user, nice, system, _, _, interrupts, soft, steal = map(int, pathlib.Path("/proc/stat").read_text().split()[1:9])
    return user + nice + system + interrupts + soft + steal


def evenness(counts):
    """Largest share and spread of a router's load: the same in both trainers where they route alike."""
    mean = sum(counts) / len(counts)
    return max(counts) / sum(counts), statistics.pstdev(counts) / mean


def same_routing(ours, theirs):
    pairs = [((load["max_load"], load["cv"]), evenness(counts)) for load, counts in zip(ours, theirs)]
    return all(abs(a - b) < 1e-9 for pair in pairs for a, b in zip(*pair))


def agreement(ours, theirs):
    """How far apart the losses of the first steps are, up to the first step that routes a token elsewhere."""
    steps = zip(ours["losses"], theirs["losses"], ours["loads"], theirs["loads"])
    apart, flip = [], None
    for number, (a, b, our_loads, their_loads) in enumerate(steps):
        if not same_routing(our_loads, their_loads):
            flip = number
            break
        apart.append(abs(a / b - 1))
    if not apart or max(apart) > SAME:
        sys.exit(f"not the same model: losses {ours['losses']} and {theirs['losses']}")
    until = "no token was routed elsewhere" if flip is None else f"routing differs from step {flip} on"
    return f"losses {max(apart):.1e} apart, relative, over {len(apart)} steps ({until})"


WARM = 20
STEPS = 5
CONTENDED = 0.05
SAME = 1e-4


def bench_folder(kind):
    """Where our trainer of a kind leaves its config, weights and batches."""
    return ROOT / "target" / "twin" / f"bench-{kind}"


def twin(kind, threads):
    """The command of PyTorch's trainer."""
    script = ROOT / "scripts/reference/torch_twin.py"
    return [sys.executable, str(script), str(bench_folder(kind)), "--serve", "--threads", str(threads)]


def trainers(program, kind, threads):
    """Ours, PyTorch's eager and, where it can be had, PyTorch's compiled one."""
    ours = [program, str(bench_folder(kind)), kind, str(threads)]
    sides = [Side("repro", ours), Side("eager", twin(kind, threads)), Side("compiled", [*twin(kind, threads), "--compile"])]
    for side in sides[:2]:
        if not side.ready:
            sys.exit(f"{side.name} did not start: {side.said}")
    if not sides[2].ready:
        print(f"  NOT MEASURED: {sides[2].said or 'the compiled trainer did not start'}; eager PyTorch alone is")
    return [side for side in sides if side.ready]


def in_turn(sides, rounds):
    """The answers of the sides, round by round: of those that others disturbed, and of those that they did not."""
    quiet, contended = [], []
    while len(quiet) < rounds and len(contended) < 3 * rounds:
        answers = [side.train(STEPS) for side in sides]
        (contended if most_taken(answers) > CONTENDED else quiet).append(answers)
    return quiet, contended


def most_taken(answers):
    return max(answer["others"] for answer in answers)


def tokens_of(kind):
    """Tokens of a step."""
    config = json.loads((bench_folder(kind) / "data" / "config.json").read_text())
    return config["batch_size"] * config["seq_len"]


def speeds(tokens, answers, by_processor):
    """Tokens per second of each side."""
    return [tokens * STEPS / (answer["processor"] if by_processor else sum(answer["seconds"])) for answer in answers]


def training(program, kind, threads, rounds):
    """Trains in turn; of the rounds in which others took a part of the machine, none counts unless all are such."""
    print(f"{kind}, {threads} thread{'s' * (threads > 1)}:", flush=True)
    sides = trainers(program, kind, threads)
    first = [side.warm() for side in sides]
    quiet, contended = in_turn(sides, rounds)
    print(f"  {len(quiet)} rounds of {STEPS} steps kept, {len(contended)} thrown away as contended, {load()}")
    # Another program takes a thread's time, but hardly lets it need more; threads that wait for each other do need more.
    by_processor = not quiet and threads == 1
    if not quiet:
        taken = sorted(map(most_taken, contended))
        print(f"  ALL CONTENDED: others took {taken[0]:.0%} to {taken[-1]:.0%} of the machine; "
              + ("so these are tokens in a second of the processor" if by_processor else "these figures mean little"))
    rounds = [speeds(tokens_of(kind), answers, by_processor) for answers in quiet or contended]
    medians = [statistics.median(side) for side in zip(*rounds)]
    print(f"  repro {medians[0]:.0f} tokens/s")
    for at, side in enumerate(sides[1:], 1):
        ratios = sorted(tokens[0] / tokens[at] for tokens in rounds)
        better = ", the better one (goal: at least 1.15, aim 1.4)" if medians[at] == max(medians[1:]) else ""
        print(f"  PyTorch {side.name} {medians[at]:.0f} tokens/s: ratio of pairs {statistics.median(ratios):.3f} "
              f"({ratios[0]:.3f} to {ratios[-1]:.3f}){better}")
        a, b = sides[0].memory("VmHWM"), side.memory("VmHWM")
        print(f"    {agreement(first[0], first[at])}\n"
              f"    peak memory {a:.0f} MiB against {b:.0f}: ratio {a / b:.2f} (goal: at most 1.3); above what each "
              f"held before the first step {a - sides[0].at_rest:.0f} against {b - side.at_rest:.0f} MiB\n"
              f"    not counted: {side.started:.0f} s until it was ready, {WARM} steps", flush=True)
    for side in sides:
        side.end()


def against_torch():
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else RUNS
    import torch
    names = [line.partition(":")[2].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
             if line.startswith("model name")]
    program = timing_program("train")
    print(f"{names[0] if names else 'unknown processor'}, {load()}, PyTorch {torch.__version__} "
          f"({torch.backends.cpu.get_cpu_capability()})", flush=True)
    for kind in ("dense", "mixture"):
        for threads in (1, 2):
            training(program, kind, threads, rounds)
    print(load())


def hashing():
    sys.dont_write_bytecode = True
    import bench_hashing
    write = ROOT / "docs/explanation/hashing.md" if "--write" in sys.argv else None
    bench_hashing.hashing(REPRO, timing_program("hashing"), load, write)


if __name__ == "__main__":
    chosen = {"scipy": against_scipy, "linear": linear, "import": against_regex, "bootstrap": bootstrap, "hashing": hashing,
              "train": against_torch, "replay": replay}.get(sys.argv[1] if len(sys.argv) > 1 else "")
    sys.exit(chosen() if chosen else __doc__)
