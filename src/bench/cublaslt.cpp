#include "bench/cublaslt.hpp"

#include <cublasLt.h>
#include <dlfcn.h>
#include <fmt/format.h>

namespace warploom::bench {
namespace {

constexpr size_t workspace_size = size_t{64} << 20;

cudaDataType_t type_of(DType type) {
  switch (type) {
    case DType::e4m3: return CUDA_R_8F_E4M3;
    case DType::e5m2: return CUDA_R_8F_E5M2;
    case DType::bf16: return CUDA_R_16BF;
    case DType::f16: return CUDA_R_16F;
    case DType::f32: return CUDA_R_32F;
  }
  return CUDA_R_32F;
}

std::string status_text(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "cuBLASLt does not support this";
    case CUBLAS_STATUS_INVALID_VALUE: return "cuBLASLt calls this invalid";
    default: return fmt::format("cuBLASLt: status {}", static_cast<int>(status));
  }
}

}  // namespace

// clang-format off
#define WARPLOOM_LT_FUNCTIONS(X) \
  X(cublasLtCreate) \
  X(cublasLtGetVersion) \
  X(cublasLtMatmul) \
  X(cublasLtMatmulAlgoGetHeuristic) \
  X(cublasLtMatmulAlgoConfigGetAttribute) \
  X(cublasLtMatmulDescCreate) \
  X(cublasLtMatmulDescDestroy) \
  X(cublasLtMatmulDescSetAttribute) \
  X(cublasLtMatrixLayoutCreate) \
  X(cublasLtMatrixLayoutDestroy) \
  X(cublasLtMatrixLayoutSetAttribute) \
  X(cublasLtMatmulPreferenceCreate) \
  X(cublasLtMatmulPreferenceDestroy) \
  X(cublasLtMatmulPreferenceSetAttribute)
// clang-format on

struct CublasLt::Api {
#define WARPLOOM_LT_MEMBER(name) decltype(&::name) name = nullptr;
  WARPLOOM_LT_FUNCTIONS(WARPLOOM_LT_MEMBER)
#undef WARPLOOM_LT_MEMBER
  cublasLtHandle_t handle = nullptr;
  Buffer workspace{workspace_size};
  Buffer ones;  ///< an fp32 1: the tensor scale
};

struct CublasLt::Matmul {
  std::shared_ptr<const Api> api;
  LtScales scales = LtScales::as_problem;
  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr, d = nullptr;
  std::vector<cublasLtMatmulHeuristicResult_t> found;
  // Copies of our scales where cuBLASLt's lie otherwise: those of A's rows packed, the rows of B's blocks padded to a
  // multiple of four. They are made at the first launch of a problem, which nobody measures.
  Buffer row_scales, block_scales;
  mutable const void* copied_from = nullptr;

  ~Matmul() {
    for (cublasLtMatrixLayout_t layout : {a, b, c, d})
      if (layout != nullptr) api->cublasLtMatrixLayoutDestroy(layout);
    if (desc != nullptr) api->cublasLtMatmulDescDestroy(desc);
  }
};

Result<CublasLt> CublasLt::open(const std::string& library) {
  void* handle = nullptr;
  std::vector<std::string> names = {library};
  if (library.empty())  // the loader's, then the toolkit's, which the loader need not know
    names = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so", "/usr/local/cuda/lib64/libcublasLt.so"};
  for (const std::string& name : names)
    if (handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL); handle != nullptr) break;
  if (handle == nullptr) {
    const char* why = dlerror();
    return Error{fmt::format("no cuBLASLt: {}", why != nullptr ? why : names.back())};
  }
  auto api = std::make_shared<Api>();
  std::string lacking;
  const auto find = [&](const char* name) {
    void* function = dlsym(handle, name);
    if (function == nullptr) lacking = name;
    return function;
  };
#define WARPLOOM_LT_FIND(name) api->name = reinterpret_cast<decltype(&::name)>(find(#name));
  WARPLOOM_LT_FUNCTIONS(WARPLOOM_LT_FIND)
#undef WARPLOOM_LT_FIND
  if (!lacking.empty()) return Error{fmt::format("this cuBLASLt has no {}", lacking)};
  if (const cublasStatus_t status = api->cublasLtCreate(&api->handle); status != CUBLAS_STATUS_SUCCESS)
    return Error{status_text(status)};
  api->ones = Buffer(256);
  const float one = 1.0f;
  check(cudaMemcpy(api->ones.data(), &one, sizeof(one), cudaMemcpyHostToDevice), "cudaMemcpy");
  CublasLt made;
  made.api_ = std::move(api);
  return made;
}

