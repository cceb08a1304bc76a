// Runs one op on a DeviceCopy, launched directly or as a captured graph, and
// compares photos of memory byte for byte. A capture is in global mode, so a
// launcher that does anything but enqueue ends it with an error.
#pragma once

#include <functional>

#include "kernels/op.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/device_copy.hpp"
#include "tests/kernels/check_writes.hpp"

namespace refrain::test {

/// A stream with one captured graph on it.
class Replay {
 public:
  /// `enqueue` is called once, inside a capture of the stream that it is given.
  explicit Replay(const std::function<void(void* stream)>& enqueue);
  ~Replay();
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  /// Launches the graph and waits for it.
  void run();

 private:
  void* stream_ = nullptr;
  void* exec_ = nullptr;
};

/// Launches on a stream of its own and waits.
void run_directly(const std::function<void(void* stream)>& enqueue);

/// Names the first byte that differs.
void require_same(const Memory::Photo& got, const Memory::Photo& want);

/// The kernel leaves every byte of memory as the twin leaves it, launched directly and twice as a graph, whatever
/// the outputs held before. Leaves the memory as the twin does.
template <class Args>
void require_as_twin(const Op<Args>& op, const Args& args, Memory& memory) {
  INFO("op " << op.name);
  const Contract contract = op.contract(args);
  const Memory::Photo given = memory.photo();
  DeviceCopy copy(memory);
  const Args device_args = on_device(copy, args);
  const auto enqueue = [&](void* stream) { op.launch(device_args, stream); };
  Replay replay(enqueue);
  for (const int pattern : {0xA5, 0x5A}) {
    memory.restore(given);
    fill_writes(contract, pattern);
    const Memory::Photo poisoned = memory.photo();
    op.host(args);
    const Memory::Photo want = memory.photo();
    copy.upload(poisoned);
    run_directly(enqueue);
    require_same(copy.download(), want);
    copy.upload(poisoned);
    replay.run();
    require_same(copy.download(), want);
  }
}

}  // namespace refrain::test
