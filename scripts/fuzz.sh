#!/usr/bin/env bash
# Fuzzes every reader of strangers' bytes and writes docs/explanation/fuzzing.md.
#
# usage: scripts/fuzz.sh [CPU_SECONDS] [TARGET...]
#
# Each target runs until its process has used CPU_SECONDS (900 where none are named) of processor time, with
# what earlier calls have used counted in: a call with 0 only counts lines and writes the document. The rows of
# targets that are not named stay in the document as they are. Corpora, logs and inputs that broke something are
# kept below target/fuzz. tests/fuzz/README.md says what is needed.
set -euo pipefail
cd "$(dirname "$0")/.."

budget=${1:-900}
shift $(($# > 0 ? 1 : 0))
all=(bundle decimal document envelope gguf header import json post project tables timestamp work)
targets=("${@:-${all[@]}}")
kept=$PWD/target/fuzz
document=docs/explanation/fuzzing.md
triple=$(rustc -vV | sed -n 's/^host: //p')
export CARGO_TERM_COLOR=never

# The longest input of a target: long enough for its largest seed.
longest() {
  case $1 in
    decimal) echo 512 ;;
    tables) echo 2048 ;;
    header | json) echo 4096 ;;
    import) echo 49152 ;;
    *) echo 8192 ;;
  esac
}

