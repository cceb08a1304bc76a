// Bytes that would show. A fill is what to put where nothing may matter; an axis is
// one kind of such memory of one step, with the fills that fit it. `refrain run` has
// three coarse poisons made of them, `refrain verify` goes through them all.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>

#include "runtime/driver.hpp"

namespace refrain {

enum class Poison : std::uint8_t { none, null_block, random_page0, all };

enum class Fill : std::uint8_t {
  ones,        ///< 0xFF: NaN in fp32, fp16, bf16, E4M3 and ue8m0; -1 as an index
  quiet_nan,   ///< 0x7F bytes: NaN in E4M3, finite and large in fp16
  fp16_inf,    ///< 0x7C00
  fp16_state,  ///< random fp16 values, as recurrent state of a hybrid model leaves them
  int_max,     ///< as an index
  stale_id,    ///< a valid id of an earlier step
};
[[nodiscard]] const char* to_string(Fill) noexcept;

inline constexpr std::array kPoolFills = {Fill::ones, Fill::quiet_nan, Fill::fp16_inf, Fill::fp16_state};
inline constexpr std::array kDataFills = {Fill::ones, Fill::quiet_nan, Fill::fp16_inf};
inline constexpr std::array kIndexFills = {Fill::int_max, Fill::stale_id};

/// One kind of memory of a step that no result may rest on, and how it is filled, blocking.
struct PoisonAxis {
  const char* name = "";
  std::span<const Fill> fills;
  std::function<void(Driver&, Fill)> apply;  ///< throws Error{driver}
};

/// Blocking; no index fill. Throws Error{driver}.
void fill_bytes(Driver& driver, Address to, std::uint64_t bytes, Fill fill);

}  // namespace refrain
