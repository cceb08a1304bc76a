// How many rows of an export are read, of how many there are in the tables that
// may be large. What is in other tables is read in no time.
#pragma once

#include <cstdint>

#include "traces/nsys/database.hpp"
#include "traces/read_progress.hpp"

namespace refrain {

class RowProgress {
 public:
  /// Both must outlive this.
  RowProgress(Database& database, const ReadProgress& progress);

  /// One more row was read.
  void count() {
    constexpr std::uint64_t kBetween = 4096;
    if (all_ != 0 && ++rows_ % kBetween == 0) progress_(rows_, all_);
  }

 private:
  const ReadProgress& progress_;
  std::uint64_t rows_ = 0, all_ = 0;  // 0 = nobody asks, or it is not known
};

}  // namespace refrain
