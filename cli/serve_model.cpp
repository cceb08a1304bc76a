#include "cli/serve_model.hpp"

#include <map>

#include "graphs/error.hpp"
#include "runtime/model/attention_only.hpp"
#include "runtime/model/llama.hpp"

namespace refrain {
namespace {

void set(std::int32_t& to, std::int32_t given) {
  if (given != 0) to = given;
}

/// What both models have.
template <class Shape>
Shape shape_of(const ModelFlags& flags) {
  Shape shape;
  set(shape.layers, flags.layers);
  set(shape.width, flags.width);
  set(shape.heads, flags.heads);
  set(shape.kv_heads, flags.kv_heads);
  set(shape.dim, flags.dim);
  set(shape.vocab, flags.vocab);
  set(shape.page_size, flags.page_size);
  if (flags.kv) shape.kv = *flags.kv;
  shape.allow_e4m3_mtp = flags.allow_e4m3_mtp;
  shape.seed = flags.seed;
  return shape;
}

LlamaShape llama_shape(const ModelFlags& flags) {
  auto shape = shape_of<LlamaShape>(flags);
  set(shape.ffn, flags.ffn);
  return shape;
}

AttentionOnlyShape attention_shape(const ModelFlags& flags) {
  if (flags.ffn != 0)
    throw Error(ErrorKind::usage, "--ffn", "attention_only has no feed-forward; leave it out, or use --model llama",
                "");
  return shape_of<AttentionOnlyShape>(flags);
}

/// Calls use(shape, make) for the model that was named.
template <class Use>
auto with_model(const ModelFlags& flags, Use use) {
  if (flags.model == "llama") return use(llama_shape(flags), static_cast<LlamaModel*>(nullptr));
  if (flags.model == "attention_only") return use(attention_shape(flags), static_cast<AttentionOnlyModel*>(nullptr));
  throw Error(ErrorKind::usage, "--model " + flags.model, "expected llama or attention_only", "");
}

template <class Shape>
void require_fit(const ModelFlags& flags, const Shape& shape, const ServingLimits& limits) {
  if (const std::string reason = unfit(shape, limits); !reason.empty())
    throw Error(ErrorKind::usage, "--model " + flags.model, reason, "");
}

}  // namespace

void add_model_flags(Options app, ModelFlags& flags) {
  static const std::map<std::string, Dtype> kKv{{"fp16", Dtype::fp16}, {"bf16", Dtype::bf16}, {"e4m3", Dtype::e4m3}};
  app.add_option("--model", flags.model, "llama or attention_only, with random weights (llama)");
  app.add_option("--layers", flags.layers, "of the model");
  app.add_option("--width", flags.width, "of its rows");
  app.add_option("--heads", flags.heads, "query heads; attention_only: of its dense layers");
  app.add_option("--kv-heads", flags.kv_heads, "K and V heads, likewise");
  app.add_option("--head-dim", flags.dim, "of a head, likewise");
  app.add_option("--ffn", flags.ffn, "llama: inner width");
  app.add_option("--vocab", flags.vocab, "token ids");
  app.add_option("--page-size", flags.page_size, "tokens a KV page");
  app.add_choice("--kv", flags.kv, kKv, "fp16, bf16 or e4m3");
  app.add_flag("--allow-e4m3-mtp", flags.allow_e4m3_mtp, "admit drafts over an E4M3 cache");
  app.add_option("--weights-seed", flags.seed, "equal seeds are equal models (1)");
}

ModelSize size_of_model(const ModelFlags& flags) {
  return with_model(flags, [](const auto& shape, auto*) { return ModelSize{shape.vocab, shape.page_size}; });
}

ArenaSize model_arena(const ModelFlags& flags, const ServingLimits& limits) {
  return with_model(flags, [&](const auto& shape, auto* model) {
    require_fit(flags, shape, limits);
    return std::remove_pointer_t<decltype(model)>::arena_size(shape, limits);
  });
}

std::unique_ptr<Model> make_model(const ModelFlags& flags, const BufferRegistry& registry, Arena& arena,
                                  const ServingLimits& limits) {
  return with_model(flags, [&](const auto& shape, auto* model) -> std::unique_ptr<Model> {
    return std::make_unique<std::remove_pointer_t<decltype(model)>>(registry, arena, shape, limits);
  });
}

}  // namespace refrain
