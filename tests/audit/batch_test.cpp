// Many inputs on many threads: the report is that of one after the other, and the
// failure that is told is the first in the order of the inputs.
#include "audit/batch.hpp"

#include <algorithm>
#include <filesystem>

#include "audit/audit.hpp"
#include "graphs/error.hpp"
#include "tests/catch.hpp"
#include "traces/readers.hpp"

using namespace refrain;
namespace fs = std::filesystem;

namespace {

/// Every graph file of the rules' cases: some broken, some clean.
std::vector<std::string> case_graphs() {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(REFRAIN_SOURCE_DIR) / "tests" / "cases"))
    if (entry.path().extension() == ".json") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

BatchOptions on_threads(std::size_t jobs, Keep keep = Keep::none) {
  BatchOptions options;
  options.jobs = jobs;
  options.keep = keep;
  return options;
}

std::string input_error(const std::vector<std::string>& files, std::size_t jobs) {
  try {
    (void)audit_files(inputs_of(files), on_threads(jobs));
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("batch: the report is that of one input after the other however many threads there are") {
  const std::vector<std::string> files = case_graphs();
  REQUIRE(files.size() > 100);
  Report expected;
  for (const std::string& file : files) expected.merge(audit(Subject{{load_recording(file)}}));
  REQUIRE(expected.findings().size() > 50);
  for (const std::size_t jobs : {0, 1, 3, 16}) {
    const Batch batch = audit_files(inputs_of(files), on_threads(jobs));
    CHECK(report_json(batch.report) == report_json(expected));
    CHECK(batch.subjects.empty());
  }
}

TEST_CASE("batch: what a format asks for is kept in the order of the inputs") {
  const std::vector<std::string> files = case_graphs();
  const Batch all = audit_files(inputs_of(files), on_threads(4, Keep::all));
  REQUIRE(all.subjects.size() == files.size());
  for (std::size_t i = 0; i < files.size(); ++i) CHECK(all.subjects[i].recordings.at(0).name == files[i]);

  const Batch some = audit_files(inputs_of(files), on_threads(4, Keep::with_findings));
  std::vector<std::string> with, kept;
  for (const Finding& finding : some.report.findings())
    if (with.empty() || with.back() != finding.input) with.push_back(finding.input);
  for (const Subject& subject : some.subjects) kept.push_back(subject.recordings.at(0).name);
  CHECK(kept == with);
  CHECK(kept.size() < files.size());
}

TEST_CASE("batch: of two inputs that cannot be read the first is told whichever thread met it") {
  std::vector<std::string> files = case_graphs();
  files.insert(files.begin() + 3, "no-such-input-a.json");
  files.insert(files.begin() + 4, "no-such-input-b.json");
  for (const std::size_t jobs : {1, 2, 8})
    for (int round = 0; round < 20; ++round)
      CHECK(input_error(files, jobs).find("no-such-input-a.json") != std::string::npos);
}

TEST_CASE("batch: an input goes by the name that it is given") {
  const std::vector<BatchInput> inputs = {{case_graphs().front(), "the command"}};
  const Batch batch = audit_files(inputs, on_threads(1, Keep::all));
  CHECK(batch.report.inputs == std::vector<std::string>{"the command"});
  CHECK(batch.subjects.at(0).recordings.at(0).name == "the command");
}

TEST_CASE("batch: each input is announced once and one at a time") {
  const std::vector<std::string> files = case_graphs();
  std::vector<std::string> names;
  std::vector<std::size_t> done;
  BatchOptions options = on_threads(8);
  options.progress = [&](std::size_t begun, std::size_t total, const std::string& name) {
    CHECK(total == files.size());
    done.push_back(begun);
    names.push_back(name);
  };
  const Batch batch = audit_files(inputs_of(files), options);
  REQUIRE(names.size() == files.size());
  for (std::size_t i = 0; i < done.size(); ++i) CHECK(done[i] == i);
  std::sort(names.begin(), names.end());
  CHECK(names == files);
}

TEST_CASE("batch: rows of coverage stand in the order of the inputs and uses are summed") {
  const std::vector<std::string> files = case_graphs();
  std::vector<ContractFile> contracts;
  contracts.push_back(load_contracts(std::string(REFRAIN_SOURCE_DIR) + "/audit/contracts/vllm.json"));
  BatchOptions options = on_threads(1);
  options.coverage = true;
  options.contracts = contracts;
  const Batch one = audit_files(inputs_of(files), options);
  options.jobs = 8;
  const Batch many = audit_files(inputs_of(files), options);
  CHECK(coverage_json(one.coverage) == coverage_json(many.coverage));
  CHECK(many.coverage.uses.size() == contracts[0].contracts.size());
  CHECK(many.coverage.nodes.size() > files.size());
}
