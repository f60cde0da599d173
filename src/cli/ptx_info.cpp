#include <fmt/format.h>

#include <algorithm>

#include "cli/ptx.hpp"
#include "cli/ptx_file.hpp"
#include "cli/tell.hpp"
#include "cli/text.hpp"
#include "ptx/describe.hpp"
#include "ptx/forms.hpp"
#include "ptx/parser.hpp"

namespace warploom::cli {

Result<uint32_t> ptx_chip_of(const PtxArguments& arguments) {
  if (arguments.chip.empty()) return uint32_t{0};
  if (arguments.chip == "loom:sm90") return uint32_t{90};
  if (arguments.chip == "loom:sm100") return uint32_t{100};
  return Error{fmt::format("--on is loom:sm90 or loom:sm100, not '{}'", shown(arguments.chip))};
}

Result<PtxFile> open_ptx(const PtxArguments& arguments) {
  const Result<uint32_t> asked = ptx_chip_of(arguments);
  if (!asked) return asked.why();
  // Neither waited for nor read for ever: a pipe, a device.
  const Result<InputFile> file = InputFile::open(arguments.file);
  if (!file) return file.why();
  Result<std::vector<ptx::Image>> images = ptx::images_of_file(arguments.file);
  if (!images)
    return Error{shown(images.error()), exit_for(images.code()) == bad_input ? images.code() : images.code()};
  PtxFile found;
  found.chip = *asked != 0 ? *asked : ptx::chip_for(*images);
  uint32_t modules = 0;
  for (const ptx::Image& image : *images) modules = std::max(modules, image.module + 1);
  for (uint32_t module = 0; module < modules; ++module)
    if (const ptx::Image* image = ptx::choose(*images, found.chip, module)) found.images.push_back(*image);
  if (found.images.empty()) {
    std::string targets;
    for (const ptx::Image& image : *images) targets += (targets.empty() ? "" : ", ") + image.target();
    return Error{
        fmt::format("'{}' has PTX for {}, which an sm_{}a does not take", shown(arguments.file), targets, found.chip),
        ErrorCode::unsupported};
  }
  return found;
}

int ptx_info(const PtxArguments& arguments) {
  const Result<PtxFile> file = open_ptx(arguments);
  if (!file) return bad(file, arguments.json);
  const ptx::Refusal refusal = [](const ptx::Module& module, const ptx::Instruction& instruction) {
    return ptx::why_not(module, instruction);
  };
  Json texts = Json::array();
  std::string text;
  for (const ptx::Image& image : file->images) {
    const Result<ptx::Module> module = ptx::parse(image.text, arguments.file);
    if (!module) return bad(module, arguments.json);
    if (arguments.json)
      texts.push_back(Json::parse(ptx::describe_json(*module, refusal)));
    else
      text += (text.empty() ? "" : "\n") + ptx::describe(*module, refusal);
  }
  if (arguments.json)
    put_json({{"file", shown(arguments.file)}, {"chip", fmt::format("sm{}", file->chip)}, {"modules", texts}});
  else
    put(text);
  return right;
}

}  // namespace warploom::cli
