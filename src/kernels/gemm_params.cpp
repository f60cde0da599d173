#include "kernels/gemm_params.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "plan/gemm_legal.hpp"

namespace warploom {
namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

TmaType tma_type(DType type) {
  switch (type) {
    case DType::bf16: return TmaType::bf16;
    case DType::f16: return TmaType::f16;
    case DType::f32: return TmaType::f32;
    default: return TmaType::u8;
  }
}

constexpr uint8_t l2_promotion_256_bytes = 3;
constexpr int64_t scale_block = 128;

bool multiple_of_16_bytes(int64_t elements, DType type) { return elements * size_of(type) % 16 == 0; }

/// The box of a store to D or a load of C, and its swizzle.
struct OutputBox {
  uint32_t columns, rows;
  Swizzle swizzle;
};
OutputBox output_box(const GemmShape& shape, DType type, bool store) {
  const auto unit = static_cast<uint32_t>(shape.unit_columns);
  OutputBox box = shape.swap ? OutputBox{64, unit, Swizzle::b128} : OutputBox{unit, 64, Swizzle::b128};
  box.rows = static_cast<uint32_t>(store ? shape.store_rows : shape.load_rows);
  if (type == DType::f32) box.columns /= 2;
  if (size_of(type) == 1) box.swizzle = Swizzle::b64;
  return box;
}

template <class Pointer>
Path path_of(const OutputRef<Pointer>& ref, int batch, const GemmShape& shape) {
  const OutputBox box = output_box(shape, ref.type, false);
  const uint32_t row_bytes = box.columns * size_of(ref.type);
  const bool tma = reinterpret_cast<uintptr_t>(ref.data) % 16 == 0 && multiple_of_16_bytes(ref.stride, ref.type) &&
                   (batch <= 1 || multiple_of_16_bytes(ref.batch_stride, ref.type)) && row_bytes != 0 &&
                   row_bytes % 16 == 0 && row_bytes <= swizzle_span(box.swizzle);
  return tma ? Path::tma : Path::plain;
}

/// An operand that one or two clusters read, at about the same time, makes room for itself in the L2 cache instead of
/// driving out what others have there: the other operand, which every tile reads, and lines that would have to be
/// written back first. One that several matrices of a batch share is no such stream, and what one matrix of a batch
/// reads often is of no use to the next.
void hint_streams(GemmParams& params, const GemmProblem& p, const GemmShape& shape, const GemmTiles& tiles) {
  constexpr int64_t few = 2;
  const bool left_streams = tiles.right_clusters <= few, right_streams = tiles.left_clusters <= few;
  if (left_streams == right_streams) return;
  const OperandRef& streamed = left_streams != shape.swap ? p.a : p.b;
  if (p.batch > 1 && streamed.batch_stride == 0) return;
  (left_streams ? params.left_hint : params.right_hint) = CacheHint::evict_first;
  if (p.batch == 1) (left_streams ? params.right_hint : params.left_hint) = CacheHint::evict_last;
}

/// Makes maps until one is refused.
class Maps {
 public:
  explicit Maps(EncodeTensorMap encode) : encode_(encode) {}

  void make(TensorMap& to, DType type, const void* data, std::array<int64_t, 3> dims, int64_t stride,
            int64_t batch_stride, uint32_t box_inner, uint32_t box_outer, Swizzle swizzle) {
    if (error.code != ErrorCode::none) return;
    TensorMapArgs args;
    args.type = tma_type(type);
    args.rank = 3;
    args.address = data;
    for (size_t d = 0; d < 3; ++d) args.dims[d] = static_cast<uint64_t>(dims[d]);
    args.strides[0] = static_cast<uint64_t>(stride) * size_of(type);
    // A batch of one may say anything about its stride.
    args.strides[1] = dims[2] > 1 ? static_cast<uint64_t>(batch_stride) * size_of(type) : 16;
    args.box = {box_inner, box_outer, 1, 1, 1};
    args.swizzle = swizzle;
    args.l2_promotion = l2_promotion_256_bytes;
    Result<TensorMap> made = encode_(args);
    if (made)
      to = *made;
    else
      error = made.why();
  }

  void operand(TensorMap& to, const OperandRef& ref, int64_t rows, int64_t k, int batch, int tile_k, int box_rows) {
    if (ref.major == Major::k)
      make(to, ref.type, ref.data, {k, rows, batch}, ref.stride, ref.batch_stride, static_cast<uint32_t>(tile_k),
           static_cast<uint32_t>(box_rows), Swizzle::b128);
    else
      make(to, ref.type, ref.data, {rows, k, batch}, ref.stride, ref.batch_stride, 64, static_cast<uint32_t>(tile_k),
           Swizzle::b128);
  }

