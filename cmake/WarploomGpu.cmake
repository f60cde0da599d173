# The GPU half of the kernels: static library `warploom_gpu`.
#
#   src/kernels/gpu/*_sm90.cu    compiled for sm_90a
#   src/kernels/gpu/*_sm100.cu   compiled for sm_100a
#   src/kernels/gpu/*.cu         all others: for both
#   examples/gpu/*.cu            as objects only, for sm_90a (tools/gpu_check.sh builds and runs the programs) or, where
#                                named *_sm100.cu, for sm_100a
#
# A register that spills to local memory fails the build (ptxas warns, warnings are errors); so does a wgmma that ptxas
# serialises, which it only mentions (cmake/nvcc_strict.sh).

file(GLOB gpu_sources CONFIGURE_DEPENDS src/kernels/gpu/*.cu)
if(NOT gpu_sources)
  message(STATUS "No .cu files in src/kernels/gpu: the GPU library is left out")
  add_custom_target(warploom_gpu COMMAND "${CMAKE_COMMAND}" -E echo "No .cu files in src/kernels/gpu: nothing to build.")
  return()
endif()

if(NOT WARPLOOM_NVCC)
  message(FATAL_ERROR "WARPLOOM_GPU needs nvcc (CUDA 13.0 or newer): put it on PATH or set CUDACXX.")
endif()
if(NOT DEFINED CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  set(CMAKE_CUDA_COMPILER "${WARPLOOM_NVCC}")
endif()
# Architectures are chosen file by file, below.
set(CMAKE_CUDA_ARCHITECTURES OFF)
enable_language(CUDA)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 13.0)
  message(FATAL_ERROR "CUDA ${CMAKE_CUDA_COMPILER_VERSION} is too old: the kernels need 13.0 or newer.")
endif()
# CMake 3.25 knows no CUDA standard after 17 and would add -std=c++17 behind our option: no default, nothing added.
set(CMAKE_CUDA_STANDARD_DEFAULT "")
if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_CUDA_FLAGS_RELWITHDEBINFO "-O3")
endif()

add_library(warploom_gpu STATIC ${gpu_sources})
add_library(warploom::gpu ALIAS warploom_gpu)
target_include_directories(warploom_gpu
  PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
  PRIVATE src "${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES}")
set(gpu_options
  "$<$<COMPILE_LANGUAGE:CUDA>:-std=c++20;-lineinfo;--fmad=false;--expt-relaxed-constexpr;-Werror=all-warnings;-Xptxas=-v,--warn-on-spills;-Xcompiler=-Wall,-Wextra,-ffp-contract=off>")
set_target_properties(warploom_gpu PROPERTIES
  POSITION_INDEPENDENT_CODE ON
  CUDA_COMPILER_LAUNCHER "${PROJECT_SOURCE_DIR}/cmake/nvcc_strict.sh")
target_compile_options(warploom_gpu PRIVATE ${gpu_options})

set(sm90 -gencode=arch=compute_90a,code=sm_90a)
set(sm100 -gencode=arch=compute_100a,code=sm_100a)
foreach(source IN LISTS gpu_sources)
  if(source MATCHES "_sm90\\.cu$")
    set(targets ${sm90})
  elseif(source MATCHES "_sm100\\.cu$")
    set(targets ${sm100})
  else()
    set(targets ${sm90} ${sm100})
  endif()
  set_property(SOURCE "${source}" APPEND PROPERTY COMPILE_OPTIONS ${targets})
endforeach()

file(GLOB gpu_example_sources CONFIGURE_DEPENDS examples/gpu/*.cu)
add_library(warploom_gpu_examples OBJECT ${gpu_example_sources})
target_include_directories(warploom_gpu_examples PRIVATE include "${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES}")
set_target_properties(warploom_gpu_examples PROPERTIES
  CUDA_COMPILER_LAUNCHER "${PROJECT_SOURCE_DIR}/cmake/nvcc_strict.sh")
target_compile_options(warploom_gpu_examples PRIVATE ${gpu_options})
foreach(source IN LISTS gpu_example_sources)
  if(source MATCHES "_sm100\\.cu$")
    set_property(SOURCE "${source}" APPEND PROPERTY COMPILE_OPTIONS ${sm100})
  else()
    set_property(SOURCE "${source}" APPEND PROPERTY COMPILE_OPTIONS ${sm90})
  endif()
endforeach()
