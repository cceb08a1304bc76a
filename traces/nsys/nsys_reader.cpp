#include "traces/nsys/nsys_reader.hpp"

#include <fmt/format.h>

#include <array>
#include <set>
#include <unordered_map>
#include <utility>

#include "traces/nsys/database.hpp"
#include "traces/nsys/enums.hpp"
#include "traces/nsys/evidence.hpp"
#include "traces/nsys/global_id.hpp"
#include "traces/nsys/nvtx_payload.hpp"
#include "traces/nsys/row_progress.hpp"
#include "traces/trace_assembly.hpp"

namespace refrain {
namespace {

constexpr std::uint64_t kIds = 0xffff'fffe;  // the largest id of 32 bits that is not "none"
constexpr std::uint64_t kTimes = std::uint64_t{1} << 62;

class Reading {
 public:
  Reading(const std::string& path, RecordSink& sink, const ReadProgress& progress)
      : database_(path), sink_(sink), enums_(database_), progress_(database_, progress) {}

  void run() {
    const NsysEvidence evidence(database_);
    sink_.header({"", {"cuda", "", "", evidence.product()}});
    if (database_.has_table("StringIds"))
      strings_.emplace(database_, "SELECT value FROM StringIds WHERE id = ?", "reading table StringIds");
    null_streams();
    calls();
    kernels();
    copies();
    fills();
    graph_replays();
    syncs();
    events();
    made_execs();
    nodes("CUDA_GRAPH_NODE_EVENTS");
    nodes("CUDA_GRAPH_EVENTS");
    memory();
    ranges();
    trace_.emit(sink_, false);
    evidence.tell(sink_, graph_rows_);
    if (bad_rows_ > 0)
      sink_.problem(
          {"bad-row", "a row lacks its times or ids: what it says is missing from what is reported", bad_rows_, 0});
    sink_.end(true);
  }

 private:
  /// Calls use(rows) for each row of a table that is there and whose columns 0 and 1 are times.
  template <std::size_t N, class Use>
  void each_span(const char* table, const std::array<std::string_view, N>& columns, const std::string& where, Use use) {
    if (!database_.has_table(table)) return;
    Rows rows = database_.rows(table, columns, where);
    while (rows.next()) {
      progress_.count();
      const std::uint64_t start = rows.number(0, kTimes, kTimes + 1), end = rows.number(1, kTimes, kTimes + 1);
      if (start > end || end > kTimes)
        ++bad_rows_;
      else
        use(rows, start, end);
    }
  }

