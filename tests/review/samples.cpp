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

constexpr const char* kHostile =
    "<script>alert(1)</script>\"' onload=alert(1) x=']]><!-- --> &amp;\n\x1b[31m\xFF\xE2\x80\xAE{0}";

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

void write_page(const std::filesystem::path& file, const Review& review) {
  std::ofstream(file, std::ios::binary) << review_html(review);
}

void write_all_pages(const std::filesystem::path& folder) {
  write_page(folder / "small.html", make_review());
  write_page(folder / "no-steps.html", make_review({.steps = 0}));
  write_page(folder / "long.html", make_review({.steps = 5000}));
  write_page(folder / "wide.html", make_review({.steps = 4, .nodes = 2000, .streams = 20}));
  write_page(folder / "hostile.html", make_review({.name = kHostile, .input = kHostile}));
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::cerr << "usage: review_samples FOLDER\n";
    return 2;
  }
  const std::filesystem::path folder = arguments[1];
  write_all_tables((folder / "tables").string());
  write_all_pages(folder);
  return 0;
}
