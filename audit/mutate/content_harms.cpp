// The harms of contents: what a node reads or needs and does not find, what two nodes
// race for, what an output keeps from before. Each question is answered for one piece
// of memory, from the definition of a contract.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "audit/mutate/harms.hpp"
#include "audit/mutate/pieces.hpp"
#include "audit/mutate/site_words.hpp"

namespace refrain::mutate {
namespace {

/// Why a piece is not as a node needs it. `at_other_time`: what would leave it so, or undoes it, runs beside the node
/// or behind it.
enum class Lack { nothing, absent, undone, lost, at_other_time };

/// A need that fails on some of its pieces.
struct Failed {
  std::set<Lack> lacks;
  ByteRange bytes{~std::uint64_t{0}, 0};
  bool all_in_unwritten_output = true, all_in_stale_input = true;
};

using Need = std::tuple<NodeId, BufferId, Fact>;

class Judge {
 public:
  explicit Judge(const Graph& graph) : graph_(graph), paths_(graph), pieces_(pieces_of(graph)) {
    for (const Buffer& buffer : graph.buffers) roles_.push_back(buffer.role);
    for (const Node& node : graph.nodes)
      for (const NodeAccess& access : node.accesses)
        if (roles_[access.buffer] == Role::unknown) roles_[access.buffer] = access.role;
    for (const Piece& piece : pieces_) {
      if (std::any_of(piece.deeds.begin(), piece.deeds.end(), [](const Deed& d) { return d.changes(); }))
        changed_.insert(piece.buffer);
      if (piece.each_launch.contains(Fact::written)) refreshed_.insert(piece.buffer);
    }
  }

  std::vector<Harm> run() {
    for (const Piece& piece : pieces_) {
      for (const Deed& deed : piece.deeds)
        for (const Fact need : deed.needs) look(piece, deed, need);
      look_for_races(piece);
      look_at_output(piece);
      look_at_input(piece);
    }
    add_needs();
    if (!untimely_) harms_.insert(harms_.end(), races_.begin(), races_.end());
    return std::move(harms_);
  }

 private:
  void look(const Piece& piece, const Deed& deed, Fact need) {
    const Lack lack = need == Fact::written ? lacks_contents(piece, deed.node) : lacks(piece, deed.node, need);
    if (lack == Lack::nothing) return;
    Failed& failed = failed_[{deed.node, piece.buffer, need}];
    failed.lacks.insert(lack);
    failed.bytes = {std::min(failed.bytes.begin, piece.range.begin), std::max(failed.bytes.end, piece.range.end)};
    const bool timely = lack != Lack::at_other_time;
    failed.all_in_unwritten_output = failed.all_in_unwritten_output && timely && is_unwritten_output(piece);
    failed.all_in_stale_input = failed.all_in_stale_input && timely && is_stale(piece, deed.node);
  }

  // Once written stays written.
  [[nodiscard]] Lack lacks_contents(const Piece& piece, NodeId node) const {
    if (piece.each_launch.contains(Fact::written) || piece.before.contains(Fact::written)) return Lack::nothing;
    Lack lack = Lack::absent;
    for (const Deed& other : piece.deeds) {
      if (other.node == node || !other.establishes()) continue;
      if (paths_.lead(other.node, node)) return Lack::nothing;
      lack = Lack::at_other_time;
    }
    return lack;
  }

  [[nodiscard]] Lack lacks(const Piece& piece, NodeId node, Fact fact) const {
    const auto last = last_before(piece, node, fact);
    const auto leaves = [&](const Deed* deed) { return deed->gives.contains(fact); };
    const bool given_late = std::any_of(piece.deeds.begin(), piece.deeds.end(), [&](const Deed& d) {
      return d.node != node && leaves(&d) && !paths_.lead(d.node, node);
    });
    for (const Deed& deed : piece.deeds)
      if (matters(deed, fact) && paths_.apart(deed.node, node)) return Lack::at_other_time;
    if (!last.empty()) {
      const auto good = std::count_if(last.begin(), last.end(), leaves);
      if (good == std::ssize(last)) return Lack::nothing;
      if (good > 0) return Lack::at_other_time;
      return given_late ? Lack::at_other_time : given_before(piece, node, fact) ? Lack::undone : Lack::absent;
    }
    if (piece.each_launch.contains(fact)) return Lack::nothing;
    const bool shared = graph_.buffers[piece.buffer].shared;
    if (piece.before.contains(fact)) return !shared && is_left(piece, fact) ? Lack::nothing : Lack::lost;
    return given_late ? Lack::at_other_time : Lack::absent;
  }

  [[nodiscard]] static bool matters(const Deed& deed, Fact fact) { return deed.changes() || deed.gives.contains(fact); }

  [[nodiscard]] bool given_before(const Piece& piece, NodeId node, Fact fact) const {
    return std::any_of(piece.deeds.begin(), piece.deeds.end(),
                       [&](const Deed& deed) { return deed.gives.contains(fact) && paths_.lead(deed.node, node); });
  }

  /// Those before the node that no other one before it follows.
  [[nodiscard]] std::vector<const Deed*> last_before(const Piece& piece, NodeId node, Fact fact) const {
    return last_of(piece, fact, [&](NodeId other) { return paths_.lead(other, node); });
  }

  /// A fact from before the first replay holds before the next one.
  [[nodiscard]] bool is_left(const Piece& piece, Fact fact) const {
    const auto last = last_of(piece, fact, [](NodeId) { return true; });
    return std::all_of(last.begin(), last.end(), [&](const Deed* deed) { return deed->gives.contains(fact); });
  }

