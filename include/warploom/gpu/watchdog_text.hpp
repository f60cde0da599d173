// Reports of the GPU watchdog as text. Plain C++: no CUDA needed to read them.
#pragma once

#include <cstdio>
#include <string>

#include "warploom/arch/gpu/instrument_records.hpp"

namespace warploom::gpu {

inline std::string to_text(const StuckWait& wait) {
  char text[1024];
  std::snprintf(text, sizeof(text), WARPLOOM_STUCK_WAIT_FORMAT,
                WARPLOOM_STUCK_WAIT_ARGUMENTS(wait, wait.role, wait.ring, wait.signalled_by));
  return text;
}

/// All that the GPU has finished writing.
inline std::string to_text(const StuckWaits& memory) {
  std::string text;
  for (const StuckWait& wait : memory.waits)
    if (*static_cast<const volatile uint32_t*>(&wait.written) != 0) text += to_text(wait);
  return text;
}

}  // namespace warploom::gpu
