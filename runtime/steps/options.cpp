#include "runtime/steps/options.hpp"

#include <fmt/format.h>

#include "graphs/error.hpp"

namespace refrain {
namespace {

constexpr std::int32_t kMaxRows = 1 << 16;
constexpr std::int32_t kMaxContext = 1 << 20;

void require(bool holds, const char* option, const std::string& expected) {
  if (!holds) throw Error(ErrorKind::usage, option, expected, "");
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
    require(fault.xqa_decode || o.grouped(), tried.c_str(),
            fmt::format("needs a group of 8 rows, and a bucket of {} has none", o.bucket_rows()));
  }
}

}  // namespace

void validate(const StepOptions& o) {
  require(o.rows >= 1 && o.rows <= kMaxRows, "--rows", fmt::format("expected 1 to {}, found {}", kMaxRows, o.rows));
  require(o.bucket == 0 || (o.bucket >= o.rows && o.bucket <= kMaxRows), "--bucket",
          fmt::format("expected --rows ({}) to {}, found {}", o.rows, kMaxRows, o.bucket));
  require(o.requests >= 1 && o.requests <= o.rows, "--requests",
          fmt::format("expected 1 to --rows ({}), found {}", o.rows, o.requests));
  require(o.context >= 0 && o.context <= kMaxContext, "--context",
          fmt::format("expected 0 to {}, found {}", kMaxContext, o.context));
  require(o.page_size >= 4 && o.page_size <= 4096 && o.page_size % 4 == 0, "--page-size",
          fmt::format("expected a multiple of 4 from 4 to 4096, found {}", o.page_size));
  validate_faults(o);
}

}  // namespace refrain
