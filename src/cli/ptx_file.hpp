// The PTX of a file that the command line names: of several architectures the texts for one chip.
#pragma once

#include <vector>

#include "cli/ptx.hpp"
#include "cli/whole_file.hpp"
#include "ptx/fatbin.hpp"
#include "warploom/loom/launch.hpp"
#include "warploom/loom/schedule.hpp"

namespace warploom::cli {

struct PtxFile {
  uint32_t chip = 90;
  std::vector<ptx::Image> images = {};  ///< one of each module
};

Result<PtxFile> open_ptx(const PtxArguments& arguments);
/// 90 or 100 of --on, 0 where it is not given.
Result<uint32_t> ptx_chip_of(const PtxArguments& arguments);
/// Of --schedule, or --policy and --seed; lazy where none of them is given.
Result<loom::Schedule> ptx_schedule_of(const PtxArguments& arguments);
/// Of --suppress.
Result<std::vector<loom::Suppression>> ptx_suppressions_of(const PtxArguments& arguments);

}  // namespace warploom::cli
