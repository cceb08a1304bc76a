// Mutation testing of the audit: every mutant of a clean graph is either equivalent
// (harms.hpp finds nothing wrong with it) or must be killed, by a rule that its harm
// names, and with one finding for the one thing that was done to it. What comes out
// otherwise is a bug of the audit, or of what judges it here.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graphs/graph.hpp"

namespace refrain::mutate {

/// `multiplied`: killed by the right rules, with more findings than causes. `false_alarm`: a finding on an equivalent.
enum class Verdict : std::uint8_t { killed, equivalent, survived, wrong_rule, multiplied, false_alarm };
inline constexpr std::size_t kVerdicts = 6;
[[nodiscard]] const char* to_string(Verdict) noexcept;

/// A mutant that was not dealt with as it should be.
struct Escape {
  Verdict verdict = Verdict::survived;
  std::string what;                ///< what was done to the graph
  std::string why;                 ///< the harm, where there is one
  std::vector<std::string> found;  ///< rule and message of each finding
};

using Counts = std::array<std::size_t, kVerdicts>;

struct OperatorTally {
  std::string name;
  Counts counts{};
};

struct Tally {
  std::vector<OperatorTally> operators;
  std::map<std::string, std::size_t> kills;  ///< by rule
  std::vector<Escape> escapes;
  std::vector<std::string> equivalents;  ///< what was done

  [[nodiscard]] std::size_t count(Verdict verdict) const;
  [[nodiscard]] std::size_t mutants() const;
  void merge(Tally other);
};

/// Of each operator at most so many mutants of one graph, drawn by the seed.
inline constexpr std::size_t kMutantsPerOperator = 256;

/// Throws Error{input} for a graph that is not clean, or holds nodes without a contract: nothing could be said of its
/// mutants. `input`: the file, for the message.
[[nodiscard]] Tally mutate(const Graph& clean, std::uint64_t seed, const std::string& input);

}  // namespace refrain::mutate
