// The kernels of examples/blackwell_gemm.cpp, compiled for sm_100a: one SM, CTA pairs, and two CTAs that share B.
#include "../blackwell_gemm_kernel.hpp"

namespace warploom::examples {

template <class Kernel>
__global__ void __launch_bounds__(Kernel::threads, 1) entry(const __grid_constant__ typename Kernel::Params params) {
  Kernel::run(params);
}
template __global__ void entry<BlackwellGemm<ClusterShape<1, 1, 1>>>(
    const __grid_constant__ BlackwellGemmParams params);
template __global__ void entry<BlackwellGemm<ClusterShape<2, 2, 1>>>(
    const __grid_constant__ BlackwellGemmParams params);
template __global__ void entry<BlackwellGemm<ClusterShape<1, 2, 1>>>(
    const __grid_constant__ BlackwellGemmParams params);

}  // namespace warploom::examples
