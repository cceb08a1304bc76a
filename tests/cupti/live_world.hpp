// A program that makes CUDA calls, as its callbacks look to the auditor: runtime
// calls with the driver calls inside them, on threads, with a driver that knows the
// memory and the graphs. What comes of it is a Recording, for the audit's own rules.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "audit/cupti/call_stream.hpp"
#include "audit/cupti/live_blocks.hpp"
#include "audit/cupti/live_descriptions.hpp"
#include "traces/timeline_builder.hpp"

namespace refrain::test {

/// A driver of made-up memory and graphs.
class FakeDriver final : public LiveDriver {
 public:
  std::optional<Buffer> identify(Address address) override;
  WalkedGraph walk(std::uint64_t graph) override;
  std::uint64_t last_node(std::uint64_t, bool) override { return node; }
  std::uint64_t capture_of(std::uint64_t stream, bool) override {
    const auto known = capturing.find(stream);
    return known == capturing.end() ? 0 : known->second;
  }
  bool is_mapped(Address address, std::uint64_t) override { return address != unmapped; }
  bool on_own_stack(Address address) override { return address >= stack && address < stack + 0x10000; }
  Address caller_stack() override { return caller; }
  std::string call_site() override { return site; }

  /// A new allocation, with a number that was never used; the buffer.
  Buffer allocate(Address base, std::uint64_t bytes, MemorySpace space = MemorySpace::device);
  void release(Address base) { memory.erase(base); }

  std::map<Address, Buffer> memory;
  std::map<std::uint64_t, WalkedGraph> graphs;
  std::map<std::uint64_t, std::uint64_t> capturing;  ///< streams in a capture when they are first seen; its number
  std::uint64_t node = 0;
  Address unmapped = 0, stack = 0x7ff0'0000, caller = 0x7ff0'0000;
  std::string site;

 private:
  std::uint64_t allocations_ = 100;
};

class LiveWorld {
 public:
  explicit LiveWorld(PointerChecks checks = {}, bool first_uses = false);

  /// A runtime call with `inner` as the driver call that it makes; what `call` gives back counts at the exit.
  void runtime(std::string_view name, const LiveCall& call, std::string_view inner = {});
  void driver(std::string_view name, LiveCall call);
  void edit(LiveKind kind, LiveCall call = {});

  // What programs do, in short. Streams are handles of cudaStreamNonBlocking.
  void begin(std::uint64_t stream, CaptureMode mode = CaptureMode::global);
  void end(std::uint64_t stream, std::uint64_t graph, std::int32_t code = 0);
  void launch(std::uint64_t stream, std::uint64_t function = 0x10, std::int32_t code = 0);
  void instantiate(std::uint64_t graph, std::uint64_t exec);
  void replay(std::uint64_t exec, std::uint64_t stream);
  /// cudaMalloc of the driver's new buffer there.
  void allocate(Address base, std::uint64_t bytes);
  void free(Address base);

  /// The program says it of itself; false where some of it was refused.
  bool describe(std::string_view records) { return descriptions.take(records); }

  [[nodiscard]] Recording recording(std::vector<EvidenceLimit> limits = {});

  FakeDriver fake;
  TimelineBuilder builder;
  LiveDescriptions descriptions;
  LiveBlocks blocks;
  std::uint64_t thread = 7;
  bool allocator = false;  ///< the process has a caching allocator

 private:
  LiveCall filled(std::string_view name, LiveCall call);

  std::uint64_t time_ = 1000, correlation_ = 0;
  CallStream stream_;
};

/// One kernel that is handed `address`.
[[nodiscard]] WalkedGraph kernel_over(const Buffer& buffer);

}  // namespace refrain::test
