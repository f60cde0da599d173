// One side of a pair as an entry with a plain name: tools/free_of_cost.py compares `name` with `name_twin`.
#pragma once

#define WARPLOOM_SIDE(name, ...)                                          \
  extern "C" __global__ void __launch_bounds__(__VA_ARGS__::threads, 1)   \
      name(const __grid_constant__ typename __VA_ARGS__::Params params) { \
    __VA_ARGS__::run(params);                                             \
  }
