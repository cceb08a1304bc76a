#include "runtime/auditor_link.hpp"

#include <exception>
#include <string>
#include <utility>

#include "audit/cupti/refrain_audit.h"
#include "traces/record_text.hpp"

namespace refrain {

AuditorLink::AuditorLink() noexcept
    : describe_(reinterpret_cast<Describe>(refrain_find_("refrain_describe"))),
      listens_(reinterpret_cast<Listens>(refrain_find_("refrain_listens"))) {}

template <class Write>
void AuditorLink::tell(Write&& write) const noexcept {
  if (describe_ == nullptr) return;
  try {
    const std::string text = write();
    (void)describe_(text.data(), text.size());
  } catch (const std::exception&) {
    return;  // out of memory for a sentence to somebody else: the step goes on
  }
}

void AuditorLink::buffer(const Buffer& buffer) const noexcept {
  tell([&] { return buffer_text(buffer); });
}

void AuditorLink::binding(std::string_view name, Address address, std::uint64_t bytes) const noexcept {
  tell([&] { return binding_text({0, 0, address, bytes}, name); });
}

void AuditorLink::graph(std::uint64_t handle, const Graph& graph) const noexcept {
  if (listens_ == nullptr || listens_() != 1) return;
  tell([&] { return graph_text(graph, GraphTie{0, handle}); });
}

AuditWindow::AuditWindow() noexcept : open_(refrain_audit_begin() == 0) {}

void AuditWindow::close() noexcept {
  if (std::exchange(open_, false)) (void)refrain_audit_end();
}

}  // namespace refrain
