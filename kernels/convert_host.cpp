#include "kernels/codec.hpp"
#include "kernels/convert.hpp"
#include "kernels/host_twins.hpp"

namespace refrain {

void convert_host(const ConvertArgs& args) {
  for (std::int64_t i = 0; i < args.count; ++i)
    store_from_float(args.to, args.to_dtype, i, load_as_float(args.from, args.from_dtype, i));
}

}  // namespace refrain
