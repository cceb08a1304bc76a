// The page's text: what is on it, what is left out, and that it stays small. page_test.py looks at it in a browser.
#include "tests/catch.hpp"
#include "tests/review/review_world.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

constexpr std::size_t kMostBytes = 2'000'000;

std::size_t occurrences(const std::string& text, std::string_view words) {
  std::size_t count = 0;
  for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++count;
  return count;
}
bool contains(const std::string& text, std::string_view words) {
  return occurrences(text, words) > 0;
}

Finding finding_at(std::size_t step) {
  Finding finding = make_review().report.findings()[0];
  finding.step = step;
  finding.call = copy_of(step);
  return finding;
}

}  // namespace

TEST_CASE("review page: a finding leads to its mark and its bar and both lead back") {
  const std::string page = review_html(make_review());
  CHECK(contains(page,
                 "<p>Seen in step 3 (decode_step_3), 3.02 ms into the trace: <a href=\"#mark-1\">in its "
                 "timeline</a>, <a href=\"#bar-2\">in the strip</a></p>"));
  CHECK(contains(page, "<a id=\"mark-1\" class=\"mark\" href=\"#finding-1\""));
  CHECK(contains(page, "<a class=\"wedge\" href=\"#finding-1\""));
  CHECK(contains(page, "<article id=\"finding-1\""));
}

TEST_CASE("review page: a finding in a step that is not drawn stands in the strip alone") {
  Review review = make_review({.steps = 20, .findings = false});
  for (std::size_t step = 5; step <= 10; ++step) review.report.add(finding_at(step), {});
  const std::string page = review_html(review);
  // The worst step, and those of the first three findings.
  CHECK(occurrences(page, "<section id=\"timeline-") == 4);
  CHECK(contains(page, "<section id=\"timeline-3\""));
  CHECK(contains(page, "<section id=\"timeline-7\""));
  CHECK(occurrences(page, "class=\"wedge\"") == 6);
  CHECK(occurrences(page, "class=\"mark\"") == 3);
  CHECK(
      contains(page, "Seen in step 10 (decode_step_10), 10.02 ms into the trace: <a href=\"#bar-9\">in the strip</a>"));
}

TEST_CASE("review page: errors are drawn before warnings") {
  Review review = make_review({.steps = 20, .findings = false});
  for (std::size_t step = 5; step <= 9; ++step) {
    Finding warning = finding_at(step);
    warning.rule = "RF202";
    review.report.add(warning, {});
  }
  review.report.add(finding_at(15), {});
  CHECK(contains(review_html(review), "<section id=\"timeline-15\""));
}

TEST_CASE("review page: a call outside all steps is told with its time") {
  Review review = make_review({.findings = false});
  Finding finding = finding_at(2);
  finding.step.reset();
  review.report.add(finding, {});
  CHECK(contains(review_html(review), "Seen in step 2 "));
  review.steps.erase(review.steps.begin() + 1);
  CHECK(contains(review_html(review), "Seen 2.02 ms into the trace, in no step."));
}

TEST_CASE("review page: many steps share bars and the page says so") {
  CHECK_FALSE(contains(review_html(make_review({.steps = 240})), "A bar stands for"));
  const std::string page = review_html(make_review({.steps = 241}));
  CHECK(contains(page, "A bar stands for 2 steps, and is drawn as the longest of them."));
  CHECK(occurrences(page, "id=\"bar-") == 121);
  CHECK(contains(page, "40 of 241 steps are shown in each table"));
}

TEST_CASE("review page: one slow step does not flatten the others and its bar says how long it was") {
  Review review = make_review({.steps = 50});
  CHECK_FALSE(contains(review_html(review), "are cut there"));
  review.steps[2].end_ns = review.steps[2].start_ns + 90'000'000;
  const std::string page = review_html(review);
  CHECK(contains(page, "Bars longer than 1.60 ms are cut there and open at the top."));
  CHECK(contains(page, "step 3 (decode_step_3): 90.00 ms"));
}