  void row_scales(TensorMap& to, const ScalesRef& ref, int64_t rows, int64_t blocks, int batch, int tile_rows) {
    make(to, DType::f32, ref.data, {rows, blocks, batch}, ref.stride, ref.batch_stride,
         static_cast<uint32_t>(tile_rows), 1, Swizzle::none);
  }

  /// In one line, so that each can be fetched, whatever K.
  void block_scales(TensorMap& to, const ScalesRef& ref, int64_t count, int batch) {
    make(to, DType::f32, ref.data, {count, 1, batch}, 4, ref.batch_stride, 4, 1, Swizzle::none);
  }

  template <class Pointer>
  void output(TensorMap& to, const OutputRef<Pointer>& ref, const GemmProblem& p, const GemmShape& shape, bool store,
              bool wide, bool plain) {
    OutputBox box = output_box(shape, ref.type, store);
    if (wide) box.columns = static_cast<uint32_t>(shape.plain_columns);
    if (plain) box.rows = static_cast<uint32_t>(shape.plain_rows);
    output(to, ref, p, box);
  }
  /// The last store of a tile whose columns are not a multiple of its units.
  template <class Pointer>
  void output_rest(TensorMap& to, const OutputRef<Pointer>& ref, const GemmProblem& p, const GemmShape& shape,
                   bool wide) {
    OutputBox box = output_box(shape, ref.type, true);
    box.columns = wide ? static_cast<uint32_t>(shape.tile_right % shape.plain_columns)
                       : static_cast<uint32_t>(shape.rest_columns) % box.columns;
    if (box.columns != 0) output(to, ref, p, box);
  }
  template <class Pointer>
  void output(TensorMap& to, const OutputRef<Pointer>& ref, const GemmProblem& p, const OutputBox& box) {
    make(to, ref.type, ref.data, {p.n, p.m, p.batch}, ref.stride, ref.batch_stride, box.columns, box.rows, box.swizzle);
  }

  Error error{{}, ErrorCode::none};

 private:
  EncodeTensorMap encode_;
};

}  // namespace

Path d_path(const GemmProblem& p, const GemmShape& shape) { return path_of(p.d, p.batch, shape); }
Path c_path(const GemmProblem& p, const GemmShape& shape) {
  if (p.beta == 0.0f) return Path::none;
  // A tile whose last unit is narrower loads C beyond its end. In place that is where its neighbour stores D.
  const bool beyond = shape.rest_columns != 0 || (shape.fuses && shape.tile_right % shape.plain_columns != 0);
  return beyond && p.c.data == p.d.data ? Path::plain : path_of(p.c, p.batch, shape);
}
bool plain_output(const GemmProblem& p, const GemmShape& shape, int splits) {
  return !shape.swap && !shape.own_function && splits == 1 && p.beta == 0.0f && p.bias.along == BiasAlong::none &&
         p.activation == Activation::none && size_of(p.d.type) == 2 && p.n % 8 == 0 && d_path(p, shape) == Path::tma;
}

bool fused_output(const GemmProblem& p, const GemmShape& shape, int splits) {
  return shape.fuses && splits == 1 && p.alpha == 1.0f && p.d.type == p.a.type && p.n % 8 == 0 &&
         d_path(p, shape) == Path::tma && (p.beta == 0.0f || (p.c.type == p.d.type && c_path(p, shape) == Path::tma)) &&
         p.bias.along != BiasAlong::m && (p.activation == Activation::none || p.activation == Activation::silu) &&
         !plain_output(p, shape, splits);
}

GemmTiles gemm_tiles(const GemmProblem& p, const GemmShape& shape) {
  GemmTiles tiles;
  tiles.left_clusters = ceil_div(shape.swap ? p.n : p.m, int64_t{shape.tile_left} * shape.cluster_left);
  tiles.right_clusters = ceil_div(shape.swap ? p.m : p.n, int64_t{shape.tile_right} * shape.cluster_right);
  tiles.clusters = tiles.left_clusters * tiles.right_clusters;
  tiles.ctas = tiles.clusters * shape.cluster_left * shape.cluster_right;
  return tiles;
}

size_t gemm_counter_bytes(const GemmProblem& p, const GemmShape& shape, int splits) {
  if (splits <= 1) return 0;
  const int64_t counters = gemm_tiles(p, shape).ctas * p.batch * shape.groups;
  return static_cast<size_t>(ceil_div(counters * static_cast<int64_t>(sizeof(uint32_t)), 1024) * 1024);
}

size_t gemm_workspace_bytes(const GemmProblem& p, const GemmShape& shape, int splits) {
  if (splits <= 1) return 0;
  const int64_t floats = gemm_tiles(p, shape).ctas * p.batch * splits * shape.partial_floats;
  return gemm_counter_bytes(p, shape, splits) + static_cast<size_t>(floats) * sizeof(float);
}

