// Files of tensors: what is written is read again, and no malformed file gets further than a sentence.
#include "cli/safetensors.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

namespace warploom::cli {
namespace {

std::vector<std::byte> bytes(size_t count, int first = 0) {
  std::vector<std::byte> list(count);
  for (size_t i = 0; i < count; ++i) list[i] = static_cast<std::byte>(first + static_cast<int>(i));
  return list;
}

std::vector<std::byte> file_of(const std::string& header, size_t data, int64_t claimed = -1) {
  const uint64_t length = claimed < 0 ? header.size() : static_cast<uint64_t>(claimed);
  std::vector<std::byte> file(8 + header.size() + data);
  std::memcpy(file.data(), &length, 8);
  std::memcpy(file.data() + 8, header.data(), header.size());
  return file;
}

TEST(SafeTensors, WhatIsWrittenIsReadAgain) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("warploom_" + std::to_string(std::random_device{}()) + ".safetensors");
  const auto a = bytes(24), b = bytes(5, 100), c = bytes(6, 50), e = bytes(4, 7);
  ASSERT_EQ(write_safetensors(path, {{"a", DType::f32, {2, 3}, a},
                                     {"b", DType::e4m3, {5}, b},
                                     {"c", DType::bf16, {1, 3, 1}, c},
                                     {"e", DType::e5m2, {2, 2}, e},
                                     {"none", DType::f16, {0, 4}, {}}}),
            "");
  const Result<SafeTensors> file = SafeTensors::read(path);
  ASSERT_TRUE(file) << file.error();
  std::filesystem::remove(path);
  const SafeTensor* found = file->find("a");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->type, DType::f32);
  EXPECT_EQ(found->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_TRUE(std::equal(found->data.begin(), found->data.end(), a.begin(), a.end()));
  found = file->find("b");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->type, DType::e4m3);
  EXPECT_TRUE(std::equal(found->data.begin(), found->data.end(), b.begin(), b.end()));
  EXPECT_EQ(file->find("c")->type, DType::bf16);
  EXPECT_EQ(file->find("e")->type, DType::e5m2);
  EXPECT_EQ(file->find("none")->data.size(), 0u);
  EXPECT_EQ(file->find("nobody"), nullptr);
  EXPECT_EQ(file->names(), "a, b, c, e, none");
}

TEST(SafeTensors, MetadataAndOtherTypesArePassedOver) {
  const Result<SafeTensors> file = SafeTensors::parse(
      file_of(R"({"__metadata__":{"format":"pt"},"i":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},)"
              R"("x":{"dtype":"F16","shape":[2],"data_offsets":[8,12]}})",
              12));
  ASSERT_TRUE(file) << file.error();
  EXPECT_EQ(file->find("i"), nullptr);
  EXPECT_EQ(file->why_unread("i"), "tensor 'i' is I64; F32, F16, BF16, F8_E4M3 and F8_E5M2 are read");
  EXPECT_EQ(file->why_unread("x"), "");
  EXPECT_EQ(file->why_unread("nobody"), "");
  ASSERT_NE(file->find("x"), nullptr);
  EXPECT_EQ(file->find("x")->data.size(), 4u);
}

TEST(SafeTensors, MalformedFilesAreASentence) {
  const std::string entry = R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  auto with = [](const char* text) { return file_of(text, 8); };
  const std::pair<std::vector<std::byte>, const char*> cases[] = {
      {{}, "too short"},
      {bytes(7), "too short"},
      {file_of(entry, 8, 1'000'000), "said to be"},
      {file_of(entry, 8, INT64_MAX), "said to be"},
      {file_of(entry, 4), "outside the file"},
      {file_of(entry, 8, 5), "not a JSON object"},
      {with("[1, 2]"), "not a JSON object"},
      {with(R"({"x":5})"), "needs dtype, shape and data_offsets"},
      {with(R"({"x":{"dtype":"F32","shape":[2]}})"), "needs dtype, shape and data_offsets"},
      {with(R"({"x":{"dtype":32,"shape":[2],"data_offsets":[0,8]}})"), "needs dtype, shape and data_offsets"},
      {with(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0]}})"), "two data_offsets"},
      {with(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[-8,0]}})"), "two data_offsets"},
      {with(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})"), "outside the file"},
      {with(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,16]}})"), "outside the file"},
      {with(R"({"x":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})"), "does not match its bytes"},
      {with(R"({"x":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})"), "whole numbers"},
      {with(R"({"x":{"dtype":"F32","shape":["2"],"data_offsets":[0,8]}})"), "whole numbers"},
      {with(R"({"x":{"dtype":"F32","shape":[1099511627776,1099511627776,1099511627776],"data_offsets":[0,8]}})"),
       "no file could hold"},
      {with(R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
            R"("y":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})"),
       "overlap"},
  };
  for (const auto& [file, sentence] : cases) {
    const Result<SafeTensors> parsed = SafeTensors::parse(file);
    ASSERT_FALSE(parsed) << sentence;
    EXPECT_NE(parsed.error().find(sentence), std::string::npos) << parsed.error();
  }
  const Result<SafeTensors> nowhere = SafeTensors::read("/nowhere/at/all.safetensors");
  ASSERT_FALSE(nowhere);
  EXPECT_NE(nowhere.error().find("cannot open"), std::string::npos);
}

TEST(SafeTensors, NoBrokenByteGoesUnharmed) {
  const auto a = bytes(24);
  const std::vector<std::byte> good = to_safetensors({{"a", DType::f32, {2, 3}, a}, {"b", DType::f16, {12}, a}});
  std::mt19937_64 random(5);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::vector<std::byte> file = good;
    for (uint64_t n = 1 + random() % 3; n > 0; --n) file[random() % file.size()] = static_cast<std::byte>(random());
    if (random() % 4 == 0) file.resize(random() % file.size());
    const Result<SafeTensors> parsed = SafeTensors::parse(std::move(file));
    if (!parsed) {
      ++refused;
      continue;
    }
    for (const char* name : {"a", "b"}) {  // whatever survives lies inside the file
      const SafeTensor* tensor = parsed->find(name);
      if (tensor == nullptr) continue;
      unsigned sum = 0;
      for (std::byte byte : tensor->data) sum += static_cast<unsigned>(byte);
      EXPECT_LE(sum, 255u * 24);
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace warploom::cli
