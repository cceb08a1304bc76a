// How far long work is, for whoever shows it: called before each part with its name, and
// once at the end with done == total and an empty name.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace refrain {

using Progress = std::function<void(std::size_t done, std::size_t total, const std::string& name)>;

}  // namespace refrain
