// Public bug reports, brought down to calls and graphs (tests/cases/public/README.md):
// each must give exactly the findings that its expected file lists, and each good
// twin none.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "audit/audit.hpp"
#include "tests/catch.hpp"
#include "traces/readers.hpp"

using namespace refrain;
namespace fs = std::filesystem;

namespace {

const fs::path kFolder = fs::path(REFRAIN_SOURCE_DIR) / "tests" / "cases" / "public";

std::vector<fs::path> inputs() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    const fs::path extension = entry.path().extension();
    if (extension == ".jsonl" || extension == ".json" || extension == ".dot") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool is_twin(const fs::path& input) {
  return input.stem().string().ends_with("-good");
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  REQUIRE(in);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string findings_of(const fs::path& input) {
  std::string text;
  for (const Finding& finding : audit(Subject{{load_recording(input.string())}}).findings()) {
    std::string nodes;
    for (const NodeId node : finding.nodes) nodes += fmt::format(" {}", node);
    text += fmt::format("{} {}{}\n", to_string(finding.severity), finding.rule, nodes.empty() ? " none" : nodes);
  }
  return text;
}

}  // namespace

TEST_CASE("public cases: every report gives exactly the findings that are expected of it") {
  std::size_t reports = 0;
  for (const fs::path& input : inputs()) {
    if (is_twin(input)) continue;
    INFO(input);
    fs::path expected = input;
    CHECK(text_of(expected.replace_extension(".expected.txt")) == findings_of(input));
    ++reports;
  }
  CHECK(reports >= 13);
}

TEST_CASE("public cases: no good twin gives a finding, and each stands beside its report") {
  for (const fs::path& input : inputs()) {
    if (!is_twin(input)) continue;
    INFO(input);
    CHECK(findings_of(input).empty());
    const std::string report = input.stem().string().substr(0, input.stem().string().size() - 5);
    CHECK(fs::exists(kFolder / (report + ".expected.txt")));
  }
}

TEST_CASE("public cases: the page of the folder names every case, and every expected file has its input") {
  const std::string page = text_of(kFolder / "README.md");
  for (const fs::path& input : inputs()) {
    INFO(input);
    CHECK(page.find("| " + input.filename().string().substr(0, 2) + " |") != std::string::npos);
  }
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    const std::string name = entry.path().filename().string();
    const auto suffix = name.find(".expected.txt");
    if (suffix == std::string::npos) continue;
    INFO(name);
    const auto all = inputs();
    CHECK(std::any_of(all.begin(), all.end(),
                      [&](const fs::path& input) { return input.stem().string() == name.substr(0, suffix); }));
  }
}
