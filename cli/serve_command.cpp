// refrain serve: a script of requests in, figures out.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>

#include "cli/command.hpp"
#include "cli/device.hpp"
#include "cli/progress_line.hpp"
#include "cli/save_text.hpp"
#include "cli/serve_model.hpp"
#include "cli/serve_run.hpp"
#include "graphs/error.hpp"
#include "runtime/owned_stream.hpp"

namespace refrain {
namespace {

/// What an engine leases beside the model, with room to spare: tables of at most this many requests and rows.
constexpr std::uint64_t kEngineArenaBytes = std::uint64_t{64} << 20;

struct ServeFlags {
  std::string script, device = "auto", metrics;
  double speed = 1;
  ModelFlags model;
  ServingLimits limits;
  EngineOptions engine;
  Format format = Format::text;
};

/// The limits with what follows from the others where it was not given.
ServingLimits limits_of(const ServeFlags& flags, const ModelSize& model) {
  ServingLimits limits = flags.limits;
  if (limits.drafts > 0 && limits.verify_requests == 0) limits.verify_requests = limits.decode_rows;
  if (limits.pages != 0 || model.page_size <= 0) return limits;
  const std::int64_t each = (std::int64_t{limits.context} + model.page_size - 1) / model.page_size;
  const std::int64_t pages = 1 + each * limits.decode_rows;
  if (pages > std::numeric_limits<std::int32_t>::max())
    throw Error(ErrorKind::usage, "--context and --decode-rows", "need too many pages; set --pages", "");
  limits.pages = static_cast<std::int32_t>(pages);
  return limits;
}

void check_flags(const ServeFlags& flags) {
  if (!(flags.speed >= 0) || std::isinf(flags.speed))
    throw Error(ErrorKind::usage, "--speed", "expected 0 (all at once) or how much faster than the script", "");
  if (flags.engine.ring_depth < 1 || flags.engine.ring_depth > 64)
    throw Error(ErrorKind::usage, "--ring-depth", "expected 1 to 64 steps in flight", "");
}

/// What the server stands on, in the order in which it must be made.
struct Server {
  Server(Driver& of, const ServeFlags& flags, const ServingLimits& limits, const ArenaSize& size)
      : driver(of),
        arena(driver, registry, size.bytes + kEngineArenaBytes, size.overlays),
        model(make_model(flags.model, registry, arena, limits)) {
    EngineOptions options = flags.engine;
    options.drafts = model->limits().drafts > 0;
    options.on_fallback = [](const StepKey& key, const std::string& reason) {
      fmt::print(stderr, "refrain: {} runs eagerly: {}\n", bucket_name(key), reason);
    };
    ProgressLine line;
    options.progress = line.progress();
    engine = std::make_unique<Engine>(CaptureBench{driver, clock, registry, arena, stream}, *model, options);
    warm = engine->warm_up();
  }

  Driver& driver;
  SequenceClock clock;
  BufferRegistry registry{clock};
  Arena arena;
  std::unique_ptr<Model> model;
  OwnedStream stream{driver};
  std::unique_ptr<Engine> engine;
  WarmUp warm;
};

int serve(const ServeFlags& flags) {
  check_flags(flags);
  // Before a device is touched: nothing is served of a script that is not understood.
  const ModelSize size = size_of_model(flags.model);
  const ServingLimits limits = limits_of(flags, size);
  const ArenaSize arena = model_arena(flags.model, limits);
  const std::vector<ScriptedRequest> script = read_script(flags.script, size.vocabulary);
  const std::unique_ptr<Driver> driver = make_driver(flags.device);
  Server server(*driver, flags, limits, arena);
  ServeResult result;
  result.model = server.model->name();
  result.device = driver->device();
  result.warm_up = server.warm;
  serve_script(*server.engine, script, flags.speed, result);
  if (!flags.metrics.empty()) save_text(flags.metrics, prometheus_text(result.stats));
  fmt::print("{}", flags.format == Format::json ? serve_json(result) : serve_text(result));
  return result.exit_code();
}

void add_limits(Options app, ServeFlags& flags) {
  ServingLimits& l = flags.limits;
  app.add_option("--context", l.context, "tokens of one request, prompt and answer (2048)");
  app.add_option("--pages", l.pages, "of the KV pool, the null block among them (room for --decode-rows requests)");
  app.add_option("--decode-rows", l.decode_rows, "requests in one decode step (64)");
  app.add_option("--prefill-tokens", l.prefill_tokens, "rows of one prefill chunk (256)");
  app.add_option("--prefill-requests", l.prefill_requests, "requests that may share a chunk (8)");
  app.add_option("--verify-requests", l.verify_requests, "requests in one draft verification (--decode-rows)");
  app.add_option("--drafts", l.drafts, "the most tokens drafted for a request, by lookup in its prompt (0)");
  app.add_option("--ring-depth", flags.engine.ring_depth, "steps that may be in flight (2)");
  app.add_flag("--pdl", flags.engine.pdl, "programmatic dependent launch: kernels that wait on the device start early");
  app.add_option("--compare-every", flags.engine.compare_every,
                 "run each n-th step once more, eagerly, and compare; 0: none (0)");
  app.add_option("--eos", flags.engine.eos, "token id that ends every answer (none)");
}

}  // namespace

std::function<int()> declare_serve(Options app) {
  auto flags = std::make_shared<ServeFlags>();
  app.add_option("--script", flags->script, R"(requests, a line each: {"at_ms":0,"prompt":[1,2]} or "prompt_tokens":9)")
      .required();
  app.add_option("--speed", flags->speed, "how much faster than the script's times; 0: all at once (1)");
  app.add_option("--metrics", flags->metrics, "write Prometheus text to this file");
  app.add_option("--device", flags->device, "auto, host or cuda").one_of({"auto", "host", "cuda"});
  add_model_flags(app, flags->model);
  add_limits(app, *flags);
  add_format(app, flags->format);
  return [flags] { return serve(*flags); };
}

}  // namespace refrain
