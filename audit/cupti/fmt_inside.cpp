// fmt's own code, for the injected library: Debian has it as a shared library
// alone, and a process may have another one. Compiled here once, by fmt's
// header-only form and -fkeep-inline-functions, which emits all of it under the
// names that the other sources call; a name that was missing would fail the link.
#include <fmt/format.h>
