// The words that kernels, runtime and audit share: what an op reads and
// writes, and which facts it needs and gives. A contract names addresses; the
// recorder resolves them to the buffers of a graph. Plain values, no behaviour.
#pragma once

#include <cstdint>
#include <vector>

namespace refrain {

/// A device or host address as a number: never dereferenced outside a driver or a host twin.
using Address = std::uint64_t;

/// Bytes [begin, end), relative to the base that stands beside it.
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  [[nodiscard]] constexpr std::uint64_t size() const noexcept { return end - begin; }
  [[nodiscard]] constexpr bool empty() const noexcept { return begin >= end; }
  [[nodiscard]] constexpr bool overlaps(const ByteRange& other) const noexcept {
    return begin < other.end && other.begin < end;
  }
  [[nodiscard]] constexpr bool covers(const ByteRange& other) const noexcept {
    return begin <= other.begin && other.end <= end;
  }
  friend constexpr bool operator==(const ByteRange&, const ByteRange&) = default;
};

/// `accumulate`: atomic read-modify-write; two unordered accumulations are no race.
enum class Mode : std::uint8_t { read, write, read_write, accumulate };

/// `exact`: these bytes and no others. `may`: somewhere in this range, through an index in memory.
/// A `may` write gives no fact; a `may` read needs its whole range.
enum class Reach : std::uint8_t { exact, may };

/// What the bytes are for. `plan`: what a planner on the device wrote for a later op. `workspace`: partial results.
/// `scratch`: counters and masks that must start every replay from a known value.
enum class Role : std::uint8_t { unknown, kv_pool, weights, input, output, plan, workspace, scratch, state };

/// Which tokens of a paged cache, where an access knows it: those that this step's rows `appended` at their positions,
/// or `settled` ones, which earlier steps left. No token is both, whichever pages the tables name.
enum class CacheTokens : std::uint8_t { any, appended, settled };

enum class Dtype : std::uint8_t { unknown, u8, i32, u32, i64, fp16, bf16, fp32, fp64, e4m3, e5m2, ue8m0 };

/// Something true of a byte range at a point of a graph. `zeroed` implies `written` and `finite`.
enum class Fact : std::uint8_t { zeroed, written, pad_fixed, finite };

struct Access {
  Address base = 0;
  ByteRange range;
  Mode mode = Mode::read;
  Reach reach = Reach::exact;
  Role role = Role::unknown;
  Dtype dtype = Dtype::unknown;
  CacheTokens tokens = CacheTokens::any;
  bool before_wait = false;  ///< a read that an early launch does not wait for: see Contract::waits
};

struct Claim {
  Fact fact = Fact::written;
  Address base = 0;
  ByteRange range;
};

/// What one launch touches, needs and gives. Needs of `written` follow from the
/// read accesses and are not listed; an exact write gives `written` by itself.
struct Contract {
  std::vector<Access> accesses;
  std::vector<Claim> needs;
  std::vector<Claim> gives;
  /// Programmatic dependent launch. `waits`: every block waits on the device (griddepcontrol.wait) for what runs ahead
  /// of it before it touches memory or ends, so that the launch may start early; all but the reads `before_wait`, which
  /// no kernel right ahead may write. `triggers`: it lets what comes behind start before it ends
  /// (griddepcontrol.launch_dependents); where it waits too, only after that, so that what runs two kernels ahead is
  /// done. Unless it `triggers_first`: then what comes behind may run beside what this one still waits for.
  bool waits = false, triggers = false, triggers_first = false;
};

[[nodiscard]] const char* to_string(Mode) noexcept;
[[nodiscard]] const char* to_string(Reach) noexcept;
[[nodiscard]] const char* to_string(Role) noexcept;
[[nodiscard]] const char* to_string(CacheTokens) noexcept;
[[nodiscard]] const char* to_string(Dtype) noexcept;
[[nodiscard]] const char* to_string(Fact) noexcept;

/// Bytes of one element; 0 for `unknown`.
[[nodiscard]] constexpr std::uint64_t dtype_bytes(Dtype dtype) noexcept {
  switch (dtype) {
    case Dtype::u8:
    case Dtype::e4m3:
    case Dtype::e5m2:
    case Dtype::ue8m0: return 1;
    case Dtype::fp16:
    case Dtype::bf16: return 2;
    case Dtype::i32:
    case Dtype::u32:
    case Dtype::fp32: return 4;
    case Dtype::i64:
    case Dtype::fp64: return 8;
    case Dtype::unknown: break;
  }
  return 0;
}

}  // namespace refrain
