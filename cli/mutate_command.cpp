// refrain mutate: breaks a clean graph in every way that it knows, and counts which mutants the audit kills.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "audit/mutate/report.hpp"
#include "cli/command.hpp"

#include "graphs/error.hpp"
#include "traces/readers.hpp"

namespace refrain {
namespace {

struct MutateFlags {
  std::string file;
  std::uint64_t seed = 1;
  Format format = Format::text;
};

int run(const MutateFlags& flags) {
  const Recording recording = load_recording(flags.file);
  if (recording.graphs.empty())
    throw Error(ErrorKind::input, "graphs", "expected a graph to break, found none; record with its graphs",
                flags.file);
  mutate::Tally tally;
  for (const Graph& graph : recording.graphs) tally.merge(mutate::mutate(graph, flags.seed, flags.file));
  if (flags.format == Format::json) {
    nlohmann::ordered_json json = {{"schema", "refrain.mutate/1"}, {"input", flags.file}, {"seed", flags.seed}};
    json.update(mutate::tally_json(tally));
    fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  } else {
    fmt::print("{}", mutate::tally_text(tally));
  }
  return tally.escapes.empty() ? kExitClean : kExitFindings;
}

}  // namespace

std::function<int()> declare_mutate(Options app) {
  auto flags = std::make_shared<MutateFlags>();
  app.add_option("graph", flags->file, "a clean graph, or a recording with its graphs").required();
  app.add_option("--seed", flags->seed, "of lengths, targets, and of the mutants drawn where there are too many (1)");
  add_format(app, flags->format);
  return [flags] { return run(*flags); };
}

}  // namespace refrain
