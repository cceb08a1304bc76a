// Text that is put together line by line: what every writer of a report stands on.
#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <utility>

namespace refrain {

class Lines {
 public:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_.push_back('\n');
  }
  [[nodiscard]] std::string str() const { return fmt::to_string(out_); }

 private:
  fmt::memory_buffer out_;
};

}  // namespace refrain
