#include "cli/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <vector>

namespace refrain {

Option Option::required() const {
  option_->required();
  return *this;
}

Option Option::excludes(Option other) const {
  option_->excludes(other.option_);
  return *this;
}

Option Option::positive() const {
  option_->check(CLI::PositiveNumber);
  return *this;
}

Option Option::delimiter(char between) const {
  option_->delimiter(between);
  return *this;
}

Option Option::one_value_each() const {
  option_->allow_extra_args(false);
  return *this;
}

Option Option::one_of(std::initializer_list<const char*> words) const {
  option_->check(CLI::IsMember(words).description(""));
  return *this;
}

Option Option::check(std::string (*complaint)(const std::string& value)) const {
  option_->check(CLI::Validator([complaint](const std::string& value) { return complaint(value); }, ""));
  return *this;
}

Option Option::tells(bool& given) const {
  option_->each([&given](const std::string&) { given = true; });
  return *this;
}

template <class Value>
Option Options::add_option(const char* name, Value& value, const std::string& description) const {
  return Option(app_->add_option(name, value, description));
}
template Option Options::add_option(const char*, std::string&, const std::string&) const;
template Option Options::add_option(const char*, std::vector<std::string>&, const std::string&) const;
template Option Options::add_option(const char*, std::int32_t&, const std::string&) const;
template Option Options::add_option(const char*, std::uint32_t&, const std::string&) const;
template Option Options::add_option(const char*, std::uint64_t&, const std::string&) const;
template Option Options::add_option(const char*, double&, const std::string&) const;

Option Options::add_flag(const char* name, bool& value, const std::string& description) const {
  return Option(app_->add_flag(name, value, description));
}

Option Options::add_word(const char* name, const std::function<void(const std::string&)>& use,
                         const std::vector<std::string>& words, const std::string& description) const {
  const auto complaint = [words](const std::string& word) {
    if (std::find(words.begin(), words.end(), word) != words.end()) return std::string();
    return fmt::format("expected one of {}, found {}", fmt::join(words, ", "), word);
  };
  return Option(app_->add_option_function<std::string>(name, use, description)
                    ->type_name("ENUM")
                    ->check(CLI::Validator(complaint, "")));
}

void Options::footer(const std::string& text) const {
  app_->footer(text);
}

Options Options::add_subcommand(const char* name, const char* description) const {
  return Options(*app_->add_subcommand(name, description));
}

void Options::require_subcommand() const {
  app_->require_subcommand(1);
}

std::string Options::subcommand() const {
  return app_->get_subcommands().front()->get_name();
}

}  // namespace refrain
