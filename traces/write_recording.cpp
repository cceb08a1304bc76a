// A whole Recording as a file: every record at the place of its sequence number.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "graphs/error.hpp"
#include "traces/recording_writer.hpp"

namespace refrain {
namespace {

enum class Table : std::uint8_t { buffer, call, graph, range, binding, check };

struct Place {
  std::uint64_t sequence = 0;
  std::uint32_t index = 0;
  Table table = Table::call;
};

/// A range stands where it ends and a buffer where it was born. A graph that no call made keeps its place among the
/// graphs, since a graph is known by its place.
std::vector<Place> in_order(const Recording& recording, const std::vector<const GraphEvent*>& ties) {
  const Timeline& timeline = recording.timeline;
  std::vector<Place> places;
  const auto add = [&](Table table, std::size_t index, std::uint64_t sequence) {
    places.push_back({sequence, static_cast<std::uint32_t>(index), table});
  };
  for (std::size_t i = 0; i < timeline.buffers.size(); ++i)
    add(Table::buffer, i, timeline.buffers[i].buffer.born.value_or(0));
  for (std::size_t i = 0; i < timeline.calls.size(); ++i) add(Table::call, i, timeline.calls[i].sequence);
  for (std::size_t i = 0; i < timeline.ranges.size(); ++i) add(Table::range, i, timeline.ranges[i].last);
  for (std::size_t i = 0; i < timeline.bindings.size(); ++i) add(Table::binding, i, timeline.bindings[i].sequence);
  for (std::size_t i = 0; i < timeline.checks.size(); ++i) add(Table::check, i, timeline.checks[i].sequence);
  std::uint64_t sequence = 0;
  for (std::size_t i = 0; i < recording.graphs.size(); ++i) {
    if (ties[i] != nullptr) sequence = std::max(sequence, ties[i]->sequence);
    add(Table::graph, i, sequence);
  }
  std::stable_sort(places.begin(), places.end(),
                   [](const Place& a, const Place& b) { return a.sequence < b.sequence; });
  return places;
}

std::vector<const GraphEvent*> ties_of(const Recording& recording) {
  std::vector<const GraphEvent*> ties(recording.graphs.size(), nullptr);
  for (const GraphEvent& event : recording.timeline.graphs)
    if (event.graph < ties.size() && ties[event.graph] == nullptr) ties[event.graph] = &event;
  return ties;
}

void append(RecordingWriter& writer, const Recording& recording, const std::vector<const GraphEvent*>& ties,
            const Place& place) {
  const Timeline& timeline = recording.timeline;
  switch (place.table) {
    case Table::buffer: return writer.append(timeline.buffers[place.index].buffer);
    case Table::call: {
      const ApiEvent& event = timeline.calls[place.index];
      return writer.append(event, timeline.text(event.detail));
    }
    case Table::range: {
      const RangeEvent& event = timeline.ranges[place.index];
      return writer.append(event, timeline.text(event.name));
    }
    case Table::binding: {
      const BindingEvent& event = timeline.bindings[place.index];
      return writer.append(event, timeline.text(event.name));
    }
    case Table::check: {
      const ReplayCheck& check = timeline.checks[place.index];
      return writer.append(check, timeline.text(check.graph), timeline.text(check.axis), timeline.text(check.fill));
    }
    case Table::graph: {
      const GraphEvent* event = ties[place.index];
      const auto tie = event == nullptr ? std::nullopt : std::optional(GraphTie{event->sequence, event->handle});
      return writer.append(recording.graphs[place.index], tie);
    }
  }
}

void write(const std::string& path, const Recording& recording, const DeviceLine& device) {
  const std::vector<const GraphEvent*> ties = ties_of(recording);
  RecordingWriter writer(path, {recording.name, device, recording.timeline.step_basis});
  for (const Place& place : in_order(recording, ties)) append(writer, recording, ties, place);
  for (const EvidenceLimit& limit : recording.timeline.limits) writer.append(limit);
  if (recording.timeline.complete && recording.timeline.problems.empty())
    writer.finish();
  else
    writer.flush();
}

}  // namespace

void write_recording(const std::string& path, const Recording& recording, const DeviceLine& device) {
  const std::string temporary = fmt::format("{}.{}.part", path, ::getpid());
  std::error_code problem;
  try {
    write(temporary, recording, device);
    std::filesystem::rename(temporary, path, problem);
    if (problem) throw Error(ErrorKind::input, "writing", problem.message(), path);
  } catch (const Error& error) {
    std::filesystem::remove(temporary, problem);
    throw Error(ErrorKind::input, error.tried(), error.came_back(), path);
  }
}

}  // namespace refrain
