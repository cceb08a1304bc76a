// Does every pointer of a captured graph still lead where it led? The runtime's own
// leases tell by their generation; memory that others allocated tells by the
// driver's identity of it (CUDA's BUFFER_ID), which is asked for again at a replay.
// A cudaFree, and a new allocation at the same address, show that way and no other.
// Frees inside a caching allocator do not: there the driver sees one allocation.
#pragma once

#include <vector>

#include "runtime/recording_driver.hpp"

namespace refrain {

class PointerWatch {
 public:
  /// Of the graph's buffers, those that the driver numbered. About 1 us a buffer a check, so not for every launch of a
  /// server: for audits, tests, and the first replay after something moved.
  explicit PointerWatch(const Graph& graph);

  /// Writes each buffer that is gone into the recording as died, and what lies there now as born; rules 401 to 403 do
  /// the rest. Allowed during a capture.
  void check(RecordingDriver& driver);

 private:
  std::vector<Buffer> alive_;
};

}  // namespace refrain
