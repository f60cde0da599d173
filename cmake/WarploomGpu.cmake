# The GPU half: static libraries `warploom_gpu` (kernels and launches) and `warploom_plan` (what launches need of the
# host side, without the loom), shared library `warploom_gpu_c` (the same for other languages), and the program
# bin/warploom-bench.
#
#   hopper_gemm.def              one file per part, written into the build folder, for sm_90a
#   blackwell_gemm.def           the same for sm_100a
#   src/kernels/gpu/*_sm90.cu    compiled for sm_90a
#   src/kernels/gpu/*_sm100.cu   compiled for sm_100a
#   src/kernels/gpu/*.cu         all others: for both
#   examples/gpu/*.cu            as objects only, for sm_90a (tools/gpu_check.sh builds and runs the programs) or, where
#                                named *_sm100.cu, for sm_100a
#
# A register that spills to local memory fails the build (ptxas warns, warnings are errors); so does a wgmma that ptxas
# serialises, which it only mentions (cmake/nvcc_strict.sh); and so does a library of more than 40 MB.

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

find_package(CUDAToolkit REQUIRED)

# ---- what plans and parameter blocks need: no loom, no fibers, no libdw

file(GLOB gemm_plan_sources CONFIGURE_DEPENDS src/plan/*.cpp)
add_library(warploom_plan STATIC ${gemm_plan_sources} src/kernels/gemm_configs.cpp src/kernels/gemm_params.cpp)
target_include_directories(warploom_plan PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" PRIVATE src)
target_compile_features(warploom_plan PUBLIC cxx_std_20)
target_link_libraries(warploom_plan PRIVATE "$<BUILD_INTERFACE:warploom_options>" fmt::fmt-header-only)
set_target_properties(warploom_plan PROPERTIES POSITION_INDEPENDENT_CODE ON)

# ---- one .cu per part of hopper_gemm.def and blackwell_gemm.def, and the list of them

set(part_list "")
foreach(kernel_and_chip IN ITEMS hopper_gemm:sm90 blackwell_gemm:sm100)
  string(REPLACE ":" ";" kernel_and_chip "${kernel_and_chip}")
  list(GET kernel_and_chip 0 kernel)
  list(GET kernel_and_chip 1 chip)
  warploom_parts(parts ${kernel})
  foreach(part IN LISTS parts)
    set(file "${PROJECT_BINARY_DIR}/generated/kernels/${kernel}_${part}_${chip}.cu")
    file(CONFIGURE OUTPUT "${file}"
      CONTENT "#define WARPLOOM_PART ${part}\n#include \"kernels/gpu/${kernel}_part.cuh\"\n")
    list(APPEND gpu_sources "${file}")
    string(APPEND part_list "WARPLOOM_PART_ROWS(${kernel}_part_${part})\n")
  endforeach()
endforeach()
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/gpu/gemm_parts.inc" CONTENT "${part_list}")

file(GLOB gpu_host_sources CONFIGURE_DEPENDS src/gpu/gemm*.cpp src/gpu/trace_log.cpp)
add_library(warploom_gpu STATIC ${gpu_sources} ${gpu_host_sources})
add_library(warploom::gpu ALIAS warploom_gpu)
target_include_directories(warploom_gpu
  PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
  PRIVATE src "${PROJECT_BINARY_DIR}/generated" "${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES}")
target_link_libraries(warploom_gpu
  PUBLIC warploom_plan
  PRIVATE "$<BUILD_INTERFACE:warploom_options>" CUDA::cudart_static)
# Off for a kernel that is being worked on: it compiles, spills and all, and can be measured.
option(WARPLOOM_GPU_STRICT "A spilled register or a serialised wgmma fails the build" ON)
set(strict "-Werror=all-warnings;-Xptxas=-v,--warn-on-spills;")
if(NOT WARPLOOM_GPU_STRICT)
  set(strict "-Xptxas=-v;")
endif()
# For ncu's view of the source and compute-sanitizer's lines. The code is the same; a file takes a tenth longer to
# compile, and the library is three times as large.
option(WARPLOOM_GPU_LINES "Line information in the GPU kernels" OFF)
set(lines "")
if(WARPLOOM_GPU_LINES)
  set(lines "-lineinfo;")
endif()
set(gpu_options
  "$<$<COMPILE_LANGUAGE:CUDA>:-std=c++20;${lines}-compress-mode=size;--fmad=false;--expt-relaxed-constexpr;${strict}-Xcompiler=-Wall,-Wextra,-ffp-contract=off>")
set(nvcc_launcher "${PROJECT_SOURCE_DIR}/cmake/nvcc_strict.sh")
if(NOT WARPLOOM_GPU_STRICT)
  set(nvcc_launcher "${CMAKE_COMMAND};-E;env;WARPLOOM_GPU_STRICT=0;${nvcc_launcher}")
endif()
set_target_properties(warploom_gpu PROPERTIES
  POSITION_INDEPENDENT_CODE ON
  CUDA_COMPILER_LAUNCHER "${nvcc_launcher}")
# Quick to compile: libcu++ without the number formats that the kernels have no use for, and no care for the host code,
# which is nothing but launch stubs.
set(quick_options
  "$<$<COMPILE_LANGUAGE:CUDA>:-DCCCL_DISABLE_FP16_SUPPORT;-DCCCL_DISABLE_BF16_SUPPORT;-DCCCL_DISABLE_FP8_SUPPORT;-Xcompiler=-O0,-g0>")
target_compile_options(warploom_gpu PRIVATE ${gpu_options} ${quick_options})
# Kernels that promote get better issue hints than ptxas gives them (src/sass), where the code can be seen. A compiler
# that writes them otherwise fails the build.
warploom_rows_with(promoting_parts promotions hopper_gemm "a_rows_b_.*cooperative")
foreach(part IN LISTS promoting_parts)
  set_property(SOURCE "${PROJECT_BINARY_DIR}/generated/kernels/hopper_gemm_${part}_sm90.cu"
    APPEND PROPERTY COMPILE_OPTIONS --no-compress)
endforeach()
set(expected_hints "")
if(WARPLOOM_GPU_STRICT)
  set(expected_hints --promotions ${promotions})
endif()
# A step after a build runs where the library is made anew: when one of its files is, so one depends on the program's.
file(GLOB hints_sources CONFIGURE_DEPENDS src/sass/*)
set_property(SOURCE src/gpu/gemm_places.cpp APPEND PROPERTY OBJECT_DEPENDS "${hints_sources}")
add_custom_command(TARGET warploom_gpu POST_BUILD
  COMMAND warploom_hints --write ${expected_hints} "$<TARGET_FILE:warploom_gpu>"
  COMMAND "${CMAKE_COMMAND}" "-DLIBRARY=$<TARGET_FILE:warploom_gpu>" -DMOST_MB=40
          -P "${PROJECT_SOURCE_DIR}/cmake/library_size.cmake"
  VERBATIM)

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
  CUDA_COMPILER_LAUNCHER "${nvcc_launcher}")
target_compile_options(warploom_gpu_examples PRIVATE ${gpu_options})
foreach(source IN LISTS gpu_example_sources)
  if(source MATCHES "_sm100\\.cu$")
    set_property(SOURCE "${source}" APPEND PROPERTY COMPILE_OPTIONS ${sm100})
  else()
    set_property(SOURCE "${source}" APPEND PROPERTY COMPILE_OPTIONS ${sm90})
  endif()
endforeach()

# ---- for other languages: C functions in a library that needs nothing but the driver

# They are carried to machines that have neither our compiler nor our debugger.
set(self_contained -static-libstdc++ -static-libgcc -Wl,--gc-sections,--strip-debug)
add_library(warploom_gpu_c SHARED src/gpu/c_api.cpp src/c_api/answer.cpp src/c_api/gemm.cpp)
target_include_directories(warploom_gpu_c PRIVATE src)
target_link_libraries(warploom_gpu_c PRIVATE warploom_options warploom_gpu)
target_link_options(warploom_gpu_c PRIVATE ${self_contained} -Wl,--exclude-libs,ALL)
set_target_properties(warploom_gpu_c PROPERTIES
  CXX_VISIBILITY_PRESET hidden
  LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")

# ---- bin/warploom-bench; cuBLASLt and NVML are opened at run time

find_package(CLI11 CONFIG REQUIRED)
add_library(warploom_bench_gpu OBJECT
  src/bench/contenders.cpp src/bench/cublaslt.cpp src/bench/device.cpp src/bench/exact_hashes.cpp src/bench/gpu_tests.cpp src/bench/nvml.cpp
  src/bench/on_gpu.cpp src/bench/operands.cpp src/bench/protocols.cpp src/bench/device_kernels.cu)
set_target_properties(warploom_bench_gpu PROPERTIES CUDA_COMPILER_LAUNCHER "${nvcc_launcher}")
target_include_directories(warploom_bench_gpu PRIVATE src "${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES}")
target_compile_options(warploom_bench_gpu PRIVATE ${gpu_options})
set_property(SOURCE src/bench/device_kernels.cu APPEND PROPERTY COMPILE_OPTIONS ${sm90})
target_link_libraries(warploom_bench_gpu
  PRIVATE warploom_options warploom_gpu CUDA::cudart_static fmt::fmt-header-only nlohmann_json::nlohmann_json)

# Made-up data comes with the library's own files: `warploom` has them from libwarploom, which this program goes without.
add_executable(warploom_bench src/bench/main.cpp src/bench/program.cpp src/cli/text.cpp src/gpu/program_hook.cpp
  src/kernels/gemm_accuracy.cpp src/kernels/gemm_bound.cpp src/kernels/gemm_compare.cpp src/kernels/gemm_data.cpp
  src/kernels/gemm_gpu_hook.cpp src/kernels/gemm_reference.cpp src/kernels/gemm_values.cpp src/kernels/group_bias.cpp
  src/kernels/reference_product.cpp src/kernels/ring.cpp src/kernels/wrong_pattern.cpp)
set_source_files_properties(src/kernels/reference_product.cpp PROPERTIES COMPILE_OPTIONS "-O3;-ffp-contract=fast")
set_target_properties(warploom_bench PROPERTIES
  OUTPUT_NAME warploom-bench
  RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin"
  LINKER_LANGUAGE CXX)
target_include_directories(warploom_bench PRIVATE src)
target_link_libraries(warploom_bench PRIVATE
  warploom_options warploom_bench_gpu warploom_bench_report warploom_gpu CUDA::cudart_static CLI11::CLI11
  fmt::fmt-header-only)
target_link_options(warploom_bench PRIVATE ${self_contained})

# ---- the program reaches the GPU through a hook

if(TARGET warploom_cli)
  target_sources(warploom_cli PRIVATE src/gpu/program_hook.cpp)
  target_link_libraries(warploom_cli PRIVATE warploom_bench_gpu warploom_gpu CUDA::cudart_static)
  set_target_properties(warploom_cli PROPERTIES LINKER_LANGUAGE CXX)
endif()
