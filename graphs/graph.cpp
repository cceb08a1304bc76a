#include "graphs/graph.hpp"

#include <array>
#include <cstddef>
#include <string_view>

#include <fmt/format.h>

namespace refrain {
namespace {

template <class Enum, std::size_t N>
const char* word(const std::array<const char*, N>& words, Enum value) noexcept {
  const auto index = static_cast<std::size_t>(value);
  return index < N ? words[index] : "?";
}

// A kernel's name without its result, template arguments and parameters: `at::native::elementwise_kernel`.
std::string_view short_name(std::string_view name) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  if (name.starts_with("void ")) name.remove_prefix(5);
  std::size_t from = 0;
  while (true) {
    const std::size_t stop = name.find_first_of("<(", from);
    if (stop == std::string_view::npos) return name;
    if (!name.substr(stop).starts_with(kAnonymous)) return stop == 0 ? name : name.substr(0, stop);
    from = stop + kAnonymous.size();
  }
}

}  // namespace

const char* to_string(Mode mode) noexcept {
  static constexpr std::array kWords{"read", "write", "read_write", "accumulate"};
  return word(kWords, mode);
}

const char* to_string(Reach reach) noexcept {
  static constexpr std::array kWords{"exact", "may"};
  return word(kWords, reach);
}

const char* to_string(Role role) noexcept {
  static constexpr std::array kWords{"unknown", "kv_pool",   "weights", "input", "output",
                                     "plan",    "workspace", "scratch", "state"};
  return word(kWords, role);
}

const char* to_string(CacheTokens tokens) noexcept {
  static constexpr std::array kWords{"any", "appended", "settled"};
  return word(kWords, tokens);
}

const char* to_string(Dtype dtype) noexcept {
  static constexpr std::array kWords{"unknown", "u8",   "i32",  "u32",  "i64",  "fp16",
                                     "bf16",    "fp32", "fp64", "e4m3", "e5m2", "ue8m0"};
  return word(kWords, dtype);
}

const char* to_string(Fact fact) noexcept {
  static constexpr std::array kWords{"zeroed", "written", "pad_fixed", "finite"};
  return word(kWords, fact);
}

const char* to_string(NodeKind kind) noexcept {
  static constexpr std::array kWords{"kernel", "memcpy",       "memset",           "mem_alloc",      "mem_free",
                                     "host",   "event_record", "event_wait",       "child",          "conditional",
                                     "empty",  "batch_mem_op", "semaphore_signal", "semaphore_wait", "other"};
  return word(kWords, kind);
}

const char* to_string(EdgeKind kind) noexcept {
  static constexpr std::array kWords{"full", "programmatic"};
  return word(kWords, kind);
}

const char* to_string(MemorySpace space) noexcept {
  static constexpr std::array kWords{"unknown", "device", "pinned", "pageable", "managed"};
  return word(kWords, space);
}

const char* to_string(Certainty certainty) noexcept {
  static constexpr std::array kWords{"proven", "contract", "inferred"};
  return word(kWords, certainty);
}

const char* to_string(Origin origin) noexcept {
  static constexpr std::array kWords{"initialised_once", "host_each_launch", "previous_replay"};
  return word(kWords, origin);
}

const char* to_string(Unseen unseen) noexcept {
  static constexpr std::array kWords{"kernel_params", "copy_memory_kinds", "addresses",
                                     "edge_kinds",    "allocations",       "bodies"};
  return word(kWords, unseen);
}

std::string describe(const Graph& graph, NodeId node) {
  if (node >= graph.nodes.size()) return fmt::format("node {}", node);
  const Node& n = graph.nodes[node];
  constexpr std::size_t kLongest = 80;
  std::string name(!n.op.empty() ? std::string_view(n.op) : short_name(n.name));
  if (name.empty()) name = to_string(n.kind);
  if (name.size() > kLongest) name.replace(kLongest - 3, std::string::npos, "...");
  // A message is one line, whatever a file put into a name.
  for (char& c : name)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return fmt::format("node {} ({})", node, name);
}

}  // namespace refrain
