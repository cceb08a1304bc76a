// What a program tells the auditor of itself and the driver cannot know: the buffers
// that it cuts out of allocations, where its inputs stand, the contracts of its
// graphs' nodes. Records of refrain.recording/1, one a line, of the types buffer,
// binding and graph. Buffers and bindings are kept for the life of the process, so
// that a window that opens later knows them; a graph is joined at once with what the
// driver shows. It never throws for what it is told: that is refused, and counted.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "audit/cupti/call_stream.hpp"
#include "traces/flat_record.hpp"

namespace refrain {

class LiveDescriptions {
 public:
  /// A window is open and its records go there; until unlisten(), which writes what is still alive.
  void listen(CallStream& stream);
  void unlisten();

  /// False where some record was refused.
  bool take(std::string_view records);

  /// Since the last call of this.
  struct Refused {
    std::uint64_t count = 0;
    std::string first;  ///< why the first one was
  };
  [[nodiscard]] Refused take_refused();

 private:
  class Reader;
  struct Known {
    std::uint64_t allocation = 0;  // the program's own number
    Buffer buffer;                 // under the auditor's
  };

  void record(std::string_view line);
  void buffer(const Buffer& buffer);
  void birth(const Buffer& buffer);
  void retire(std::map<Address, Known>::iterator known);
  void binding(const BindingEvent& event, std::string_view name);
  void graph(std::uint64_t handle, Graph&& graph);
  void number_buffers(Graph& graph);
  [[nodiscard]] bool is_known(const Buffer& buffer) const;

  CallStream* stream_ = nullptr;
  FlatRecord fields_;
  std::map<Address, Known> alive_;  // by base; they do not overlap
  std::map<std::string, BindingEvent, std::less<>> bindings_;
  std::uint64_t numbers_ = 0;
  Refused refused_;
};

}  // namespace refrain
