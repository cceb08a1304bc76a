// Puts what has one cause into one group: an item joins the first group that
// shares a key with it (a pair of nodes, a buffer, a giver), and then all its
// keys lead there.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <tuple>
#include <vector>

namespace refrain {

template <class Item>
class Linker {
 public:
  /// What kind of key it is, and up to three ids.
  using Key = std::tuple<int, std::uint64_t, std::uint64_t, std::uint64_t>;

  void add(const Item& item, std::initializer_list<Key> keys) {
    std::size_t group = groups_.size();
    for (const Key& key : keys)
      if (const auto found = group_of_.find(key); found != group_of_.end()) {
        group = found->second;
        break;
      }
    if (group == groups_.size()) groups_.emplace_back();
    groups_[group].push_back(item);
    for (const Key& key : keys) group_of_.emplace(key, group);
  }

  [[nodiscard]] const std::vector<std::vector<Item>>& groups() const noexcept { return groups_; }

 private:
  std::vector<std::vector<Item>> groups_;
  std::map<Key, std::size_t> group_of_;
};

}  // namespace refrain
