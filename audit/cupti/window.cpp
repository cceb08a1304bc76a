#include "audit/cupti/window.hpp"

namespace refrain {

bool Window::must_close(std::uint64_t now_ns) noexcept {
  const bool launched = settings_.launches != 0 && launches_ >= settings_.launches;
  const bool late = settings_.seconds > 0 && static_cast<double>(now_ns - opened_ns_) >= settings_.seconds * 1e9;
  if (launched || late) ask_close();
  return state() == WindowState::closing;
}

}  // namespace refrain
