#include <cstdint>
#include <cstring>

#include "kernels/embed.hpp"
#include "kernels/host_twins.hpp"
#include "kernels/row_count.hpp"

namespace refrain {

void embed_host(const EmbedArgs& args) {
  const auto bytes = static_cast<std::int64_t>(dtype_bytes(args.dtype)) * args.width;
  const std::int32_t rows = clamp_rows(*args.rows, args.bucket);
  for (std::int32_t row = 0; row < args.bucket; ++row) {
    const std::int32_t id = row < rows ? args.ids[row] : -1;
    std::byte* to = static_cast<std::byte*>(args.out) + row * bytes;
    if (id >= 0 && id < args.vocab)
      std::memcpy(to, static_cast<const std::byte*>(args.table) + id * bytes, static_cast<std::size_t>(bytes));
    else
      std::memset(to, 0, static_cast<std::size_t>(bytes));
  }
}

}  // namespace refrain
