#include "audit/contracts/contract_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace refrain {
namespace {

constexpr std::uint64_t kParamLimit = 4096;                     // parameters of a kernel
constexpr std::uint64_t kOffsetLimit = std::uint64_t{1} << 16;  // bytes of a parameter block

constexpr std::array<std::pair<const char*, ScalarType>, 8> kScalars{{{"i8", ScalarType::i8},
                                                                      {"u8", ScalarType::u8},
                                                                      {"i16", ScalarType::i16},
                                                                      {"u16", ScalarType::u16},
                                                                      {"i32", ScalarType::i32},
                                                                      {"u32", ScalarType::u32},
                                                                      {"i64", ScalarType::i64},
                                                                      {"u64", ScalarType::u64}}};

ScalarType read_scalar(const JsonView& view) {
  for (const auto& [word, type] : kScalars)
    if (view.text() == word) return type;
  view.fail("one of i8, u8, i16, u16, i32, u32, i64, u64", "use one of these words");
}

std::string non_empty(const JsonView& view) {
  if (view.text().empty()) view.fail("text", "write some");
  return view.text();
}

KernelPattern read_pattern(const JsonView& view) {
  view.check_object("a kernel's pattern", {"glob", "regex", "name"});
  bool mangled = false;
  if (const auto name = view.find("name")) {
    if (name->text() != "demangled" && name->text() != "mangled")
      name->fail("demangled or mangled", "say which of the kernel's names the pattern is about");
    mangled = name->text() == "mangled";
  }
  const auto glob = view.find("glob"), regex = view.find("regex");
  if (glob.has_value() == regex.has_value()) view.fail("either a glob or a regex", "give one of the two");
  if (glob) return KernelPattern::glob(non_empty(*glob), mangled);
  try {
    return KernelPattern::regex(non_empty(*regex), mangled);
  } catch (const std::string& reason) {
    regex->fail(fmt::format("a POSIX extended regular expression ({})", reason), "mend it");
  }
}

/// `source, vLLM csrc/x.cu at 0112cf2: a note`
std::string read_basis(const JsonView& view) {
  view.check_object("a basis", {"rests_on", "project", "file", "version", "note"});
  const JsonView kind = view.need("rests_on");
  if (kind.text() != "documentation" && kind.text() != "header" && kind.text() != "source")
    kind.fail("one of documentation, header, source", "say what the contract was read from");
  std::string text = fmt::format("{}: {}", kind.text(), non_empty(view.need("project")));
  if (const auto file = view.find("file")) text += fmt::format(" {}", non_empty(*file));
  text += fmt::format(" at {}", non_empty(view.need("version")));
  if (const auto note = view.find("note")) text += fmt::format("; {}", non_empty(*note));
  return text;
}

std::size_t read_group(const JsonView& view, const KernelPattern& pattern) {
  const std::uint64_t group = view.integer("a group of the pattern", kParamLimit);
  if (group == 0 || group > pattern.groups())
    view.fail(fmt::format("one of the pattern's {} groups, from 1", pattern.groups()),
              "put parentheses around what it means");
  return static_cast<std::size_t>(group - 1);
}

void check_name(const JsonView& view, const std::string& name, const std::vector<std::string>& taken) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const bool good = !name.empty() && letter(name.front()) &&
                    std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
  const bool reserved = name == "min" || name == "max" || name == "ceil_div" || name == "bytes";
  if (!good || reserved || std::find(taken.begin(), taken.end(), name) != taken.end())
    view.fail("a name of letters, digits and _ that nothing else has", "rename it");
}

void read_values(const JsonView& view, KernelContract& out) {
  const auto values = view.find("values");
  if (!values) return;
  values->each_member([&](const std::string& name, const JsonView& from) {
    check_name(from, name, out.names);
    from.check_object("a value", {"param", "at", "type", "group"});
    NamedValue value;
    value.name = name;
    if (const auto group = from.find("group")) {
      if (from.find("param") || from.find("at") || from.find("type"))
        from.fail("either a group or a parameter with its type", "give one of the two");
      value.group = read_group(*group, out.pattern);
    } else {
      value.param = static_cast<std::size_t>(from.need("param").integer("a parameter's index", kParamLimit));
      if (const auto at = from.find("at")) value.at = at->integer("a byte of the parameter", kOffsetLimit);
      value.type = read_scalar(from.need("type"));
    }
    out.values.push_back(value);
    out.names.push_back(name);
  });
}

void read_types(const JsonView& view, KernelContract& out) {
  const auto types = view.find("types");
  if (!types) return;
  types->each_member([&](const std::string& name, const JsonView& from) {
    check_name(from, name, out.names);
    from.check_object("a type", {"dtype", "group"});
    NamedType type;
    type.name = name;
    const auto dtype = from.find("dtype"), group = from.find("group");
    if (dtype.has_value() == group.has_value()) from.fail("either a dtype or a group", "give one of the two");
    if (dtype) type.dtype = dtype->word<Dtype>();
    if (group) type.group = read_group(*group, out.pattern);
    out.types.push_back(type);
  });
  for (const NamedType& type : out.types) out.names.push_back(fmt::format("bytes({})", type.name));
}

