// What is possible, and the kernel's parameters: the same for both machines, which differ only in how a tensor map is
// made.
#include <fmt/format.h>

#include <cstdint>

#include "kernels/blockwise_fp8_params.hpp"

namespace warploom {
namespace {

template <class T>
std::string check_matrix(const char* name, const Matrix<T>& matrix, int64_t columns) {
  const auto unit = static_cast<int64_t>(16 / sizeof(T));
  if (matrix.data == nullptr) return fmt::format("{} is missing", name);
  if (reinterpret_cast<uintptr_t>(matrix.data) % 16 != 0)
    return fmt::format("{} must start at a multiple of 16 bytes", name);
  if (matrix.stride < columns)
    return fmt::format("rows of {} are {} elements apart but {} long", name, matrix.stride, columns);
  if (matrix.stride % unit != 0)
    return fmt::format("rows of {} are {} elements apart; a multiple of {} (16 bytes) is needed, so pad them", name,
                       matrix.stride, unit);
  return {};
}

}  // namespace

std::string why_not(const BlockwiseFP8Problem& p) {
  if (p.m < 1 || p.n < 1 || p.k < 1)
    return fmt::format("m, n and k must be at least 1, not {} x {} x {}", p.m, p.n, p.k);
  if (std::string s = check_matrix("A", p.a, p.k); !s.empty()) return s;
  if (std::string s = check_matrix("B", p.b, p.k); !s.empty()) return s;
  if (std::string s = check_matrix("a_scales", p.a_scales, p.m); !s.empty()) return s;
  if (p.b_scales == nullptr) return "b_scales is missing";
  if (reinterpret_cast<uintptr_t>(p.b_scales) % 4 != 0) return "b_scales must start at a multiple of 4 bytes";
  if (std::string s = check_matrix("D", p.d, p.n); !s.empty()) return s;
  if (p.beta != 0.0f) {
    if (std::string s = check_matrix("C", p.c, p.n); !s.empty()) return s;
    if (p.c.data == p.d.data && p.c.stride != p.d.stride) return "C may be D only with the same row stride";
    const bf16 *c_end = p.c.data + (p.m - 1) * p.c.stride + p.n, *d_end = p.d.data + (p.m - 1) * p.d.stride + p.n;
    if (p.c.data != p.d.data && p.c.data < d_end && p.d.data < c_end)
      return "C and D overlap; C may be D itself or lie elsewhere";
  }
  return {};
}

Result<BlockwiseFP8Params> make_params(const BlockwiseFP8Problem& p, const BlockwiseFP8Boxes& boxes,
                                       EncodeTensorMap encode) {
  if (std::string reason = why_not(p); !reason.empty()) return Error{reason};
  BlockwiseFP8Params params{};
  auto map = [&](TensorMap& to, TmaType type, const void* data, int columns, int rows, int64_t stride_bytes,
                 uint32_t box_columns, uint32_t box_rows, Swizzle swizzle) -> std::string {
    TensorMapArgs args;
    args.type = type;
    args.address = data;
    args.dims = {static_cast<uint64_t>(columns), static_cast<uint64_t>(rows), 1, 1, 1};
    args.strides[0] = static_cast<uint64_t>(stride_bytes);
    args.box = {box_columns, box_rows, 1, 1, 1};
    args.swizzle = swizzle;
    args.l2_promotion = 2;
    Result<TensorMap> made = encode(args);
    if (!made) return made.error();
    to = *made;
    return {};
  };
  const int k_blocks = (p.k + 127) / 128;
  const bool residual = p.beta != 0.0f;
  std::string error;
  if (error = map(params.a, TmaType::u8, p.a.data, p.k, p.m, p.a.stride, 128, boxes.a_rows, Swizzle::b128);
      !error.empty())
    return Error{error};
  if (error = map(params.b, TmaType::u8, p.b.data, p.k, p.n, p.b.stride, 128, boxes.b_rows, Swizzle::b128);
      !error.empty())
    return Error{error};
  if (error = map(params.a_scales, TmaType::f32, p.a_scales.data, p.m, k_blocks, p.a_scales.stride * 4, boxes.tile_rows,
                  1, Swizzle::none);
      !error.empty())
    return Error{error};
  if (error = map(params.d, TmaType::bf16, p.d.data, p.n, p.m, p.d.stride * 2, boxes.strip_columns, boxes.tile_rows,
                  Swizzle::b128);
      !error.empty())
    return Error{error};
  const void* c = residual ? static_cast<const void*>(p.c.data) : p.d.data;
  const int64_t c_stride = residual ? p.c.stride : p.d.stride;
  if (error =
          map(params.c, TmaType::bf16, c, p.n, p.m, c_stride * 2, boxes.strip_columns, boxes.tile_rows, Swizzle::b128);
      !error.empty())
    return Error{error};
  params.b_scales = p.b_scales;
  params.d_data = p.d.data;
  params.d_stride = p.d.stride;
  params.m = p.m;
  params.n = p.n;
  params.k = p.k;
  params.alpha = p.alpha;
  params.beta = p.beta;
  return params;
}

}  // namespace warploom
