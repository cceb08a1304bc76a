// What of this build's code runs on the current device, and how much the device has. A
// device newer than all that the build was made for runs the code of an older one,
// compiled when it is loaded: so what a kernel may do is asked of its code and not of the
// device. Code for sm_80 has no wait of a programmatic launch and knows nothing of
// clusters, wherever it runs.
#pragma once

namespace refrain {

/// The architecture that the kernels were compiled for: 80, 90, ...; 0 where none of them run. Legal in a capture.
[[nodiscard]] int code_architecture();

/// The current device's: 80, 90, ...; 0 where there is none.
[[nodiscard]] int device_architecture();

/// Of the current device; 0 where there is none. Legal in a capture.
[[nodiscard]] int multiprocessors();
[[nodiscard]] int shared_bytes_a_block();  ///< the most that a launch may ask for

/// Whether the kernels on the matrix instructions of warpgroups run: the build and the device have sm_90a.
[[nodiscard]] bool has_wgmma();

}  // namespace refrain
