#include "tests/runtime/model/model_world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <stdexcept>

#include "kernels/gemm_plans.hpp"
#include "runtime/transfer.hpp"
#include "tests/catch.hpp"

namespace refrain::test {
namespace {

constexpr std::uint64_t kInputsRoom = 4 << 20;

std::size_t size(std::int32_t count) {
  return static_cast<std::size_t>(count);
}

void fill(Driver& driver, Stream stream, const Lease& lease, const BufferRegistry& registry, std::uint8_t value) {
  if (lease) check(driver.fill(lease.address(), value, registry[lease.id()].bytes, stream), "cudaMemsetAsync");
}

}  // namespace

bool has_gemm(const Driver& driver) {
  if (driver.device().kind != "cuda") return true;
  try {
    const GemmPlans plans(0);
    return true;
  } catch (const Error& error) {
    WARN("the model is not tested: " << error.what());
    return false;
  }
}

/// The engine's memory of one shape, exactly as large as it, and the shape's graph.
struct ModelWorld::Placed {
  std::vector<Lease> inputs;
  Lease next, accepted;
  StepPlaces places;
  std::optional<GraphExec> exec;
};

ModelWorld::ModelWorld(Driver& driver, const ServingLimits& limits, const ArenaSize& size_of_model,
                       const std::function<TestModel(const BufferRegistry&, Arena&)>& make)
    : driver_(driver),
      limits_(limits),
      arena_(driver, registry_, size_of_model.bytes + kInputsRoom, size_of_model.overlays),
      model_(make(registry_, arena_)),
      taken_(size(limits.pages), false) {
  model().load(driver_);
  taken_[0] = true;
}

ModelWorld::~ModelWorld() = default;

ModelRequest ModelWorld::request(std::vector<std::int32_t> prompt, Random& random) {
  ModelRequest request;
  request.tokens = std::move(prompt);
  const std::int32_t count = (limits_.context - 1) / model().page_size() + 1;
  while (std::ssize(request.pages) < count) {
    const std::size_t page = random() % taken_.size();
    if (taken_[page]) continue;
    taken_[page] = true;
    request.pages.push_back(static_cast<std::int32_t>(page));
  }
  return request;
}

ModelRequest ModelWorld::request(std::int32_t prompt_tokens, Random& random) {
  std::vector<std::int32_t> prompt;
  for (std::int32_t i = 0; i < prompt_tokens; ++i)
    prompt.push_back(static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(model().vocabulary())));
  return request(std::move(prompt), random);
}

ModelWorld::Placed& ModelWorld::placed(const StepShape& shape) {
  auto& at =
      placed_[fmt::format("{} {} {} {}", to_string(shape.phase), shape.rows, shape.requests, shape.query_length)];
  if (at) return *at;
  at = std::make_unique<Placed>();
  const auto input = [&](const char* name, Dtype dtype, std::int64_t count) {
    at->inputs.push_back(
        arena_.lease({name, static_cast<std::uint64_t>(count) * dtype_bytes(dtype), Role::input, dtype}));
    return at->inputs.back().as<void>();
  };
  const auto i32 = [&](const char* name, std::int64_t count) {
    return static_cast<std::int32_t*>(input(name, Dtype::i32, count));
  };
  const std::int64_t requests = shape.requests, drafts = shape.query_length - 1;
  StepPlaces& p = at->places;
  p.batch.bucket = shape.rows;
  p.batch.requests = shape.requests;
  p.batch.pages_per_request = (limits_.context - 1) / model().page_size() + 2;  // one more than is ever used
  p.batch.rows = i32("rows", 1);
  p.batch.token_to_req = i32("token_to_req", shape.rows);
  p.batch.query_pos = static_cast<std::int64_t*>(input("query_pos", Dtype::i64, shape.rows));
  p.batch.seq_len = i32("seq_len", requests);
  p.batch.page_table = i32("page_table", requests * p.batch.pages_per_request);
  p.tokens = i32("tokens", shape.rows);
  p.real_requests = i32("real_requests", 1);
  p.sample_rows = i32("sample_rows", requests);
  p.temperature = static_cast<float*>(input("temperature", Dtype::fp32, requests));
  p.top_k = i32("top_k", requests);
  p.top_p = static_cast<float*>(input("top_p", Dtype::fp32, requests));
  p.seeds = static_cast<std::uint64_t*>(input("seeds", Dtype::i64, 2 * requests));
  p.draft_tokens = i32("draft_tokens", std::max<std::int64_t>(requests * drafts, 1));
  p.draft_lengths = i32("draft_lengths", requests);
  at->next = arena_.lease(
      {"next_tokens", static_cast<std::uint64_t>(requests * shape.query_length) * 4, Role::output, Dtype::i32});
  at->accepted = arena_.lease({"accepted", static_cast<std::uint64_t>(requests) * 4, Role::output, Dtype::i32});
  p.next_tokens = at->next.as<std::int32_t>();
  p.accepted = at->accepted.as<std::int32_t>();
  return *at;
}

