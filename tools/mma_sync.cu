// Records what mma.sync returns for products whose operands tools/mma_sync_inputs.hpp makes.
//
//   nvcc -arch=sm_90a -std=c++17 tools/mma_sync.cu -o record && mkdir words && ./record words
//
// Files of the folder, little-endian, without headers, a file each instruction:
//   INSTRUCTION.products   D of the first tiles of each profile, rows x 8 u32 (f16: right-aligned)
//   INSTRUCTION.tiles      for each profile, one u32 a tile: the sum of D[i] * ((i * 0x9e3779b1) | 1)
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "mma_sync_inputs.hpp"

namespace {

using namespace mma_inputs;

constexpr uint32_t whole_tiles = 32, tiles = 4096;

/// The bits of one register: elements right to left.
template <Type type>
__device__ uint32_t operand_register(const Tile& tile, Operand operand, uint32_t i, uint32_t k) {
  constexpr uint32_t bits = type == Type::tf32 ? 32 : type == Type::f16 || type == Type::bf16 ? 16 : 8;
  uint32_t word = 0;
  for (uint32_t e = 0; e < 32 / bits; ++e) word |= element(type, tile, operand, i, k + e) << (e * bits % 32);
  return word;
}

template <typename Mma>
__global__ void record(uint32_t* products, uint32_t* sums) {
  constexpr uint32_t per_register = Mma::a_type == Type::tf32                               ? 1
                                    : Mma::a_type == Type::f16 || Mma::a_type == Type::bf16 ? 2
                                                                                            : 4;
  constexpr uint32_t halves = Mma::rows / 8, steps = Mma::k / (4 * per_register), words = 2 * halves;
  const uint32_t lane = threadIdx.x, group = lane / 4, member = lane % 4;
  const Tile tile{blockIdx.y, blockIdx.x, Mma::k, Mma::a_type};
  uint32_t a[halves * steps], b[steps], c[words], d[words];
  for (uint32_t step = 0; step < steps; ++step) {
    const uint32_t k = (4 * step + member) * per_register;
    for (uint32_t half = 0; half < halves; ++half)
      a[halves * step + half] = operand_register<Mma::a_type>(tile, operand_a, group + 8 * half, k);
    b[step] = operand_register<Mma::b_type>(tile, operand_b, group, k);
  }
  for (uint32_t i = 0; i < words; ++i)
    c[i] = element(Mma::d_type, tile, operand_c, group + 8 * (i / 2), 2 * member + i % 2);
  if constexpr (Mma::d_type == Type::f16) {
    uint32_t packed[halves], result[halves];
    for (uint32_t i = 0; i < halves; ++i) packed[i] = c[2 * i] | c[2 * i + 1] << 16;
    Mma::run(result, a, b, packed);
    for (uint32_t i = 0; i < words; ++i) d[i] = result[i / 2] >> (16 * (i % 2)) & 0xffff;
  } else {
    Mma::run(d, a, b, c);
  }
  uint32_t sum = 0;
  for (uint32_t i = 0; i < words; ++i) {
    const uint32_t at = (group + 8 * (i / 2)) * 8 + 2 * member + i % 2;
    sum += d[i] * (at * 0x9e3779b1u | 1u);
    if (blockIdx.x < whole_tiles) products[(blockIdx.y * whole_tiles + blockIdx.x) * Mma::rows * 8 + at] = d[i];
  }
  for (uint32_t distance = 16; distance != 0; distance /= 2) sum += __shfl_xor_sync(~0u, sum, distance);
  if (lane == 0) sums[blockIdx.y * tiles + blockIdx.x] = sum;
}

#define D4 "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
#define D2 "=r"(d[0]), "=r"(d[1])
#define A4 "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3])
#define A2 "r"(a[0]), "r"(a[1])
#define A1 "r"(a[0])
#define B2 "r"(b[0]), "r"(b[1])
#define B1 "r"(b[0])
#define C4 "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3])
#define C2 "r"(c[0]), "r"(c[1])
#define FORM(NAME, ROWS, K, D, A, B, INSTRUCTION, REGISTERS, ...)                                      \
  struct NAME {                                                                                        \
    static constexpr uint32_t rows = ROWS, k = K;                                                      \
    static constexpr Type d_type = Type::D, a_type = Type::A, b_type = Type::B;                        \
    static constexpr const char* name = INSTRUCTION;                                                   \
    static __device__ void run(uint32_t* d, const uint32_t* a, const uint32_t* b, const uint32_t* c) { \
      asm("mma.sync.aligned." INSTRUCTION " " REGISTERS ";" : __VA_ARGS__);                            \
    }                                                                                                  \
  };
// The registers of D, A, B and C.
#define R4421 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13}"
#define R4211 "{%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%8,%9,%10}"
#define R2422 "{%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%8,%9}"
#define R2212 "{%0,%1}, {%2,%3}, {%4}, {%5,%6}"
#define R2112 "{%0,%1}, {%2}, {%3}, {%4,%5}"
// 16 rows; A of four or two registers; D of four or two.
#define WIDE(NAME, K, D, A, B, INSTRUCTION) FORM(NAME, 16, K, D, A, B, INSTRUCTION, R4421, D4 : A4, B2, C4)
#define SHORT(NAME, K, D, A, B, INSTRUCTION) FORM(NAME, 16, K, D, A, B, INSTRUCTION, R4211, D4 : A2, B1, C4)
#define WIDE_F16(NAME, K, A, B, INSTRUCTION) FORM(NAME, 16, K, f16, A, B, INSTRUCTION, R2422, D2 : A4, B2, C2)
#define SHORT_F16(NAME, K, A, B, INSTRUCTION) FORM(NAME, 16, K, f16, A, B, INSTRUCTION, R2212, D2 : A2, B1, C2)
#define SMALL(NAME, A, B, INSTRUCTION) FORM(NAME, 8, 16, s32, A, B, INSTRUCTION, R2112, D2 : A1, B1, C2)

SHORT(F16Short, 8, f32, f16, f16, "m16n8k8.row.col.f32.f16.f16.f32")
WIDE(F16Wide, 16, f32, f16, f16, "m16n8k16.row.col.f32.f16.f16.f32")
SHORT_F16(F16ShortF16, 8, f16, f16, "m16n8k8.row.col.f16.f16.f16.f16")
WIDE_F16(F16WideF16, 16, f16, f16, "m16n8k16.row.col.f16.f16.f16.f16")
SHORT(Bf16Short, 8, f32, bf16, bf16, "m16n8k8.row.col.f32.bf16.bf16.f32")
WIDE(Bf16Wide, 16, f32, bf16, bf16, "m16n8k16.row.col.f32.bf16.bf16.f32")
SHORT(Tf32Short, 4, f32, tf32, tf32, "m16n8k4.row.col.f32.tf32.tf32.f32")
WIDE(Tf32Wide, 8, f32, tf32, tf32, "m16n8k8.row.col.f32.tf32.tf32.f32")
WIDE(E4Wide, 32, f32, e4m3, e4m3, "m16n8k32.row.col.f32.e4m3.e4m3.f32")
WIDE(E5Wide, 32, f32, e5m2, e5m2, "m16n8k32.row.col.f32.e5m2.e5m2.f32")
WIDE(E45Wide, 32, f32, e4m3, e5m2, "m16n8k32.row.col.f32.e4m3.e5m2.f32")
WIDE(E54Wide, 32, f32, e5m2, e4m3, "m16n8k32.row.col.f32.e5m2.e4m3.f32")
SHORT(E4Short, 16, f32, e4m3, e4m3, "m16n8k16.row.col.f32.e4m3.e4m3.f32")
SHORT(E5Short, 16, f32, e5m2, e5m2, "m16n8k16.row.col.f32.e5m2.e5m2.f32")
WIDE_F16(E4WideF16, 32, e4m3, e4m3, "m16n8k32.row.col.f16.e4m3.e4m3.f16")
WIDE_F16(E5WideF16, 32, e5m2, e5m2, "m16n8k32.row.col.f16.e5m2.e5m2.f16")
SHORT_F16(E4ShortF16, 16, e4m3, e4m3, "m16n8k16.row.col.f16.e4m3.e4m3.f16")
SHORT_F16(E5ShortF16, 16, e5m2, e5m2, "m16n8k16.row.col.f16.e5m2.e5m2.f16")
SMALL(S8Small, s8, s8, "m8n8k16.row.col.s32.s8.s8.s32")
SHORT(S8Short, 16, s32, s8, u8, "m16n8k16.row.col.s32.s8.u8.s32")
WIDE(S8Wide, 32, s32, s8, s8, "m16n8k32.row.col.s32.s8.s8.s32")
WIDE(U8Wide, 32, s32, u8, s8, "m16n8k32.row.col.s32.u8.s8.s32")
WIDE(S8Clamped, 32, s32, s8, s8, "m16n8k32.row.col.satfinite.s32.s8.s8.s32")

bool failed(cudaError_t error) {
  if (error != cudaSuccess) std::fprintf(stderr, "record: %s\n", cudaGetErrorString(error));
  return error != cudaSuccess;
}

bool write(const std::string& path, const uint32_t* device, size_t count) {
  std::vector<uint32_t> words(count);
  if (failed(cudaGetLastError())) return false;
  if (failed(cudaMemcpy(words.data(), device, count * sizeof words[0], cudaMemcpyDeviceToHost))) return false;
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file != nullptr && std::fwrite(words.data(), sizeof words[0], count, file) == count && std::fclose(file) == 0)
    return true;
  std::fprintf(stderr, "record: cannot write %s\n", path.c_str());
  return false;
}

template <typename... Mmas>
bool record_all(const std::string& folder) {
  uint32_t *products = nullptr, *sums = nullptr;
  if (failed(cudaMalloc(&products, profiles * whole_tiles * 128 * sizeof products[0])) ||
      failed(cudaMalloc(&sums, profiles * tiles * sizeof sums[0])))
    return false;
  return ([&] {
    record<Mmas><<<dim3(tiles, profiles), 32>>>(products, sums);
    const std::string path = folder + "/" + Mmas::name;
    return write(path + ".products", products, size_t{profiles} * whole_tiles * Mmas::rows * 8) &&
           write(path + ".tiles", sums, size_t{profiles} * tiles);
  }() && ...);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: record FOLDER\n"), 2;
  const bool good = record_all<F16Short, F16Wide, F16ShortF16, F16WideF16, Bf16Short, Bf16Wide, Tf32Short, Tf32Wide,
                               E4Wide, E5Wide, E45Wide, E54Wide, E4Short, E5Short, E4WideF16, E5WideF16, E4ShortF16,
                               E5ShortF16, S8Small, S8Short, S8Wide, U8Wide, S8Clamped>(argv[1]);
  return good ? 0 : 2;
}
