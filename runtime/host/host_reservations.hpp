// Virtual memory for the host driver: addresses that are reserved, and pages behind
// them that come and go. Mapped memory is 0xFF, as fresh device memory may hold
// anything; unmapped memory faults when it is touched, as on a GPU. Memory that is
// shown at two addresses moves into a file without a name when that is asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "runtime/driver.hpp"
#include "runtime/host/memory_file.hpp"

namespace refrain {

class HostReservations {
 public:
  HostReservations() = default;
  HostReservations(const HostReservations&) = delete;
  HostReservations& operator=(const HostReservations&) = delete;
  ~HostReservations();

  [[nodiscard]] Status reserve(Call& call);
  [[nodiscard]] Status unreserve(const Call& call);
  /// `id`: of the mapping, as HostDriver numbers its allocations.
  [[nodiscard]] Status map(const Call& call, std::uint64_t id);
  /// Behind call.address, the memory of the mapping at call.source.
  [[nodiscard]] Status alias(const Call& call, std::uint64_t id);
  [[nodiscard]] Status unmap(const Call& call);

  /// The mapping that holds `address`.
  struct Mapping {
    Address base = 0;
    std::uint64_t bytes = 0, id = 0;
    std::shared_ptr<MemoryFile> file;  // what it and its aliases show; null while it has none
  };
  [[nodiscard]] std::optional<Mapping> find(Address address) const;
  /// Reservations and mappings, for tests that look for leaks.
  [[nodiscard]] std::size_t count() const noexcept { return reserved_.size() + mapped_.size(); }

 private:
  [[nodiscard]] bool is_vacant(const Call& call) const;

  std::map<Address, std::uint64_t> reserved_;  // base -> bytes
  std::map<Address, Mapping> mapped_;          // by base
};

}  // namespace refrain
