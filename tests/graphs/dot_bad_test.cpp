#include "graphs/readers.hpp"
#include "tests/catch.hpp"
#include "tests/graphs/support.hpp"

using namespace refrain;

namespace {

struct Bad {
  const char* what;
  std::string text;
  std::string message;  // begins with
};

std::string message_of(const std::string& text) {
  return input_error([&] { (void)read_dot(text, "a.dot"); });
}

// Line 1 to 3 open the cluster; what stands inside begins on line 4.
std::string dump(const std::string& inside) {
  return "digraph dot {\nsubgraph cluster_1 {\nlabel=\"graph_1\";\n" + inside + "\n}\n}\n";
}

std::string node(const std::string& label) {
  return dump("\"graph_1_node_0\"[shape=\"record\" label=\"" + label + "\"];");
}

std::string kernel_with(const std::string& dims) {
  return node("{KERNEL\n| {ID | 0 | k\\<\\<\\<" + dims + "\\>\\>\\>}\n}");
}

void check(const std::vector<Bad>& table) {
  for (const Bad& bad : table) {
    INFO(bad.what);
    const std::string message = message_of(bad.text);
    CHECK(message.substr(0, bad.message.size()) == bad.message);
    CHECK(is_one_line(message));
    CHECK(message.find("; ") != std::string::npos);  // and says what to do
  }
}

// Cluster i holds one child node that names cluster i + 1.
std::string nested(int levels) {
  std::string text = "digraph dot {\n";
  for (int i = 0; i <= levels; ++i) {
    const std::string name = "graph_" + std::to_string(i);
    text += "subgraph cluster_" + std::to_string(i) + " {\nlabel=\"" + name + "\";\n";
    if (i < levels) text += "\"" + name + "_node_0\"[label=\"0\ngraph_" + std::to_string(i + 1) + "\n\"];\n";
    text += "}\n";
  }
  return text + "}\n";
}

}  // namespace

TEST_CASE("dot: a file that is no dump is an error with its line") {
  check({
      {"empty", "", "a.dot: line 1: expected `digraph`, found an empty file"},
      {"blank", "\n \n", "a.dot: line 1: expected `digraph`, found an empty file"},
      {"binary",
       std::string("\x7f"
                   "ELF\0\1",
                   6),
       "a.dot: line 1: expected DOT text, found the byte 0x7f"},
      {"an undirected graph", "graph g { }", "a.dot: line 1: expected `digraph`, found `graph`"},
      {"no clusters", "digraph dot {\n}\n", "a.dot: line 1: expected at least one subgraph with nodes, found none"},
      {"a missing brace", "digraph dot {\nsubgraph cluster_1 {\nlabel=\"graph_1\";\n}\n",
       "a.dot: line 5: expected a node, an edge, a subgraph or `}`, found the end of the file"},
      {"an open string", dump("\"graph_1_node_0\"[label=\"0\nHOST"),
       "a.dot: line 4: expected a closing quote, found the end of the file"},
      {"an open attribute list", "digraph dot {\nsubgraph c {\n\"n\"[label=\"x\"",
       "a.dot: line 3: expected an attribute or `]`, found the end of the file"},
      {"text behind the dump", dump("") + "digraph dot {}\n",
       "a.dot: line 7: expected the end of the file, found `digraph`"},
      {"a byte out of place", dump("\x01"), "a.dot: line 4: expected DOT text, found the byte 0x01"},
      {"an edge to nowhere", dump("\"a\" -> ;"), "a.dot: line 4: expected the node that the edge leads to, found `;`"},
  });
}

TEST_CASE("dot: edges and nodes that do not fit are errors with their line") {
  const std::string two = "\"n_0\"[label=\"0\nHOST\n\"];\n\"n_1\"[label=\"1\nHOST\n\"];\n";
  check({
      {"an edge to a node that is not there", dump(two + "\"n_0\" -> \"n_2\";"),
       "a.dot: line 10: expected an edge between nodes of graph_1, found `n_2`, which is not one"},
      {"an edge into another graph", dump(two + "}\nsubgraph cluster_2 {\nlabel=\"graph_2\";\n\"n_0\" -> \"n_1\";"),
       "a.dot: line 13: expected an edge between nodes of graph_2, found `n_0`, which is not one"},
      {"a cycle", dump(two + "\"n_0\" -> \"n_1\";\n\"n_1\" -> \"n_0\";"),
       "a.dot: line 2: graph_1: expected no cycle, found one of 2 nodes through node 0 (host)"},
      {"a node twice", dump(two + two), "a.dot: line 10: expected each node once, found `n_0` again"},
      {"a graph twice", dump("}\nsubgraph cluster_2 {\nlabel=\"graph_1\";"),
       "a.dot: line 5: expected each subgraph once, found `graph_1` again"},
  });
}

