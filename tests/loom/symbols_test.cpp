// Build this file at -O0 and at -O2: the inline frames come from the compiler's debug information.
//
// The frames under test are faked with #line at the end of the file, where they disturb no line of a failing test.
#include "../../src/loom/report/symbols.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

namespace fake {

void record(const void** address);
void through_library(const void** address);  // kernel -> pipeline -> arch -> loom entry
void through_lambda(const void** address);   // kernel -> library -> lambda of the kernel -> arch
void shipped_kernel(const void** address);   // include/warploom/kernels/ is the user's
void library_only(const void** address);
void direct(const void** address);        // kernel -> arch
void instantiated(const void** address);  // entry point in src/kernels/ -> skeleton -> pipeline -> arch
void two_sites(const void** first, const void** second);

}  // namespace fake

namespace warploom::loom {
namespace {

TEST(Symbols, UserLineAndLibraryLine) {
  const void* address = nullptr;
  fake::through_library(&address);
  const Location at = locate(address);
  EXPECT_EQ(at.user.file, "tests/pipeline/ring_kernel.cpp");
  EXPECT_EQ(at.user.line, 141u);
  EXPECT_EQ(at.user.function, "through_library");
  EXPECT_EQ(at.library.file, "pipeline/ring.hpp");  // above arch: the operation the user knows
  EXPECT_EQ(at.library.line, 63u);
  EXPECT_EQ(at.library.function, "release");
}

TEST(Symbols, InnermostUserFrameWins) {
  const void* address = nullptr;
  fake::through_lambda(&address);
  const Location at = locate(address);
  EXPECT_EQ(at.user.file, "tests/pipeline/ring_kernel.cpp");
  EXPECT_EQ(at.user.line, 162u);
  EXPECT_EQ(at.library.function, "release");
}

TEST(Symbols, ShippedKernelsAreTheUsers) {
  const void* address = nullptr;
  fake::shipped_kernel(&address);
  const Location at = locate(address);
  EXPECT_EQ(at.user.file, "kernels/blockwise_fp8.hpp");
  EXPECT_EQ(at.user.line, 203u);
  EXPECT_EQ(at.user.function, "shipped_kernel");
}

TEST(Symbols, OutermostWhenAllIsLibrary) {
  const void* address = nullptr;
  fake::library_only(&address);
  const Location at = locate(address);
  EXPECT_EQ(at.user.file, "warp/skeleton.hpp");
  EXPECT_EQ(at.user.line, 302u);
  EXPECT_EQ(at.user.function, "library_only");
  EXPECT_EQ(at.library.file, "pipeline/ring.hpp");
}

TEST(Symbols, ArchWhereNothingStandsAbove) {
  const void* address = nullptr;
  fake::direct(&address);
  const Location at = locate(address);
  EXPECT_EQ(at.user.line, 191u);
  EXPECT_EQ(at.library.file, "arch/mbarrier.hpp");
  EXPECT_EQ(at.library.line, 21u);
  EXPECT_EQ(at.library.function, "arrive");
}

TEST(Symbols, TheSkeletonActsForItsKernel) {
  const void* address = nullptr;
  fake::instantiated(&address);
  const Location at = locate(address);
  EXPECT_EQ(at.user.file, "warp/skeleton.hpp");  // not the entry point in src/kernels/, where nobody wrote anything
  EXPECT_EQ(at.user.line, 322u);
}

TEST(Symbols, TwoSitesInOneFunction) {
  const void* first = nullptr;
  const void* second = nullptr;
  fake::two_sites(&first, &second);
  EXPECT_EQ(locate(first).user.line, 181u);
  EXPECT_EQ(locate(second).user.line, 182u);
}

// A lambda that is not inlined has its code described inside the function it stands in.
TEST(Symbols, LocalLambda) {
  const void* address = nullptr;
  const int line = __LINE__ + 1;
  auto kernel = [](const void** to) __attribute__((noinline)) { fake::record(to); };
  void (*volatile called)(const void**) = kernel;
  called(&address);
  const Location at = locate(address);
  EXPECT_EQ(at.user.file, "tests/loom/symbols_test.cpp");
  EXPECT_EQ(at.user.line, static_cast<uint32_t>(line));
}

TEST(Symbols, NothingIsInvented) {
  const Location none = locate(nullptr);
  EXPECT_TRUE(none.user.file.empty() && none.user.function.empty() && none.user.line == 0);
  static const int data = 0;
  const Location in_data = locate(&data);
  EXPECT_TRUE(in_data.user.file.empty() && in_data.user.line == 0);
  // The C library may or may not come with debug information: a line only with a file.
  const Location in_libc = locate(reinterpret_cast<const char*>(&std::qsort) + 1);
  EXPECT_EQ(in_libc.user.file.empty(), in_libc.user.line == 0);
  EXPECT_FALSE(in_libc.user.function.empty());
}

TEST(Symbols, ManyThreads) {
  const void* first = nullptr;
  const void* second = nullptr;
  fake::two_sites(&first, &second);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int repeat = 0; repeat < 100; ++repeat) {
        wrong += locate(first).user.line != 181u;
        wrong += locate(second).user.line != 182u;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Symbols, LibraryFiles) {
  for (const char* file :
       {"/x/include/warploom/arch/tma.hpp", "include/warploom/pipeline/ring.hpp", "/x/include/warploom/warp/role.hpp",
        "/x/include/warploom/schedule/tile.hpp", "/x/include/warploom/epilogue/chain.hpp",
        "/x/include/warploom/loom/native.hpp", "/x/include/warploom/types/dtype.hpp", "/x/src/loom/machine.cpp",
        "src/loom/units/tma.hpp"}) {
    EXPECT_TRUE(is_library_file(file)) << file;
  }
  for (const char* file : {"/x/include/warploom/kernels/gemm.hpp", "/x/include/warploom/warploom.hpp",
                           "/x/tests/loom/machine_test.cpp", "/x/mysrc/loom/a.cpp", "/x/myinclude/warploom/arch/a.hpp",
                           "/x/include/warploom/warper/a.hpp", "main.cpp", ""}) {
    EXPECT_FALSE(is_library_file(file)) << file;
  }
}

TEST(Symbols, ShortPaths) {
  EXPECT_EQ(short_path("/x/include/warploom/kernels/gemm.hpp"), "kernels/gemm.hpp");
  EXPECT_EQ(short_path("/x/build/../include/warploom/arch/tma.hpp"), "arch/tma.hpp");
  EXPECT_EQ(short_path("/somewhere/else/project/kernel.cpp"), "project/kernel.cpp");
  EXPECT_EQ(short_path("/kernel.cpp"), "/kernel.cpp");
  EXPECT_EQ(short_path("kernel.cpp"), "kernel.cpp");
  EXPECT_EQ(short_path("tests/./pipeline/ring_kernel.cpp"), "tests/pipeline/ring_kernel.cpp");
}

TEST(Symbols, ShortFunctions) {
  EXPECT_EQ(short_function("produce<Payload<128, 64>, 4>"), "produce");
  EXPECT_EQ(short_function("operator()"), "operator()");
  EXPECT_EQ(short_function("operator()<int>"), "operator()");
  EXPECT_EQ(short_function("operator<< <char>"), "operator<<");
  EXPECT_EQ(short_function("operator< <char>"), "operator<");
  EXPECT_EQ(short_function("operator->"), "operator->");
  EXPECT_EQ(short_function("operator=="), "operator==");
  EXPECT_EQ(short_function("operator bool"), "operator bool");
  EXPECT_EQ(short_function("cooperator"), "cooperator");
  EXPECT_EQ(short_function("void ns::Ring<4, Payload<int> >::release<int>(std::vector<int> const&)"), "release");
  EXPECT_EQ(short_function("(anonymous namespace)::kernel(void const*)"), "kernel");
  EXPECT_EQ(short_function("ns::Ring::operator()(int) const"), "operator()");
  EXPECT_EQ(short_function("main"), "main");
}

}  // namespace
}  // namespace warploom::loom

