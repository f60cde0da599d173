// What translated PTX calls in the library besides the machine's own operations (warploom/ptx/memory.hpp, warps.hpp).
#include "warploom/ptx/runtime.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "loom/front/native.hpp"
#include "loom/isa/mbarrier.hpp"
#include "loom/observe/check/operations.hpp"

namespace warploom::ptx::rt {

using namespace ::warploom::loom;
using native::front::break_off;
using native::front::thread;

void catch_up() noexcept try { loom::catch_up(thread()); } catch (...) {
  break_off();
}

Window window_of(u64 address, const Launch* launch) noexcept {
  if (address - reinterpret_cast<u64>(launch->parameters) < launch->parameter_bytes) return Window::plain;
  switch (native::space_of(reinterpret_cast<const void*>(address))) {
    case native::AddressSpace::shared_cta: return Window::own_shared;
    case native::AddressSpace::shared_cluster: return Window::cluster_shared;
    case native::AddressSpace::local: return Window::plain;
    case native::AddressSpace::global: break;
  }
  return Window::global;
}

void misaligned_local(u64 address, u32 bytes) noexcept try {
  Thread& self = thread();
  self.cluster->fail(
      self, WARPLOOM_PLACE(ptx_local), "MISALIGNED",
      fmt::format("an access of {0} bytes in local memory at 0x{1:x}, which is no multiple of {0}", bytes, address));
} catch (...) {
  break_off();
}

void trap(const char* what) noexcept try {
  Thread& self = thread();
  self.cluster->fail(self, WARPLOOM_PLACE(ptx_trap), "TRAP", fmt::format("the kernel executes {}", what));
} catch (...) {
  break_off();
}

void yield() noexcept try {
  Thread& self = thread();
  self.cluster->step(self, WARPLOOM_PLACE(ptx_yield));
  self.cluster->let_others_run(self);
} catch (...) {
  break_off();
}

namespace {
template <class T>
T read(const u8* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}
}  // namespace

void assert_fail(const u8* message, const u8* file, const u8* line, const u8* function, const u8*) noexcept try {
  Thread& self = thread();
  self.cluster->fail(self, WARPLOOM_PLACE(ptx_assert), "ASSERT",
                     fmt::format("assertion failed: {} ({}:{}, {})", read<const char*>(message),
                                 read<const char*>(file), read<u32>(line), read<const char*>(function)));
} catch (...) {
  break_off();
}

namespace {

/// One conversion of a format, with the C library's own.
template <class T>
void append(std::string& out, const std::string& conversion, T value) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  const int length = std::snprintf(nullptr, 0, conversion.c_str(), value);
  if (length <= 0) return;
  const size_t before = out.size();
  out.resize(before + static_cast<size_t>(length) + 1);
  std::snprintf(out.data() + before, static_cast<size_t>(length) + 1, conversion.c_str(), value);
#pragma GCC diagnostic pop
  out.pop_back();
}

/// vprintf: `arguments` has each at a multiple of its size, floats as doubles.
std::string formatted(const char* format, const u8* arguments, u32& count) {
  std::string out;
  u64 at = 0;
  const auto next = [&]<class T>(T) {
    at = (at + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    const T value = read<T>(arguments + at);
    at += sizeof(T);
    return value;
  };
  for (const char* c = format; *c != '\0';) {
    if (*c != '%') {
      out += *c++;
      continue;
    }
    std::string conversion(1, *c++);
    bool wide = false;
    for (; *c != '\0' && std::strchr("-+ #0123456789.*lhzjt", *c) != nullptr; ++c) {
      if (*c == '*') {
        conversion += std::to_string(next(s32{}));
        continue;
      }
      wide = wide || *c == 'l' || *c == 'z' || *c == 'j' || *c == 't';
      conversion += *c;
    }
    if (*c == '\0') break;
    const char kind = *c++;
    conversion += kind;
    if (kind == '%') {
      out += '%';
      continue;
    }
    ++count;
    if (std::strchr("fFeEgGaA", kind) != nullptr)
      append(out, conversion, next(f64{}));
    else if (kind == 's')
      append(out, conversion, reinterpret_cast<const char*>(next(u64{})));
    else if (kind == 'p')
      append(out, conversion, reinterpret_cast<void*>(next(u64{})));
    else if (std::strchr("diouxXc", kind) != nullptr && !wide)
      append(out, conversion, next(u32{}));
    else if (std::strchr("diouxX", kind) != nullptr)
      append(out, conversion, next(u64{}));
    else
      out += conversion;
  }
  return out;
}

}  // namespace

void print(u8* result, const u8* format, const u8* arguments) noexcept try {
  u32 count = 0;
  const std::string line = formatted(read<const char*>(format), read<const u8*>(arguments), count);
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::memcpy(result, &count, sizeof(count));
} catch (...) {
  break_off();
}

u64 last_token() noexcept try { return isa::token_of_last_arrival(thread()); } catch (...) {
  break_off();
}

u64 clock_now() noexcept { return thread().time; }

}  // namespace warploom::ptx::rt
