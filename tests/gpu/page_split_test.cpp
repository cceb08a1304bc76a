// page_split on the device: every byte as the twin leaves it, launched and as a
// graph, over poisoned scratch and mask; and pages beyond 2^31 bytes of real pools.
#include "kernels/page_split.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <climits>

#include "tests/catch.hpp"
#include "tests/gpu/device_run.hpp"
#include "tests/kernels/scene.hpp"
#include "tests/kernels/split_scene.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

/// Slots, no slots and garbage; lengths from none to more than there is.
void fill_lists(SplitScene& scene, Rng& rng) {
  const auto slots = static_cast<std::int32_t>(scene.args.source.slots());
  const std::int32_t bad[] = {-1, INT_MIN, INT_MAX, slots, slots + 255};
  for (std::int32_t i = 0; i < scene.args.rows * scene.args.topk; ++i)
    scene.indices[i] = rng() % 4 == 0 ? bad[rng() % std::size(bad)] : static_cast<std::int32_t>(rng()) % slots;
  for (std::int32_t row = 0; row < scene.args.rows; ++row)
    scene.lengths[row] = static_cast<std::int32_t>(rng() % static_cast<std::uint64_t>(scene.args.topk + 3)) - 1;
}

void require_split(SplitScene& scene) {
  for (const std::int32_t real : {scene.args.rows, scene.args.rows / 2, 0, -1, scene.args.rows + 9}) {
    CAPTURE(real);
    *scene.real_rows = real;
    require_as_twin(page_split, scene.args, scene.memory);
  }
}

class DeviceBytes {
 public:
  explicit DeviceBytes(std::size_t bytes) {
    void* at = nullptr;
    require_success(cudaMalloc(&at, bytes), "cudaMalloc");
    data_ = static_cast<std::byte*>(at);
    require_success(cudaMemset(at, 0xFF, bytes), "cudaMemset");
  }
  ~DeviceBytes() { cudaFree(data_); }
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;
  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
};

/// How many bytes of a scratch page hold `value`.
std::ptrdiff_t count(const MlaPoolView& scratch, std::int64_t page, int value) {
  std::vector<std::byte> bytes(kScratchPage);
  require_success(
      cudaMemcpy(bytes.data(), scratch.data + page * std::int64_t{kScratchPage}, kScratchPage, cudaMemcpyDeviceToHost),
      "cudaMemcpy from the device");
  return std::count(bytes.begin(), bytes.end(), static_cast<std::byte>(value));
}

}  // namespace

TEST_CASE("page_split on the device: random lists leave the twin's bytes for every shape and alignment") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  struct Case {
    std::int64_t pages;
    std::int32_t rows, topk;
    std::size_t offset;
  };
  // The second reads its indices one at a time; the fourth copies byte by byte; the last rows need two blocks each.
  for (const Case c : {Case{9, 3, 8, 0}, Case{30, 5, 7, 0}, Case{1, 2, 4, 0}, Case{5, 1, 2, 4}, Case{40, 3, 2048, 0}}) {
    CAPTURE(c.pages, c.rows, c.topk, c.offset);
    SplitScene scene(c.pages, c.rows, c.topk, rng, c.offset);
    fill_lists(scene, rng);
    require_split(scene);
    scene.args.lengths = nullptr;
    require_split(scene);
  }
}

TEST_CASE("page_split on the device: with few entries most pages stay untouched") {
  Rng rng(fresh_seed());
  SplitScene scene(64, 2, 4, rng);
  scene.indices[0] = 256 * 17 + 3, scene.indices[5] = 256 * 63 + 255, scene.indices[7] = 100;
  require_as_twin(page_split, scene.args, scene.memory);
  CHECK((scene.mask() == scene.expected_mask({0, 17, 63})));
}

