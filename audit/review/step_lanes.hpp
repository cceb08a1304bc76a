// What one step looks like in time: lanes of blocks, for its thread's ranges and calls
// and for every stream of a device. A picture has a bounded number of blocks: what is too small or
// too close to be told apart is one block that says how many it stands for; lanes past a bound are
// left out and counted. Data, no markup.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "audit/review/review.hpp"

namespace refrain {

enum class BlockKind : std::uint8_t { range, call, sync, launch, replay, kernel, copy, fill, elsewhere };
/// The class in the style sheet; `elsewhere` is work that another step or thread handed out.
[[nodiscard]] const char* to_string(BlockKind) noexcept;

struct Block {
  std::uint64_t start_ns = 0, end_ns = 0;
  std::string_view name;    ///< of the longest that it stands for; borrows from the review
  std::uint64_t count = 1;  ///< how many it stands for
  std::uint64_t nodes = 0;  ///< of a replay: its work on this stream; 0 where only the replay as a whole was recorded
  BlockKind kind = BlockKind::call;
};

struct Lane {
  std::string title;
  std::vector<Block> replays;  ///< around the blocks that are their nodes
  std::vector<Block> blocks;   ///< by start
};

struct StepLanes {
  std::uint64_t start_ns = 0, end_ns = 0;             ///< of the step's range, and on to the end of its device work
  std::uint64_t together_ns = 0;                      ///< what was shorter and closer than this may stand in one block
  std::vector<Lane> lanes;                            ///< the host's, then the device's
  std::size_t lanes_left_out = 0, work_left_out = 0;  ///< streams, and the work on them
  std::size_t ranges_left_out = 0;                    ///< nested too deep
};

inline constexpr std::size_t kMostBlocks = 300, kMostStreams = 10, kMostRangeLanes = 5;

[[nodiscard]] StepLanes lanes_of(const Review& review, std::size_t step);

}  // namespace refrain
