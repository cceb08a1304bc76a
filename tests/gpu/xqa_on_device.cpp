#include "tests/gpu/xqa_on_device.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

namespace refrain::test {
namespace {

constexpr int kPatterns[2] = {0xA5, 0x5A};

/// What xqa_decode may write, as bytes; a piece is what it writes whole or leaves.
struct Outcome {
  explicit Outcome(const XqaDecodeArgs& args) {
    const auto heads = static_cast<std::size_t>(args.slots) * static_cast<std::size_t>(args.heads);
    const auto rows = static_cast<std::size_t>(args.batch.bucket) * static_cast<std::size_t>(args.heads);
    const std::size_t splits = heads * static_cast<std::size_t>(args.partitions);
    const auto dim = static_cast<std::size_t>(args.pool.dim);
    take("counters", args.counters, heads, 4);
    take("partials", args.partials, splits, dim * dtype_bytes(args.partial_dtype));
    take("partial LSE", args.partial_lse, splits, 4);
    take("out", args.out, rows, dim * dtype_bytes(args.out_dtype));
    take("LSE", args.lse, rows, 4);
  }
  void put_back() const {
    for (const Array& array : arrays) std::memcpy(array.place, array.bytes.data(), array.bytes.size());
  }

  struct Array {
    const char* name;
    void* place;
    std::size_t piece_bytes;
    std::vector<std::byte> bytes;
    [[nodiscard]] std::span<const std::byte> piece(std::size_t at) const {
      return std::span(bytes).subspan(at * piece_bytes, piece_bytes);
    }
  };
  std::vector<Array> arrays;

 private:
  void take(const char* name, void* place, std::size_t count, std::size_t piece_bytes) {
    const auto* first = static_cast<const std::byte*>(place);
    arrays.push_back({name, place, piece_bytes, {first, first + count * piece_bytes}});
  }
};

bool is_pattern(std::span<const std::byte> bytes, int pattern) {
  return std::all_of(bytes.begin(), bytes.end(), [&](std::byte byte) { return byte == std::byte(pattern); });
}

/// Pieces that the twin leaves are left, and every other one has been written. The counters are the twin's.
void require_writes(const Outcome& twin, const Outcome& a, const Outcome& b) {
  REQUIRE(a.arrays[0].bytes == twin.arrays[0].bytes);
  for (std::size_t i = 1; i < twin.arrays.size(); ++i) {
    const Outcome::Array& want = twin.arrays[i];
    for (std::size_t at = 0; at < want.bytes.size() / want.piece_bytes; ++at) {
      const bool left = is_pattern(want.piece(at), kPatterns[0]);
      const auto got = a.arrays[i].piece(at), other = b.arrays[i].piece(at);
      const bool right = left ? is_pattern(got, kPatterns[0]) && is_pattern(other, kPatterns[1])
                              : std::equal(got.begin(), got.end(), other.begin());
      if (right) continue;  // millions are: an assertion for each would take longer than the decode and its copies
      INFO(want.name << ' ' << at << (left ? ", left" : ", written"));
      REQUIRE(right);
    }
  }
}

}  // namespace

void decode_on_device(Scene& scene, XqaRun& run, const std::function<void()>& after_plan) {
  Memory& memory = scene.memory;
  plan_xqa.host(run.plan);
  after_plan();
  const Contract contract = xqa_decode.contract(run.decode);
  Memory::Photo given[2];
  for (int i = 0; i < 2; ++i) {
    fill_writes(contract, kPatterns[i]);
    given[i] = memory.photo();
  }
  DeviceCopy copy(memory);
  const XqaDecodeArgs args = on_device(copy, run.decode);
  const auto enqueue = [&](void* stream) { xqa_decode.launch(args, stream); };
  Replay replay(enqueue);
  copy.upload(given[0]);
  run_directly(enqueue);
  const Memory::Photo got = copy.download();
  for (int repeat = 0; repeat < 2; ++repeat) {
    copy.upload(given[0]);
    replay.run();
    require_same(copy.download(), got);
  }
  copy.upload(given[1]);
  replay.run();
  memory.restore(copy.download());
  const Outcome other(run.decode);
  memory.restore(given[0]);
  const Outcome before(run.decode);
  xqa_decode.host(run.decode);
  const Outcome twin(run.decode);
  memory.restore(got);
  require_writes(twin, Outcome(run.decode), other);
  before.put_back();
  require_same(memory.photo(), given[0]);  // the inputs
  memory.restore(got);
}

}  // namespace refrain::test
