#include "tests/fuzz/fuzz_support.hpp"

namespace refrain::fuzz {

void reached() {}

}  // namespace refrain::fuzz
