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
run.sh bench peers    decode and MLA beside FlashInfer and cuDNN, where python3 has them; not part of "every". What stands
                      behind it goes to peers/attention.py: --cases, --without, --add, --quick
run.sh sanitize       compute-sanitizer over the tests, tool by tool, into ./results/sanitizer.log; a few minutes
run.sh live           PyTorch scripts and C++ probes under refrain audit, into ./results/live.log
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
  # As on a device newer than the build: the code for sm_80, compiled when it is loaded. cuBLAS has none of that kind, and
  # what there is of xqa_decode takes two minutes to compile.
  say "once more, on the code for sm_80"
  CUDA_FORCE_PTX_JIT=1 "$here/bin/test_gpu" \
    'grouped*,plan*,pad_fix*,sparse_mla*,merge_mla*,mla*,rms*,rope*,introspection*' || failed=1
  return "$failed"
}

run_bench() {
  find_cupti
  local program name topic status failed=0 found=0
  mkdir -p results
  if [ "${1:-}" = peers ]; then
    python3 "$here/peers/attention.py" --bench "$here/bin" --out results/peers.json "${@:2}"
    return
  fi
  for program in "$here"/bin/bench_*; do
    name=$(basename "$program")
    topic=${name#bench_}
    topic=${topic//_/-}
    [ -z "${1:-}" ] || [ "$1" = "$topic" ] || continue
    found=1 status=0
    say "$topic"
    local options=()
    if [ "$topic" = capture ] && python3 -c 'import torch' 2>/dev/null; then
      options=(--peer "$here/peers/torch_capture.py")
    fi
    if python3 -c 'import torch' 2>/dev/null; then export REFRAIN_BENCH_PEER=$here/peers/torch_decode.py; fi
    "$program" --out "results/$topic.json" "${options[@]}" || status=$?
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

# One line a run: tool, program, tests. What runs for minutes under a tool stands here as a part that reaches the same
# kernels. The driver's end-of-list answer to cuFuncGetParamInfo is no error of ours, so API errors are not reported.
sanitizer_runs() {
  cat <<'TABLE'
memcheck  test_gpu_steps  run: the report*,run: pad rows*,run: 24*,faults: without*,pointer watch*
memcheck  test_gpu        plan*,kv_append*,merge*,xqa merge on the GPU: what*,xqa merge on the GPU: a second*
racecheck test_gpu_steps  run: the report*,run: pad rows*
racecheck test_gpu        plan_xqa on the device: the real*,plan_grouped on the device: a group*,pad_fix*,xqa merge on the GPU: chunks*,xqa merge on the GPU: a second*,kv_append on the device: rows*
racecheck test_gpu        grouped on the device: empty*
synccheck test_gpu        grouped on the device: from one*,grouped on the device: a NaN V*,xqa early*
memcheck  test_gpu        grouped on the device: a NaN V*,grouped on the device: from one*,xqa early*
racecheck test_gpu        xqa on the GPU: slots*,xqa on the GPU: leading*,xqa on the GPU: full*
memcheck  test_gpu        sparse_mla on the GPU: a NaN*,sparse_mla on the GPU: lengths*,sparse_mla on the GPU: a sentinel*,page_split*,verify_draft*
memcheck  test_gpu        sparse_mla on the GPU: the reported*,sparse_mla on the GPU: a head*,xqa splits on the GPU: a length*
synccheck test_gpu        sparse_mla on the GPU: the reported*,sparse_mla on the GPU: a head*,sparse_mla on the GPU: a NaN*
memcheck  test_gpu_steps  mtp: E4M3*,step ring: results*,mla run: a row without*,mla faults: without*
racecheck test_gpu_steps  mla run: a row without*,step ring: results*
racecheck test_gpu        sparse_mla on the GPU: a sentinel*,sparse_mla on the GPU: the reported*,sparse_mla on the GPU: a head*,sparse_mla on the GPU: a NaN*,merge_mla*
memcheck  test_gpu_steps  pdl: kernels*,llama: a pad row*,attention_only: a pad row*,arena overlays: two*
memcheck  test_gpu        mla_append*,select_*,rope_append*,gemm*
racecheck test_gpu_steps  pdl: kernels*,llama: a pad row*
racecheck test_gpu        mla_append*,select_*,rope_append*,gemm on the device: few*
initcheck test_gpu_steps  pdl: kernels*
synccheck test_gpu_steps  pdl: kernels*,llama: a pad row*,attention_only: a pad row*
initcheck test_gpu_steps  run: the report*,run: pad rows*,mla run: a row without*
synccheck test_gpu_steps  run: the report*,run: pad rows*,run: 24*,mla run: a row without*
TABLE
}

sanitize() {
  command -v compute-sanitizer >/dev/null || { say "compute-sanitizer (CUDA toolkit) is not in PATH"; return 2; }
  mkdir -p results
  # The parts stay where a run is ended: what was done until then is in them.
  local tool program tests log=results/sanitizer.log parts=results/sanitizer.parts run=0 failed=0
  rm -rf "$parts"
  mkdir "$parts"
  while read -r tool program tests; do
    run=$((run + 1))
    while [ "$(jobs -rp | wc -l)" -ge "$sanitizers" ]; do wait -n || true; done
    sanitize_one "$tool" "$program" "$tests" "$parts/failed" >"$parts/$(printf %02d "$run")" &
  done < <(sanitizer_runs)
  wait
  printf '%s, commit %s\n' "$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -1)" \
    "$REFRAIN_COMMIT" | cat - "$parts"/[0-9][0-9] >"$log"
  [ ! -e "$parts/failed" ] || failed=1
  rm -rf "$parts"
  cat "$log"
  return "$failed"
}

sanitizers=4 # at a time: a tool's run leaves most of the GPU idle

# TOOL PROGRAM TESTS FAILED: makes the file FAILED where it found something, or did not run.
sanitize_one() {
  local output
  printf '\n== compute-sanitizer --tool %s %s "%s"\n' "$1" "$2" "$3"
  output=$(compute-sanitizer --report-api-errors no --error-exitcode 9 --tool "$1" "$here/bin/$2" "$3" 2>&1 </dev/null) ||
    : >"$4"
  grep -E '^=========|^All tests|^test cases|^assertions' <<<"$output" |
    grep -v 'COMPUTE-SANITIZER\|Host Frame' | sed -n 1,40p # not head, which would end the pipe, and this script
}

# CUPTI often comes with PyTorch alone, where only PyTorch finds it.
find_cupti() {
  local folder
  folder=$(python3 -c 'import glob, os, torch
print(next(iter(glob.glob(os.path.join(os.path.dirname(torch.__file__), "../nvidia/*/lib/libcupti.so.13"))), ""))' 2>/dev/null) || true
  [ -z "$folder" ] || export LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$(dirname "$folder")
}

# The log is what is committed: the machine, the commit, and a line a script.
live() {
  mkdir -p results
  find_cupti
  local log=results/live.log status=0
  printf '%s, commit %s\n' "$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -1)" \
    "$REFRAIN_COMMIT" >"$log"
  python3 -B "$here/live/run_live.py" "$here/bin/refrain" "$here/bin/live_probes" 2>&1 | tee -a "$log" || status=$?
  PYTHONPATH=$here/python python3 -B "$here/live/window_test.py" "$here/bin/refrain" 2>&1 | tee -a "$log" || status=$?
  python3 -B "$here/live/own_runtime_test.py" "$here/bin/refrain" 2>&1 | tee -a "$log" || status=$?
  return "$status"
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
  sanitize) sanitize ;;
  live) live ;;
  demo) demo ;;
  help | -h | --help) usage ;;
  *)
    say "no command '$command'"
    usage >&2
    exit 2
    ;;
esac
