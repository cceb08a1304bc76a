#include "tests/runtime/engine/toy_model.hpp"

#include <algorithm>
#include <bit>

#include "kernels/touch_inputs.hpp"

namespace refrain::test {
namespace {

struct ToyArgs {
  StepShape shape;
  StepPlaces places;
  std::int32_t* pool = nullptr;  // [pages, page_size]
  std::int32_t pages = 0, page_size = 0;
  std::int64_t* complaints = nullptr;  // on the host
  const ToyFault* fault = nullptr;     // likewise
};

std::size_t u(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

/// One batch, as its device tables say it.
class Batch {
 public:
  explicit Batch(const ToyArgs& args) : a_(args), b_(args.places.batch) {}

  [[nodiscard]] std::int32_t real_rows() const { return *b_.rows; }
  [[nodiscard]] std::int32_t real_requests() const { return *a_.places.real_requests; }
  void complain_unless(bool fine) const {
    if (!fine) ++*a_.complaints;
  }
  /// Null for a place that no request can have.
  [[nodiscard]] std::int32_t* token_at(std::int32_t request, std::int64_t position) const {
    std::int64_t page = position / a_.page_size;
    if (*a_.fault == ToyFault::wrong_page && page == 2) page = 1;
    if (request < 0 || request >= real_requests() || position < 0 || page >= b_.pages_per_request) return nullptr;
    const std::int32_t number = b_.page_table[u(std::int64_t{request} * b_.pages_per_request + page)];
    if (number < 1 || number >= a_.pages) return nullptr;
    return a_.pool + std::int64_t{number} * a_.page_size + position % a_.page_size;
  }
  /// What follows the first `length` tokens of a request.
  [[nodiscard]] std::int32_t next(std::int32_t request, std::int64_t length) const {
    std::vector<std::int32_t> tokens;
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int32_t* token = token_at(request, i);
      complain_unless(token != nullptr && *token >= 0 && *token < kToyVocabulary);
      if (token == nullptr) return -1;
      tokens.push_back(*token);
    }
    const StepPlaces& p = a_.places;
    const ToySampling sampling{p.temperature[request], p.top_p[request], p.top_k[request], p.seeds[2 * request],
                               p.seeds[2 * request + 1]};
    complain_unless(p.temperature[request] == 0 || sampling.position == static_cast<std::uint64_t>(length));
    return toy_next(tokens, sampling);
  }

  [[nodiscard]] std::int32_t length(std::int32_t request) const {
    return b_.seq_len[request] + (*a_.fault == ToyFault::long_length ? 1 : 0);
  }

  void append() const {
    for (std::int32_t row = 0; row < b_.bucket; ++row) {
      const std::int32_t request = b_.token_to_req[row];
      if (row >= real_rows()) {
        complain_unless(request == -1 && b_.query_pos[row] == -1);
        continue;
      }
      complain_unless(request >= 0 && request < real_requests() && b_.query_pos[row] >= 0);
      if (request < 0 || b_.query_pos[row] >= length(request)) continue;
      if (*a_.fault == ToyFault::lost_token && b_.query_pos[row] == 7) continue;
      std::int32_t* to = token_at(request, b_.query_pos[row]);
      complain_unless(to != nullptr);
      if (to != nullptr) *to = a_.places.tokens[row];
    }
  }
  void decode() const {
    for (std::int32_t r = 0; r < b_.requests; ++r) {
      const bool real = r < real_requests();
      complain_unless(!real || (b_.token_to_req[r] == r && b_.query_pos[r] + 1 == b_.seq_len[r]));
      a_.places.next_tokens[r] = real ? next(r, length(r)) : -1;
    }
  }
  void prefill() const {
    for (std::int32_t r = 0; r < b_.requests; ++r) {
      const std::int32_t row = a_.places.sample_rows[r] - (*a_.fault == ToyFault::stale_sample_row ? 1 : 0);
      const bool ends = r < real_requests() && row >= 0;
      complain_unless(r < real_requests() || row == -1);
      complain_unless(!ends ||
                      (row < real_rows() && b_.token_to_req[row] == r && b_.query_pos[row] + 1 == b_.seq_len[r]));
      a_.places.next_tokens[r] = ends ? next(r, b_.seq_len[r]) : -1;
    }
  }
  void verify() const {
    const std::int32_t width = a_.shape.query_length;
    for (std::int32_t r = 0; r < b_.requests; ++r) {
      std::int32_t* out = a_.places.next_tokens + std::int64_t{r} * width;
      std::fill_n(out, width, -1);
      a_.places.accepted[r] = 0;
      if (r >= real_requests()) continue;
      const std::int32_t drafts = a_.places.draft_lengths[r];
      const std::int64_t first = b_.query_pos[r * width];
      complain_unless(drafts >= 0 && drafts < width && b_.seq_len[r] == first + 1 + drafts);
      for (std::int32_t i = 0; i < width; ++i)
        complain_unless(b_.token_to_req[r * width + i] == r && b_.query_pos[r * width + i] == first + i);
      std::int32_t at = 0;
      for (; at < width; ++at) {
        out[at] = next(r, first + 1 + at);
        if (at == drafts || out[at] < 0 || a_.places.draft_tokens[std::int64_t{r} * (width - 1) + at] != out[at]) break;
      }
      a_.places.accepted[r] = at;
    }
  }

 private:
  const ToyArgs& a_;
  const BatchView& b_;
};

Access pool_access(const ToyArgs& a, std::int32_t first_page, Mode mode) {
  const std::uint64_t page = static_cast<std::uint64_t>(a.page_size) * sizeof(std::int32_t);
  return {reinterpret_cast<Address>(a.pool),
          {static_cast<std::uint64_t>(first_page) * page, static_cast<std::uint64_t>(a.pages) * page},
          mode,
          Reach::may,
          Role::kv_pool,
          Dtype::i32};
}

const Op<ToyArgs> toy_append{
    "toy_append",
    [](const ToyArgs& a) {
      Contract contract;
      touch_batch(contract, a.places.batch, true);
      contract.accesses.push_back(read_input(a.places.tokens, elements(a.shape.rows), Dtype::i32));
      contract.accesses.push_back(read_input(a.places.real_requests, 1, Dtype::i32));
      contract.accesses.push_back(pool_access(a, 1, Mode::write));
      return contract;
    },
    [](const ToyArgs& a) { Batch(a).append(); }, nullptr};

Contract next_contract(const ToyArgs& a) {
  const StepPlaces& p = a.places;
  const bool verify = a.shape.phase == Phase::verify;
  const auto requests = elements(a.shape.requests), rows = elements(a.shape.rows);
  Contract contract;
  touch_batch(contract, p.batch, true);
  contract.accesses.push_back(read_input(p.real_requests, 1, Dtype::i32));
  contract.accesses.push_back(read_input(p.temperature, requests, Dtype::fp32));
  contract.accesses.push_back(read_input(p.top_k, requests, Dtype::i32));
  contract.accesses.push_back(read_input(p.top_p, requests, Dtype::fp32));
  contract.accesses.push_back(read_input(p.seeds, 2 * requests, Dtype::i64));
  if (p.sample_rows != nullptr) contract.accesses.push_back(read_input(p.sample_rows, requests, Dtype::i32));
  if (verify) {
    contract.accesses.push_back(read_input(p.draft_tokens, rows - requests, Dtype::i32));
    contract.accesses.push_back(read_input(p.draft_lengths, requests, Dtype::i32));
    contract.accesses.push_back(touch(p.accepted, requests, Mode::write, Role::output, Dtype::i32));
  }
  contract.accesses.push_back(pool_access(a, 0, Mode::read));
  contract.accesses.push_back(touch(p.next_tokens, verify ? rows : requests, Mode::write, Role::output, Dtype::i32));
  return contract;
}

const Op<ToyArgs> toy_answer_op{"toy_next", next_contract,
                                [](const ToyArgs& a) {
                                  const Batch batch(a);
                                  if (a.shape.phase == Phase::decode) return batch.decode();
                                  if (a.shape.phase == Phase::prefill) return batch.prefill();
                                  batch.verify();
                                },
                                nullptr};

}  // namespace

std::int32_t toy_next(const std::vector<std::int32_t>& tokens, const ToySampling& sampling) {
  if (tokens.front() == kUnjudged && tokens.size() >= kUnjudgedFrom) return -1;
  std::uint64_t hash = 14695981039346656037ULL;
  const auto mix = [&](std::uint64_t word) { hash = std::rotl((hash ^ word) * 0xff51afd7ed558ccdULL, 29); };
  for (const std::int32_t token : tokens) mix(static_cast<std::uint64_t>(token) + 1);
  if (sampling.temperature > 0) {
    mix(std::bit_cast<std::uint32_t>(sampling.temperature));
    mix(std::bit_cast<std::uint32_t>(sampling.top_p));
    mix(static_cast<std::uint64_t>(sampling.top_k));
    mix(sampling.seed);
    mix(sampling.position);
  } else if (tokens.size() >= 3 && hash % 5 != 0) {
    return tokens[tokens.size() - 3];
  }
  return static_cast<std::int32_t>((hash >> 20) % kToyVocabulary);
}

ToyAnswer toy_answer(const Request& request, std::int32_t eos) {
  ToyAnswer answer;
  std::vector<std::int32_t> tokens = request.prompt;
  while (true) {
    const std::int32_t token =
        toy_next(tokens, {request.temperature, request.top_p, request.top_k, request.seed, tokens.size()});
    if (token < 0) return {answer.tokens, Finish::failed};
    tokens.push_back(token);
    answer.tokens.push_back(token);
    if (token == eos || std::count(request.stop.begin(), request.stop.end(), token) != 0)
      return {answer.tokens, Finish::stop};
    if (answer.tokens.size() == u(request.max_tokens)) return answer;
  }
}

ToyModel::ToyModel(Arena& arena, const BufferRegistry& registry, ServingLimits limits, std::int32_t page_size)
    : registry_(registry),
      limits_(limits),
      page_size_(page_size),
      page_bytes_(static_cast<std::uint64_t>(page_size) * sizeof(std::int32_t)),
      pool_(arena.lease({"toy pool", static_cast<std::uint64_t>(limits.pages) * page_bytes_, Role::kv_pool, Dtype::i32,
                         ByteRange{0, page_bytes_}})) {}

StepKey ToyModel::key(const StepShape& shape) const {
  StepKey key;
  key.phase = shape.phase;
  key.step = "toy";
  key.rows = keys_alike ? 1 : shape.rows;
  key.requests = shape.requests;
  key.query_length = shape.query_length;
  key.page_size = page_size_;
  key.leases = {registry_[pool_.id()].allocation};
  return key;
}

/// Poison: a token that nobody wrote is none.
void ToyModel::load(Driver& driver) {
  const std::vector<std::int32_t> poison(u(std::int64_t{limits_.pages} * page_size_), -1);
  write_array(driver, pool_, poison);
  settle_writes(driver);
  ++loads;
}

void ToyModel::prepare(Recorder& recorder, const StepShape&) {
  recorder.entry(Fact::written, pool_.address(), static_cast<std::uint64_t>(limits_.pages) * page_bytes_,
                 Origin::initialised_once, "ToyModel::load");
}

void ToyModel::record(Recorder& recorder, const StepShape& shape, const StepPlaces& places) {
  recorded.push_back(shape);
  if (on_record) on_record();
  if (syncs && syncs(shape)) check(recorder.driver().synchronize(recorder.stream()), "cudaStreamSynchronize");
  const ToyArgs args{shape, places, pool_.as<std::int32_t>(), limits_.pages, page_size_, &complaints, &fault};
  recorder.launch(toy_append, args);
  recorder.launch(toy_answer_op, args);
}

}  // namespace refrain::test
