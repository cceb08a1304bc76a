#include "audit/cupti/live_blocks.hpp"

#include <algorithm>
#include <iterator>

namespace refrain {
namespace {

/// No number of the driver's, and none of LiveDescriptions'.
constexpr std::uint64_t kBlockNumber = std::uint64_t{1} << 47;

}  // namespace

void LiveBlocks::listen(CallStream& stream) {
  stream_ = &stream;
  gone_.clear();
  for (auto& [address, block] : alive_) block.born.reset();  // before the window
  stream_->follow_allocator(followed_);
}

void LiveBlocks::unlisten() {
  if (stream_ == nullptr) return;
  for (const auto& [address, block] : alive_)
    if (was_given_back(address, block.bytes)) write(address, block, std::nullopt);
  stream_ = nullptr;
}

void LiveBlocks::follow(bool on) {
  followed_ = on;
  if (stream_ != nullptr) stream_->follow_allocator(on);
}

/// The hook holds back what happens in a capture until it has ended and the graph's private pool is known. A block that
/// is told in one belongs to a capture that the hook does not know of: nothing can be said of such blocks.
bool LiveBlocks::is_out_of_order() {
  if (stream_ == nullptr || !stream_->captures()) return false;
  stream_->follow_allocator(false);
  return true;
}

void LiveBlocks::taken(Address address, std::uint64_t bytes, bool fresh) {
  if (address == 0 || bytes == 0 || bytes > ~address || is_out_of_order()) return;
  auto at = alive_.lower_bound(address);
  if (!fresh && at != alive_.end() && at->first == address) {
    at->second.bytes = std::max(at->second.bytes, bytes);
    return;
  }
  if (at != alive_.begin() && address - std::prev(at)->first < std::prev(at)->second.bytes) --at;
  while (at != alive_.end() && at->first < address + bytes) retire(at++);
  Block block{kBlockNumber | ++numbers_, bytes, std::nullopt};
  if (fresh && stream_ != nullptr) block.born = stream_->tick();
  alive_.emplace(address, block);
}

void LiveBlocks::given_back(Address address) {
  if (is_out_of_order()) return;
  if (const auto known = alive_.find(address); known != alive_.end()) retire(known);
}

bool LiveBlocks::was_given_back(Address address, std::uint64_t bytes) const {
  auto at = gone_.lower_bound(address);
  if (at != gone_.begin() && address - std::prev(at)->first < std::prev(at)->second) return true;
  return at != gone_.end() && at->first - address < bytes;
}

void LiveBlocks::retire(Blocks::iterator block) {
  const auto& [address, gone] = *block;
  if (stream_ != nullptr) {
    const bool named = stream_->leads_into(address, gone.bytes);
    if (named || was_given_back(address, gone.bytes)) write(address, gone, stream_->tick());
    if (named) gone_[address] = std::max(gone_[address], gone.bytes);
  }
  alive_.erase(block);
}

void LiveBlocks::write(Address address, const Block& block, std::optional<std::uint64_t> died) {
  Buffer buffer;
  buffer.name = "a block of the caching allocator";
  buffer.base = address;
  buffer.bytes = block.bytes;
  buffer.allocation = block.number;
  buffer.born = block.born;
  buffer.died = died;
  stream_->add_buffer(buffer);
}

}  // namespace refrain
