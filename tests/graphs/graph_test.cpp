#include "graphs/graph.hpp"

#include <set>

#include "graphs/text.hpp"
#include "graphs/words.hpp"
#include "tests/catch.hpp"
#include "tests/graphs/support.hpp"

using namespace refrain;

namespace {

// Every enumerator has a word of its own, and the word leads back to it.
template <class Enum>
void check_words(std::size_t count) {
  std::set<std::string> words;
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<Enum>(i);
    words.insert(to_string(value));
    CHECK(from_word<Enum>(to_string(value)) == value);
  }
  CHECK(words.size() == count);
  CHECK(words.count("?") == 0);
  CHECK(std::string(to_string(static_cast<Enum>(count))) == "?");  // the list above is whole
}

}  // namespace

TEST_CASE("words: every enum says and reads back each of its words") {
  check_words<Mode>(4);
  check_words<Reach>(2);
  check_words<Role>(9);
  check_words<Dtype>(12);
  check_words<Fact>(4);
  check_words<NodeKind>(15);
  check_words<EdgeKind>(2);
  check_words<MemorySpace>(5);
  check_words<Certainty>(3);
  check_words<Origin>(3);
  check_words<Unseen>(6);
  CHECK_FALSE(from_word<Mode>("Read"));
  CHECK_FALSE(from_word<Mode>(""));
}

TEST_CASE("describe: the op comes before the name, the name before the kind") {
  Graph graph;
  graph.nodes = {kernel("name"), kernel("name"), kernel("")};
  graph.nodes[1].op = "pad_fix";
  graph.nodes[2].kind = NodeKind::memset;
  CHECK(describe(graph, 0) == "node 0 (name)");
  CHECK(describe(graph, 1) == "node 1 (pad_fix)");
  CHECK(describe(graph, 2) == "node 2 (memset)");
  CHECK(describe(graph, 3) == "node 3");
}

TEST_CASE("describe: a kernel goes by its name without result, template arguments and parameters") {
  Graph graph;
  graph.nodes = {kernel("void at::native::vectorized_elementwise_kernel<8, at::Op>(int, at::Op)"),
                 kernel("void at::(anonymous namespace)::index<float>(int)"), kernel("kmix(float*, int)")};
  CHECK(describe(graph, 0) == "node 0 (at::native::vectorized_elementwise_kernel)");
  CHECK(describe(graph, 1) == "node 1 (at::(anonymous namespace)::index)");
  CHECK(describe(graph, 2) == "node 2 (kmix)");
}

TEST_CASE("describe: a name with line ends or of great length stays one short line") {
  Graph graph;
  graph.nodes = {kernel("a\nb\x1b[31m"), kernel(std::string(1000, 'x'))};
  CHECK(describe(graph, 0) == "node 0 (a?b?[31m)");
  CHECK(describe(graph, 1) == "node 1 (" + std::string(77, 'x') + "...)");
}

TEST_CASE("text: a quotation is at most 40 printable characters") {
  CHECK(excerpt("short") == "short");
  CHECK(excerpt(std::string(40, 'a')) == std::string(40, 'a'));
  CHECK(excerpt(std::string(41, 'a')) == std::string(37, 'a') + "...");
  CHECK(excerpt("a\n\x01\xff") == "a???");
}

TEST_CASE("text: a number is read whole or not at all") {
  CHECK(parse_unsigned("0") == 0);
  CHECK(parse_unsigned("18446744073709551615") == UINT64_MAX);
  CHECK(parse_unsigned("0x00007F015DE00000") == 0x7f015de00000);
  for (const char* bad :
       {"", "0x", "-1", "+1", " 1", "1 ", "1.5", "18446744073709551616", "0x1ffffffffffffffff", "abc"})
    CHECK_FALSE(parse_unsigned(bad));
}
