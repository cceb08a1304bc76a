// xqa_decode's kernel behind the twin of its planner, over the bytes of one scene.
// Every run also shows that replays agree bit for bit, that what the contract
// promises is written, and that nothing else changed.
#pragma once

#include <functional>

#include "tests/gpu/device_run.hpp"
#include "tests/kernels/xqa_route.hpp"

namespace refrain::test {

/// Runs plan twin, what `after_plan` does to the plan, and kernel; leaves the scene's memory as they do.
void decode_on_device(
    Scene& scene, XqaRun& run, const std::function<void()>& after_plan = [] {});

}  // namespace refrain::test
