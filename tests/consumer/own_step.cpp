// A step of our own: how often each token id occurs. It is captured, audited and replayed twice. The counters have to
// start every replay from zero, which `--broken` sees to once, before the capture.
#include <iostream>
#include <string_view>

#include "kernels/op.hpp"
#include "runtime/host/host_driver.hpp"
#include "runtime/runtime.hpp"
#include "runtime/transfer.hpp"
#ifdef REFRAIN_HAS_CUDA
#include "runtime/cuda/make_cuda_driver.hpp"
#endif

using namespace refrain;

struct CountArgs {
  const std::int32_t* ids;  // [rows]
  std::int32_t* counts;     // [vocab], zeroed
  std::int32_t rows, vocab;
};

Contract count_contract(const CountArgs& a) {  // what it touches, and what it needs to find there
  return {{touch(a.ids, a.rows, Mode::read, Role::input, Dtype::i32),
           touch(a.counts, a.vocab, Mode::accumulate, Role::output, Dtype::i32)},
          {claim(Fact::zeroed, a.counts, a.vocab * sizeof(std::int32_t))},
          {}};
}

void count_host(const CountArgs& a) {  // what the host driver runs
  for (std::int32_t row = 0; row < a.rows; ++row) ++a.counts[a.ids[row]];
}

#ifdef __CUDACC__
__global__ void count_kernel(CountArgs a) {
  const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < static_cast<unsigned>(a.rows)) atomicAdd(&a.counts[a.ids[row]], 1);
}
void count_launch(const CountArgs& a, void* stream) {
  count_kernel<<<(a.rows + 255) / 256, 256, 0, static_cast<cudaStream_t>(stream)>>>(a);
}
#else
constexpr void (*count_launch)(const CountArgs&, void*) = nullptr;
#endif

const Op<CountArgs> count_ids = {"count_ids", count_contract, count_host, count_launch};

std::unique_ptr<Driver> make_driver() {
#ifdef REFRAIN_HAS_CUDA
  if (cuda_device_present()) return make_cuda_driver();
#endif
  return std::make_unique<HostDriver>();
}

int main(int argc, char** argv) {
  const bool broken = argc > 1 && std::string_view(argv[1]) == "--broken";
  const auto driver = make_driver();
  Runtime runtime(*driver, 1 << 20);
  const std::vector<std::int32_t> ids_now = {3, 1, 3, 0, 3};
  const Lease ids = runtime.arena.lease({"ids", ids_now.size() * 4, Role::input, Dtype::i32});
  const Lease counts = runtime.arena.lease({"counts", 4 * 4, Role::output, Dtype::i32});
  runtime.recorder.entry(Fact::written, ids.address(), ids_now.size() * 4, Origin::host_each_launch, "main");

  if (broken) runtime.recorder.zero(counts.address(), 4 * 4);
  const Captured captured = runtime.capture("count", [&](Recorder& recorder) {
    if (!broken) recorder.zero(counts.address(), 4 * 4);
    recorder.launch(count_ids, {ids.as<std::int32_t>(), counts.as<std::int32_t>(), 5, 4});
  });
  GraphExec exec = runtime.instantiate(captured);
  for (int replay = 1; replay <= 2; ++replay) {
    write_array(runtime.driver, ids, ids_now);
    runtime.replay(exec);
    std::cout << "replay " << replay << ':';
    for (const std::int32_t count : read_array<std::int32_t>(runtime.driver, counts, 4)) std::cout << ' ' << count;
    std::cout << '\n';
  }
  const Report report = runtime.audit("own step");
  std::cout << report_text(report);
  return report.exit_code();
}
