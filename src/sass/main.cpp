// warploom-hints: sets issue hints in compiled kernels for sm_90, where ptxas has no means to know better.
#include <cxxabi.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "sass/cubins.hpp"
#include "sass/promotion.hpp"

namespace {

using namespace warploom::sass;

struct Arguments {
  std::vector<std::string> files;
  bool write = false, json = false;
  size_t promotions = 0;
};

struct Found {
  std::string kernel;
  Retimed count;
};

int bad(const std::string& sentence) {
  fmt::print(stderr, "warploom-hints: {}\n", sentence);
  return 2;
}

std::string readable(const std::string& symbol) {
  if (!symbol.starts_with("_Z")) return symbol;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  return status == 0 ? name.get() : symbol;
}

std::optional<std::vector<std::byte>> read_bytes(const std::string& file) {
  if (!std::filesystem::is_regular_file(file)) return std::nullopt;
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!in || in.tellg() < 0) return std::nullopt;
  std::vector<std::byte> bytes(in.tellg());
  in.seekg(0);
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return in ? std::optional(std::move(bytes)) : std::nullopt;
}

/// Writes only the code of this kernel: the rest of the file may be anything.
bool write_kernel(const std::string& file, const KernelCode& kernel, const std::vector<Instruction>& code) {
  std::fstream out(file, std::ios::binary | std::ios::in | std::ios::out);
  out.seekp(static_cast<std::streamoff>(kernel.offset));
  out.write(reinterpret_cast<const char*>(code.data()), static_cast<std::streamsize>(code.size() * sizeof code[0]));
  return static_cast<bool>(out.flush());
}

/// "" or what went wrong.
std::string treat(const std::string& file, bool write, std::vector<Found>& found) {
  const auto bytes = read_bytes(file);
  if (!bytes) return "cannot read " + file;
  for (const KernelCode& kernel : find_kernels(*bytes)) {
    std::vector<Instruction> code = read_code(*bytes, kernel);
    const Retimed count = retime_promotion(code);
    if (count.instructions == 0) continue;
    found.push_back({readable(kernel.name), count});
    if (write && count.changed > 0 && !write_kernel(file, kernel, code)) return "cannot write " + file;
  }
  return "";
}

void print(const std::vector<Found>& found, bool write, bool json) {
  if (json) {
    nlohmann::json rows = nlohmann::json::array();
    for (const Found& one : found)
      rows.push_back({{"kernel", one.kernel},
                      {"what", "promotion"},
                      {"instructions", one.count.instructions},
                      {"changed", one.count.changed},
                      {"conflicts", one.count.conflicts}});
    fmt::print("{}\n", nlohmann::json{{"written", write}, {"kernels", rows}}.dump(
                           2, ' ', false, nlohmann::json::error_handler_t::replace));
    return;
  }
  for (const Found& one : found)
    fmt::print("promotion: {:4} of {:4} instructions {}{}: {}\n", one.count.changed, one.count.instructions,
               write ? "changed" : "to change",
               one.count.conflicts == 0 ? "" : fmt::format(", {} bank conflicts", one.count.conflicts), one.kernel);
  if (found.empty()) fmt::print("nothing to hint at: no code for sm_90, no such kernel, or compressed code\n");
}

/// Whether there are as many kernels as expected.
bool enough(const std::vector<Found>& found, size_t expected) {
  if (found.size() >= expected) return true;
  fmt::print(stderr,
             "warploom-hints: {} kernels with promotion, expected {}: is the code compressed, or does this compiler "
             "write it in another form? (-DWARPLOOM_GPU_STRICT=OFF builds Warploom all the same.)\n",
             found.size(), expected);
  return false;
}

int run(const Arguments& arguments) {
  std::vector<Found> found;
  std::string trouble;
  for (const std::string& file : arguments.files) {
    trouble = treat(file, arguments.write, found);
    if (!trouble.empty()) break;
  }
  if (trouble.empty() || !found.empty()) print(found, arguments.write, arguments.json);  // what is done is said
  if (!trouble.empty()) return bad(trouble);
  return enough(found, arguments.promotions) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Sets issue hints in compiled kernels for sm_90 that multiply on the tensor core: when a warp gives way to\n"
      "others, and which operand stays at hand. For the promotion of blockwise FP8.\n"
      "What the kernels compute does not change.",
      "warploom-hints"};
  Arguments a;
  app.add_option("files", a.files, "Cubins, objects, libraries or programs, compiled with nvcc --no-compress")
      ->required();
  app.add_flag("--write", a.write, "Change the files; otherwise only say what would change");
  app.add_option("--promotions", a.promotions, "Fail unless so many kernels that promote are found")
      ->check(CLI::Range(0, 1'000'000));
  app.add_flag("--json", a.json, "What was found, as JSON");
  app.footer("Exit status: 0 done, 1 fewer kernels than expected, 2 bad input.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;  // 0: --help
  }
  try {
    return run(a);
  } catch (const std::exception& error) {  // a file larger than memory
    return bad(error.what());
  }
}
