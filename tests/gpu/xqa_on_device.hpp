// xqa_decode's kernel between the twins of its planner and its merge, over the
// bytes of one scene. Every run also shows that replays agree bit for bit, that
// what the contract promises is written, and that nothing else changed.
#pragma once

#include "tests/gpu/device_run.hpp"
#include "tests/kernels/xqa_route.hpp"

namespace refrain::test {

/// Runs plan twin, kernel and merge twin; leaves the scene's memory as they do.
void decode_on_device(Scene& scene, XqaRun& run);

}  // namespace refrain::test
