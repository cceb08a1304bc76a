// The recorder: a step is written once against it, and the same code runs
// eagerly or is captured, whichever state its stream is in. During a capture it
// remembers which nodes each op made and attaches the op's contract to them;
// outside one it keeps a ledger of what eager work left true, which becomes the
// entry facts of the next graph.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "kernels/op.hpp"
#include "runtime/buffer_registry.hpp"
#include "runtime/driver.hpp"

namespace refrain {

/// The bytes of `args`, zero where it has padding: what nobody wrote there must not tell two captures apart.
template <class Args>
[[nodiscard]] std::vector<std::uint8_t> bytes_of_args(Args args) {
  static_assert(std::is_trivially_copyable_v<Args>, "an op's Args are baked into a graph as bytes");
#ifndef __clang_analyzer__  // clang-tidy's compiler lacks it
  __builtin_clear_padding(&args);
#endif
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&args);
  return {bytes, bytes + sizeof args};
}

/// The op with its Args, as a driver takes it. `early` only for an op whose contract waits.
template <class Args>
[[nodiscard]] OpLaunch bind_op(const Op<Args>& op, const Args& args, bool early = false) {
  OpLaunch bound{op.name, [&op, args] { op.host(args); }, {}, early, bytes_of_args(args)};
  const auto launch = early ? op.launch_early : op.launch;
  if (launch != nullptr) bound.device = [launch, args](void* stream) { launch(args, stream); };
  return bound;
}

class Recorder {
 public:
  Recorder(Driver& driver, const BufferRegistry& registry, Stream stream)
      : driver_(driver), registry_(registry), stream_(stream) {}

  /// Runs or captures one op on the current stream. Throws Error{driver}.
  template <class Args>
  void launch(const Op<Args>& op, const Args& args) {
    const Contract contract = op.contract(args);
    submit(bind_op(op, args, start_early_ && behind_kernel_ && contract.waits), contract);
  }

  /// Programmatic dependent launch: from here on an op that waits on the device (Contract::waits) starts while the op
  /// ahead of it still runs. Off at first; changes no result.
  void start_early(bool on) noexcept { start_early_ = on; }

  /// Fills with zero bytes: a memset, so a node with a host cost of its own. Ops zero their scratch themselves.
  void zero(Address to, std::uint64_t bytes);
  void copy(Driver::Place to, Driver::Place from, std::uint64_t bytes);

  /// Declares a fact that holds when a replay begins, e.g. inputs that the host writes before every launch.
  void entry(Fact fact, Address base, std::uint64_t bytes, Origin origin, std::string by);

  /// Names what is launched while it lives: `scope/scope/...`.
  class Scope {
   public:
    Scope(Recorder& recorder, std::string name) : recorder_(recorder), shown_(recorder.driver_, name.c_str()) {
      recorder_.scopes_.push_back(std::move(name));
    }
    ~Scope() { recorder_.scopes_.pop_back(); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Recorder& recorder_;
    ProfilerRange shown_;
  };
  [[nodiscard]] Scope scope(std::string name) { return {*this, std::move(name)}; }

  /// Work until the matching join goes to `side`, ordered after all that came before. Capturable.
  void fork(Stream side);
  void join();

  /// Called before and after each launch, copy and zero of an eager run, with its number from 0.
  using Hook = std::function<void(std::size_t number, const std::string& op, const Contract& contract, bool after)>;
  void watch(Hook hook) { hook_ = std::move(hook); }

  [[nodiscard]] Driver& driver() noexcept { return driver_; }
  [[nodiscard]] Stream stream() const noexcept { return stream_; }

  /// Turns what the driver captured into a graph with contracts, buffers and entry facts.
  [[nodiscard]] Graph describe(const Introspection& captured) const;
  /// CaptureScope calls these: marks are kept between them, and the ledger of eager facts outside them.
  void start_capture();
  void stop_capture() noexcept { capturing_ = behind_kernel_ = false; }

 private:
  struct Mark {
    std::string op, scope;
    Contract contract;
    std::vector<std::uint64_t> before;  // the frontier that the launch began at: what lies in between is the op's too
    std::vector<std::uint8_t> args;     // of an op's launch
  };
  struct Entry {
    Fact fact = Fact::written;
    Address begin = 0, end = 0;
    Origin origin = Origin::initialised_once;
    std::string by;
  };
  struct Fork {
    Stream main, side;
  };
  void submit(const OpLaunch& op, const Contract& contract);
  template <class Enqueue>
  void perform(const OpLaunch& op, const Contract& contract, Enqueue enqueue);
  void note(const OpLaunch& op, const Contract& contract, const std::vector<std::uint64_t>& before);
  [[nodiscard]] std::vector<std::uint64_t> frontier();
  void keep_books(const std::string& op, const Contract& contract);
  void add_entry(Entry entry);
  void forget(Address begin, Address end);
  void order(Stream after, Stream before);
  [[nodiscard]] std::string scope_path() const;

  Driver& driver_;
  const BufferRegistry& registry_;
  Stream stream_;
  bool capturing_ = false;
  bool start_early_ = false;
  bool behind_kernel_ = false;  // the last thing on the stream is an op's launch, and it alone
  Hook hook_;
  std::size_t launches_ = 0;
  std::vector<std::string> scopes_;
  std::vector<Fork> forks_;
  std::unordered_map<std::uint64_t, Mark> marks_;  // by node handle
  std::vector<Entry> ledger_;
};

}  // namespace refrain
