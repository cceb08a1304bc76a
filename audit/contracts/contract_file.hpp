// Contracts for kernels that are not ours, as a file gives them
// (refrain.contracts/1, described in audit/contracts/README.md). Reading checks
// everything that can be checked without a graph; applying one to a graph is
// apply.hpp's. Each contract says what it rests on: a wrong one makes wrong verdicts.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "audit/contracts/expression.hpp"
#include "audit/contracts/pattern.hpp"
#include "graphs/graph.hpp"

namespace refrain {

enum class ScalarType : std::uint8_t { i8, u8, i16, u16, i32, u32, i64, u64 };
[[nodiscard]] std::size_t scalar_bytes(ScalarType type) noexcept;

/// A number that expressions may name: an integer of a parameter's bytes, or a template argument.
struct NamedValue {
  std::string name;
  std::optional<std::size_t> group;  ///< 0-based; absent: a parameter
  std::size_t param = 0;
  std::uint64_t at = 0;  ///< byte in the parameter
  ScalarType type = ScalarType::i32;
};

/// A dtype with a name: fixed, or what a template argument is called.
struct NamedType {
  std::string name;
  Dtype dtype = Dtype::unknown;
  std::optional<std::size_t> group;  ///< 0-based
};

/// One pointer argument and what is done through it.
struct ArgumentRule {
  std::string name;
  std::size_t param = 0;
  std::uint64_t at = 0;
  Mode mode = Mode::read;
  Reach reach = Reach::exact;
  Role role = Role::unknown;
  Dtype dtype = Dtype::unknown;
  std::optional<std::size_t> type;  ///< index into types: instead of `dtype`
  Expression offset;                ///< bytes from the address
  std::optional<Expression> bytes;  ///< of one row; absent: to the end of the buffer
  Expression rows, stride;          ///< how often, and bytes from one to the next
  bool optional = false;            ///< a null address means that it is not used
  std::optional<Origin> outside;    ///< where the bytes come from, unless a node of the graph writes them
};

struct FactRule {
  Fact fact = Fact::written;
  std::size_t argument = 0;  ///< index into arguments
};

struct KernelContract {
  std::string id;
  KernelPattern pattern;
  std::string basis;               ///< one line: what it rests on
  std::vector<std::string> names;  ///< that its expressions may use: grid and block, then values, then bytes of types
  std::vector<NamedValue> values;
  std::vector<NamedType> types;
  std::vector<ArgumentRule> arguments;
  std::vector<FactRule> needs, gives;
  std::optional<bool> waits, triggers, triggers_first;
};

struct ContractFile {
  std::string path;
  std::vector<std::pair<std::string, Dtype>> type_names;  ///< `c10::BFloat16` -> bf16
  std::vector<KernelContract> contracts;
};

/// Of text that says it is refrain.contracts/1. Throws Error{input}: file, place, what was expected.
[[nodiscard]] ContractFile read_contracts(std::string_view text, const std::string& file);
/// Throws Error{input} for a file that can't be read, too.
[[nodiscard]] ContractFile load_contracts(const std::string& path);

}  // namespace refrain
