// Translations compiled, kept and loaded: once for all processes, whatever happens to the files.
#include "ptx/compile.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "ptx/host_compiler.hpp"

namespace warploom::ptx {
namespace {

namespace fs = std::filesystem;

/// A module of one kernel, which says how many instructions it has.
std::string source_with(uint32_t instructions) {
  return fmt::format(
      "#include \"warploom/ptx/abi.hpp\"\n"
      "using namespace warploom::ptx::abi;\n"
      "static const Kernel kernel = {{.name = \"k\", .instructions = {}}};\n"
      "extern \"C\" __attribute__((visibility(\"default\"))) const Module warploom_ptx_module = {{\n"
      "    .version = version, .chip = 90, .file = \"k.ptx\", .kernels = &kernel, .kernel_count = 1}};\n",
      instructions);
}

class Compile : public ::testing::Test {
 protected:
  Compile() {
    folder_ = fs::path(::testing::TempDir()) / fmt::format("warploom_compile_{}", getpid());
    fs::create_directories(folder_);
    chmod(folder_.c_str(), 0700);
    setenv("WARPLOOM_CACHE", folder_.c_str(), 1);
  }
  ~Compile() override { fs::remove_all(folder_); }

  /// `tag`: what makes it another translation.
  Result<LoadedObject> load_as(const std::string& tag, uint32_t instructions) {
    const std::string unique = fmt::format("{}.{}", tag, getpid());
    return load({.name = "k.ptx", .of = {unique}, .source = [&]() -> Result<std::string> {
                   ++asked_;
                   return source_with(instructions);
                 }});
  }
  size_t files_ending(const std::string& ending) const {
    size_t count = 0;
    for (const auto& file : fs::directory_iterator(folder_)) count += file.path().string().ends_with(ending) ? 1 : 0;
    return count;
  }

  fs::path folder_;
  int asked_ = 0;
};

TEST_F(Compile, CompilesOnceAndLoadsAgain) {
  const auto first = load_as("a", 17);
  ASSERT_TRUE(first) << first.error();
  EXPECT_FALSE(first->was_kept);
  EXPECT_EQ(first->module->kernels[0].instructions, 17u);
  const auto again = load_as("a", 99);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->module, first->module);
  EXPECT_EQ(asked_, 1);
  EXPECT_EQ(files_ending(".so"), 1u);
  EXPECT_EQ(files_ending(".cpp") + files_ending(".log") + files_ending(".unfinished"), 0u);
}

/// What another process finds: this one's memory of what it has loaded does not count.
int in_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(Compile, ProcessesShareAndRepairEntries) {
  const std::string text = "shared";
  const auto start = [&] {
    const auto object = load({.name = "k.ptx", .of = {text}, .source = [&]() -> Result<std::string> {
                                ++asked_;
                                return source_with(5);
                              }});
    if (!object || object->module->kernels[0].instructions != 5) return 100;
    return asked_;
  };
  // Four at once: one of them compiles, the others wait for it.
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(start());
    children.push_back(child);
  }
  int compiled = 0;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status));
    compiled += WEXITSTATUS(status);
  }
  EXPECT_EQ(compiled, 1);
  EXPECT_EQ(in_child(start), 0);  // kept

  fs::path entry;
  for (const auto& file : fs::directory_iterator(folder_))
    if (file.path().extension() == ".so") entry = file.path();
  // Half of it is gone; then all of it is there, with one byte another.
  fs::resize_file(entry, fs::file_size(entry) / 2);
  EXPECT_EQ(in_child(start), 1);
  EXPECT_EQ(in_child(start), 0);
  {
    std::fstream file(entry, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(1000);
    const char other = static_cast<char>(file.get() ^ 1);
    file.seekp(1000);
    file.put(other);
  }
  EXPECT_EQ(in_child(start), 1);
  EXPECT_EQ(in_child(start), 0);
}

TEST_F(Compile, ACompilerThatRefusesIsQuoted) {
  const auto refused = load(
      {.name = "bad.ptx", .of = {"bad"}, .source = [] { return Result<std::string>(std::string("int x = y;\n")); }});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().find("cannot compile the translation of bad.ptx"), std::string::npos) << refused.error();
  EXPECT_NE(refused.error().find("y"), std::string::npos);
  EXPECT_EQ(files_ending(".log"), 1u);
  EXPECT_EQ(files_ending(".cpp"), 1u);
  EXPECT_EQ(files_ending(".so"), 0u);
}

TEST_F(Compile, WithoutACompilerASentenceSaysWhatToInstall) {
  const int code = in_child([&] {
    setenv("WARPLOOM_CXX", "/nowhere/c++", 1);
    const auto named = load_as("b", 1);
    if (named || named.error().find("WARPLOOM_CXX is '/nowhere/c++'") == std::string::npos) return 1;
    unsetenv("WARPLOOM_CXX");
    setenv("PATH", "/nowhere", 1);
    const auto none = load_as("b", 1);
    return none || none.error().find("install g++") == std::string::npos ? 2 : 0;
  });
  EXPECT_EQ(code, 0);
}

TEST_F(Compile, AFolderOfSomebodyElseIsNotUsed) {
  chmod(folder_.c_str(), 0777);
  const auto cache = ObjectCache::open();
  ASSERT_FALSE(cache);
  EXPECT_NE(cache.error().find("nobody else can write to"), std::string::npos) << cache.error();
}

TEST_F(Compile, TheFolderStaysWithinItsSize) {
  const ObjectCache cache(folder_.string(), 10'000);
  const std::string content(3000, 'x');
  for (int i = 0; i < 6; ++i) {
    const std::string key = KeyHash().add(std::to_string(i)).hex();
    const std::string file = cache.unfinished(key);
    ASSERT_EQ(cache.write(file, content), "");
    ASSERT_TRUE(cache.keep(key, file));
    // Times of files are what tells which was used last.
    const auto used = fs::file_time_type::clock::now() - std::chrono::hours(100 - i);
    fs::last_write_time(cache.path(key, ".so"), used);
  }
  EXPECT_EQ(files_ending(".so"), 3u);
  EXPECT_FALSE(cache.find(KeyHash().add("0").hex()));
  EXPECT_TRUE(cache.find(KeyHash().add("5").hex()));
}

TEST(KeyHash, KnowsWhereATextEnds) {
  EXPECT_NE(KeyHash().add("ab").add("c").hex(), KeyHash().add("a").add("bc").hex());
  EXPECT_NE(KeyHash().add("a").hex(), KeyHash().add(std::string_view("a\0", 2)).hex());
  EXPECT_EQ(KeyHash().add("a").hex().size(), 32u);
}

}  // namespace
}  // namespace warploom::ptx
