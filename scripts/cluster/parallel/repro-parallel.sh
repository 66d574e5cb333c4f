#!/usr/bin/env bash
# The shares of a plan in a room of machines that answer to ssh:
#
#   repro-parallel.sh PLAN STORE HOSTS SHARES [OPTION of `repro cluster work`]...
#
# Start it in the project's folder; PLAN and STORE are paths below it. HOSTS has a line for each machine, as `4/user@host` for four shares
# at a time. Each has `repro` in its path and this project in its home, in a folder of the same name. What is done comes back into
# STORE/share-K. A share that fails goes to another machine; start the script again after an interruption and it goes on.
set -euo pipefail
plan=$1 store=$2 hosts=$3 shares=$4
shift 4

mkdir -p "$store"
# a machine that is gone is noticed within a minute
export PARALLEL_SSH='ssh -o BatchMode=yes -o ConnectTimeout=20 -o ServerAliveInterval=20 -o ServerAliveCountMax=2'
seq "$shares" | parallel --will-cite --quote --sshloginfile "$hosts" --workdir "$(basename "$PWD")" \
  --basefile "$plan" --return "$store/share-{}" --retries 5 --joblog "$store/jobs.tsv" --resume-failed \
  repro cluster work "$plan" --results "$store/share-{}" --partition "{}/$shares" "$@"
