// The payload of an NVTX range as a row of NVTX_EVENTS has it: one number in the
// column of its type, or a schema's fields as JSON, which nsys export writes with
// --include-json=true alone. What --include-blobs=true writes of a schema's fields
// (binaryData) is not read.
#pragma once

#include <string_view>

#include "traces/nsys/database.hpp"
#include "traces/timeline.hpp"

namespace refrain {

/// Column `first` of the row is jsonText; jsonTextId and the columns of numbers follow. `name`: what the number is, the
/// range's name as a rule. `strings` looks up an id of StringIds; null = there is no such table.
[[nodiscard]] RowCounts nvtx_payload(const Rows& rows, int first, std::string_view name, Rows* strings);

}  // namespace refrain
