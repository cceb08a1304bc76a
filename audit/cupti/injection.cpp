// How the auditor comes into a process: CUDA loads this library where
// CUDA_INJECTION64_PATH names it, NVTX where NVTX_INJECTION64_PATH does, and a
// program may load it itself and call the functions of refrain_audit.h. All of them
// meet in the one auditor of the process, which is never destroyed: callbacks may come
// as long as the process lives.
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <semaphore.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "audit/cupti/auditor.hpp"

#define REFRAIN_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using refrain::Auditor;

// A signal handler may post it, and nothing else.
sem_t signalled;

void on_signal(int) {
  ::sem_post(&signalled);
}

Auditor& auditor();

void* watch_signals(void*) {
  for (;;)
    if (::sem_wait(&signalled) == 0) auditor().toggle();
}

void listen_to_signal(int number) {
  if (::sem_init(&signalled, 0, 0) != 0) return;
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // the thread takes no signal of the program's
  pthread_t thread{};
  const bool running = ::pthread_create(&thread, nullptr, watch_signals, nullptr) == 0;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!running) return;
  ::pthread_detach(thread);
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  ::sigaction(number, &action, nullptr);
}

Auditor* make_auditor() {
  auto* made = new Auditor(refrain::live_settings_from_environment());
  ::pthread_atfork(nullptr, nullptr, [] { auditor().forked(); });
  std::atexit([] { auditor().process_ends(); });
  return made;
}

/// One for the process, because CUPTI, NVTX and signals know no other owner.
Auditor& auditor() {
  static Auditor* const one = make_auditor();
  return *one;
}

nvtxDomainHandle_t create_domain(const char*) {
  static int any = 0;  // NVTX wants an address that is not null, and this library tells no domains apart
  return reinterpret_cast<nvtxDomainHandle_t>(&any);
}

nvtxStringHandle_t register_string(nvtxDomainHandle_t, const char* text) {
  return reinterpret_cast<nvtxStringHandle_t>(::strdup(text != nullptr ? text : ""));  // for the life of the process
}

const char* text_of(const nvtxEventAttributes_t* attributes) {
  if (attributes == nullptr) return "";
  const bool registered = attributes->messageType == NVTX_MESSAGE_TYPE_REGISTERED;
  if (!registered && attributes->messageType != NVTX_MESSAGE_TYPE_ASCII) return "";
  const char* text =
      registered ? reinterpret_cast<const char*>(attributes->message.registered) : attributes->message.ascii;
  return text != nullptr ? text : "";
}

thread_local int depth = 0;

int push_text(const char* text) {
  auditor().push_range(text != nullptr ? text : "");
  return depth++;
}
int push_wide(const wchar_t*) {
  return push_text("");
}
int push(const nvtxEventAttributes_t* attributes) {
  return push_text(text_of(attributes));
}
int pop() {
  auditor().pop_range();
  return depth > 0 ? --depth : -1;
}
int push_in_domain(nvtxDomainHandle_t, const nvtxEventAttributes_t* attributes) {
  return push(attributes);
}
int pop_in_domain(nvtxDomainHandle_t) {
  return pop();
}

template <class Function>
void hook(NvtxFunctionTable table, unsigned int size, unsigned int id, Function* function) {
  if (id < size) *table[id] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

/// The driver calls it while it starts; 1 lets the process go on.
REFRAIN_EXPORT int InitializeInjection() {
  static const bool once = [] {
    const refrain::LiveSettings& settings = auditor().settings();
    if (settings.signal != 0) listen_to_signal(settings.signal);
    if (settings.opens_at_start()) (void)auditor().open();
    return true;
  }();
  return once ? 1 : 0;
}

REFRAIN_EXPORT int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  const auto* tables = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  if (tables == nullptr) return 0;
  NvtxFunctionTable core = nullptr, domains = nullptr;
  unsigned int core_size = 0, domains_size = 0;
  if (tables->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &core, &core_size) != 1) return 0;
  if (tables->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &domains, &domains_size) != 1) return 0;
  hook(core, core_size, NVTX_CBID_CORE_RangePushEx, push);
  hook(core, core_size, NVTX_CBID_CORE_RangePushA, push_text);
  hook(core, core_size, NVTX_CBID_CORE_RangePushW, push_wide);
  hook(core, core_size, NVTX_CBID_CORE_RangePop, pop);
  hook(domains, domains_size, NVTX_CBID_CORE2_DomainRangePushEx, push_in_domain);
  hook(domains, domains_size, NVTX_CBID_CORE2_DomainRangePop, pop_in_domain);
  hook(domains, domains_size, NVTX_CBID_CORE2_DomainCreateA, create_domain);
  hook(domains, domains_size, NVTX_CBID_CORE2_DomainRegisterStringA, register_string);
  return 1;
}

REFRAIN_EXPORT int refrain_window_begin() {
  return auditor().open() ? 0 : 1;
}

REFRAIN_EXPORT int refrain_window_end() {
  auditor().close();
  return *auditor().recording() != '\0' ? 0 : 1;
}

REFRAIN_EXPORT const char* refrain_window_recording() {
  return auditor().recording();
}

REFRAIN_EXPORT int refrain_listens() {
  return auditor().listens() ? 1 : 0;
}

REFRAIN_EXPORT int refrain_describe(const char* records, std::size_t bytes) {
  return records != nullptr && auditor().describe({records, bytes}) ? 0 : 1;
}

// Of a caching allocator, by a hook in it: python/refrain has one for PyTorch's.
REFRAIN_EXPORT void refrain_block_taken(std::uint64_t address, std::uint64_t bytes, int fresh) {
  auditor().block_taken(address, bytes, fresh != 0);
}

REFRAIN_EXPORT void refrain_block_given_back(std::uint64_t address) {
  auditor().block_given_back(address);
}

REFRAIN_EXPORT void refrain_blocks_followed(int on) {
  auditor().follow_blocks(on != 0);
}

REFRAIN_EXPORT void refrain_range_push(const char* name) {
  (void)push_text(name);
}

REFRAIN_EXPORT void refrain_range_pop() {
  (void)pop();
}

#undef REFRAIN_EXPORT
