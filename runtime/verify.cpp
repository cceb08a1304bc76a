#include "runtime/verify.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "audit/audit.hpp"
#include "kernels/codec.hpp"
#include "runtime/output.hpp"
#include "runtime/pointer_watch.hpp"
#include "runtime/run.hpp"
#include "runtime/session.hpp"
#include "runtime/transfer.hpp"

namespace refrain {
namespace {

bool holds_nan(const std::byte* data, Dtype dtype, std::uint64_t bytes) {
  const auto count = static_cast<std::int64_t>(bytes / dtype_bytes(dtype));
  for (std::int64_t i = 0; i < count; ++i)
    if (std::isnan(load_as_float(data, dtype, i))) return true;
  return false;
}

bool can_hold_nan(Dtype dtype) {
  return dtype == Dtype::fp16 || dtype == Dtype::bf16 || dtype == Dtype::fp32 || dtype == Dtype::e4m3;
}

/// Watches an eager run of the step and finds the first launch that writes a NaN: one that was not there before, or
/// one in bytes that its contract says it writes exactly.
class NanFinder {
 public:
  NanFinder(Driver& driver, Stream stream) : driver_(driver), stream_(stream) {}

  void operator()(std::size_t number, const Contract& contract, bool after) {
    if (found_) return;
    check(driver_.synchronize(stream_), "cudaStreamSynchronize");
    if (!after) before_.clear();
    for (std::size_t i = 0; i < contract.accesses.size(); ++i) {
      const Access& access = contract.accesses[i];
      if (access.mode == Mode::read || !can_hold_nan(access.dtype) || access.range.empty()) continue;
      std::vector<std::byte> now(access.range.size());
      read_device(driver_, now, access.base + access.range.begin);
      if (!after)
        before_.push_back(std::move(now));
      else
        inspect(number, access, now);
    }
    if (after) seen_ = 0;
  }
  [[nodiscard]] std::optional<std::size_t> found() const { return found_; }

 private:
  void inspect(std::size_t number, const Access& access, std::vector<std::byte>& now) {
    const std::vector<std::byte>& old = before_[seen_++];
    const std::uint64_t size = dtype_bytes(access.dtype);
    // Elements that a `may` write left alone are not its doing.
    if (access.reach == Reach::may)
      for (std::uint64_t at = 0; at + size <= now.size(); at += size)
        if (std::memcmp(&now[at], &old[at], size) == 0) std::memset(&now[at], 0, size);
    if (!found_ && holds_nan(now.data(), access.dtype, now.size())) found_ = number;
  }

  Driver& driver_;
  Stream stream_;
  std::vector<std::vector<std::byte>> before_;
  std::size_t seen_ = 0;
  std::optional<std::size_t> found_;
};

/// The launches of an eager run are the graph's ops in order, for the step is one chain; of an op of several nodes the
/// last carries the contract.
std::optional<NodeId> node_of_launch(const Graph& graph, std::size_t launch) {
  for (NodeId id = 0; id < graph.nodes.size(); ++id)
    if (!graph.nodes[id].accesses.empty() && launch-- == 0) return id;
  return std::nullopt;
}

class Verifier {
 public:
  Verifier(Session& session, const Captured& captured, VerifyResult& result)
      : s_(session),
        graph_(captured.graph),
        exec_(session.driver, session.arena, captured, session.stream),
        result_(result) {}

  void run() {
    clear_output();
    base_ = replay();
    compare("fresh memory", "none", CheckKind::poison, base_, [] {});
    compare("repeat", "none", CheckKind::repeat, replay(), [] {});
    for (const PoisonAxis& axis : s_.step->poison_axes())
      for (const Fill fill : axis.fills) {
        const auto prepare = [&] {
          s_.step->upload(s_.driver);
          axis.apply(s_.driver, fill);
          settle_writes(s_.driver);
        };
        prepare();
        compare(axis.name, to_string(fill), CheckKind::poison, replay(), prepare);
      }
    s_.step->upload(s_.driver);
    clear_output();
    compare("eager", "none", CheckKind::eager, eager(nullptr), [] {});
  }

 private:
  /// So that a row which nobody writes differs once the output is poisoned.
  void clear_output() {
    for (const OutputTensor& tensor : s_.step->outputs())
      write_device(s_.driver, tensor.address, std::vector<std::byte>(tensor.bytes()));
    settle_writes(s_.driver);
  }

  Output replay() {
    {
      const auto step = s_.driver.step(to_string(s_.step->options().step), row_counts(s_.step->options()));
      exec_.launch(s_.stream);
      check(s_.driver.synchronize(s_.stream), "cudaStreamSynchronize");
    }
    return read_output(s_.driver, s_.step->outputs());
  }

  Output eager(NanFinder* finder) {
    Recorder recorder(s_.driver, s_.registry, s_.stream);
    if (finder != nullptr)
      recorder.watch([&](std::size_t number, const std::string&, const Contract& contract, bool after) {
        (*finder)(number, contract, after);
      });
    s_.step->record(recorder);
    check(s_.driver.synchronize(s_.stream), "cudaStreamSynchronize");
    return read_output(s_.driver, s_.step->outputs());
  }

  template <class Prepare>
  void compare(const char* axis, const char* fill, CheckKind kind, const Output& output, Prepare prepare) {
    AxisResult& result = result_.axes.emplace_back();
    result.name = axis;
    result.fill = fill;
    result.finite = all_finite(output);
    result.bit_equal = same_bits(base_, output);
    result.max_abs_error = max_abs_error(output, base_);
    if (!result.finite && !result_.first_nan_node) find_first_nan(prepare);
    ReplayCheck check;
    check.kind = kind;
    check.finite = result.finite;
    check.bit_equal = result.bit_equal;
    check.max_abs_error = result.max_abs_error.value_or(0.0);
    if (!result.finite) check.first_nan_node = result_.first_nan_node;
    s_.driver.add_check(check, graph_.name, kind == CheckKind::poison ? axis : "",
                        kind == CheckKind::poison ? fill : "");
  }

  /// Partials that the poisoned replay left NaN would hide who wrote them: a replay without poison goes before.
  template <class Prepare>
  void find_first_nan(Prepare prepare) {
    s_.step->upload(s_.driver);
    (void)replay();
    prepare();
    NanFinder finder(s_.driver, s_.stream);
    (void)eager(&finder);
    if (!finder.found()) return;
    result_.first_nan_node = node_of_launch(graph_, *finder.found());
    if (result_.first_nan_node) result_.first_nan_name = describe(graph_, *result_.first_nan_node);
  }

  Session& s_;
  const Graph& graph_;
  GraphExec exec_;
  VerifyResult& result_;
  Output base_;
};

}  // namespace

VerifyResult verify_step(Driver& driver, const StepOptions& options) {
  Session session(driver, options);
  Recorder recorder(session.driver, session.registry, session.stream);
  VerifyResult result;
  result.options = session.step->options();
  result.device = driver.device();
  std::optional<Captured> captured = session.capture(recorder, result.refused);
  if (captured) {
    session.step->break_after_capture(session.driver);
    PointerWatch watch(captured->graph);
    watch.check(session.driver);
    result.refused = dangling_pointer(audit(Subject{{session.recording()}}));
    if (result.refused.empty()) Verifier(session, *captured, result).run();
    watch.check(session.driver);
  }
  result.recording = session.recording();
  const Subject subject{{result.recording}};
  result.report = audit(subject);
  return result;
}

}  // namespace refrain
