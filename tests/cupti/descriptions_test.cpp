// What a program tells the auditor of itself: pieces of allocations, contracts and
// bindings become findings that the driver alone cannot show; what makes no sense is
// refused, counted, and changes nothing.
#include <fmt/format.h>

#include <fstream>
#include <random>
#include <set>

#include "audit/audit.hpp"
#include "tests/catch.hpp"
#include "tests/cupti/live_world.hpp"
#include "traces/record_text.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

constexpr std::uint64_t kStream = 0x5500, kGraph = 0x90, kExec = 0xa0;
constexpr Address kBlock = 0x10000, kPiece = 0x10100;

std::set<std::string> errors_of(Recording recording) {
  const Report report = audit(Subject{{std::move(recording)}});
  std::set<std::string> rules;
  for (const Finding& finding : report.findings())
    if (finding.severity == Severity::error) rules.insert(finding.rule);
  return rules;
}

/// Of 256 bytes, cut out of the block.
Buffer piece(std::uint64_t number, Address base = kPiece) {
  Buffer buffer;
  buffer.name = fmt::format("piece {}", number);
  buffer.base = base;
  buffer.bytes = 256;
  buffer.role = Role::scratch;
  buffer.allocation = number;
  return buffer;
}

std::string gone(Buffer buffer) {
  buffer.died = 0;
  return buffer_text(buffer);
}

/// One kernel that counts up in the piece; `zeroed` where it needs it zeroed. It says when it was first written.
Graph count_up(const Buffer& piece, bool zeroed) {
  Graph graph;
  graph.name = "count";
  graph.buffers = {piece};
  Node node;
  node.op = "count_ids";
  node.has_contract = true;
  node.accesses = {{0, {0, 256}, Mode::read_write, Reach::exact, Role::scratch, Dtype::i32, Certainty::contract}};
  if (zeroed) node.needs = {{Fact::zeroed, 0, {0, 256}}};
  graph.nodes = {node};
  graph.entry = {{Fact::written, 0, {0, 256}, Origin::initialised_once, "its owner"}};
  return graph;
}

/// A program that has the block of the driver and cuts it up itself.
struct Program : LiveWorld {
  Program() { allocate(kBlock, 4096); }
};

/// A captured kernel that is handed the piece.
void capture(LiveWorld& world, std::uint64_t graph = kGraph, std::uint64_t exec = kExec) {
  Buffer pointer = world.fake.memory[kBlock];
  pointer.base = kPiece;
  world.fake.graphs[graph] = kernel_over(pointer);
  world.fake.graphs[graph].graph.buffers = {world.fake.memory[kBlock]};
  world.begin(kStream);
  world.launch(kStream);
  world.end(kStream, graph);
  world.instantiate(graph, exec);
}

std::string tied(const Graph& graph, std::uint64_t handle = kGraph) {
  return graph_text(graph, GraphTie{0, handle});
}

}  // namespace

TEST_CASE("descriptions: a need that a contract tells is judged where the driver shows a bare kernel") {
  for (const bool told : {false, true}) {
    Program world;
    capture(world);
    if (told) CHECK(world.describe(buffer_text(piece(7)) + tied(count_up(piece(7), true))));
    world.replay(kExec, kStream);
    const Recording recording = world.recording();
    REQUIRE(recording.graphs.size() == 1);
    CHECK(recording.graphs[0].nodes[0].name == "step(float*)");  // the driver's word for it stays
    CHECK(errors_of(recording) == (told ? std::set<std::string>{"RF301"} : std::set<std::string>{}));
  }
}

TEST_CASE("descriptions: a piece that was given back is a stale pointer though its allocation lives") {
  Program world;
  world.describe(buffer_text(piece(7)));
  capture(world);
  CHECK(world.describe(tied(count_up(piece(7), false))));
  world.replay(kExec, kStream);
  CHECK(world.describe(gone(piece(7))));
  world.replay(kExec, kStream);
  CHECK(errors_of(world.recording()) == std::set<std::string>{"RF401"});
}

