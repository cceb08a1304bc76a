// What the tests of recordings share: files of this run, gzip without the code
// under test, a recording with every field set, and a text of any recording that
// two equal ones have in common.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "traces/recording.hpp"
#include "traces/sink.hpp"

namespace refrain::test {

/// A file of this test run with `bytes` in it; the path.
[[nodiscard]] std::string file_of(const std::string& name, std::string_view bytes);
/// The path of a file of this run that need not exist.
[[nodiscard]] std::string path_of(const std::string& name);
[[nodiscard]] std::string bytes_of(const std::string& path);

/// `sync`: all of the text can be unpacked, but the stream has not ended.
enum class Flush { finish, sync };
[[nodiscard]] std::string gzip(std::string_view text, Flush flush = Flush::finish);
[[nodiscard]] std::string gunzip(const std::string& bytes);

/// `{"schema":"refrain.recording/1"}` and then these lines, each with its line end.
[[nodiscard]] std::string recording_text(const std::vector<std::string>& lines);
inline const std::string kHeader = "{\"schema\":\"refrain.recording/1\"}\n";

/// Every field of every record has a value of its own.
[[nodiscard]] Recording full_recording();
/// Every field of every record, one record a line, without the recording's name; problems are not told.
[[nodiscard]] std::string describe(const Recording& recording);

/// Through the recording reader; the name is the header's.
[[nodiscard]] Recording read(const std::string& path, DeviceLine* device = nullptr);
/// The count of a problem of that name; 0 when there is none.
[[nodiscard]] std::uint64_t problems(const Recording& recording, std::string_view name);
/// What the Error says; empty when none was thrown.
[[nodiscard]] std::string error_of(const std::string& path);

}  // namespace refrain::test
