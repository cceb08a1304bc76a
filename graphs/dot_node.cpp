#include "graphs/dot_node.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

#include <fmt/format.h>

#include "graphs/text.hpp"

namespace refrain {
namespace {

struct KindWord {
  std::string_view word;
  NodeKind kind;
};

// As the dump prints them, with the spellings of the enums of runtime and driver beside them.
constexpr std::array kKindWords{
    KindWord{"KERNEL", NodeKind::kernel},
    KindWord{"MEMCPY", NodeKind::memcpy},
    KindWord{"MEMSET", NodeKind::memset},
    KindWord{"MEM_ALLOC", NodeKind::mem_alloc},
    KindWord{"MEM_FREE", NodeKind::mem_free},
    KindWord{"HOST", NodeKind::host},
    KindWord{"EVENT_RECORD", NodeKind::event_record},
    KindWord{"RECORD_EVENT", NodeKind::event_record},
    KindWord{"RECORD", NodeKind::event_record},
    KindWord{"EVENT_WAIT", NodeKind::event_wait},
    KindWord{"WAIT_EVENT", NodeKind::event_wait},
    KindWord{"WAIT", NodeKind::event_wait},
    KindWord{"GRAPH", NodeKind::child},
    KindWord{"CHILD_GRAPH", NodeKind::child},
    KindWord{"CONDITIONAL", NodeKind::conditional},
    KindWord{"EMPTY", NodeKind::empty},
    KindWord{"BATCH_MEM_OP", NodeKind::batch_mem_op},
    KindWord{"EXT_SEMAS_SIGNAL", NodeKind::semaphore_signal},
    KindWord{"EXT_SEMAPHORES_SIGNAL", NodeKind::semaphore_signal},
    KindWord{"EXT_SEMAS_WAIT", NodeKind::semaphore_wait},
    KindWord{"EXT_SEMAPHORES_WAIT", NodeKind::semaphore_wait},
};

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string child_name(const std::vector<std::string_view>& bodies) {
  return bodies.empty() ? "child" : fmt::format("child {}", bodies.front());
}

// `9` or `9 (topoId: 6)`
bool is_id_line(std::string_view line) {
  const std::size_t blank = line.find(' ');
  return all_digits(line.substr(0, blank)) && (blank == std::string_view::npos || line[blank + 1] == '(');
}

}  // namespace

bool is_graph_name(std::string_view text) noexcept {
  constexpr std::string_view kPrefix = "graph_";
  return text.starts_with(kPrefix) && all_digits(text.substr(kPrefix.size()));
}

void DotNodeReader::fail(const std::string& expected, std::string_view found) const {
  fail_dot(file_, line_, expected, fmt::format("`{}`", excerpt(found)), "correct this node or write the dump again");
}

std::uint64_t DotNodeReader::number(std::string_view text, std::string_view what, std::uint64_t below) const {
  const auto value = parse_unsigned(text);
  if (!value || *value >= below)
    fail(fmt::format("{} below 2^{} as a number", what, below == kDotSizeEnd ? 63 : 32), text);
  return *value;
}

const std::string& DotNodeReader::demangled(const std::string& mangled) {
  const auto [it, fresh] = names_.try_emplace(mangled, mangled);
  if (!fresh || !mangled.starts_with("_Z")) return it->second;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  if (status == 0 && text) it->second = text.get();
  return it->second;
}

// `64` or `{2,3}` or `{2,3,4}`, up to the comma behind it; takes what it read off the front.
Dim3 DotNodeReader::dims(std::string_view& text, std::string_view what) const {
  const bool braced = text.starts_with('{');
  const std::size_t end = text.find(braced ? '}' : ',');
  if (end == std::string_view::npos) fail(fmt::format("{} dims like 64 or {{2,3}}", what), text);
  std::string_view list = text.substr(braced ? 1 : 0, end - (braced ? 1 : 0));
  text.remove_prefix(std::min(text.size(), end + (braced ? 2 : 1)));
  Dim3 out;
  for (std::uint32_t* dim : {&out.x, &out.y, &out.z}) {
    const std::size_t comma = std::min(list.find(','), list.size());
    *dim = static_cast<std::uint32_t>(number(trim(list.substr(0, comma)), what, kDotWordEnd));
    if (comma == list.size()) return out;
    list.remove_prefix(comma + 1);
  }
  fail(fmt::format("at most three {} dims", what), list);
}

// `_Z6ksmallPf` or `_Z6ksmallPf<<<grid,block,shared bytes>>>`
void DotNodeReader::name_kernel(Node& node, const std::string& text) {
  std::string_view rest = text;
  const std::size_t launch = rest.rfind("<<<");
  node.mangled = trim(rest.substr(0, launch));
  node.name = demangled(node.mangled);
  if (launch == std::string_view::npos) return;
  rest = trim(rest.substr(launch + 3));
  if (!rest.ends_with(">>>")) fail("<<<grid,block,shared bytes>>> behind the kernel's name", rest);
  rest.remove_suffix(3);
  node.grid = dims(rest, "grid");
  node.block = dims(rest, "block");
  node.shared_bytes = number(trim(rest), "a shared memory size", kDotSizeEnd);
}

// `{Conditional Type| IF} | {True|graph_6}`: any field may name a body.
void DotNodeReader::read_conditional(DotNodeReading& out) {
  out.node.name = "conditional";
  if (const auto type = label_.value("Conditional Type"))
    out.node.name = fmt::format("conditional {}", unescape_label(*type));
  for (std::size_t i = 1; i < label_.row_count(); ++i)
    for (const std::string_view leaf : label_.row(i))
      if (is_graph_name(leaf)) out.bodies.push_back(leaf);
}

void DotNodeReader::set_kind(DotNodeReading& out, std::string_view word) {
  const auto it =
      std::find_if(kKindWords.begin(), kKindWords.end(), [word](const KindWord& known) { return known.word == word; });
  out.node.kind = it == kKindWords.end() ? NodeKind::other : it->kind;
  if (out.node.kind == NodeKind::other) out.node.name = unescape_label(word);
}

void DotNodeReader::read_record(DotNodeReading& out) {
  set_kind(out, label_.row_count() == 0 || label_.row(0).empty() ? std::string_view{} : label_.row(0).front());
  const auto id_row = label_.row_of("ID");
  out.has_handle = label_.value("node handle").has_value();
  switch (out.node.kind) {
    case NodeKind::kernel:
      if (id_row.size() < 3) fail("the kernel's name in the row {ID | 0 | name}", id_row.empty() ? "" : id_row.back());
      return name_kernel(out.node, unescape_label(id_row.back()));
    case NodeKind::memcpy: return read_memcpy(out);
    case NodeKind::memset: return read_memset(out);
    case NodeKind::mem_alloc:
    case NodeKind::mem_free: return read_allocation(out);
    case NodeKind::child:
    case NodeKind::conditional: read_conditional(out); break;
    default: return;
  }
  if (out.node.kind == NodeKind::child) out.node.name = child_name(out.bodies);
}

void DotNodeReader::read_lines(DotNodeReading& out) {
  std::size_t first = label_.row_count() > 0 && is_id_line(label_.row(0).front()) ? 1 : 0;
  const auto line = [&](std::size_t i) {
    return first + i < label_.row_count() ? label_.row(first + i).front() : std::string_view{};
  };
  const std::string_view word = line(0);
  for (std::size_t i = 1; !line(i).empty(); ++i) out.has_handle |= line(i).starts_with("node handle");
  if (is_graph_name(word)) {
    out.node.kind = NodeKind::child;
    out.bodies.push_back(word);
  } else {
    set_kind(out, word);
    for (std::size_t i = 1; !line(i).empty(); ++i)
      if (is_graph_name(line(i))) out.bodies.push_back(line(i));
  }
  switch (out.node.kind) {
    case NodeKind::kernel: return name_kernel(out.node, unescape_label(line(1)));
    case NodeKind::memcpy: return read_short_memcpy(out, line(1));
    case NodeKind::memset: return read_short_memset(out, line(1));
    case NodeKind::mem_alloc:
    case NodeKind::mem_free: out.address_missing = true; return;
    case NodeKind::child: out.node.name = child_name(out.bodies); return;
    case NodeKind::conditional: out.node.name = "conditional"; return;
    default: out.bodies.clear();
  }
}

DotNodeReading DotNodeReader::read(const DotNode& source) {
  line_ = source.line;
  if (!label_.parse(source.label)) fail("a record label with balanced braces", source.label);
  DotNodeReading out;
  if (label_.is_record()) {
    read_record(out);
  } else if (source.shape == "octagon") {  // a kernel: its name stands where other nodes print their kind
    const std::size_t first = label_.row_count() > 1 && is_id_line(label_.row(0).front()) ? 1 : 0;
    if (label_.row_count() == 0) fail("the kernel's name", source.label);
    name_kernel(out.node, unescape_label(label_.row(first).front()));
  } else {
    read_lines(out);
  }
  return out;
}

}  // namespace refrain