TEST_CASE("descriptions: a piece that was handed to another is a reused address, told as given back or not") {
  for (const bool told : {false, true}) {
    Program world;
    world.describe(buffer_text(piece(7)));
    capture(world);
    world.describe(tied(count_up(piece(7), false)));
    if (told) world.describe(gone(piece(7)));
    CHECK(world.describe(buffer_text(piece(8, kPiece + 128))));
    world.replay(kExec, kStream);
    // Of the first 128 bytes nothing is known but that they were given back: the access begins there.
    CHECK(errors_of(world.recording()) == std::set<std::string>{"RF401"});
  }
  Program world;
  world.describe(buffer_text(piece(7)));
  capture(world);
  world.describe(tied(count_up(piece(7), false)));
  world.describe(gone(piece(7)) + buffer_text(piece(8)));
  world.replay(kExec, kStream);
  CHECK(errors_of(world.recording()) == std::set<std::string>{"RF402"});
}

TEST_CASE("descriptions: pieces that others give back leave a graph alone") {
  Program world;
  world.describe(buffer_text(piece(7)) + buffer_text(piece(8, kPiece + 256)));
  capture(world);
  world.describe(tied(count_up(piece(7), false)));
  world.describe(gone(piece(8, kPiece + 256)));
  world.replay(kExec, kStream);
  CHECK(errors_of(world.recording()).empty());
}

TEST_CASE("descriptions: an allocation takes its pieces along when the driver gets it back") {
  Program world;
  world.describe(buffer_text(piece(7)));
  capture(world);
  world.describe(tied(count_up(piece(7), false)));
  world.free(kBlock);
  world.replay(kExec, kStream);
  CHECK(errors_of(world.recording()) == std::set<std::string>{"RF401"});
}

TEST_CASE("descriptions: an input that moved after the capture is rule 406") {
  Program world;
  world.describe(buffer_text(piece(7)) + binding_text({0, 0, kPiece, 256}, "q"));
  capture(world);
  world.describe(tied(count_up(piece(7), false)));
  world.describe(binding_text({0, 0, kPiece + 512, 256}, "q"));
  world.replay(kExec, kStream);
  CHECK(errors_of(world.recording()) == std::set<std::string>{"RF406"});
}

TEST_CASE("descriptions: what was told before a window is known in it") {
  FakeDriver fake;
  LiveDescriptions descriptions;
  CHECK(descriptions.take(buffer_text(piece(7)) + binding_text({0, 0, kPiece, 256}, "q")));
  TimelineBuilder builder;
  builder.header({"live", {}});
  CallStream stream(builder, fake, {});
  descriptions.listen(stream);
  CHECK(descriptions.take(gone(piece(7))));
  descriptions.unlisten();
  stream.finish({});
  const Recording recording = builder.take();
  REQUIRE(recording.timeline.buffers.size() == 1);
  CHECK_FALSE(recording.timeline.buffers[0].buffer.born);
  CHECK(recording.timeline.buffers[0].buffer.died);
  REQUIRE(recording.timeline.bindings.size() == 1);
  CHECK(recording.timeline.bindings[0].address == kPiece);
}

TEST_CASE("descriptions: two runtimes that number alike are told apart by the auditor's own numbers") {
  LiveWorld world;
  world.describe(buffer_text(piece(1)));
  world.describe(buffer_text(piece(1, kPiece + 256)));
  const Recording recording = world.recording();
  REQUIRE(recording.timeline.buffers.size() == 2);
  CHECK(recording.timeline.buffers[0].buffer.allocation != recording.timeline.buffers[1].buffer.allocation);
}

TEST_CASE("descriptions: a graph on which every kernel has a contract needs no doubt about ranges that are mapped") {
  for (const bool told : {false, true}) {
    LiveWorld world;
    world.driver("cuMemAddressReserve", {.address = kBlock, .bytes = 0x10000});
    world.fake.allocate(kBlock, 4096);
    world.describe(buffer_text(piece(7)));
    capture(world);
    if (told) world.describe(tied(count_up(piece(7), false)));
    world.replay(kExec, kStream);
    CHECK(audit(Subject{{world.recording()}}).was_checked("RF401") == told);
  }
}

