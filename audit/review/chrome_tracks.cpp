#include "audit/review/chrome_tracks.hpp"

#include <fmt/format.h>

namespace refrain {

std::uint32_t ChromeTracks::process(const std::string& title) {
  const auto [at, first] = processes_.emplace(title, static_cast<std::uint32_t>(processes_.size() + 1));
  if (first) {
    event_(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":"{}"}}}})", at->second, title));
    event_(
        fmt::format(R"({{"ph":"M","name":"process_sort_index","pid":{0},"args":{{"sort_index":{0}}}}})", at->second));
  }
  return at->second;
}

ChromeTrack ChromeTracks::place(std::uint32_t process, const std::string& title, std::uint64_t start_ns,
                                std::uint64_t end_ns) {
  std::vector<Lane>& lanes = groups_[{process, title}];
  Lane* free = nullptr;
  for (Lane& lane : lanes)
    if (free == nullptr && fits(lane, start_ns, end_ns)) free = &lane;
  if (free == nullptr) free = &add_lane(process, title, lanes);
  free->last_start_ns = start_ns;
  free->open.push_back(end_ns);
  return free->track;
}

bool ChromeTracks::fits(Lane& lane, std::uint64_t start_ns, std::uint64_t end_ns) {
  if (start_ns < lane.last_start_ns) return false;
  while (!lane.open.empty() && lane.open.back() <= start_ns) lane.open.pop_back();
  return lane.open.empty() || end_ns <= lane.open.back();
}

ChromeTracks::Lane& ChromeTracks::add_lane(std::uint32_t process, const std::string& title, std::vector<Lane>& lanes) {
  const ChromeTrack track{process, ++threads_};
  const std::string name = lanes.empty() ? title : fmt::format("{} ({})", title, lanes.size() + 1);
  event_(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"{}"}}}})", process,
                     track.thread, name));
  event_(fmt::format(R"({{"ph":"M","name":"thread_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})", process,
                     track.thread, track.thread));
  lanes.push_back({track, 0, {}});
  return lanes.back();
}

}  // namespace refrain
