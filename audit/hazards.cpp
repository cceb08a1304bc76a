#include "audit/hazards.hpp"

namespace refrain {
namespace {

constexpr const char* kContract = "needs contracts: CUDA does not say what a kernel reads and writes";

constexpr Hazard kHazards[] = {
    {1, "allocation or free in a strict capture", "RF201 RF503", ""},
    {2, "allocation or free in a relaxed capture, or between two exchanges of the mode", "RF201", ""},
    {3, "sync of the device or of the capturing stream in a capture", "RF101 RF503", ""},
    {4, "sync or query of another stream or an outside event in a relaxed capture", "RF102",
     "legal and without effect on the graph: a finding only where the recording marks it as part of a step"},
    {5, "blocking copy or fill that runs at once during a capture", "RF502", ""},
    {6, "launch or copy on a stream outside the capture", "RF501", ""},
    {7, "work on the legacy stream during a capture", "RF504", ""},
    {8, "another thread kills the capture", "RF503", ""},
    {9, "fork that is not joined, wait for another capture, merge of captures", "RF505", ""},
    {10, "buffer freed while a graph names it", "RF401 RF403", ""},
    {11, "buffer freed and another allocated at its address", "RF402 RF206", ""},
    {12, "buffer freed inside a caching allocator", "RF401 RF402",
     "needs the runtime's or the allocator's own records: to the driver the block is still allocated"},
    {13, "input bound to another buffer, the old one alive", "RF406 RF409",
     "needs binding records: every address is valid"},
    {14, "length, shape or seed baked in by value", "RF405 RF603",
     "one capture cannot show it: two captures of one bucket are compared, as refrain verify --twice makes them"},
    {15, "pointer inside a struct that is passed by value", "RF401 RF402",
     "plain pointers are found word by word; an address packed into a TMA descriptor is not a word of its own"},
    {16, "pointer table in device memory", "",
     "the addresses are data in device memory: neither a graph nor a recording of calls holds them"},
    {17, "host pointer of a copy node that is stale", "RF403 RF103", ""},
    {18, "pinned staging buffer rewritten while a replay reads it", "RF407",
     "writes by host code are seen where the runtime records them"},
    {19, "pageable copy inside a graph", "RF103 RF205", ""},
    {20, "host node in a graph", "RF105", ""},
    {21, "library workspace as an allocation node", "RF202", ""},
    {22, "allocation node that is never freed", "RF203", ""},
    {23, "one workspace used by two unordered branches", "RF207",
     "needs contracts, or kernel arguments and the roles of buffers"},
    {24, "edge missing between writer and reader", "RF307 RF306", kContract},
    {25, "programmatic edge without a wait on the device", "RF309", kContract},
    {26, "scratch that is not zeroed inside the graph", "RF301 RF303", kContract},
    {27, "scratch zeroed once that accumulates over replays", "RF301 RF903",
     "needs contracts, or replay checks that compare two replays"},
    {28, "fill that is shorter than what its consumer needs", "RF302", kContract},
    {29, "read of memory that the graph never wrote", "RF306 RF901", "needs contracts, or replay checks with poison"},
    {30, "pad rows that name the null block", "RF304 RF305 RF308 RF901",
     "needs contracts, or replay checks with poison"},
    {31, "warm-up or pad rows that write the null block", "RF310",
     "needs a KV pool that says which bytes are reserved; writes of eager warm-up kernels are not seen"},
    {32, "E4M3 KV without fp32 partials", "RF204", kContract},
    {33, "temporary that shares memory with a live buffer", "RF307 RF402",
     "needs contracts; two buffers at one address are told apart by when they were born and died"},
    {34, "module load or first launch inside a capture", "RF506 RF703", ""},
    {35, "module unloaded or memory remapped after the capture", "RF506 RF401",
     "an unload is seen inside a capture and in a step; memory that is mapped anew at its address keeps its graphs "
     "valid, "
     "so only its owner's records tell whether it is another buffer"},
    {36, "body of a child or conditional node that was not inspected", "RF606 RF607", ""},
    {37, "empty graph, or fewer nodes than expected", "RF605 RF603",
     "fewer nodes than in another build need that graph: refrain diff GOLDEN NEW"},
    {38, "eager kernels between replays", "RF701 RF704", "needs steps that are marked"},
    {39, "host sync between replays", "RF102 RF104 RF106", "needs steps that are marked"},
    {40, "graph exec update that fails", "RF702",
     "an update that was taken leaves no difference between what was asked for and what runs: nothing to see"},
    {41, "lossy or coarse trace that passes for clean", "RF801 RF802 RF803 RF804", ""},
    {42, "device printf or malloc in a captured kernel", "",
     "both live in the kernel's code: a node shows its name and arguments, not what it calls"},
    {43, "access past the end that lands in the neighbour", "RF408", kContract},
};

}  // namespace

std::span<const Hazard> hazards() {
  return kHazards;
}

std::vector<std::string_view> rules_of(const Hazard& hazard) {
  std::vector<std::string_view> ids;
  std::string_view rest = hazard.rules;
  while (!rest.empty()) {
    const auto space = rest.find(' ');
    ids.push_back(rest.substr(0, space));
    rest = space == std::string_view::npos ? std::string_view() : rest.substr(space + 1);
  }
  return ids;
}

}  // namespace refrain
