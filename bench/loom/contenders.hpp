// Who multiplies in the loom's benchmark: two kernels on the loom, and OpenBLAS. A [m, k] and B [n, k] are row-major,
// and D = A * B^T.
#pragma once

#include <cstdint>
#include <new>
#include <string>
#include <vector>

#include "warploom/loom/numerics.hpp"
#include "warploom/types/dtype.hpp"
#include "warploom/types/result.hpp"

namespace warploom::bench {

/// Memory as GPU programs have it, at multiples of 256 bytes, where std::allocator puts it 16 bytes past a line.
template <class T>
struct LineAllocator {
  using value_type = T;
  LineAllocator() = default;
  template <class U>
  LineAllocator(const LineAllocator<U>&) {}
  T* allocate(size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), line)); }
  void deallocate(T* values, size_t) { ::operator delete(values, line); }
  bool operator==(const LineAllocator&) const = default;
  static constexpr std::align_val_t line{256};
};
using Matrix = std::vector<bf16, LineAllocator<bf16>>;

struct LoomProblem {
  int m = 0, n = 0, k = 0;
  unsigned threads = 0;
  int sms = 0;  ///< of the chip that the kernels are launched for
  loom::Numerics numerics = loom::Numerics::fast;
  bool check = false;  ///< under the checker
  Matrix a, b;
};

/// What a kernel wrote: D in bf16, in rows of n.
struct LoomResult {
  double seconds = 0;
  Matrix d;
};

/// The library's Hopper GEMM in this configuration; "auto": the planner's choice, which `config` becomes.
Result<LoomResult> run_hopper(const LoomProblem& problem, std::string& config);
/// examples/blackwell_gemm_kernel.hpp, on CTA pairs.
Result<LoomResult> run_blackwell(const LoomProblem& problem);

/// Debian's libopenblas, opened at run time.
class OpenBlas {
 public:
  /// `core` forces the kernels it uses (OPENBLAS_CORETYPE), "" those for this processor's vectors. Or why not.
  static Result<OpenBlas> open(const std::string& core, unsigned threads);

  std::string version() const;
  std::string core() const;  ///< as it says itself
  /// Seconds of one sgemm, d = a * b^T, all of them f32.
  double run(int m, int n, int k, const float* a, const float* b, float* d) const;

 private:
  void* library_ = nullptr;
};

}  // namespace warploom::bench
