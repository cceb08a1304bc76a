#include "audit/contracts/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace refrain {
namespace {

constexpr int kDeepest = 32;  // parentheses and functions inside each other

bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool continues_name(char c) {
  return starts_name(c) || is_digit(c) || c == '.';
}

}  // namespace

/// Recursive descent: sum, product, operand.
class ExpressionParser {
 public:
  using Op = Expression::Op;

  ExpressionParser(std::string_view text, std::span<const std::string> names) : text_(text), names_(names) {}

  std::vector<Expression::Step> run() {
    sum();
    if (!at_end()) fail("an operator or the end");
    return std::move(steps_);
  }

 private:
  [[noreturn]] void fail(std::string_view expected) const {
    throw ExpressionError{fmt::format("expected {} at column {}", expected, at_ + 1)};
  }
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool at_end() {
    skip_spaces();
    return at_ == text_.size();
  }
  bool take(char c) {
    if (at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void need(char c) {
    if (!take(c)) fail(fmt::format("'{}'", c));
  }

  void sum() {
    if (++depth_ > kDeepest) fail(fmt::format("at most {} levels of parentheses", kDeepest));
    product();
    for (;;) {
      const Op op = take('+') ? Op::add : take('-') ? Op::subtract : Op::number;
      if (op == Op::number) break;
      product();
      steps_.push_back({op, 0});
    }
    --depth_;
  }

  void product() {
    operand();
    for (;;) {
      const Op op = take('*') ? Op::multiply : take('/') ? Op::divide : take('%') ? Op::remainder : Op::number;
      if (op == Op::number) return;
      operand();
      steps_.push_back({op, 0});
    }
  }

  void operand() {
    if (take('(')) {
      sum();
      return need(')');
    }
    if (at_end()) fail("a number, a name or '('");
    if (is_digit(text_[at_])) return number();
    if (starts_name(text_[at_])) return name();
    fail("a number, a name or '('");
  }

  void number() {
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (code != std::errc()) fail("a number below 2^63");
    at_ = static_cast<std::size_t>(end - text_.data());
    steps_.push_back({Op::number, value});
  }

  void name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && continues_name(text_[at_])) ++at_;
    std::string word(text_.substr(begin, at_ - begin));
    if (word == "min") return function(Op::min, true);
    if (word == "max") return function(Op::max, true);
    if (word == "ceil_div") return function(Op::ceil_div, false);
    if (word == "bytes") {
      const std::size_t close = text_.find(')', at_);
      if (close == std::string_view::npos) fail("'(' and the name of a type, then ')'");
      word += text_.substr(at_, close + 1 - at_);
      at_ = close + 1;
    }
    const auto known = std::find(names_.begin(), names_.end(), word);
    if (known == names_.end()) {
      at_ = begin;
      fail(fmt::format("one of {}; found {}", fmt::join(names_, ", "), word));
    }
    steps_.push_back({Op::name, known - names_.begin()});
  }

  /// Two arguments, or for min and max any number of them from two.
  void function(Op op, bool more) {
    need('(');
    sum();
    need(',');
    do {
      sum();
      steps_.push_back({op, 0});
    } while (more && take(','));
    need(')');
  }

  std::string_view text_;
  std::span<const std::string> names_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::vector<Expression::Step> steps_;
};

Expression Expression::parse(std::string_view text, std::span<const std::string> names) {
  Expression expression;
  expression.steps_ = ExpressionParser(text, names).run();
  return expression;
}

Expression Expression::constant(std::int64_t value) {
  Expression expression;
  expression.steps_ = {{Op::number, value}};
  return expression;
}

Quantity Expression::apply(Op op, std::int64_t left, std::int64_t right) {
  const bool divides = op == Op::divide || op == Op::remainder || op == Op::ceil_div;
  if (divides && right == 0) return {std::nullopt, "it divides by zero"};
  if (divides && (left < 0 || right < 0)) return {std::nullopt, "it divides negative numbers"};
  std::int64_t out = 0;
  bool past = false;
  switch (op) {
    case Op::add: past = __builtin_add_overflow(left, right, &out); break;
    case Op::subtract: past = __builtin_sub_overflow(left, right, &out); break;
    case Op::multiply: past = __builtin_mul_overflow(left, right, &out); break;
    case Op::divide: out = left / right; break;
    case Op::remainder: out = left % right; break;
    case Op::ceil_div: out = left / right + (left % right != 0 ? 1 : 0); break;
    case Op::min: out = std::min(left, right); break;
    case Op::max: out = std::max(left, right); break;
    case Op::number:
    case Op::name: break;
  }
  if (past) return {std::nullopt, "it is past 63 bits"};
  return {out, {}};
}

Quantity Expression::evaluate(std::span<const Quantity> values) const {
  std::vector<std::int64_t> stack;
  for (const Step& step : steps_) {
    if (step.op == Op::number) {
      stack.push_back(step.operand);
      continue;
    }
    if (step.op == Op::name) {
      const Quantity& named = values[static_cast<std::size_t>(step.operand)];
      if (!named.value) return named;
      stack.push_back(*named.value);
      continue;
    }
    const std::int64_t right = stack.back();
    stack.pop_back();
    const Quantity result = apply(step.op, stack.back(), right);
    if (!result.value) return result;
    stack.back() = *result.value;
  }
  return {stack.back(), {}};
}

}  // namespace refrain