bool gemm_counters_zero(const void* workspace, size_t counter_bytes) {
  const auto* counters = static_cast<const uint32_t*>(workspace);
  return std::all_of(counters, counters + counter_bytes / sizeof(uint32_t), [](uint32_t c) { return c == 0; });
}

size_t span_bytes(int64_t inner, int64_t outer, int64_t stride, int batch, int64_t batch_stride, DType type) {
  if (inner == 0 || outer == 0 || batch == 0) return 0;
  const int64_t elements = (batch - 1) * (batch > 1 ? batch_stride : 0) + (outer - 1) * stride + inner;
  return static_cast<size_t>(elements) * size_of(type);
}

std::vector<loom::TensorRef> gemm_tensors(const GemmProblem& p, const GemmPlan& plan, void* workspace) {
  using loom::Access;
  std::vector<loom::TensorRef> list;
  auto add = [&](const void* data, size_t bytes, Access access, const char* name) {
    if (bytes != 0) list.push_back({data, bytes, access, name});
  };
  auto operand = [&](const OperandRef& ref, int rows, const char* name) {
    const bool k_major = ref.major == Major::k;
    add(ref.data,
        span_bytes(k_major ? p.k : rows, k_major ? rows : p.k, ref.stride, p.batch, ref.batch_stride, ref.type),
        Access::read, name);
  };
  // D first: where C is D, an access of either kind finds it there.
  add(p.d.data, span_bytes(p.n, p.m, p.d.stride, p.batch, p.d.batch_stride, p.d.type), Access::write, "D");
  operand(p.a, p.m, "A");
  operand(p.b, p.n, "B");
  if (p.beta != 0.0f)
    add(p.c.data, span_bytes(p.n, p.m, p.c.stride, p.batch, p.c.batch_stride, p.c.type), Access::read, "C");
  if (p.bias.along != BiasAlong::none)
    add(p.bias.data, span_bytes(p.bias.along == BiasAlong::n ? p.n : p.m, 1, 0, 1, 0, p.bias.type), Access::read,
        "bias");
  if (p.scaling != Scaling::none) {
    const int64_t blocks = ceil_div(p.k, scale_block);
    const auto scales = [&](const ScalesRef& ref, int64_t inner, int64_t outer, int64_t stride, const char* name) {
      add(ref.data, span_bytes(inner, outer, stride, p.batch, ref.batch_stride, DType::f32), Access::read, name);
    };
    scales(p.a_scales, p.m, blocks, p.a_scales.stride, "a_scales");
    if (p.scaling == Scaling::a_rows_b_rows)
      scales(p.b_scales, p.n, blocks, p.b_scales.stride, "b_scales");
    else
      scales(p.b_scales, blocks, ceil_div(p.n, scale_block), blocks, "b_scales");
  }
  add(workspace, plan.workspace_bytes, Access::write, "workspace");
  return list;
}

