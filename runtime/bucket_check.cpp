#include "runtime/bucket_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>

#include "audit/audit.hpp"
#include "kernels/codec.hpp"
#include "runtime/first_violation.hpp"
#include "runtime/pointer_watch.hpp"
#include "runtime/transfer.hpp"

namespace refrain {
namespace {

std::vector<Buffer> living(const BufferRegistry& registry) {
  std::vector<Buffer> out;
  for (const Buffer& buffer : registry.all())
    if (!buffer.died) out.push_back(buffer);
  return out;
}

/// Made in the same order by the same code: the i-th buffer of the one is that of the other.
bool same_memory(const BufferRegistry& a, const BufferRegistry& b) {
  const std::vector<Buffer> left = living(a), right = living(b);
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), [](const Buffer& x, const Buffer& y) {
    return x.name == y.name && x.bytes == y.bytes && x.role == y.role;
  });
}

bool is_read(Role role) {
  return role == Role::input || role == Role::weights || role == Role::kv_pool || role == Role::state;
}

/// Everything that the step reads and did not make itself.
void copy_inputs(Driver& driver, const Session& from, const Session& to) {
  const std::vector<Buffer> source = living(from.registry), target = living(to.registry);
  for (std::size_t i = 0; i < source.size(); ++i)
    if (is_read(source[i].role))
      check(driver.copy({target[i].base, MemorySpace::device}, {source[i].base, MemorySpace::device}, source[i].bytes,
                        to.stream),
            "cudaMemcpyAsync");
  check(driver.synchronize(to.stream), "cudaStreamSynchronize");
}

std::vector<std::byte> read_pool(Driver& driver, const Session& session) {
  std::vector<std::byte> out;
  for (const Buffer& buffer : living(session.registry)) {
    if (buffer.role != Role::kv_pool) continue;
    out.resize(out.size() + buffer.bytes);
    read_device(driver, std::span(out).last(buffer.bytes), buffer.base);
  }
  return out;
}

void fill_outputs(Driver& driver, const Step& step, std::byte value) {
  for (const OutputTensor& tensor : step.outputs())
    write_device(driver, tensor.address, std::vector<std::byte>(tensor.bytes(), value));
  settle_writes(driver);
}

Output run_eagerly(Driver& driver, Session& s) {
  Recorder recorder(driver, s.registry, s.stream);
  s.step->prepare(recorder);
  fill_outputs(driver, *s.step, std::byte{0});
  s.step->record(recorder);
  check(driver.synchronize(s.stream), "cudaStreamSynchronize");
  return read_output(driver, s.step->outputs());
}

/// The axes that pads bring with them, and the page that nobody owns.
std::vector<PoisonAxis> pad_axes(const Step& step) {
  std::vector<PoisonAxis> axes = step.poison_axes();
  std::erase_if(axes, [](const PoisonAxis& axis) {
    const std::string_view name = axis.name;
    return !name.starts_with("pad ") && name != "null block";
  });
  return axes;
}

std::size_t rounds_of(const std::vector<PoisonAxis>& axes) {
  std::size_t most = 0;
  for (const PoisonAxis& axis : axes) most = std::max(most, axis.fills.size());
  return 1 + most;
}

/// Round 0 has no poison; in round n every axis has its n-th fill, the short lists from their beginning again.
std::string poison(Driver& driver, const std::vector<PoisonAxis>& axes, std::size_t round) {
  std::string said;
  for (const PoisonAxis& axis : axes) {
    if (round == 0) break;
    const Fill fill = axis.fills[(round - 1) % axis.fills.size()];
    axis.apply(driver, fill);
    said += fmt::format("{}{} in {}", said.empty() ? "" : ", ", to_string(fill), axis.name);
  }
  settle_writes(driver);
  return said.empty() ? "no poison" : said;
}

/// `row 3 of out, a pad row`, or nothing where the bits are the same.
std::string first_difference(const Output& output, const Output& expected) {
  for (std::size_t t = 0; t < output.tensors.size(); ++t) {
    const OutputTensor& tensor = expected.tensors[t];
    const std::size_t row_bytes = tensor.bytes() / static_cast<std::size_t>(std::max<std::int64_t>(tensor.rows, 1));
    for (std::int64_t row = 0; row < tensor.rows; ++row) {
      const std::size_t at = static_cast<std::size_t>(row) * row_bytes;
      if (std::memcmp(&output.bytes[t][at], &expected.bytes[t][at], row_bytes) != 0)
        return fmt::format("row {} of {}{} is not what the eager run gives", row, tensor.name,
                           row >= tensor.real_rows ? ", a pad row," : "");
    }
  }
  return {};
}

