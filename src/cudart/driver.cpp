// Functions of the driver that a program asks for by name: those that make tensor maps. The loom's tensor maps have 128
// bytes as well, with contents of their own.
#include <cstring>
#include <string>

#include "cudart/api.hpp"
#include "warploom/loom/tensor_map.hpp"

namespace warploom::cudart {
namespace {

/// CUresult.
enum class DriverStatus : int { success = 0, invalid_value = 1 };

DriverStatus encode(void* map, const TensorMapArgs& args, const char* call) {
  const Locked device;
  const Chip chip = device->chip() == 100 ? Chip::sm100 : Chip::sm90;
  const Result<TensorMap> made = loom::encode_tensor_map(args, chip);
  if (!made) {
    device->refuse(Status::invalid_value, std::string(call) + ": " + made.error());
    return DriverStatus::invalid_value;
  }
  static_assert(sizeof(TensorMap) == 128);
  std::memcpy(map, &*made, sizeof(TensorMap));
  return DriverStatus::success;
}

/// What both calls have in common. More dimensions than there can be are left to the sentence of the encoder.
TensorMapArgs common(int type, uint32_t rank, const void* address, const uint64_t* dims, const uint64_t* strides,
                     const uint32_t* steps, int interleave, int swizzle, int promotion, int fill) {
  TensorMapArgs args;
  args.type = static_cast<TmaType>(type);
  args.rank = rank;
  args.address = address;
  for (uint32_t i = 0; i < 5 && i < rank; ++i) {
    args.dims[i] = dims[i];
    args.element_strides[i] = steps[i];
    if (i + 1 < rank && i < 4) args.strides[i] = strides[i];
  }
  args.interleave = static_cast<uint8_t>(interleave);
  args.swizzle = static_cast<Swizzle>(swizzle);
  args.l2_promotion = static_cast<uint8_t>(promotion);
  args.fill = static_cast<TmaFill>(fill);
  return args;
}

DriverStatus encode_tiled(void* map, int type, uint32_t rank, void* address, const uint64_t* dims,
                          const uint64_t* strides, const uint32_t* box, const uint32_t* steps, int interleave,
                          int swizzle, int promotion, int fill) {
  TensorMapArgs args = common(type, rank, address, dims, strides, steps, interleave, swizzle, promotion, fill);
  for (uint32_t i = 0; i < 5 && i < rank; ++i) args.box[i] = box[i];
  return encode(map, args, "cuTensorMapEncodeTiled");
}

DriverStatus encode_im2col(void* map, int type, uint32_t rank, void* address, const uint64_t* dims,
                           const uint64_t* strides, const int* lower, const int* upper, uint32_t channels,
                           uint32_t pixels, const uint32_t* steps, int interleave, int swizzle, int promotion,
                           int fill) {
  TensorMapArgs args = common(type, rank, address, dims, strides, steps, interleave, swizzle, promotion, fill);
  Im2colWindow window{.channels = channels, .pixels = pixels};
  for (uint32_t i = 0; i < 3 && i + 2 < rank; ++i) {
    window.lower[i] = lower[i];
    window.upper[i] = upper[i];
  }
  args.im2col = window;
  return encode(map, args, "cuTensorMapEncodeIm2col");
}

DriverStatus get_driver_version(int* version) {
  *version = driver_version;
  return DriverStatus::success;
}
DriverStatus init(unsigned) { return DriverStatus::success; }
DriverStatus error_text(int error, const char** text) {
  *text = error == 0 ? "no error" : "an argument has a value that it cannot have";
  return DriverStatus::success;
}
DriverStatus error_name(int error, const char** text) {
  *text = error == 0 ? "CUDA_SUCCESS" : "CUDA_ERROR_INVALID_VALUE";
  return DriverStatus::success;
}

struct Entry {
  const char* name;
  void* function;
};

Status entry_point(const char* name, void** function, int* result) {
  static const Entry entries[] = {
      {"cuTensorMapEncodeTiled", reinterpret_cast<void*>(&encode_tiled)},
      {"cuTensorMapEncodeIm2col", reinterpret_cast<void*>(&encode_im2col)},
      {"cuDriverGetVersion", reinterpret_cast<void*>(&get_driver_version)},
      {"cuInit", reinterpret_cast<void*>(&init)},
      {"cuGetErrorString", reinterpret_cast<void*>(&error_text)},
      {"cuGetErrorName", reinterpret_cast<void*>(&error_name)},
  };
  constexpr int found = 0, not_found = 1;  // cudaDriverEntryPointQueryResult
  *function = nullptr;
  for (const Entry& entry : entries)
    if (std::strcmp(entry.name, name) == 0) *function = entry.function;
  if (result != nullptr) *result = *function != nullptr ? found : not_found;
  if (*function != nullptr) return Status::success;
  return guarded([&](Device& device) {
    return device.refuse(Status::symbol_not_found,
                         std::string("the program asks for the driver's ") + name + ", which the loom does not have");
  });
}

}  // namespace
}  // namespace warploom::cudart

using namespace warploom::cudart;  // the calls below are C

WARPLOOM_CUDA(cudaGetDriverEntryPoint, (const char* name, void** function, unsigned long long, int* result)) {
  return entry_point(name, function, result);
}
WARPLOOM_CUDA_ALSO(cudaGetDriverEntryPoint_ptsz, cudaGetDriverEntryPoint);
WARPLOOM_CUDA(cudaGetDriverEntryPointByVersion,
              (const char* name, void** function, unsigned, unsigned long long, int* result)) {
  return entry_point(name, function, result);
}
WARPLOOM_CUDA_ALSO(cudaGetDriverEntryPointByVersion_ptsz, cudaGetDriverEntryPointByVersion);
