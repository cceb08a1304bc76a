// Contract files. What was read is applied to a graph whose kernel most patterns
// fit, with parameters that hold an address and small numbers.
#include "audit/contracts/apply.hpp"
#include "tests/fuzz/fuzz_support.hpp"

using namespace refrain;

namespace {

Param param(std::uint64_t offset, std::uint64_t value) {
  Param param;
  param.offset = offset;
  param.size = 8;
  for (int byte = 0; byte < 8; ++byte) param.bytes.push_back(static_cast<std::uint8_t>(value >> 8 * byte));
  return param;
}

Graph one_kernel() {
  Graph graph;
  graph.name = "step";
  Buffer buffer;
  buffer.name = "pool";
  buffer.base = 0x7f0000000000;
  buffer.bytes = 1 << 20;
  graph.buffers.push_back(buffer);
  Node node;
  node.kind = NodeKind::kernel;
  node.name = "void kernel<float, 128>(float*, int)";
  node.mangled = "_Z6kernelIfLi128EEvPT_i";
  for (std::uint64_t i = 0; i < 6; ++i) node.params.push_back(param(8 * i, i % 2 == 0 ? buffer.base + 4096 * i : i));
  graph.nodes.push_back(node);
  return graph;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::allow_refusal([&] {
    std::vector<ContractFile> files;
    files.push_back(read_contracts(fuzz::text_of(data, size), "input"));
    std::vector<Recording> recordings(1);
    recordings.front().graphs.push_back(one_kernel());
    const ContractCoverage coverage = apply_contracts(recordings, files);
    (void)coverage_text(coverage, true);
    (void)coverage_json(coverage);
    fuzz::judge(std::move(recordings.front()));
  });
  return 0;
}
