// Which kernels a contract is about: a pattern on the whole of a kernel's name,
// demangled unless said. A glob knows * and ?; a regular expression is POSIX
// extended, and its groups give the contract template arguments. A demangled name
// holds the types of the parameters, so that a pattern can pin a signature down.
#pragma once

#include <regex.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace refrain {

class KernelPattern {
 public:
  [[nodiscard]] static KernelPattern glob(std::string text, bool mangled);
  /// Throws std::string, what the expression's compiler says.
  [[nodiscard]] static KernelPattern regex(std::string text, bool mangled);

  /// The groups of a regular expression, none for a glob; nothing when the name does not fit as a whole.
  [[nodiscard]] std::optional<std::vector<std::string>> match(const std::string& name) const;

  [[nodiscard]] bool on_mangled() const noexcept { return mangled_; }
  /// How many groups a match gives.
  [[nodiscard]] std::size_t groups() const noexcept { return regex_ ? regex_->re_nsub - 1 : 0; }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  struct Free {
    void operator()(regex_t* regex) const noexcept {
      ::regfree(regex);
      delete regex;
    }
  };

  KernelPattern(std::string text, bool mangled) : text_(std::move(text)), mangled_(mangled) {}

  std::string text_;
  bool mangled_ = false;
  std::unique_ptr<regex_t, Free> regex_;  // none: a glob
};

}  // namespace refrain
