#!/usr/bin/env bash
# Runs what `./dev gpu` packed beside it. JSON results go to ./results of the
# folder that it is called from.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
REFRAIN_COMMIT=$(cat "$here/commit")
export REFRAIN_COMMIT

usage() {
  cat <<'TEXT'
run.sh test           the tests that need a GPU
run.sh bench [TOPIC]  every benchmark, or one (soak, launch, grouped, ...), into ./results
run.sh demo           one step, broken on purpose and then as it should be
TEXT
}

say() { printf '%s\n' "run.sh: $*" >&2; }

# A test program returns 77 where there is no device to test on: that is no pass.
run_tests() {
  local program status failed=0
  for program in test_gpu test_gpu_steps; do
    status=0
    "$here/bin/$program" || status=$?
    [ "$status" -eq 0 ] || failed=1
    [ "$status" -ne 77 ] || say "$program: skipped, no CUDA device that it runs on"
  done
  return "$failed"
}

run_bench() {
  local program name topic status failed=0 found=0
  mkdir -p results
  for program in "$here"/bin/bench_*; do
    name=$(basename "$program")
    topic=${name#bench_}
    topic=${topic//_/-}
    [ -z "${1:-}" ] || [ "$1" = "$topic" ] || continue
    found=1 status=0
    say "$topic"
    "$program" --out "results/$topic.json" || status=$?
    if [ "$status" -eq 0 ]; then
      say "wrote results/$topic.json"
    else
      say "$topic: exit code $status"
      failed=1
    fi
  done
  [ "$found" -eq 1 ] || { say "no benchmark '$1'"; return 2; }
  return "$failed"
}

demo() {
  local refrain=$here/bin/refrain status=0
  printf '%s\n\n' '== A step with both protections taken away, over a null block that holds E4M3 NaN =='
  "$refrain" run --step grouped_prefill --poison null-block --device cuda \
    --fault kernel-zero-off,pad-fix-off || status=$?
  [ "$status" -eq 1 ] || { say "expected exit code 1 for the broken step, found $status"; return 1; }
  printf '\n%s\n\n' '== The same step as it should be =='
  "$refrain" run --step grouped_prefill --poison null-block --device cuda
}

command=${1:-help}
[ $# -gt 0 ] && shift
case $command in
  test) run_tests ;;
  bench) run_bench "$@" ;;
  demo) demo ;;
  help | -h | --help) usage ;;
  *)
    say "no command '$command'"
    usage >&2
    exit 2
    ;;
esac
