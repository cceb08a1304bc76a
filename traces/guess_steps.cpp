#include "traces/guess_steps.hpp"

#include <algorithm>
#include <span>
#include <unordered_map>

#include "traces/call_kinds.hpp"
#include "traces/repeats.hpp"
#include "traces/thread_moments.hpp"

namespace refrain {
namespace {

/// A token that nothing is equal to.
constexpr std::uint64_t unique_token(std::size_t i) {
  return ~std::uint64_t{0} - i;
}

/// Moments [begin, end) of a step; the next one begins at `end` if it is `closed`.
struct Span {
  std::size_t begin = 0, end = 0;
  bool closed = false;
};

class ThreadGuess {
 public:
  ThreadGuess(const Timeline& timeline, const ThreadMoments& thread) : timeline_(timeline), thread_(thread) {}

  [[nodiscard]] const ApiEvent& call(std::size_t moment) const { return timeline_.calls[thread_.moments[moment].call]; }
  [[nodiscard]] const std::vector<Moment>& moments() const { return thread_.moments; }

  [[nodiscard]] std::uint64_t token(std::size_t moment) const {
    if (moments()[moment].kind == Moment::Kind::barrier) return unique_token(moment);
    return std::uint64_t{static_cast<std::uint8_t>(call(moment).api)} << 32 | call(moment).detail;
  }

  void add(const Span& span, std::vector<GuessedStep>& out) const {
    GuessedStep step;
    step.thread = thread_.thread;
    step.first = moments()[span.begin].call;
    step.last = moments()[span.end - 1].call;
    step.end_ns = call(span.end - 1).end_ns;
    if (span.closed) {
      // What the thread did besides until the next step began is part of this one.
      for (std::size_t i = moments()[span.end].call; i-- > step.last;)
        if (timeline_.calls[i].thread == thread_.thread) {
          step.last = i;
          break;
        }
      step.end_ns = call(span.end).start_ns;
    }
    out.push_back(step);
  }

 private:
  const Timeline& timeline_;
  const ThreadMoments& thread_;
};

/// Where a round of a repeating stretch begins: behind a wait rather than not, else behind the longest pause.
/// `at(i)`: the moment of the stretch's i-th token.
template <class At>
std::size_t best_phase(const ThreadGuess& guess, const Repeat& repeat, At at) {
  struct Phase {
    std::size_t waits = 0;
    std::uint64_t pause_ns = 0;
  };
  std::vector<Phase> phases(repeat.period);
  std::size_t waits = 0;
  std::uint64_t end_ns = 0;
  bool began = false;
  for (std::size_t m = at(repeat.start), i = 0; i < repeat.length; ++m) {
    const Moment& moment = guess.moments()[m];
    if (moment.kind == Moment::Kind::wait) waits = 1;
    const bool is_token = m == at(repeat.start + i);
    if (is_token && moment.submits() && began) {
      Phase& phase = phases[i % repeat.period];
      phase.waits += waits;
      phase.pause_ns += guess.call(m).start_ns - std::min(end_ns, guess.call(m).start_ns);
    }
    if (moment.submits()) {
      waits = 0;
      end_ns = guess.call(m).end_ns;
      began = true;
    }
    if (is_token) ++i;
  }
  const auto best = std::max_element(phases.begin(), phases.end(), [](const Phase& a, const Phase& b) {
    return a.waits != b.waits ? a.waits < b.waits : a.pause_ns < b.pause_ns;
  });
  return static_cast<std::size_t>(best - phases.begin());
}

// ---- by replays

class Replays {
 public:
  Replays(const ThreadGuess& guess, const std::unordered_map<std::uint64_t, std::uint64_t>& nodes) : guess_(guess) {
    const auto& moments = guess.moments();
    bool waited = false, barred = false;
    for (std::size_t m = 0; m < moments.size(); ++m) {
      waited = waited || moments[m].kind == Moment::Kind::wait;
      if (moments[m].kind == Moment::Kind::barrier) barred = true, waited = false;
      if (moments[m].kind != Moment::Kind::replay) continue;
      const ApiEvent& call = guess.call(m);
      const auto ran = nodes.find(call.sequence);
      // An exec that the profiler did not name is told by how much work its replay was.
      const std::uint64_t exec =
          call.object != 0 ? call.object : std::uint64_t{1} << 62 | (ran == nodes.end() ? 0 : ran->second);
      launches_.push_back({m, exec, waited, barred});
      waited = barred = false;
    }
  }

  std::vector<Span> steps() const {
    std::vector<Span> steps = each_waited_for() ? by_launch() : by_group();
    if (steps.size() < kFewestRepeats) steps.clear();
    return steps;
  }

 private:
  struct Launch {
    std::size_t moment = 0;
    std::uint64_t exec = 0;
    bool waited = false;  // the host waited since the launch before
    bool barred = false;  // a graph was captured or built since
  };

  /// Then each is a step of its own, whichever graph it is.
  [[nodiscard]] bool each_waited_for() const {
    std::size_t all = 0, waited = 0;
    for (std::size_t k = 1; k < launches_.size(); ++k) {
      if (launches_[k].barred) continue;
      ++all;
      if (launches_[k].waited) ++waited;
    }
    return all + 1 >= kFewestRepeats && 4 * waited >= 3 * all;
  }

