// The small input tables of one step in many variants: other row counts, other
// lengths by request, other pages. All are made up front and lie in one pinned
// block that is never written again, so that a copy in stream order can't race.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/steps/attention/buffers.hpp"

namespace refrain::bench {

class Variants {
 public:
  /// Takes pinned memory. Variant 0 has every row and the whole context, variant 1 one row a request and that row's
  /// token alone. Throws Error{driver}.
  Variants(Driver& driver, const AttentionBuffers& buffers, std::size_t count);
  Variants(const Variants&) = delete;
  Variants& operator=(const Variants&) = delete;
  ~Variants();

  /// Enqueues the copies of one variant's tables. Throws Error{driver}.
  void write(std::size_t variant, Stream stream) const;
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] std::size_t tables() const noexcept { return tables_.size(); }

 private:
  struct Table {
    Address to = 0;
    std::uint64_t offset = 0, bytes = 0;  ///< in a variant's part of the block
  };
  void add(const Lease& to, std::uint64_t bytes);

  Driver& driver_;
  std::size_t count_;
  std::vector<Table> tables_;
  std::uint64_t stride_ = 0;  ///< bytes of one variant
  Address block_ = 0;
};

}  // namespace refrain::bench
