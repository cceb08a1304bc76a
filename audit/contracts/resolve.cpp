#include "audit/contracts/resolve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "graphs/text.hpp"

namespace refrain {
namespace {

// More rows than any bucket has: a stride that was misread must not fill the memory.
constexpr std::int64_t kMostRows = 65'536;

/// `count` bytes of a parameter; null with `problem` set when the graph does not hold them.
const std::uint8_t* bytes_of(const Node& node, std::size_t param, std::uint64_t at, std::size_t count,
                             std::string& problem) {
  if (param >= node.params.size()) {
    problem = fmt::format("it has {} parameters in the graph, and no number {}", node.params.size(), param);
    return nullptr;
  }
  const Param& from = node.params[param];
  if (from.bytes.empty()) {
    problem = fmt::format("the bytes of parameter {} are not in the graph", param);
    return nullptr;
  }
  if (at > from.bytes.size() || count > from.bytes.size() - at) {
    problem = fmt::format("parameter {} has {} bytes, and none at [{}, {})", param, from.bytes.size(), at, at + count);
    return nullptr;
  }
  return from.bytes.data() + at;
}

template <class T>
T load(const std::uint8_t* from) {
  T value{};
  std::memcpy(&value, from, sizeof value);
  return value;
}

Quantity number_at(const std::uint8_t* from, ScalarType type) {
  switch (type) {
    case ScalarType::i8: return {load<std::int8_t>(from), {}};
    case ScalarType::u8: return {load<std::uint8_t>(from), {}};
    case ScalarType::i16: return {load<std::int16_t>(from), {}};
    case ScalarType::u16: return {load<std::uint16_t>(from), {}};
    case ScalarType::i32: return {load<std::int32_t>(from), {}};
    case ScalarType::u32: return {load<std::uint32_t>(from), {}};
    case ScalarType::i64: return {load<std::int64_t>(from), {}};
    case ScalarType::u64: break;
  }
  const auto value = load<std::uint64_t>(from);
  if (value >= std::uint64_t{1} << 63) return {std::nullopt, fmt::format("{} is past 63 bits", value)};
  return {static_cast<std::int64_t>(value), {}};
}

class Resolver {
 public:
  Resolver(const KernelContract& contract, const ContractFile& file, const std::vector<std::string>& groups,
           const Graph& graph, const LiveBuffers& live, const Node& node)
      : contract_(contract), file_(file), groups_(groups), graph_(graph), live_(live), node_(node) {}

  Resolved run() {
    for (const std::uint32_t dim :
         {node_.grid.x, node_.grid.y, node_.grid.z, node_.block.x, node_.block.y, node_.block.z})
      values_.push_back({std::int64_t{dim}, {}});
    for (const NamedValue& value : contract_.values) values_.push_back(value_of(value));
    for (const NamedType& type : contract_.types) add_type(type);
    first_.reserve(contract_.arguments.size() + 1);
    for (const ArgumentRule& rule : contract_.arguments) {
      first_.push_back(out_.accesses.size());
      if (!add(rule)) return {{}, {}, {}, {}, std::move(problem_)};
    }
    first_.push_back(out_.accesses.size());
    add_claims(contract_.needs, out_.needs);
    add_claims(contract_.gives, out_.gives);
    return std::move(out_);
  }

 private:
  Quantity value_of(const NamedValue& value) {
    Quantity out;
    if (value.group) {
      const std::string& digits = groups_[*value.group];
      const auto number = parse_unsigned(digits);
      if (number && *number < std::uint64_t{1} << 62) return {static_cast<std::int64_t>(*number), {}};
      out.problem = fmt::format("{} is no whole number: {}", value.name, excerpt(digits));
      return out;
    }
    const std::uint8_t* from = bytes_of(node_, value.param, value.at, scalar_bytes(value.type), out.problem);
    if (from != nullptr) out = number_at(from, value.type);
    if (!out.problem.empty()) out.problem = fmt::format("{}: {}", value.name, out.problem);
    return out;
  }

  void add_type(const NamedType& type) {
    Dtype dtype = type.dtype;
    std::string problem;
    if (type.group) {
      const std::string& called = groups_[*type.group];
      const auto known = std::find_if(file_.type_names.begin(), file_.type_names.end(),
                                      [&](const auto& entry) { return entry.first == called; });
      if (known != file_.type_names.end())
        dtype = known->second;
      else
        problem = fmt::format("{}: the file's type_names have no {}", type.name, excerpt(called));
    }
    dtypes_.push_back(dtype);
    type_problems_.push_back(problem);
    const std::uint64_t bytes = dtype_bytes(dtype);
    if (problem.empty() && bytes == 0) problem = fmt::format("{} has no size", type.name);
    values_.push_back(problem.empty() ? Quantity{static_cast<std::int64_t>(bytes), {}}
                                      : Quantity{std::nullopt, problem});
  }

