// The options of one command, as a thin face of CLI11: a file that sees CLI11
// itself takes 6 s longer to compile, so main.cpp and options.cpp alone do. Both
// classes are handles to what CLI11 holds, to be passed by value. A variable that
// an option sets must outlive the parsing.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace refrain {

class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option required() const;
  Option excludes(Option other) const;
  Option positive() const;
  Option delimiter(char between) const;
  /// Of a list: one value each time that it is given, so that what follows is no part of it.
  Option one_value_each() const;
  Option one_of(std::initializer_list<const char*> words) const;
  /// `complaint` returns what is wrong with a value, or nothing.
  Option check(std::string (*complaint)(const std::string& value)) const;
  /// Sets `given` where the option is given.
  Option tells(bool& given) const;

 private:
  CLI::Option* option_;
};

class Options {
 public:
  explicit Options(CLI::App& app) : app_(&app) {}

  /// Text, a list of texts, or a number; options.cpp names the types.
  template <class Value>
  Option add_option(const char* name, Value& value, const std::string& description) const;
  Option add_flag(const char* name, bool& value, const std::string& description) const;

  /// One of `words`, which name what `value` may be.
  template <class Value, class Enum>
  Option add_choice(const char* name, Value& value, const std::map<std::string, Enum>& words,
                    const std::string& description) const {
    std::vector<std::string> names;
    for (const auto& [word, meant] : words) names.push_back(word);
    return add_word(
        name, [&value, words](const std::string& word) { value = words.at(word); }, names, description);
  }

  void footer(const std::string& text) const;

  [[nodiscard]] Options add_subcommand(const char* name, const char* description) const;
  void require_subcommand() const;
  [[nodiscard]] std::string subcommand() const;  ///< the one that was given, once all is parsed

 private:
  Option add_word(const char* name, const std::function<void(const std::string&)>& use,
                  const std::vector<std::string>& words, const std::string& description) const;

  CLI::App* app_;
};

}  // namespace refrain
