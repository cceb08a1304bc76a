// refrain verify: the replay checks of one step.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/buckets_report.hpp"
#include "cli/command.hpp"
#include "cli/device.hpp"
#include "cli/progress_line.hpp"
#include "cli/step_flags.hpp"
#include "graphs/error.hpp"
#include "runtime/verify.hpp"
#include "runtime/verify_buckets.hpp"
#include "runtime/verify_twice.hpp"
#include "traces/recording_writer.hpp"

namespace refrain {
namespace {

using Json = nlohmann::ordered_json;

struct VerifyFlags {
  StepFlags step;
  std::string save_recording;
  bool all_buckets = false, twice = false;
  Format format = Format::text;
};

std::string verify_json(const VerifyResult& result) {
  Json axes = Json::array();
  for (const AxisResult& axis : result.axes)
    axes.push_back({{"name", axis.name},
                    {"fill", axis.fill},
                    {"finite", axis.finite},
                    {"bit_equal", axis.bit_equal},
                    {"max_abs_error", axis.max_abs_error ? Json(*axis.max_abs_error) : Json(nullptr)}});
  const Json report = Json::parse(report_json(result.report));
  const Json json{{"schema", "refrain.verify/1"},
                  {"step", to_string(result.options.step)},
                  {"device", result.device.kind},
                  {"axes", axes},
                  {"first_nan_node", result.first_nan_node ? Json(*result.first_nan_node) : Json(nullptr)},
                  {"findings", report.at("findings")},
                  {"exit_code", result.exit_code()}};
  return json.dump(2) + "\n";
}

std::string verify_text(const VerifyResult& result) {
  std::string text = fmt::format("step      {}: {}, on {}\n", to_string(result.options.step), describe(result.options),
                                 result.device.device);
  if (!result.refused.empty()) text += fmt::format("replayed  nothing: {}\n", result.refused);
  for (const AxisResult& axis : result.axes)
    text +=
        fmt::format("{:<20} {:<10} {:<6} {}\n", axis.name, axis.fill, axis.finite && axis.bit_equal ? "ok" : "BROKEN",
                    axis.finite ? (axis.bit_equal ? "" : "other bits than the unpoisoned replay") : "not finite");
  if (result.first_nan_node) text += fmt::format("first NaN written by {}\n", result.first_nan_name);
  return text + "\n" + report_text(result.report);
}

int verify_buckets(const VerifyFlags& flags) {
  if (!flags.save_recording.empty())
    throw Error(ErrorKind::usage, "--save-recording", "does not go with --all-buckets: a recording is of one graph",
                "");
  const std::unique_ptr<Driver> driver = make_driver(flags.step.device);
  BucketsResult result;
  {
    ProgressLine line;
    result = verify_all_buckets(*driver, flags.step.parsed(), line.progress());
  }
  fmt::print("{}", flags.format == Format::json ? buckets_json(result) : buckets_text(result));
  return result.exit_code();
}

std::string twice_json(const TwiceResult& result) {
  const auto capture = [](const StepOptions& o) {
    return Json{{"rows", o.rows}, {"bucket", o.bucket_rows()}, {"context", o.context}, {"seed", o.seed}};
  };
  const Json report = Json::parse(report_json(result.report));
  const Json json{{"schema", "refrain.verify_twice/1"},
                  {"step", to_string(result.first.step)},
                  {"device", result.device.kind},
                  {"captures", Json::array({capture(result.first), capture(result.second)})},
                  {"refused", result.refused.empty() ? Json(nullptr) : Json(result.refused)},
                  {"findings", report.at("findings")},
                  {"exit_code", result.exit_code()}};
  return json.dump(2) + "\n";
}

std::string twice_text(const TwiceResult& result) {
  std::string text = fmt::format("step      {}: {}, seed {}, on {}\nand       {}, seed {}, in other memory\n",
                                 to_string(result.first.step), describe(result.first), result.first.seed,
                                 result.device.device, describe(result.second), result.second.seed);
  if (!result.refused.empty()) text += fmt::format("captured  not twice: {}\n", result.refused);
  return text + "\n" + report_text(result.report);
}

int verify_both(const VerifyFlags& flags) {
  if (flags.all_buckets) throw Error(ErrorKind::usage, "--twice", "does not go with --all-buckets; run them apart", "");
  const std::unique_ptr<Driver> driver = make_driver(flags.step.device);
  const TwiceResult result = verify_twice(*driver, flags.step.parsed());
  if (!flags.save_recording.empty()) write_recording(flags.save_recording, result.recording, result.device);
  fmt::print("{}", flags.format == Format::json ? twice_json(result) : twice_text(result));
  return result.exit_code();
}

int verify(const VerifyFlags& flags) {
  if (flags.twice) return verify_both(flags);
  if (flags.all_buckets) return verify_buckets(flags);
  const std::unique_ptr<Driver> driver = make_driver(flags.step.device);
  const VerifyResult result = verify_step(*driver, flags.step.parsed());
  if (!flags.save_recording.empty()) write_recording(flags.save_recording, result.recording, result.device);
  fmt::print("{}", flags.format == Format::json ? verify_json(result) : verify_text(result));
  return result.exit_code();
}

}  // namespace

std::function<int()> declare_verify(Options app) {
  auto flags = std::make_shared<VerifyFlags>();
  add_step_flags(app, flags->step);
  app.add_option("--save-recording", flags->save_recording, "write what was judged as refrain.recording/1");
  app.add_flag("--all-buckets", flags->all_buckets,
               "every bucket up to --rows (24 unless the step has more) at every count of poisoned pad rows");
  app.add_flag("--twice", flags->twice,
               "capture the step twice, for other lengths and in other memory, and tell what was baked in; no replay");
  add_format(app, flags->format);
  return [flags] { return verify(*flags); };
}

}  // namespace refrain
