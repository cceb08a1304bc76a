// What an export says of itself: that it is one, which version wrote it, and what
// its recording left out by choice (graph mode, cheap API calls) or lost.
#pragma once

#include <string>

#include "traces/nsys/database.hpp"
#include "traces/sink.hpp"

namespace refrain {

class NsysEvidence {
 public:
  /// Throws Error{input} for a database that is no export of Nsight Systems.
  explicit NsysEvidence(Database& database);

  /// E.g. `Nsight Systems 2026.1.1.204, schema 3.24.14`.
  [[nodiscard]] const std::string& product() const noexcept { return product_; }

  /// The limits and the losses. `graph_rows`: replays that were recorded as a whole.
  void tell(RecordSink& sink, std::uint64_t graph_rows) const;

 private:
  void read_export(Database& database, const char* table);
  void read_capture(Database& database);
  void read_diagnostics(Database& database);

  std::string product_;
  bool graph_mode_ = false, skips_calls_ = false, has_codes_ = true;
  std::uint64_t lost_ = 0, incomplete_ranges_ = 0;
  std::string first_loss_;
};

}  // namespace refrain
