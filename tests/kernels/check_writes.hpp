// Does an op write what its contract says, and nothing else? It runs the twin
// three times: on memory as it is, and with every `write` range filled with a
// pattern and then with its complement. A byte that differs between the last two
// was not written. It says nothing about whether the values are right.
#pragma once

#include <cstring>
#include <string>

#include "kernels/op.hpp"
#include "tests/catch.hpp"
#include "tests/kernels/memory.hpp"

namespace refrain::test {

inline bool covers(const Access& access, Address byte) {
  return byte >= access.base + access.range.begin && byte < access.base + access.range.end;
}

/// `exact_only`: what the op may leave as it was stays as it is.
inline void fill_writes(const Contract& contract, int pattern, bool exact_only = false) {
  for (const Access& access : contract.accesses)
    if (access.mode == Mode::write && (!exact_only || access.reach == Reach::exact))
      std::memset(reinterpret_cast<void*>(access.base + access.range.begin), pattern, access.range.size());
}

struct WriteVerdict {
  std::size_t stray = 0;      ///< bytes changed outside every writing access
  std::size_t unwritten = 0;  ///< bytes of an exact write that kept what they held
  std::size_t written = 0;    ///< bytes of exact writes that were proven written
};

inline bool may_change(const Contract& contract, Address byte) {
  for (const Access& access : contract.accesses)
    if (access.mode != Mode::read && covers(access, byte)) return true;
  return false;
}

inline bool must_be_written(const Contract& contract, Address byte) {
  for (const Access& access : contract.accesses)
    if (access.mode == Mode::write && access.reach == Reach::exact && covers(access, byte)) return true;
  return false;
}

/// Leaves the memory as the op leaves it when run on the memory as given.
template <class Args>
WriteVerdict check_writes(const Op<Args>& op, const Args& args, Memory& memory) {
  const Contract contract = op.contract(args);
  const Memory::Photo before = memory.photo();
  const auto run = [&](int pattern) {
    memory.restore(before);
    fill_writes(contract, pattern);
    const Memory::Photo filled = memory.photo();
    op.host(args);
    return std::pair{filled, memory.photo()};
  };
  const auto [filled_a, after_a] = run(0xA5);
  const auto [filled_b, after_b] = run(0x5A);
  WriteVerdict verdict;
  for (std::size_t block = 0; block < before.size(); ++block) {
    for (std::size_t i = 0; i < before[block].size(); ++i) {
      const bool changed = after_a[block][i] != filled_a[block][i] || after_b[block][i] != filled_b[block][i];
      const bool same = after_a[block][i] == after_b[block][i];
      if (!changed && same) continue;  // neither touched nor in a filled range
      const Address byte = memory.address(block, i);
      if (changed && !may_change(contract, byte)) ++verdict.stray;
      if (must_be_written(contract, byte)) same ? ++verdict.written : ++verdict.unwritten;
    }
  }
  memory.restore(before);
  op.host(args);
  return verdict;
}

/// Bytes of the contract's exact writes.
inline std::size_t exact_bytes(const Contract& contract) {
  std::size_t bytes = 0;
  for (const Access& access : contract.accesses)
    if (access.mode == Mode::write && access.reach == Reach::exact) bytes += access.range.size();
  return bytes;
}

/// Runs the op and requires that it keeps its contract to the byte.
template <class Args>
void run_checked(const Op<Args>& op, const Args& args, Memory& memory) {
  const WriteVerdict verdict = check_writes(op, args, memory);
  INFO("op " << op.name);
  CHECK(verdict.stray == 0);
  CHECK(verdict.unwritten == 0);
  CHECK(verdict.written == exact_bytes(op.contract(args)));
}

}  // namespace refrain::test
