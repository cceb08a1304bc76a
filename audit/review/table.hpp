// A review as tables for thousands of traces: CSV by RFC 4180 in hive partitions,
// `traces/trace=NAME/part-0.csv` with one row, `steps/...` and `findings/...`, which DuckDB and
// Spark read as three tables with a column `trace`. Columns keep their names and their
// order; what is not known is an empty field. A trace written again takes the place of
// what it wrote before. A table without rows has no file, since readers take the types of columns
// from what stands in them: a trace of `traces` that `findings` lacks is clean as far as it was checked.
#pragma once

#include <string>
#include <string_view>

#include "audit/review/review.hpp"

namespace refrain {

/// Makes `folder` and the partitions. All files or, where one cannot be written, none of them. Throws Error{input}.
void write_tables(const Review& review, const std::string& folder);

/// `decode-1a2b3c4d`: the file's stem with anything but letters, digits, `-`, `.` and `_` replaced, and a hash of its
/// whole path, so that `a/run.sqlite` and `b/run.sqlite` are two.
[[nodiscard]] std::string partition_name(std::string_view path);

}  // namespace refrain
