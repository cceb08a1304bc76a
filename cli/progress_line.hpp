// How far long work is, on one line of standard error that is written over and wiped at
// the end; silent where that is no terminal.
#pragma once

#include "runtime/progress.hpp"

namespace refrain {

class ProgressLine {
 public:
  ProgressLine();
  /// Wipes the line.
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Empty where there is no terminal; must not outlive this.
  [[nodiscard]] Progress progress();

 private:
  bool terminal_ = false, drawn_ = false;
};

}  // namespace refrain
