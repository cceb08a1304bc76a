# Enables the CUDA language and sets REFRAIN_HAS_CUDA, or says what is missing:
# a failure for REFRAIN_CUDA=ON, one line for AUTO. The root includes it, because
# a language is enabled for the whole tree.
include(CheckLanguage)

# Bound to one architecture family by default, because sm_90a code runs nowhere else; the preset gpu adds PTX.
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 90a-real)
endif()

# The toolkit's own place is often not in PATH. Through the environment, so that check_language still tries it out: a
# compiler named by the variable would be taken unseen, and one that does not fit the host compiler would stop AUTO.
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(REFRAIN_NVCC nvcc HINTS /usr/local/cuda/bin)
  mark_as_advanced(REFRAIN_NVCC)
  if(REFRAIN_NVCC)
    set(ENV{CUDACXX} ${REFRAIN_NVCC})
  endif()
endif()

set(missing "")
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  set(missing "a working nvcc, in PATH or named by CMAKE_CUDA_COMPILER")
else()
  find_package(CUDAToolkit QUIET)
  if(NOT CUDAToolkit_FOUND OR NOT TARGET CUDA::cudart_static)
    set(missing "the CUDA toolkit's headers and libcudart_static beside ${CMAKE_CUDA_COMPILER}")
  elseif(CUDAToolkit_VERSION VERSION_LESS 13.0)
    set(missing "CUDA 13.0 or newer (found ${CUDAToolkit_VERSION})")
  else()
    # The header alone: the library is loaded where and when a GEMM is planned.
    find_path(REFRAIN_CUBLASLT_INCLUDE cublasLt.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
    mark_as_advanced(REFRAIN_CUBLASLT_INCLUDE)
    if(NOT REFRAIN_CUBLASLT_INCLUDE)
      set(missing "cublasLt.h (the package libcublas-dev-13-0)")
    endif()
  endif()
endif()

if(missing STREQUAL "")
  enable_language(CUDA)
  # CUDA targets take the standard of C++ for theirs, and CMake 3.25 does not know it for nvcc 13: asked for, not
  # required; the option on refrain_options sees to it.
  set(CMAKE_CUDA_STANDARD_REQUIRED OFF)
  string(REPLACE "-DNDEBUG" "" CMAKE_CUDA_FLAGS_RELEASE "${CMAKE_CUDA_FLAGS_RELEASE}")
  set(REFRAIN_HAS_CUDA ON)
  message(STATUS "CUDA parts: yes (nvcc ${CMAKE_CUDA_COMPILER_VERSION}, architectures ${CMAKE_CUDA_ARCHITECTURES})")
elseif(REFRAIN_CUDA STREQUAL "AUTO")
  message(STATUS "CUDA parts: no (missing: ${missing})")
else()
  message(FATAL_ERROR "REFRAIN_CUDA=${REFRAIN_CUDA}, but this is missing: ${missing}")
endif()
