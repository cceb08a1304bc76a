#include "traces/nsys/evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace refrain {
namespace {

constexpr std::array<std::string_view, 2> kNameValue = {"name", "value"};
constexpr std::size_t kExcerpt = 160;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

/// One line, short, and of printing characters alone.
std::string excerpt_of(std::string_view text) {
  std::string out(text.substr(0, kExcerpt));
  std::replace_if(
      out.begin(), out.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return out;
}

bool has(const std::string& text, const char* word) {
  return text.find(word) != std::string::npos;
}

}  // namespace

NsysEvidence::NsysEvidence(Database& database) {
  const bool named = database.has_table("META_DATA_EXPORT") || database.has_table("EXPORT_META_DATA");
  if (!named || !database.has_table("StringIds"))
    database.refuse("reading the database",
                    fmt::format("expected an Nsight Systems export (tables META_DATA_EXPORT and StringIds), found the "
                                "tables {}; make one with nsys export --type sqlite",
                                database.table_names()));
  read_export(database, database.has_table("META_DATA_EXPORT") ? "META_DATA_EXPORT" : "EXPORT_META_DATA");
  if (database.has_table("META_DATA_CAPTURE")) read_capture(database);
  if (database.has_table("DIAGNOSTIC_EVENT")) read_diagnostics(database);
  if (database.has_table("CUPTI_ACTIVITY_KIND_RUNTIME"))
    has_codes_ = database.has_column("CUPTI_ACTIVITY_KIND_RUNTIME", "returnValue");
}

void NsysEvidence::read_export(Database& database, const char* table) {
  std::string product, schema;
  Rows rows = database.rows(table, kNameValue);
  while (rows.next()) {
    if (rows.text(0) == "EXPORT_PRODUCT_VERSION") product = excerpt_of(rows.text(1));
    if (rows.text(0) == "EXPORT_SCHEMA_VERSION") schema = excerpt_of(rows.text(1));
  }
  product_ = fmt::format("Nsight Systems {}, schema {}", product.empty() ? "of an unknown version" : product,
                         schema.empty() ? "unknown" : schema);
}

// Some versions write `PROCESS_0:` before a name, for what one process was launched with.
void NsysEvidence::read_capture(Database& database) {
  bool said = false;
  Rows rows = database.rows("META_DATA_CAPTURE", kNameValue);
  while (rows.next()) {
    std::string_view name = rows.text(0);
    const bool of_process = name.starts_with("PROCESS_");
    if (of_process) name.remove_prefix(std::min(name.size(), name.find(':') + 1));
    const std::string value = lower(rows.text(1));
    if (name == "CUDA_GRAPH_TRACE_OPTIONS:MODE") graph_mode_ = value == "graph";
    if (name != "CUDA_SKIP_SOME_API_CALLS") continue;
    // The session's own word stands over a process's.
    if (!of_process || !said) skips_calls_ = value == "true" || value == "1";
    said = said || !of_process;
  }
}

void NsysEvidence::read_diagnostics(Database& database) {
  constexpr std::array<std::string_view, 1> kText = {"text"};
  Rows rows = database.rows("DIAGNOSTIC_EVENT", kText);
  while (rows.next()) {
    const std::string text = lower(rows.text(0));
    const bool not_all = has(text, "not all");
    if (not_all && has(text, "nvtx")) {
      ++incomplete_ranges_;
    } else if (has(text, "dropped") || has(text, " lost") || (not_all && has(text, "cuda"))) {
      if (lost_++ == 0) first_loss_ = excerpt_of(rows.text(0));
    }
  }
}

void NsysEvidence::tell(RecordSink& sink, std::uint64_t graph_rows) const {
  if (graph_mode_ || graph_rows > 0)
    sink.limit({"graph-mode",
                "graphs were traced as a whole: kernels and copies inside a replay were not recorded; profile with "
                "--cuda-graph-trace=node",
                graph_rows});
  if (skips_calls_)
    sink.limit({"api-calls-skipped",
                "cheap API calls, queries among them, were left out: that one is missing proves "
                "nothing",
                0});
  if (!has_codes_)
    sink.limit({"no-return-codes", "the trace does not say what calls returned: failures do not show", 0});
  if (incomplete_ranges_ > 0)
    sink.limit({"ranges-incomplete", "NVTX ranges may be missing: steps may be too few", incomplete_ranges_});
  if (lost_ > 0)
    sink.problem(
        {"records-dropped",
         fmt::format("the profiler says \"{}\": what it dropped is missing from what is reported", first_loss_), lost_,
         0});
}

}  // namespace refrain
