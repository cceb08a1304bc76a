#include "traces/nsys/nvtx_payload.hpp"

#include <cstdint>

#include "traces/row_payload.hpp"

namespace refrain {

RowCounts nvtx_payload(const Rows& rows, int first, std::string_view name, Rows* strings) {
  constexpr int kNumbers = 6;
  constexpr std::uint64_t kMost = ~std::uint64_t{0} >> 1;  // too many rows, as a number of another type is
  RowPayload payload;
  for (int column = first + 2; column < first + 2 + kNumbers && RowPayload::knows(name); ++column)
    if (!rows.is_null(column)) payload.take(name, rows.number(column, kMost, kMost));
  payload.take_json(rows.text(first));
  const auto id = rows.integer(first + 1);
  if (id && strings != nullptr) {
    strings->bind(*id);
    if (strings->next()) payload.take_json(strings->text(0));
    strings->reset();
  }
  return payload.rows();
}

}  // namespace refrain