namespace {

/// The host's side of a step's inputs, pads included.
struct Inputs {
  std::vector<std::int32_t> rows, token_to_req, seq_len, table, tokens, real_requests, sample_rows, top_k, drafts,
      draft_lengths;
  std::vector<std::int64_t> positions;
  std::vector<float> temperature, top_p;
  std::vector<std::uint64_t> seeds;
};

/// Appends what one request feeds. A verify step has 1 + K rows of each: those past its drafts stand past its length.
void add_feed(Inputs& in, const Feed& feed, const StepShape& shape, std::int32_t width, std::int32_t page_size) {
  const ModelRequest& r = *feed.request;
  std::vector<std::int32_t> tokens = r.tokens;
  tokens.insert(tokens.end(), feed.drafts.begin(), feed.drafts.end());
  const std::int32_t fed = feed.count + static_cast<std::int32_t>(feed.drafts.size());
  const std::int32_t rows = shape.phase == Phase::verify ? shape.query_length : fed;
  for (std::int32_t i = 0; i < rows; ++i) {
    in.token_to_req.push_back(static_cast<std::int32_t>(in.seq_len.size()));
    in.positions.push_back(r.cached + i);
    in.tokens.push_back(i < fed ? tokens[size(r.cached + i)] : -1);
  }
  for (std::int32_t i = 0; i < width; ++i) {
    const std::int32_t garbage[] = {0, -1, INT_MAX, 1};
    const bool needed = i * page_size < r.cached + fed;
    in.table.push_back(needed ? r.pages[size(i)] : garbage[i % 4]);
  }
  in.seq_len.push_back(r.cached + fed);
  in.sample_rows.push_back(r.cached + fed == std::ssize(tokens) ? static_cast<std::int32_t>(in.tokens.size()) - 1 : -1);
  in.temperature.push_back(r.temperature);
  in.top_k.push_back(r.top_k);
  in.top_p.push_back(r.top_p);
  in.seeds.insert(in.seeds.end(), {r.seed, static_cast<std::uint64_t>(r.cached + fed)});
  auto guesses = feed.drafts;
  guesses.resize(size(shape.query_length - 1), 3);
  in.drafts.insert(in.drafts.end(), guesses.begin(), guesses.end());
  in.draft_lengths.push_back(static_cast<std::int32_t>(feed.drafts.size()));
}

/// An array of `count` elements that begins with `real`; the rest is what pads look like.
template <class T>
std::vector<T> padded(std::vector<T> real, std::int64_t count, Pads pads, T stale) {
  T fill = stale;
  if (pads != Pads::stale) std::memset(&fill, pads == Pads::ones ? 0xFF : 0x7F, sizeof fill);
  real.resize(static_cast<std::size_t>(count), fill);
  return real;
}

}  // namespace

void ModelWorld::write_inputs(Placed& at, const StepShape& shape, const std::vector<Feed>& feeds) {
  Inputs in;
  const std::int32_t width = at.places.batch.pages_per_request, drafts = shape.query_length - 1;
  for (const Feed& feed : feeds) add_feed(in, feed, shape, width, model().page_size());
  in.rows = {counts_pads ? shape.rows : static_cast<std::int32_t>(in.tokens.size())};
  in.real_requests = {static_cast<std::int32_t>(feeds.size())};
  std::size_t next = 0;
  const auto put = [&]<class T>(const std::vector<T>& real, std::int64_t count, T stale) {
    write_array(driver_, at.inputs[next++], padded(real, count, pads, stale));
  };
  // In the order of placed(). Stale pads: token 0 of request 0, at a place that is its own.
  const std::int64_t requests = shape.requests;
  put(in.rows, 1, 0);
  put(in.token_to_req, shape.rows, 0);
  put(in.positions, shape.rows, std::int64_t{0});
  put(in.seq_len, requests, 1);
  put(in.table, requests * width, feeds[0].request->pages[0]);
  put(in.tokens, shape.rows, 0);
  put(in.real_requests, 1, 0);
  put(in.sample_rows, requests, 0);
  put(in.temperature, requests, 1.0f);
  put(in.top_k, requests, 0);
  put(in.top_p, requests, 1.0f);
  put(in.seeds, 2 * requests, std::uint64_t{1});
  put(in.drafts, std::max<std::int64_t>(requests * drafts, 1), 0);
  put(in.draft_lengths, requests, drafts);
  settle_writes(driver_);
}

