// The records of refrain.recording/1 as lines of text, each ending in a newline.
// What has its default is left out: a recording of millions of calls is mostly
// defaults. record_json.hpp reads them back; the pair is the format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "traces/sink.hpp"

namespace refrain {

[[nodiscard]] std::string header_text(const RecordingHeader& header);
[[nodiscard]] std::string call_text(const ApiEvent& event, std::string_view detail);
[[nodiscard]] std::string range_text(const RangeEvent& event, std::string_view name);
[[nodiscard]] std::string buffer_text(const Buffer& buffer);
[[nodiscard]] std::string graph_text(const Graph& graph, std::optional<GraphTie> tie);
[[nodiscard]] std::string binding_text(const BindingEvent& event, std::string_view name);
[[nodiscard]] std::string check_text(const ReplayCheck& check, std::string_view graph, std::string_view axis,
                                     std::string_view fill);
[[nodiscard]] std::string limit_text(const EvidenceLimit& limit);
[[nodiscard]] std::string end_text(std::uint64_t records);

}  // namespace refrain
