// The calls of the contract suite, by the labels of the measured tables: each
// makes one call, through the seam, on whatever driver the scene holds.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/driver.hpp"

namespace refrain::test {

/// What the calls need, made before the capture begins; torn down with it.
struct ProbeScene {
  ProbeScene(Driver& driver, bool blocking);
  ~ProbeScene();
  ProbeScene(const ProbeScene&) = delete;
  ProbeScene& operator=(const ProbeScene&) = delete;

  /// Captures one launch of a kernel that touches nothing.
  Status launch_on(Stream stream);

  Driver& driver;
  Stream capture{}, other{}, third{}, side{};
  Event outside{}, inside{}, joined{};
  GraphHandle graph{};
  ExecHandle exec{};
  Address device = 0, pinned = 0, loose = 0, loose_host = 0;
  Address reserved = 0;             ///< two granules, nothing mapped
  std::vector<Driver::Place> made;  ///< by the call under test
  unsigned char pageable[256] = {};
};

using Probe = std::function<Status(ProbeScene&)>;
[[nodiscard]] const std::map<std::string, Probe>& probes();

}  // namespace refrain::test
