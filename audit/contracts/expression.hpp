// The arithmetic of a contract file: how many bytes an argument reaches, from
// other parameters and the launch dims. Whole numbers, + - * / %, parentheses,
// min, max and ceil_div; `/` rounds down. It guesses nothing: a name without a
// value, a division by zero or a number past 63 bits gives the reason instead.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace refrain {

/// A number, or why there is none.
struct Quantity {
  std::optional<std::int64_t> value;
  std::string problem;
};

/// What is wrong with an expression's text: `expected a number, a name or '(' at column 5`.
struct ExpressionError {
  std::string sentence;
};

class Expression {
 public:
  /// `names` are what it may use; a name may look like `grid.x` or `bytes(T)`. Throws ExpressionError.
  [[nodiscard]] static Expression parse(std::string_view text, std::span<const std::string> names);
  /// One that is always `value`.
  [[nodiscard]] static Expression constant(std::int64_t value);

  /// `values` stand in the order of the names.
  [[nodiscard]] Quantity evaluate(std::span<const Quantity> values) const;

 private:
  friend class ExpressionParser;
  enum class Op : std::uint8_t { number, name, add, subtract, multiply, divide, remainder, ceil_div, min, max };
  /// In reverse Polish order: operands first.
  struct Step {
    Op op = Op::number;
    std::int64_t operand = 0;  // the number, or the name's index
  };
  [[nodiscard]] static Quantity apply(Op op, std::int64_t left, std::int64_t right);

  std::vector<Step> steps_;
};

}  // namespace refrain
