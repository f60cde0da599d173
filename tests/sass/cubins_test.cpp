// Kernels in files of several kinds, whole and broken.
#include "sass/cubins.hpp"

#include <gtest/gtest.h>

#include <random>

#include "sass/code.hpp"

namespace warploom::sass {
namespace {

std::vector<std::byte> joined(std::initializer_list<std::vector<std::byte>> parts) {
  std::vector<std::byte> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

const std::vector<Section> two{
    {".text.first", promotion(20)}, {".nv.info", promotion(3)}, {".text.second", promotion(7)}};

TEST(Cubins, KernelsByName) {
  const auto file = cubin(two);
  const auto kernels = find_kernels(file);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].name, "first");
  EXPECT_EQ(read_code(file, kernels[0]), promotion(20));
  EXPECT_EQ(kernels[1].name, "second");
  EXPECT_EQ(read_code(file, kernels[1]), promotion(7));
}

TEST(Cubins, InsideOtherFilesAtAnyPlace) {
  const std::vector<std::byte> junk(1003, std::byte{0x7f});
  const auto file = joined({junk, cubin(two), junk, cubin({{".text.third", promotion(2)}})});
  const auto kernels = find_kernels(file);
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(read_code(file, kernels[1]), promotion(7));
  EXPECT_EQ(kernels[2].name, "third");
  EXPECT_EQ(read_code(file, kernels[2]), promotion(2));
}

TEST(Cubins, OtherChipsAndMachinesAreNotOurs) {
  EXPECT_TRUE(find_kernels(cubin(two, 100)).empty());
  EXPECT_TRUE(find_kernels(cubin(two, 90, EM_X86_64)).empty());
  EXPECT_TRUE(find_kernels({}).empty());
}

TEST(Cubins, ChipWhereOlderCompilersPutIt) {
  auto file = cubin(two, 0);
  file[EI_ABIVERSION] = std::byte{7};
  file[offsetof(Elf64_Ehdr, e_flags)] = std::byte{90};
  EXPECT_EQ(find_kernels(file).size(), 2u);
}

/// Fields of 64 bits whose sums go around.
TEST(Cubins, SectionsBeyondTheFile) {
  const auto whole = cubin({{".text.first", promotion(20)}});
  const auto with = [&](uint64_t offset, uint64_t size) {
    auto file = whole;
    Elf64_Ehdr header;
    std::memcpy(&header, file.data(), sizeof header);
    std::byte* const entry = file.data() + header.e_shoff + sizeof(Elf64_Shdr);
    std::memcpy(entry + offsetof(Elf64_Shdr, sh_offset), &offset, 8);
    std::memcpy(entry + offsetof(Elf64_Shdr, sh_size), &size, 8);
    return find_kernels(file).size();
  };
  EXPECT_EQ(with(sizeof(Elf64_Ehdr), 320), 1u);
  EXPECT_EQ(with(uint64_t(-32), 64), 0u);
  EXPECT_EQ(with(64, uint64_t(-32)), 0u);
  EXPECT_EQ(with(whole.size(), 16), 0u);
  EXPECT_EQ(with(whole.size() - 16, 32), 0u);
  EXPECT_EQ(with(sizeof(Elf64_Ehdr), 15), 0u) << "no instruction";
}

TEST(Cubins, OtherKindsOfSectionsAndTables) {
  const auto whole = cubin({{".text.first", promotion(20)}});
  Elf64_Ehdr header;
  std::memcpy(&header, whole.data(), sizeof header);
  auto no_bits = whole;
  no_bits[header.e_shoff + sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_type)] = std::byte{SHT_NOBITS};
  EXPECT_TRUE(find_kernels(no_bits).empty());
  auto wide = whole;
  wide[offsetof(Elf64_Ehdr, e_shentsize)] = std::byte{sizeof(Elf64_Shdr) + 8};
  EXPECT_TRUE(find_kernels(wide).empty());
}

/// Whatever a file says of itself, what is found lies inside of it.
TEST(Cubins, BrokenFilesArePassedOver) {
  std::mt19937 random(7);
  const auto whole = cubin(two);
  size_t found = 0;
  for (int i = 0; i < 20'000; ++i) {
    auto file = whole;
    for (int flips = 1 + i % 4; flips > 0; --flips) {
      const size_t place = random() % 3 == 0 ? random() % sizeof(Elf64_Ehdr) : random() % file.size();
      file[place] = static_cast<std::byte>(random());
    }
    if (i % 5 == 0) file.resize(random() % file.size());
    for (const KernelCode& kernel : find_kernels(file)) {
      ASSERT_LE(kernel.offset, file.size());
      ASSERT_LE(kernel.count, (file.size() - kernel.offset) / sizeof(Instruction));
      found += read_code(file, kernel).size();
    }
  }
  EXPECT_GT(found, 0u);
}

}  // namespace
}  // namespace warploom::sass