// An empty asm after each call keeps it from becoming a tail call, which would leave no return address behind.
#define FAKE_INLINE [[gnu::always_inline]] inline
#define FAKE_KERNEL [[gnu::noinline]] void
// clang-format off
namespace fake {
[[gnu::noinline]] void record(const void** address) { *address = __builtin_return_address(0); }
#line 20 "include/warploom/arch/mbarrier.hpp"
FAKE_INLINE void arrive(const void** address) {
  record(address);
  asm volatile("");
}
#line 60 "include/warploom/pipeline/ring.hpp"
template <class T>
FAKE_INLINE void release(T address) {
  if (address != nullptr) {
    arrive(address);
  }
}
template <class Body>
FAKE_INLINE void scoped(Body body) {
  body();
}
#line 140 "tests/pipeline/ring_kernel.cpp"
FAKE_KERNEL through_library(const void** address) {
  release(address);
}
#line 160 "tests/pipeline/ring_kernel.cpp"
FAKE_KERNEL through_lambda(const void** address) {
  scoped([&]() __attribute__((always_inline)) {
    release(address);
  });
}
#line 180 "tests/pipeline/ring_kernel.cpp"
FAKE_KERNEL two_sites(const void** first, const void** second) {
  release(first);
  release(second);
}
#line 202 "include/warploom/kernels/blockwise_fp8.hpp"
FAKE_KERNEL shipped_kernel(const void** address) {
  release(address);
}
#line 301 "include/warploom/warp/skeleton.hpp"
FAKE_KERNEL library_only(const void** address) {
  release(address);
}
#line 190 "tests/pipeline/ring_kernel.cpp"
FAKE_KERNEL direct(const void** address) {
  arrive(address);
}
#line 321 "include/warploom/warp/skeleton.hpp"
FAKE_INLINE void drain(const void** address) {
  release(address);
}
#line 40 "src/kernels/blockwise_fp8.cpp"
FAKE_KERNEL instantiated(const void** address) {
  drain(address);
}
}  // namespace fake
