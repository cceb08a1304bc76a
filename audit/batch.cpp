#include "audit/batch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <iterator>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "audit/audit.hpp"
#include "traces/readers.hpp"

namespace refrain {
namespace {

struct Judged {
  Report report;
  ContractCoverage coverage;
  std::optional<Subject> subject;
  std::exception_ptr error;
};

bool keeps(Keep keep, const Report& report) {
  return keep == Keep::all || (keep == Keep::with_findings && !report.findings().empty());
}

Judged judge(const BatchInput& input, const BatchOptions& options, const ReadProgress& progress) {
  Judged judged;
  std::vector<Recording> recordings;
  recordings.push_back(load_recording(input.file, progress));
  if (!input.name.empty()) recordings.back().name = input.name;
  if (options.coverage) judged.coverage = apply_contracts(recordings, options.contracts);
  Subject subject{std::move(recordings)};
  judged.report = audit(subject);
  if (keeps(options.keep, judged.report)) judged.subject = std::move(subject);
  return judged;
}

/// Inputs are taken in order, and none is begun behind one that failed: the first failure is the same whatever thread
/// was first.
class Queue {
 public:
  Queue(std::span<const BatchInput> inputs, const BatchOptions& options)
      : inputs_(inputs), options_(options), judged_(inputs.size()) {}

  void work() {
    for (std::size_t i = next_++; i < inputs_.size() && !failed_; i = next_++) {
      announce(i);
      try {
        judged_[i] = judge(inputs_[i], options_, progress_of(i));
      } catch (...) {
        judged_[i].error = std::current_exception();
        failed_ = true;
      }
    }
  }

  std::vector<Judged> take() { return std::move(judged_); }

 private:
  void announce(std::size_t input) {
    if (!options_.progress) return;
    const std::lock_guard lock(progress_);
    options_.progress(begun_++, inputs_.size(), inputs_[input].file);
  }

  ReadProgress progress_of(std::size_t input) {
    if (!options_.progress) return {};
    return by_percent([this, input](unsigned percent) {
      const std::lock_guard lock(progress_);
      options_.progress(begun_ - 1, inputs_.size(), fmt::format("{}, {} %", inputs_[input].file, percent));
    });
  }

  std::span<const BatchInput> inputs_;
  const BatchOptions& options_;
  std::vector<Judged> judged_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex progress_;
  std::size_t begun_ = 0;  // under progress_
};

void add(ContractCoverage& all, ContractCoverage&& one) {
  all.nodes.insert(all.nodes.end(), std::make_move_iterator(one.nodes.begin()),
                   std::make_move_iterator(one.nodes.end()));
  if (all.uses.empty()) {
    all.uses = std::move(one.uses);
    return;
  }
  for (std::size_t i = 0; i < one.uses.size(); ++i) {
    all.uses[i].fits += one.uses[i].fits;
    all.uses[i].given += one.uses[i].given;
  }
}

}  // namespace

Batch audit_files(std::span<const BatchInput> inputs, const BatchOptions& options) {
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t jobs = std::min(options.jobs == 0 ? cores : options.jobs, inputs.size());
  Queue queue(inputs, options);
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < jobs; ++i) others.emplace_back([&] { queue.work(); });
    queue.work();
  }
  Batch batch;
  for (Judged& judged : queue.take()) {
    if (judged.error) std::rethrow_exception(judged.error);
    batch.report.merge(std::move(judged.report));
    add(batch.coverage, std::move(judged.coverage));
    if (judged.subject) batch.subjects.push_back(std::move(*judged.subject));
  }
  return batch;
}

std::vector<BatchInput> inputs_of(std::span<const std::string> files) {
  std::vector<BatchInput> inputs;
  for (const std::string& file : files) inputs.push_back({file, {}});
  return inputs;
}

}  // namespace refrain
