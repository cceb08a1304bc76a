// One bucket of verify_all_buckets: its graph, and the row counts that are tried on it.
#pragma once

#include <memory>

#include "runtime/session.hpp"
#include "runtime/verify_buckets.hpp"

namespace refrain {

class BucketCheck {
 public:
  /// Counts into `verdict`, which outlives it.
  BucketCheck(Driver& driver, BucketVerdict& verdict);
  ~BucketCheck();

  /// Real rows and pads as the options say; the graph is the one that the call before captured, where the memory of the
  /// step is the same. False once the verdict has a failure. Throws Error{driver, refused}.
  bool try_rows(const StepOptions& options);

  /// What the eager run gave, and the KV pool around it.
  struct Reference {
    Output output;
    std::vector<std::byte> pool_before, pool_after;
  };

 private:
  struct Graph;
  bool capture(const StepOptions& options);
  bool judge(const StepOptions& options, const char* when);
  std::string replay(Session& eager, const Reference& reference);
  bool fail(const StepOptions& options, const std::string& poison, const std::string& what);

  Driver& driver_;
  BucketVerdict& verdict_;
  std::unique_ptr<Graph> graph_;
};

}  // namespace refrain
