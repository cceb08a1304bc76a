// Every real input that there is, with all that the audit says of it and nothing
// else: severity, rule and count, in the order of the rules. What is listed is what
// the programs that made them did (traces/samples/README.md, and the pages of the
// public ones); a line more is a false alarm, a line less is blindness.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "audit/audit.hpp"
#include "tests/catch.hpp"
#include "tests/traces/trace_support.hpp"
#include "traces/readers.hpp"

using namespace refrain;
using namespace refrain::test;
namespace fs = std::filesystem;

namespace {

using Lines = std::vector<std::string>;

struct Swept {
  const char* file;
  int exit_code;
  Lines findings;
};

// A host callback and an allocation are nodes of it; the verbose dump alone tells the memory of its copy.
const std::vector<Swept> kSamples = {
    {"all_kinds_node_attributes.dot", 0, {"warning RF105 1", "warning RF202 1"}},
    {"all_kinds_plain.dot", 0, {"warning RF105 1", "warning RF202 1"}},
    {"all_kinds_verbose.dot", 1, {"error RF103 1", "warning RF105 1", "warning RF202 1"}},
    {"capture_clean.json.gz", 0, {"note RF201 2"}},
    {"capture_escapes.json.gz",
     1,
     {"error RF201 1", "note RF201 1", "error RF501 1", "error RF502 1", "error RF502 1"}},
    {"decode_eager.json.gz", 0, {}},
    {"decode_graph_clean.json.gz", 0, {}},
    // 8 steps; of the 2 syncs in each, one waits for the pageable copy and is the same fault.
    {"decode_graph_hostsync.json.gz", 1, {"error RF102 8", "error RF103 8"}},
    {"llama_decode.dot", 0, {}},
    {"memset_memcpy_alloc.dot", 1, {"error RF103 1", "warning RF202 1"}},
    {"torch_matmul.dot", 0, {}},
};

const std::vector<Swept> kPublic = {
    {"dot/einsummable_cuda_graph_verbose.dot", 0, {}},
    // No range of it numbers a step; 5 times the same calls with 2 blocking copies each. A round is cut behind its
    // wait, which is that of a copy, so that the first 2 copies lie before the first of 4 whole rounds.
    {"kineto/hta_step_based_pageable_sync.json.gz", 1, {"error RF103 8"}},
    {"kineto/hta_trace_diff_test.json.gz", 1, {"error RF103 60"}},
    {"kineto/kineto_docs_after_fix_trace.json.gz", 0, {}},
    {"kineto/leimao_with_manual_capture.json.gz", 0, {}},
    // An allocator grew the pool of three graphs by 12 calls.
    {"kineto/tracelens_vllm_piecewise_capture_mi300x.json.gz", 0, {"note RF201 5", "note RF201 6", "note RF201 1"}},
    {"nsys/jacc_report1_no_cuda_tables.sqlite", 3, {"error RF803 1"}},
    // 30 rounds of training with a pageable copy and its sync in each; 2 more of the 32 copies come before.
    {"nsys/nsysai_mfu_2gpu_after.sqlite", 1, {"error RF103 30"}},
    {"nsys/nsysai_mock.sqlite", 0, {}},
    // 9 rounds of a solver that waits behind each kernel and copies with the blocking form: 125 syncs and 25 copies a
    // round, the last sync at its end.
    {"nsys/pipit_cloverleaf.sqlite",
     1,
     {"error RF102 1116", "error RF103 216", "error RF103 9", "warning RF106 9", "warning RF106 9"}},
};

void check(const Swept& swept, const std::string& path) {
  INFO(path);
  const Report report = audit(Subject{{load_recording(path)}});
  Lines lines;
  for (const Finding& finding : report.findings())
    lines.push_back(fmt::format("{} {} {}", to_string(finding.severity), finding.rule, finding.count));
  CHECK(lines == swept.findings);
  CHECK(report.exit_code() == swept.exit_code);
}

}  // namespace

TEST_CASE("sweep: each sample gives exactly the findings that its program earned") {
  std::set<std::string> listed;
  for (const Swept& swept : kSamples) {
    listed.insert(swept.file);
    check(swept, sample(swept.file));
  }
  for (const auto& entry : fs::directory_iterator(sample(""))) {
    const std::string name = entry.path().filename().string();
    INFO(name << " is a sample that the list above lacks");
    CHECK((listed.contains(name) || entry.path().extension() == ".md"));
  }
}

TEST_CASE("sweep: each public input gives exactly the findings that its page tells of") {
  for (const Swept& swept : kPublic)
    if (const std::string path = public_trace(swept.file); !path.empty()) check(swept, path);
}

TEST_CASE("sweep: a blocking copy is one finding that names the sync behind it") {
  const Report hostsync = audit(Subject{{load_recording(sample("decode_graph_hostsync.json.gz"))}});
  const auto copy = std::find_if(hostsync.findings().begin(), hostsync.findings().end(),
                                 [](const Finding& finding) { return finding.rule == "RF103"; });
  REQUIRE(copy != hostsync.findings().end());
  CHECK(std::any_of(copy->evidence.begin(), copy->evidence.end(), [](const std::string& fact) {
    return fact.find("8 of them are followed by cudaStreamSynchronize") == 0;
  }));
}
