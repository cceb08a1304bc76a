// The driver's calls for virtual memory, taken at run time like those of
// graphs/cuda/driver_calls.hpp. All present once load() returns.
#pragma once

#include <cudaTypedefs.h>

namespace refrain {

struct VirtualMemoryCalls {
  PFN_cuMemAddressReserve_v10020 address_reserve = nullptr;
  PFN_cuMemAddressFree_v10020 address_free = nullptr;
  PFN_cuMemCreate_v10020 create = nullptr;
  PFN_cuMemRelease_v10020 release = nullptr;
  PFN_cuMemRetainAllocationHandle_v11000 retain = nullptr;
  PFN_cuMemMap_v10020 map = nullptr;
  PFN_cuMemSetAccess_v10020 set_access = nullptr;
  PFN_cuMemUnmap_v10020 unmap = nullptr;

  /// Throws Error{driver} where the driver is missing or has not one of them.
  [[nodiscard]] static VirtualMemoryCalls load();
};

}  // namespace refrain