TEST_CASE("dot: labels that do not hold what their kind needs are errors with their line") {
  check({
      {"unbalanced braces", node("{KERNEL\n| {ID | 0 | k}"),
       "a.dot: line 4: expected a record label with balanced braces"},
      {"too many braces", node("{KERNEL}}{"), "a.dot: line 4: expected a record label with balanced braces"},
      {"a kernel without a name", node("{KERNEL\n| {ID | 0}\n}"), "a.dot: line 4: expected the kernel's name"},
      {"dims of two parts", kernel_with("1,2"), "a.dot: line 4: expected block dims like 64 or {2,3}, found `2`"},
      {"dims that are words", kernel_with("x,1,0"), "a.dot: line 4: expected grid below 2^32 as a number, found `x`"},
      {"a dim of 2^32", kernel_with("4294967296,1,0"), "a.dot: line 4: expected grid below 2^32 as a number"},
      {"four dims", kernel_with("\\{1,2,3,4\\},1,0"), "a.dot: line 4: expected at most three grid dims"},
      {"an open launch", node("{KERNEL\n| {ID | 0 | k\\<\\<\\<1,1}\n}"),
       "a.dot: line 4: expected <<<grid,block,shared bytes>>>"},
      {"shared memory of 2^63", kernel_with("1,1,9223372036854775808"),
       "a.dot: line 4: expected a shared memory size below 2^63 as a number, found `9223372036854775808`"},
      {"a size of 2^64", node("0\nMEMCPY\n(DtoD,18446744073709551616)\n"), "a.dot: line 4: expected a size below 2^63"},
      {"a negative size", node("0\nMEMSET\n(0,-1)\n"),
       "a.dot: line 4: expected a size below 2^63 as a number, found `-1`"},
      {"a value of 33 bits", node("0\nMEMSET\n(4294967296,4)\n"), "a.dot: line 4: expected a value below 2^32"},
      {"an extent that overflows",
       node("{\nMEMCPY\n| {{Extent | {{Width | 4294967296} | {Height | 4294967296} | {Depth | 1}}}}\n}"),
       "a.dot: line 4: expected a size below 2^63 in all dimensions together"},
      {"an address of 68 bits", node("{\nMEM_FREE\n| {{dptr} | {0x10000000000000000}}\n}"),
       "a.dot: line 4: expected dptr as an address of at most 64 bits"},
  });
}

TEST_CASE("dot: bodies may stand 64 levels deep and no deeper, and never inside themselves") {
  CHECK(read_dot(nested(64), "a.dot").size() == 1);
  // Six lines a graph, and one before the first.
  CHECK(message_of(nested(65)).starts_with("a.dot: line 392: expected at most 64 levels of bodies, found graph_65"));
  check({
      {"a graph inside itself",
       "digraph d {\nsubgraph c {\nlabel=\"graph_5\";\n\"n_0\"[label=\"0\ngraph_5\n\"];\n}\n}\n",
       "a.dot: line 2: expected bodies that do not contain themselves, found graph_5 in a circle of bodies"},
      {"two graphs inside each other",
       "digraph d {\nsubgraph c {\nlabel=\"graph_5\";\n\"n_0\"[label=\"0\ngraph_6\n\"];\n}\nsubgraph e "
       "{\nlabel=\"graph_6\";\n\"m_0\"[label=\"0\ngraph_5\n\"];\n}\n}\n",
       "a.dot: line 2: expected bodies that do not contain themselves, found graph_5 in a circle of bodies"},
  });
}

TEST_CASE("dot: hugely nested text is refused, not followed") {
  std::string text = "digraph d {\n";
  for (int i = 0; i < 1'000'000; ++i) text += "subgraph c {";
  CHECK(message_of(text).find("expected at most 64 subgraphs inside each other") != std::string::npos);
  CHECK(message_of(node(std::string(1'000'000, '{'))).find("balanced braces") != std::string::npos);
}

TEST_CASE("dot: many nodes that name the same bodies cost no more than the file") {
  // Each level names the next one twice: 2^40 graphs, if they were copied.
  std::string text = "digraph dot {\n";
  for (int i = 0; i < 40; ++i) {
    const std::string name = "graph_" + std::to_string(i);
    text += "subgraph c" + std::to_string(i) + " {\nlabel=\"" + name + "\";\n";
    for (const char* n : {"_node_0", "_node_1"})
      text += "\"" + name + n + "\"[label=\"0\ngraph_" + std::to_string(i + 1) + "\n\"];\n";
    text += "}\n";
  }
  CHECK(read_dot(text + "}\n", "a.dot").size() == 1);
}

TEST_CASE("dot: no message repeats more than 40 characters of the file") {
  const std::string secret(10'000, 'q');
  for (const std::string& text : {secret, dump("\"" + secret + "\" -> \"b\";"), node("0\nMEMSET\n(" + secret + ",1)\n"),
                                  node("{KERNEL | {" + secret + "}}")}) {
    CHECK(is_one_line(message_of(text)));
    CHECK(message_of(text).find(std::string(41, 'q')) == std::string::npos);
  }
}

TEST_CASE("dot: a dump cut at any byte is an error, never a graph and never a crash") {
  for (const char* name : {"all_kinds_plain.dot", "all_kinds_verbose.dot", "memset_memcpy_alloc.dot"}) {
    const std::string text = sample(name);
    REQUIRE(text.size() > 2000);
    for (std::size_t bytes = 0; bytes < text.rfind('}'); ++bytes) {
      const std::string message = message_of(text.substr(0, bytes));
      if (!is_one_line(message)) FAIL(name << " cut at byte " << bytes << ": " << message);
    }
  }
}

TEST_CASE("dot: a dump with any byte overwritten is read or refused, never a crash") {
  for (const char* name : {"all_kinds_plain.dot", "all_kinds_verbose.dot"}) {
    const std::string text = sample(name);
    for (std::size_t i = 0; i < text.size(); ++i)
      for (const char c : {'\0', '"', '{', '}', '\\', '9', '\xff'}) {
        std::string broken = text;
        broken[i] = c;
        const std::string message = message_of(broken);
        if (!message.empty() && !is_one_line(message)) FAIL(name << " byte " << i << ": " << message);
      }
  }
}
