// Who takes part in a case: our kernels under one or more plans, and cuBLASLt with the algorithm that is best here.
#pragma once

#include <memory>

#include "bench/cublaslt.hpp"
#include "bench/operands.hpp"
#include "bench/protocols.hpp"
#include "bench/report.hpp"

namespace warploom::bench {

struct Setup {
  std::string config = {};  ///< of ours; "": the plan's own choice
  int splits = 0;
  bool all_plans = false;
  const CublasLt* cublaslt = nullptr;
  ProtocolOptions timing = {};
  Protocol protocol = Protocol::cold;
  const Nvml* nvml = nullptr;
  const Buffer* flush = nullptr;
  const Buffer* workspace = nullptr;  ///< of our plans, cleared; a plan that needs more does not take part
  size_t l2_bytes = size_t{50} << 20;
  cudaStream_t stream = nullptr;
};

/// Measures a case, and checks the result of everyone who took part.
Row measure(const Case& what, const Setup& setup);

}  // namespace warploom::bench
