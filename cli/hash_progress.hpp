// How far the hashing of large files is, on one line of standard error that is
// written over and wiped at the end; silent where that is no terminal.
#pragma once

#include "runtime/scales/input_file.hpp"

namespace refrain {

class HashLine {
 public:
  HashLine();
  /// Wipes the line.
  ~HashLine();
  HashLine(const HashLine&) = delete;
  HashLine& operator=(const HashLine&) = delete;

  /// Empty where there is no terminal; must not outlive this.
  [[nodiscard]] HashProgress progress();

 private:
  bool terminal_ = false, drawn_ = false;
};

}  // namespace refrain
