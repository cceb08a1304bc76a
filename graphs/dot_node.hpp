// One node of a DOT dump as a Node: its kind, name, dims, copies and fills, from
// whatever flag set the dump was made with. It sees one label at a time; bodies
// are only named here, and put in their place by the reader.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graphs/dot_label.hpp"
#include "graphs/dot_syntax.hpp"
#include "graphs/graph.hpp"

namespace refrain {

inline constexpr std::uint64_t kDotSizeEnd = std::uint64_t{1} << 63;  ///< sizes lie below it
inline constexpr std::uint64_t kDotWordEnd = std::uint64_t{1} << 32;  ///< dims and fill values lie below it

struct DotNodeReading {
  Node node;
  std::vector<std::string_view> bodies;  ///< `graph_5`: what a child or conditional node names
  bool has_handle = false;               ///< the dump prints addresses at all
  bool address_missing = false;          ///< a copy, fill or allocation whose address was not printed
  bool copy_kind_missing = false;        ///< a host copy that does not say pinned or pageable
};

class DotNodeReader {
 public:
  explicit DotNodeReader(const std::string& file) : file_(file) {}
  /// Throws Error{input} with the node's line on a number or a record that cannot be read.
  [[nodiscard]] DotNodeReading read(const DotNode& source);

 private:
  void read_record(DotNodeReading& out);
  void read_lines(DotNodeReading& out);
  void name_kernel(Node& node, const std::string& text);
  void read_memcpy(DotNodeReading& out);
  void read_short_memcpy(DotNodeReading& out, std::string_view text);
  void read_memset(DotNodeReading& out);
  void read_short_memset(DotNodeReading& out, std::string_view text);
  void read_allocation(DotNodeReading& out);
  void read_conditional(DotNodeReading& out);
  void set_kind(DotNodeReading& out, std::string_view word);
  [[nodiscard]] const std::string& demangled(const std::string& mangled);
  [[nodiscard]] std::uint64_t number(std::string_view text, std::string_view what, std::uint64_t below) const;
  [[nodiscard]] std::uint64_t product(std::uint64_t a, std::uint64_t b) const;
  [[nodiscard]] Dim3 dims(std::string_view& text, std::string_view what) const;
  [[noreturn]] void fail(const std::string& expected, std::string_view found) const;

  const std::string& file_;
  std::size_t line_ = 0;
  DotLabel label_;
  std::unordered_map<std::string, std::string> names_;  // mangled to demangled
};

/// `graph_5`, and no more than that.
[[nodiscard]] bool is_graph_name(std::string_view text) noexcept;

}  // namespace refrain
