// Every folder of tests/cases is one rule: each bad file must give exactly what
// expected.txt says, each good file must give no finding of any rule. In
// expected.txt a file's part begins with `== name`; a finding is its headline, its
// nodes and its message.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "audit/audit.hpp"
#include "audit/rules.hpp"
#include "tests/catch.hpp"
#include "traces/readers.hpp"

using namespace refrain;
namespace fs = std::filesystem;

namespace {

const fs::path kCases = fs::path(REFRAIN_SOURCE_DIR) / "tests" / "cases";

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  REQUIRE(in);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

Subject subject_of(const fs::path& file) {
  Recording recording = load_recording(file.string());
  recording.name = file.filename().string();
  return {{std::move(recording)}};
}

std::string nodes_of(const Finding& finding) {
  std::string list;
  for (const NodeId node : finding.nodes) {
    if (!list.empty()) list += ' ';
    list += std::to_string(node);
  }
  return list.empty() ? "none" : list;
}

std::string summary(const std::string& name, const Report& report) {
  std::string out = fmt::format("== {}\n", name);
  for (const Finding& finding : report.findings())
    out += fmt::format("{} {} {}  {}\n    nodes: {}\n    {}\n", to_string(finding.severity), finding.rule, finding.name,
                       finding.where, nodes_of(finding), finding.message);
  return out;
}

std::vector<fs::path> files_of(const fs::path& folder, const std::string& prefix) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().filename().string().starts_with(prefix)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<fs::path> folders() {
  std::vector<fs::path> all;
  for (const auto& entry : fs::directory_iterator(kCases))
    if (entry.is_directory() && entry.path().filename().string().starts_with("RF")) all.push_back(entry.path());
  std::sort(all.begin(), all.end());
  return all;
}

std::string rule_of(const fs::path& folder) {
  return folder.filename().string().substr(0, 5);
}

}  // namespace

TEST_CASE("cases: every bad file gives exactly the findings that are expected of it") {
  for (const fs::path& folder : folders()) {
    std::string actual;
    for (const fs::path& file : files_of(folder, "bad")) {
      const Report report = audit(subject_of(file));
      INFO(file);
      CHECK(std::any_of(report.findings().begin(), report.findings().end(),
                        [&](const Finding& finding) { return finding.rule == rule_of(folder); }));
      actual += summary(file.filename().string(), report);
    }
    INFO(folder);
    CHECK(text_of(folder / "expected.txt") == actual);
  }
}

TEST_CASE("cases: no good file gives a finding of any rule") {
  for (const fs::path& folder : folders())
    for (const fs::path& file : files_of(folder, "good")) {
      const Report report = audit(subject_of(file));
      INFO(summary(file.string(), report));
      CHECK(report.findings().empty());
    }
}

TEST_CASE("cases: every rule has a folder with bad, good and expected files, and every folder has a rule") {
  for (const Rule& rule : rules()) {
    const fs::path folder = kCases / fmt::format("{}-{}", rule.id, rule.name);
    INFO(folder);
    REQUIRE(fs::is_directory(folder));
    CHECK_FALSE(files_of(folder, "bad").empty());
    CHECK_FALSE(files_of(folder, "good").empty());
    CHECK(fs::exists(folder / "expected.txt"));
  }
  for (const fs::path& folder : folders()) {
    const Rule* rule = find_rule(rule_of(folder));
    INFO(folder);
    REQUIRE(rule != nullptr);
    CHECK(folder.filename() == fmt::format("{}-{}", rule->id, rule->name));
  }
}

TEST_CASE("cases: every finding names its place, what to do and a fingerprint of its own") {
  for (const fs::path& folder : folders())
    for (const fs::path& file : files_of(folder, "bad")) {
      std::vector<std::string> prints;
      for (const Finding& finding : audit(subject_of(file)).findings()) {
        INFO(file);
        CHECK_FALSE(finding.where.empty());
        CHECK_FALSE(finding.message.empty());
        CHECK_FALSE(finding.fix.empty());
        CHECK(finding.fingerprint.size() == 16);
        CHECK(std::find(prints.begin(), prints.end(), finding.fingerprint) == prints.end());
        prints.push_back(finding.fingerprint);
      }
    }
}
