#include "runtime/pointer_watch.hpp"

#include <utility>

namespace refrain {
namespace {

void collect(const Graph& graph, std::vector<Buffer>& out) {
  for (const Buffer& buffer : graph.buffers)
    if (is_driver_allocation(buffer.allocation)) out.push_back(buffer);
  for (const Node& node : graph.nodes)
    for (const Graph& body : node.bodies) collect(body, out);
}

}  // namespace

PointerWatch::PointerWatch(const Graph& graph) {
  collect(graph, alive_);
}

void PointerWatch::check(RecordingDriver& driver) {
  std::vector<Buffer> still;
  for (Buffer& buffer : alive_) {
    Buffer now;
    const bool known = driver.identify(buffer.base, now) == Status::success;
    if (known && now.allocation == buffer.allocation) {
      still.push_back(std::move(buffer));
      continue;
    }
    driver.add_outside_death(std::move(buffer));
    if (known) driver.add_outside_birth(std::move(now));
  }
  alive_ = std::move(still);
}

}  // namespace refrain
