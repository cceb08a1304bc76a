#include "runtime/steps/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "graphs/error.hpp"
#include "kernels/sparse_mla.hpp"

namespace refrain {
namespace {

constexpr std::int32_t kMaxRows = 1 << 16;
constexpr std::int32_t kMaxContext = 1 << 20;
constexpr std::int64_t kMaxMlaTokens = std::int64_t{1} << 30;  // a slot is an int32

void require(bool holds, const char* option, const std::string& expected) {
  if (!holds) throw Error(ErrorKind::usage, option, expected, "");
}

constexpr std::initializer_list<Fault> kSplitFaults = {Fault::split_scratch_unzeroed, Fault::split_zero_page0_off,
                                                       Fault::split_int32_offsets, Fault::split_grown};

/// What slot 0 holds shows only in the pool itself: a scratch's page 0 is zero, unless a second fault leaves it as it
/// was.
bool shows_unsplit(const FaultSet& faults) {
  return faults.has(Fault::mla_clamp_slot0) && !faults.any_of(kSplitFaults);
}

void validate_faults(const StepOptions& o) {
  for (const FaultInfo& fault : fault_table()) {
    if (!o.faults.has(fault.fault)) continue;
    const std::string tried = fmt::format("--fault {}", fault.name);
    require(fits(fault, o.step), tried.c_str(),
            fmt::format("does not fit step {}; see --list-faults", to_string(o.step)));
    require(fault.fault != Fault::workspace_fp16 || o.kv == Dtype::e4m3, tried.c_str(),
            fmt::format("needs --kv e4m3: with {} partials in fp16 are allowed", to_string(o.kv)));
    const bool needs_pads = fault.fault == Fault::pad_rows_unwritten || fault.fault == Fault::stale_padding ||
                            fault.fault == Fault::null_block_written;
    require(!needs_pads || o.bucket_rows() > o.rows, tried.c_str(),
            fmt::format("needs pad rows, and a bucket of {} has none for {} rows", o.bucket_rows(), o.rows));
    require(o.step != StepKind::grouped || fault.steps.has(StepKind::xqa) || o.grouped(), tried.c_str(),
            fmt::format("needs a group of 8 rows, and a bucket of {} has none", o.bucket_rows()));
    require(fault.fault != Fault::draft_scale_missing || (o.kv == Dtype::e4m3 && o.scales.empty()), tried.c_str(),
            "needs --kv e4m3 and no --scales: only a draft calibrated on the step's own data can lose its scale");
    const bool needs_split = std::find(kSplitFaults.begin(), kSplitFaults.end(), fault.fault) != kSplitFaults.end();
    require(!needs_split || o.splits_pages(), tried.c_str(),
            fmt::format("needs the page split: --page-size 256, found {}", o.page_size));
  }
}

void validate_mla(const StepOptions& o) {
  require(o.page_size == 64 || o.page_size == 256, "--page-size",
          fmt::format("expected 64, or 256 for the page split, found {}", o.page_size));
  require(o.page_size == 64 || o.record == MlaRecord::e4m3_584, "--record",
          "expected 584 with --page-size 256: the page split knows no other record");
  const std::int64_t pages = (o.context + o.page_size - 1) / o.page_size;
  require(
      std::int64_t{o.requests} * pages * o.page_size <= kMaxMlaTokens, "--context",
      fmt::format("expected at most {} tokens of all requests, found {} x {}", kMaxMlaTokens, o.requests, o.context));
  require(o.heads >= 8 && o.heads <= 128 && (o.heads & (o.heads - 1)) == 0, "--heads",
          fmt::format("expected 8, 16, 32, 64 or 128, found {}", o.heads));
  require(o.topk >= 64 && o.topk <= 8192 && o.topk % 64 == 0, "--topk",
          fmt::format("expected a multiple of 64 from 64 to 8192, found {}", o.topk));
  require(o.step != StepKind::mla_decode || o.bucket_rows() <= kMlaDecodeRows, "--rows",
          fmt::format("expected at most {} rows with pads for sparse_mla_decode, found {}; more are a prefill",
                      kMlaDecodeRows, o.bucket_rows()));
}

void validate_attention(const StepOptions& o) {
  require(o.page_size >= 4 && o.page_size <= 4096 && o.page_size % 4 == 0, "--page-size",
          fmt::format("expected a multiple of 4 from 4 to 4096, found {}", o.page_size));
}

void validate_drafts(const StepOptions& o) {
  require(o.drafts >= 1 && o.drafts <= 16, "--drafts", fmt::format("expected 1 to 16, found {}", o.drafts));
  require(o.rows == o.requests * (1 + o.drafts), "--rows",
          fmt::format("expected --requests x (1 + --drafts) = {}, found {}", o.requests * (1 + o.drafts), o.rows));
  require(o.context == 0 || o.context > o.drafts, "--context",
          fmt::format("expected more tokens than --drafts ({}), found {}", o.drafts, o.context));
}

/// As `--record` takes it.
const char* record_name(MlaRecord record) {
  return record == MlaRecord::bf16 ? "bf16" : record == MlaRecord::e4m3_656 ? "656" : "584";
}

}  // namespace

std::string describe(const StepOptions& o) {
  std::string text = fmt::format("{} rows (bucket {}), {} request(s), context {}, page size {}", o.rows,
                                 o.bucket_rows(), o.requests, o.context, o.page_size);
  if (is_mla(o.step))
    return text + fmt::format("{}, {} records, {} heads, topk {}{}", o.splits_pages() ? " split to 64" : "",
                              record_name(o.record), o.heads, o.topk, o.sinks ? ", sinks" : "");
  text += fmt::format(", {} KV", to_string(o.kv));
  if (o.step == StepKind::mtp_verify)
    text += fmt::format(", {} drafts, {}", o.drafts, o.draft_rule == DraftRule::greedy ? "greedy" : "rejection");
  return text;
}

std::string bucket_key(const StepOptions& o) {
  const std::string shape = fmt::format("rows={} page_size={}", o.bucket_rows(), o.page_size);
  if (is_mla(o.step)) return shape + fmt::format(" record={} heads={} topk={}", record_name(o.record), o.heads, o.topk);
  return shape + fmt::format(" kv={}", to_string(o.kv));
}

StepOptions default_options(StepOptions o) {
  const auto fill = [](std::int32_t& option, std::int32_t value) {
    if (option == kByStep) option = value;
  };
  fill(o.requests, o.step == StepKind::mtp_verify ? 3 : 1);
  fill(o.page_size, is_mla(o.step) ? (o.record == MlaRecord::e4m3_584 && !shows_unsplit(o.faults) ? 256 : 64) : 32);
  switch (o.step) {
    case StepKind::mla_prefill: fill(o.rows, 80); break;
    case StepKind::mla_decode: fill(o.rows, 8); break;
    case StepKind::mtp_verify: fill(o.rows, o.requests * (1 + o.drafts)); break;
    default: fill(o.rows, 19);
  }
  return o;
}

void validate(const StepOptions& o) {
  require(o.rows >= 1 && o.rows <= kMaxRows, "--rows", fmt::format("expected 1 to {}, found {}", kMaxRows, o.rows));
  require(o.bucket == 0 || (o.bucket >= o.rows && o.bucket <= kMaxRows), "--bucket",
          fmt::format("expected --rows ({}) to {}, found {}", o.rows, kMaxRows, o.bucket));
  require(o.requests >= 1 && o.requests <= o.rows, "--requests",
          fmt::format("expected 1 to --rows ({}), found {}", o.rows, o.requests));
  require(o.context >= 0 && o.context <= kMaxContext, "--context",
          fmt::format("expected 0 to {}, found {}", kMaxContext, o.context));
  require(o.scales.empty() || (o.step == StepKind::mtp_verify && o.kv == Dtype::e4m3), "--scales",
          fmt::format("read for --step mtp_verify with --kv e4m3 alone, found {} with {}", to_string(o.step),
                      to_string(o.kv)));
  is_mla(o.step) ? validate_mla(o) : validate_attention(o);
  if (o.step == StepKind::mtp_verify) validate_drafts(o);
  validate_faults(o);
}

}  // namespace refrain