  bool fail(const ArgumentRule& rule, std::string_view problem) {
    problem_ = fmt::format("{}: {}", rule.name, problem);
    return false;
  }

  /// A number from 0 on.
  bool evaluate(const ArgumentRule& rule, const char* what, const Expression& expression, std::int64_t& out) {
    const Quantity quantity = expression.evaluate(values_);
    if (!quantity.value) return fail(rule, fmt::format("its {} is not known: {}", what, quantity.problem));
    if (*quantity.value < 0 || *quantity.value >= std::int64_t{1} << 56)
      return fail(rule, fmt::format("its {} comes out as {}", what, *quantity.value));
    out = *quantity.value;
    return true;
  }

  bool add(const ArgumentRule& rule) {
    std::string problem;
    const std::uint8_t* from = bytes_of(node_, rule.param, rule.at, sizeof(Address), problem);
    if (from == nullptr) return fail(rule, problem);
    const auto address = load<Address>(from);
    if (address == 0) return rule.optional || fail(rule, "its address is null");
    if (rule.type && !type_problems_[*rule.type].empty()) return fail(rule, type_problems_[*rule.type]);
    return place(rule, address);
  }

  bool place(const ArgumentRule& rule, Address address) {
    std::int64_t offset = 0, rows = 0, stride = 0, bytes = 0;
    if (!evaluate(rule, "offset", rule.offset, offset) || !evaluate(rule, "count of rows", rule.rows, rows) ||
        !evaluate(rule, "stride", rule.stride, stride))
      return false;
    const auto buffer = live_.at(address);
    if (!buffer) return fail(rule, fmt::format("no buffer of the graph holds its address 0x{:x}", address));
    const Buffer& held = graph_.buffers[*buffer];
    const std::uint64_t begin = address - held.base + static_cast<std::uint64_t>(offset);
    if (!rule.bytes) {
      add_range(rule, *buffer, {begin, std::max(begin, held.bytes)});
      return true;
    }
    if (!evaluate(rule, "extent", *rule.bytes, bytes)) return false;
    if (rows == 0 || bytes == 0) return true;
    return add_rows(rule, *buffer, begin, rows, stride, bytes);
  }

  /// Rows that touch or overlap are one range.
  bool add_rows(const ArgumentRule& rule, BufferId buffer, std::uint64_t begin, std::int64_t rows, std::int64_t stride,
                std::int64_t bytes) {
    if (rows > 1 && stride > (std::int64_t{1} << 56) / rows) return fail(rule, "its rows reach past 56 bits");
    const auto step = static_cast<std::uint64_t>(stride), size = static_cast<std::uint64_t>(bytes);
    if (rows == 1 || step <= size) {
      add_range(rule, buffer, {begin, begin + step * static_cast<std::uint64_t>(rows - 1) + size});
      return true;
    }
    if (rows > kMostRows)
      return fail(rule, fmt::format("{} rows apart from each other, more than {}", rows, kMostRows));
    for (std::int64_t row = 0; row < rows; ++row, begin += step) add_range(rule, buffer, {begin, begin + size});
    return true;
  }

  void add_range(const ArgumentRule& rule, BufferId id, ByteRange range) {
    if (range.empty()) return;
    const Buffer& buffer = graph_.buffers[id];
    NodeAccess access;
    access.buffer = id;
    access.range = range;
    access.mode = rule.mode;
    access.reach = rule.reach;
    access.role = rule.role != Role::unknown ? rule.role : buffer.role;
    const Dtype said = rule.type ? dtypes_[*rule.type] : rule.dtype;
    access.dtype = said != Dtype::unknown ? said : buffer.dtype;
    access.certainty = Certainty::contract;
    if (rule.outside)
      out_.outside.push_back({out_.accesses.size(), *rule.outside, !rule.bytes && rule.mode == Mode::read});
    out_.accesses.push_back(access);
  }

  void add_claims(const std::vector<FactRule>& rules, std::vector<NodeClaim>& to) {
    for (const FactRule& rule : rules)
      for (std::size_t i = first_[rule.argument]; i < first_[rule.argument + 1]; ++i)
        to.push_back({rule.fact, out_.accesses[i].buffer, out_.accesses[i].range});
  }

  const KernelContract& contract_;
  const ContractFile& file_;
  const std::vector<std::string>& groups_;
  const Graph& graph_;
  const LiveBuffers& live_;
  const Node& node_;
  std::vector<Quantity> values_;  // in the order of contract_.names
  std::vector<Dtype> dtypes_;
  std::vector<std::string> type_problems_;
  std::vector<std::size_t> first_;  // access of each argument, and the end
  Resolved out_;
  std::string problem_;
};

}  // namespace

Resolved resolve_contract(const KernelContract& contract, const ContractFile& file,
                          const std::vector<std::string>& groups, const Graph& graph, const LiveBuffers& live,
                          const Node& node) {
  return Resolver(contract, file, groups, graph, live, node).run();
}

}  // namespace refrain
