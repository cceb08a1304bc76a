#include "audit/review/step_lanes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "audit/captures.hpp"
#include "audit/review/finding_place.hpp"

namespace refrain {
namespace {

/// At first; doubled until the picture is small enough.
constexpr std::uint64_t kPartsOfWindow = 400;

std::uint64_t length(const Block& block) {
  return block.end_ns > block.start_ns ? block.end_ns - block.start_ns : 0;
}

void sort_by_start(std::vector<Block>& blocks) {
  std::stable_sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  });
}

BlockKind kind_of(Api api) {
  if (is_sync(api) || is_blocking_copy(api)) return BlockKind::sync;
  if (is_launch(api) || api == Api::graph_launch) return BlockKind::launch;
  return BlockKind::call;
}

BlockKind kind_of(WorkKind kind) {
  switch (kind) {
    case WorkKind::copy: return BlockKind::copy;
    case WorkKind::fill: return BlockKind::fill;
    case WorkKind::graph: return BlockKind::replay;
    case WorkKind::kernel: break;
  }
  return BlockKind::kernel;
}

/// Small blocks that begin within twice `together_ns` and follow each other closer than that become one; it is named
/// after the longest.
std::vector<Block> merged(const std::vector<Block>& blocks, std::uint64_t together_ns) {
  std::vector<Block> out;
  std::uint64_t longest = 0;
  for (const Block& block : blocks) {
    const bool small = length(block) < together_ns;
    if (!out.empty() && small && longest < together_ns && block.start_ns < out.back().start_ns + 2 * together_ns &&
        block.start_ns < out.back().end_ns + together_ns) {
      Block& last = out.back();
      if (length(block) > longest) {
        longest = length(block);
        last.name = block.name;
        last.kind = block.kind;
      }
      last.end_ns = std::max(last.end_ns, block.end_ns);
      last.count += block.count;
      last.nodes += block.nodes;
      continue;
    }
    out.push_back(block);
    longest = length(block);
  }
  return out;
}

class Builder {
 public:
  Builder(const Review& review, std::size_t step)
      : timeline_(review.timeline()), step_(review.steps[step]), basis_(review.cut.basis) {
    out_.start_ns = step_.start_ns;
    out_.end_ns = std::max({step_.start_ns + 1, step_.end_ns, step_.device_end_ns.value_or(0)});
  }