  template <class Among>
  [[nodiscard]] std::vector<const Deed*> last_of(const Piece& piece, Fact fact, Among among) const {
    std::vector<const Deed*> last;
    for (const Deed& deed : piece.deeds) {
      if (!matters(deed, fact) || !among(deed.node)) continue;
      const bool followed = std::any_of(piece.deeds.begin(), piece.deeds.end(), [&](const Deed& other) {
        return matters(other, fact) && among(other.node) && paths_.lead(deed.node, other.node);
      });
      if (!followed) last.push_back(&deed);
    }
    return last;
  }

  [[nodiscard]] bool is_unwritten_output(const Piece& piece) const {
    return roles_[piece.buffer] == Role::output && changed_.contains(piece.buffer) &&
           std::none_of(piece.deeds.begin(), piece.deeds.end(), [](const Deed& deed) { return deed.for_sure; });
  }

  /// The host refreshes a part of the input, and not this one; nor does a node.
  [[nodiscard]] bool is_stale(const Piece& piece, NodeId node) const {
    if (roles_[piece.buffer] != Role::input || !refreshed_.contains(piece.buffer) ||
        piece.each_launch.contains(Fact::written))
      return false;
    return std::none_of(piece.deeds.begin(), piece.deeds.end(),
                        [&](const Deed& deed) { return deed.for_sure && paths_.lead(deed.node, node); });
  }

  void look_for_races(const Piece& piece) {
    for (const Deed& a : piece.deeds)
      for (const Deed& b : piece.deeds) {
        if (a.node >= b.node || !paths_.apart(a.node, b.node)) continue;
        const bool plain = a.writes || b.writes;
        const bool mixed = (a.accumulates && b.only_reads) || (b.accumulates && a.only_reads);
        const bool meet = plain && (a.writes || a.reads || a.accumulates) && (b.writes || b.reads || b.accumulates);
        if (!meet && !mixed) continue;
        const Role role = roles_[piece.buffer];
        Harm harm{{"RF307"},
                  fmt::format("{} and {} race for {}", describe(graph_, a.node), describe(graph_, b.node),
                              bytes_in(graph_, piece.buffer, piece.range))};
        if (a.changes() && b.changes() && (role == Role::workspace || role == Role::scratch))
          harm.rules.insert("RF207");
        races_.push_back(std::move(harm));
      }
  }

  void look_at_output(const Piece& piece) {
    if (is_unwritten_output(piece))
      harms_.push_back({{"RF308"}, fmt::format("no node writes {}", bytes_in(graph_, piece.buffer, piece.range))});
  }

  void look_at_input(const Piece& piece) {
    for (const Deed& deed : piece.deeds)
      if (deed.reads && is_stale(piece, deed.node))
        harms_.push_back({{"RF311"},
                          fmt::format("{} reads {}, which nobody refreshes", describe(graph_, deed.node),
                                      bytes_in(graph_, piece.buffer, piece.range))});
  }

  void add_needs() {
    for (const auto& [need, failed] : failed_) {
      const auto [node, buffer, fact] = need;
      const bool worse = fact == Fact::written &&
                         std::any_of(failed_.begin(), failed_.end(), [&, n = node, b = buffer](const auto& other) {
                           const auto [other_node, other_buffer, other_fact] = other.first;
                           return other_node == n && other_buffer == b && other_fact != Fact::written;
                         });
      if (worse || (fact == Fact::written && (failed.all_in_unwritten_output || failed.all_in_stale_input))) continue;
      untimely_ = untimely_ || failed.lacks.contains(Lack::at_other_time);
      harms_.push_back({rules_of(node, buffer, fact, failed),
                        fmt::format("{} needs {} {} and does not find them so", describe(graph_, node),
                                    bytes_in(graph_, buffer, failed.bytes), to_string(fact))});
    }
  }

  [[nodiscard]] std::set<std::string> rules_of(NodeId node, BufferId buffer, Fact fact, const Failed& failed) const {
    const bool untimely = failed.lacks.contains(Lack::at_other_time);
    switch (fact) {
      case Fact::zeroed:
        if (untimely) return {"RF303"};
        if (failed.lacks.contains(Lack::undone)) return {"RF301"};
        return {given_in_part(node, buffer, fact) ? "RF302" : "RF301"};
      case Fact::pad_fixed: return {untimely ? "RF305" : "RF304"};
      default: return {"RF306"};
    }
  }

  /// A node before it gives the fact on some of the bytes that it needs so.
  [[nodiscard]] bool given_in_part(NodeId node, BufferId buffer, Fact fact) const {
    return std::any_of(pieces_.begin(), pieces_.end(), [&](const Piece& piece) {
      const auto needs = [&](const Deed& deed) { return deed.node == node && deed.needs.contains(fact); };
      return piece.buffer == buffer && std::any_of(piece.deeds.begin(), piece.deeds.end(), needs) &&
             given_before(piece, node, fact);
    });
  }

  const Graph& graph_;
  Paths paths_;
  std::vector<Piece> pieces_;
  std::vector<Role> roles_;
  std::set<BufferId> changed_, refreshed_;
  std::map<Need, Failed> failed_;
  bool untimely_ = false;  ///< a missing order already shows in a need: races are its consequences
  std::vector<Harm> harms_, races_;
};

}  // namespace

std::vector<Harm> content_harms(const Graph& graph) {
  return Judge(graph).run();
}

}  // namespace refrain::mutate
