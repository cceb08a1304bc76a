#include "runtime/verify_buckets.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "graphs/error.hpp"
#include "runtime/bucket_check.hpp"
#include "runtime/steps/key_of.hpp"

namespace refrain {
namespace {

constexpr std::int32_t kFewestRows = 24;  // by default: the first bucket whose padding is more than the one row

/// Rows of one unit of the policy.
std::int32_t unit_rows(const StepOptions& o) {
  return o.step == StepKind::mtp_verify ? 1 + o.drafts : 1;
}

std::int32_t largest(const StepOptions& given) {
  const std::int32_t unit = unit_rows(given);
  if (given.bucket != 0)
    throw Error(ErrorKind::usage, "--bucket", "does not go with --all-buckets: --rows is the largest of them", "");
  if (given.rows != kByStep) {
    if (given.rows < 1 || given.rows % unit != 0)
      throw Error(ErrorKind::usage, "--rows", fmt::format("expected a multiple of {}, found {}", unit, given.rows), "");
    return given.rows / unit;
  }
  if (unit != 1 && given.requests != kByStep) return std::max(given.requests, 1);
  return (std::max(default_options(given).rows, kFewestRows) + unit - 1) / unit;
}

BucketPolicy policy_for(const StepOptions& given) {
  return phase_of(given.step) == Phase::prefill ? BucketPolicy::prefill_tokens(largest(given))
                                                : BucketPolicy::decode_rows(largest(given));
}

StepOptions shape_of(const StepOptions& given, const BucketPolicy& policy, std::int32_t size, std::int32_t pads) {
  StepOptions o = default_options(given);
  const std::int32_t unit = unit_rows(given);
  o.rows = (size - pads) * unit;
  o.bucket = size * unit;
  // As many in each row count of a bucket, so that its graph can be the same.
  o.requests = unit != 1 ? size - pads : std::min(o.requests, size - policy.pads_allowed(size));
  return o;
}

bool is_valid(const StepOptions& options) {
  try {
    validate(options);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Without the faults that have no meaning in this shape.
StepOptions with_fitting_faults(const StepOptions& given) {
  StepOptions fitting = given;
  fitting.faults = FaultSet{};
  for (const FaultInfo& fault : fault_table()) {
    if (!given.faults.has(fault.fault)) continue;
    StepOptions with = fitting;
    with.faults.add(fault.fault);
    if (is_valid(with)) fitting = with;
  }
  validate(fitting);
  return fitting;
}

}  // namespace

const BucketVerdict* BucketsResult::first_failure() const {
  const auto found = std::find_if(buckets.begin(), buckets.end(), [](const auto& b) { return !b.failure.empty(); });
  return found != buckets.end() ? &*found : nullptr;
}

BucketsResult verify_all_buckets(Driver& driver, const StepOptions& given, const Progress& progress) {
  const BucketPolicy policy = policy_for(given);
  const std::int32_t maximum = policy.maximum();
  validate(shape_of(given, policy, maximum, policy.pads_allowed(maximum)));
  BucketsResult result;
  result.options = shape_of(given, policy, maximum, 0);
  result.device = driver.device();
  for (const std::int32_t size : policy.sizes()) {
    if (progress) progress(result.buckets.size(), policy.sizes().size(), fmt::format("a bucket of {}", size));
    BucketVerdict& verdict = result.buckets.emplace_back();
    const std::int32_t most = policy.pads_allowed(size);
    verdict.rows = size * unit_rows(given);
    verdict.fewest_rows = (size - most) * unit_rows(given);
    BucketCheck check(driver, verdict);
    for (std::int32_t pads = most; pads >= 0; --pads)
      if (!check.try_rows(with_fitting_faults(shape_of(given, policy, size, pads)))) break;
  }
  if (progress) progress(policy.sizes().size(), policy.sizes().size(), "");
  return result;
}

}  // namespace refrain
