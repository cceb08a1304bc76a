#include "tests/gpu/xqa_on_device.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

namespace refrain::test {
namespace {

constexpr int kPatterns[2] = {0xA5, 0x5A};

/// What xqa_decode may write, as bytes.
struct Outcome {
  explicit Outcome(const XqaDecodeArgs& args)
      : split_bytes(static_cast<std::size_t>(args.pool.dim) * dtype_bytes(args.partial_dtype)) {
    const auto heads = static_cast<std::size_t>(args.slots) * static_cast<std::size_t>(args.heads);
    const std::size_t splits = heads * static_cast<std::size_t>(args.partitions);
    places = {{{args.partials, splits * split_bytes}, {args.partial_lse, splits * 4}, {args.counters, heads * 4}}};
    for (std::size_t i = 0; i < 3; ++i)
      bytes[i].assign(static_cast<const std::byte*>(places[i].first),
                      static_cast<const std::byte*>(places[i].first) + places[i].second);
  }
  void put_back() const {
    for (std::size_t i = 0; i < 3; ++i) std::memcpy(places[i].first, bytes[i].data(), bytes[i].size());
  }
  [[nodiscard]] std::vector<std::byte> split(std::size_t at) const {
    const auto first = bytes[0].begin() + static_cast<std::ptrdiff_t>(at * split_bytes);
    return {first, first + static_cast<std::ptrdiff_t>(split_bytes)};
  }
  [[nodiscard]] std::size_t splits() const { return bytes[1].size() / 4; }

  std::size_t split_bytes;
  std::array<std::pair<void*, std::size_t>, 3> places;  ///< partials, LSE, counters
  std::array<std::vector<std::byte>, 3> bytes;
};

bool is_pattern(const std::vector<std::byte>& bytes, int pattern) {
  return std::all_of(bytes.begin(), bytes.end(), [&](std::byte byte) { return byte == std::byte(pattern); });
}

/// Splits that the twin leaves are left; every other partial, and every LSE, has been written.
void require_writes(const Outcome& twin, const Outcome& a, const Outcome& b) {
  REQUIRE(a.bytes[2] == twin.bytes[2]);
  REQUIRE(a.bytes[1] == b.bytes[1]);
  for (std::size_t at = 0; at < twin.splits(); ++at) {
    const bool left = is_pattern(twin.split(at), kPatterns[0]);
    INFO("split " << at << (left ? ", left" : ", written"));
    if (left)
      REQUIRE((is_pattern(a.split(at), kPatterns[0]) && is_pattern(b.split(at), kPatterns[1])));
    else
      REQUIRE(a.split(at) == b.split(at));
  }
}

}  // namespace

void decode_on_device(Scene& scene, XqaRun& run) {
  Memory& memory = scene.memory;
  plan_xqa.host(run.plan);
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
  merge_partials.host(run.merge);
}

}  // namespace refrain::test