# The folders of seeds of a target; posts begin with those of the corpus too.
seeds() {
  echo "tests/fuzz/seeds/$1"
  if [ "$1" = post ]; then printf '%s\n' tests/corpus/*/repro; fi
}

# The files whose lines are counted.
readers() {
  case $1 in
    bundle)
      ls src/bundle/bundle/{agree,canonical,chain,facts,folder,glance,lines,load,manifest,name,opened,passage,receipt}.rs \
        src/bundle/bundle/{record,weights}.rs
      ;;
    decimal) ls src/core/decimal/{grammar,printed,interval,render,agreement,float}.rs ;;
    document) ls src/formats/check/{find,read,kind,damaged}.rs src/formats/check/kinds/*.rs ;;
    envelope) ls src/bundle/signature/{envelope,statement,mod}.rs ;;
    gguf) ls src/bundle/checkpoint/{gguf,file}.rs src/model/params/gguf.rs ;;
    header) ls src/bundle/checkpoint/header.rs src/bundle/bundle/weights.rs ;;
    import) ls src/formats/import/{speedrun,mlperf,jsonl,csv,hf_trainer,log,columns,run,scoring/convergence}.rs ;;
    json) ls src/core/source/{json,pointer,code}.rs src/bundle/bundle/{canonical,glance}.rs ;;
    post)
      ls src/core/source/toml.rs src/verify/{post,covered,mutated,names}.rs src/verify/page/*.rs src/verify/statement/*.rs \
        src/verify/evaluate/*.rs src/claim/{grammar,locator,place,quote,seen,sentence,spelling,syntax,table}.rs src/claim/quote/*.rs
      ;;
    project) ls src/verify/review/{config,record,store}.rs src/verify/{lock,index}.rs src/model/study/*.rs src/formats/gate/rule.rs ;;
    tables) ls src/core/source/csv.rs ;;
    timestamp) ls src/bundle/signature/timestamp.rs ;;
    work) ls src/verify/cluster/{asked,item,plan,result}.rs ;;
  esac
}

# The sum of a column of the runs of a target.
total() { awk -v column="$2" '{ sum += $column } END { printf "%d", sum }' "$kept/runs/$1.txt" 2>/dev/null || echo 0; }

fuzz() {
  local target=$1 left log=$kept/runs/$1.log status
  mkdir -p "$kept/corpus/$target" "$kept/artifacts/$target" "$kept/runs"
  while left=$((budget - $(total "$target" 2))) && [ "$left" -gt 0 ]; do
    status=0
    # shellcheck disable=SC2046
    TIMEFORMAT='%U %S'; { time nice "$kept/$triple/release/$target" -max_total_time="$left" -timeout=60 \
      -rss_limit_mb=1024 -max_len="$(longest "$target")" -dict="tests/fuzz/dictionaries/$target.dict" \
      -artifact_prefix="$kept/artifacts/$target/" -print_final_stats=1 \
      "$kept/corpus/$target" $(seeds "$target") 2>"$log" || status=$?; } 2>"$kept/runs/$target.time"
    echo "$(awk '/number_of_executed_units/ { print $2 }' "$log") $(awk '{ printf "%d", $1 + $2 + 0.5 }' "$kept/runs/$target.time")" \
      >>"$kept/runs/$target.txt"
    if [ "$status" -ne 0 ]; then
      echo "$target broke: see $log and $kept/artifacts/$target" >&2
      exit 1
    fi
  done
}

# Runs the corpus once more in a build that counts lines; answers how many lines of the reader's files ran, and
# how many have code. Of each file the two numbers are kept.
coverage() {
  local target=$1 kept_as=$kept/runs/$1 replay=$kept/coverage/debug/examples/replay
  # shellcheck disable=SC2046
  LLVM_PROFILE_FILE=$kept_as.profraw "$replay" "$target" "$kept/corpus/$target" $(seeds "$target") >"$kept_as.replayed"
  cov show --instr-profile "$kept_as.profraw" --object "$replay" >"$kept_as.shown"
  for file in $(readers "$target"); do
    # a line is `NUMBER|HITS|TEXT`, without hits where it has no code
    awk -F'|' -v file="$file" -v path="$PWD/$file" '
      $0 == path { here = 1; next }
      here && $1 !~ /^ *[0-9]+$/ { here = 0 }
      here && $2 ~ /[0-9]/ { lines++; ran += $2 > 0 }
      END { print file, ran + 0, lines + 0 }' "$kept_as.shown"
  done >"$kept_as.lines"
  rm "$kept_as.shown"
  awk '{ ran += $2; lines += $3 } END { print ran + 0, lines + 0 }' "$kept_as.lines"
}

row() {
  local target=$1 ran lines
  read -r ran lines <<<"$(coverage "$target")"
  awk -v name="$target" -v cpu="$(total "$target" 2)" -v runs="$(total "$target" 1)" \
    -v corpus="$(find "$kept/corpus/$target" -type f | wc -l)" -v ran="$ran" -v lines="$lines" \
    'BEGIN { printf "| `%s` | %.1f | %d | %d | %d of %d (%.1f%%) |\n", name, cpu / 60, runs, corpus, ran, lines, lines ? 100 * ran / lines : 0 }'
}

named() { [[ " ${targets[*]} " == *" $1 "* ]]; }

# The rows of a target as they stand in the document, of the shape that is wanted.
stands() { awk -F'|' -v name=" \`$1\` " '$2 == name && '"$2" "$document" 2>/dev/null || true; }

manifest=tests/fuzz/Cargo.toml
cargo fuzz build --fuzz-dir tests/fuzz --sanitizer none --debug-assertions --target-dir "$kept"
for target in "${targets[@]}"; do fuzz "$target"; done

LLVM_PROFILE_FILE=$kept/runs/build.profraw RUSTFLAGS=-Cinstrument-coverage \
  cargo build --locked --manifest-path $manifest --example replay --target-dir "$kept/coverage"
{
  cat <<'END'
# Fuzzing

Written by `scripts/fuzz.sh`; what broke is kept in `tests/fuzz/BROKE.md`. A target is a reader of strangers'
bytes and what it promises (`tests/fuzz/targets/`); libFuzzer feeds it, with overflow checks and debug assertions
on. The corpus holds the inputs that reached something new; the lines are those of the reader's own files, tests
left out, that the corpus and the seeds run.

| Target | CPU minutes | executions | corpus | lines run |
|---|--:|--:|--:|--:|
END
  for target in "${all[@]}"; do
    if named "$target"; then row "$target"; else stands "$target" 'NF == 7'; fi
  done
  printf '\nBy file:\n\n| Target | File | lines run | lines |\n|---|---|--:|--:|\n'
  for target in "${all[@]}"; do
    if named "$target"; then
      awk -v name="$target" '{ printf "| `%s` | `%s` | %d | %d |\n", name, $1, $2, $3 }' "$kept/runs/$target.lines"
    else
      stands "$target" 'NF == 6 && $3 ~ /src/'
    fi
  done
  echo
  cat tests/fuzz/BROKE.md
} >"$kept/fuzzing.md"
mkdir -p "$(dirname "$document")"
cp "$kept/fuzzing.md" "$document"
cat "$document"
