// Files of tensors: what is written is read again, and no malformed file gets further than a sentence.
#include "cli/safetensors.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <random>

#include "cli/whole_file.hpp"

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
  ASSERT_FALSE(write_whole(path, to_safetensors({{"a", DType::f32, {2, 3}, a},
                                                 {"b", DType::e4m3, {5}, b},
                                                 {"c", DType::bf16, {1, 3, 1}, c},
                                                 {"e", DType::e5m2, {2, 2}, e},
                                                 {"none", DType::f16, {0, 4}, {}}})));
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
  EXPECT_EQ(file->names(), "x");
  ASSERT_NE(file->find("x"), nullptr);
  EXPECT_EQ(file->find("x")->data.size(), 4u);
}

TEST(SafeTensors, AFileOfOtherTypesAloneIsNotCalledEmpty) {
  const Result<SafeTensors> others =
      SafeTensors::parse(file_of(R"({"i":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}})", 8));
  ASSERT_TRUE(others) << others.error();
  EXPECT_EQ(others->names(), "none of a type that is read, and 1 of others");
  const Result<SafeTensors> empty = SafeTensors::parse(file_of("{}", 0));
  ASSERT_TRUE(empty) << empty.error();
  EXPECT_EQ(empty->names(), "none");
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

/// What the format's own reader refuses, so that nothing can hide in a file and no two readers see two files.
TEST(SafeTensors, WhatTheFormatsOwnReaderRefusesIsRefused) {
  auto entry = [](const std::string& name, const std::string& rest) { return "\"" + name + "\":{" + rest + "}"; };
  auto f32 = [&](const std::string& name, int begin, int end) {
    return entry(name, R"("dtype":"F32","shape":[)" + std::to_string((end - begin) / 4) + R"(],"data_offsets":[)" +
                           std::to_string(begin) + "," + std::to_string(end) + "]");
  };
  const std::string x = f32("x", 0, 8);
  std::vector<std::byte> long_header(8 + 8);
  const uint64_t claimed = 100'000'001;
  std::memcpy(long_header.data(), &claimed, 8);
  const std::pair<std::vector<std::byte>, const char*> cases[] = {
      {file_of("{" + x + "," + x + "}", 8), "has the name 'x' twice"},
      {file_of("{" + x + "," + f32("y", 12, 16) + "}", 16), "'y' of the safetensors file leaves 4 bytes before it"},
      {file_of("{" + f32("x", 4, 8) + "}", 8), "leaves 4 bytes before it to nobody"},
      {file_of("{" + x + "}", 9), "the last 1 bytes of the safetensors file belong to no tensor"},
      {file_of("{}", 3), "the last 3 bytes"},
      {file_of("{" + x + "," + f32("y", 4, 12) + "}", 12), "overlap"},
      {long_header, "100000001 bytes long; 100000000 are allowed"},
      {file_of(" {" + x + "}", 8), "must begin with '{'"},
      {file_of("{" + x + "}x", 8), "not a JSON object"},
      {file_of("{" + x + "}" + std::string(2, '\0'), 8), "a byte of 0"},
      {file_of("{" + x + "}" + std::string(1, '\0') + "junk", 8), "a byte of 0"},
      {file_of(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"more":)" + std::string(200, '[') +
                   std::string(200, ']') + "}}",
               8),
       "nested too deeply"},
      {file_of("{" + f32("x\xff", 0, 8) + "}", 8), "not a JSON object"},
      {file_of("{" + entry("x", R"("dtype":"F33","shape":[2],"data_offsets":[0,8])") + "}", 8),
       "has the type 'F33', which the format does not know"},
      {file_of("{" + entry("x", R"("dtype":"I64","shape":[2],"data_offsets":[0,8])") + "}", 8),
       "does not match its bytes"},
      {file_of("{" + entry("x", R"("dtype":"F4","shape":[3],"data_offsets":[0,2])") + "}", 2), "at a whole byte"},
      {file_of("{" + entry("x", R"("dtype":"F32","shape":[4294967296,4294967296,0],"data_offsets":[0,0])") + "}", 0),
       "no file could hold"},
      {file_of("{" + entry("x", R"("dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8])") + "}", 8),
       "has dtype twice"},
      {file_of("{" + entry("x", R"("dtype":"F32","shape":[[2]],"data_offsets":[0,8])") + "}", 8), "whole numbers"},
      {file_of("{" + entry("x", R"("dtype":"F32","shape":[2],"data_offsets":[0,8,8])") + "}", 8), "two data_offsets"},
      {file_of(R"({"__metadata__":{"a":1}})", 0), "__metadata__ that is not a list of texts"},
      {file_of("{" + std::string(100'000, '['), 0), "not a JSON object"},
      {file_of(R"({"x":{"y":)" + std::string(100'000, '['), 0), "nested too deeply"},
  };
  for (const auto& [file, part] : cases) {
    const Result<SafeTensors> parsed = SafeTensors::parse(file);
    ASSERT_FALSE(parsed) << part;
    EXPECT_NE(parsed.error().find(part), std::string::npos) << parsed.error() << "\n" << part;
  }
}

TEST(SafeTensors, WhatTheFormatAllowsIsTaken) {
  const char* const headers[] = {
      R"({})",
      R"({"__metadata__":{"a":"b","a":"c"}}   )",
      R"({"__metadata__":null})",
      R"({"x":{"dtype":"F4","shape":[2,4],"data_offsets":[0,4]},"y":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[4,7]}})",
      R"({"x":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})",
      R"({"x":{"dtype":"F32","shape":[0,7],"data_offsets":[0,0]},"y":{"dtype":"C64","shape":[1],"data_offsets":[0,8]}})",
      R"({"y":{"shape":[1],"data_offsets":[4,8],"dtype":"F32"},"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
      R"({"x":{"dtype":"U8","shape":[1],"note":{"a":[1,{"b":2}]},"data_offsets":[0,1]}})"};
  const size_t data[] = {0, 0, 0, 7, 4, 8, 8, 1};
  for (size_t i = 0; i < std::size(headers); ++i) {
    const Result<SafeTensors> parsed = SafeTensors::parse(file_of(headers[i], data[i]));
    EXPECT_TRUE(parsed) << headers[i] << "\n" << parsed.error();
  }
}

/// A model of many layers: each name is looked at once.
TEST(SafeTensors, TwoHundredThousandTensorsAreReadInASecond) {
  std::string header = "{";
  constexpr int count = 200'000;
  for (int i = 0; i < count; ++i)
    header += (i == 0 ? "\"model.layers." : ",\"model.layers.") + std::to_string(i) +
              R"(.weight":{"dtype":"U8","shape":[1],"data_offsets":[)" + std::to_string(i) + "," +
              std::to_string(i + 1) + "]}";
  const std::clock_t start = std::clock();  // of this process: others may keep the machine busy
  const Result<SafeTensors> parsed = SafeTensors::parse(file_of(header + "}", count));
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  ASSERT_TRUE(parsed) << parsed.error();
  EXPECT_LT(seconds, 10.0) << "quadratic it would be more than 30";
}

TEST(SafeTensors, NamesAreShownWithoutWhatATerminalObeys) {
  const Result<SafeTensors> file =
      SafeTensors::parse(file_of(R"({"\u001b[2Jx\u202ey":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4));
  ASSERT_TRUE(file) << file.error();
  EXPECT_EQ(file->names(), "\\x1b[2Jx\\u{202e}y");
  const Result<SafeTensors> bad =
      SafeTensors::parse(file_of(R"({"\u001b[2J":{"dtype":"F32","shape":[1],"data_offsets":[0,5]}})", 5));
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().find("'\\x1b[2J'"), std::string::npos) << bad.error();
}

TEST(SafeTensors, OnlyTheTensorsThatAreAskedForAreRead) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("warploom_" + std::to_string(std::random_device{}()));
  std::filesystem::create_directory(folder);
  const std::string path = folder / "large.safetensors", pipe = folder / "pipe";
  // 1 TB that nobody has: a file of holes.
  const std::string header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                             R"("rest":{"dtype":"U8","shape":[1099511627776],"data_offsets":[8,1099511627784]}})";
  const std::vector<std::byte> begin = file_of(header, 8);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(begin.data()), static_cast<std::streamsize>(begin.size()));
  std::error_code no_room;
  std::filesystem::resize_file(path, 8 + header.size() + 1099511627784, no_room);
  if (!no_room) {
    const Result<SafeTensors> file = SafeTensors::read(path, {"a"});
    EXPECT_TRUE(file) << file.error();
    EXPECT_EQ(file->find("a")->data.size(), 8u);
  }
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const Result<SafeTensors> none = SafeTensors::read(pipe);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error(), "'" + pipe + "' is a pipe, not an ordinary file");
  EXPECT_EQ(SafeTensors::read("/dev/zero").error(), "'/dev/zero' is a device, not an ordinary file");
  EXPECT_EQ(SafeTensors::read(folder).error(), "'" + folder.string() + "' is a directory, not an ordinary file");
  std::filesystem::remove_all(folder);
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
