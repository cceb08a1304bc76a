// What `refrain verify --all-buckets` prints: `refrain.verify_buckets/1` and the text form.
#pragma once

#include <string>

#include "runtime/verify_buckets.hpp"

namespace refrain {

[[nodiscard]] std::string buckets_json(const BucketsResult& result);
[[nodiscard]] std::string buckets_text(const BucketsResult& result);

}  // namespace refrain
