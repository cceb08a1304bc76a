#include "traces/words.hpp"

#include <array>
#include <cstddef>

#include "traces/cut_steps.hpp"

namespace refrain {
namespace {

template <class Enum>
struct Word {
  Enum value;
  const char* text;
};

/// The table is looked up by the enumerator's number, so row i must be enumerator i.
template <class Enum, std::size_t N>
constexpr bool in_order(const std::array<Word<Enum>, N>& table) {
  for (std::size_t i = 0; i < N; ++i)
    if (static_cast<std::size_t>(table[i].value) != i) return false;
  return true;
}

template <class Enum, std::size_t N>
const char* text_in(const std::array<Word<Enum>, N>& table, Enum value) {
  const auto index = static_cast<std::size_t>(value);
  return index < N ? table[index].text : "?";
}

template <class Enum, std::size_t N>
std::optional<Enum> value_in(const std::array<Word<Enum>, N>& table, std::string_view text) {
  for (const Word<Enum>& word : table)
    if (text == word.text) return word.value;
  return std::nullopt;
}

constexpr std::array<Word<Api>, 78> kApis{{
    {Api::begin_capture, "begin_capture"},
    {Api::end_capture, "end_capture"},
    {Api::exchange_capture_mode, "exchange_capture_mode"},
    {Api::stream_is_capturing, "stream_is_capturing"},
    {Api::stream_get_capture_info, "stream_get_capture_info"},
    {Api::stream_synchronize, "stream_synchronize"},
    {Api::stream_query, "stream_query"},
    {Api::device_synchronize, "device_synchronize"},
    {Api::event_query, "event_query"},
    {Api::event_synchronize, "event_synchronize"},
    {Api::event_elapsed_time, "event_elapsed_time"},
    {Api::event_record, "event_record"},
    {Api::event_record_external, "event_record_external"},
    {Api::stream_wait_event, "stream_wait_event"},
    {Api::stream_wait_event_external, "stream_wait_event_external"},
    {Api::memcpy_h2d, "memcpy_h2d"},
    {Api::memcpy_d2h, "memcpy_d2h"},
    {Api::memcpy_d2d, "memcpy_d2d"},
    {Api::memcpy_to_symbol, "memcpy_to_symbol"},
    {Api::memset, "memset"},
    {Api::memcpy_async_h2d_pageable, "memcpy_async_h2d_pageable"},
    {Api::memcpy_async_d2h_pageable, "memcpy_async_d2h_pageable"},
    {Api::memcpy_async_h2d_pinned, "memcpy_async_h2d_pinned"},
    {Api::memcpy_async_d2h_pinned, "memcpy_async_d2h_pinned"},
    {Api::memcpy_async_d2d, "memcpy_async_d2d"},
    {Api::memcpy_2d_async, "memcpy_2d_async"},
    {Api::memcpy_to_symbol_async, "memcpy_to_symbol_async"},
    {Api::memcpy_peer_async, "memcpy_peer_async"},
    {Api::memset_async, "memset_async"},
    {Api::mem_prefetch_async, "mem_prefetch_async"},
    {Api::stream_attach_mem_async, "stream_attach_mem_async"},
    {Api::stream_add_callback, "stream_add_callback"},
    {Api::launch_host_func, "launch_host_func"},
    {Api::launch_kernel, "launch_kernel"},
    {Api::launch_kernel_first_use, "launch_kernel_first_use"},
    {Api::graph_launch, "graph_launch"},
    {Api::graph_upload, "graph_upload"},
    {Api::graph_instantiate, "graph_instantiate"},
    {Api::graph_destroy, "graph_destroy"},
    {Api::graph_exec_destroy, "graph_exec_destroy"},
    {Api::graph_exec_update, "graph_exec_update"},
    {Api::malloc, "malloc"},
    {Api::free, "free"},
    {Api::malloc_host, "malloc_host"},
    {Api::free_host, "free_host"},
    {Api::host_register, "host_register"},
    {Api::malloc_managed, "malloc_managed"},
    {Api::malloc_async, "malloc_async"},
    {Api::free_async, "free_async"},
    {Api::device_set_limit, "device_set_limit"},
    {Api::mem_pool_trim_to, "mem_pool_trim_to"},
    {Api::mem_pool_set_attribute, "mem_pool_set_attribute"},
    {Api::mem_advise, "mem_advise"},
    {Api::mem_address_reserve, "mem_address_reserve"},
    {Api::mem_address_free, "mem_address_free"},
    {Api::mem_map, "mem_map"},
    {Api::mem_unmap, "mem_unmap"},
    {Api::ctx_reset_persisting_l2_cache, "ctx_reset_persisting_l2_cache"},
    {Api::stream_create, "stream_create"},
    {Api::stream_destroy, "stream_destroy"},
    {Api::event_create, "event_create"},
    {Api::event_destroy, "event_destroy"},
    {Api::set_device, "set_device"},
    {Api::func_set_attribute, "func_set_attribute"},
    {Api::func_get_attributes, "func_get_attributes"},
    {Api::occupancy, "occupancy"},
    {Api::get_symbol_address, "get_symbol_address"},
    {Api::mem_get_info, "mem_get_info"},
    {Api::pointer_get_attributes, "pointer_get_attributes"},
    {Api::device_get_attribute, "device_get_attribute"},
    {Api::get_device_properties, "get_device_properties"},
    {Api::device_graph_mem_trim, "device_graph_mem_trim"},
    {Api::module_load, "module_load"},
    {Api::module_unload, "module_unload"},
    {Api::cublas_create, "cublas_create"},
    {Api::add_child_graph_node, "add_child_graph_node"},
    {Api::cublas_gemm, "cublas_gemm"},
    {Api::cublas_gemm_own_workspace, "cublas_gemm_own_workspace"},
}};
static_assert(in_order(kApis));

constexpr std::array<Word<Target>, 11> kTargets{{
    {Target::none, "none"},
    {Target::capturing, "capturing"},
    {Target::forked, "forked"},
    {Target::other, "other"},
    {Target::legacy, "legacy"},
    {Target::per_thread, "per_thread"},
    {Target::outside_event, "outside_event"},
    {Target::captured_event, "captured_event"},
    {Target::foreign_event, "foreign_event"},
    {Target::cuda_malloc_pointer, "cuda_malloc_pointer"},
    {Target::unjoined, "unjoined"},
}};
static_assert(in_order(kTargets));

constexpr std::array<Word<CaptureMode>, 3> kModes{{
    {CaptureMode::global, "global"},
    {CaptureMode::thread_local_, "thread_local"},
    {CaptureMode::relaxed, "relaxed"},
}};
static_assert(in_order(kModes));

constexpr std::array<Word<CheckKind>, 3> kChecks{{
    {CheckKind::poison, "poison"},
    {CheckKind::repeat, "repeat"},
    {CheckKind::eager, "eager"},
}};
static_assert(in_order(kChecks));

constexpr std::array<Word<StepBasis>, 7> kBases{{
    {StepBasis::marked, "marked"},
    {StepBasis::chosen, "chosen"},
    {StepBasis::profiler_step, "profiler_step"},
    {StepBasis::named_range, "named_range"},
    {StepBasis::replay, "replay"},
    {StepBasis::period, "period"},
    {StepBasis::none, "none"},
}};
static_assert(in_order(kBases));

}  // namespace

const char* word_of(Api api) noexcept {
  return text_in(kApis, api);
}

const char* word_of(Target target) noexcept {
  return text_in(kTargets, target);
}

const char* word_of(CaptureMode mode) noexcept {
  return text_in(kModes, mode);
}

const char* word_of(CheckKind kind) noexcept {
  return text_in(kChecks, kind);
}

const char* word_of(StepBasis basis) noexcept {
  return text_in(kBases, basis);
}

template <>
std::optional<Api> find_word<Api>(std::string_view text) noexcept {
  return value_in(kApis, text);
}

template <>
std::optional<Target> find_word<Target>(std::string_view text) noexcept {
  return value_in(kTargets, text);
}

template <>
std::optional<CaptureMode> find_word<CaptureMode>(std::string_view text) noexcept {
  return value_in(kModes, text);
}

template <>
std::optional<CheckKind> find_word<CheckKind>(std::string_view text) noexcept {
  return value_in(kChecks, text);
}

template <>
std::optional<StepBasis> find_word<StepBasis>(std::string_view text) noexcept {
  return value_in(kBases, text);
}

}  // namespace refrain