TEST_CASE("review page: what was not recorded is told and is never a zero") {
  const std::string page = review_html(make_review({.device = false}));
  CHECK(contains(page, "the device was busy with it (not recorded here)"));
  CHECK(contains(page, "<tr><th scope=\"row\">GPU busy</th><td>not recorded</td><td>not recorded</td></tr>"));
  CHECK(contains(page, "GPU busy not recorded, idle not recorded"));
}

TEST_CASE("review page: a sum over some steps says over how many") {
  Review review = make_review();
  review.steps[4].launch_gap_ns.reset();
  review.totals = total(review.steps);
  const std::string page = review_html(review);
  CHECK(contains(page, "<tr><th scope=\"row\">Launch gap</th><td>75.0 us in 5 steps</td><td>15.0 us</td></tr>"));
  CHECK(contains(page, "<tr><th scope=\"row\">GPU busy</th><td>378.0 us</td><td>63.0 us</td></tr>"));
}

TEST_CASE("review page: guessed steps and limits and lost records stand on it") {
  Review review = make_review();
  review.cut = {StepBasis::replay, "no range is named as steps are", 6};
  Timeline& timeline = review.subject.recordings.front().timeline;
  timeline.limits.push_back({"graph-mode", "a replay is one record", 3});
  timeline.problems.push_back({"bad-range", "a range ended before it began", 2, 0});
  timeline.complete = false;
  const std::string page = review_html(review);
  CHECK(contains(page, "<strong>The steps are guessed:</strong> no range is named as steps are"));
  CHECK(contains(page, "<th scope=\"row\">graph-mode</th><td>3</td><td>a replay is one record</td>"));
  CHECK(contains(page, "<th scope=\"row\">bad-range</th><td>2</td>"));
  CHECK(contains(page, "The input is not complete"));
  CHECK(contains(page, "<td>no history, &lt;none&gt;</td>"));
}

TEST_CASE("review page: it stays under two megabytes whatever the trace holds") {
  SECTION("every name and sentence is endless and takes six bytes a character") {
    const std::string name(10'000, '"');
    Review review = make_review({.steps = 3000, .nodes = 300, .name = "decode", .input = name});
    Timeline& timeline = review.subject.recordings.front().timeline;
    for (std::string& text : timeline.strings) text = name;
    review.cut.why = name;
    for (std::size_t step = 1; step <= 3000; step += 30) {
      Finding finding = finding_at(step);
      finding.where = finding.message = finding.fix = name;
      finding.evidence.assign(50, name);
      review.report.add(finding, {});
    }
    for (int i = 101; i < 190; ++i) review.report.not_checked("RF" + std::to_string(i), std::to_string(i) + name);
    for (int i = 0; i < 200; ++i) timeline.limits.push_back({name, name, 1});
    CHECK(review_html(review).size() < kMostBytes);
  }
  SECTION("a hundred thousand steps with eager work in each") {
    CHECK(review_html(make_review({.steps = 100'000})).size() < kMostBytes);
  }
  SECTION("thousands of findings in different steps") {
    Review review = make_review({.steps = 5000, .findings = false});
    for (std::size_t step = 1; step <= 5000; ++step) review.report.add(finding_at(step), {});
    const std::string page = review_html(review);
    CHECK(page.size() < kMostBytes);
    const std::size_t shown = occurrences(page, "<article ");
    CHECK(shown > 100);
    CHECK(contains(page, std::to_string(5000 - shown) + " more findings not shown"));
  }
}

TEST_CASE("review page: a finding that was suppressed stands apart with its reason") {
  Review review = make_review();
  review.report.excuse(0, Standing::suppressed, "known, <b>");
  const std::string page = review_html(review);
  CHECK(contains(page, "<h3>does not count</h3>"));
  CHECK(contains(page, "<strong>suppressed</strong> known, &lt;b&gt;"));
}
