// refrain verify --all-buckets as others call it: a line a bucket, JSON, exit codes.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace refrain::test;
using Json = nlohmann::ordered_json;

namespace {

constexpr const char* kSmall = "verify --all-buckets --device host --step xqa_decode --context 20 ";

}  // namespace

TEST_CASE("program: verify --all-buckets prints one line a bucket and exits 0 where all are clean") {
  const Outcome outcome = refrain_program(std::string(kSmall) + "--rows 3");
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.err.empty());  // no progress in a pipe
  CHECK(std::count(outcome.out.begin(), outcome.out.end(), '\n') == 1 + 3 + 1);
  CHECK(outcome.out.find("bucket     1  ok     1 row, 1 pad count, ") != std::string::npos);
  CHECK(outcome.out.find("bucket     3  ok     2 to 3 rows, 2 pad counts, ") != std::string::npos);
  CHECK(outcome.out.find("\n3 buckets, all ok\n") != std::string::npos);
}

TEST_CASE("program: verify --all-buckets names the first failure and exits 1") {
  const Outcome outcome = refrain_program(std::string(kSmall) + "--rows 3 --fault null-block-written");
  CHECK(outcome.exit_code == 1);
  CHECK(outcome.out.find("bucket     1  ok ") != std::string::npos);
  CHECK(outcome.out.find("bucket     2  BROKEN ") != std::string::npos);
  CHECK(outcome.out.find("\n2 of 3 buckets broken; the first, of 2 rows: 1 row and 1 pad, capture: RF310 ") !=
        std::string::npos);
}

TEST_CASE("program: verify --all-buckets has a JSON form with every bucket") {
  const Outcome clean = refrain_program(std::string(kSmall) + "--rows 2 --format json");
  CHECK(clean.exit_code == 0);
  const Json json = Json::parse(clean.out);
  CHECK(json.begin().key() == "schema");
  CHECK(json.at("schema") == "refrain.verify_buckets/1");
  CHECK(json.at("step") == "xqa_decode");
  CHECK(json.at("buckets").size() == 2);
  CHECK(json.at("buckets").at(1).at("fewest_rows") == 1);
  CHECK(json.at("buckets").at(1).at("pad_counts") == 2);
  CHECK(json.at("buckets").at(1).at("graphs") == 1);
  CHECK(json.at("buckets").at(1).at("ok") == true);
  CHECK(json.at("first_failure").is_null());
  CHECK(json.at("exit_code") == 0);
  const Outcome broken = refrain_program(std::string(kSmall) + "--rows 2 --fault stale-padding --format json");
  CHECK(broken.exit_code == 1);
  const Json bad = Json::parse(broken.out);
  CHECK(bad.at("broken") == 1);
  CHECK(bad.at("first_failure").at("rows") == 2);
  CHECK(bad.at("first_failure").at("failure").get<std::string>().find("RF311") != std::string::npos);
  CHECK(bad.at("exit_code") == 1);
}

TEST_CASE("program: verify --all-buckets exits 2 with one line for options that do not go with it") {
  for (const char* options : {"--rows 4 --bucket 6", "--rows 0", "--rows 4 --save-recording /tmp/none.refrain",
                              "--rows 4 --fault pad-fix-off"}) {
    const Outcome outcome = refrain_program(std::string(kSmall) + options);
    INFO(options << ": " << outcome.err);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.out.empty());
    CHECK(outcome.err.find("refrain: --") == 0);
    CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  }
}
