// Memory kinds and copy directions of an export, decoded by the names in its own
// enum tables: the numbers are shifted by one from CUPTI's, and have changed
// between versions. An export without the tables has the numbers of all exports
// that were seen.
#pragma once

#include <cstdint>
#include <map>

#include "traces/nsys/database.hpp"
#include "traces/timeline.hpp"

namespace refrain {

class NsysEnums {
 public:
  explicit NsysEnums(Database& database);

  [[nodiscard]] MemorySpace space(std::uint64_t kind) const;
  [[nodiscard]] CopyDirection direction(std::uint64_t kind) const;

 private:
  std::map<std::uint64_t, MemorySpace> spaces_;
  std::map<std::uint64_t, CopyDirection> directions_;
};

}  // namespace refrain
