// A type of a header has its name to itself: two of one name in one namespace compile
// and link, and then one's inline functions run for the other. The destructor that was
// not inlined was the other Scene's, so a failed assertion over it ended in a crash.
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "tests/catch.hpp"

namespace {

namespace fs = std::filesystem;

/// The types that a header defines at namespace scope, where lines begin in the first column.
std::set<std::string> types_of(std::istream& text) {
  static const std::regex opens(R"(^namespace ([A-Za-z0-9_:]+) \{.*)"),
      closes(R"(^\}  // namespace ([A-Za-z0-9_:]+)$)");
  static const std::regex defines(R"(^(struct|class|union|enum class) ([A-Za-z0-9_]+)( final)?( : .*)? \{.*)");
  std::string space;
  std::set<std::string> types;
  std::smatch match;
  for (std::string line; std::getline(text, line);) {
    if (std::regex_match(line, match, opens)) space += match.str(1) + "::";
    if (std::regex_match(line, match, closes)) space.resize(space.size() - match.str(1).size() - 2);
    if (std::regex_match(line, match, defines)) types.insert(space + match.str(2));
  }
  return types;
}

std::set<std::string> types_in(const std::string& text) {
  std::istringstream stream(text);
  return types_of(stream);
}

}  // namespace

TEST_CASE("names: no two headers define a type of the same name in the same namespace") {
  const fs::path root = REFRAIN_SOURCE_DIR;
  std::map<std::string, std::string> places;
  std::string twice;
  for (const char* folder : {"graphs", "traces", "kernels", "audit", "runtime", "cli", "bench", "tests"})
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.path().extension() != ".hpp" && entry.path().extension() != ".cuh") continue;
      const std::string path = fs::relative(entry.path(), root).generic_string();
      std::ifstream text(entry.path());
      for (const std::string& type : types_of(text))
        if (const auto [at, is_new] = places.emplace(type, path); !is_new)
          twice += type + ": " + at->second + " and " + path + "\n";
    }
  INFO(twice);
  CHECK(twice.empty());
  CHECK(places.size() > 300);
}

TEST_CASE("names: the test sees types in their namespaces and neither nested nor declared ones") {
  CHECK(types_in("namespace a {\nstruct B {\n  struct C {\n  };\n};\nstruct D;\nclass E final : public B {\n};\n"
                 "namespace b {\nenum class F : int { x };\n}  // namespace b\ntemplate <class T>\nstruct G {\n};\n"
                 "template <>\nstruct G<int> {\n};\n}  // namespace a\nstruct H {\n};\n") ==
        std::set<std::string>{"a::B", "a::E", "a::b::F", "a::G", "H"});
}
