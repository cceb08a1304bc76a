// What a timeline is cut by: marks, names, a user's pattern, replays, periods; and
// what must never be taken for a step.
#include "traces/cut_steps.hpp"

#include "graphs/error.hpp"
#include "tests/catch.hpp"
#include "tests/traces/step_world.hpp"
#include "tests/traces/support.hpp"
#include "tests/traces/trace_support.hpp"
#include "traces/readers.hpp"
#include "traces/recording_writer.hpp"
#include "traces/step_index.hpp"
#include "traces/step_names.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

/// The APIs of each step, in order.
std::vector<std::vector<Api>> apis(const Timeline& timeline) {
  const StepIndex index = index_steps(timeline);
  std::vector<std::vector<Api>> out(index.steps.size());
  for (std::size_t i = 0; i < timeline.calls.size(); ++i)
    if (index.of_call[i] != StepIndex::kNone) out[index.of_call[i]].push_back(timeline.calls[i].api);
  return out;
}

using Steps = std::vector<std::vector<Api>>;

/// `round` four times, with the profiler's stop behind them; the device worked.
template <class Round>
Timeline looped(Round round, int times = 4) {
  StepWorld world;
  world.call(Api::malloc);
  for (int i = 0; i < times; ++i) round(world);
  world.call(Api::device_synchronize);
  world.work(world.now_ns, world.now_ns + 1);
  world.timeline.work.back().call = WorkEvent::kNoCall;
  return world.timeline;
}

