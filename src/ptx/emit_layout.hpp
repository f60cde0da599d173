// Names and offsets of a translation: where shared variables lie, what variables and functions are called in C++.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "ptx/module.hpp"

namespace warploom::ptx {

/// Shared memory as one kernel sees it, in front of its dynamic part.
struct Layout {
  std::vector<uint32_t> shared_offset;  ///< per variable of the module; `no_index`: not of this kernel
  uint32_t static_shared = 0;
  uint32_t dynamic_offset = 0;
  uint32_t dynamic_align = 16;
};

/// The constants of the translation that describe forms of wgmma: one for each.
class WgmmaForms {
 public:
  /// Its name.
  std::string name_of(const std::string& initialiser) {
    const auto [at, added] = numbers_.try_emplace(initialiser, static_cast<uint32_t>(numbers_.size()));
    if (added) order_.push_back(initialiser);
    return "wgmma_form_" + std::to_string(at->second);
  }
  const std::vector<std::string>& all() const { return order_; }

 private:
  std::unordered_map<std::string, uint32_t> numbers_;
  std::vector<std::string> order_;
};

/// `v12_counter`: the 12th variable.
std::string variable_name(const Module& module, uint32_t variable);
std::string function_name(const Module& module, uint32_t function);
uint32_t index_of(const Module& module, const Function& function);
/// `static void f3_name(u8* p0, u8* a0, const Launch* const L)` of a function that is called.
std::string signature(const Module& module, const Function& function);

}  // namespace warploom::ptx