std::string CublasLt::version() const {
  const size_t number = api_->cublasLtGetVersion();  // 130100 is 13.1.0
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

Result<std::shared_ptr<const CublasLt::Matmul>> CublasLt::make(const GemmProblem& p, LtScales scales, int count) const {
  if (p.batch != 1) return Error{"batches are not measured against cuBLASLt"};
  const Api& lt = *api_;
  auto made = std::make_shared<Matmul>();
  made->api = api_;
  made->scales = scales;
  cublasStatus_t status = lt.cublasLtMatmulDescCreate(&made->desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, auto value) {
    if (status == CUBLAS_STATUS_SUCCESS)
      status = lt.cublasLtMatmulDescSetAttribute(made->desc, attribute, &value, sizeof(value));
  };
  // K-major rows are columns of length K to cuBLASLt: its A is transposed, its B is not.
  set(CUBLASLT_MATMUL_DESC_TRANSA, p.b.major == Major::k ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(CUBLASLT_MATMUL_DESC_TRANSB, p.a.major == Major::k ? CUBLAS_OP_N : CUBLAS_OP_T);

  const int64_t blocks = (p.k + 127) / 128;
  if (size_of(p.a.type) == 1) {
    const void* a_scale = lt.ones.data();
    const void* b_scale = lt.ones.data();
    if (scales == LtScales::tensor || p.scaling == Scaling::none) {
      set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, int8_t{1});  // as ours without scales: no promotion to fp32 between K blocks
    } else {
      b_scale = p.a_scales.data;
      a_scale = p.b_scales.data;
      const bool rows = p.scaling == Scaling::a_rows_b_rows;
      set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, int32_t{CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F});
      set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, rows ? int32_t{CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F}
                                                  : int32_t{CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F});
      if (rows && p.b_scales.stride != p.n) return Error{"cuBLASLt has no stride for scales of rows"};
      if (p.a_scales.stride != p.m) {
        made->row_scales = Buffer(static_cast<size_t>(blocks * p.m) * sizeof(float));
        b_scale = made->row_scales.data();
      }
      if (!rows && blocks % 4 != 0) {
        const int64_t padded = (blocks + 3) / 4 * 4, height = (p.n + 127) / 128;
        made->block_scales = Buffer(static_cast<size_t>(padded * height) * sizeof(float));
        a_scale = made->block_scales.data();
      }
    }
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, a_scale);
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, b_scale);
  }
  if (p.bias.along == BiasAlong::m || p.activation == Activation::silu || p.activation == Activation::gelu)
    return Error{"cuBLASLt has no such epilogue"};
  if (p.bias.along == BiasAlong::n || p.activation != Activation::none) {
    const bool bias = p.bias.along == BiasAlong::n;
    int32_t epilogue = CUBLASLT_EPILOGUE_BIAS;
    if (p.activation == Activation::relu) epilogue = bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    if (p.activation == Activation::gelu_tanh) epilogue = bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    if (bias) {
      if (p.bias.type != p.d.type) return Error{"cuBLASLt wants a bias of D's type"};
      set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, int32_t{type_of(p.bias.type)});
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias.data);
    }
  }
  if (status != CUBLAS_STATUS_SUCCESS) return Error{status_text(status)};

  const auto layout = [&](cublasLtMatrixLayout_t& to, DType type, int64_t rows, int64_t columns, int64_t stride) {
    if (status == CUBLAS_STATUS_SUCCESS)
      status = lt.cublasLtMatrixLayoutCreate(&to, type_of(type), static_cast<uint64_t>(rows),
                                             static_cast<uint64_t>(columns), stride);
  };
  layout(made->a, p.b.type, p.b.major == Major::k ? p.k : p.n, p.b.major == Major::k ? p.n : p.k, p.b.stride);
  layout(made->b, p.a.type, p.a.major == Major::k ? p.k : p.m, p.a.major == Major::k ? p.m : p.k, p.a.stride);
  layout(made->d, p.d.type, p.n, p.m, p.d.stride);
  layout(made->c, p.beta != 0 ? p.c.type : p.d.type, p.n, p.m, p.beta != 0 ? p.c.stride : p.d.stride);

  cublasLtMatmulPreference_t preference = nullptr;
  if (status == CUBLAS_STATUS_SUCCESS) status = lt.cublasLtMatmulPreferenceCreate(&preference);
  if (status == CUBLAS_STATUS_SUCCESS)
    status = lt.cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                     &workspace_size, sizeof(workspace_size));
  made->found.resize(static_cast<size_t>(count));
  int number = 0;
  if (status == CUBLAS_STATUS_SUCCESS)
    status = lt.cublasLtMatmulAlgoGetHeuristic(lt.handle, made->desc, made->a, made->b, made->c, made->d, preference,
                                               count, made->found.data(), &number);
  if (preference != nullptr) lt.cublasLtMatmulPreferenceDestroy(preference);
  if (status != CUBLAS_STATUS_SUCCESS) return Error{status_text(status)};
  if (number == 0) return Error{"cuBLASLt has no algorithm for this"};
  made->found.resize(static_cast<size_t>(number));
  std::erase_if(made->found, [](const auto& result) { return result.state != CUBLAS_STATUS_SUCCESS; });
  if (made->found.empty()) return Error{"cuBLASLt has no algorithm for this"};
  return std::shared_ptr<const Matmul>(std::move(made));
}

