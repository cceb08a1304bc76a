// Writes what the checks by browser and by DuckDB read: pages of reviews made by hand, and the tables of a few traces.
// Usage: review_samples FOLDER
#include <filesystem>
#include <fstream>
#include <iostream>

#include "audit/review/table.hpp"
#include "tests/review/review_world.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

/// The first in the order of names has no step and no finding, and the next no device work: readers take the types of
/// their columns from the files.
void write_all_tables(const std::string& folder) {
  write_tables(make_review({.steps = 0, .input = "a-empty.sqlite", .device = false, .findings = false}), folder);
  write_tables(make_review({.input = "b-clean.sqlite", .device = false, .findings = false}), folder);
  write_tables(make_review({.input = "host one/decode.sqlite"}), folder);
  write_tables(make_review({.steps = 40, .input = "host two/decode.sqlite"}), folder);
  write_tables(make_review({.steps = 3, .name = "a,\"b\"\n", .input = "hostile ',\".json.gz", .device = false}),
               folder);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::cerr << "usage: review_samples FOLDER\n";
    return 2;
  }
  const std::filesystem::path folder = arguments[1];
  write_all_tables((folder / "tables").string());
  return 0;
}
