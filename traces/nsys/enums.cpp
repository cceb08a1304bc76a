#include "traces/nsys/enums.hpp"

#include <array>

namespace refrain {
namespace {

template <class Value>
struct Named {
  std::uint64_t usual = 0;  ///< its number in the exports that were seen
  std::string_view ending;  ///< of its name in the enum table
  Value value;
};

constexpr std::array kSpaces = {
    Named<MemorySpace>{0, "_PAGEABLE", MemorySpace::pageable},
    Named<MemorySpace>{1, "_PINNED", MemorySpace::pinned},
    Named<MemorySpace>{2, "_DEVICE", MemorySpace::device},
    Named<MemorySpace>{3, "_ARRAY", MemorySpace::device},
    Named<MemorySpace>{4, "_MANAGED", MemorySpace::managed},
    Named<MemorySpace>{5, "_DEVICE_STATIC", MemorySpace::device},
    Named<MemorySpace>{6, "_MANAGED_STATIC", MemorySpace::managed},
};

constexpr std::array kDirections = {
    Named<CopyDirection>{1, "_HTOD", CopyDirection::h2d}, Named<CopyDirection>{2, "_DTOH", CopyDirection::d2h},
    Named<CopyDirection>{3, "_HTOA", CopyDirection::h2d}, Named<CopyDirection>{4, "_ATOH", CopyDirection::d2h},
    Named<CopyDirection>{5, "_ATOA", CopyDirection::d2d}, Named<CopyDirection>{6, "_ATOD", CopyDirection::d2d},
    Named<CopyDirection>{7, "_DTOA", CopyDirection::d2d}, Named<CopyDirection>{8, "_DTOD", CopyDirection::d2d},
    Named<CopyDirection>{9, "_HTOH", CopyDirection::h2h},
};

template <class Value, std::size_t N>
std::map<std::uint64_t, Value> decode(Database& database, const char* table, const std::array<Named<Value>, N>& rows) {
  std::map<std::uint64_t, Value> values;
  if (!database.has_table(table)) {
    for (const Named<Value>& row : rows) values[row.usual] = row.value;
    return values;
  }
  constexpr std::array<std::string_view, 2> kColumns = {"id", "name"};
  Rows found = database.rows(table, kColumns);
  while (found.next())
    for (const Named<Value>& row : rows) {
      const std::string_view name = found.text(1);
      // A managed move of the driver (UVM_HTOD) is no copy that a program asked for.
      if (name.ends_with(row.ending) && name.find("_UVM_") == std::string_view::npos)
        values[found.number(0, 1'000'000)] = row.value;
    }
  return values;
}

template <class Value>
Value look_up(const std::map<std::uint64_t, Value>& values, std::uint64_t kind, Value otherwise) {
  const auto at = values.find(kind);
  return at == values.end() ? otherwise : at->second;
}

}  // namespace

NsysEnums::NsysEnums(Database& database)
    : spaces_(decode(database, "ENUM_CUDA_MEM_KIND", kSpaces)),
      directions_(decode(database, "ENUM_CUDA_MEMCPY_OPER", kDirections)) {}

MemorySpace NsysEnums::space(std::uint64_t kind) const {
  return look_up(spaces_, kind, MemorySpace::unknown);
}

CopyDirection NsysEnums::direction(std::uint64_t kind) const {
  return look_up(directions_, kind, CopyDirection::other);
}

}  // namespace refrain