TEST_CASE("page_split on the device: the faults leave what the twin's leave") {
  Rng rng(fresh_seed());
  for (const bool zero_touched : {false, true})
    for (const bool zero_page0 : {false, true}) {
      CAPTURE(zero_touched, zero_page0);
      SplitScene scene(6, 2, 3, rng);
      scene.indices[0] = 256 * 4, scene.indices[4] = 256 * 2;
      scene.touched[1] = scene.touched[3] = 0;  // the rest of the mask is stale
      scene.args.zero_touched = zero_touched;
      scene.args.zero_page0 = zero_page0;
      require_as_twin(page_split, scene.args, scene.memory);
    }
}

TEST_CASE("page_split on the device: a launch makes three kernel nodes and a mask that needs no clearing two") {
  Rng rng(fresh_seed());
  SplitScene scene(6, 2, 3, rng);
  DeviceCopy copy(scene.memory);
  PageSplitArgs args = on_device(copy, scene.args);
  const auto nodes = [&] {
    cudaStream_t stream = nullptr;
    require_success(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    require_success(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
    page_split.launch(args, stream);
    cudaGraph_t graph = nullptr;
    require_success(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    std::size_t count = 0;
    require_success(cudaGraphGetNodes(graph, nullptr, &count), "cudaGraphGetNodes");
    require_success(cudaGraphDestroy(graph), "cudaGraphDestroy");
    require_success(cudaStreamDestroy(stream), "cudaStreamDestroy");
    return count;
  };
  CHECK(nodes() == 3);
  args.zero_touched = args.zero_page0 = false;
  CHECK(nodes() == 2);
}

TEST_CASE("page_split on the device: pools beyond 2 GiB are copied in place and with int32 offsets they are not") {
  constexpr std::int64_t kPages = 14'342;
  const DeviceBytes source(kPages * kSourcePage), scratch(4 * kPages * kScratchPage), mask(kPages), lists(64);
  for (const auto& [page, value] : {std::pair{14'339, 0x11}, std::pair{14'341, 0x22}})
    require_success(cudaMemset(source.data() + page * std::int64_t{kSourcePage}, value, kSourcePage), "cudaMemset");
  const std::int32_t words[] = {14'339 * 256 + 7, 14'341 * 256 + 200, 1};
  require_success(cudaMemcpy(lists.data(), words, sizeof words, cudaMemcpyHostToDevice), "cudaMemcpy");
  PageSplitArgs args;
  args.source = {source.data(), kPages, 256, MlaRecord::e4m3_584};
  args.scratch = {scratch.data(), 4 * kPages, 64, MlaRecord::e4m3_584};
  args.indices = reinterpret_cast<const std::int32_t*>(lists.data());
  args.real_rows = args.indices + 2;
  args.touched = reinterpret_cast<std::uint8_t*>(mask.data());
  args.rows = 1, args.topk = 2;

  constexpr std::ptrdiff_t kCopied = 36'864 + 512, kWhole = kScratchPage;
  args.int32_offsets = true;
  run_directly([&](void* stream) { page_split.launch(args, stream); });
  for (std::int64_t j = 0; j < 3; ++j) CHECK(count(args.scratch, 4 * 14'339 + j, 0x11) == kCopied);
  CHECK(count(args.scratch, 57'359, 0xFF) == kWhole);  // its destination wraps
  for (std::int64_t j = 0; j < 4; ++j) CHECK(count(args.scratch, 4 * 14'341 + j, 0xFF) == kWhole);  // its source too
  args.int32_offsets = false;
  run_directly([&](void* stream) { page_split.launch(args, stream); });
  for (std::int64_t j = 0; j < 4; ++j) {
    CHECK(count(args.scratch, 4 * 14'339 + j, 0x11) == kCopied);
    CHECK(count(args.scratch, 4 * 14'340 + j, 0xFF) == kWhole);
    CHECK(count(args.scratch, 4 * 14'341 + j, 0x22) == kCopied);
  }
  CHECK(count(args.scratch, 0, 0) == kWhole);
}
