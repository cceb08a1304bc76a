#include "cli/save_text.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "traces/output_file.hpp"

namespace refrain {
void save_text(const std::string& file, const std::string& text) {
  OutputFile out(file);
  out.write(text);
  out.keep();
}

void print_or_save(const std::string& file, const std::string& text) {
  if (file.empty())
    fmt::print("{}", text);
  else
    save_text(file, text);
}

// https://no-color.org: set and not empty means no.
bool wants_colour() {
  const char* no_colour = std::getenv("NO_COLOR");
  return ::isatty(STDOUT_FILENO) == 1 && (no_colour == nullptr || *no_colour == '\0');
}

}  // namespace refrain
