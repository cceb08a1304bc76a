// refrain scales as others call it: exit codes, one line for a mistake, JSON.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"
#include "tests/runtime/scales_world.hpp"

using namespace refrain::test;
using Json = nlohmann::ordered_json;

namespace {

std::string materialize_arguments(const ScalesWorld& world, const std::string& more = "") {
  return "scales materialize --base " + world.base.string() + " --report " + world.report.string() + " --out " +
         world.out.string() + " --revision " + world.revision + " --source-manifest " + world.manifest.string() + more;
}

void check_line(const std::string& arguments, int exit_code, std::initializer_list<const char*> words) {
  const Outcome outcome = refrain_program(arguments);
  INFO(arguments << "\n" << outcome.err);
  CHECK(outcome.exit_code == exit_code);
  CHECK(outcome.out.empty());
  CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  CHECK(outcome.err.size() < 500);
  CHECK(outcome.err.find("refrain: ") == 0);
  for (const char* word : words) CHECK(outcome.err.find(word) != std::string::npos);
}

}  // namespace

TEST_CASE("scales command: materialize then verify then show") {
  const ScalesWorld world;
  const Outcome made = refrain_program(materialize_arguments(world));
  INFO(made.err);
  CHECK(made.exit_code == 0);
  CHECK(made.err.empty());
  CHECK(made.out.find("24 target and 2 draft scales, revision 4f1c0de5, 3 base files") != std::string::npos);
  const Outcome verified = refrain_program("scales verify " + world.out.string() + " --revision " + world.revision);
  CHECK(verified.exit_code == 0);
  CHECK(verified.out.find("holds") == 0);
  const Outcome shown = refrain_program("scales show " + world.out.string());
  CHECK(shown.exit_code == 0);
  CHECK(std::count(shown.out.begin(), shown.out.end(), '\n') == 1 + 13 + 1);
  CHECK(shown.out.find("12 target and 1 draft layers with scales") != std::string::npos);
}

TEST_CASE("scales command: show as JSON holds each value exactly and where it came from") {
  const ScalesWorld world;
  REQUIRE(refrain_program(materialize_arguments(world)).exit_code == 0);
  const Json json = Json::parse(refrain_program("scales show --format json " + world.out.string()).out);
  CHECK(json.begin().key() == "schema");
  CHECK(json.at("schema") == "refrain.scales/1");
  CHECK(json.at("overlay") == true);
  CHECK(json.at("revision") == world.revision);
  REQUIRE(json.at("layers").size() == 13);
  for (const Json& layer : json.at("layers"))
    for (const char* part : {"k", "v"}) {
      const Json& scale = layer.at(part);
      CHECK(scale.at("value").get<float>() == world.scales.at(scale.at("tensor").get<std::string>()));
      CHECK(scale.at("file") == world.overlay().string());
    }
  CHECK(json.at("layers").back().at("role") == "draft");
}

TEST_CASE("scales command: what does not hold is exit 1 and one line that names it") {
  const ScalesWorld world;
  REQUIRE(refrain_program(materialize_arguments(world)).exit_code == 0);
  flip_byte(world.overlay(), 200);
  const Outcome broken = refrain_program("scales verify " + world.out.string());
  CHECK(broken.exit_code == 1);
  CHECK(broken.err.empty());
  CHECK(broken.out.find("BROKEN") == 0);
  CHECK(std::count(broken.out.begin(), broken.out.end(), '\n') == 1);
  const Json json = Json::parse(refrain_program("scales verify --format json " + world.out.string()).out);
  CHECK(json.at("schema") == "refrain.scales-verify/1");
  CHECK(json.at("holds") == false);
  CHECK(json.at("exit_code") == 1);
  CHECK(json.at("problem").get<std::string>().find("model-kvscales.safetensors") != std::string::npos);
  check_line("scales show " + world.out.string(), 1, {"model-kvscales.safetensors", "SHA-256"});
  check_line("scales materialize --force --base " + world.base.string() + " --report " + world.report.string() +
                 " --out " + world.out.string() + " --revision cafe",
             1, {"calibration.json", "checkpoint.revision", "cafe"});
}

TEST_CASE("scales command: usage and unreadable files are exit 2 and one line") {
  const ScalesWorld world;
  check_line("scales", 2, {"--help"});
  check_line("scales nonsense", 2, {"--help"});
  check_line("scales materialize --base x --report y --out z", 2, {"--revision"});
  check_line("scales verify " + world.out.string(), 2, {"kvscales.provenance.json", "no such file"});
  check_line("scales show " + world.folder.path().string(), 2, {"model.safetensors.index.json"});
  check_line("scales show /nonexistent", 2, {"/nonexistent", "No such file"});
  check_line(materialize_arguments(world, " --rules /nonexistent"), 2, {"/nonexistent", "No such file"});
  REQUIRE(refrain_program(materialize_arguments(world)).exit_code == 0);
  check_line(materialize_arguments(world), 2, {"--out", "--force"});
  CHECK(refrain_program(materialize_arguments(world, " --force --format json")).out == read_text(world.provenance()));
  write_bytes(world.provenance(), "{");
  check_line("scales verify " + world.out.string(), 2, {"kvscales.provenance.json", "byte 1"});
}

TEST_CASE("scales command: a checkpoint without scales shows none") {
  const ScalesWorld world;
  const Outcome shown = refrain_program("scales show " + world.base.string());
  CHECK(shown.exit_code == 0);
  CHECK(shown.out.find("0 target and 0 draft layers with scales") != std::string::npos);
}
