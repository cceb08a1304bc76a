// Many inputs by one command: each is read, given contracts, and audited by
// itself, on as many threads as asked for. The result is that of one after the
// other, in the order of the inputs, whatever thread was first. What is no longer
// needed of an input is let go as soon as it is judged, so memory follows the
// threads and not the inputs.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "audit/contracts/apply.hpp"
#include "audit/report.hpp"
#include "audit/subject.hpp"

namespace refrain {

/// Which inputs stay in memory once they are judged.
enum class Keep : std::uint8_t { none, with_findings, all };

struct BatchInput {
  std::string file;
  std::string name;  ///< what reports call it; empty = the file
};

struct BatchOptions {
  std::size_t jobs = 0;   ///< threads; 0 = one a core
  bool coverage = false;  ///< apply contracts and say for every node where its contract comes from
  std::span<const ContractFile> contracts;
  Keep keep = Keep::none;
  /// Called before each input, and again at each percent of one that takes long to read, which then stands behind its
  /// name; by one thread at a time. May be empty.
  std::function<void(std::size_t done, std::size_t total, const std::string& name)> progress;
};

struct Batch {
  Report report;
  std::vector<Subject> subjects;  ///< those that were kept, in order
  ContractCoverage coverage;
};

/// Throws Error{input} for the first input, in their order, that cannot be read.
[[nodiscard]] Batch audit_files(std::span<const BatchInput> inputs, const BatchOptions& options);

/// Each under its own name.
[[nodiscard]] std::vector<BatchInput> inputs_of(std::span<const std::string> files);

}  // namespace refrain
