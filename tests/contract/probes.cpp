#include "tests/contract/probes.hpp"

namespace refrain::test {
namespace {

constexpr std::uint64_t kBytes = 256;

/// Without functions of its own it is an empty kernel on every driver.
OpLaunch nothing() {
  return {"nothing", {}, {}};
}

Driver::Place device(ProbeScene& s) {
  return {s.device, MemorySpace::device};
}
Driver::Place pinned(ProbeScene& s) {
  return {s.pinned, MemorySpace::pinned};
}
Driver::Place pageable(ProbeScene& s) {
  return {reinterpret_cast<Address>(s.pageable), MemorySpace::pageable};
}

Probe plain(Api api) {
  return [api](ProbeScene& s) { return s.driver.api(api); };
}
Probe on_capture(Api api) {
  return [api](ProbeScene& s) { return s.driver.api(api, s.capture); };
}

Status allocate(ProbeScene& s, MemorySpace space) {
  Address made = 0;
  const Status status = s.driver.allocate(kBytes, space, made);
  if (status == Status::success) s.made.push_back({made, space});
  return status;
}

Status stream_ordered(ProbeScene& s, Stream stream) {
  Call call{.api = Api::malloc_async, .stream = stream, .bytes = kBytes};
  if (const Status status = s.driver.submit(call); status != Status::success) return status;
  Call back{.api = Api::free_async, .stream = stream, .address = call.address};
  return s.driver.submit(back);
}

/// Forks `side` off the capture and gives it a kernel.
Status fork(ProbeScene& s) {
  if (const Status status = s.driver.record(s.inside, s.capture); status != Status::success) return status;
  if (const Status status = s.driver.wait(s.side, s.inside); status != Status::success) return status;
  return s.launch_on(s.side);
}

Status after_record(ProbeScene& s, const std::function<Status()>& call) {
  if (const Status status = s.driver.record(s.inside, s.capture); status != Status::success) return status;
  return call();
}

/// An event that another capture recorded; that capture is ended afterwards.
Status wait_on_foreign(ProbeScene& s) {
  if (const Status status = s.driver.begin_capture(s.third, CaptureMode::relaxed); status != Status::success)
    return status;
  (void)s.launch_on(s.third);
  (void)s.driver.record(s.joined, s.third);
  const Status answer = s.driver.wait(s.capture, s.joined);
  GraphHandle ended;
  if (s.driver.end_capture(s.third, ended) == Status::success) (void)s.driver.destroy(ended);
  return answer;
}

Status end_on_fork(ProbeScene& s) {
  if (const Status status = fork(s); status != Status::success) return status;
  GraphHandle none;
  return s.driver.end_capture(s.side, none);
}

Status exchange_then_malloc(ProbeScene& s) {
  CaptureMode mode = CaptureMode::relaxed;
  (void)s.driver.exchange_capture_mode(mode);
  const Status answer = allocate(s, MemorySpace::device);
  (void)s.driver.exchange_capture_mode(mode);
  return answer;
}

Status free_cuda_malloced(ProbeScene& s) {
  Call call{.api = Api::free_async, .target = Target::cuda_malloc_pointer, .stream = s.capture, .address = s.device};
  return s.driver.submit(call);
}

Status instantiate_other(ProbeScene& s) {
  ExecHandle made;
  const Status status = s.driver.instantiate(s.graph, made);
  if (status == Status::success) (void)s.driver.destroy(made);
  return status;
}

Status make_stream(ProbeScene& s) {
  Stream made;
  const Status status = s.driver.create_stream(made);
  if (status == Status::success) (void)s.driver.destroy_stream(made);
  return status;
}

Status make_event(ProbeScene& s) {
  Event made;
  const Status status = s.driver.create_event(made);
  if (status == Status::success) (void)s.driver.destroy_event(made);
  return status;
}

Status drop(ProbeScene& s, Stream& stream) {
  const Status status = s.driver.destroy_stream(stream);
  if (status == Status::success) stream = {};
  return status;
}

Status first_use(ProbeScene& s) {
  const OpLaunch op = nothing();
  Call call{.api = Api::launch_kernel_first_use, .stream = s.capture, .op = &op};
  return s.driver.submit(call);
}

Status elapsed(ProbeScene& s, Event event) {
  Call call{.api = Api::event_elapsed_time, .event = event};
  return s.driver.submit(call);
}

std::map<std::string, Probe> sync_probes() {
  return {
      {"cudaStreamSynchronize(capturing)", [](ProbeScene& s) { return s.driver.synchronize(s.capture); }},
      {"cudaStreamSynchronize(other)", [](ProbeScene& s) { return s.driver.synchronize(s.other); }},
      {"cudaStreamSynchronize(legacy), blocking", [](ProbeScene& s) { return s.driver.synchronize(Stream{}); }},
      {"cudaDeviceSynchronize", [](ProbeScene& s) { return s.driver.synchronize_device(); }},
      {"cudaStreamQuery(capturing)", [](ProbeScene& s) { return s.driver.query(s.capture); }},
      {"cudaStreamQuery(other)", [](ProbeScene& s) { return s.driver.query(s.other); }},
      {"cudaEventQuery(pre-recorded)", [](ProbeScene& s) { return s.driver.query(s.outside); }},
      {"cudaEventSynchronize(pre-recorded)", [](ProbeScene& s) { return s.driver.synchronize(s.outside); }},
      {"record ev1 + cudaEventQuery(captured)",
       [](ProbeScene& s) { return after_record(s, [&] { return s.driver.query(s.inside); }); }},
      {"record ev1 + cudaEventSynchronize(captured)",
       [](ProbeScene& s) { return after_record(s, [&] { return s.driver.synchronize(s.inside); }); }},
      {"cudaEventElapsedTime", [](ProbeScene& s) { return elapsed(s, s.outside); }},
      {"cudaEventElapsedTime (captured event)",
       [](ProbeScene& s) { return after_record(s, [&] { return elapsed(s, s.inside); }); }},
  };
}

std::map<std::string, Probe> copy_probes() {
  const Probe h2d = [](ProbeScene& s) { return s.driver.copy_now(device(s), pageable(s), kBytes); };
  const Probe d2h = [](ProbeScene& s) { return s.driver.copy_now(pageable(s), device(s), kBytes); };
  const Probe d2d = [](ProbeScene& s) {
    return s.driver.copy_now(device(s), {s.device + kBytes, MemorySpace::device}, kBytes);
  };
  const Probe set = [](ProbeScene& s) {
    Call call{.api = Api::memset, .address = s.device, .bytes = kBytes};
    return s.driver.submit(call);
  };
  return {
      {"cudaMemcpy H2D (sync)", h2d},
      {"cudaMemcpy H2D (sync), blocking", h2d},
      {"cudaMemcpy D2H (sync)", d2h},
      {"cudaMemcpy D2H (sync), blocking", d2h},
      {"cudaMemcpy D2D (sync)", d2d},
      {"cudaMemcpy D2D (sync), blocking", d2d},
      {"cudaMemset (legacy)", set},
      {"cudaMemset, blocking", set},
      {"cudaMemcpyToSymbol (sync)", plain(Api::memcpy_to_symbol)},
      {"cudaMemcpyToSymbol, blocking", plain(Api::memcpy_to_symbol)},
      {"cudaMemcpyToSymbolAsync", on_capture(Api::memcpy_to_symbol_async)},
      {"cudaMemcpyAsync H2D pageable",
       [](ProbeScene& s) { return s.driver.copy(device(s), pageable(s), kBytes, s.capture); }},
      {"cudaMemcpyAsync D2H pageable",
       [](ProbeScene& s) { return s.driver.copy(pageable(s), device(s), kBytes, s.capture); }},
      {"cudaMemcpyAsync H2D pinned",
       [](ProbeScene& s) { return s.driver.copy(device(s), pinned(s), kBytes, s.capture); }},
      {"cudaMemcpyAsync D2H pinned",
       [](ProbeScene& s) { return s.driver.copy(pinned(s), device(s), kBytes, s.capture); }},
      {"cudaMemcpyAsync on other stream",
       [](ProbeScene& s) { return s.driver.copy(device(s), pinned(s), kBytes, s.other); }},
      {"cudaMemsetAsync", [](ProbeScene& s) { return s.driver.fill(s.device, 0, kBytes, s.capture); }},
      {"cudaMemcpy2DAsync pinned", on_capture(Api::memcpy_2d_async)},
      {"cudaMemcpyPeerAsync(dev0->dev0)", on_capture(Api::memcpy_peer_async)},
      {"cudaMemPrefetchAsync", on_capture(Api::mem_prefetch_async)},
      {"cudaStreamAttachMemAsync", on_capture(Api::stream_attach_mem_async)},
  };
}

std::map<std::string, Probe> memory_probes() {
  return {
      {"cudaMalloc", [](ProbeScene& s) { return allocate(s, MemorySpace::device); }},
      {"cudaMallocHost", [](ProbeScene& s) { return allocate(s, MemorySpace::pinned); }},
      {"cudaMallocManaged", [](ProbeScene& s) { return allocate(s, MemorySpace::managed); }},
      {"cudaFree",
       [](ProbeScene& s) {
         const Status status = s.driver.release(s.loose, MemorySpace::device);
         if (status == Status::success) s.loose = 0;
         return status;
       }},
      {"cudaFreeHost",
       [](ProbeScene& s) {
         const Status status = s.driver.release(s.loose_host, MemorySpace::pinned);
         if (status == Status::success) s.loose_host = 0;
         return status;
       }},
      {"cudaHostRegister", plain(Api::host_register)},
      {"cudaMallocAsync(capturing)", [](ProbeScene& s) { return stream_ordered(s, s.capture); }},
      {"cudaMallocAsync(other)", [](ProbeScene& s) { return stream_ordered(s, s.other); }},
      {"cudaFreeAsync(capturing) of a cudaMalloc'd pointer", free_cuda_malloced},
      {"cudaDeviceSetLimit", plain(Api::device_set_limit)},
      {"cudaMemPoolTrimTo", plain(Api::mem_pool_trim_to)},
      {"cudaMemPoolSetAttribute", plain(Api::mem_pool_set_attribute)},
      {"cudaMemAdvise", plain(Api::mem_advise)},
      {"cuMemAddressReserve",
       [](ProbeScene& s) {
         Address base = 0;
         const Status status = s.driver.reserve(Driver::kMapGranularity, base);
         if (status == Status::success) (void)s.driver.unreserve(base, Driver::kMapGranularity);
         return status;
       }},
      {"cuMemMap",
       [](ProbeScene& s) {
         const Address twin = s.reserved + Driver::kMapGranularity;
         const Status mapped = s.driver.map(s.reserved, Driver::kMapGranularity);
         if (mapped != Status::success) return mapped;
         // The same call of memory that is there already.
         const Status again = s.driver.alias(twin, Driver::kMapGranularity, s.reserved);
         if (again == Status::success) (void)s.driver.unmap(twin, Driver::kMapGranularity);
         (void)s.driver.unmap(s.reserved, Driver::kMapGranularity);
         return again;
       }},
      {"cudaCtxResetPersistingL2Cache", plain(Api::ctx_reset_persisting_l2_cache)},
      {"exchange to relaxed, then cudaMalloc", exchange_then_malloc},
  };
}

std::map<std::string, Probe> work_probes() {
  return {
      {"launch on legacy stream", [](ProbeScene& s) { return s.launch_on(Stream{}); }},
      {"launch on legacy stream, blocking", [](ProbeScene& s) { return s.launch_on(Stream{}); }},
      {"launch on other stream", [](ProbeScene& s) { return s.launch_on(s.other); }},
      {"launch on per-thread default stream, blocking",
       [](ProbeScene& s) { return s.driver.api(Api::launch_kernel, Stream{}, Target::per_thread); }},
      {"launch first-use kernel (lazy load)", first_use},
      {"cudaLaunchHostFunc", on_capture(Api::launch_host_func)},
      {"cudaStreamAddCallback", on_capture(Api::stream_add_callback)},
      {"cudaGraphInstantiate other graph", instantiate_other},
      {"cudaGraphLaunch into the capturing stream", [](ProbeScene& s) { return s.driver.launch(s.exec, s.capture); }},
      {"cudaGraphLaunch on another stream", [](ProbeScene& s) { return s.driver.launch(s.exec, s.other); }},
      {"cudaGraphUpload on another stream", [](ProbeScene& s) { return s.driver.upload(s.exec, s.other); }},
  };
}

std::map<std::string, Probe> capture_probes() {
  return {
      {"fork not joined", fork},
      {"wait on uncaptured event", [](ProbeScene& s) { return s.driver.wait(s.capture, s.outside); }},
      {"wait on another capture's event", wait_on_foreign},
      {"cudaStreamWaitEvent external", [](ProbeScene& s) { return s.driver.wait(s.capture, s.outside, true); }},
      {"cudaEventRecordWithFlags external", [](ProbeScene& s) { return s.driver.record(s.joined, s.capture, true); }},
      {"BeginCapture twice", [](ProbeScene& s) { return s.driver.begin_capture(s.capture, CaptureMode::relaxed); }},
      {"BeginCapture on legacy", [](ProbeScene& s) { return s.driver.begin_capture(Stream{}, CaptureMode::relaxed); }},
      {"EndCapture on a forked stream", end_on_fork},
      {"cudaStreamIsCapturing(legacy), blocking", [](ProbeScene& s) { return s.driver.api(Api::stream_is_capturing); }},
  };
}

std::map<std::string, Probe> passing_probes() {
  return {
      {"cudaStreamCreate", make_stream},
      {"cudaStreamDestroy(other idle)", [](ProbeScene& s) { return drop(s, s.third); }},
      {"cudaEventCreate", make_event},
      {"cudaEventDestroy",
       [](ProbeScene& s) {
         const Status status = s.driver.destroy_event(s.joined);
         if (status == Status::success) s.joined = {};
         return status;
       }},
      {"cudaSetDevice", plain(Api::set_device)},
      {"cudaFuncSetAttribute", plain(Api::func_set_attribute)},
      {"cudaFuncGetAttributes(first use)", plain(Api::func_get_attributes)},
      {"occupancy query", plain(Api::occupancy)},
      {"cudaGetSymbolAddress", plain(Api::get_symbol_address)},
      {"cudaMemGetInfo", plain(Api::mem_get_info)},
      {"cudaPointerGetAttributes", plain(Api::pointer_get_attributes)},
      {"cudaDeviceGetAttribute", plain(Api::device_get_attribute)},
      {"cudaGetDeviceProperties", plain(Api::get_device_properties)},
      {"cudaDeviceGraphMemTrim", plain(Api::device_graph_mem_trim)},
  };
}

}  // namespace

ProbeScene::ProbeScene(Driver& d, bool blocking) : driver(d) {
  check(driver.create_stream(capture, blocking), "cudaStreamCreateWithFlags");
  for (Stream* stream : {&other, &third, &side}) check(driver.create_stream(*stream), "cudaStreamCreateWithFlags");
  for (Event* event : {&outside, &inside, &joined}) check(driver.create_event(*event), "cudaEventCreate");
  check(driver.allocate(2 * kBytes, MemorySpace::device, device), "cudaMalloc");
  check(driver.allocate(kBytes, MemorySpace::device, loose), "cudaMalloc");
  check(driver.allocate(kBytes, MemorySpace::pinned, pinned), "cudaMallocHost");
  check(driver.allocate(kBytes, MemorySpace::pinned, loose_host), "cudaMallocHost");
  check(driver.reserve(2 * Driver::kMapGranularity, reserved), "cuMemAddressReserve");
  check(driver.record(outside, other), "cudaEventRecord");
  check(driver.begin_capture(other, CaptureMode::relaxed), "cudaStreamBeginCapture");
  check(launch_on(other), "launch");
  check(driver.end_capture(other, graph), "cudaStreamEndCapture");
  check(driver.instantiate(graph, exec), "cudaGraphInstantiate");
  check(driver.synchronize_device(), "cudaDeviceSynchronize");
}

ProbeScene::~ProbeScene() {
  (void)driver.synchronize_device();
  (void)driver.destroy(exec);
  (void)driver.destroy(graph);
  for (const Event event : {outside, inside, joined})
    if (event.id != 0) (void)driver.destroy_event(event);
  for (const Stream stream : {capture, other, third, side})
    if (stream.id != 0) (void)driver.destroy_stream(stream);
  (void)driver.release(device, MemorySpace::device);
  (void)driver.release(pinned, MemorySpace::pinned);
  for (const Driver::Place& place : made) (void)driver.release(place.address, place.space);
  (void)driver.unreserve(reserved, 2 * Driver::kMapGranularity);
  if (loose_host != 0) (void)driver.release(loose_host, MemorySpace::pinned);
  if (loose != 0) (void)driver.release(loose, MemorySpace::device);
}

Status ProbeScene::launch_on(Stream stream) {
  const OpLaunch op = nothing();
  return driver.launch(op, stream);
}

const std::map<std::string, Probe>& probes() {
  static const std::map<std::string, Probe> all = [] {
    std::map<std::string, Probe> merged = sync_probes();
    for (auto part : {copy_probes(), memory_probes(), work_probes(), capture_probes(), passing_probes()})
      merged.insert(part.begin(), part.end());
    return merged;
  }();
  return all;
}

}  // namespace refrain::test
