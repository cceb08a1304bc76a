#include "runtime/engine/step_shapes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "graphs/error.hpp"

namespace refrain {
namespace {

ServingLimits checked(const ServingLimits& limits) {
  struct Least {
    const char* name;
    std::int32_t value, least;
  };
  for (const auto& [name, value, least] :
       {Least{"context", limits.context, 2}, Least{"pages", limits.pages, 2},
        Least{"decode_rows", limits.decode_rows, 1}, Least{"prefill_tokens", limits.prefill_tokens, 1},
        Least{"prefill_requests", limits.prefill_requests, 1}, Least{"verify_requests", limits.verify_requests, 0},
        Least{"drafts", limits.drafts, 0}})
    if (value < least)
      throw Error(ErrorKind::refused, "the model's serving limits",
                  fmt::format("{} is {}; expected {} or more", name, value, least), "engine");
  return limits;
}

}  // namespace

StepShapes::StepShapes(const ServingLimits& limits, bool drafts)
    : prefill_requests_(checked(limits).prefill_requests),
      verify_requests_(limits.verify_requests),
      drafts_(drafts && limits.verify_requests > 0 ? limits.drafts : 0),
      prefill_rows_(BucketPolicy::prefill_tokens(limits.prefill_tokens)),
      decode_rows_(BucketPolicy::decode_rows(limits.decode_rows)),
      verify_policy_(BucketPolicy::decode_rows(std::max(1, limits.verify_requests))) {}

std::vector<StepShape> StepShapes::all() const {
  std::vector<StepShape> shapes;
  for (const std::int32_t rows : prefill_rows_.sizes()) shapes.push_back(prefill(rows));
  for (const std::int32_t rows : decode_rows_.sizes()) shapes.push_back(decode(rows));
  for (std::int32_t length = 2; length <= 1 + drafts_; ++length)
    for (const std::int32_t requests : verify_policy_.sizes()) shapes.push_back(verify(requests, length));
  return shapes;
}

StepShape StepShapes::prefill(std::int32_t rows) const {
  const std::int32_t bucket = prefill_rows_.bucket_for(rows);
  return {Phase::prefill, bucket, std::min(bucket, prefill_requests_), 1};  // a request has a row at least
}

StepShape StepShapes::decode(std::int32_t requests) const {
  const std::int32_t bucket = decode_rows_.bucket_for(requests);
  return {Phase::decode, bucket, bucket, 1};
}

StepShape StepShapes::verify(std::int32_t requests, std::int32_t query_length) const {
  const std::int32_t bucket = verify_policy_.bucket_for(requests);
  return {Phase::verify, bucket * query_length, bucket, query_length};
}

std::string describe(const StepShape& shape) {
  if (shape.phase == Phase::verify)
    return fmt::format("verify of {} requests, {} rows each", shape.requests, shape.query_length);
  return fmt::format("{} of {} rows", to_string(shape.phase), shape.rows);
}

}  // namespace refrain
