#!/usr/bin/env python3
"""Everything that this project wants to know of a GPU, in one command with a time limit.

  scripts/gpu.py --pack             builds the programs and packs them with the training text into target/gpu.tar.gz:
                                    all that a bare machine needs beside a checkout
    --features cuda                 with candle's kernels, under scripts/cuda.sh
  scripts/gpu.py DEVICE OUT         runs all steps on a device, such as cuda:0, and writes OUT/gpu.json, OUT/gpu.md and the
                                    captures of tensor cores; unpacks target/gpu.tar.gz where it is there
    --seconds N                     the time limit [480]; each step has its share of it
    --only STEP...                  these steps alone

The steps come in the order of their value. What a step finds is on the disk when the next one begins; one that fails or
runs out of time is reported and does not stop the others. Needs Python 3; PyTorch is measured where it can be imported.
Exit status: 0 where every step that can run here does what it should, else 1.
"""
import argparse
import filecmp
import importlib.util
import json
import os
import pathlib
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time

sys.dont_write_bytecode = True
import bench

ROOT = bench.ROOT
PACK = ROOT / "target" / "gpu.tar.gz"
PROGRAMS = ROOT / "target" / "gpu"
CORPUS = ROOT / "target" / "corpus" / "shakespeare.txt"
ARMS = ("dense_active", "dense_total", "moe")
# Slices of PyTorch runs that state how their updates were made, and in how many bits.
STATED = ("hf-llama-micro", "hf-qwen3-moe")
ROUNDS = 3

# What differs between equal runs: wall-clock times, the machine, and what hashes them.
OF_THE_MACHINE = {"timing.jsonl", "receipt.json", "manifest-sha256.txt", "tagmanifest-sha256.txt", "bag-info.txt"}


class Differs(Exception):
    """A device computed something else."""


class Failed(Exception):
    """A command did not do what it should."""


class Absent(Exception):
    """Something that a step needs is not on this machine."""


