// Recordings, replay checks and comparisons through the program.
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "cli/device.hpp"
#include "runtime/steps/faults.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace refrain::test;
using Json = nlohmann::ordered_json;

namespace {

std::set<std::string> errors_in(const Json& findings) {
  std::set<std::string> ids;
  for (const Json& finding : findings)
    if (finding.at("severity") == "error") ids.insert(finding.at("rule").get<std::string>());
  return ids;
}

std::set<std::string> split(const std::string& list) {
  std::set<std::string> ids;
  std::istringstream parts(list);
  for (std::string id; std::getline(parts, id, ',');) ids.insert(id);
  return ids;
}

/// A step, small enough to run it with every fault.
struct SmallStep {
  const char* name;
  const char* size;

  [[nodiscard]] std::string flags() const { return std::string("--step ") + name + " --context 100 " + size; }
};
constexpr SmallStep kSmallSteps[] = {{"grouped_prefill", ""},
                                     {"xqa_decode", ""},
                                     {"sparse_mla_prefill", "--rows 65 --heads 8 --topk 128"},
                                     {"sparse_mla_decode", "--heads 8 --topk 128"},
                                     {"mtp_verify", "--allow-e4m3-mtp"}};
static_assert(std::size(kSmallSteps) == std::size(refrain::kStepKinds));

}  // namespace

TEST_CASE("recordings: the whole fault table gives the same rules from run and from audit of the saved recording") {
  const std::string file = temporary_file("run.refrain", "");
  for (const refrain::FaultInfo& fault : refrain::fault_table())
    for (const SmallStep& step : kSmallSteps) {
      if (!refrain::fits(fault, *refrain::find_step(step.name))) continue;
      INFO(fault.name << " on " << step.name);
      const Outcome run = refrain_program("run --device host --format json " + step.flags() + " --fault " + fault.name +
                                          " --save-recording " + file);
      if (fault.refused) {
        CHECK(run.exit_code == 2);
        continue;
      }
      REQUIRE((run.exit_code == 0 || run.exit_code == 1));
      CHECK(errors_in(Json::parse(run.out).at("audit").at("findings")) == split(fault.rules));
      const Outcome audit = refrain_program("audit --format json " + file);
      CHECK(errors_in(Json::parse(audit.out).at("findings")) == split(fault.rules));
      CHECK(audit.exit_code == (*fault.rules == '\0' ? 0 : 1));
    }
}

TEST_CASE("recordings: what only replay checks show is in verify and in audit of its saved recording") {
  const std::string file = temporary_file("checks.refrain", "");
  for (const refrain::FaultInfo& fault : refrain::fault_table())
    for (const SmallStep& step : kSmallSteps) {
      if (!refrain::fits(fault, *refrain::find_step(step.name)) || *fault.verify == '\0') continue;
      INFO(fault.name << " on " << step.name);
      const Outcome verify = refrain_program("verify --device host --format json " + step.flags() + " --fault " +
                                             fault.name + " --save-recording " + file);
      CHECK(verify.exit_code == 1);
      CHECK(errors_in(Json::parse(verify.out).at("findings")) == split(fault.verify));
      const Outcome audit = refrain_program("audit --format json " + file);
      CHECK(errors_in(Json::parse(audit.out).at("findings")) == split(fault.verify));
      CHECK(audit.exit_code == 1);
    }
}

TEST_CASE("recordings: a clean run's recording is clean, and nothing that it shows is left unchecked") {
  const std::string file = temporary_file("clean.refrain", "");
  CHECK(refrain_program("run --step grouped_prefill --context 100 --device host --save-recording " + file).exit_code ==
        0);
  const Outcome audit = refrain_program("audit --format json --fail-on note " + file);
  CHECK(audit.exit_code == 0);
  const Json json = Json::parse(audit.out);
  CHECK(json.at("findings").empty());
  std::set<std::string> unchecked;
  for (const Json& entry : json.at("not_checked")) unchecked.insert(entry.at("rule").get<std::string>());
  // A run makes no replay checks; verify does.
  for (const char* id : {"RF101", "RF102", "RF201", "RF304", "RF308", "RF310", "RF401", "RF501", "RF505"}) {
    INFO(id);
    CHECK_FALSE(unchecked.contains(id));
  }
}

