#include "cli/serve_run.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "cli/command.hpp"

namespace refrain {
namespace {

using Clock = std::chrono::steady_clock;

/// The script while it is played.
class Play {
 public:
  Play(Engine& engine, const std::vector<ScriptedRequest>& script, double speed, ServeResult& result)
      : engine_(engine), script_(script), speed_(speed), result_(result) {}

  void run() {
    while (true) {
      submit_due();
      const bool worked = engine_.step();
      cancel_due();
      collect();
      if (worked) continue;
      if (next_ == script_.size()) return;
      std::this_thread::sleep_until(begin_ + std::chrono::duration_cast<Clock::duration>(due(script_[next_])));
    }
  }

 private:
  [[nodiscard]] std::chrono::duration<double, std::milli> due(const ScriptedRequest& scripted) const {
    return std::chrono::duration<double, std::milli>(speed_ > 0 ? scripted.at_ms / speed_ : 0.0);
  }

  void submit_due() {
    for (; next_ < script_.size() && Clock::now() - begin_ >= due(script_[next_]); ++next_) {
      const ScriptedRequest& scripted = script_[next_];
      try {
        open_[engine_.submit(scripted.request)] = &scripted;
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::refused) throw;
        result_.requests.push_back({scripted.line, error.came_back(), {}});
      }
    }
  }
  void cancel_due() {
    for (const auto& [id, scripted] : open_)
      if (scripted->cancel_after_tokens && engine_.answer(id).size() >= *scripted->cancel_after_tokens)
        (void)engine_.cancel(id);  // one that has ended is not there any more
  }
  void collect() {
    for (Completion& done : engine_.take_completions()) {
      const auto found = open_.find(done.id);
      result_.requests.push_back({found->second->line, "", std::move(done)});
      open_.erase(found);
    }
  }

  Engine& engine_;
  const std::vector<ScriptedRequest>& script_;
  double speed_;
  ServeResult& result_;
  Clock::time_point begin_ = Clock::now();
  std::size_t next_ = 0;
  std::map<std::uint64_t, const ScriptedRequest*> open_;
};

}  // namespace

int ServeResult::exit_code() const {
  return stats.fallbacks.count > 0 || stats.eager_mismatches > 0 || stats.finished.reasons.count("failed") > 0
             ? kExitFindings
             : kExitClean;
}

void serve_script(Engine& engine, const std::vector<ScriptedRequest>& script, double speed, ServeResult& result) {
  const Clock::time_point begin = Clock::now();
  Play(engine, script, speed, result).run();
  result.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  std::sort(result.requests.begin(), result.requests.end(),
            [](const ScriptOutcome& a, const ScriptOutcome& b) { return a.line < b.line; });
  result.stats = engine.stats();
}

}  // namespace refrain
