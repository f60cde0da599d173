// Files that are read and written whole, or not at all.
#include "cli/whole_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>

namespace warploom::cli {
namespace {

class WholeFile : public testing::Test {
 protected:
  WholeFile() { std::filesystem::create_directory(folder_); }
  ~WholeFile() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  size_t count() const { return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_), {})); }

 private:
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("warploom_whole_" + std::to_string(std::random_device{}()));
};

TEST_F(WholeFile, WhatIsWrittenIsRead) {
  const std::string path = file("a"), text = "one\0two\xff";
  EXPECT_FALSE(try_to_write("--out", path));
  EXPECT_EQ(count(), 0u) << "a trial leaves nothing";
  EXPECT_FALSE(write_whole(path, text));
  EXPECT_EQ(*read_whole(path), text);
  EXPECT_FALSE(write_whole(path, std::string_view()));
  EXPECT_EQ(*read_whole(path), "");
  EXPECT_EQ(count(), 1u);
}

/// Whoever reads while others write sees what one of them wrote.
TEST_F(WholeFile, NobodySeesHalfOfOne) {
  const std::string path = file("a"), first(300'000, 'a'), second(200'000, 'b');
  ASSERT_FALSE(write_whole(path, first));
  std::thread writer([&] {
    for (int i = 0; i < 20; ++i) EXPECT_FALSE(write_whole(path, i % 2 == 0 ? second : first));
  });
  for (int i = 0; i < 200; ++i) {
    const Result<std::string> text = read_whole(path);
    ASSERT_TRUE(text) << text.error();
    EXPECT_TRUE(*text == first || *text == second) << text->size();
  }
  writer.join();
  EXPECT_EQ(count(), 1u);
}

TEST_F(WholeFile, AFileThatIsCutWhileItIsReadIsASentence) {
  const std::string path = file("a");
  ASSERT_FALSE(write_whole(path, std::string(1000, 'x')));
  const Result<InputFile> open = InputFile::open(path);
  ASSERT_TRUE(open) << open.error();
  std::filesystem::resize_file(path, 500);
  std::vector<std::byte> bytes(open->size());
  EXPECT_EQ(open->read(0, bytes), "'" + path + "' became shorter while it was read");
}

TEST_F(WholeFile, TroubleHasASentenceAndAnExitCode) {
  EXPECT_EQ(try_to_write("--out", file("none/a")).exit, bad_input);
  EXPECT_EQ(write_whole(file("none/a"), "x").exit, bad_input);
  std::filesystem::create_symlink(file("loop"), file("loop"));
  EXPECT_TRUE(try_to_write("--out", file("loop")));
  if (geteuid() == 0) return;  // who may write anywhere
  ASSERT_FALSE(write_whole(file("mine"), "x"));
  chmod(file("mine").c_str(), 0400);
  const Trouble trouble = try_to_write("--out", file("mine"));
  EXPECT_EQ(trouble.exit, could_not);
  EXPECT_EQ(trouble.sentence, "cannot write '" + file("mine") + "': Permission denied");
}

}  // namespace
}  // namespace warploom::cli
