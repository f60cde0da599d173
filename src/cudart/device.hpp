// The one device that this CUDA runtime has: what the program registered, its memory, and its launches, which the loom
// runs when somebody looks at what they did.
//
//   const Locked device;                               // every call of the interface begins so
//   return device->launch(stub, configuration, arguments);
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cudart/interface.hpp"
#include "cudart/memory.hpp"
#include "cudart/reporter.hpp"
#include "cudart/settings.hpp"
#include "ptx/fatbin.hpp"
#include "ptx/program.hpp"

namespace warploom::cudart {

/// CUDA 13.0, and a driver newer than those for which programs change the bytes of a tensor map behind its encoding
/// (13.1 and older).
inline constexpr int runtime_version = 13000, driver_version = 13020;

/// What the program was compiled to: one fat binary, with a PTX text for each architecture.
struct Binary {
  const void* wrapper = nullptr;
  bool looked_at = false;
  std::vector<ptx::Image> images = {};
  std::string error = {};                      ///< why there is no program
  std::unique_ptr<ptx::Program> program = {};  ///< of the text for the chip
};

struct Function {
  Binary* binary = nullptr;
  std::string name = {};
  uint32_t dynamic_shared = 48 * 1024;  ///< what a launch may ask for
  int carveout = -1;
  bool non_portable_cluster = false;
  Extent3 cluster = {0, 0, 0};  ///< set by attributes
};

struct Symbol {
  Binary* binary = nullptr;
  std::string name = {};
  size_t bytes = 0;
};

class Device {
 public:
  static Device& instance();

  // ---- what the program consists of
  Binary* add_binary(const void* wrapper);
  void add_function(Binary* binary, const void* stub, const char* name);
  void add_symbol(Binary* binary, const void* stub, const char* name, size_t bytes);
  Function* function(const void* stub);
  Result<const ptx::abi::Kernel*> kernel(Function& function);
  /// The memory of a __device__ variable.
  Result<std::byte*> symbol(const void* stub, size_t* bytes);
  uint32_t chip();

  // ---- launches
  Status launch(const void* stub, const LaunchConfiguration& configuration, void** arguments);
  /// Runs what waits, and says what became of it. Called by whatever looks at memory, time or errors.
  Status settle();

  // ---- errors
  /// Remembers it for cudaGetLastError, and hands it on.
  Status report(Status status);
  /// ... with a sentence for the user.
  Status refuse(Status status, const std::string& sentence);
  Status take_last_error();
  Status last_error() const { return failed_ != Status::success ? failed_ : last_; }
  [[noreturn]] void unsupported(const std::string& call, const std::string& instead);

  Memory memory;
  Settings settings;
  Reporter reporter;
  std::recursive_mutex mutex;

 private:
  Device();
  ptx::Program* program_of(Binary& binary);
  void look_at(Binary& binary);
  struct Pending {
    Function* function = nullptr;
    const ptx::abi::Kernel* kernel = nullptr;
    ptx::LaunchRequest request = {};
  };
  Result<ptx::LaunchRequest> request_of(Function& function, const ptx::abi::Kernel& kernel,
                                        const LaunchConfiguration& configuration, void** arguments, Status& status);
  void run(std::vector<Pending> launches);

  std::deque<Binary> binaries_;
  std::map<const void*, Function> functions_;
  std::map<const void*, Symbol> symbols_;
  std::vector<Pending> pending_;
  uint32_t chip_ = 0;
  double compile_seconds_ = 0;  ///< since the last launch
  Status last_ = Status::success;
  Status failed_ = Status::success;  ///< a launch that failed stays the answer, as on a GPU
};

/// One call at a time.
class Locked {
 public:
  Locked() : device_(Device::instance()), lock_(device_.mutex) {}
  Device* operator->() const { return &device_; }
  Device& operator*() const { return device_; }

 private:
  Device& device_;
  std::unique_lock<std::recursive_mutex> lock_;
};

/// What a function of the interface consists of: nothing is thrown out of it.
template <class Body>
Status guarded(Body&& body) noexcept {
  try {
    const Locked device;
    return body(*device);
  } catch (const std::bad_alloc&) {
    return Status::memory_allocation;
  } catch (...) {
    return Status::invalid_value;
  }
}

}  // namespace warploom::cudart
