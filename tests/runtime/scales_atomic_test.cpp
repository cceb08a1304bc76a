// Every file operation of materialize fails once, and kills the process once: what
// is left must be the overlay of before, whole, or nothing that a reader accepts.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <set>

#include "runtime/scales/load_scales.hpp"
#include "runtime/scales/materialize.hpp"
#include "runtime/scales/verify_scales.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/scales_world.hpp"

using namespace refrain;
using namespace refrain::test;
namespace fs = std::filesystem;

namespace {

MaterializeOptions options_for(const ScalesWorld& world, FileHook hook, bool force = false) {
  return {.base = world.base.string(),
          .report = world.report.string(),
          .out = world.out.string(),
          .revision = world.revision,
          .force = force,
          .tool_version = "t",
          .hook = std::move(hook)};
}

/// Calls `act` before operation N, counted from 1.
FileHook at_operation(int n, std::function<void()> act) {
  return [n, act = std::move(act), count = 0](const char*, const std::string&) mutable {
    if (++count == n) act();
  };
}

/// Replaces the overlay by one with other values, so that an old part beside a new one is no whole.
MaterializeOptions replacing(const ScalesWorld& world, FileHook hook) {
  MaterializeOptions options = options_for(world, std::move(hook), true);
  options.report = (world.folder.path() / "second.json").string();
  nlohmann::json report = read_json_file(world.report);
  report["layers"][3]["k"] = {{"scale", 0.75}};
  write_bytes(options.report, report.dump());
  return options;
}

bool verifies(const ScalesWorld& world) {
  return !caught([&] { verify_scales(world.out.string()); }).thrown;
}

bool loads(const ScalesWorld& world) {
  return !caught([&] {
            (void)load_scales(world.out.string(), {world.target_layers, {0}}, {.allow_draft_e4m3 = true});
          }).thrown;
}

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  if (fs::exists(folder))
    for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

const std::set<std::string> kWhole{"model-kvscales.safetensors", "model.safetensors.index.json",
                                   "kvscales.provenance.json"};

/// True when the child ran to its end, false when operation N killed it.
bool child_survives(const ScalesWorld& world, int n, bool force) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    try {
      FileHook hook = at_operation(n, [] { ::raise(SIGKILL); });
      materialize_scales(force ? replacing(world, std::move(hook)) : options_for(world, std::move(hook)));
    } catch (...) {
      ::_exit(3);
    }
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) {
    CHECK(WTERMSIG(status) == SIGKILL);
    return false;
  }
  CHECK(WEXITSTATUS(status) == 0);
  return true;
}

}  // namespace

TEST_CASE("atomic: a failure of any one file operation leaves no trace of the overlay") {
  int n = 1;
  for (bool failed = true; failed; ++n) {
    INFO("operation " << n);
    const ScalesWorld world;
    const auto fail = [] { throw Error(ErrorKind::input, "writing", "No space left on device", "x"); };
    failed = caught([&] { materialize_scales(options_for(world, at_operation(n, fail))); }).thrown;
    CHECK(names_in(world.out) == (failed ? std::set<std::string>{} : kWhole));
    CHECK(fs::exists(world.out) == !failed);
    CHECK(verifies(world) == !failed);
    CHECK(loads(world) == !failed);
  }
  CHECK(n > 25);  // 3 files x (create, write, mode, sync, close, rename), and the folder's own
}

