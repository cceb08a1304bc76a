// Sets of facts as bits, and what a node does to them. `zeroed` implies
// `written` and `finite`; a write leaves nothing but `written`, and an exact one
// gives it; what the contract says it gives comes on top.
#pragma once

#include <cstdint>

#include "graphs/contract.hpp"

namespace refrain {

using FactMask = std::uint8_t;

[[nodiscard]] constexpr FactMask bit(Fact fact) noexcept {
  return static_cast<FactMask>(1U << static_cast<unsigned>(fact));
}

/// The fact and all that it implies.
[[nodiscard]] constexpr FactMask closure(Fact fact) noexcept {
  if (fact == Fact::zeroed) return static_cast<FactMask>(bit(Fact::zeroed) | bit(Fact::written) | bit(Fact::finite));
  return bit(fact);
}

/// A write that is sure to reach every byte of its range.
[[nodiscard]] constexpr bool writes_all(Mode mode, Reach reach) noexcept {
  return mode != Mode::read && reach == Reach::exact;
}

[[nodiscard]] constexpr bool reads(Mode mode) noexcept {
  return mode != Mode::write;
}

}  // namespace refrain
