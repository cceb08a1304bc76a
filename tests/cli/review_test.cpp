// `refrain review` as others call it: exit codes, formats, files and mistakes.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace refrain::test;
using Json = nlohmann::ordered_json;

namespace {

const std::string kClean = "decode_graph_clean.json.gz", kSyncs = "decode_graph_hostsync.json.gz";

bool contains(const std::string& text, std::string_view words) {
  return text.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("review: exit codes are those of an audit and so are the findings") {
  const Outcome clean = refrain_program("review " + sample(kClean));
  CHECK(clean.exit_code == 0);
  CHECK(contains(clean.out, "8 steps"));
  const Outcome syncs = refrain_program("review --format json " + sample(kSyncs));
  CHECK(syncs.exit_code == 1);
  const Json json = Json::parse(syncs.out);
  const Outcome audit = refrain_program("audit --format json " + sample(kSyncs));
  CHECK(json.at("findings") == Json::parse(audit.out).at("findings"));
  CHECK(json.at("exit_code") == 1);
}

TEST_CASE("review: steps are those of a pattern and one without a range is one clear line") {
  const Outcome chosen = refrain_program("review --steps 'decode_step_[0' " + sample(kClean));
  CHECK(chosen.exit_code == 2);
  CHECK(contains(chosen.err, "decode_step"));
  CHECK(std::count(chosen.err.begin(), chosen.err.end(), '\n') == 1);
  const Outcome some = refrain_program("review --format json --steps 'decode_step_?' " + sample(kClean));
  CHECK(some.exit_code == 0);
  CHECK(Json::parse(some.out).at("steps_by").at("basis") == "chosen");
}

TEST_CASE("review: --output takes it whole and leaves nothing beside it") {
  const std::string file = temporary_file("review-out.txt", "old");
  const Outcome outcome = refrain_program("review --output " + file + " " + sample(kClean));
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.out.empty());
  CHECK(contains(read_text(file), "8 steps"));
  const std::filesystem::path path(file);
  for (const auto& entry : std::filesystem::directory_iterator(path.parent_path()))
    CHECK_FALSE(entry.path().filename().string().starts_with("review-out.txt."));
}

TEST_CASE("review: of two traces only what the first does not have counts") {
  CHECK(refrain_program("review " + sample(kSyncs) + " " + sample(kSyncs)).exit_code == 0);
  const Outcome worse = refrain_program("review --format json " + sample(kClean) + " " + sample(kSyncs));
  CHECK(worse.exit_code == 1);
  CHECK(Json::parse(worse.out).at("new_findings").size() == 2);
  CHECK(refrain_program("review " + sample(kSyncs) + " " + sample(kClean)).exit_code == 0);
}

TEST_CASE("review: the rows of a payload stand in text and JSON and on the page and in the tables") {
  const std::string trace = temporary_file("review-rows.json", R"({"schemaVersion": 1, "traceEvents": [
    {"ph":"X","cat":"user_annotation","name":"decode_step_1","pid":1,"tid":1,"ts":10,"dur":50,"args":{"rows":11,"bucket":16}},
    {"ph":"X","cat":"cuda_runtime","name":"cudaGraphLaunch","pid":1,"tid":1,"ts":12,"dur":5,"args":{"correlation":7}},
    {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":20,"dur":5,"args":{"correlation":7,"stream":7,"device":0}}]})");
  const std::filesystem::path folder = std::filesystem::path(trace).replace_extension(".out");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const std::string page = folder / "page.html", tables = folder / "tables";
  const Outcome text = refrain_program("review " + trace + " --html " + page + " --table " + tables);
  CHECK(contains(text.out, "rows: 11 of 16 in use"));
  const Json json = Json::parse(refrain_program("review --format json " + trace).out);
  CHECK(json.at("steps").at(0).at("rows") == 16);
  CHECK(json.at("steps").at(0).at("real_rows") == 11);
  const std::string html = read_text(page);
  CHECK(contains(html, "Rows of the bucket"));
  CHECK(contains(html, "Real rows"));
  std::string steps;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(tables + "/steps"))
    if (entry.is_regular_file()) steps += read_text(entry.path());
  CHECK(contains(steps, ",replayed_copies,rows,real_rows,"));
  CHECK(contains(steps, ",0,16,11,"));
}

TEST_CASE("review: graphs and a missing file are refused in one line") {
  for (const std::string& input : {sample("llama_decode.dot"), std::string("/nonexistent.sqlite")}) {
    const Outcome outcome = refrain_program("review " + input);
    INFO(outcome.err);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.out.empty());
    CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  }
}
