#include "graphs/dot_syntax.hpp"

#include <fmt/format.h>

#include "graphs/dot_lexer.hpp"
#include "graphs/error.hpp"
#include "graphs/readers.hpp"
#include "graphs/text.hpp"

namespace refrain {
namespace {

constexpr const char* kCutShort = "the dump is cut short or edited, write it again";

std::string name_of(const DotToken& token) {
  if (token.kind == DotToken::Kind::end) return "the end of the file";
  return fmt::format("`{}`", excerpt(token.text));
}

class DotParser {
 public:
  DotParser(std::string_view text, const std::string& file) : lexer_(text, file), file_(file) {}

  std::vector<DotCluster> run() {
    open_digraph();
    while (!open_.empty()) statement();
    if (lexer_.peek().kind != DotToken::Kind::end) fail("the end of the file", "give one dump a file");
    return std::move(clusters_);
  }

 private:
  [[noreturn]] void fail(const std::string& expected, const std::string& fix) {
    fail_dot(file_, lexer_.peek().line, expected, name_of(lexer_.peek()), fix);
  }

  void expect(char c) {
    if (!lexer_.peek().is(c)) fail(fmt::format("`{}`", c), kCutShort);
    lexer_.take();
  }

  DotToken take_id(const char* what) {
    if (!lexer_.peek().is_id()) fail(what, kCutShort);
    return lexer_.take();
  }

  void open_digraph() {
    if (lexer_.peek().is_word("strict")) lexer_.take();
    if (!lexer_.peek().is_word("digraph")) fail("`digraph`", "give a dump of cudaGraphDebugDotPrint");
    lexer_.take();
    open_cluster();
  }

  // `[name] {`
  void open_cluster() {
    DotCluster cluster;
    cluster.line = lexer_.peek().line;
    if (lexer_.peek().is_id()) cluster.name = lexer_.take().text;
    expect('{');
    if (open_.size() > kMaxGraphNesting)
      fail(fmt::format("at most {} subgraphs inside each other", kMaxGraphNesting), "flatten the dump");
    open_.push_back(clusters_.size());
    clusters_.push_back(std::move(cluster));
  }

  void statement() {
    const DotToken& next = lexer_.peek();
    if (next.is('}')) {
      lexer_.take();
      open_.pop_back();
    } else if (next.is(';') || next.is(',')) {
      lexer_.take();
    } else if (next.is('{')) {
      open_cluster();
    } else if (next.is_word("subgraph")) {
      lexer_.take();
      open_cluster();
    } else if (next.is_id()) {
      id_statement();
    } else {
      fail("a node, an edge, a subgraph or `}`", kCutShort);
    }
  }

  DotCluster& here() { return clusters_[open_.back()]; }

  void id_statement() {
    const DotToken id = lexer_.take();
    if (lexer_.peek().is('=')) {
      lexer_.take();
      const DotToken value = take_id("a value");
      if (id.text == "label") here().name = value.text;
      return;
    }
    if (lexer_.peek().kind == DotToken::Kind::arrow) return edge_statement(id);
    DotNode node;
    node.name = id.text;
    node.line = id.line;
    attributes(&node);
    const bool defaults =
        id.kind == DotToken::Kind::name && (id.text == "graph" || id.text == "node" || id.text == "edge");
    if (!defaults) here().nodes.push_back(node);
  }

  void edge_statement(DotToken from) {
    while (lexer_.peek().kind == DotToken::Kind::arrow) {
      lexer_.take();
      const DotToken to = take_id("the node that the edge leads to");
      here().edges.push_back({from.text, to.text, from.line});
      from = to;
    }
    attributes(nullptr);
  }

  // `[style="solid" style="solid" shape="invtrapezium"label="..."]`: commas and blanks are free, the last value wins.
  void attributes(DotNode* node) {
    while (lexer_.peek().is('[')) {
      lexer_.take();
      while (!lexer_.peek().is(']')) attribute(node);
      lexer_.take();
    }
  }

  void attribute(DotNode* node) {
    if (lexer_.peek().is(',') || lexer_.peek().is(';')) {
      lexer_.take();
      return;
    }
    const DotToken key = take_id("an attribute or `]`");
    if (!lexer_.peek().is('=')) return;
    lexer_.take();
    const DotToken value = take_id("the attribute's value");
    if (node == nullptr) return;
    if (key.text == "label") node->label = value.text;
    if (key.text == "shape") node->shape = value.text;
  }

  DotLexer lexer_;
  const std::string& file_;
  std::vector<DotCluster> clusters_;
  std::vector<std::size_t> open_;  // indices of the clusters that we stand in
};

}  // namespace

std::vector<DotCluster> parse_dot(std::string_view text, const std::string& file) {
  if (trim(skip_byte_order_mark(text)).empty())
    fail_dot(file, 1, "`digraph`", "an empty file", "write the dump again with cudaGraphDebugDotPrint");
  return DotParser(text, file).run();
}

void fail_dot(const std::string& file, std::size_t line, const std::string& expected, const std::string& found,
              const std::string& fix) {
  throw Error(ErrorKind::input, fmt::format("line {}", line),
              fmt::format("expected {}, found {}; {}", expected, found, fix), file);
}

}  // namespace refrain
