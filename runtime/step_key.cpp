#include "runtime/step_key.hpp"

#include <fmt/format.h>

#include <bit>
#include <functional>
#include <tuple>

namespace refrain {
namespace {

const char* name_of(MlaRecord record) {
  switch (record) {
    case MlaRecord::bf16: return "bf16";
    case MlaRecord::e4m3_656: return "656";
    case MlaRecord::e4m3_584: return "584";
  }
  return "?";
}

const char* name_of(DraftRule rule) {
  return rule == DraftRule::greedy ? "greedy" : "rejection";
}

/// A key differs from the next one in a few low bits: a multiply spreads them, and the rotation lets order count.
class Mixer {
 public:
  void add(std::uint64_t word) noexcept { hash_ = std::rotl(hash_ ^ word, 23) * 0x9e3779b97f4a7c15ULL; }
  /// Two fields of 32 bits at once.
  void add(std::int32_t high, std::int32_t low) noexcept {
    add(std::uint64_t{static_cast<std::uint32_t>(high)} << 32 | static_cast<std::uint32_t>(low));
  }
  [[nodiscard]] std::size_t value() const noexcept { return hash_ ^ hash_ >> 32; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325ULL;
};

/// `3-17,21`
std::string ranges(const std::vector<std::uint64_t>& ascending) {
  std::string text;
  for (std::size_t first = 0; first < ascending.size();) {
    std::size_t last = first;
    while (last + 1 < ascending.size() && ascending[last + 1] == ascending[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", ascending[first]);
    if (last != first) text += fmt::format("-{}", ascending[last]);
    first = last + 1;
  }
  return text.empty() ? "none" : text;
}

std::string addresses(const std::vector<Address>& all) {
  std::string text;
  for (const Address address : all) text += fmt::format("{}{:#x}", text.empty() ? "" : ",", address);
  return text.empty() ? "none" : text;
}

}  // namespace

const char* to_string(Phase phase) noexcept {
  switch (phase) {
    case Phase::prefill: return "prefill";
    case Phase::decode: return "decode";
    case Phase::verify: return "verify";
  }
  return "?";
}

bool StepKey::same_shape(const StepKey& other) const {
  const auto shape = [](const StepKey& k) {
    return std::tie(k.phase, k.step, k.rows, k.query_length, k.requests, k.table_width, k.page_size, k.kv, k.q, k.heads,
                    k.kv_heads, k.dim, k.partitions, k.topk, k.record, k.sinks, k.draft_rule);
  };
  return shape(*this) == shape(other);
}

std::size_t StepKeyHash::operator()(const StepKey& k) const noexcept {
  Mixer mix;
  mix.add(k.rows, k.query_length);
  mix.add(k.requests, k.table_width);
  mix.add(k.page_size, k.heads);
  mix.add(k.kv_heads, k.dim);
  mix.add(k.partitions, k.topk);
  std::uint64_t words = 0;
  for (const auto field : {static_cast<std::uint64_t>(k.phase), static_cast<std::uint64_t>(k.kv),
                           static_cast<std::uint64_t>(k.q), static_cast<std::uint64_t>(k.record),
                           static_cast<std::uint64_t>(k.sinks), static_cast<std::uint64_t>(k.draft_rule)})
    words = words << 8 | field;
  mix.add(words);
  mix.add(std::hash<std::string>{}(k.step));
  mix.add(k.leases.size());
  for (const std::uint64_t lease : k.leases) mix.add(lease);
  for (const Address scale : k.scales) mix.add(scale);
  return mix.value();
}

std::string bucket_name(const StepKey& k) {
  std::string name = fmt::format("{} rows={}", to_string(k.phase), k.rows);
  if (k.query_length != 1) name += fmt::format(" q={}", k.query_length);
  return name;
}

std::string to_string(const StepKey& k) {
  return fmt::format(
      "{} rows={} q={} step={} requests={} table={} page={} kv={} query={} heads={}/{} dim={} splits={} topk={} "
      "record={} sinks={} drafts={} leases={} scales={}",
      to_string(k.phase), k.rows, k.query_length, k.step, k.requests, k.table_width, k.page_size, to_string(k.kv),
      to_string(k.q), k.heads, k.kv_heads, k.dim, k.partitions, k.topk, name_of(k.record), k.sinks ? "yes" : "no",
      name_of(k.draft_rule), ranges(k.leases), addresses(k.scales));
}

}  // namespace refrain