/// Pads of the attention output are zeros, and of its LSE -inf.
std::string wrong_pad(const Output& output) {
  for (std::size_t t = 0; t < 2; ++t) {
    const OutputTensor& tensor = output.tensors[t];
    const double wanted = t == 0 ? 0.0 : -std::numeric_limits<double>::infinity();
    const std::int64_t row_elements = tensor.heads * tensor.dim;
    for (std::int64_t i = tensor.real_elements(); i < tensor.rows * row_elements; ++i) {
      const double value = static_cast<double>(load_as_float(output.bytes[t].data(), tensor.dtype, i));
      if (value != wanted)
        return fmt::format("row {} of {}, a pad row, holds {} where {} belongs", i / row_elements, tensor.name, value,
                           wanted);
    }
  }
  return {};
}

/// The first byte of the pool that a replay changed otherwise than the eager run did.
std::string wrong_pool(const std::vector<std::byte>& before, const std::vector<std::byte>& after,
                       const BucketCheck::Reference& eager) {
  for (std::size_t i = 0; i < before.size(); ++i) {
    const bool appended = eager.pool_before[i] != eager.pool_after[i];
    if (after[i] != (appended ? eager.pool_after[i] : before[i]))
      return fmt::format("byte {} of the KV pool is {}", i,
                         appended ? "not what the eager run appends" : "written, and by no real row");
  }
  return {};
}

/// `1 row`, `2 rows`
std::string counted(std::int32_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

struct BucketCheck::Graph {
  Graph(Driver& driver, const StepOptions& options) : session(driver, options) {}

  Session session;
  std::optional<Captured> captured;
  std::optional<GraphExec> exec;
};

BucketCheck::BucketCheck(Driver& driver, BucketVerdict& verdict) : driver_(driver), verdict_(verdict) {}

BucketCheck::~BucketCheck() = default;

bool BucketCheck::fail(const StepOptions& o, const std::string& poison, const std::string& what) {
  verdict_.failure =
      fmt::format("{} and {}, {}: {}", counted(o.rows, "row"), counted(o.bucket_rows() - o.rows, "pad"), poison, what);
  return false;
}

bool BucketCheck::judge(const StepOptions& options, const char* when) {
  Session& session = graph_->session;
  PointerWatch(graph_->captured->graph).check(session.driver);
  const std::string violation = first_violation(audit(Subject{{session.recording()}}));
  return violation.empty() || fail(options, when, violation);
}

bool BucketCheck::capture(const StepOptions& options) {
  graph_ = std::make_unique<Graph>(driver_, options);
  ++verdict_.graphs;
  Session& session = graph_->session;
  Recorder recorder(session.driver, session.registry, session.stream);
  std::string refused;
  std::optional<Captured> captured = session.capture(recorder, refused);
  if (!captured) return fail(options, "capture", refused);
  graph_->captured.emplace(std::move(*captured));
  session.step->break_after_capture(session.driver);
  if (!judge(options, "capture")) return false;
  graph_->exec.emplace(session.driver, session.arena, *graph_->captured, session.stream);
  return true;
}

/// What is wrong with it, or nothing.
std::string BucketCheck::replay(Session& eager, const Reference& reference) {
  Session& session = graph_->session;
  copy_inputs(driver_, eager, session);
  fill_outputs(driver_, *session.step, std::byte{0xFF});
  const std::vector<std::byte> before = read_pool(driver_, session);
  {
    RowCounts rows = row_counts(eager.step->options());
    rows.bucket = row_counts(session.step->options()).bucket;
    const auto step = session.driver.step(to_string(eager.step->options().step), rows);
    graph_->exec->launch(session.stream);
    check(session.driver.synchronize(session.stream), "cudaStreamSynchronize");
  }
  ++verdict_.replays;
  const std::string wrong = first_difference(read_output(driver_, session.step->outputs()), reference.output);
  return wrong.empty() ? wrong_pool(before, read_pool(driver_, session), reference) : wrong;
}

bool BucketCheck::try_rows(const StepOptions& options) {
  Session eager(driver_, options);
  eager.driver.pause();
  Reference reference;
  reference.pool_before = read_pool(driver_, eager);
  reference.output = run_eagerly(driver_, eager);
  reference.pool_after = read_pool(driver_, eager);
  const bool same = graph_ != nullptr && same_memory(eager.registry, graph_->session.registry);
  if (!same && !capture(options)) return false;
  ++verdict_.pad_counts;
  if (!all_finite(reference.output)) return fail(options, "eager run", "a real row of the output is not finite");
  if (const std::string wrong = wrong_pad(reference.output); !wrong.empty()) return fail(options, "eager run", wrong);
  const std::vector<PoisonAxis> axes = pad_axes(*eager.step);
  for (std::size_t round = 0; round < rounds_of(axes); ++round) {
    eager.step->upload(driver_);
    const std::string poisoned = poison(driver_, axes, round);
    if (const std::string wrong = replay(eager, reference); !wrong.empty()) return fail(options, poisoned, wrong);
    // Of a new graph the first replay is judged with it; then the recording has served.
    if (!same && round == 0 && !judge(options, "first replay")) return false;
    if (!same && round == 0) graph_->session.driver.pause();
  }
  return true;
}

}  // namespace refrain
