/* Windows of `refrain audit -- CMD` and `refrain record -- CMD`, opened and closed
 * by the program itself (with --by-calls), and what the program tells the auditor of
 * itself, in windows of every kind. A header alone: it needs no library and no
 * refrain at run time; where the auditor is not in the process, each call does
 * nothing and says so. C and C++. Not inside a stream callback. */
#ifndef REFRAIN_AUDIT_H
#define REFRAIN_AUDIT_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

/* The auditor's entry point of that name; null where the process has no auditor.
 * CUDA loads the library for itself alone, so it is found by its path. */
static inline void *refrain_find_(const char *name) {
  const char *path = getenv("CUDA_INJECTION64_PATH");
  void *library = path != NULL ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
  return library != NULL ? dlsym(library, name) : NULL;
}

static inline int refrain_call_(const char *name) {
  int (*function)(void) = NULL;
  *(void **)&function = refrain_find_(name);
  return function != NULL ? function() : -1;
}

/* 0: a window is open from here on. 1: one is open already, or CUPTI is held by another tool. -1: no auditor. */
static inline int refrain_audit_begin(void) { return refrain_call_("refrain_window_begin"); }

/* 0: the window is closed and its recording whole. 1: nothing was recorded. -1: no auditor. */
static inline int refrain_audit_end(void) { return refrain_call_("refrain_window_end"); }

/* 1: a window is open, and what is described goes into its recording. 0: none is open. -1: no auditor. */
static inline int refrain_audit_listens(void) { return refrain_call_("refrain_listens"); }

/* What the driver cannot know, as records of refrain.recording/1, one JSON object a line (README.md says more):
 *   {"type":"buffer","name":"partials","base":"0x7f0000","bytes":4096,"role":"workspace","dtype":"fp32","allocation":7}
 *   {"type":"buffer","base":"0x7f0000","bytes":4096,"allocation":7,"died":0}
 *   {"type":"binding","seq":0,"name":"q","address":"0x7f4000","bytes":2048}
 *   {"type":"graph","seq":0,"handle":HANDLE OF THE cudaGraph_t,"graph":{"schema":"refrain.graph/1",...}}
 * A buffer is a piece of some allocation, taken, or with `died` given back; a binding says where an input stands from
 * here on; a graph says what its nodes do, in the order of cudaGraphGetNodes, after its capture or instantiation and
 * before it is destroyed. Buffers and bindings count outside windows too. 0: taken. 1: some record was refused; the
 * recording says how many, and why the first one was (RF802). -1: no auditor. */
static inline int refrain_audit_describe(const char *records, size_t bytes) {
  int (*function)(const char *, size_t) = NULL;
  *(void **)&function = refrain_find_("refrain_describe");
  return function != NULL ? function(records, bytes) : -1;
}

#endif