std::string cut_error(Timeline timeline, const std::string& pattern) {
  try {
    cut_steps(timeline, {pattern});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("steps: what the input marks itself stands") {
  StepWorld world;
  world.open("iteration 1");
  world.call(Api::launch_kernel);
  world.open("my part");
  world.call(Api::launch_kernel);
  world.close(true);
  world.close();
  const StepCut cut = cut_steps(world.timeline);
  CHECK(cut.basis == StepBasis::marked);
  CHECK(cut.steps == 1);
  CHECK_FALSE(world.timeline.ranges.back().step);
}

TEST_CASE("steps: ProfilerStep stands over numbered names and these over replays") {
  StepWorld world;
  for (int i = 0; i < 4; ++i) {
    world.open("decode_step_" + std::to_string(i));
    world.launch(1);
    world.work(world.now_ns, world.now_ns + 5);
    world.close();
  }
  StepWorld profiled = world;
  profiled.open("ProfilerStep#4");
  profiled.launch(1);
  profiled.close();
  CHECK(cut_steps(world.timeline).basis == StepBasis::named_range);
  const StepCut cut = cut_steps(profiled.timeline);
  CHECK(cut.basis == StepBasis::profiler_step);
  CHECK(cut.steps == 1);
  CHECK(cut.why.find("ProfilerStep#4") != std::string::npos);
}

TEST_CASE("steps: numbered ranges of a thread that launches nothing are no steps") {
  StepWorld world;
  for (int i = 0; i < 4; ++i) {
    world.thread = 2;
    world.open("schedule step " + std::to_string(i));
    world.close();
    world.thread = 1;
    world.launch(1);
    world.work(world.now_ns, world.now_ns + 5);
    world.call(Api::stream_synchronize);
  }
  const StepCut cut = cut_steps(world.timeline);
  CHECK(cut.basis == StepBasis::replay);
  CHECK(cut.steps == 4);
}

TEST_CASE("steps: a pattern chooses ranges and one that fits none says which there are") {
  StepWorld world;
  for (const char* name : {"decode 1", "decode 2", "prefill"}) {
    world.open(name);
    world.call(Api::launch_kernel);
    world.close();
  }
  CHECK(cut_steps(world.timeline, {"decode ?"}).steps == 2);
  CHECK(cut_steps(world.timeline, {"pre*"}).steps == 1);
  CHECK(cut_steps(world.timeline, {"prefill"}).basis == StepBasis::chosen);
  CHECK_THROWS_AS(cut_steps(world.timeline, {"pre"}), Error);
  const std::string error = cut_error(world.timeline, "verify*");
  CHECK(error.find("\"prefill\"") != std::string::npos);
  CHECK(cut_error(StepWorld().timeline, "x").find("has none") != std::string::npos);
}

TEST_CASE("steps: cutting again takes the cut before back") {
  Timeline timeline = looped([](StepWorld& w) {
    w.open("forward");
    w.launch(1);
    w.close();
    w.call(Api::stream_synchronize);
  });
  CHECK(cut_steps(timeline).basis == StepBasis::replay);
  const std::size_t ranges = timeline.ranges.size();
  CHECK(cut_steps(timeline).steps == 4);
  CHECK(timeline.ranges.size() == ranges);
  CHECK(cut_steps(timeline, {"forward"}).steps == 4);
  CHECK(timeline.ranges.size() == 4);
  CHECK(cut_steps(timeline).basis == StepBasis::replay);
}

TEST_CASE("steps: guessed ones stay guessed in a recording of them and a pattern takes them back") {
  Timeline timeline = looped([](StepWorld& w) {
    w.open("forward");
    w.launch(1);
    w.close();
    w.call(Api::stream_synchronize);
  });
  REQUIRE(cut_steps(timeline).basis == StepBasis::replay);
  const std::string path = path_of("guessed.rec");
  write_recording(path, {"guessed", {}, timeline, true}, {});
  CHECK(gunzip(bytes_of(path)).find("\"steps\":\"replay\"") != std::string::npos);
  Timeline again = load_recording(path).timeline;
  CHECK(again.step_basis == StepBasis::replay);
  const StepCut cut = cut_steps(again);  // as a review cuts what was loaded
  CHECK(cut.basis == StepBasis::replay);
  CHECK(cut.steps == 4);
  CHECK(cut.why.find("replay") != std::string::npos);
  CHECK(cut_steps(again, {"forward"}).steps == 4);
  CHECK(again.ranges.size() == 4);  // the guessed ones are gone
  CHECK(again.step_basis == StepBasis::chosen);
  // And a second recording of the chosen ones says so.
  write_recording(path, {"chosen", {}, again, true}, {});
  CHECK(load_recording(path).timeline.step_basis == StepBasis::chosen);
}

TEST_CASE("steps: a recording whose word for its steps is unknown is refused in one line") {
  const std::string path = file_of("steps-word.jsonl", "{\"schema\":\"refrain.recording/1\",\"steps\":\"dreamt\"}\n");
  const std::string error = load_error(path);
  CHECK(error.find("steps") != std::string::npos);
  CHECK(error.find("dreamt") != std::string::npos);
}

TEST_CASE("steps: without a profiler's device records nothing is guessed") {
  Timeline timeline = looped([](StepWorld& w) {
    w.launch(1);
    w.call(Api::stream_synchronize);
  });
  timeline.work.clear();
  CHECK(cut_steps(timeline).basis == StepBasis::none);
  CHECK(timeline.ranges.empty());
}

TEST_CASE("steps: a step of replays begins behind the wait before its launch and the last ends as the others do") {
  Timeline timeline = looped([](StepWorld& w) {
    w.call(Api::memcpy_async_h2d_pinned);
    w.launch(1);
    w.call(Api::stream_synchronize);
  });
  const StepCut cut = cut_steps(timeline);
  CHECK(cut.basis == StepBasis::replay);
  // The first round's copy comes before any wait of the loop, and the profiler's sync after its last.
  const std::vector<Api> round{Api::memcpy_async_h2d_pinned, Api::graph_launch, Api::stream_synchronize};
  CHECK(apis(timeline) == Steps{{Api::graph_launch, Api::stream_synchronize}, round, round, round});
  CHECK(is_guessed(timeline.step_basis));
}

TEST_CASE("steps: replays that the host does not wait for go from launch to launch") {
  Timeline timeline = looped([](StepWorld& w) {
    w.launch(1);
    w.call(Api::launch_kernel, "sample");
  });
  CHECK(cut_steps(timeline).basis == StepBasis::replay);
  const std::vector<Api> round{Api::graph_launch, Api::launch_kernel};
  CHECK(apis(timeline) == Steps{round, round, round, round});
}

TEST_CASE("steps: replays of several buckets are steps each where the host waits for each") {
  int i = 0;
  Timeline timeline = looped(
      [&](StepWorld& w) {
        w.launch(1 + static_cast<std::uint64_t>(i * i % 5));
        ++i;
        w.call(Api::event_synchronize);
      },
      9);
  CHECK(cut_steps(timeline).steps == 9);
}

TEST_CASE("steps: a group of replays with one wait is one step that begins behind the wait") {
  Timeline timeline = looped(
      [](StepWorld& w) {
        w.launch(1);
        w.launch(2);
        w.launch(2);
        w.launch(3);
        w.call(Api::stream_synchronize);
      },
      6);
  const StepCut cut = cut_steps(timeline);
  CHECK(cut.basis == StepBasis::replay);
  CHECK(cut.steps == 6);
  for (const auto& step : apis(timeline))
    CHECK(step == std::vector<Api>{Api::graph_launch, Api::graph_launch, Api::graph_launch, Api::graph_launch,
                                   Api::stream_synchronize});
}

TEST_CASE("steps: a loop over captures is no serving loop") {
  Timeline timeline = looped(
      [](StepWorld& w) {
        w.call(Api::launch_kernel, "warm-up");
        w.call(Api::device_synchronize);
        w.call(Api::begin_capture).capture = 1;
        w.call(Api::end_capture).capture = 1;
        w.call(Api::graph_instantiate);
        w.launch(1);
        w.call(Api::device_synchronize);
      },
      10);
  CHECK(cut_steps(timeline).basis == StepBasis::none);
}

TEST_CASE("steps: a loop of eager calls is cut behind its wait with warm-up and end outside") {
  StepWorld world;
  for (const char* kernel : {"init", "fill", "embed", "attention"}) world.call(Api::launch_kernel, kernel);
  for (int i = 0; i < 5; ++i) {
    world.call(Api::launch_kernel, "embed");
    for (int layer = 0; layer < 4; ++layer) {
      world.call(Api::launch_kernel, "attention");
      world.work(world.now_ns, world.now_ns + 5);
      world.call(Api::event_query);
      world.call(Api::launch_kernel, "mlp");
    }
    world.call(Api::stream_synchronize);
  }
  world.call(Api::launch_kernel, "end");
  const StepCut cut = cut_steps(world.timeline);
  CHECK(cut.basis == StepBasis::period);
  CHECK(cut.steps == 5);
  for (const auto& step : apis(world.timeline)) {
    CHECK(step.size() == 14);
    CHECK(step.back() == Api::stream_synchronize);
  }
}

TEST_CASE("steps: copies alone and a loop that is a small part of the trace are no steps") {
  Timeline weights = looped(
      [](StepWorld& w) {
        w.call(Api::memcpy_h2d);
        w.call(Api::memcpy_h2d);
      },
      50);
  CHECK(cut_steps(weights).basis == StepBasis::none);
  StepWorld world;
  for (int i = 0; i < 100; ++i) world.call(Api::launch_kernel, "kernel " + std::to_string(i));
  for (int i = 0; i < 12; ++i) world.call(Api::launch_kernel, i % 2 == 0 ? "a" : "b");
  world.work(0, 1);
  CHECK(cut_steps(world.timeline).basis == StepBasis::none);
}

TEST_CASE("steps: a kind is a name without its step's number") {
  CHECK(step_kind("ProfilerStep#12") == "ProfilerStep");
  CHECK(step_kind("decode_step_3") == "decode_step");
  CHECK(step_kind("Step 12") == "Step");
  CHECK(step_kind("step(4) of prefill") == "step of prefill");
  CHECK(step_kind("_forward_step 40: 8 requests, 120 tokens") == "_forward_step: # requests, # tokens");
  CHECK(step_kind("decode bucket 8") == "decode bucket 8");
  CHECK(step_kind("") == "");
}