TEST_CASE("verify: refrain.verify/1 has its fields, and exit 0 for a healthy step") {
  const Outcome outcome = refrain_program("verify --step xqa_decode --context 41 --device host --format json");
  CHECK(outcome.exit_code == 0);
  const Json json = Json::parse(outcome.out);
  CHECK(json.begin().key() == "schema");
  CHECK(json.at("schema") == "refrain.verify/1");
  CHECK(json.at("first_nan_node").is_null());
  CHECK(json.at("findings").empty());
  CHECK(json.at("axes").size() > 20);
  for (const Json& axis : json.at("axes"))
    for (const char* field : {"name", "fill", "finite", "bit_equal", "max_abs_error"}) CHECK(axis.contains(field));
}

TEST_CASE(
    "recordings: of every healthy step verify is clean and leaves no rule unchecked but those that need two captures "
    "or "
    "device records") {
  const std::string file = temporary_file("healthy.refrain", "");
  for (const SmallStep& step : kSmallSteps) {
    const Outcome verify =
        refrain_program("verify --device host --format json " + step.flags() + " --save-recording " + file);
    INFO(step.name);
    CHECK(verify.exit_code == 0);
    const Outcome audit = refrain_program("audit --format json --fail-on note " + file);
    CHECK(audit.exit_code == 0);
    CHECK(Json::parse(audit.out).at("findings").empty());
    const Json unchecked = Json::parse(audit.out).at("not_checked");
    REQUIRE(unchecked.size() == 2);
    CHECK(unchecked[0].at("rule") == "RF405");
    CHECK(unchecked[1].at("rule") == "RF705");
  }
}

TEST_CASE("recordings: two captures of every healthy step have no finding and show what is baked in") {
  const std::string file = temporary_file("twice.refrain", "");
  for (const SmallStep& step : kSmallSteps) {
    const Outcome verify =
        refrain_program("verify --twice --device host --format json " + step.flags() + " --save-recording " + file);
    INFO(step.name);
    CHECK(verify.exit_code == 0);
    CHECK(Json::parse(verify.out).at("schema") == "refrain.verify_twice/1");
    const Outcome audit = refrain_program("audit --format json --fail-on note --require RF405 " + file);
    CHECK(audit.exit_code == 0);
    CHECK(Json::parse(audit.out).at("findings").empty());
  }
}

TEST_CASE("recordings: each fault that two captures show has the same rules from verify and from its recording") {
  const std::string file = temporary_file("baked.refrain", "");
  for (const refrain::FaultInfo& fault : refrain::fault_table())
    for (const SmallStep& step : kSmallSteps) {
      if (*fault.twice == '\0' || !refrain::fits(fault, *refrain::find_step(step.name))) continue;
      INFO(fault.name << " on " << step.name);
      const Outcome verify = refrain_program("verify --twice --device host --format json " + step.flags() +
                                             " --fault " + fault.name + " --save-recording " + file);
      CHECK(verify.exit_code == 1);
      CHECK(errors_in(Json::parse(verify.out).at("findings")) == split(fault.twice));
      const Outcome audit = refrain_program("audit --format json " + file);
      CHECK(errors_in(Json::parse(audit.out).at("findings")) == split(fault.twice));
    }
}

TEST_CASE("program: run and verify say what a sparse MLA step is, and compare it with no other route") {
  const std::string step = " --device host --step sparse_mla_decode --context 70 --heads 8 --topk 64 --sinks";
  const std::string what =
      "8 rows (bucket 8), 1 request(s), context 70, page size 256 split to 64, 584 records, 8 heads, topk 64, sinks";
  const Outcome run = refrain_program("run" + step), verify = refrain_program("verify" + step);
  CHECK(run.out.find("sparse_mla_decode: " + what) != std::string::npos);
  CHECK(verify.out.find("sparse_mla_decode: " + what) != std::string::npos);
  CHECK(run.out.find("XQA") == std::string::npos);
  CHECK(run.out.find("against the fp64 reference") != std::string::npos);
  CHECK(refrain_program("run --device host --step xqa_decode --context 9").out.find("against the XQA route") !=
        std::string::npos);
}

