// PTX out of fat binaries: those that nvcc makes, and those that nobody should.
#include "ptx/fatbin.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <random>

#include "ptx/fat_binaries.hpp"

namespace warploom::ptx {
namespace {

std::string text_for(const std::string& target, int lines = 40) {
  std::string text = "\n// a .target of a comment\n.version 9.0\n.target " + target + "\n.address_size 64\n";
  for (int i = 0; i < lines; ++i) text += "// line " + std::to_string(i) + " of a kernel\n";
  return text;
}

TEST(Fatbin, ReadsEveryPacking) {
  for (const Packing packing : {Packing::none, Packing::lz4, Packing::zstd}) {
    const auto images = images_of_fatbin(FatBinary().machine_code(90).ptx(text_for("sm_90a"), packing, 90).bytes());
    ASSERT_TRUE(images) << images.error();
    ASSERT_EQ(images->size(), 1u);
    EXPECT_EQ(images->front().text, text_for("sm_90a"));
    EXPECT_EQ(images->front().target(), "sm_90a");
  }
}

TEST(Fatbin, ChoosesTheTextForTheChip) {
  FatBinary fat;
  for (const char* target : {"sm_80", "sm_90", "sm_90a", "sm_100", "sm_100f", "sm_100a", "sm_103a", "sm_120"})
    fat.ptx(text_for(target), Packing::zstd, 0);
  const auto images = images_of_fatbin(fat.bytes());
  ASSERT_TRUE(images) << images.error();
  EXPECT_EQ(choose(*images, 90)->target(), "sm_90a");
  EXPECT_EQ(choose(*images, 100)->target(), "sm_100a");
  EXPECT_EQ(choose(*images, 100, 0)->target(), "sm_100a");
  EXPECT_EQ(choose(*images, 100, 1), nullptr);
  EXPECT_EQ(choose(*images, 70), nullptr);
}

TEST(Fatbin, PlainTextsRunOnLaterChipsAndSpecificOnesOnTheirOwn) {
  const auto images = images_of_fatbin(
      FatBinary().ptx(text_for("sm_80"), Packing::none, 80).ptx(text_for("sm_90a"), Packing::none, 90).bytes());
  ASSERT_TRUE(images);
  EXPECT_EQ(choose(*images, 100)->target(), "sm_80");
  EXPECT_EQ(choose(*images, 90)->target(), "sm_90a");
}

TEST(Fatbin, TheChipIsTheOneThatTheTextsAskFor) {
  const auto chip = [](std::initializer_list<const char*> targets) {
    FatBinary fat;
    for (const char* target : targets) fat.ptx(text_for(target), Packing::none, 0);
    return chip_for(*images_of_fatbin(fat.bytes()));
  };
  EXPECT_EQ(chip({"sm_90a"}), 90u);
  EXPECT_EQ(chip({"sm_80"}), 90u);
  EXPECT_EQ(chip({"sm_100a"}), 100u);
  EXPECT_EQ(chip({"sm_80", "sm_100f"}), 100u);
  EXPECT_EQ(chip({"sm_90a", "sm_100a"}), 90u);
}

TEST(Fatbin, ReadsSectionsOfElfFiles) {
  // The linker puts one container behind the other, with zeros between them.
  std::vector<std::byte> section(24);
  for (const char* target : {"sm_90", "sm_90a"}) {
    const auto one = FatBinary().ptx(text_for(target), Packing::zstd, 90).bytes();
    section.insert(section.end(), one.begin(), one.end());
    section.resize((section.size() + 7) / 8 * 8 + 16);
  }
  for (const char* name : {".nv_fatbin", "__nv_relfatbin"}) {
    const auto images = images_of_elf(elf_with(name, section));
    ASSERT_TRUE(images) << images.error();
    ASSERT_EQ(images->size(), 2u);
    EXPECT_EQ((*images)[0].module, 0u);
    EXPECT_EQ((*images)[1].module, 1u);
    EXPECT_EQ(choose(*images, 90, 1)->target(), "sm_90a");
  }
  const auto none = images_of_elf(elf_with(".text", section));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error(), "there is no device code in it");
}

TEST(Fatbin, ReadsWhatAProgramRegisters) {
  const auto bytes = FatBinary().ptx(text_for("sm_100a"), Packing::lz4, 100).bytes();
  struct Wrapper {
    uint32_t magic, version;
    const void* data;
    const void* more;
  } wrapper{0x466243b1u, 1, bytes.data(), nullptr};
  const auto images = images_of_registered(&wrapper);
  ASSERT_TRUE(images) << images.error();
  EXPECT_EQ(images->front().architecture, 100u);
  wrapper.magic = 1;
  EXPECT_FALSE(images_of_registered(&wrapper));
  EXPECT_FALSE(images_of_registered(nullptr));
}

TEST(Fatbin, ReadsFilesOfEveryKind) {
  const std::string path = ::testing::TempDir() + "warploom_fatbin_test";
  const auto write = [&](const auto& content) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
  };
  const auto fat = FatBinary().ptx(text_for("sm_90a"), Packing::zstd, 90).bytes();
  write(text_for("sm_90a"));
  EXPECT_EQ(images_of_file(path)->front().target(), "sm_90a");
  write(fat);
  EXPECT_EQ(images_of_file(path)->front().target(), "sm_90a");
  write(elf_with(".nv_fatbin", fat));
  EXPECT_EQ(images_of_file(path)->front().target(), "sm_90a");
  write(std::string("int main() {}\n"));
  const auto code = images_of_file(path);
  ASSERT_FALSE(code);
  EXPECT_NE(code.error().find("neither PTX"), std::string::npos) << code.error();
  std::remove(path.c_str());
  EXPECT_EQ(images_of_file(path).code(), ErrorCode::io);
}

