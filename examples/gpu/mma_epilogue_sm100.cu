// The kernels of examples/mma_epilogue.cpp, compiled for sm_100a: one SM and CTA pairs.
#include "../mma_epilogue_kernel.hpp"

namespace warploom::examples {

template <class Kernel>
__global__ void __launch_bounds__(Kernel::threads, 1) entry(const __grid_constant__ typename Kernel::Params params) {
  Kernel::run(params);
}
template __global__ void entry<MmaEpilogue<ClusterShape<1, 1, 1>>>(const __grid_constant__ MmaEpilogueParams params);
template __global__ void entry<MmaEpilogue<ClusterShape<2, 2, 1>>>(const __grid_constant__ MmaEpilogueParams params);

}  // namespace warploom::examples