Result<GemmLaunch> make_launch(const GemmProblem& p, const GemmPlan& plan, void* workspace, EncodeTensorMap encode) {
  if (plan.config == nullptr) return Error{"the plan names no configuration; plan_gemm makes one that does"};
  if (Error trouble = trouble_with(p, *plan.config); trouble.code != ErrorCode::none) return trouble;
  const GemmShape& shape = plan.config->shape;
  const int cluster_size = shape.cluster_size();
  GemmLaunch launch;
  launch.cluster = {static_cast<uint32_t>(shape.cluster_left), static_cast<uint32_t>(shape.cluster_right),
                    static_cast<uint32_t>(shape.cluster_k)};
  launch.threads = shape.threads;
  launch.shared_bytes = shape.shared_bytes;
  if (p.m == 0 || p.n == 0 || p.batch == 0) return launch;

  if (plan.splits < 1) return Error{fmt::format("the plan has {} splits; 1 is the least", plan.splits)};
  if (plan.ctas < cluster_size || plan.ctas % cluster_size != 0)
    return Error{fmt::format("the plan has {} CTAs; whole clusters of {} are launched", plan.ctas, cluster_size)};
  if (shape.launch_control && plan.ctas != gemm_tiles(p, shape).ctas * plan.splits * p.batch)
    return Error{fmt::format("the plan has {} CTAs; with launch control every tile has its own, {} in all", plan.ctas,
                             gemm_tiles(p, shape).ctas * plan.splits * p.batch)};
  const size_t needed = gemm_workspace_bytes(p, shape, plan.splits);
  if (needed > plan.workspace_bytes)
    return Error{fmt::format("{} splits need {} bytes of workspace, and the plan has {}", plan.splits, needed,
                             plan.workspace_bytes)};
  if (needed != 0 && workspace == nullptr) return Error{fmt::format("the plan needs a workspace of {} bytes", needed)};
  if (reinterpret_cast<uintptr_t>(workspace) % 128 != 0)
    return Error{"the workspace must start at a multiple of 128 bytes"};
  launch.grid = {static_cast<uint32_t>(plan.ctas / (shape.cluster_right * shape.cluster_k)),
                 static_cast<uint32_t>(shape.cluster_right), static_cast<uint32_t>(shape.cluster_k)};

  GemmParams& params = launch.params;
  params.d_data = p.d.data;
  params.c_data = p.beta != 0.0f ? p.c.data : nullptr;
  params.bias = p.bias.along != BiasAlong::none ? p.bias.data : nullptr;
  params.d_stride = p.d.stride;
  params.d_batch_stride = p.d.batch_stride;
  params.c_stride = p.c.stride;
  params.c_batch_stride = p.c.batch_stride;
  params.m = p.m;
  params.n = p.n;
  params.batch = p.batch;
  params.k_blocks = static_cast<int>(ceil_div(p.k, shape.tile_k));
  params.splits = plan.splits;
  params.weight_blocks = p.k > 0 ? plan.weight_blocks : 0;
  params.alpha = p.alpha;
  params.beta = p.beta;
  params.d_type = p.d.type;
  params.c_type = p.beta != 0.0f ? p.c.type : p.d.type;
  params.bias_type = p.bias.type;
  params.bias_along = p.bias.along;
  params.activation = p.activation;
  params.c_path = c_path(p, shape);
  // Which CTA finishes a split tile is known too late for a role that loads ahead.
  if (plan.splits > 1 && params.c_path == Path::tma) params.c_path = Path::plain;
  params.d_path = d_path(p, shape);
  params.plain = plain_output(p, shape, plan.splits);
  params.fused = fused_output(p, shape, plan.splits);
  const GemmTiles tiles = gemm_tiles(p, shape);
  params.tiles = PreparedTiles(
      ClusterTiles{static_cast<int>(tiles.left_clusters), static_cast<int>(tiles.right_clusters), plan.raster});
  params.by_splits = Divisor(plan.splits);
  params.line = {.items = static_cast<int>(tiles.clusters * plan.splits * p.batch),
                 .k_blocks = params.k_blocks,
                 .straight = plan.splits == 1 && p.batch == 1 && tiles.clusters * cluster_size <= plan.ctas &&
                             (tiles.left_clusters == 1 || tiles.right_clusters == 1),
                 .along_m = tiles.right_clusters == 1};
  hint_streams(params, p, shape, tiles);
  if (plan.splits > 1) {
    params.counters = static_cast<uint32_t*>(workspace);
    params.partials =
        reinterpret_cast<float*>(static_cast<char*>(workspace) + gemm_counter_bytes(p, shape, plan.splits));
  }

  Maps maps(encode);
  if (p.k > 0) {
    TensorMap &a = shape.swap ? params.right : params.left, &b = shape.swap ? params.left : params.right;
    maps.operand(a, p.a, p.m, p.k, p.batch, shape.tile_k, shape.swap ? shape.right_box_rows : shape.left_box_rows);
    maps.operand(b, p.b, p.n, p.k, p.batch, shape.tile_k, shape.swap ? shape.left_box_rows : shape.right_box_rows);
    if (p.scaling != Scaling::none) {
      const int64_t blocks = ceil_div(p.k, scale_block);
      const int a_rows = shape.swap ? shape.tile_right : shape.tile_left;
      const int b_rows = shape.swap ? shape.tile_left : shape.tile_right;
      maps.row_scales(shape.swap ? params.right_scales : params.left_scales, p.a_scales, p.m, blocks, p.batch, a_rows);
      TensorMap& b_scales = shape.swap ? params.left_scales : params.right_scales;
      if (p.scaling == Scaling::a_rows_b_rows)
        maps.row_scales(b_scales, p.b_scales, p.n, blocks, p.batch, b_rows);
      else
        maps.block_scales(b_scales, p.b_scales, blocks * ceil_div(p.n, scale_block), p.batch);
    }
  }
  if (params.c_path == Path::tma) maps.output(params.c, p.c, p, shape, false, params.fused, false);
  if (params.d_path == Path::tma)
    maps.output(params.d, p.d, p, shape, true, params.plain || params.fused, params.plain);
  if (params.d_path == Path::tma && !params.plain) maps.output_rest(params.d_rest, p.d, p, shape, params.fused);
  if (maps.error.code != ErrorCode::none) return maps.error;
  return launch;
}

}  // namespace warploom