TEST_CASE("verify: a fault that only numbers show is exit 1, named by its node, and the recording keeps the checks") {
  const std::string file = temporary_file("verify.refrain", "");
  const Outcome outcome = refrain_program(
      "verify --step grouped_prefill --rows 16 --context 401 --device host --fault kernel-zero-off --format json "
      "--save-recording " +
      file);
  CHECK(outcome.exit_code == 1);
  const Json json = Json::parse(outcome.out);
  CHECK(errors_in(json.at("findings")) == std::set<std::string>{"RF901"});
  CHECK(json.at("first_nan_node") == 2);  // kv_append, plan_grouped, grouped_attention
  const Outcome audit = refrain_program("audit --format json " + file);
  CHECK(audit.exit_code == 1);
  CHECK(errors_in(Json::parse(audit.out).at("findings")) == std::set<std::string>{"RF901"});
}

TEST_CASE("diff: equal graphs are exit 0, padding that nobody fixes and a node that is gone are exit 1 and named") {
  const std::string a = temporary_file("a.json", ""), b = temporary_file("b.json", ""),
                    dot = temporary_file("a.dot", "");
  CHECK(refrain_program("run --step grouped_prefill --context 64 --device host --seed 1 --save-graph " + a).exit_code ==
        0);
  CHECK(refrain_program("run --step grouped_prefill --context 64 --device host --seed 9 --save-graph " + b).exit_code ==
        0);
  CHECK(refrain_program("diff " + a + " " + b).exit_code == 0);
  (void)refrain_program("run --step grouped_prefill --context 64 --device host --fault pad-fix-off --save-graph " + b);
  const Outcome differs = refrain_program("diff " + a + " " + b);
  CHECK(differs.exit_code == 1);
  CHECK(differs.out.find("~ node 1 (plan_grouped): no more gives pad_fixed of microblocks") != std::string::npos);
  (void)refrain_program("run --step grouped_prefill --context 64 --device host --fault pad-fix-late --save-graph " + a);
  const Outcome fewer = refrain_program("diff " + a + " " + b);
  CHECK(fewer.exit_code == 1);
  CHECK(fewer.out.find("- node 3 (pad_fix)") != std::string::npos);
  const Json json = Json::parse(refrain_program("diff --format json " + a + " " + b).out);
  CHECK(json.begin().key() == "schema");
  CHECK(json.at("equal") == false);
  CHECK(json.at("nodes").at("removed").size() == 1);
  CHECK(refrain_program("run --step grouped_prefill --context 64 --device host --save-graph " + dot).exit_code == 0);
  CHECK(read_text(dot).starts_with("digraph dot {"));
}

TEST_CASE("doctor: one line a part, and what a missing one disables") {
  const Outcome outcome = refrain_program("doctor");
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.out.find("host driver") != std::string::npos);
  CHECK(outcome.out.find("GPU") != std::string::npos);
  CHECK(Json::parse(refrain_program("doctor --format json").out).at("parts").size() >= 5);
}

TEST_CASE("doctor: kernels made for less than the device are said to be, and what to do") {
  const refrain::DeviceProbe own{.built = true, .present = true, .architecture = 90, .code = 90};
  CHECK(describe_code(own) == "made for sm_90");
  const refrain::DeviceProbe none{.built = true, .present = true, .architecture = 75};
  CHECK(describe_code(none) == "none in this build for sm_75; rebuild with CMAKE_CUDA_ARCHITECTURES=75");
  const refrain::DeviceProbe old{.built = true, .present = true, .architecture = 120, .code = 80};
  CHECK(describe_code(old) ==
        "made for sm_80, on a GPU of sm_120: none starts early (--pdl), and no blocks share a group; rebuild with "
        "CMAKE_CUDA_ARCHITECTURES=120");
  const refrain::DeviceProbe hopper{.built = true, .present = true, .architecture = 90, .code = 80};
  CHECK(describe_code(hopper) ==
        "made for sm_80, on a GPU of sm_90: none starts early (--pdl), and no blocks share a group; rebuild with "
        "CMAKE_CUDA_ARCHITECTURES=90a");
  // Where the GPU has neither, older code loses neither.
  const refrain::DeviceProbe ada{.built = true, .present = true, .architecture = 89, .code = 80};
  CHECK(describe_code(ada) == "made for sm_80, on a GPU of sm_89; rebuild with CMAKE_CUDA_ARCHITECTURES=89");
  const refrain::DeviceProbe newer{.built = true, .present = true, .architecture = 100, .code = 90};
  CHECK(describe_code(newer) == "made for sm_90, on a GPU of sm_100; rebuild with CMAKE_CUDA_ARCHITECTURES=100");
}