TEST_CASE("descriptions: what makes no sense is refused with its reason and changes nothing") {
  struct Case {
    std::string text, reason;
  };
  Graph other = count_up(piece(7), true), copy = other, named = other;
  other.nodes.push_back(other.nodes[0]);
  copy.nodes[0].kind = NodeKind::memset;
  named.nodes[0].mangled = "_Z5otherPf";
  const std::string deep = "{\"type\":\"graph\",\"seq\":0,\"handle\":144,\"graph\":" + std::string(100000, '[') + "\n";
  const std::vector<Case> cases = {
      {"no JSON\n", "expected"},
      {"{\"type\":\"buffer\",\"base\":\n", "expected"},
      {"{\"type\":\"call\",\"seq\":1,\"api\":\"malloc\"}\n", "expected buffer, binding or graph, found \"call\""},
      {"{\"type\":\"buffer\",\"base\":\"0x10\",\"bytes\":8,\"rolle\":\"plan\"}\n", "rolle"},
      {buffer_text(Buffer{}), "expected the base and the bytes"},
      {gone(piece(9)), "expected a buffer that was described before"},
      {binding_text({}, "q"), "where the input stands"},
      {graph_text(count_up(piece(7), true), std::nullopt), "expected the handle"},
      {tied(count_up(piece(7), true), 0x666), "no graph of this handle"},
      {tied(other), "expected its 1 nodes in the order of cudaGraphGetNodes, found 2"},
      {tied(copy), "expected a kernel as node 0, found a memset"},
      {tied(named), "expected _Z4stepPf as node 0, found _Z5otherPf"},
      {deep, "expected"},
      {std::string("\0\xff\n", 3), "expected"},
  };
  for (const Case& c : cases) {
    INFO(c.text.substr(0, 200));
    Program world;
    capture(world);
    world.fake.graphs[kGraph].graph.nodes[0].mangled = "_Z4stepPf";
    CHECK_FALSE(world.describe(c.text + buffer_text(piece(7))));  // the good one behind it counts
    const LiveDescriptions::Refused refused = world.descriptions.take_refused();
    CHECK(refused.count == 1);
    INFO(refused.first);
    CHECK(refused.first.find(c.reason) != std::string::npos);
    world.replay(kExec, kStream);
    const Recording recording = world.recording();
    CHECK_FALSE(recording.graphs[0].nodes[0].has_contract);
    CHECK(errors_of(recording).empty());
  }
}

TEST_CASE("descriptions: the records that the README shows are taken") {
  std::ifstream page(std::string(REFRAIN_SOURCE_DIR) + "/README.md");
  std::string records;
  std::size_t count = 0;
  for (std::string line; std::getline(page, line);)
    if (line.starts_with("{\"type\": ")) records += line + "\n", ++count;
  CHECK(count == 4);
  Program world;
  capture(world, 94210);
  const bool taken = world.describe(records);
  INFO(world.descriptions.take_refused().first);
  CHECK(taken);
}

TEST_CASE("descriptions: damaged text is refused or taken and never more than that") {
  const std::string whole =
      buffer_text(piece(7)) + binding_text({0, 0, kPiece, 256}, "q") + tied(count_up(piece(7), true)) + gone(piece(7));
  std::mt19937_64 random(std::random_device{}());
  for (int round = 0; round < 2000; ++round) {
    std::string text = whole;
    for (int i = 0; i < 1 + round % 4; ++i) text[random() % text.size()] = static_cast<char>(random());
    text.resize(random() % 8 == 0 ? random() % text.size() : text.size());
    Program world;
    capture(world);
    CHECK_NOTHROW(world.describe(text));
    world.replay(kExec, kStream);
    CHECK_NOTHROW(errors_of(world.recording()));
  }
}

TEST_CASE("descriptions: a destroyed graph is described no more") {
  Program world;
  capture(world);
  world.runtime("cudaGraphDestroy_v10000", {.object = kGraph});
  CHECK_FALSE(world.describe(tied(count_up(piece(7), true))));
}

TEST_CASE("descriptions: the body of a conditional node brings its own contracts") {
  Program world;
  WalkedGraph walked = kernel_over(world.fake.memory[kBlock]);
  walked.graph.nodes[0].kind = NodeKind::conditional;
  walked.graph.capture.unseen = {Unseen::bodies};
  world.fake.graphs[kGraph] = walked;
  world.fake.graphs[0x91] = kernel_over(world.fake.memory[kBlock]);
  world.edit(LiveKind::conditional, {.made = 0xabc, .bodies = {0x91}});
  world.instantiate(kGraph, kExec);
  Graph outer;
  outer.nodes.resize(1);
  outer.nodes[0].kind = NodeKind::conditional;
  outer.nodes[0].bodies = {count_up(piece(7), false)};
  CHECK(world.describe(tied(outer)));
  const Recording recording = world.recording();
  REQUIRE(recording.graphs.size() == 1);
  const Graph& body = recording.graphs[0].nodes[0].bodies.at(0);
  CHECK(body.nodes[0].has_contract);
  CHECK(body.buffers.at(0).name == "piece 7");
}
