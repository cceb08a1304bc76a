// refrain diff: a golden graph or recording and a new one, what drifted, and whether an exec update could absorb it.
// Two files of one graph each are compared whatever their graphs are called; else graphs are paired by name.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "audit/reports/escape.hpp"
#include "cli/command.hpp"
#include "cli/diff_report.hpp"
#include "graphs/error.hpp"
#include "traces/readers.hpp"

namespace refrain {
namespace {

using Json = nlohmann::ordered_json;

struct DiffFlags {
  std::string a, b;
  Format format = Format::text;
};

std::vector<Graph> load_graphs(const std::string& file) {
  Recording recording = load_recording(file);
  if (recording.graphs.empty())
    throw Error(ErrorKind::input, "graphs", "expected a graph to compare, found none; record with its graphs", file);
  return std::move(recording.graphs);
}

/// A graph of each side with the same name; of several with one name the first goes with the first.
struct Paired {
  std::string name;
  const Graph* a = nullptr;
  const Graph* b = nullptr;
};

std::vector<Paired> pair_by_name(const std::vector<Graph>& a, const std::vector<Graph>& b) {
  std::vector<Paired> pairs;
  std::map<std::string, std::vector<std::size_t>> waiting;  // of `a`, last one first
  for (const Graph& graph : a) {
    waiting[graph.name].insert(waiting[graph.name].begin(), pairs.size());
    pairs.push_back({graph.name, &graph, nullptr});
  }
  for (const Graph& graph : b) {
    auto& places = waiting[graph.name];
    if (places.empty()) {
      pairs.push_back({graph.name, nullptr, &graph});
      continue;
    }
    pairs[places.back()].b = &graph;
    places.pop_back();
  }
  return pairs;
}

Json heading(const DiffFlags& flags) {
  return {{"schema", "refrain.diff/1"}, {"a", flags.a}, {"b", flags.b}};
}

void print(const Json& json) {
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

int run_one(const DiffFlags& flags, const Graph& a, const Graph& b) {
  const GraphPair pair = compare(a, b);
  if (flags.format == Format::json) {
    Json json = heading(flags);
    json.update(diff_json(pair));
    print(json);
  } else {
    fmt::print("{}", diff_text(pair));
  }
  return pair.diff.empty() ? kExitClean : kExitFindings;
}

int run_many(const DiffFlags& flags, const std::vector<Graph>& a, const std::vector<Graph>& b) {
  bool equal = true;
  Json list = Json::array(), only_a = Json::array(), only_b = Json::array();
  std::string text;
  for (const Paired& paired : pair_by_name(a, b)) {
    if (paired.a == nullptr || paired.b == nullptr) {
      equal = false;
      (paired.a != nullptr ? only_a : only_b).push_back(paired.name);
      text += fmt::format("{} graph {}\n", paired.a != nullptr ? '-' : '+', visible(paired.name));
      continue;
    }
    const GraphPair pair = compare(*paired.a, *paired.b);
    equal = equal && pair.diff.empty();
    Json item = {{"name", paired.name}};
    item.update(diff_json(pair));
    list.push_back(std::move(item));
    text += fmt::format("== graph {} ==\n{}", visible(paired.name), diff_text(pair));
  }
  if (flags.format == Format::json) {
    Json json = heading(flags);
    json.update(Json{{"equal", equal}, {"graphs", list}, {"only_in_a", only_a}, {"only_in_b", only_b}});
    print(json);
  } else {
    fmt::print("{}", text);
  }
  return equal ? kExitClean : kExitFindings;
}

int run(const DiffFlags& flags) {
  const std::vector<Graph> a = load_graphs(flags.a), b = load_graphs(flags.b);
  return a.size() == 1 && b.size() == 1 ? run_one(flags, a.front(), b.front()) : run_many(flags, a, b);
}

}  // namespace

std::function<int()> declare_diff(Options app) {
  auto flags = std::make_shared<DiffFlags>();
  app.add_option("a", flags->a, "the golden graph or recording").required();
  app.add_option("b", flags->b, "what to compare it with").required();
  add_format(app, flags->format);
  return [flags] { return run(*flags); };
}

}  // namespace refrain
