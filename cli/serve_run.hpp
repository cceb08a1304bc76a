// Serving a script: requests come at their times, answers are collected, and what became
// of each line is kept beside the engine's own figures.
#pragma once

#include "cli/serve_script.hpp"
#include "runtime/engine/engine.hpp"

namespace refrain {

/// One line of the script.
struct ScriptOutcome {
  std::size_t line = 0;
  std::string refused;  ///< why; empty when it was served
  Completion done;      ///< of one that was
};

struct ServeResult {
  std::string model;
  DeviceInfo device;
  WarmUp warm_up;
  std::vector<ScriptOutcome> requests;  ///< by line
  EngineStats stats;
  double seconds = 0;  ///< of serving

  /// 1 when a step ran eagerly or a request failed, else 0.
  [[nodiscard]] int exit_code() const;
};

/// `speed`: times of the script are divided by it; 0: all come at once. The engine is warm. Throws Error{driver}.
void serve_script(Engine& engine, const std::vector<ScriptedRequest>& script, double speed, ServeResult& result);

[[nodiscard]] std::string serve_text(const ServeResult& result);
/// `refrain.serve/1`, pretty-printed, ending in a newline.
[[nodiscard]] std::string serve_json(const ServeResult& result);

}  // namespace refrain
