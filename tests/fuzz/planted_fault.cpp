// The control of the fuzz targets: what they get to is one byte past the end of its
// memory. A target that does not die of it sees nothing: its seeds are all refused, the
// sanitizers are not in it, or something swallows what they say.
#include <vector>

#include "tests/fuzz/fuzz_support.hpp"

namespace refrain::fuzz {

void reached() {
  const std::vector<char> memory(16);
  const volatile char* past = memory.data() + memory.size();
  (void)*past;
}

}  // namespace refrain::fuzz