TEST_CASE("atomic: a failure while an overlay is replaced leaves the old one or none") {
  int kept = 0, gone = 0;
  for (int n = 1; kept + gone < n; ++n) {
    INFO("operation " << n);
    const ScalesWorld world;
    materialize_scales(options_for(world, {}));
    const std::string before = read_bytes(world.provenance());
    const auto fail = [] { throw Error(ErrorKind::input, "writing", "No space left on device", "x"); };
    if (!caught([&] { materialize_scales(replacing(world, at_operation(n, fail))); }).thrown) break;
    const bool sealed = fs::exists(world.provenance());
    (sealed ? kept : gone) += 1;
    CHECK(verifies(world) == sealed);
    CHECK(loads(world) == sealed);
    if (sealed) CHECK(read_bytes(world.provenance()) == before);
    for (const std::string& name : names_in(world.out)) CHECK(kWhole.contains(name));
    CHECK_NOTHROW(materialize_scales(options_for(world, {}, sealed)));  // what is left is no obstacle
    CHECK(verifies(world));
  }
  CHECK(kept > 15);  // all of the staging
  CHECK(gone > 0);   // once the old seal is off
}

TEST_CASE("atomic: a kill before any file operation leaves nothing that verify or the loader takes") {
  for (const bool force : {false, true}) {
    int n = 1;
    for (bool alive = false; !alive; ++n) {
      INFO("operation " << n << (force ? ", replacing" : ""));
      const ScalesWorld world;
      if (force) materialize_scales(options_for(world, {}));
      alive = child_survives(world, n, force);
      const bool sealed = fs::exists(world.provenance());
      if (!force) CHECK(sealed == (alive || names_in(world.out) == kWhole));
      CHECK(verifies(world) == sealed);
      CHECK(loads(world) == sealed);
      // The next run sweeps what is left; only a whole overlay asks for force.
      CHECK_NOTHROW(materialize_scales(options_for(world, {}, sealed)));
      CHECK(names_in(world.out) == kWhole);
      CHECK(verifies(world));
    }
    CHECK(n > 25);
  }
}

TEST_CASE("atomic: temporary files of a killed run are swept and files of others left alone") {
  const ScalesWorld world;
  fs::create_directory(world.out);
  for (const char* name : {"model-kvscales.safetensors.123.part", "kvscales.provenance.json.9.part",
                           "model.safetensors.index.json.77.part"})
    write_bytes(world.out / name, "half");
  const std::set<std::string> others{"notes.part", "model-kvscales.safetensors.old",
                                     "model-kvscales.safetensors.x.part", "config.json"};
  for (const std::string& name : others) write_bytes(world.out / name, "mine");
  materialize_scales(options_for(world, {}));
  std::set<std::string> expected = kWhole;
  expected.insert(others.begin(), others.end());
  CHECK(names_in(world.out) == expected);
  CHECK(verifies(world));
}

TEST_CASE("atomic: two runs never write into one folder at once") {
  const ScalesWorld world;
  fs::create_directory(world.out);
  const int other = ::open(world.out.c_str(), O_RDONLY | O_DIRECTORY);
  REQUIRE(::flock(other, LOCK_EX | LOCK_NB) == 0);
  check_fails([&] { materialize_scales(options_for(world, {})); }, ErrorKind::refused, {"another run", "wait"});
  ::close(other);
  CHECK_NOTHROW(materialize_scales(options_for(world, {})));
}

TEST_CASE("atomic: an overlay of another tool by the same name is not replaced without force") {
  const ScalesWorld world;
  fs::create_directory(world.out);
  write_bytes(world.overlay(), safetensors_bytes({f32_scalar("a", 1)}));
  check_fails([&] { materialize_scales(options_for(world, {})); }, ErrorKind::usage, {"--force"});
  CHECK(read_f32_scalars(world.overlay()).contains("a"));
  CHECK_NOTHROW(materialize_scales(options_for(world, {}, true)));
}

TEST_CASE("atomic: a folder whose parent is missing or that is a file is refused with the reason") {
  const ScalesWorld world;
  MaterializeOptions options = options_for(world, {});
  options.out = (world.folder.path() / "no" / "such").string();
  check_fails([&] { materialize_scales(options); }, ErrorKind::input, {"no/such", "No such file"});
  options.out = world.report.string();
  check_fails([&] { materialize_scales(options); }, ErrorKind::input, {"calibration.json", "Not a directory"});
}
