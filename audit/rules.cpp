#include "audit/rules.hpp"

#include "audit/rules/checks.hpp"

namespace refrain {
namespace {

constexpr const char* kGraph = "a graph";
constexpr const char* kContracts = "a graph whose nodes have contracts";
constexpr const char* kSteps = "a recording of calls with its steps marked as ranges";

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
    {.id = "RF102",
     .name = "sync-in-step",
     .summary = "The host waits for the device in the middle of a step.",
     .severity = Severity::error,
     .evidence = kSteps,
     .explanation =
         "A stream, event or device synchronize between two launches of a step leaves the device idle until the host "
         "has woken up and launched again. The wait after the last launch is how a step's result is awaited, and no "
         "finding.",
     .fix = "Keep the value on the device, or wait once, after the step's last launch.",
     .check = check_rf102},
    {.id = "RF103",
     .name = "pageable-copy",
     .summary = "A graph or a step copies from or to pageable host memory.",
     .severity = Severity::error,
     .evidence = "a graph whose copies show their kinds of memory, a recording of calls with its steps marked, or a "
                 "trace of the work inside replays",
     .explanation =
         "The node holds the raw host address of capture time. A launch stages the bytes on the host and waits for "
         "it; a replay reads what lies at that address by then, which for a stack variable or a freed list is "
         "anything. In a step outside a graph such a copy, and any blocking one, makes the host wait; the sync that "
         "follows it is the same cause.",
     .fix =
         "Use pinned memory that lives as long as the graph, and asynchronous copies, or keep the data on the device.",
     .check = check_rf103},
    {.id = "RF104",
     .name = "poll-storm",
     .summary = "A step queries streams or events 64 times or more without handing out work.",
     .severity = Severity::warning,
     .evidence = kSteps,
     .explanation =
         "Each cudaStreamQuery or cudaEventQuery takes the driver's lock, which launches need too. Queries by the "
         "step's own thread are counted, not those of others, and not the few that a caching allocator makes between "
         "launches.",
     .fix = "Wait once for an event, or poll mapped memory that the step's last kernel writes.",
     .check = check_rf104},
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
    {.id = "RF106",
     .name = "implicit-sync",
     .summary = "A step makes a call that synchronises the device implicitly.",
     .severity = Severity::warning,
     .evidence = kSteps,
     .explanation =
         "cudaMalloc, cudaFree, pinning host memory and cudaDeviceSetLimit may wait for all work on the device, and a "
         "fill on the legacy stream for all blocking streams, though none is a sync by name.",
     .fix = "Allocate and pin before the first step; fill on the step's own stream.",
     .check = check_rf106},
    // 2: workspaces.
    {.id = "RF201",
     .name = "alloc-in-capture",
     .summary = "Memory is allocated or freed during a capture, outside the graph.",
     .severity = Severity::error,
     .evidence = "the calls made during the capture, with their return codes",
     .explanation =
         "cudaMalloc and its kin kill a capture in global and thread_local mode, and in relaxed mode run at once and "
         "leave no node. A library that makes its handle or its workspace on first use does so here. Between two "
         "exchanges of the capture mode it is an allocator that grows the graph's pool: a note.",
     .fix = "Allocate before the capture, and run every library once before it.",
     .check = check_rf201},
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
    {.id = "RF203",
     .name = "alloc-unbalanced",
     .summary = "A graph allocates memory that it does not free.",
     .severity = Severity::warning,
     .evidence = kGraph,
     .explanation =
         "The memory of an allocation node without a free node outlives the launch. A second launch of the graph exec "
         "fails, or with auto-free frees all but the last; capturing again adds more. It is an error when a timeline "
         "shows that one graph exec was launched more than once.",
     .fix = "Free it inside the captured region after its last use, or allocate it before the capture.",
     .check = check_rf203},
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
    {.id = "RF206",
     .name = "workspace-grown",
     .summary = "A workspace grew after the capture, and the graph names the old memory.",
     .severity = Severity::error,
     .evidence =
         "a graph with kernel arguments or contracts, and buffers with names, roles and when they were born and died",
     .explanation =
         "A later, larger batch made the framework free the workspace and allocate a larger one of the same name. "
         "Every graph that was captured before keeps the old address. Rules RF401 and RF402 leave such a buffer to "
         "this one.",
     .fix = "Size workspaces for the largest shape before the first capture.",
     .check = check_rf206},
    {.id = "RF207",
     .name = "workspace-shared-unordered",
     .summary = "Two unordered branches of a graph use one workspace.",
     .severity = Severity::error,
     .evidence = "a graph whose workspaces have roles; contracts say who writes, else kernel arguments tell who may",
     .explanation =
         "Each branch takes the workspace for its own partial results or counters, as a library does that keeps one a "
         "handle or a stream. Run at once, one branch finds what the other wrote. A race is told here when both nodes "
         "write a workspace or a scratch and no other buffer is hit; a writer and a reader that lack an edge are "
         "RF307. Where kernels without contracts are handed one workspace it is a warning: they may just read.",
     .fix = "Give each branch a workspace of its own, or order the branches.",
     .check = check_rf207},
    {.id = "RF208",
     .name = "free-unordered",
     .summary = "A free node is not ordered after a user of the memory.",
     .severity = Severity::error,
     .evidence = "a graph with free nodes; kernel arguments or contracts make it sure",
     .explanation =
         "The free depends on the wrong branch: memory can be handed out again while a kernel of the other branch uses "
         "it. Without kernel arguments every kernel downstream of the allocation counts as a user.",
     .fix = "Free on the stream of the last user, or wait for its event.",
     .check = check_rf208},
    {.id = "RF209",
     .name = "memory-growth",
     .summary = "A program takes memory in every step or for every capture and does not give it back.",
     .severity = Severity::warning,
     .evidence = "a recording of calls, with its steps marked or graphs captured repeatedly",
     .explanation = "What cudaMalloc and its kin have handed out and not taken back, or what cudaMemGetInfo said is "
                    "free, is compared at the end of each step, and at each capture of one graph. A finding needs four "
                    "rises in a row up to the last, so that warming up is none. Memory allocated inside a capture that "
                    "failed, and still held at the end, is one as well. Calls that merely stall a step are RF106.",
     .fix = "Free in a step what the step allocates; destroy graphs before capturing again; let the pool of a failed "
            "capture go.",
     .check = check_rf209},
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
         "is NaN: what lies in page 0 reaches real rows. Such entries must name a real block: the planner writes them "
         "so, or pad_fix repoints them on the device.",
     .fix =
         "Let the planner fix the whole list itself (plan_grouped: fix_padding), or launch pad_fix over it after the "
         "planner and before the consumer.",
     .check = check_rf304},
    {.id = "RF305",
     .name = "pad-fix-unordered",
     .summary = "The pad-fix has no order to the consumer of the padding.",
     .severity = Severity::error,
     .evidence = kContracts,
     .explanation =
         "Whoever fixes the padding is in the graph, but in parallel to its consumer or after it, so that it helps by "
         "luck only.",
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
    {.id = "RF308",
     .name = "pad-rows-unwritten",
     .summary = "Bytes of an output are written by no node for sure.",
     .severity = Severity::error,
     .evidence = kContracts,
     .explanation =
         "Rows past the real ones, or rows that a kernel skips, keep what an earlier replay wrote or what the "
         "memory held. A reduction over all rows spreads it. A write through an index may miss a byte and does not "
         "count.",
     .fix = "Write every row of the bucket on every replay.",
     .check = check_rf308},
    {.id = "RF309",
     .name = "programmatic-edge-without-wait",
     .summary = "A kernel starts before the one that it depends on has ended, and never waits for it.",
     .severity = Severity::error,
     .evidence = "a graph whose programmatic edges lead to kernels with contracts",
     .explanation =
         "A programmatic edge (programmatic dependent launch) lets its consumer start as soon as the producer's blocks "
         "have triggered. It is ordered only by griddepcontrol.wait, executed by every block of the consumer before it "
         "touches memory or ends; a block that ends without it also breaks the order of what comes behind. Where the "
         "producer never triggers, the consumer starts at its end, but what it wrote need not be visible: a warning. A "
         "consumer that waits may read before it does what ran two kernels ahead, never what the one right ahead "
         "writes, nor, where that one triggers before it waits itself, what those write that it waits for; of a paged "
         "cache to which one of them appends, only tokens of earlier steps.",
     .fix = "Call cudaGridDependencySynchronize() first thing in the consumer, or launch it without the attribute.",
     .check = check_rf309},
    {.id = "RF310",
     .name = "null-block-written",
     .summary = "A node writes bytes that are reserved, such as the null block of a KV pool.",
     .severity = Severity::error,
     .evidence = "a graph whose nodes have contracts and whose KV pool says which bytes are reserved",
     .explanation =
         "Padding points at the null block, so every padded row reads it. Pad rows with slot 0 write there, and "
         "from then on it holds numbers, or NaN, of some request.",
     .fix = "Give pad rows a slot that is skipped, and let no kernel write the reserved bytes.",
     .check = check_rf310},
    {.id = "RF311",
     .name = "stale-padding",
     .summary = "A replay reads more of an input than the host wrote for it.",
     .severity = Severity::error,
     .evidence = "a graph with contracts and entry facts, or with a recording of the copies before its launches",
     .explanation =
         "The host writes the real rows of a static input, and the graph reads all rows of the bucket: those "
         "behind keep positions, slots or ids of an earlier, larger step.",
     .fix = "Write the whole padded range before every launch.",
     .check = check_rf311},
    // 4: pointers.
    {.id = "RF401",
     .name = "stale-pointer",
     .summary = "A node points into memory that was freed.",
     .severity = Severity::error,
     .evidence = "a graph with kernel arguments or contracts, and when its buffers were born and died",
     .explanation =
         "A graph keeps the addresses of capture time. A tensor that was dropped, or a workspace that another "
         "owner freed, leaves it with an address that nothing backs. Arguments are searched for pointers word by "
         "word, inside structs too. Where a recording shows the launches, a death counts when a launch came after "
         "it or still can: a graph exec that was destroyed or updated without one is no finding.",
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
    {.id = "RF403",
     .name = "host-pointer-lifetime",
     .summary = "A copy or a callback of a graph names host memory that was freed.",
     .severity = Severity::error,
     .evidence = "a graph with its copies, and when host buffers were born and died",
     .explanation =
         "The host address is baked into the node and read again at every launch. A local variable, a temporary "
         "list or a pinned buffer that went back to its pool leaves the graph reading what came to lie there. "
         "Freed host memory matters when the graph was launched after that or still can be.",
     .fix = "Let the owner of the graph hold the host memory, pinned, for as long as a graph exec names it.",
     .check = check_rf403},
    {.id = "RF404",
     .name = "unknown-pointer",
     .summary = "A node is handed an address that no allocation covers.",
     .severity = Severity::error,
     .evidence = "a graph that a runtime recorded: it asks its arena and the driver about every address of a contract",
     .explanation =
         "Every address that a contract names is looked up when the capture ends: in the arena's leases, then with the "
         "driver (BUFFER_ID). Memory that neither knows was freed before, was never the device's (pageable host "
         "memory), or is an address computed wrongly. Words of a kernel's parameters are not judged: a number that is "
         "no address is no fault.",
     .fix = "Hand the node memory of the arena or of the driver, or register the host memory.",
     .check = check_rf404},
    {.id = "RF405",
     .name = "baked-scalar",
     .summary = "A number of the host's at capture time is baked into a kernel's parameters or its grid.",
     .severity = Severity::error,
     .evidence =
         "a recording with two captures of one bucket, for other lengths and in other memory, with the kernels' "
         "parameters (refrain verify --twice)",
     .explanation =
         "A length, count or offset that the host passes by value is a constant of the graph: a replay for a longer "
         "context or another batch uses the captured one, in silence. Of two captures, words that lead into a buffer "
         "in both are pointers and may move; any other word that differs was such a number. A grid that differs is a "
         "warning: more blocks than have work may be harmless.",
     .fix =
         "Pass it through device memory that the host writes before every launch, or capture one graph for each value.",
     .check = check_rf405},
    {.id = "RF406",
     .name = "input-rebound",
     .summary = "An input was bound to another buffer after the capture, and replays read the old one.",
     .severity = Severity::error,
     .evidence = "a recording that ties graphs to their launches, with records that say where inputs are bound",
     .explanation =
         "A graph holds the address that an input had when it was captured. When the engine binds the name to another "
         "buffer and the old one stays alive, every address is valid and every replay reads values of an earlier "
         "step. Only a table of what is bound where can tell; the runtime records it.",
     .fix = "Copy new values to the captured place, or capture again after the input moved.",
     .check = check_rf406},
    {.id = "RF407",
     .name = "pinned-staging-race",
     .summary = "Pinned memory that a graph copies from is written while a launch may still read it.",
     .severity = Severity::error,
     .evidence = "a recording that ties graphs to their launches, with the calls in between",
     .explanation =
         "A copy node reads pinned memory when the device comes to it, which can be long after the launch "
         "returned. A write before a wait that covers the launch (its stream, the device, an event recorded after "
         "it) reaches the running replay. Only calls are seen as writes; those of host code are seen where the "
         "runtime records them.",
     .fix = "Wait for an event recorded after the launch before writing, or use a ring of slots.",
     .check = check_rf407},
    {.id = "RF408",
     .name = "extent-overrun",
     .summary = "A node reaches past the end of its buffer.",
     .severity = Severity::error,
     .evidence = "a graph with contracts, copies or fills, and the sizes of its buffers",
     .explanation =
         "The range of an access, a copy or a fill ends after its buffer does. In an arena or a pool the bytes "
         "behind it belong to another buffer, so that no sanitizer sees it.",
     .fix = "Size the buffer for the bucket, or bound the node by the buffer.",
     .check = check_rf408},
    {.id = "RF409",
     .name = "input-not-refreshed",
     .summary = "An input was written before the first launch of a graph and not before a later one.",
     .severity = Severity::warning,
     .evidence = "a recording that ties graphs to their launches, with the calls in between",
     .explanation =
         "Buffers that a graph reads, does not write, and that copies filled between its capture and its first "
         "launch are inputs of the step. One that is left out while others are written keeps the value of an "
         "earlier step. Weights, KV pools, state and what is initialised once are left alone, and so are launches "
         "after eager kernels, which may have written anything.",
     .fix = "Write every input before every launch, or fill it with a value that changes nothing.",
     .check = check_rf409},
    {.id = "RF410",
     .name = "pageable-race",
     .summary = "A launch may read bytes that a copy from pageable memory has not delivered yet.",
     .severity = Severity::error,
     .evidence = "a recording that ties graphs to their launches, with the calls in between",
     .explanation =
         "cudaMemcpy from pageable memory returns when the bytes are staged. The legacy stream waits for the rest; "
         "a launch on a non-blocking stream does not. An event of the legacy stream, or a wait for it or for the "
         "device, orders the two. Where nothing shows what a launch reads, only copies over 256 KiB count: below "
         "that no stale read was measured.",
     .fix = "Synchronize the legacy stream after the copy, or copy on the launching stream from pinned memory.",
     .check = check_rf410},
    // 5: work that escaped the capture, and captures that failed.
    {.id = "RF501",
     .name = "uncaptured-work",
     .summary = "Work was launched on a stream outside the capture by the capturing thread.",
     .severity = Severity::error,
     .evidence = "the calls made during the capture, with their return codes",
     .explanation =
         "CUDA lets it pass in silence. It runs once, at once, and is missing from the graph: the replay is faster "
         "and wrong.",
     .fix = "Launch on the capturing stream, or fork the other stream into the capture by events.",
     .check = check_rf501},
    {.id = "RF502",
     .name = "eager-sync-copy",
     .summary = "A blocking copy or fill was made during a capture.",
     .severity = Severity::error,
     .evidence = "the calls made during the capture, with their return codes",
     .explanation =
         "cudaMemcpy, cudaMemcpyToSymbol and cudaMemset go to the legacy stream, work at once and leave no node, "
         "with code 0. What the replay needed of them is never done again.",
     .fix = "Use the asynchronous form on the capturing stream, or copy before the capture.",
     .check = check_rf502},
    {.id = "RF503",
     .name = "cross-thread",
     .summary = "A call of another thread killed a capture.",
     .severity = Severity::error,
     .evidence = "the calls made during the capture, with their return codes",
     .explanation =
         "A global capture forbids unsafe calls to every thread of the process. thread_local mode lets the others "
         "go on, but a device synchronize, and a wait for the capturing stream, still kill it.",
     .fix = "Capture in thread_local mode; keep device-wide waits of other threads out with a lock.",
     .check = check_rf503},
    {.id = "RF504",
     .name = "legacy-stream",
     .summary = "Work was put on the legacy stream during a capture.",
     .severity = Severity::error,
     .evidence = "the calls made during the capture, with their return codes",
     .explanation =
         "Beside a non-blocking capturing stream it runs at once and no replay repeats it. Beside a blocking one "
         "it comes back 906 and kills the capture. The usual source is a library that launches on stream 0.",
     .fix = "Pass the capturing stream to every launch, and make it a non-blocking one.",
     .check = check_rf504},
    {.id = "RF505",
     .name = "capture-failed",
     .summary = "A capture failed by how it was built.",
     .severity = Severity::error,
     .evidence = "the calls made during the capture, with their return codes",
     .explanation =
         "A fork that was not joined (904), a wait for work outside the capture (905) or in another one (902), a "
         "graph launched into the capturing stream, an end on a forked stream (903) or by another thread (908). "
         "The first violation is the finding; the 901s after it are its consequences. An external event makes a "
         "node and does not join.",
     .fix = "Join every fork, keep outside work outside, and end the capture where it began.",
     .check = check_rf505},
    {.id = "RF506",
     .name = "module-load-in-capture",
     .summary = "A module was loaded or unloaded, or a kernel used for the first time, during a capture.",
     .severity = Severity::error,
     .evidence = "the calls made during the capture, with their return codes",
     .explanation =
         "Older drivers refuse it and the capture is dead; newer ones let it pass, and the finding is a warning. A "
         "warm-up that missed a path, an empty kernel cache or a garbage collector brings it about.",
     .fix = "Load every module and launch every kernel once before the capture.",
     .check = check_rf506},
    // 6: the graph as such.
    {.id = "RF601",
     .name = "launch-cost",
     .summary = "A graph has many small fills or host copies, which the host pays for at every launch.",
     .severity = Severity::warning,
     .evidence = "a graph whose fills and copies show their sizes and kinds of memory",
     .explanation = "A chain of kernels is launched in near-constant time. A fill of up to 4,096 bytes costs the host "
                    "about 0.8 us and a copy from or to pinned memory about 1.2 us, at every launch (measured on an "
                    "H200). Eight such nodes, child graphs included, cost more than the launch of a whole step.",
     .fix = "Zero small ranges inside a kernel; bring all host inputs of a step in with one copy.",
     .check = check_rf601},
    {.id = "RF602",
     .name = "tiny-graph",
     .summary = "A step launches many graphs of a few nodes each.",
     .severity = Severity::warning,
     .evidence = "a recording that ties graphs to their launches, with its steps marked",
     .explanation = "A launch costs the host as much for one node as for twenty. A step that is cut into eight or more "
                    "graphs of at most four nodes pays for each of them what the whole step would cost as one graph.",
     .fix = "Capture the step into one graph, or as few as its breaks allow.",
     .check = check_rf602},
    {.id = "RF603",
     .name = "census-drift",
     .summary = "Two captures of one bucket do not hold the same nodes.",
     .severity = Severity::warning,
     .evidence = "an input with several captures of one bucket",
     .explanation = "Graphs of one recording with the same name, phase and bucket are compared by how many nodes of "
                    "each kind and name they hold, bodies included. A node that is missing the second time ran "
                    "elsewhere, or the code took another path: the bucket does not say all that the capture depends "
                    "on. Launch dims and arguments are not compared here.",
     .fix = "Make what is captured depend on the bucket alone, or put what it depends on into the bucket.",
     .check = check_rf603},
    {.id = "RF604",
     .name = "branch-explosion",
     .summary = "A graph spreads into more parallel kernels than a device can hold at once.",
     .severity = Severity::warning,
     .evidence = kGraph,
     .explanation = "A device holds 128 grids at once. Kernels at the same depth of a graph have no order among them; "
                    "when there are more, the rest waits, and every fork and join makes the launch dearer.",
     .fix = "Put the branches on a few streams, or make one kernel of them.",
     .check = check_rf604},
    {.id = "RF605",
     .name = "empty-graph",
     .summary = "A graph has no nodes.",
     .severity = Severity::warning,
     .evidence = kGraph,
     .explanation =
         "The capture saw no work. It was launched on a stream that was not being captured, ran once, and no replay "
         "will run it again. Where the recording shows those calls, rules RF501, RF502 and RF504 report them instead.",
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
    {.id = "RF607",
     .name = "empty-conditional-body",
     .summary = "A body of a conditional node has no nodes.",
     .severity = Severity::error,
     .evidence = "a graph that shows the bodies of its conditional nodes",
     .explanation = "Before CUDA 12.8 (driver 570) the launch of such a graph hangs. It is an error where the driver "
                    "is known to be older, a note where it is known to be newer, and a warning where the input does "
                    "not say. A body that the input could not show is RF606.",
     .fix = "Capture the missing work, or an empty node, into the body.",
     .check = check_rf607},
    // 7: the serving timeline.
    {.id = "RF701",
     .name = "eager-between-replays",
     .summary = "A step launches kernels one by one between two replays.",
     .severity = Severity::warning,
     .evidence = kSteps,
     .explanation = "The graph breaks there: the host launches what the graph could have held, and the device waits "
                    "for it. Kernels before the first replay of a step or after its last are no finding, and neither "
                    "are those of other threads.",
     .fix = "Capture these kernels too.",
     .check = check_rf701},
    {.id = "RF702",
     .name = "rebuild-in-steady-state",
     .summary = "Graph execs are built again and again for a launch or two, or updates are refused in a step.",
     .severity = Severity::warning,
     .evidence = "a recording of calls",
     .explanation =
         "Capturing and instantiating cost 1 to 6 us a node. Four or more graph execs that were given up, left "
         "lying for another of their bucket, or updated from another graph, after at most two launches, are "
         "a graph that never comes to be replayed. New parameters from the same graph are no rebuild. "
         "cudaGraphExecUpdate that comes back 910 in a step costs the update and then the "
         "instantiation; the first node that differs is named where the recording holds both graphs. A "
         "cache that fills keeps its graph execs and is no finding.",
     .fix = "Keep one graph exec a shape, and let the captured work depend on the shape alone.",
     .check = check_rf702},
    {.id = "RF703",
     .name = "module-load-in-steady-state",
     .summary = "A module is loaded or a kernel first used in a step after the first ones.",
     .severity = Severity::warning,
     .evidence = kSteps,
     .explanation = "Loading takes milliseconds and holds a lock that launches need. The first three steps of a name "
                    "may do so: they are the warm-up. Inside a capture it is RF506.",
     .fix = "Load every module and take every path once before serving.",
     .check = check_rf703},
    {.id = "RF704",
     .name = "eager-fallback",
     .summary = "Steps that replayed a graph launch their kernels one by one from some step on.",
     .severity = Severity::warning,
     .evidence = kSteps,
     .explanation =
         "A batch that no longer finds its graph, because its padding could not be had or its graph was evicted, falls "
         "back to eager launches in silence. Steps are compared with those of the same name: four or more by graph, "
         "then four or more without, up to the end. Names that run both ways in turn are left alone.",
     .fix = "Allocate what padding needs before the first step, count fallbacks, and say why each one happened.",
     .check = check_rf704},
    {.id = "RF705",
     .name = "launch-gap",
     .summary = "The device stands idle inside steps while the host prepares a replay.",
     .severity = Severity::warning,
     .evidence = "a profiler's trace with device records, and steps",
     .explanation =
         "What lies between a step's begin and its last graph launch, less what the device worked there. A quarter of "
         "the step or more, at least 50 us, in three steps and half of the steps of a kind, is a finding. A step that "
         "is one graph launch and nothing else has none, and where the host waited or launched kernels in between, "
         "RF102, RF103 and RF701 name the cause.",
     .fix = "Prepare a step while the one before it runs, and plan on the device.",
     .check = check_rf705},
    {.id = "RF706",
     .name = "serialised-exec",
     .summary = "One graph exec is launched on two streams that nothing orders.",
     .severity = Severity::warning,
     .evidence = "a recording of calls",
     .explanation = "CUDA runs a graph exec once at a time: a second launch waits for the first on whatever stream it "
                    "is. The overlap that two streams were meant for does not happen, and one stream stalls the other. "
                    "Waits of the host, events between the streams and streams that are the same order the launches.",
     .fix = "Instantiate the graph once for each stream.",
     .check = check_rf706},
    {.id = "RF707",
     .name = "shared-communicator-overlap",
     .summary = "Two graphs with collectives of one communicator are launched on streams that nothing orders.",
     .severity = Severity::warning,
     .evidence = "a recording that ties graphs to their launches, with the parameters of their NCCL kernels",
     .explanation =
         "Each rank may run the two graphs in another order, and then all of them wait for ever. NCCL asks that work "
         "of one communicator is ordered. The communicator is the first word of an NCCL kernel's parameters.",
     .fix = "Give each graph a communicator of its own, or order the launches.",
     .check = check_rf707},
    // 8: what the input cannot show. Errors here make exit code 3, not 1.
    {.id = "RF801",
     .name = "graph-contents-not-visible",
     .summary = "Graphs were launched whose contents are not in the input.",
     .severity = Severity::error,
     .evidence = "a recording of calls",
     .explanation = "Every launch of a graph exec should lead to a graph that the recording describes. Where it does "
                    "not, the recording began after the capture, or the recorder could not look inside, and a report "
                    "without findings says nothing about what ran.",
     .fix = "Record from before the first capture on.",
     .check = check_rf801},
    {.id = "RF802",
     .name = "records-dropped",
     .summary = "Records of the input are missing or could not be read.",
     .severity = Severity::error,
     .evidence = "a recording",
     .explanation = "The file was cut, its writer died or paused, or records are damaged. What was read is true, and "
                    "findings stand; what was not found proves nothing.",
     .fix = "Record again, and let the program end its recording.",
     .check = check_rf802},
    {.id = "RF803",
     .name = "no-cuda-data",
     .summary = "The input holds no call, no graph and no replay check.",
     .severity = Severity::error,
     .evidence = "any input",
     .explanation = "A recorder that was attached to the wrong process, or too late, writes a valid file with nothing "
                    "in it. It must not pass for a clean one.",
     .fix = "Record the process that drives the GPU, from its start.",
     .check = check_rf803},
    {.id = "RF804",
     .name = "unmatched-device-work",
     .summary = "The device did work whose call is not in the input.",
     .severity = Severity::error,
     .evidence = "a recording of calls",
     .explanation = "Work behind that of a recorded call on the same stream was handed out later than it, so its call "
                    "was lost; and of a process without any recorded call nothing says what it did when. Steps then "
                    "look cheaper than they were. Work of calls from before the profiler began comes first on its "
                    "stream and is no finding.",
     .fix = "Profile again with the calls of every process traced and larger buffers.",
     .check = check_rf804},
    // 9: what replays gave.
    {.id = "RF901",
     .name = "poison-reaches-output",
     .summary = "Memory that must not matter changes the output.",
     .severity = Severity::error,
     .evidence = "replay checks, as refrain verify writes them",
     .explanation =
         "A replay with pad rows, the null block, tails, unused pages or scratch filled with poison must give the "
         "same bits as one without. One finding a graph names all axes and fills that reached the output.",
     .fix = "Mask before the load, repoint padding, and write in the graph what is read.",
     .check = check_rf901},
    {.id = "RF902",
     .name = "graph-differs-from-eager",
     .summary = "A replay does not give what the step gives eagerly.",
     .severity = Severity::error,
     .evidence = "replay checks, as refrain verify writes them",
     .explanation =
         "The output of a replay is compared with the same step run without a graph, within the tolerance that the "
         "check states; 0 asks for equal bits.",
     .fix = "Look for work that escaped the capture, baked-in values and stale inputs.",
     .check = check_rf902},
    {.id = "RF903",
     .name = "replay-not-repeatable",
     .summary = "Two replays of the same inputs give different bits.",
     .severity = Severity::error,
     .evidence = "replay checks, as refrain verify writes them",
     .explanation = "State that one replay leaves to the next, a race, or floating-point atomics.",
     .fix = "Zero in the graph what the graph accumulates, and order the nodes that share bytes.",
     .check = check_rf903},
    {.id = "RF904",
     .name = "first-nan-node",
     .summary = "The first node of a graph that wrote a NaN.",
     .severity = Severity::note,
     .evidence = "replay checks, as refrain verify writes them",
     .explanation =
         "When an output is not finite, the replay is cut node by node. The node named here is where the NaN came "
         "from; the finding on the output says what it led to.",
     .fix = "Look at what the node reads.",
     .check = check_rf904},
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
