// The sparse MLA kernels on the bytes of one scene. Every run also shows that
// replays of the captured route agree bit for bit, that inputs stay as they were,
// and that the partials of splits without entries are left.
#pragma once

#include "tests/gpu/device_run.hpp"
#include "tests/kernels/mla_scene.hpp"

namespace refrain::test {

/// Runs the route's kernels; leaves their outputs in the scene's memory.
void run_on_device(MlaScene& scene, MlaRoute route);

}  // namespace refrain::test
