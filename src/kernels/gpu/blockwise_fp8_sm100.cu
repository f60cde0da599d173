// The GPU's instantiations of blockwise FP8, one per row of kernels.def.
#include "warploom/kernels/blockwise_fp8.hpp"

namespace warploom {

template <class Kernel>
__global__ void __launch_bounds__(Skeleton<Kernel>::threads, 1)
    blockwise_fp8_kernel(const __grid_constant__ BlockwiseFP8Params params) {
  Skeleton<Kernel>::run(params);
}

#define WARPLOOM_BLOCKWISE_FP8(key, cta_group, cluster_m, cluster_n, tiles)                                          \
  template __global__ void blockwise_fp8_kernel<BlockwiseFP8<ClusterShape<cta_group, cluster_m, cluster_n>, tiles>>( \
      const __grid_constant__ BlockwiseFP8Params params);
#include "warploom/kernels/kernels.def"
#undef WARPLOOM_BLOCKWISE_FP8

}  // namespace warploom