class Machine:
    """The device, the programs, and the time that is left."""

    def __init__(self, device, out, seconds):
        self.device, self.out, self.seconds = device, out, seconds
        self.end = self.until = time.monotonic() + seconds
        self.temporary = pathlib.Path(tempfile.mkdtemp())
        self.fma_flops = None
        # What cargo built here, or else what `--pack` packed.
        packed, built = PROGRAMS / "repro", ROOT / "target" / "release" / "repro"
        self.program = os.environ.get("REPRO", str(built if built.exists() else packed))
        known = os.environ.get("LD_LIBRARY_PATH")
        self.environment = os.environ | {"LD_LIBRARY_PATH": ":".join([*([known] if known else []), *cuda_libraries()])}

    def timing_program(self, name):
        path = PROGRAMS / name
        if not path.exists():
            raise Absent(f"target/gpu/{name} is missing: scripts/gpu.py --pack builds it")
        return str(path)

    def run(self, command, statuses=(0,), is_silent=True):
        """Standard output of a command that has to end in time with one of these statuses; whether it may print nothing."""
        with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as complained:
            child = subprocess.Popen(command, stdout=said, stderr=complained, stdin=subprocess.DEVNULL, cwd=ROOT,
                                     env=self.environment, start_new_session=True)
            try:
                child.wait(timeout=max(self.until - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired as error:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
                said.seek(0)
                error.output = said.read()
                raise
            said.seek(0)
            complained.seek(0)
            answer = said.read()
            if child.returncode not in statuses or not (answer or is_silent):
                raise Failed(f"status {child.returncode}: {complained.read().strip()[-500:]}")
            return answer

    def repro(self, *arguments, **options):
        return self.run([self.program, *map(str, arguments)], **options)

    def json(self, *arguments, **options):
        return json.loads(self.repro(*arguments, "--format", "json", is_silent=False, **options))


def golden(machine):
    found = machine.json("devices", "--device", machine.device, statuses=(0, 4))["devices"][0]
    differing = [case for way in found["instructions"] for case in way["differing"]]
    if found.get("problem") or differing:
        raise Differs(found.get("problem") or ", ".join(differing))
    return "all golden cases equal", {"device": found}


def tensor_cores(machine):
    if not machine.device.startswith("cuda"):
        raise Absent("no tensor cores behind OpenCL")
    found = machine.json("devices", "--device", machine.device, "--tensor-cores", machine.out, statuses=(0, 4))
    said = []
    for one in found["captures"]:
        explained = sum(of["by_hopper_rule"] for of in one["distributions"].values())
        others = [f"{letter} {of['by_hopper_rule']:,} of {of['results']:,}"
                  for letter, of in one["distributions"].items() if of["by_hopper_rule"] < of["results"]]
        said.append(f"{one['operand']}: {explained:,} of {one['results']:,} by the rule of Hopper"
                    + (f" ({', '.join(others)})" if others else "") + f", {one['unsteady']} unsteady")
    return "; ".join(said), found


def sliced(arm):
    """A slice that the processor trained, replayed there and here."""
    def replayed(machine):
        answers, seconds = [], {}
        for place in ("cpu", machine.device):
            began = time.monotonic()
            bundle = f"receipts/tiny-moe-{arm}-active12-s1"
            answers.append(machine.json("replay", bundle, "--quiet", "--device", place, statuses=(0, 1, 3)))
            seconds[place] = round(time.monotonic() - began, 2)
        if answers[0] != answers[1] or answers[1]["verdict"] != "verified":
            raise Differs(f"{answers[0]['verdict']} on the processor, {answers[1]['verdict']} on the device")
        return "a slice of ten steps: same bits", {"seconds": seconds}
    return replayed


def files_of(bundles):
    """The files of a bundle, or of a folder of them, but for those of the machine."""
    paths = (path for path in bundles.rglob("*") if path.is_file() and path.name not in OF_THE_MACHINE)
    return {path.relative_to(bundles) for path in paths}


def same_file(receipt, trained):
    """Whether a file is what the receipt has. Evaluations have got more keys since some receipts were written."""
    if not trained.exists():
        return False
    if receipt.parent.name == "evaluation" and receipt.suffix == ".json":
        return json.loads(receipt.read_bytes()).items() <= json.loads(trained.read_bytes()).items()
    return filecmp.cmp(receipt, trained, shallow=False)


def same_bundles(receipts, trained):
    """Refuses bundles that do not have what the receipts have, file by file."""
    files = files_of(receipts)
    differing = [str(path) for path in sorted(files) if not same_file(receipts / path, trained / path)]
    if differing:
        raise Differs(f"{len(differing)} of {len(files)} files, the first {differing[0]}")


def study(machine):
    """The smoke study, trained there and here, and what the device trained, replayed on the processor."""
    here, there = machine.temporary / "cpu", machine.temporary / "device"
    for out, place in ((here, "cpu"), (there, machine.device)):
        machine.repro("train", "repro/studies/smoke.toml", "--quiet", "--out", out, "--device", place)
    if files_of(here) != files_of(there):
        raise Differs("other files")
    same_bundles(here, there)
    for arm in ("dense", "moe"):
        machine.repro("replay", there / f"smoke-{arm}-short-s1", "--quiet", "--device", "cpu")
    return f"{len(list(there.iterdir()))} runs with the same bytes; replayed on the processor", {}


def whole(arm):
    """The first run of an arm, trained from its seed on the device: the bytes of its receipt, and a slice on the processor."""
    def trained(machine):
        if not CORPUS.exists():
            raise Absent("the training text is missing: scripts/fetch_corpus.sh brings it")
        out, name = machine.temporary / f"whole-{arm}", f"tiny-moe-{arm}-active12-s1"
        # Rates were tuned by these, of all arms.
        for tuned in (ROOT / "receipts").glob("tiny-moe-*-tune-*"):
            shutil.copytree(tuned, out / tuned.name)
        began = time.monotonic()
        machine.repro("train", "repro/studies/tiny-moe.toml", "--only", name, "--quiet", "--out", out, "--device", machine.device)
        seconds = time.monotonic() - began
        same_bundles(ROOT / "receipts" / name, out / name)
        machine.repro("replay", out / name, "--quiet", "--device", "cpu")
        tokens = 2_476_032
        said = f"what the receipt has, byte for byte; a slice replayed on the processor; {tokens / seconds:,.0f} tokens/s"
        return said + " with evaluations", {"seconds": seconds, "tokens": tokens}
    return trained


def roofline(machine):
    found = json.loads(machine.run([machine.timing_program("roofline"), machine.device]))
    copied, fused, product = found["copy_bytes_per_second"], found["fma_flops"], found["product_flops"]
    share = ""
    if machine.device.startswith("cuda"):  # elsewhere a compiler may leave vectors out, so that the chains are no peak
        machine.fma_flops = fused
        share = f" ({product / fused:.0%})"
    return f"copy {copied / 1e9:,.1f} GB/s; float32 FMA {fused / 1e9:,.1f} GFLOP/s; our product {product / 1e9:,.1f}{share}", found


def operations(kind):
    """Floating-point operations of a step, forward and backward, as PaLM counts them (appendix B)."""
    config = json.loads((bench.bench_folder(kind) / "data" / "config.json").read_text())
    width, layers, length = config["hidden_size"], config["num_hidden_layers"], config["seq_len"]
    experts = config.get("num_experts_per_tok", 1) * config.get("moe_intermediate_size", config.get("intermediate_size"))
    attention = 4 * width * config["num_attention_heads"] * config["head_dim"]
    used = layers * (attention + 3 * width * experts) + width * config["vocab_size"]
    return (6 * used + 12 * layers * width * length) * bench.tokens_of(kind)


def measure(kind, device, program, twin):
    """Steps of a kind of model, in turn with PyTorch's in float32 where it is there: a line of figures after each round."""
    command = [program, str(bench.bench_folder(kind)), kind, device]
    sides, is_gpu = [bench.Side("repro", command)], device.startswith("cuda")
    if not sides[0].ready:
        sys.exit(f"it did not start: {sides[0].said}")
    figures = {"operations": operations(kind), "tokens": bench.tokens_of(kind), "seconds_of_a_step": {}, "losses": {}}
    if importlib.util.find_spec("torch"):
        more = ["--compile"] if twin == "compiled" else []
        side = bench.Side(twin, [*bench.twin(kind, os.cpu_count()), "--device", device if is_gpu else "cpu", *more])
        if side.ready:
            sides.append(side)
        else:
            figures["missing"] = side.said or f"PyTorch, {twin}, did not start"
    figures["losses"] = {side.name: side.steps(bench.WARM if is_gpu else 1)["losses"] for side in sides}
    times = {side.name: [] for side in sides}
    for _ in range(ROUNDS):
        for side in sides:
            times[side.name] += side.steps(bench.STEPS if is_gpu else 1)["seconds"]
        figures["seconds_of_a_step"] = {name: statistics.median(of) for name, of in times.items()}
        print(json.dumps(figures), flush=True)
    for side in sides:
        side.end()


def training(kind, twin):
    def trained(machine):
        is_gpu = machine.device.startswith("cuda")
        if twin == "compiled" and not importlib.util.find_spec("torch"):
            raise Absent("no PyTorch here")
        on = kind if is_gpu else kind.removesuffix("-25m")
        command = [sys.executable, __file__, "--measure", on, machine.device, machine.timing_program("train"), twin]
        try:
            said, late = machine.run(command), ""
        except subprocess.TimeoutExpired as error:
            said, late = error.output, " (stopped at its limit)"
        lines = [line for line in said.splitlines() if line.endswith("}")]
        if not lines:
            raise Failed("no round in time")
        found = json.loads(lines[-1])
        speeds = {name: found["tokens"] / seconds for name, seconds in found["seconds_of_a_step"].items()}
        flops = found["operations"] / found["seconds_of_a_step"]["repro"]
        found |= {"tokens_per_second": speeds, "flops": flops}
        text = f"{on}: {speeds['repro']:,.0f} tokens/s, {flops / 1e9:,.0f} GFLOP/s"
        if machine.fma_flops:
            text += f" ({flops / machine.fma_flops:.0%} of FMA)"
        if twin in speeds:
            apart = max(abs(a / b - 1) for a, b in zip(found["losses"]["repro"], found["losses"][twin]))
            where = "" if is_gpu else " on the processor"
            text += (f"; PyTorch {twin}{where} {speeds[twin]:,.0f}, ratio {speeds['repro'] / speeds[twin]:.2f}, "
                     f"first losses {apart:.1e} apart")
        else:
            text += f"; {found.get('missing', 'no PyTorch here')}"
        return text + late, found
    return trained


def cuda_libraries():
    """The folders of cuBLAS and cuRAND, as PyTorch's packages and CUDA's toolkit have them."""
    packages = [pathlib.Path(folder) / "nvidia" for folder in sys.path if folder]
    folders = [folder for package in packages for folder in (package / "cu13" / "lib", package / "cublas" / "lib",
                                                             package / "curand" / "lib")]
    return [str(folder) for folder in [*folders, pathlib.Path("/usr/local/cuda/lib64")] if folder.is_dir()]


def declared(machine, bundle, statement):
    """A copy of a bundle whose slices say that they were computed in so many bits."""
    copy = machine.temporary / bundle.name
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(bundle, copy)
    for path in (copy / "data" / "slices").glob("*.stated.json"):
        path.write_text(json.dumps(json.loads(path.read_text()) | statement))
    machine.repro("bundle", "seal", copy)
    return copy


def distances(found):
    """How far the engines are apart: losses and norms of gradients as they are, all else as a share of the tolerance."""
    allowed = {step["step"]: step for step in found["tolerance"]["steps"]}
    largest = {each["kind"]: each for each in found["engines"]["largest_differences"]}
    apart = {}
    for kind, field in (("loss", "loss"), ("gradient norm", "grad_norm")):
        each = largest[kind]
        apart[kind] = each["share_of_tolerance"] * allowed[each["step"]][field]
    return apart, {kind: each["share_of_tolerance"] for kind, each in largest.items()}


def candle(statement):
    """Slices by the candle engine on the device, in so many bits, against what our engine makes of the same."""
    def executed(machine):
        if "--candle-device" not in machine.repro("replay", "--help"):
            raise Absent("the candle engine is not built in")
        place = machine.device if machine.device.startswith("cuda") else "cpu"
        said, figures = [], {}
        for name in STATED:
            bundle = declared(machine, ROOT / "tests" / "corpus" / "replay" / name, statement)
            began = time.monotonic()
            try:
                found = machine.json("replay", bundle, "--quiet", "--engine", "both", "--candle-device", place, statuses=(0, 1, 3))
            except Failed as error:
                if any(words in str(error) for words in ("built without the feature", "candle needs")):
                    raise Absent(str(error)) from error
                raise
            if found["engines"]["candle"] is None:
                raise Failed(found["engines"]["candle_does_not_know"])
            apart, shares = distances(found)
            part = found["engines"]["part"]
            figures[name] = {"apart": apart, "shares_of_tolerance": shares, "part": part, "seconds": round(time.monotonic() - began, 2)}
            said.append(f"{name} losses {apart['loss']:.1e}, gradient norms {apart['gradient norm']:.1e} apart, updates "
                        f"{shares['update']:.0%} of the tolerance" + (f", part at {part['operation']}" if part else ""))
        return f"candle on {place}: " + "; ".join(said), {"candle_device": place, "slices": figures}
    return executed


# Each step with its share of the time limit.
STEPS = {
    "golden": (0.15, golden),
    "tensor-cores": (0.15, tensor_cores),
    **{f"slice-{arm}": (0.12, sliced(arm)) for arm in ARMS},
    "study": (0.25, study),
    "roofline": (0.1, roofline),
    **{f"whole-{arm}": (0.2, whole(arm)) for arm in ARMS},
    "dense": (0.2, training("dense-25m", "eager")),
    "mixture": (0.2, training("mixture-25m", "eager")),
    "candle-float32": (0.1, candle({})),
    "candle-tf32": (0.1, candle({"tf32": True})),
    "candle-autocast": (0.1, candle({"autocast": "bfloat16"})),
    "candle-bfloat16": (0.1, candle({"compute": "bfloat16"})),
    "dense-compiled": (0.4, training("dense-25m", "compiled")),
    "mixture-compiled": (0.4, training("mixture-25m", "compiled")),
}


def perform(machine, step):
    """What a step found, or why it found nothing."""
    share, work = STEPS[step]
    began = time.monotonic()
    machine.until = min(began + share * machine.seconds, machine.end)
    try:
        if began >= machine.end:
            raise subprocess.TimeoutExpired(step, 0)
        said, figures = work(machine)
        outcome = "done"
    except Absent as error:
        outcome, said, figures = "absent", str(error), {}
    except Differs as error:
        outcome, said, figures = "differs", f"DIFFERS: {error}", {}
    except subprocess.TimeoutExpired:
        outcome, said, figures = "out of time", f"out of time after {time.monotonic() - began:.0f} s", {}
    except Exception as error:  # whatever it was, the other steps can still run
        outcome, said, figures = "failed", f"FAILED: {error}", {}
    return {"step": step, "outcome": outcome, "said": said, "seconds": round(time.monotonic() - began, 1), "figures": figures}


def machine_facts(machine):
    machine.until = time.monotonic() + 10
    facts = {"machine": platform.platform(), "cores": os.cpu_count(), "python": platform.python_version()}
    queries = {"program": [machine.program, "--version"],
               "gpu": ["nvidia-smi", "--query-gpu=name,driver_version,memory.total,clocks.max.sm", "--format=csv,noheader"]}
    for name, command in queries.items():
        try:
            facts[name] = machine.run(command).strip()
        except (OSError, Failed, subprocess.TimeoutExpired):
            facts[name] = None
    return facts


def write(out, document):
    (out / "gpu.json").write_text(json.dumps(document, indent=1) + "\n")
    about = next((step["figures"]["device"] for step in document["steps"] if "device" in step["figures"]
                  and isinstance(step["figures"]["device"], dict)), {})
    facts = document["facts"]
    known = [facts["gpu"] or about.get("name"), f"driver {about['driver']}" if "driver" in about else None, facts["program"],
             f"{document['seconds']:.0f} s of {document['limit']}"]
    lines = [f"`{document['device']}`: {'; '.join(filter(None, known))}.", "", "| step | outcome | seconds |", "|---|---|---|"]
    lines += [f"| {step['step']} | {' '.join(step['said'].split()).replace('|', '/')} | {step['seconds']} |"
              for step in document["steps"]]
    (out / "gpu.md").write_text("\n".join(lines) + "\n")


def everything(device, out, seconds, steps):
    if PACK.exists():
        with tarfile.open(PACK) as packed:
            # Python has had this filter since 3.11.4.
            packed.extractall(ROOT / "target", **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    out.mkdir(parents=True, exist_ok=True)
    machine, began = Machine(device, out, seconds), time.monotonic()
    document = {"schema": "repro.gpu/1", "device": device, "limit": seconds, "facts": machine_facts(machine), "steps": []}
    try:
        for step in steps:
            found = perform(machine, step)
            print(f"{step}: {found['said']} ({found['seconds']} s)", flush=True)
            document["steps"].append(found)
            document["seconds"] = round(time.monotonic() - began, 1)
            write(out, document)
    finally:
        shutil.rmtree(machine.temporary, ignore_errors=True)
    return any(step["outcome"] not in ("done", "absent") for step in document["steps"])


def pack(features):
    timing = ["cargo", "bench", "--no-run", "--locked", "--profile", "release", "--bench", "roofline", "--bench", "train"]
    if features:
        timing += ["--features", features]
    built = subprocess.run([*timing, "--message-format", "json"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    messages = map(json.loads, built.stdout.splitlines())
    # The program is built with what times it.
    programs = {message["target"]["name"]: message["executable"] for message in messages if message.get("executable")}
    programs = {name: programs[name] for name in ("roofline", "train", "repro")}
    if not CORPUS.exists():
        subprocess.run([ROOT / "scripts/fetch_corpus.sh"], check=True)
    with tarfile.open(PACK, "w:gz", compresslevel=6) as packed:
        for name, path in programs.items():
            packed.add(path, f"gpu/{name}")
        packed.add(CORPUS, "corpus/shakespeare.txt")
    print(f"{PACK.relative_to(ROOT)}: {PACK.stat().st_size / 2**20:.1f} MiB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("device", nargs="?")
    parser.add_argument("out", nargs="?", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=480)
    parser.add_argument("--only", nargs="+", choices=STEPS, default=list(STEPS), metavar="STEP")
    parser.add_argument("--pack", action="store_true")
    parser.add_argument("--features", default="")
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    own = parser.parse_args()
    if own.pack:
        return pack(own.features)
    if own.measure:
        return measure(*own.measure)
    if own.out is None:
        parser.error("a device and a folder, or --pack")
    return everything(own.device, own.out.absolute(), own.seconds, own.only)


if __name__ == "__main__":
    sys.exit(main())
