#include "audit/rules/stream_order.hpp"

#include "audit/graph_lives.hpp"

namespace refrain {

bool OrderedAfter::follow(const ApiEvent& call) {
  if (call.code != 0) return false;
  switch (call.api) {
    case Api::device_synchronize:
    case Api::free:  // these two wait for the device
    case Api::free_host: return true;
    case Api::stream_synchronize:
    case Api::stream_query: return orders(call);
    case Api::event_synchronize:
    case Api::event_query: return events_.contains(call.object);
    // A copy to pageable memory has ended when it returns, and with it what came before it in its stream.
    case Api::memcpy_d2h:
    case Api::memcpy_async_d2h_pageable: return ran_at_once(call) && orders(call);
    case Api::event_record:
      if (!ran_at_once(call)) return false;
      if (orders(call))
        events_.insert(call.object);
      else
        events_.erase(call.object);
      return false;
    case Api::stream_wait_event:
      if (ran_at_once(call) && events_.contains(call.object)) streams_.insert(call.stream);
      return false;
    default: return false;
  }
}

bool OrderedAfter::concerns(Api api) noexcept {
  switch (api) {
    case Api::device_synchronize:
    case Api::free:
    case Api::free_host:
    case Api::stream_synchronize:
    case Api::stream_query:
    case Api::event_synchronize:
    case Api::event_query:
    case Api::memcpy_d2h:
    case Api::memcpy_async_d2h_pageable:
    case Api::event_record:
    case Api::stream_wait_event: return true;
    default: return false;
  }
}

}  // namespace refrain
