// refrain scales: writes, verifies and shows the K/V scales of a checkpoint. What
// was read and does not hold is exit code 1, what cannot be read 2.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/command.hpp"
#include "cli/hash_progress.hpp"
#include "cli/scales_report.hpp"
#include "graphs/error.hpp"
#include "runtime/scales/materialize.hpp"
#include "runtime/scales/verify_scales.hpp"

namespace refrain {
namespace {

using Json = nlohmann::ordered_json;

struct ScalesFlags {
  std::string path, base, report, out, revision, manifest, rules;
  bool force = false;
  Format format = Format::text;
};

std::optional<std::string> given(const std::string& flag) {
  return flag.empty() ? std::nullopt : std::optional(flag);
}

Provenance make_overlay(const ScalesFlags& flags) {
  HashLine line;
  MaterializeOptions options{.base = flags.base,
                             .report = flags.report,
                             .out = flags.out,
                             .revision = flags.revision,
                             .source_manifest = given(flags.manifest),
                             .force = flags.force,
                             .tool_version = REFRAIN_VERSION,
                             .progress = line.progress()};
  if (!flags.rules.empty()) options.rules = load_scale_rules(flags.rules);
  return materialize_scales(options);
}

int materialize(const ScalesFlags& flags) {
  const Provenance made = make_overlay(flags);
  if (flags.format == Format::json)
    fmt::print("{}", provenance_text(made));
  else
    fmt::print("wrote     {}: {}\n", flags.out, provenance_line(made));
  return kExitClean;
}

void print_verdict(const ScalesFlags& flags, const std::string& line, bool holds) {
  if (flags.format == Format::text) {
    fmt::print("{:<9} {}\n", holds ? "holds" : "BROKEN", line);
    return;
  }
  const Json json{{"schema", "refrain.scales-verify/1"},
                  {"path", flags.path},
                  {"holds", holds},
                  {"problem", holds ? Json(nullptr) : Json(line)},
                  {"exit_code", holds ? kExitClean : kExitFindings}};
  fmt::print("{}\n", json.dump(2));
}

Provenance check_overlay(const ScalesFlags& flags) {
  HashLine line;
  return verify_scales(flags.path, {.base = given(flags.base),
                                    .report = given(flags.report),
                                    .source_manifest = given(flags.manifest),
                                    .revision = given(flags.revision),
                                    .progress = line.progress()});
}

int verify(const ScalesFlags& flags) {
  try {
    print_verdict(flags, fmt::format("{}: {}", flags.path, provenance_line(check_overlay(flags))), true);
    return kExitClean;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::refused) throw;
    print_verdict(flags, error.what(), false);
    return kExitFindings;
  }
}

int show(const ScalesFlags& flags) {
  LoadScalesOptions options{.base = given(flags.base)};
  if (!flags.rules.empty()) options.rules = load_scale_rules(flags.rules);
  const LoadedScales found = find_scales(flags.path, options);
  fmt::print("{}", flags.format == Format::json ? scales_json(flags.path, found) : scales_text(flags.path, found));
  return kExitClean;
}

using Action = int (*)(const ScalesFlags&);

int run(Action action, const ScalesFlags& flags) {
  try {
    return action(flags);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::refused) throw;
    fmt::print(stderr, "refrain: {}\n", error.what());
    return kExitFindings;
  }
}

void declare_materialize(Options app, ScalesFlags& flags) {
  app.add_option("--base", flags.base, "the checkpoint: a folder, or one safetensors file").required();
  app.add_option("--report", flags.report, "the calibration report, refrain.calibration/1").required();
  app.add_option("--out", flags.out, "the folder of the overlay; made where it is missing").required();
  app.add_option("--revision", flags.revision, "the checkpoint's revision; the report must not name another")
      .required();
  app.add_option("--source-manifest", flags.manifest, "SHA-256 of the checkpoint's files, refrain.source-manifest/1");
  app.add_option("--rules", flags.rules, "which tensors are scales, refrain.scale-rules/1");
  app.add_flag("--force", flags.force, "replace the overlay that is there");
  add_format(app, flags.format);
}

void declare_verify_overlay(Options app, ScalesFlags& flags) {
  app.add_option("overlay", flags.path, "the folder of the overlay").required();
  app.add_option("--revision", flags.revision, "the revision that it must be for");
  app.add_option("--base", flags.base, "the checkpoint's folder, where it has moved");
  app.add_option("--report", flags.report, "the calibration report, where it has moved");
  app.add_option("--source-manifest", flags.manifest, "the source manifest, where it has moved");
  add_format(app, flags.format);
}

void declare_show(Options app, ScalesFlags& flags) {
  app.add_option("path", flags.path, "an overlay's folder, a checkpoint's folder, or one safetensors file").required();
  app.add_option("--base", flags.base, "the checkpoint's folder of an overlay, where it has moved");
  app.add_option("--rules", flags.rules, "which tensors are scales, refrain.scale-rules/1");
  add_format(app, flags.format);
}

struct Subcommand {
  const char* name;
  const char* description;
  void (*declare)(Options app, ScalesFlags& flags);
  Action action;
};

constexpr Subcommand kSubcommands[] = {
    {"materialize", "write calibrated scales as an overlay, bound to its inputs by hashes", declare_materialize,
     materialize},
    {"verify", "compute an overlay's hashes and values again", declare_verify_overlay, verify},
    {"show", "the scales of an overlay or a checkpoint", declare_show, show},
};

}  // namespace

std::function<int()> declare_scales(Options app) {
  auto flags = std::make_shared<ScalesFlags>();
  app.require_subcommand();
  for (const Subcommand& command : kSubcommands)
    command.declare(app.add_subcommand(command.name, command.description), *flags);
  return [app, flags] {
    const std::string name = app.subcommand();
    for (const Subcommand& command : kSubcommands)
      if (name == command.name) return run(command.action, *flags);
    return kExitCouldNotRun;
  };
}

}  // namespace refrain
