// Hostile names in every form of a report. What must come out is written here by hand, from each format's own rules.
#include "audit/reports/escape.hpp"

#include "tests/catch.hpp"

using namespace refrain;
using namespace std::string_literals;

TEST_CASE("escape: control characters become visible and the text stays one line") {
  CHECK(visible("a\nb\r\tc\0d\x1b[31m\x7f"s) == "a\\nb\\r\\tc\\x00d\\x1b[31m\\x7f");
  CHECK(visible("\xC2\x85") == "\\x85");        // a C1 control: next line
  CHECK(visible("\xE2\x80\xA8") == "\\u2028");  // line separator
  CHECK(visible("a\xE2\x80\xAE"
                "b") == "a\\u202eb");  // right-to-left override
}

TEST_CASE("escape: each byte that is no UTF-8 becomes one replacement character") {
  const std::string mark = "\xEF\xBF\xBD";
  CHECK(visible("a\xFF"
                "b") == "a" + mark + "b");
  CHECK(visible("\xC0\x80") == mark + mark);                        // overlong zero
  CHECK(visible("\xED\xA0\x80") == mark + mark + mark);             // a surrogate
  CHECK(visible("\xF4\x90\x80\x80") == mark + mark + mark + mark);  // past 10FFFF
  CHECK(visible("\xE2\x82") == mark + mark);                        // cut short
  CHECK(visible("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80") == "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80");
}

TEST_CASE("escape: XML has entities for all that ends a text or an attribute") {
  CHECK(xml("<a b=\"c\" d='e'>&]]>") == "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;]]&gt;");
  CHECK(xml("\x01\n") == "\\x01\\n");
}

TEST_CASE("escape: Markdown takes a name literally") {
  CHECK(markdown("|`[x](y)*_#") == "\\|\\`\\[x\\]\\(y\\)\\*\\_\\#");
  CHECK(markdown("<b>@a https://x") == "&lt;b&gt;&#64;a https&#58;//x");
}

TEST_CASE("escape: a workflow command's message and properties quote what divides them") {
  CHECK(github_message("100%: a, b\n::error::") == "100%25: a, b\\n::error::");
  CHECK(github_property("100%: a, b") == "100%25%3A a%2C b");
}

TEST_CASE("escape: a path becomes a URI reference") {
  CHECK(uri("runs/a b.json") == "runs/a%20b.json");
  CHECK(uri("/tmp/x#1?.dot") == "file:///tmp/x%231%3F.dot");
  CHECK(uri("a:b") == "a%3Ab");  // else `a` would be a scheme
  CHECK(uri("\xFF") == "%FF");
}
