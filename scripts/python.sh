#!/usr/bin/env bash
# The Python package: types, the wheel, and the wheel as its user has it:
#
#   scripts/python.sh                 types, the wheel and what is in it, an installation of it alone, its use, and the
#                                     adapters beside wandb and trackio (about 100 MB from PyPI)
#   scripts/python.sh --libraries     the callbacks beside transformers and lightning too (PyTorch with what it needs: 3 GB)
#
# The tests that need the standard library alone are run by `cargo test --test it emitter`. Packages from PyPI go into
# target/python, once.
set -euo pipefail
cd "$(dirname "$0")/.."
project=$PWD
tools=$project/target/python
tool_packages=(maturin==1.16.0 mypy==2.4.1)
library_packages=(wandb==0.31.0 trackio==0.43.0)
if [ "${1-}" = --libraries ]; then
  library_packages+=(torch==2.15.0 transformers==5.23.0 accelerate==1.15.0 lightning==2.6.6)
fi

# A virtual environment with these packages.
environment() {
  local folder=$tools/$1
  shift
  if [ "$(cat "$folder/installed" 2>/dev/null)" != "$*" ]; then
    rm -rf "$folder"
    python3 -m venv "$folder"
    [ $# -eq 0 ] || "$folder/bin/pip" install --quiet --disable-pip-version-check "$@"
    echo "$*" >"$folder/installed"
  fi
}
environment tools "${tool_packages[@]}"
environment libraries "${library_packages[@]}"

(cd scripts/python && "$tools/tools/bin/mypy" --cache-dir "$tools/mypy")

# The program of the release profile is built already where CI runs this; what is published is built by another profile.
rm -rf "$tools/wheels" "$tools/user"
(cd scripts/python && PATH=$tools/tools/bin:$PATH CARGO_TARGET_DIR=$project/target \
  maturin build --quiet --release --manylinux off --out "$tools/wheels")
wheel=$(echo "$tools"/wheels/repro_receipts-*.whl)
python3 - "$wheel" <<'END'
import pathlib, re, sys, zipfile

names = zipfile.ZipFile(sys.argv[1]).namelist()
package = {f"repro_receipts/{path.name}" for path in pathlib.Path("scripts/python/repro_receipts").iterdir() if path.is_file()}
others = {name for name in names if not re.search(r"\.dist-info/", name)}
program = {name for name in others if name.endswith(".data/scripts/repro")}
assert len(program) == 1 and others - program == package, others ^ package
assert any(name.endswith("/licenses/LICENSE") for name in names), names
print(f"{pathlib.Path(sys.argv[1]).name}: {len(package)} files of the package, the program and the licence")
END

# A checkout installed by pip: the program that is built already, in a wheel with the same files, and nothing is left behind.
before=$(find scripts/python -not -path '*/__pycache__*' | sort)
CARGO_TARGET_DIR=$project/target "$tools/tools/bin/pip" wheel --quiet --disable-pip-version-check --no-index --no-deps \
  --wheel-dir "$tools/wheels/checkout" ./scripts/python
[ "$(find scripts/python -not -path '*/__pycache__*' | sort)" = "$before" ]
python3 - "$wheel" "$tools"/wheels/checkout/repro_receipts-*.whl <<'END'
import sys, zipfile

published, built = ({name for name in zipfile.ZipFile(path).namelist() if ".dist-info/" not in name} for path in sys.argv[1:])
assert published == built, published ^ built
print("pip wheel of the checkout: the same files, around the program that was built")
END

# As its user has it: nothing but the wheel, from nothing to a finding, with no variable that would help.
python3 -m venv "$tools/user"
"$tools/user/bin/pip" install --quiet --disable-pip-version-check --no-index "$wheel"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
alone() { env -i PATH="$tools/user/bin:/usr/bin:/bin" HOME="$work" "$@"; }
printf 'step,train/loss,val/loss\n1,3.5,3.6\n2,3.1,3.3\n' >log.csv
alone repro import log.csv --out imported >said
grep -q '^written  1 bundle' said
alone python - <<'END'
import repro_receipts as receipts

run = receipts.init("first-s1", "receipts", config={"lr": 0.1}, trainer={"name": "t"}, seeds={"init": 1}, resume=True)
for step in range(1, 11):
    run.log({"train/loss": 3 / step, "val/loss": 4 / step}, step=step)
run.task(10, "arc", correct=3, n=4)
assert run.finish(), run.problems
report = receipts.verify("receipts/first-s1")
assert (report.exit_status, report.verdicts["refuted"]) == (0, 0), report
assert "<iframe sandbox srcdoc=" in report._repr_html_()
END
alone repro verify receipts/first-s1 >said
grep -q '^first-s1 .* ✓ all 2 claims follow from the evidence$' said
echo "installed without an index and used without an environment: a log imported, a run written and verified"

cd "$project"
export REPRO_BIN=$tools/user/bin/repro
if [ "${1-}" = --libraries ]; then
  REPRO_REQUIRE_LIBRARIES=1 "$tools/libraries/bin/python" scripts/python/test_libraries.py
else
  REPRO_REQUIRE_LIBRARIES=1 "$tools/libraries/bin/python" scripts/python/test_libraries.py Wandb Trackio
fi
