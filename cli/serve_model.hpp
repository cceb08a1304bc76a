// The models that refrain serve knows, by name, and the options that shape them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/options.hpp"
#include "runtime/arena.hpp"
#include "runtime/model/model.hpp"

namespace refrain {

/// 0, or nothing: as the model has it.
struct ModelFlags {
  std::string model = "llama";
  std::int32_t layers = 0, width = 0, heads = 0, kv_heads = 0, dim = 0, ffn = 0, vocab = 0, page_size = 0;
  std::optional<Dtype> kv;
  bool allow_e4m3_mtp = false;
  std::uint64_t seed = 1;
};

void add_model_flags(Options app, ModelFlags& flags);

/// What must be known before there is a model. Throws Error{usage} for a model that nobody knows.
struct ModelSize {
  std::int32_t vocabulary = 0, page_size = 0;
};
[[nodiscard]] ModelSize size_of_model(const ModelFlags& flags);
/// What the model's leases take of an arena. Throws Error{usage} for what no kernel takes.
[[nodiscard]] ArenaSize model_arena(const ModelFlags& flags, const ServingLimits& limits);
/// Throws Error{usage, refused}.
[[nodiscard]] std::unique_ptr<Model> make_model(const ModelFlags& flags, const BufferRegistry& registry, Arena& arena,
                                                const ServingLimits& limits);

}  // namespace refrain
