// The device tables that describe one batch: which request a row belongs to,
// where it stands, and which page holds which token. The host writes them
// before every launch; every op reads them from device memory, so no length is
// baked into a graph. Rows are request-major; rows at or past *rows are pad rows.
#pragma once

#include <cstdint>

namespace refrain {

struct BatchView {
  const std::int32_t* rows = nullptr;          ///< [1]: count of real rows
  const std::int32_t* token_to_req = nullptr;  ///< [bucket]
  const std::int64_t* query_pos = nullptr;     ///< [bucket]: absolute position of the row's token
  const std::int32_t* seq_len = nullptr;       ///< [requests]: tokens in the cache, this step's included
  const std::int32_t* page_table =
      nullptr;              ///< [requests, pages_per_request]: physical pages; entries past the length are garbage
  std::int32_t bucket = 0;  ///< rows that the graph was captured for
  std::int32_t requests = 0;
  std::int32_t pages_per_request = 0;
};

}  // namespace refrain
