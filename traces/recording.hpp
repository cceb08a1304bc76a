// A recording: the graphs and the timeline of one run, and its file form.
#pragma once

#include <string>
#include <vector>

#include "graphs/graph.hpp"
#include "traces/timeline.hpp"

namespace refrain {

/// One input of an audit. A file that holds graphs alone is a recording without a timeline.
struct Recording {
  std::string name;  ///< file or command, as the report names it
  std::vector<Graph> graphs;
  Timeline timeline;
  bool has_timeline = false;
};

}  // namespace refrain
