#include <array>

#include "cudart/interface.hpp"

namespace warploom::cudart {
namespace {

struct Row {
  Status status;
  const char *name, *text;
};
constexpr std::array rows = {
    Row{Status::success, "cudaSuccess", "no error"},
    Row{Status::invalid_value, "cudaErrorInvalidValue", "an argument has a value that it cannot have"},
    Row{Status::memory_allocation, "cudaErrorMemoryAllocation", "there is not so much memory"},
    Row{Status::invalid_configuration, "cudaErrorInvalidConfiguration", "no chip takes a launch of this shape"},
    Row{Status::invalid_pitch, "cudaErrorInvalidPitchValue", "a row is longer than its pitch"},
    Row{Status::invalid_symbol, "cudaErrorInvalidSymbol", "there is no such variable"},
    Row{Status::invalid_copy_direction, "cudaErrorInvalidMemcpyDirection", "memory is not where the copy says"},
    Row{Status::invalid_device_function, "cudaErrorInvalidDeviceFunction", "there is no such kernel"},
    Row{Status::invalid_device, "cudaErrorInvalidDevice", "there is one device, number 0"},
    Row{Status::invalid_kernel_image, "cudaErrorInvalidKernelImage", "the kernel's code cannot be used"},
    Row{Status::no_kernel_image, "cudaErrorNoKernelImageForDevice", "the program has no PTX for this chip"},
    Row{Status::invalid_ptx, "cudaErrorInvalidPtx", "the PTX cannot be translated"},
    Row{Status::invalid_handle, "cudaErrorInvalidResourceHandle", "there is no such stream or event"},
    Row{Status::symbol_not_found, "cudaErrorSymbolNotFound", "there is no function of this name"},
    Row{Status::not_ready, "cudaErrorNotReady", "it is still running"},
    Row{Status::out_of_resources, "cudaErrorLaunchOutOfResources", "a launch needs more than an SM has"},
    Row{Status::launch_failure, "cudaErrorLaunchFailure", "the loom stopped a kernel; its report says why"},
    Row{Status::not_supported, "cudaErrorNotSupported", "the loom's CUDA runtime does not do this"},
    Row{Status::invalid_cluster_size, "cudaErrorInvalidClusterSize", "no chip takes clusters of this size"},
};

const Row* row_of(Status status) {
  for (const Row& row : rows)
    if (row.status == status) return &row;
  return nullptr;
}

}  // namespace

const char* name_of(Status status) {
  const Row* const row = row_of(status);
  return row == nullptr ? "unrecognized error code" : row->name;
}

const char* text_of(Status status) {
  const Row* const row = row_of(status);
  return row == nullptr ? "unrecognized error code" : row->text;
}

}  // namespace warploom::cudart
