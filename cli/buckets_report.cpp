#include "cli/buckets_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace refrain {
namespace {

using Json = nlohmann::ordered_json;

std::int64_t broken(const BucketsResult& result) {
  return std::count_if(result.buckets.begin(), result.buckets.end(), [](const auto& b) { return !b.failure.empty(); });
}

/// `1 row`, `2 rows`
std::string counted(std::int32_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string rows_tried(const BucketVerdict& b) {
  return b.fewest_rows == b.rows ? counted(b.rows, "row") : fmt::format("{} to {} rows", b.fewest_rows, b.rows);
}

}  // namespace

std::string buckets_json(const BucketsResult& result) {
  Json buckets = Json::array();
  for (const BucketVerdict& b : result.buckets)
    buckets.push_back({{"rows", b.rows},
                       {"fewest_rows", b.fewest_rows},
                       {"pad_counts", b.pad_counts},
                       {"replays", b.replays},
                       {"graphs", b.graphs},
                       {"ok", b.failure.empty()},
                       {"failure", b.failure.empty() ? Json(nullptr) : Json(b.failure)}});
  const BucketVerdict* first = result.first_failure();
  const Json json{
      {"schema", "refrain.verify_buckets/1"},
      {"step", to_string(result.options.step)},
      {"device", result.device.kind},
      {"broken", broken(result)},
      {"first_failure", first != nullptr ? Json({{"rows", first->rows}, {"failure", first->failure}}) : Json(nullptr)},
      {"buckets", buckets},
      {"exit_code", result.exit_code()}};
  return json.dump(2) + "\n";
}

std::string buckets_text(const BucketsResult& result) {
  const StepOptions& o = result.options;
  std::string text = fmt::format("step      {}: buckets up to {} rows, context {}, page size {}, on {}\n",
                                 to_string(o.step), o.bucket_rows(), o.context, o.page_size, result.device.device);
  for (const BucketVerdict& b : result.buckets)
    text += fmt::format("bucket {:>5}  {:<6} {}, {}, {} of {}\n", b.rows, b.failure.empty() ? "ok" : "BROKEN",
                        rows_tried(b), counted(b.pad_counts, "pad count"), counted(b.replays, "replay"),
                        counted(b.graphs, "graph"));
  const BucketVerdict* first = result.first_failure();
  if (first == nullptr) return text + fmt::format("{} buckets, all ok\n", result.buckets.size());
  return text + fmt::format("{} of {} buckets broken; the first, of {} rows: {}\n", broken(result),
                            result.buckets.size(), first->rows, first->failure);
}

}  // namespace refrain
