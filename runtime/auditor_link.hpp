// What the runtime tells the auditor of live processes, where one is in the process
// (`refrain audit -- CMD`): the facts that its own recording holds and the driver
// cannot know, in the same records. Where none is, nothing is done. It never fails:
// what the auditor refuses stands in its report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "graphs/graph.hpp"

namespace refrain {

class AuditorLink {
 public:
  /// Looks for the auditor, which comes with the CUDA driver: made after the driver.
  AuditorLink() noexcept;

  /// Its `died` tells whether it came or went.
  void buffer(const Buffer& buffer) const noexcept;
  void binding(std::string_view name, Address address, std::uint64_t bytes) const noexcept;
  /// `handle` is the driver's, and alive.
  void graph(std::uint64_t handle, const Graph& graph) const noexcept;

 private:
  template <class Write>
  void tell(Write&& write) const noexcept;

  using Describe = int (*)(const char*, std::size_t);
  using Listens = int (*)();
  Describe describe_ = nullptr;
  Listens listens_ = nullptr;
};

/// A window of the auditor's, where the program is to open it (--by-calls): what happens while this lives is what its
/// report is about. Nothing where there is no auditor, or its window is open already.
class AuditWindow {
 public:
  AuditWindow() noexcept;
  ~AuditWindow() { close(); }
  AuditWindow(const AuditWindow&) = delete;
  AuditWindow& operator=(const AuditWindow&) = delete;

  void close() noexcept;

 private:
  bool open_;
};

}  // namespace refrain
