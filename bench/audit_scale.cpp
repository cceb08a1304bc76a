// How long an audit takes as graphs grow: chains of kernels with contracts, the
// shape of a decode step. Every node reads what the one before it wrote, needs and
// gives facts, and each layer zeroes and uses a scratch. Then the program itself over
// the same graphs as files, and over a thousand of them by one command, with its peak
// memory. Writes refrain.bench/1.
//   bench_audit_scale [--nodes 3000,30000,300000] [--runs 7] [--batch 1000] [--program FILE] [--out FILE] [--commit
//   HASH]
// The commit also comes from REFRAIN_COMMIT; the program is the `refrain` that was built beside this one.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "audit/audit.hpp"
#include "bench/child_process.hpp"
#include "bench/result.hpp"
#include "graphs/error.hpp"
#include "graphs/readers.hpp"

namespace refrain {
namespace {

constexpr std::uint64_t kHiddenBytes = 1 << 16, kCounterBytes = 96, kMinRuns = 5;
constexpr NodeId kLayerNodes = 4;  // zero, attend, merge, project

enum : BufferId { kPing, kPong, kCounters, kPartials, kBuffers };

constexpr NodeId kBatchNodes = 3000;

struct Options {
  std::vector<NodeId> nodes = {3000, 30000, 300000};
  std::uint64_t runs = 7, batch = 1000;
  std::string program, out, commit, command;
};

NodeAccess touch(BufferId buffer, std::uint64_t bytes, Mode mode, Role role) {
  NodeAccess access;
  access.buffer = buffer;
  access.range = {0, bytes};
  access.mode = mode;
  access.role = role;
  return access;
}

NodeClaim claim(Fact fact, BufferId buffer, std::uint64_t bytes) {
  return {fact, buffer, {0, bytes}};
}

Node layer_node(NodeId turn, BufferId from, BufferId to) {
  Node node;
  node.has_contract = true;
  switch (turn) {
    case 0:
      node.op = "plan";
      node.accesses = {touch(kCounters, kCounterBytes, Mode::write, Role::scratch)};
      node.gives = {claim(Fact::zeroed, kCounters, kCounterBytes)};
      break;
    case 1:
      node.op = "attend";
      node.accesses = {touch(from, kHiddenBytes, Mode::read, Role::input),
                       touch(kCounters, kCounterBytes, Mode::accumulate, Role::scratch),
                       touch(kPartials, kHiddenBytes, Mode::write, Role::workspace)};
      node.needs = {claim(Fact::zeroed, kCounters, kCounterBytes), claim(Fact::finite, from, kHiddenBytes)};
      node.gives = {claim(Fact::finite, kPartials, kHiddenBytes)};
      break;
    case 2:
      node.op = "merge";
      node.accesses = {touch(kCounters, kCounterBytes, Mode::read, Role::scratch),
                       touch(kPartials, kHiddenBytes, Mode::read, Role::workspace),
                       touch(to, kHiddenBytes, Mode::write, Role::output)};
      node.needs = {claim(Fact::finite, kPartials, kHiddenBytes)};
      node.gives = {claim(Fact::finite, to, kHiddenBytes)};
      break;
    default:
      node.op = "project";
      node.accesses = {touch(to, kHiddenBytes, Mode::read_write, Role::output)};
      node.needs = {claim(Fact::finite, to, kHiddenBytes)};
      node.gives = {claim(Fact::finite, to, kHiddenBytes)};
      break;
  }
  node.name = node.op;
  return node;
}

Graph chain(NodeId count) {
  Graph graph;
  graph.name = "chain";
  const char* names[kBuffers] = {"ping", "pong", "counters", "partials"};
  for (BufferId id = 0; id < kBuffers; ++id) {
    Buffer buffer;
    buffer.name = names[id];
    buffer.base = 0x10000000ULL * (id + 1);
    buffer.bytes = id == kCounters ? kCounterBytes : kHiddenBytes;
    buffer.born = id + 1;
    graph.buffers.push_back(buffer);
  }
  graph.entry = {{Fact::written, kPing, {0, kHiddenBytes}, Origin::host_each_launch, "embedding"},
                 {Fact::finite, kPing, {0, kHiddenBytes}, Origin::host_each_launch, "embedding"}};
  for (NodeId id = 0; id < count; ++id) {
    const bool even = id / kLayerNodes % 2 == 0;
    graph.nodes.push_back(layer_node(id % kLayerNodes, even ? kPing : kPong, even ? kPong : kPing));
    if (id > 0) graph.edges.push_back({id - 1, id, EdgeKind::full});
  }
  return graph;
}

double audit_ms(const Subject& subject) {
  const auto start = std::chrono::steady_clock::now();
  const Report report = audit(subject);
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
  // A chain with a finding would time another path than the clean one.
  if (!report.findings().empty())
    throw Error(ErrorKind::input, "audit of the clean chain", report.findings().front().message, "bench_audit_scale");
  return taken.count();
}

/// Runs `refrain audit` to its end: clean graphs, so exit code 0.
bench::Command audit_command(const std::string& program, const std::vector<std::string>& files, std::uint64_t jobs) {
  std::vector<std::string> words = {program, "audit", "--jobs", std::to_string(jobs)};
  words.insert(words.end(), files.begin(), files.end());
  return bench::run_command(std::move(words));
}

nlohmann::ordered_json measure(NodeId nodes, const Options& options, const bench::TemporaryFolder& folder) {
  const Subject subject{{{"chain", {chain(nodes)}, {}, false}}};
  std::vector<double> times;
  for (std::uint64_t run = 0; run < options.runs; ++run) times.push_back(audit_ms(subject));
  std::sort(times.begin(), times.end());
  const double median = times[times.size() / 2];
  const std::string text = write_graph_json(subject.recordings[0].graphs[0]);
  const bench::Command command =
      audit_command(options.program, {folder.write(fmt::format("chain-{}.json", nodes), text)}, 1);
  return {{"case", fmt::format("chain-{}", nodes)},
          {"nodes", nodes},
          {"runs", options.runs},
          {"audit_ms", median},
          {"audit_ms_min", times.front()},
          {"audit_ms_max", times.back()},
          {"ns_per_node", median * 1e6 / nodes},
          {"file_bytes", text.size()},
          {"command_ms", command.ms},
          {"peak_bytes", command.peak_bytes},
          {"peak_bytes_per_node", static_cast<double>(command.peak_bytes) / nodes},
          {"limited_by",
           "one core: allocations and cache misses of the sweeps over nodes and accesses; the command: parsing JSON"}};
}

nlohmann::ordered_json measure_batch(const Options& options, const bench::TemporaryFolder& folder) {
  const std::string text = write_graph_json(chain(kBatchNodes));
  std::vector<std::string> files;
  for (std::uint64_t i = 0; i < options.batch; ++i)
    files.push_back(folder.write(fmt::format("graph-{}.json", i), text));
  const std::uint64_t cores = std::thread::hardware_concurrency();
  const bench::Command one = audit_command(options.program, files, 1);
  const bench::Command all = audit_command(options.program, files, cores);
  return {{"case", fmt::format("batch-{}x{}", options.batch, kBatchNodes)},
          {"nodes", options.batch * kBatchNodes},
          {"jobs", cores},
          {"command_ms", all.ms},
          {"command_one_job_ms", one.ms},
          {"speedup_over_one_job_ratio", one.ms / all.ms},
          {"graphs_per_s", static_cast<double>(options.batch) * 1e3 / all.ms},
          {"peak_bytes", all.peak_bytes},
          {"limited_by", "all cores, parsing JSON: text in the page cache is read, parsed and judged graph by graph"}};
}

std::uint64_t number(std::string_view text, const std::string& option, std::uint64_t least) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least || value > UINT32_MAX)
    throw Error(ErrorKind::usage, option, fmt::format("expected a number from {} on, found \"{}\"", least, text),
                "bench_audit_scale");
  return value;
}

