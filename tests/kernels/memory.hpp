// Poisoned memory for the tests of one op: every array is its own heap block, so
// that a sanitizer sees an overrun, and every block can be photographed, so that a
// test sees which bytes an op changed. A block starts as 0xFF: NaN in every float
// format of the project, -1 as an integer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "graphs/contract.hpp"

namespace refrain::test {

class Memory {
 public:
  using Photo = std::vector<std::vector<std::byte>>;

  template <class T>
  T* take(std::int64_t count) {
    return reinterpret_cast<T*>(take_bytes(static_cast<std::size_t>(count) * sizeof(T)));
  }

  std::byte* take_bytes(std::size_t bytes) {
    blocks_.push_back({std::make_unique<std::byte[]>(bytes), bytes});
    std::memset(blocks_.back().data.get(), 0xFF, bytes);
    return blocks_.back().data.get();
  }

  [[nodiscard]] Photo photo() const {
    Photo out;
    for (const Block& block : blocks_) out.emplace_back(block.data.get(), block.data.get() + block.bytes);
    return out;
  }

  void restore(const Photo& photo) {
    for (std::size_t i = 0; i < photo.size(); ++i) std::memcpy(blocks_[i].data.get(), photo[i].data(), photo[i].size());
  }

  [[nodiscard]] Address address(std::size_t block, std::size_t offset) const {
    return reinterpret_cast<Address>(blocks_[block].data.get() + offset);
  }

 private:
  struct Block {
    std::unique_ptr<std::byte[]> data;
    std::size_t bytes;
  };
  std::vector<Block> blocks_;
};

}  // namespace refrain::test
