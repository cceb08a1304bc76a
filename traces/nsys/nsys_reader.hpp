// Reads what `nsys export --type sqlite` writes, schemas 3.4 to 3.25 and older
// ones that have the same columns. Any table may be missing and any column may be
// new. It trusts no syncType, whose numbers changed between versions. A damaged
// file is an error; a row that makes no sense is a problem, and the reading goes on.
#pragma once

#include <string>
#include <string_view>

#include "traces/read_progress.hpp"
#include "traces/sink.hpp"

namespace refrain {

/// Throws Error{input} when the file is no database, is damaged, or is no export of Nsight Systems.
void read_nsys(const std::string& path, RecordSink& sink, const ReadProgress& progress = {});

/// By SQLite's magic.
[[nodiscard]] bool looks_like_nsys(std::string_view head);

}  // namespace refrain
