#include "audit/mutate/operators.hpp"

#include <array>

namespace refrain::mutate {
namespace {

constexpr std::array kOperators = {
    Operator{"drop-node", "a launch is left out, and its neighbours follow each other", drop_nodes},
    Operator{"drop-edge", "an edge is gone", drop_edges},
    Operator{"drop-entry", "nobody establishes what held when a replay began", drop_entries},
    Operator{"drop-give", "a node does its writes and not what it promised of them", drop_gives},
    Operator{"move", "a node runs behind one that needs what it leaves", move_givers},
    Operator{"unorder", "a node runs on a branch of its own, beside one that touches its bytes", unorder_pairs},
    Operator{"shorten-write", "a node writes a part of what it wrote, and gives no more than that", shorten_writes},
    Operator{"shorten-give", "a promise covers a part of its bytes", shorten_gives},
    Operator{"shorten-entry", "what held on all bytes when a replay began holds on a part", shorten_entries},
    Operator{"shorten-extent", "a buffer is smaller than what its users were told", shorten_buffers},
    Operator{"retype-space", "a kernel is handed pageable memory, or memory that nobody knows", retype_spaces},
    Operator{"retype-copy", "a copy's pinned memory is pageable", retype_copies},
    // One fault where it is missed, one where it is not wanted.
    Operator{"retarget", "an access goes to another buffer, with what it gives", retarget_accesses, 2},
    Operator{"retarget-past-end", "an access goes on past the end of its buffer", reach_past_ends},
    Operator{"retarget-reserved", "a write begins in the reserved bytes", write_reserved},
    Operator{"stale", "a buffer dies before the launch", kill_buffers},
    Operator{"reuse", "a buffer dies before the launch, and another is born at its address", reuse_addresses},
    Operator{"grow", "a workspace is replaced by a larger one before the launch", grow_workspaces},
    Operator{"swap-dtype", "partial results are fp16 instead of fp32", halve_partials},
    Operator{"host-node", "a kernel's work is done by a host node", make_host_nodes},
    Operator{"host-built", "a buffer is filled by a copy from pageable memory instead of a kernel", build_on_host},
    Operator{"programmatic", "an edge is programmatic, and the kernel behind it does not wait", make_programmatic},
    Operator{"trigger-first", "kernels start early, one of them beside what the one between has yet to wait for",
             trigger_first},
    Operator{"append-anywhere", "a kernel that appended to a cache writes any of its tokens", append_anywhere},
};

}  // namespace

std::span<const Operator> operators() noexcept {
  return kOperators;
}

}  // namespace refrain::mutate
