#include "audit/two_captures.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "graphs/live_buffers.hpp"

namespace refrain {
namespace {

constexpr std::uint64_t kPointer = 8;

std::uint64_t load(const Param& param, std::uint64_t at, std::uint64_t size) {
  std::uint64_t value = 0;
  std::memcpy(&value, param.bytes.data() + at, size);
  return value;
}

/// In user space, past what a length or a stride reaches, and aligned as memory is. Two small numbers beside each other
/// make a word of the same size, but their lower one is no such number.
bool looks_like_address(std::uint64_t word) {
  return word >= std::uint64_t{1} << 32 && word < std::uint64_t{1} << 47 && word % 16 == 0 &&
         (word & 0xffff'ffff) >= 1 << 20;
}

/// Too large for a length and no fp64: two numbers of four bytes in one parameter.
bool is_pair(std::uint64_t word) {
  return word >= std::uint64_t{1} << 32 && word < std::uint64_t{1} << 48;
}

bool same_params(const Node& a, const Node& b) {
  return std::equal(a.params.begin(), a.params.end(), b.params.begin(), b.params.end(),
                    [](const Param& x, const Param& y) {
                      return x.offset == y.offset && x.size == y.size && x.bytes.size() == y.bytes.size();
                    });
}

/// The only buffer of the graph with this name; none for one without.
bool is_only(const Graph& graph, const std::string& name) {
  return !name.empty() && std::count_if(graph.buffers.begin(), graph.buffers.end(),
                                        [&](const Buffer& buffer) { return buffer.name == name; }) == 1;
}

class Comparison {
 public:
  Comparison(const Graph& a, const Graph& b) : a_(a), b_(b), live_a_(a), live_b_(b) {}

  CaptureComparison run() {
    for (NodeId id = 0; id < a_.nodes.size(); ++id)
      for (std::size_t i = 0; i < a_.nodes[id].params.size(); ++i) compare(id, i);
    return std::move(out_);
  }

 private:
  void compare(NodeId node, std::size_t index) {
    const Param &x = a_.nodes[node].params[index], &y = b_.nodes[node].params[index];
    if (x.bytes == y.bytes) return;
    const std::uint64_t end = x.bytes.size();
    // Pointers stand at multiples of 8 of the parameter block; a number may be any word of a struct.
    for (std::uint64_t at = 0; at < end;) {
      const bool whole = (x.offset + at) % kPointer == 0 && at + kPointer <= end;
      if (whole && compare_pointer(node, index, x, y, at)) {
        at += kPointer;
        continue;
      }
      const bool one =
          whole && x.size == kPointer && !is_pair(load(x, at, kPointer)) && !is_pair(load(y, at, kPointer));
      const std::uint64_t size = one ? kPointer : std::min<std::uint64_t>(4 - at % 4, end - at);
      const BakedWord word{node, index, at, static_cast<std::uint32_t>(size), load(x, at, size), load(y, at, size), {}};
      if (word.first != word.second) out_.baked.push_back(word);
      at += size;
    }
  }

  /// Whether the eight bytes are dealt with: equal, or pointers.
  bool compare_pointer(NodeId node, std::size_t index, const Param& x, const Param& y, std::uint64_t at) {
    BakedWord word{node, index, at, kPointer, load(x, at, kPointer), load(y, at, kPointer), {}};
    if (word.first == word.second) return true;
    const auto p = live_a_.at(word.first), q = live_b_.at(word.second);
    if (p && q) {
      const Buffer &from = a_.buffers[*p], &to = b_.buffers[*q];
      const bool same =
          from.name == to.name && from.bytes == to.bytes && is_only(a_, from.name) && is_only(b_, to.name);
      if (same && word.first - from.base != word.second - to.base) {
        word.first -= from.base;
        word.second -= to.base;
        word.buffer = from.name;
        out_.baked.push_back(word);
      }
      return true;
    }
    if (!looks_like_address(word.first) || !looks_like_address(word.second)) return false;
    out_.doubtful.push_back(word);
    return true;
  }

  const Graph &a_, &b_;
  LiveBuffers live_a_, live_b_;
  CaptureComparison out_;
};

}  // namespace

bool same_nodes(const Graph& a, const Graph& b) {
  return std::equal(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(), [](const Node& x, const Node& y) {
    return x.kind == y.kind && x.name == y.name && x.mangled == y.mangled && same_params(x, y) &&
           std::equal(x.bodies.begin(), x.bodies.end(), y.bodies.begin(), y.bodies.end(), same_nodes);
  });
}

CaptureComparison compare_captures(const Graph& first, const Graph& second) {
  return Comparison(first, second).run();
}

}  // namespace refrain
