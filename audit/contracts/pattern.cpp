#include "audit/contracts/pattern.hpp"

#include <utility>

#include "graphs/text.hpp"

namespace refrain {
KernelPattern KernelPattern::glob(std::string text, bool mangled) {
  return {std::move(text), mangled};
}

KernelPattern KernelPattern::regex(std::string text, bool mangled) {
  KernelPattern pattern(std::move(text), mangled);
  auto compiled = std::make_unique<regex_t>();
  const std::string whole = "^(" + pattern.text_ + ")$";
  if (const int code = ::regcomp(compiled.get(), whole.c_str(), REG_EXTENDED); code != 0) {
    char reason[128] = {};
    ::regerror(code, compiled.get(), reason, sizeof reason);
    throw std::string(reason);
  }
  pattern.regex_.reset(compiled.release());
  return pattern;
}

std::optional<std::vector<std::string>> KernelPattern::match(const std::string& name) const {
  if (!regex_) return matches_glob(text_, name) ? std::optional(std::vector<std::string>()) : std::nullopt;
  std::vector<regmatch_t> found(regex_->re_nsub + 1);
  if (::regexec(regex_.get(), name.c_str(), found.size(), found.data(), 0) != 0) return std::nullopt;
  std::vector<std::string> groups;
  for (std::size_t i = 2; i < found.size(); ++i) {
    const auto begin = found[i].rm_so, end = found[i].rm_eo;
    groups.push_back(begin < 0 ? ""
                               : name.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
  }
  return groups;
}

}  // namespace refrain