  [[nodiscard]] std::vector<Span> by_launch() const {
    std::vector<Span> steps;
    for (std::size_t k = 0; k < launches_.size(); ++k)
      if (!launches_[k].barred) add(k, 1, steps);
    return steps;
  }

  [[nodiscard]] std::vector<Span> by_group() const {
    std::vector<std::uint64_t> tokens;
    std::vector<std::size_t> launch;  // of a token
    for (std::size_t k = 0; k < launches_.size(); ++k) {
      if (launches_[k].barred) tokens.push_back(unique_token(k)), launch.push_back(k);
      tokens.push_back(launches_[k].exec), launch.push_back(k);
    }
    const auto repeat = find_repeat(tokens);
    if (!repeat) return {};
    const std::size_t phase = best_phase(guess_, *repeat, [&](std::size_t i) { return launches_[launch[i]].moment; });
    const auto found = occurrences(tokens, std::span(tokens).subspan(repeat->start + phase, repeat->period));
    if (2 * found.size() * repeat->period < launches_.size()) return {};
    std::vector<Span> steps;
    for (const std::size_t at : found) add(launch[at], repeat->period, steps);
    return steps;
  }

  /// Behind the last wait before the launch: what was brought in since is the launch's.
  [[nodiscard]] std::size_t begin_of(std::size_t k) const {
    const std::size_t moment = launches_[k].moment;
    if (!launches_[k].waited) return moment;
    for (std::size_t m = moment; m-- > 0;)
      if (guess_.moments()[m].kind == Moment::Kind::wait) return m + 1;
    return moment;
  }

  /// The step of the launches k to k + count.
  void add(std::size_t k, std::size_t count, std::vector<Span>& steps) const {
    const bool last = k + count >= launches_.size() || launches_[k + count].barred;
    Span span{begin_of(k), last ? 0 : begin_of(k + count), !last};
    if (last) {
      if (steps.empty()) return;
      span.end = end_like(span.begin, launches_[k + count - 1].moment, steps.back());
    }
    steps.push_back(span);
  }

  /// No launch follows: the step ends where it ceases to be as the one before, with the program's own end behind it.
  [[nodiscard]] std::size_t end_like(std::size_t begin, std::size_t last_launch, const Span& before) const {
    std::size_t end = begin;
    for (std::size_t m = before.begin; m < before.end && end < guess_.moments().size(); ++m, ++end)
      if (guess_.token(m) != guess_.token(end)) break;
    return std::max(end, last_launch + 1);
  }

  const ThreadGuess& guess_;
  std::vector<Launch> launches_;
};

std::unordered_map<std::uint64_t, std::uint64_t> work_of_replays(const Timeline& timeline) {
  std::unordered_map<std::uint64_t, std::uint64_t> nodes;
  for (const ApiEvent& call : timeline.calls)
    if (call.api == Api::graph_launch && call.object == 0) nodes.try_emplace(call.sequence, 0);
  for (const WorkEvent& work : timeline.work)
    if (const auto at = nodes.find(work.call); at != nodes.end()) ++at->second;
  return nodes;
}

// ---- by period

std::vector<Span> rounds(const ThreadGuess& guess) {
  std::vector<std::uint64_t> tokens;
  for (std::size_t m = 0; m < guess.moments().size(); ++m) tokens.push_back(guess.token(m));
  const auto repeat = find_repeat(tokens);
  if (!repeat || repeat->period < 2) return {};
  const std::size_t start = repeat->start + best_phase(guess, *repeat, [](std::size_t i) { return i; });
  bool launches = false;
  for (std::size_t m = start; m < start + repeat->period; ++m)
    launches = launches || is_launch(guess.call(m).api) || guess.call(m).api == Api::graph_launch;
  const auto found = occurrences(tokens, std::span(tokens).subspan(start, repeat->period));
  // Copies alone are how weights are loaded.
  if (!launches || found.size() < kFewestRepeats || 2 * found.size() * repeat->period < tokens.size()) return {};
  std::vector<Span> steps;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::size_t end = found[i] + repeat->period;
    steps.push_back({found[i], end, i + 1 < found.size() && found[i + 1] == end});
  }
  return steps;
}

}  // namespace

std::vector<GuessedStep> guess_by_replays(const Timeline& timeline) {
  std::vector<GuessedStep> out;
  const auto nodes = work_of_replays(timeline);
  for (const ThreadMoments& thread : moments_of(timeline)) {
    const ThreadGuess guess(timeline, thread);
    for (const Span& span : Replays(guess, nodes).steps()) guess.add(span, out);
  }
  return out;
}

std::vector<GuessedStep> guess_by_period(const Timeline& timeline) {
  std::vector<GuessedStep> out;
  for (const ThreadMoments& thread : moments_of(timeline)) {
    const ThreadGuess guess(timeline, thread);
    for (const Span& span : rounds(guess)) guess.add(span, out);
  }
  return out;
}

}  // namespace refrain
