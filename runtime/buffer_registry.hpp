// Every buffer that the runtime knows, alive or dead: what a contract's
// addresses are resolved against, and where rules 401 and 402 get their history.
// Ids are never reused and an entry is never removed, only marked dead. An auditor in
// the process is told of each.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "graphs/graph.hpp"
#include "runtime/auditor_link.hpp"
#include "runtime/sequence_clock.hpp"

namespace refrain {

class BufferRegistry {
 public:
  using Id = std::size_t;

  explicit BufferRegistry(SequenceClock& clock) : clock_(clock) {}

  /// Registers a live buffer; `allocation` and `born` are set here. Two live buffers never overlap (asserted).
  Id add(Buffer buffer);
  void retire(Id id);

  [[nodiscard]] const Buffer& operator[](Id id) const { return buffers_[id]; }
  [[nodiscard]] std::span<const Buffer> all() const { return buffers_; }
  /// The live buffer that holds `address`, or nothing.
  [[nodiscard]] std::optional<Id> find(Address address) const;

 private:
  SequenceClock& clock_;
  const AuditorLink auditor_;
  std::vector<Buffer> buffers_;
  std::map<Address, Id> live_;  // by base
};

}  // namespace refrain
