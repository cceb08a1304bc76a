// A model with what an engine would give it: requests with pages, tables, sampling
// parameters, and steps that run eagerly or from a captured and audited graph. Whatever
// no op may rest on is poison: scratch and outputs, pad rows, table entries past the
// pages, and the pages of nobody.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>

#include "runtime/judged_capture.hpp"
#include "runtime/model/model.hpp"
#include "runtime/owned_stream.hpp"
#include "tests/runtime/test_driver.hpp"

namespace refrain::test {

using Random = std::mt19937_64;

struct ModelRequest {
  std::vector<std::int32_t> tokens;  ///< prompt, and what was decoded
  std::vector<std::int32_t> pages;   ///< for the whole context
  std::int32_t cached = 0;           ///< tokens whose K and V are in the pages
  float temperature = 0, top_p = 1;
  std::int32_t top_k = 0;
  std::uint64_t seed = 0;
};

/// What one request feeds to a step: its next `count` tokens; in a verify step the last `drafts` of them are guesses.
struct Feed {
  ModelRequest* request = nullptr;
  std::int32_t count = 1;
  std::vector<std::int32_t> drafts{};
};

/// How the rows past the real ones look: bytes, or what a step before may have left, each a token of request 0.
enum class Pads { ones, sevens, stale };

struct ModelResult {
  std::vector<std::int32_t> next;          ///< [requests], verify [requests, 1 + K]
  std::vector<std::int32_t> accepted;      ///< verify
  std::vector<std::vector<float>> logits;  ///< [logits rows][vocab]
};

/// False where the driver's GEMM library is not installed; it has said so.
[[nodiscard]] bool has_gemm(const Driver& driver);

/// A model, and where tests reach into its memory.
struct TestModel {
  std::unique_ptr<Model> model;
  std::function<std::vector<const Lease*>(Phase)> scratch;
  std::function<Address(Phase)> logits;
  std::vector<const Lease*> pools;  ///< by layer
};

class ModelWorld {
 public:
  /// `make` is called once; `size_of_model` is the model's.
  ModelWorld(Driver& driver, const ServingLimits& limits, const ArenaSize& size_of_model,
             const std::function<TestModel(const BufferRegistry&, Arena&)>& make);
  virtual ~ModelWorld();
  ModelWorld(const ModelWorld&) = delete;
  ModelWorld& operator=(const ModelWorld&) = delete;

  /// A request with random pages that nobody has.
  ModelRequest request(std::vector<std::int32_t> prompt, Random& random);
  ModelRequest request(std::int32_t prompt_tokens, Random& random);

  /// Feeds the requests, in a step of this many rows and requests (pads included), and moves their `cached` on.
  ModelResult prefill(const std::vector<Feed>& feeds, std::int32_t rows, std::int32_t requests);
  ModelResult decode(const std::vector<ModelRequest*>& requests, std::int32_t rows);
  /// K of the step is `drafts`. `cached` moves on by the token before the drafts alone.
  ModelResult verify(const std::vector<Feed>& feeds, std::int32_t requests, std::int32_t drafts);

  /// From a graph of the shape; throws std::runtime_error with the violation where it is not admitted.
  bool early = false;  ///< kernels that wait start early, in captured steps
  bool replay = false;
  Pads pads = Pads::ones;
  bool prepares = true;       ///< false: the model's prepare() is left out, for a control
  std::vector<Graph> graphs;  ///< those captured, in order
  bool counts_pads = false;   ///< true: pads are counted as real rows, for a control

  /// Bytes of all layers' pools.
  [[nodiscard]] std::vector<std::byte> pools();
  /// One page of one layer.
  [[nodiscard]] std::vector<std::byte> page(std::size_t layer, std::int32_t page);
  [[nodiscard]] Model& model() { return *model_.model; }
  [[nodiscard]] Driver& driver() { return driver_; }
  [[nodiscard]] Arena& arena() { return arena_; }

 private:
  struct Placed;
  Placed& placed(const StepShape& shape);
  ModelResult run(const StepShape& shape, const std::vector<Feed>& feeds);
  void write_inputs(Placed& at, const StepShape& shape, const std::vector<Feed>& feeds);
  void poison(const StepShape& shape, const Placed& at);
  void execute(const StepShape& shape, Placed& at);
  ModelResult read(const StepShape& shape, const Placed& at);

  Driver& driver_;
  SequenceClock clock_;
  BufferRegistry registry_{clock_};
  ServingLimits limits_;
  Arena arena_;
  TestModel model_;
  OwnedStream stream_{driver_};
  std::map<std::string, std::unique_ptr<Placed>> placed_;
  std::vector<bool> taken_;
};

}  // namespace refrain::test