Expression read_expression(const JsonView& view, const KernelContract& contract) {
  try {
    return Expression::parse(view.text(), contract.names);
  } catch (const ExpressionError& error) {
    view.fail(fmt::format("an expression ({})", error.sentence), "mend it");
  }
}

void read_dtype(const JsonView& view, const KernelContract& contract, ArgumentRule& out) {
  for (std::size_t i = 0; i < contract.types.size(); ++i)
    if (contract.types[i].name == view.text()) {
      out.type = i;
      return;
    }
  out.dtype = view.word<Dtype>();
}

ArgumentRule read_argument(const JsonView& view, const KernelContract& contract) {
  view.check_object("an access", {"name", "param", "at", "mode", "reach", "role", "dtype", "offset", "bytes", "rows",
                                  "stride", "optional", "outside"});
  ArgumentRule out;
  out.name = non_empty(view.need("name"));
  out.param = static_cast<std::size_t>(view.need("param").integer("a parameter's index", kParamLimit));
  if (const auto at = view.find("at")) out.at = at->integer("a byte of the parameter", kOffsetLimit);
  out.mode = view.need("mode").word<Mode>();
  if (const auto reach = view.find("reach")) out.reach = reach->word<Reach>();
  out.role = view.need("role").word<Role>();
  if (const auto dtype = view.find("dtype")) read_dtype(*dtype, contract, out);
  const auto offset = view.find("offset"), rows = view.find("rows"), stride = view.find("stride");
  if (rows.has_value() != stride.has_value())
    view.fail("rows and stride together", "give both, or neither for bytes in one piece");
  out.offset = offset ? read_expression(*offset, contract) : Expression::constant(0);
  out.rows = rows ? read_expression(*rows, contract) : Expression::constant(1);
  out.stride = stride ? read_expression(*stride, contract) : Expression::constant(0);
  const JsonView bytes = view.need("bytes");
  if (bytes.text() != "rest")
    out.bytes = read_expression(bytes, contract);
  else if (rows || out.reach == Reach::exact)
    bytes.fail("an extent (`rest` of a buffer is for accesses in one piece that reach `may`)", "say how many bytes");
  if (const auto optional = view.find("optional")) out.optional = optional->boolean();
  if (const auto outside = view.find("outside")) out.outside = outside->word<Origin>();
  return out;
}

std::vector<FactRule> read_facts(const JsonView& view, const char* key, const KernelContract& contract) {
  std::vector<FactRule> out;
  const auto facts = view.find(key);
  if (!facts) return out;
  for (std::size_t i = 0; i < facts->array_size(); ++i) {
    const JsonView from = facts->at(i);
    from.check_object("a fact", {"fact", "access"});
    const JsonView name = from.need("access");
    const auto named = std::find_if(contract.arguments.begin(), contract.arguments.end(),
                                    [&](const ArgumentRule& rule) { return rule.name == name.text(); });
    if (named == contract.arguments.end())
      name.fail("the name of one of the contract's accesses", "correct its spelling");
    out.push_back({from.need("fact").word<Fact>(), static_cast<std::size_t>(named - contract.arguments.begin())});
  }
  return out;
}

}  // namespace

KernelContract read_kernel_contract(const JsonView& view) {
  view.check_object("a contract", {"id", "kernel", "basis", "values", "types", "accesses", "needs", "gives", "waits",
                                   "triggers", "triggers_first"});
  KernelContract out{.id = non_empty(view.need("id")),
                     .pattern = read_pattern(view.need("kernel")),
                     .basis = read_basis(view.need("basis")),
                     .names = {"grid.x", "grid.y", "grid.z", "block.x", "block.y", "block.z"},
                     .values = {},
                     .types = {},
                     .arguments = {},
                     .needs = {},
                     .gives = {},
                     .waits = {},
                     .triggers = {},
                     .triggers_first = {}};
  read_values(view, out);
  read_types(view, out);
  const JsonView accesses = view.need("accesses");
  for (std::size_t i = 0; i < accesses.array_size(); ++i) {
    ArgumentRule rule = read_argument(accesses.at(i), out);
    for (const ArgumentRule& other : out.arguments)
      if (other.name == rule.name)
        accesses.at(i).need("name").fail("a name that no other access of the contract has", "rename one of them");
    out.arguments.push_back(std::move(rule));
  }
  out.needs = read_facts(view, "needs", out);
  out.gives = read_facts(view, "gives", out);
  if (const auto waits = view.find("waits")) out.waits = waits->boolean();
  if (const auto triggers = view.find("triggers")) out.triggers = triggers->boolean();
  if (const auto first = view.find("triggers_first")) out.triggers_first = first->boolean();
  return out;
}

}  // namespace refrain
