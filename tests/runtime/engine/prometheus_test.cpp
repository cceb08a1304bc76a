// The metrics as Prometheus reads them: a small parser of the text exposition, whose rules
// are those of the format's page.
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "runtime/host/host_driver.hpp"
#include "tests/runtime/engine/engine_world.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

struct Family {
  std::string type;
  bool help = false;
  std::map<std::string, double> samples;  // by name and labels as they stand
};

bool name_char(char c, bool first) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':' ||
         (!first && std::isdigit(static_cast<unsigned char>(c)) != 0);
}

std::string name_of(const std::string& line) {
  std::size_t end = 0;
  while (end < line.size() && name_char(line[end], end == 0)) ++end;
  return line.substr(0, end);
}

/// Behind the closing brace of labels, or behind the name; checks the labels on the way.
std::size_t value_at(const std::string& line, std::size_t at) {
  if (line[at] != '{') return at;
  for (++at; line[at] != '}';) {
    REQUIRE(name_char(line[at], true));
    while (line[at] != '=') ++at;
    REQUIRE(line[++at] == '"');
    for (++at; line[at] != '"'; ++at)
      if (line[at] == '\\') {
        ++at;
        const bool escape = line[at] == '\\' || line[at] == '"' || line[at] == 'n';
        REQUIRE(escape);
      }
    if (line[++at] == ',') ++at;
  }
  return at + 1;
}

std::map<std::string, Family> parse(const std::string& text) {
  std::map<std::string, Family> families;
  std::istringstream lines(text);
  std::string current;
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    if (line.rfind("# HELP ", 0) == 0) {
      current = name_of(line.substr(7));
      REQUIRE(families.count(current) == 0);  // one family stands together
      families[current].help = true;
      continue;
    }
    if (line.rfind("# TYPE ", 0) == 0) {
      REQUIRE(name_of(line.substr(7)) == current);
      families[current].type = line.substr(8 + current.size());
      continue;
    }
    const std::string name = name_of(line);
    const bool histogram = families[current].type == "histogram";
    REQUIRE((histogram ? name.rfind(current + "_", 0) == 0 : name == current));
    const std::size_t at = value_at(line, name.size());
    REQUIRE(line[at] == ' ');
    std::size_t used = 0;
    const double value = std::stod(line.substr(at + 1), &used);
    REQUIRE(at + 1 + used == line.size());
    REQUIRE(families[current].samples.emplace(line.substr(0, at), value).second);
  }
  return families;
}

}  // namespace

TEST_CASE("prometheus: the exposition parses and its numbers are those of the stats") {
  HostDriver host;
  EngineWorld w(host);
  w.model->syncs = [](const StepShape& s) { return s.rows == 3; };
  (void)w.engine->warm_up();
  std::mt19937_64 random(4);
  for (int i = 0; i < 30; ++i) w.submit(random_request(random));
  CHECK_THROWS_AS(w.engine->submit({}), Error);
  (void)w.engine->cancel(3);
  w.run();
  const EngineStats stats = w.engine->stats();
  const std::string text = prometheus_text(stats);
  CHECK(text.back() == '\n');
  const auto families = parse(text);
  for (const auto& [name, family] : families) {
    INFO(name);
    CHECK(name.rfind("refrain_", 0) == 0);
    CHECK(family.help);
    CHECK((family.type == "counter" || family.type == "gauge" || family.type == "histogram"));
    CHECK((family.type == "counter") == name.ends_with("_total"));
  }
  const auto value = [&](const std::string& family, const std::string& sample) {
    return families.at(family).samples.at(sample);
  };
  CHECK(value("refrain_steps_total", "refrain_steps_total{phase=\"decode\"}") ==
        static_cast<double>(stats.of(Phase::decode).steps));
  CHECK(value("refrain_generated_tokens_total", "refrain_generated_tokens_total") ==
        static_cast<double>(stats.tokens_out));
  CHECK(value("refrain_requests_total", "refrain_requests_total") == 30);
  CHECK(value("refrain_requests_refused_total", "refrain_requests_refused_total{reason=\"empty prompt\"}") == 1);
  CHECK(value("refrain_requests_finished_total", "refrain_requests_finished_total{finish=\"cancelled\"}") == 1);
  CHECK(value("refrain_coverage_ratio", "refrain_coverage_ratio") == Approx(stats.coverage()));
  CHECK(value("refrain_pages_in_use", "refrain_pages_in_use") == 0);
  CHECK(families.at("refrain_fallbacks_total").samples.size() == 1);
}

TEST_CASE("prometheus: a histogram rises over its bounds and ends in all") {
  EngineStats stats;
  for (const std::uint64_t ns : {5'000ULL, 20'000'000ULL, 20'000'000ULL, 900'000'000'000ULL})
    stats.first_token_ns.add(ns);
  const auto families = parse(prometheus_text(stats));
  const auto& samples = families.at("refrain_first_token_seconds").samples;
  std::map<double, double> by_bound;
  for (const auto& [sample, count] : samples) {
    const auto le = sample.find("le=\"");
    if (le != std::string::npos) by_bound[std::stod(sample.substr(le + 4))] = count;  // +Inf is read as infinity
  }
  double last = 0;
  for (const auto& [bound, count] : by_bound) {
    CHECK(count >= last);
    last = count;
    const double due = (bound >= 5e-6) + 2 * (bound >= 0.02) + (bound >= 900);
    CHECK(count == due);
  }
  CHECK(std::isinf(by_bound.rbegin()->first));
  CHECK(samples.at("refrain_first_token_seconds_count") == 4);
  CHECK(samples.at("refrain_first_token_seconds_sum") == Approx(900.040005));
}

TEST_CASE("prometheus: a reason with quotes and line ends is escaped") {
  EngineStats stats;
  stats.fallbacks.add("a \"quoted\\ reason\"\nin two lines");
  const auto families = parse(prometheus_text(stats));
  CHECK(families.at("refrain_fallbacks_total")
            .samples.count("refrain_fallbacks_total{reason=\"a \\\"quoted\\\\ reason\\\"\\nin two lines\"}") == 1);
}
