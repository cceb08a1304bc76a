// refrain.graph/1. What was read is written and read again, which must give the same text.
#include <cstdlib>

#include "graphs/readers.hpp"
#include "tests/fuzz/fuzz_support.hpp"

using namespace refrain;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::allow_refusal([&] {
    std::vector<Graph> graphs;
    graphs.push_back(read_graph_json(fuzz::text_of(data, size), "input"));
    const std::string written = write_graph_json(graphs.front());
    if (write_graph_json(read_graph_json(written, "again")) != written) std::abort();
    fuzz::judge(std::move(graphs));
  });
  return 0;
}
