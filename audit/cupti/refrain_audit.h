/* Windows of `refrain audit -- CMD` and `refrain record -- CMD`, opened and closed
 * by the program itself (with --by-calls). A header alone: it needs no library and
 * no refrain at run time; where the auditor is not in the process, each call does
 * nothing and says so. C and C++. Not inside a stream callback. */
#ifndef REFRAIN_AUDIT_H
#define REFRAIN_AUDIT_H

#include <dlfcn.h>
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

#endif
