#include "runtime/verify_twice.hpp"

#include "audit/audit.hpp"
#include "runtime/session.hpp"

namespace refrain {
namespace {

StepOptions in_its_bucket(const StepOptions& given) {
  StepOptions options = default_options(given);
  options.bucket = options.bucket_rows();
  validate(options);
  return options;
}

std::int32_t pages_of(const StepOptions& o, std::int32_t context) {
  return (context + o.page_size - 1) / o.page_size;
}

/// Both steps live until both are captured, so that no address of the one is the other's.
struct Pair {
  Pair(Driver& inner, const StepOptions& first, const StepOptions& second)
      : runtime(inner, step_arena_bytes(first) + step_arena_bytes(second)) {
    for (const StepOptions& options : {first, second}) steps.push_back(place_step(runtime, options));
  }

  std::string capture() {
    std::string error;
    for (const auto& step : steps) {
      Recorder recorder(runtime.driver, runtime.registry, runtime.stream);
      if (const auto captured = capture_step(runtime, *step, recorder, error); !captured) return error;
    }
    return error;
  }

  Runtime runtime;
  std::vector<std::unique_ptr<Step>> steps;
};

}  // namespace

StepOptions other_in_bucket(const StepOptions& options) {
  StepOptions other = in_its_bucket(options);
  ++other.seed;
  // The rows of mtp_verify are its requests' drafts: their count is a shape.
  if (other.step != StepKind::mtp_verify && other.rows > other.requests) --other.rows;
  const bool has_fewer = other.context > (other.step == StepKind::mtp_verify ? other.drafts + 1 : 1);
  if (has_fewer && pages_of(other, other.context - 1) == pages_of(other, other.context))
    --other.context;
  else if (other.context > 0 && pages_of(other, other.context + 1) == pages_of(other, other.context))
    ++other.context;
  validate(other);
  return other;
}

TwiceResult verify_twice(Driver& driver, const StepOptions& options) {
  TwiceResult result;
  result.first = in_its_bucket(options);
  result.second = other_in_bucket(options);
  result.device = driver.device();
  Pair pair(driver, result.first, result.second);
  result.refused = pair.capture();
  result.recording = pair.runtime.recording(to_string(result.first.step));
  const Subject subject{{result.recording}};
  result.report = audit(subject);
  return result;
}

}  // namespace refrain
