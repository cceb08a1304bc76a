#include "kernels/host_twins.hpp"
#include "kernels/pad_fix.hpp"

namespace refrain {

void pad_fix_host(const PadFixArgs& args) {
  for (std::int64_t group = 0; group < args.groups; ++group) {
    std::int32_t* blocks = args.microblocks + group * args.width;
    const std::uint32_t* masks = args.masks + group * args.width;
    for (std::int64_t i = 0; i < args.width; ++i) blocks[i] = masks[i] == 0 ? blocks[0] : blocks[i];
  }
}

}  // namespace refrain
