// How the auditor attaches to CUPTI, says which calls it wants to hear of, and lets go.
#include <fmt/format.h>

#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "audit/cupti/auditor.hpp"
#include "audit/cupti/watched_calls.hpp"

namespace refrain {
namespace {

bool uses_per_thread_streams(std::string_view name) {
  return name.find("_ptsz") != std::string_view::npos || name.find("_ptds") != std::string_view::npos;
}

}  // namespace

bool Auditor::attach() {
  std::string reason;
  if (!cupti_) cupti_ = CuptiCalls::load(reason);
  if (!cupti_) {
    say("cupti-missing", reason);
    return false;
  }
  std::array<char, 256> holder{};
  CUpti_SubscriberParams params{};
  params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  params.subscriberName = "refrain";
  params.oldSubscriberName = holder.data();
  params.oldSubscriberSize = holder.size();
  const CUptiResult result = cupti_->subscribe(&subscriber_, callback, this, &params);
  if (result == CUPTI_SUCCESS) return true;
  const char* text = nullptr;
  (void)cupti_->result_string(result, &text);
  if (holder[0] != '\0')
    say("cupti-held", fmt::format("{} holds CUPTI, which serves one tool at a time; run without it", holder.data()));
  else
    say("cupti-refused", fmt::format("cuptiSubscribe_v2 came back {} ({}); another profiler, debugger or sanitizer may "
                                     "hold CUPTI",
                                     static_cast<int>(result), text != nullptr ? text : "no reason given"));
  return false;
}

void Auditor::enable() {
  const auto enable_all = [&](std::span<const WatchedCall> calls, CUpti_CallbackDomain domain,
                              std::vector<Watched>& table) {
    std::vector<Watched> by_id;
    for (const WatchedCall& call : calls) {
      if (by_id.size() <= call.id) by_id.resize(call.id + 1);
      by_id[call.id] = {&call, find_api(call.name).value_or(ApiName{}), uses_per_thread_streams(call.name)};
    }
    if (table.empty()) table = std::move(by_id);  // the same for each window: a callback may be reading it
    for (const WatchedCall& call : calls)
      if (cupti_->enable_callback(1, subscriber_, domain, call.id) != CUPTI_SUCCESS) ++failures_;
  };
  enable_all(watched_runtime_calls(), CUPTI_CB_DOMAIN_RUNTIME_API, runtime_);
  enable_all(watched_driver_calls(), CUPTI_CB_DOMAIN_DRIVER_API, driver_);
}

/// At the exit of a call: only there may CUPTI be finalized, and without that every launch stays dear.
void Auditor::detach() noexcept {
  (void)cupti_->unsubscribe(subscriber_);
  (void)cupti_->finalize();
  const std::lock_guard lock(mutex_);
  subscriber_ = nullptr;
  detaching_ = false;
  window_.closed();
}

}  // namespace refrain