std::vector<NodeId> numbers(std::string_view text, const std::string& option) {
  std::vector<NodeId> list;
  while (true) {
    const auto comma = text.find(',');
    list.push_back(static_cast<NodeId>(number(text.substr(0, comma), option, 1)));
    if (comma == std::string_view::npos) return list;
    text.remove_prefix(comma + 1);
  }
}

Options parse(int argc, char** argv) {
  Options options;
  if (const char* commit = std::getenv("REFRAIN_COMMIT")) options.commit = commit;
  options.command = "bench_audit_scale";
  for (int i = 1; i < argc; i += 2) {
    const std::string option = argv[i];
    if (i + 1 == argc) throw Error(ErrorKind::usage, option, "expected a value after it", "bench_audit_scale");
    const std::string value = argv[i + 1];
    if (option != "--out" && option != "--commit" && option != "--program")
      options.command.append(" ").append(option).append(" ").append(value);
    if (option == "--nodes")
      options.nodes = numbers(value, option);
    else if (option == "--runs")
      options.runs = number(value, option, kMinRuns);
    else if (option == "--batch")
      options.batch = number(value, option, 1);
    else if (option == "--program")
      options.program = value;
    else if (option == "--out")
      options.out = value;
    else if (option == "--commit")
      options.commit = value;
    else
      throw Error(ErrorKind::usage, option, "expected --nodes, --runs, --batch, --program, --out or --commit",
                  "bench_audit_scale");
  }
  if (options.program.empty()) options.program = bench::refrain_beside("bench_audit_scale");
  return options;
}

void run(const Options& options) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  const bench::TemporaryFolder folder("audit-scale");
  for (const NodeId nodes : options.nodes) rows.push_back(measure(nodes, options, folder));
  rows.push_back(measure_batch(options, folder));
  bench::write_result(bench::cpu_result("audit-scale", options.commit, options.command, std::move(rows)), options.out);
}

}  // namespace
}  // namespace refrain

int main(int argc, char** argv) try {
  refrain::run(refrain::parse(argc, argv));
  return 0;
} catch (const refrain::Error& error) {
  std::cerr << error.what() << "\n";
  return 2;
}
