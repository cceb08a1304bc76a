// One include for Catch2 2 (Debian 12) and Catch2 3 (newer systems).
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif

/// Leaves a test case aloud; Catch2 2 has no SKIP.
#define REFRAIN_SKIP(reason)       \
  do {                             \
    WARN("skipped: " << (reason)); \
    return;                        \
  } while (false)
