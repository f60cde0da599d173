// The kernels of examples/per_k_epilogue.cpp, compiled for sm_100a: one SM and CTA pairs.
#include "../per_k_epilogue_kernel.hpp"

namespace warploom::examples {

template <class Kernel>
__global__ void __launch_bounds__(Kernel::threads, 1) entry(const __grid_constant__ typename Kernel::Params params) {
  Kernel::run(params);
}
template __global__ void entry<PerKEpilogue<ClusterShape<1, 1, 1>>>(const __grid_constant__ PerKEpilogueParams params);
template __global__ void entry<PerKEpilogue<ClusterShape<2, 2, 1>>>(const __grid_constant__ PerKEpilogueParams params);

}  // namespace warploom::examples