  StepLanes run() {
    add_ranges();
    add_calls();
    add_streams();
    for (Lane& lane : out_.lanes) {
      sort_by_start(lane.blocks);
      sort_by_start(lane.replays);
    }
    merge();
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool holds(const RangeEvent& range) const {
    const bool is_the_step = range.step && range.first == step_.first && range.last == step_.last;
    return range.thread == step_.thread && !is_the_step && !(range.step && is_guessed(basis_)) &&
           range.first >= step_.first && range.last <= step_.last;
  }

  void add_ranges() {
    std::vector<Block> inside;
    for (const RangeEvent& range : timeline_.ranges)
      if (holds(range))
        inside.push_back({range.start_ns, range.end_ns, timeline_.text(range.name), 1, 0, BlockKind::range});
    sort_by_start(inside);
    // The first lane that is free: nested ranges stand below the one around them.
    std::vector<Lane> lanes;
    for (const Block& range : inside) {
      const auto free = std::find_if(lanes.begin(), lanes.end(),
                                     [&](const Lane& lane) { return lane.blocks.back().end_ns <= range.start_ns; });
      if (free != lanes.end())
        free->blocks.push_back(range);
      else if (lanes.size() < kMostRangeLanes)
        lanes.push_back({fmt::format("thread {}, ranges", step_.thread), {}, {range}});
      else
        ++out_.ranges_left_out;
    }
    out_.lanes = std::move(lanes);
  }

  void add_calls() {
    Lane lane{fmt::format("thread {}, calls", step_.thread), {}, {}};
    const auto& calls = timeline_.calls;
    auto at = std::lower_bound(calls.begin(), calls.end(), step_.first,
                               [](const ApiEvent& call, std::uint64_t first) { return call.sequence < first; });
    for (; at != calls.end() && at->sequence <= step_.last; ++at)
      if (at->thread == step_.thread)
        lane.blocks.push_back({at->start_ns, at->end_ns, to_string(at->api), 1, 0, kind_of(at->api)});
    out_.lanes.push_back(std::move(lane));
  }

  struct Stream {
    Lane lane;
    std::uint64_t busy_ns = 0;
    std::unordered_map<std::uint64_t, std::size_t> replay_of;  // index into the lane's, by the launch
  };
  using StreamKey = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // process, device, stream

  void add_streams() {
    std::map<StreamKey, Stream> streams;
    for (const WorkEvent& work : timeline_.work) {
      if (work.start_ns > out_.end_ns) break;
      if (work.end_ns >= out_.start_ns) add(streams[{work.process, work.device, work.stream}], work);
    }
    std::vector<std::pair<const StreamKey, Stream>*> order;
    for (auto& stream : streams) order.push_back(&stream);
    std::stable_sort(order.begin(), order.end(),
                     [](const auto* a, const auto* b) { return a->second.busy_ns > b->second.busy_ns; });
    for (std::size_t i = kMostStreams; i < order.size(); ++i) {
      ++out_.lanes_left_out;
      out_.work_left_out += order[i]->second.lane.blocks.size();
    }
    order.resize(std::min(order.size(), kMostStreams));
    std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->first < b->first; });
    const bool several =
        !streams.empty() && std::get<0>(streams.begin()->first) != std::get<0>(streams.rbegin()->first);
    for (auto* stream : order) {
      stream->second.lane.title = title_of(stream->first, several);
      out_.lanes.push_back(std::move(stream->second.lane));
    }
  }

  static std::string title_of(const StreamKey& key, bool several) {
    const auto [process, device, stream] = key;
    const std::string on = stream == kUnknownStream ? "stream unknown" : fmt::format("stream {}", stream);
    return several ? fmt::format("process {}, device {}, {}", process, device, on)
                   : fmt::format("device {}, {}", device, on);
  }

  void add(Stream& stream, const WorkEvent& work) const {
    const ApiEvent* call = work.call == WorkEvent::kNoCall ? nullptr : find_call(timeline_, work.call);
    const bool own = call != nullptr && belongs_to(*call, step_);
    const Block block{
        work.start_ns, work.end_ns, timeline_.text(work.name), 1, 0, own ? kind_of(work.kind) : BlockKind::elsewhere};
    stream.busy_ns += length(block);
    if (work.kind == WorkKind::graph) {
      stream.lane.replays.push_back(block);
      return;
    }
    stream.lane.blocks.push_back(block);
    if (!own || call->api != Api::graph_launch) return;
    const auto [at, first] = stream.replay_of.emplace(work.call, stream.lane.replays.size());
    if (first) {
      stream.lane.replays.push_back({work.start_ns, work.end_ns, "replay", 1, 1, BlockKind::replay});
      return;
    }
    Block& replay = stream.lane.replays[at->second];
    replay.end_ns = std::max(replay.end_ns, work.end_ns);
    ++replay.nodes;
  }

  void merge() {
    out_.together_ns = (out_.end_ns - out_.start_ns) / kPartsOfWindow;
    for (std::vector<Lane> lanes;; out_.together_ns = 2 * out_.together_ns + 1) {
      lanes = out_.lanes;
      std::size_t blocks = 0;
      for (Lane& lane : lanes) {
        lane.blocks = merged(lane.blocks, out_.together_ns);
        lane.replays = merged(lane.replays, out_.together_ns);
        blocks += lane.blocks.size() + lane.replays.size();
      }
      if (blocks > kMostBlocks) continue;
      out_.lanes = std::move(lanes);
      return;
    }
  }

  const Timeline& timeline_;
  const StepStats& step_;
  const StepBasis basis_;
  StepLanes out_;
};

}  // namespace

const char* to_string(BlockKind kind) noexcept {
  switch (kind) {
    case BlockKind::range: return "range";
    case BlockKind::call: return "call";
    case BlockKind::sync: return "sync";
    case BlockKind::launch: return "launch";
    case BlockKind::replay: return "replay";
    case BlockKind::kernel: return "kernel";
    case BlockKind::copy: return "copy";
    case BlockKind::fill: return "fill";
    case BlockKind::elsewhere: return "elsewhere";
  }
  return "call";
}

StepLanes lanes_of(const Review& review, std::size_t step) {
  return Builder(review, step).run();
}

}  // namespace refrain
