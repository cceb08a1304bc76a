// The tracks of a Chrome trace. Complete events of one track must nest, or a viewer
// drops some: so a thread, a device's stream or the steps get a second track as soon as two of
// their slices overlap otherwise. Every track's name is told once, as it is first used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace refrain {

/// What the viewer calls a process and a thread.
struct ChromeTrack {
  std::uint32_t process = 0, thread = 0;
};

class ChromeTracks {
 public:
  /// `event`: takes a metadata event, one JSON object.
  explicit ChromeTracks(std::function<void(std::string_view)> event) : event_(std::move(event)) {}

  /// The number of a process; `title` is plain ASCII without quotes, as all titles are.
  [[nodiscard]] std::uint32_t process(const std::string& title);
  /// A track of the group `title` of a process on which the span nests. Spans of a group come by their start, the
  /// longer one first.
  [[nodiscard]] ChromeTrack place(std::uint32_t process, const std::string& title, std::uint64_t start_ns,
                                  std::uint64_t end_ns);

 private:
  struct Lane {
    ChromeTrack track;
    std::uint64_t last_start_ns = 0;
    std::vector<std::uint64_t> open;  // ends of the slices around the last one, the innermost last
  };
  static bool fits(Lane& lane, std::uint64_t start_ns, std::uint64_t end_ns);
  Lane& add_lane(std::uint32_t process, const std::string& title, std::vector<Lane>& lanes);

  std::function<void(std::string_view)> event_;
  std::map<std::string, std::uint32_t> processes_;
  std::map<std::pair<std::uint32_t, std::string>, std::vector<Lane>> groups_;
  std::uint32_t threads_ = 0;
};

}  // namespace refrain
