#include "audit/rules.hpp"

#include "audit/rules/checks.hpp"

namespace refrain {
namespace {

constexpr const char* kGraph = "a graph";
constexpr const char* kContracts = "a graph whose nodes have contracts";

// In the order in which they run and report: by group, then by number. One row a rule.
constexpr Rule kRules[] = {
    // 1: the host in the middle of a step.
    {.id = "RF101",
     .name = "sync-in-capture",
     .summary = "A host sync or query was made during a capture and killed it.",
     .severity = Severity::error,
     .evidence = "the calls made during the capture, with their return codes",
     .explanation =
         "CUDA answers a synchronize or query on the capturing stream, on the device, or on an event of the capture "
         "with 900 or 907 and invalidates the capture; in global and thread_local mode so it does on other "
         "streams. Every later call gives 901. The first such call of a capture is the finding, the rest follows "
         "from it.",
     .fix = "Move the call out of the captured region and keep what it waits for on the device.",
     .check = check_rf101},
    {.id = "RF103",
     .name = "pageable-copy",
     .summary = "A graph copies from or to pageable host memory.",
     .severity = Severity::error,
     .evidence = "a graph whose copies show their kinds of memory",
     .explanation =
         "The node holds the raw host address of capture time. A launch stages the bytes on the host and waits for "
         "it; a replay reads what lies at that address by then, which for a stack variable or a freed list is "
         "anything.",
     .fix = "Use pinned memory that lives as long as the graph, or keep the data on the device.",
     .check = check_rf103},
    {.id = "RF105",
     .name = "host-node",
     .summary = "A graph calls back to the host.",
     .severity = Severity::warning,
     .evidence = kGraph,
     .explanation =
         "The device stops until a thread of the host has run the function. Its argument is the pointer of capture "
         "time, so it sees the same object in every replay.",
     .fix = "Call back after the launch, or let a kernel write to mapped memory that the host polls.",
     .check = check_rf105},
    // 2: workspaces.
    {.id = "RF202",
     .name = "alloc-node",
     .summary = "A graph allocates memory when it runs.",
     .severity = Severity::warning,
     .evidence = kGraph,
     .explanation =
         "An allocation during capture becomes a node; the usual source is a library that got no workspace, such as "
         "cuBLAS with split-K. The graph then allows one instantiation at a time and holds memory that no plan of "
         "the server counts.",
     .fix = "Allocate before the capture and hand the memory in.",
     .check = check_rf202},
    {.id = "RF204",
     .name = "workspace-dtype",
     .summary = "Partial results of an E4M3 KV pool are kept in half precision.",
     .severity = Severity::error,
     .evidence = kContracts,
     .explanation =
         "Partials over E4M3 K and V must be fp32. A workspace that is cached without the KV dtype in its key hands "
         "out an fp16 one.",
     .fix = "Allocate fp32 partials for E4M3 and key workspaces by the KV dtype.",
     .check = check_rf204},
    {.id = "RF205",
     .name = "workspace-built-on-host",
     .summary = "A plan, workspace or scratch is filled from pageable host memory.",
     .severity = Severity::error,
     .evidence = "a graph whose copies show their kinds of memory and whose buffers have roles",
     .explanation =
         "A counter or a plan that is made from a host list comes in by a pageable copy, which breaks the capture "
         "or is baked into it with a host address. A fill on the device is safe to capture.",
     .fix = "Fill it on the device, on the capturing stream.",
     .check = check_rf205},
    // 3: zeroing, padding, order.
    {.id = "RF301",
     .name = "scratch-not-zeroed",
     .summary = "A scratch that must be zero is not zeroed in every replay.",
     .severity = Severity::error,
     .evidence = kContracts,
     .explanation =
         "A node that adds to a counter or trusts a mask needs it zeroed by a node that happens before it, with no "
         "write in between. What was zeroed once before the first replay does not count when the graph writes "
         "it: the second replay starts from what the first one left.",
     .fix = "Zero it inside the captured region, before its consumer.",
     .check = check_rf301},
    {.id = "RF302",
     .name = "zeroing-short",
     .summary = "A scratch is zeroed on a part of the range that must be zero.",
     .severity = Severity::error,
     .evidence = kContracts,
     .explanation =
         "The zeroing comes before its consumer but ends early, most often because it was sized for a smaller bucket "
         "or in elements instead of bytes.",
     .fix = "Zero the whole range that the consumer needs.",
     .check = check_rf302},
    {.id = "RF303",
     .name = "zeroing-unordered",
     .summary = "A scratch is zeroed with no order to its consumer.",
     .severity = Severity::error,
     .evidence = kContracts,
     .explanation =
         "The zeroing is a node of the graph, but no path leads from it to the consumer: they run in parallel, or "
         "the consumer comes first. Their place in a list of nodes says nothing.",
     .fix = "Add the edge: one stream, or an event between the two.",
     .check = check_rf303},
    {.id = "RF304",
     .name = "pad-fix-missing",
     .summary = "Padding still names the null block when it is used.",
     .severity = Severity::error,
     .evidence = kContracts,
     .explanation =
         "A planner pads its index lists with page 0. The kernel masks those rows by probability 0, but 0 times NaN "
         "is NaN: what lies in page 0 reaches real rows. pad_fix repoints such entries on the device.",
     .fix = "Launch pad_fix after the planner and before the consumer, over the whole list.",
     .check = check_rf304},
    {.id = "RF305",
     .name = "pad-fix-unordered",
     .summary = "The pad-fix has no order to the consumer of the padding.",
     .severity = Severity::error,
     .evidence = kContracts,
     .explanation =
         "The pad-fix is in the graph, but in parallel to the consumer or after it, so that it helps by luck only.",
     .fix = "Add the edge: one stream, or an event between the two.",
     .check = check_rf305},
    {.id = "RF306",
     .name = "read-before-write",
     .summary = "A node reads bytes that nothing has written before it.",
     .severity = Severity::error,
     .evidence = kContracts,
     .explanation =
         "Every byte that a node reads, through an index too, must have been written by a node that happens before "
         "it, or hold when a replay begins. A write through an index establishes nothing, because it may miss "
         "the byte.",
     .fix = "Write it in the graph, or declare the entry fact that makes it hold.",
     .check = check_rf306},
    {.id = "RF307",
     .name = "race",
     .summary = "Two unordered nodes touch the same bytes and one writes.",
     .severity = Severity::error,
     .evidence = kContracts,
     .explanation =
         "No path orders the two nodes, so a replay runs them in either order or at once. Two atomic accumulations "
         "are no race. It is an error when both touch exactly these bytes, a warning when one goes through an "
         "index and may miss the other's.",
     .fix = "Order the two, or give each branch its own memory.",
     .check = check_rf307},
    // 4: pointers.
    {.id = "RF401",
     .name = "stale-pointer",
     .summary = "A node points into memory that was freed.",
     .severity = Severity::error,
     .evidence = "a graph with kernel arguments or contracts, and when its buffers were born and died",
     .explanation =
         "A graph keeps the addresses of capture time. A workspace that grew, or a tensor that was dropped, leaves the "
         "graph with an address that nothing backs. Arguments are searched for pointers word by word, inside "
         "structs too.",
     .fix = "Keep the buffer while a graph names it, or capture again.",
     .check = check_rf401},
    {.id = "RF402",
     .name = "reused-address",
     .summary = "A node points into memory that was freed and belongs to another buffer now.",
     .severity = Severity::error,
     .evidence = "a graph with kernel arguments or contracts, and when its buffers were born and died",
     .explanation =
         "As RF401, but the allocator has handed the address out again: no fault at replay, only wrong numbers in "
         "one buffer or the other.",
     .fix = "Keep the buffer while a graph names it, or capture again.",
     .check = check_rf402},
    // 6: the graph as such.
    {.id = "RF605",
     .name = "empty-graph",
     .summary = "A graph has no nodes.",
     .severity = Severity::warning,
     .evidence = kGraph,
     .explanation =
         "The capture saw no work. It was launched on a stream that was not being captured, ran once, and no replay "
         "will run it again.",
     .fix = "Launch the work on the capturing stream.",
     .check = check_rf605},
    {.id = "RF606",
     .name = "opaque-body",
     .summary = "The body of a child or conditional node is not in the input.",
     .severity = Severity::warning,
     .evidence = kGraph,
     .explanation =
         "What such a node does was not audited. CUDA 13.0 has no call that gives the body of a conditional; a DOT "
         "dump shows it.",
     .fix = "Audit a DOT dump.",
     .check = check_rf606},
};

}  // namespace

std::span<const Rule> rules() {
  return kRules;
}

const Rule* find_rule(std::string_view id) {
  for (const Rule& rule : kRules)
    if (id == rule.id) return &rule;
  return nullptr;
}

}  // namespace refrain