void ModelWorld::poison(const StepShape& shape, const Placed& at) {
  for (const Lease* lease : model_.scratch(shape.phase)) fill(driver_, stream_, *lease, registry_, 0xFF);
  fill(driver_, stream_, at.next, registry_, 0x5A);
  fill(driver_, stream_, at.accepted, registry_, 0x5A);
}

void ModelWorld::execute(const StepShape& shape, Placed& at) {
  if (!replay) {
    Recorder recorder(driver_, registry_, stream_);
    model().prepare(recorder, shape);
    poison(shape, at);
    model().record(recorder, shape, at.places);
    return;
  }
  if (!at.exec) {
    StepKey key = model().key(shape);
    for (const Lease& lease : at.inputs) key.leases.push_back(registry_[lease.id()].allocation);
    for (const Lease* lease : {&at.next, &at.accepted}) key.leases.push_back(registry_[lease->id()].allocation);
    const StepRecorder steps{[&](Recorder& recorder, const StepKey&) {
                               for (const Lease& lease : at.inputs)
                                 recorder.entry(Fact::written, lease.address(), registry_[lease.id()].bytes,
                                                Origin::host_each_launch, "the test");
                               if (prepares) model().prepare(recorder, shape);
                             },
                             [&](Recorder& recorder, const StepKey&) {
                               recorder.start_early(early);
                               model().record(recorder, shape, at.places);
                             }};
    const JudgedCapture capture({driver_, clock_, registry_, arena_, stream_}, steps, key, CaptureMode::global);
    if (capture.admitted() == nullptr) throw std::runtime_error(capture.violation());
    graphs.push_back(capture.admitted()->graph);
    at.exec.emplace(driver_, arena_, *capture.admitted(), stream_);
  }
  poison(shape, at);
  at.exec->launch(stream_);
}

ModelResult ModelWorld::read(const StepShape& shape, const Placed& at) {
  check(driver_.synchronize(stream_), "cudaStreamSynchronize");
  ModelResult out;
  out.next.resize(size(shape.requests * shape.query_length));
  read_device(driver_, std::as_writable_bytes(std::span(out.next)), at.next.address());
  out.accepted.resize(size(shape.requests));
  read_device(driver_, std::as_writable_bytes(std::span(out.accepted)), at.accepted.address());
  const std::size_t vocab = size(model().vocabulary());
  std::vector<float> logits(size(shape.phase == Phase::prefill ? shape.requests : shape.rows) * vocab);
  read_device(driver_, std::as_writable_bytes(std::span(logits)), model_.logits(shape.phase));
  for (auto row = logits.begin(); row != logits.end(); row += static_cast<std::ptrdiff_t>(vocab))
    out.logits.emplace_back(row, row + static_cast<std::ptrdiff_t>(vocab));
  return out;
}

ModelResult ModelWorld::run(const StepShape& shape, const std::vector<Feed>& feeds) {
  REQUIRE(model().refusal(shape) == "");
  Placed& at = placed(shape);
  write_inputs(at, shape, feeds);
  execute(shape, at);
  for (const Feed& feed : feeds) feed.request->cached += feed.count;
  return read(shape, at);
}

ModelResult ModelWorld::prefill(const std::vector<Feed>& feeds, std::int32_t rows, std::int32_t requests) {
  return run({Phase::prefill, rows, requests, 1}, feeds);
}

ModelResult ModelWorld::decode(const std::vector<ModelRequest*>& requests, std::int32_t rows) {
  std::vector<Feed> feeds;
  for (ModelRequest* request : requests) feeds.push_back({request, 1});
  return run({Phase::decode, rows, rows, 1}, feeds);
}

ModelResult ModelWorld::verify(const std::vector<Feed>& feeds, std::int32_t requests, std::int32_t drafts) {
  return run({Phase::verify, requests * (1 + drafts), requests, 1 + drafts}, feeds);
}

std::vector<std::byte> ModelWorld::pools() {
  std::vector<std::byte> out;
  for (const Lease* pool : model_.pools) {
    const std::uint64_t bytes = registry_[pool->id()].bytes;
    out.resize(out.size() + bytes);
    read_device(driver_, std::span(out).last(bytes), pool->address());
  }
  return out;
}

std::vector<std::byte> ModelWorld::page(std::size_t layer, std::int32_t number) {
  const Lease& pool = *model_.pools[layer];
  const std::uint64_t bytes = registry_[pool.id()].bytes / static_cast<std::uint64_t>(limits_.pages);
  std::vector<std::byte> out(bytes);
  read_device(driver_, out, pool.address() + static_cast<std::uint64_t>(number) * bytes);
  return out;
}

}  // namespace refrain::test
