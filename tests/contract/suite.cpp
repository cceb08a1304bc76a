#include "tests/contract/suite.hpp"

#include <algorithm>
#include <thread>

#include "tests/contract/measured.hpp"
#include "tests/contract/probes.hpp"

namespace refrain::test {
namespace {

constexpr std::array kModes = {CaptureMode::global, CaptureMode::thread_local_, CaptureMode::relaxed};

Cell ask(Driver& driver, const Probe& probe, CaptureMode mode, bool blocking, bool other_thread) {
  ProbeScene scene(driver, blocking);
  check(driver.begin_capture(scene.capture, mode), "cudaStreamBeginCapture");
  check(scene.launch_on(scene.capture), "launch");
  Status answer = Status::unknown;
  if (other_thread)
    std::thread([&] { answer = probe(scene); }).join();
  else
    answer = probe(scene);
  GraphHandle graph;
  const Status end = driver.end_capture(scene.capture, graph);
  Cell cell{static_cast<int>(answer), static_cast<int>(end), 0};
  if (end != Status::success) return cell;
  Introspection inside;
  check(driver.introspect(graph, inside), "reading the captured graph");
  cell.nodes = static_cast<int>(inside.graph.nodes.size());
  (void)driver.destroy(graph);
  return cell;
}

std::string text(const Cell& cell) {
  return std::to_string(cell.code) + ", end " + std::to_string(cell.end_code) + ", " + std::to_string(cell.nodes) +
         " nodes";
}

void compare(Driver& driver, const std::string& label, const std::array<Cell, 3>& expected, bool blocking,
             bool other_thread, std::vector<std::string>& failures) {
  const auto probe = probes().find(label);
  if (probe == probes().end()) {
    failures.push_back(label + ": no probe");
    return;
  }
  for (std::size_t mode = 0; mode < kModes.size(); ++mode) {
    Cell want = expected[mode];
    // A fork that nobody joins shows at the end, and the call itself is fine.
    const Cell got = ask(driver, probe->second, kModes[mode], blocking, other_thread);
    if (got.code == want.code && got.end_code == want.end_code && got.nodes == want.nodes) continue;
    failures.push_back(label + ", " + to_string(kModes[mode]) + (other_thread ? ", other thread" : "") + ": expected " +
                       text(want) + ", found " + text(got));
  }
}

}  // namespace

std::vector<std::string> contract_failures(Driver& driver, const std::vector<std::string>& leave_out) {
  std::vector<std::string> failures;
  const auto left_out = [&](const char* label) {
    return std::find(leave_out.begin(), leave_out.end(), label) != leave_out.end();
  };
  for (const MeasuredRow& row : measured_rows()) {
    if (left_out(row.label)) continue;
    compare(driver, row.label, row.same_thread, false, false, failures);
    compare(driver, row.label, row.other_thread, false, true, failures);
  }
  for (const SameThreadRow& row : same_thread_rows())
    if (!left_out(row.label)) compare(driver, row.label, row.cells, row.blocking, false, failures);
  return failures;
}

std::size_t contract_cells() {
  return measured_rows().size() * 6 + same_thread_rows().size() * 3;
}

}  // namespace refrain::test
