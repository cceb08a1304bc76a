// The words of a kernel's parameters that may be pointers: a pointer inside a
// struct that is passed by value stands at a multiple of 8 of the parameter block.
#pragma once

#include <cstring>

#include "graphs/graph.hpp"

namespace refrain {

/// Calls visit(parameter index, byte inside the parameter, word) for each.
template <class Visit>
void each_param_word(const Node& node, Visit visit) {
  for (std::size_t index = 0; index < node.params.size(); ++index) {
    const Param& param = node.params[index];
    for (std::size_t at = (8 - param.offset % 8) % 8; at + 8 <= param.bytes.size(); at += 8) {
      Address word = 0;
      std::memcpy(&word, param.bytes.data() + at, sizeof(word));
      visit(index, at, word);
    }
  }
}

}  // namespace refrain