int CublasLt::algorithms(const Matmul& matmul) { return static_cast<int>(matmul.found.size()); }

std::string CublasLt::describe(const Matmul& matmul, int algorithm) {
  const cublasLtMatmulAlgo_t& algo = matmul.found[static_cast<size_t>(algorithm)].algo;
  const auto get = [&](cublasLtMatmulAlgoConfigAttributes_t attribute) {
    int32_t value = -1;
    size_t written = 0;
    matmul.api->cublasLtMatmulAlgoConfigGetAttribute(&algo, attribute, &value, sizeof(value), &written);
    return value;
  };
  return fmt::format("#{} of {}, id {} tile {} stages {} split {}", algorithm + 1, algorithms(matmul),
                     get(CUBLASLT_ALGO_CONFIG_ID), get(CUBLASLT_ALGO_CONFIG_TILE_ID),
                     get(CUBLASLT_ALGO_CONFIG_STAGES_ID), get(CUBLASLT_ALGO_CONFIG_SPLITK_NUM));
}

std::string CublasLt::launch(const Matmul& matmul, int algorithm, const GemmProblem& p, cudaStream_t stream) {
  const Api& lt = *matmul.api;
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const void* value) {
    lt.cublasLtMatmulDescSetAttribute(matmul.desc, attribute, &value, sizeof(value));
  };
  if (p.bias.along != BiasAlong::none) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias.data);
  if (matmul.scales == LtScales::as_problem && p.scaling != Scaling::none) {
    const size_t blocks = static_cast<size_t>((p.k + 127) / 128), height = static_cast<size_t>((p.n + 127) / 128);
    constexpr size_t word = sizeof(float);
    const auto copy = [&](const Buffer& to, size_t to_stride, const float* from, size_t from_stride, size_t width,
                          size_t rows) {
      if (to.bytes() > 0 && matmul.copied_from != p.a.data)
        check(cudaMemcpy2DAsync(to.data(), to_stride * word, from, from_stride * word, width * word, rows,
                                cudaMemcpyDeviceToDevice, stream),
              "cudaMemcpy2D");
    };
    const size_t m = static_cast<size_t>(p.m);
    copy(matmul.row_scales, m, p.a_scales.data, static_cast<size_t>(p.a_scales.stride), m, blocks);
    copy(matmul.block_scales, (blocks + 3) / 4 * 4, p.b_scales.data, blocks, blocks, height);
    matmul.copied_from = p.a.data;
    if (matmul.row_scales.bytes() == 0) set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, p.a_scales.data);
    if (matmul.block_scales.bytes() == 0) set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, p.b_scales.data);
  }
  const void* c = p.beta != 0 ? p.c.data : p.d.data;
  const cublasStatus_t status = lt.cublasLtMatmul(
      lt.handle, matmul.desc, &p.alpha, p.b.data, matmul.a, p.a.data, matmul.b, &p.beta, c, matmul.c, p.d.data,
      matmul.d, &matmul.found[static_cast<size_t>(algorithm)].algo, lt.workspace.data(), lt.workspace.bytes(), stream);
  return status_text(status);
}

}  // namespace warploom::bench