  CorrelationKey key(const Rows& rows, int global, int correlation) {
    const auto id = static_cast<std::uint32_t>(rows.number(correlation, 0xffff'ffff));
    return {trace_.process(split(rows.number(global, kTimes)).pid), id};
  }

  std::uint32_t thread(const Rows& rows, int global) {
    const GlobalId id = split(rows.number(global, kTimes));
    return trace_.thread(id.pid, id.tid);
  }

  std::uint32_t string(const Rows& rows, int column) {
    const std::optional<std::int64_t> id = rows.integer(column);
    if (!id || !strings_) return trace_.name("");
    const auto [at, added] = names_.try_emplace(*id, 0);
    if (!added) return at->second;
    strings_->bind(*id);
    at->second = trace_.name(strings_->next() ? strings_->text(0) : std::string_view());
    strings_->reset();
    return at->second;
  }

  void null_streams() {
    constexpr std::array<std::string_view, 2> kColumns = {"processId", "nullStreamId"};
    if (!database_.has_table("TARGET_INFO_CUDA_CONTEXT_INFO")) return;
    Rows rows = database_.rows("TARGET_INFO_CUDA_CONTEXT_INFO", kColumns);
    while (rows.next())
      if (const std::uint64_t stream = rows.number(1, kIds, kUnknownStream); stream != kUnknownStream)
        trace_.null_stream(trace_.process(rows.number(0, 0xff'ffff)), static_cast<std::uint32_t>(stream));
  }

  void calls() {
    constexpr std::array<std::string_view, 6> kColumns = {"start",  "end",          "globalTid",
                                                          "nameId", "?returnValue", "?correlationId"};
    each_span("CUPTI_ACTIVITY_KIND_RUNTIME", kColumns, "", [&](const Rows& rows, auto start, auto end) {
      const std::int64_t code = rows.integer(4).value_or(0);
      trace_.call({start, end, key(rows, 2, 5), thread(rows, 2), string(rows, 3), static_cast<std::int32_t>(code)});
    });
  }

  /// Columns 2 to 5 of every table of device work: device, stream, process, correlation id.
  TracedWork work(const Rows& rows, std::uint64_t start, std::uint64_t end, WorkKind kind) {
    TracedWork work;
    work.key = key(rows, 4, 5);
    work.event.start_ns = start;
    work.event.end_ns = end;
    work.event.process = work.key.process;
    work.event.device = static_cast<std::uint32_t>(rows.number(2, kIds));
    work.event.stream = static_cast<std::uint32_t>(rows.number(3, kIds, kUnknownStream));
    work.event.kind = kind;
    return work;
  }

  void take_node(TracedWork& work, const Rows& rows, int node) {
    work.event.graph_node = rows.number(node, ~std::uint64_t{0} >> 1);
    // CUPTI numbers nodes in the low half, below the graph exec's own id.
    work.exec = static_cast<std::uint32_t>(work.event.graph_node >> 32);
  }

  void kernels() {
    constexpr std::array<std::string_view, 8> kColumns = {"start",        "end",
                                                          "deviceId",     "streamId",
                                                          "globalPid",    "?correlationId",
                                                          "?graphNodeId", "shortName|demangledName"};
    each_span("CUPTI_ACTIVITY_KIND_KERNEL", kColumns, "", [&](const Rows& rows, auto start, auto end) {
      TracedWork kernel = work(rows, start, end, WorkKind::kernel);
      take_node(kernel, rows, 6);
      kernel.event.name = string(rows, 7);
      trace_.work(kernel);
    });
  }

  void copies() {
    constexpr std::array<std::string_view, 11> kColumns = {
        "start",        "end",   "deviceId", "streamId", "globalPid", "?correlationId",
        "?graphNodeId", "bytes", "copyKind", "?srcKind", "?dstKind"};
    each_span("CUPTI_ACTIVITY_KIND_MEMCPY", kColumns, "", [&](const Rows& rows, auto start, auto end) {
      TracedWork copy = work(rows, start, end, WorkKind::copy);
      take_node(copy, rows, 6);
      copy.event.bytes = rows.number(7, kTimes);
      copy.event.direction = enums_.direction(rows.number(8, kIds, kIds));
      copy.event.source_space = enums_.space(rows.number(9, kIds, kIds));
      copy.event.space = enums_.space(rows.number(10, kIds, kIds));
      trace_.work(copy);
    });
  }

  void fills() {
    constexpr std::array<std::string_view, 9> kColumns = {
        "start", "end", "deviceId", "streamId", "globalPid", "?correlationId", "?graphNodeId", "bytes", "?memKind"};
    each_span("CUPTI_ACTIVITY_KIND_MEMSET", kColumns, "", [&](const Rows& rows, auto start, auto end) {
      TracedWork fill = work(rows, start, end, WorkKind::fill);
      take_node(fill, rows, 6);
      fill.event.bytes = rows.number(7, kTimes);
      fill.event.space = enums_.space(rows.number(8, kIds, kIds));
      trace_.work(fill);
    });
  }

  void graph_replays() {
    constexpr std::array<std::string_view, 7> kColumns = {
        "start", "end", "deviceId", "streamId", "globalPid", "?correlationId", "?graphExecId"};
    each_span("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", kColumns, "", [&](const Rows& rows, auto start, auto end) {
      TracedWork replay = work(rows, start, end, WorkKind::graph);
      replay.exec = static_cast<std::uint32_t>(rows.number(6, kIds));
      trace_.work(replay);
      ++graph_rows_;
    });
  }

  template <std::size_t N, class Use>
  void each(const char* table, const std::array<std::string_view, N>& columns, const std::string& where, Use use) {
    if (!database_.has_table(table)) return;
    Rows rows = database_.rows(table, columns, where);
    while (rows.next()) {
      progress_.count();
      use(rows);
    }
  }

  void syncs() {
    constexpr std::array<std::string_view, 4> kColumns = {"globalPid", "correlationId", "?streamId", "?eventId"};
    each("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", kColumns, "", [&](const Rows& rows) {
      CallFacts facts;
      facts.key = key(rows, 0, 1);
      facts.stream = static_cast<std::uint32_t>(rows.number(2, kIds, kUnknownStream));
      facts.object = rows.number(3, kIds);
      trace_.facts(facts);
    });
  }

  void events() {
    constexpr std::array<std::string_view, 4> kColumns = {"globalPid", "correlationId", "eventId", "?streamId"};
    each("CUPTI_ACTIVITY_KIND_CUDA_EVENT", kColumns, "", [&](const Rows& rows) {
      CallFacts facts;
      facts.key = key(rows, 0, 1);
      facts.object = rows.number(2, kIds);
      facts.stream = static_cast<std::uint32_t>(rows.number(3, kIds, kUnknownStream));
      trace_.facts(facts);
    });
  }

  void made_execs() {
    constexpr const char* kTable = "CUDA_GRAPH_EVENTS";
    constexpr std::array<std::string_view, 3> kColumns = {"start", "globalTid", "?graphExecId"};
    each(kTable, kColumns, "", [&](const Rows& rows) {
      const std::uint64_t exec = rows.number(2, kIds);
      if (exec != 0) trace_.made({rows.number(0, kTimes), thread(rows, 1), static_cast<std::uint32_t>(exec)});
    });
  }

  /// Exports of 2022 tell of nodes in the table that tells of graphs today.
  void nodes(const char* table) {
    constexpr std::array<std::string_view, 4> kColumns = {"start", "globalTid", "?graphNodeId", "?originalGraphNodeId"};
    constexpr std::uint64_t kNodes = ~std::uint64_t{0} >> 1;
    each(table, kColumns, "", [&](const Rows& rows) {
      TracedNode node{rows.number(2, kNodes), rows.number(3, kNodes), rows.number(0, kTimes)};
      if (node.node == 0) return;
      node.process = trace_.process(split(rows.number(1, kTimes)).pid);
      node.thread = thread(rows, 1);
      trace_.node(node);
    });
  }

  void memory() {
    constexpr std::array<std::string_view, 5> kColumns = {"globalPid", "?correlationId", "address", "bytes",
                                                          "?memKind"};
    each("CUDA_GPU_MEMORY_USAGE_EVENTS", kColumns, "", [&](const Rows& rows) {
      CallFacts facts;
      facts.key = key(rows, 0, 1);
      facts.address = rows.number(2, ~std::uint64_t{0} >> 1);
      facts.bytes = rows.number(3, kTimes);
      facts.space = enums_.space(rows.number(4, kIds, kIds));
      if (facts.key.id != 0) trace_.facts(facts);
    });
  }

  /// `text`, or what `textId` names.
  std::uint32_t text(const Rows& rows, int text, int id) {
    const std::string_view direct = rows.text(text);
    return direct.empty() ? string(rows, id) : trace_.name(direct);
  }

  /// The domains of the runtime's own ranges: in these a range `step` is a step, and its payload the rows in use.
  void own_domains() {
    constexpr std::array<std::string_view, 4> kColumns = {"globalTid", "?domainId", "?text", "?textId"};
    each("NVTX_EVENTS", kColumns, "WHERE \"eventType\" = 75", [&](const Rows& rows) {
      if (trace_.text(text(rows, 2, 3)) == "refrain")
        own_domains_.emplace(split(rows.number(0, kTimes)).pid, rows.number(1, kTimes, kTimes));
    });
  }

  // Marks have no end; a domain's or category's own record has neither.
  void ranges() {
    constexpr std::array<std::string_view, 14> kColumns = {
        "start",       "end",          "globalTid",   "?text",        "?textId",     "?domainId",    "?jsonText",
        "?jsonTextId", "?uint64Value", "?int64Value", "?uint32Value", "?int32Value", "?doubleValue", "?floatValue"};
    own_domains();
    each_span("NVTX_EVENTS", kColumns, "WHERE \"end\" IS NOT NULL", [&](const Rows& rows, auto start, auto end) {
      const std::uint32_t name = text(rows, 3, 4);
      trace_.range({start, end, thread(rows, 2), name});
      const bool own = !own_domains_.empty() &&
                       own_domains_.contains({split(rows.number(2, kTimes)).pid, rows.number(5, kTimes, kTimes)});
      const bool step = own && trace_.text(name) == "step";
      const std::string_view meant = step ? std::string_view("real_rows") : trace_.text(name);
      trace_.note(nvtx_payload(rows, 6, meant, strings_ ? &*strings_ : nullptr), step);
    });
  }

  Database database_;
  RecordSink& sink_;
  NsysEnums enums_;
  RowProgress progress_;
  TraceAssembly trace_;
  std::optional<Rows> strings_;
  std::unordered_map<std::int64_t, std::uint32_t> names_;          // of StringIds
  std::set<std::pair<std::uint64_t, std::uint64_t>> own_domains_;  // process and NVTX's id
  std::uint64_t bad_rows_ = 0, graph_rows_ = 0;
};

}  // namespace

void read_nsys(const std::string& path, RecordSink& sink, const ReadProgress& progress) {
  Reading(path, sink, progress).run();
}

bool looks_like_nsys(std::string_view head) {
  return head.starts_with(std::string_view("SQLite format 3\0", 16));
}

}  // namespace refrain