TEST(Fatbin, SaysWhatIsThereWhenNoPtxIs) {
  const auto code = images_of_fatbin(FatBinary().machine_code(90).bytes());
  ASSERT_FALSE(code);
  EXPECT_NE(code.error().find("compile with -gencode"), std::string::npos) << code.error();
  const auto linker = images_of_fatbin(FatBinary().entry(8, 90, "bitcode", 0, 0, 0).bytes());
  ASSERT_FALSE(linker);
  EXPECT_NE(linker.error().find("-dlto"), std::string::npos) << linker.error();
}

TEST(Fatbin, RefusesBombsAndLies) {
  const auto sentence = [](const FatBinary& fat) {
    const auto images = images_of_fatbin(fat.bytes());
    return images ? std::string("taken") : images.error();
  };
  // Three gigabytes in a few bytes.
  EXPECT_NE(
      sentence(FatBinary().entry(1, 90, "\x28\xb5\x2f\xfd....", 0x8000, 8, uint64_t{3} << 30)).find("cannot hold"),
      std::string::npos);
  // A frame that unpacks to another size than the entry says.
  std::string text = text_for("sm_90a"), packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  EXPECT_NE(sentence(FatBinary().entry(1, 90, packed, 0x8000, packed.size(), text.size() + 1)), "taken");
  EXPECT_NE(sentence(FatBinary().entry(1, 90, packed, 0x8000, packed.size(), text.size() - 1)), "taken");
  EXPECT_NE(sentence(FatBinary().entry(1, 90, packed, 0x8000, packed.size() + 4096, text.size())), "taken");
  EXPECT_EQ(sentence(FatBinary().entry(1, 90, packed, 0x8000, packed.size(), text.size())), "taken");
}

/// Any answer will do, but there must be one, and what is taken must be of a size that was there to read.
void survives(const std::vector<std::byte>& bytes) {
  for (const auto& images : {images_of_fatbin(bytes), images_of_elf(bytes)}) {
    if (!images) {
      EXPECT_FALSE(images.error().empty());
      continue;
    }
    for (const Image& image : *images) EXPECT_LE(image.text.size(), bytes.size() * 1000 + 65536);
  }
}

void fuzz(int count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::vector<std::byte>> seeds;
  for (const Packing packing : {Packing::none, Packing::lz4, Packing::zstd}) {
    FatBinary fat;
    fat.machine_code(90).ptx(text_for("sm_90a", 12), packing, 90).ptx(text_for("sm_100a", 6), packing, 100);
    seeds.push_back(fat.bytes());
    seeds.push_back(elf_with(".nv_fatbin", fat.bytes()));
  }
  for (int i = 0; i < count; ++i) {
    auto bytes = seeds[random() % seeds.size()];
    for (uint32_t n = 1 + random() % 6; n > 0; --n) {
      const size_t at = random() % 4 == 0 ? random() % bytes.size() : random() % std::min<size_t>(bytes.size(), 320);
      switch (random() % 4) {
        case 0: bytes[at] = std::byte(random() & 255); break;
        case 1: bytes[at] ^= std::byte(1u << random() % 8); break;
        case 2:  // sizes are where harm is done
          for (size_t k = at & ~size_t{3}; k < std::min(bytes.size(), (at & ~size_t{3}) + 4); ++k)
            bytes[k] = random() % 2 == 0 ? std::byte{0xff} : std::byte(random() & 255);
          break;
        default: bytes.resize(1 + random() % bytes.size()); break;
      }
    }
    // In memory of its own, so that sanitizers see a byte too far.
    survives(std::vector<std::byte>(bytes));
    if (::testing::Test::HasFailure()) {
      FAIL() << "input " << i << " of seed " << seed;
    }
  }
}

TEST(Fatbin, SurvivesMutations) { fuzz(1000, 1); }
TEST(FatbinFull, SurvivesMutations) { fuzz(20000, 2); }

}  // namespace
}  // namespace warploom::ptx
