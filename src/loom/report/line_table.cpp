#include "line_table.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <tuple>

// Of carried_line_table.cpp, or of the object that stands in its place.
extern "C" {
extern const std::byte warploom_line_table[];
extern const uint64_t warploom_line_table_bytes;
}

namespace warploom::loom {

// Header, functions by hash, runs, lines, texts. Numbers of the last three are in groups of seven bits. A run is two:
// its bytes, and the step from the previous run's lines to its own. Lines are seven: file, line and function of the
// user, the same of the library, and whether it is a kernel's; texts are counted.
struct LineTable::Header {
  std::array<char, 8> magic = {'W', 'L', 'L', 'I', 'N', 'E', 'S', '1'};
  uint64_t functions = 0, run_bytes = 0, lines = 0, line_bytes = 0, texts = 0, text_bytes = 0;
};
struct LineTable::StoredFunction {
  uint64_t hash = 0;
  uint64_t bytes = 0;
  uint32_t first_run = 0;  ///< byte of the runs
  uint32_t runs = 0;
};

namespace {

uint64_t hash_of(std::string_view text) {  // FNV-1a
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

template <class T>
void append(std::vector<std::byte>& bytes, std::span<const T> values) {
  const auto raw = std::as_bytes(values);
  bytes.insert(bytes.end(), raw.begin(), raw.end());
}

void append_number(std::vector<std::byte>& bytes, uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<std::byte>(value | 0x80));
  bytes.push_back(static_cast<std::byte>(value));
}

uint64_t read_number(std::span<const std::byte>& bytes) {
  uint64_t value = 0;
  for (int shift = 0; !bytes.empty() && shift < 64; shift += 7) {
    const auto byte = static_cast<uint64_t>(bytes.front());
    bytes = bytes.subspan(1);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return value;
}

/// Small steps in either direction are small numbers.
uint64_t fold(int64_t step) { return static_cast<uint64_t>(step) << 1 ^ static_cast<uint64_t>(step >> 63); }
int64_t unfold(uint64_t number) { return static_cast<int64_t>(number >> 1) ^ -static_cast<int64_t>(number & 1); }

auto key(const SourceLine& line) { return std::tie(line.file, line.line, line.function); }
auto key(const LineTable::Lines& lines) {
  return std::tuple_cat(key(lines.at.user), key(lines.at.library), std::tie(lines.kernel));
}

struct Less {
  bool operator()(const LineTable::Lines& a, const LineTable::Lines& b) const { return key(a) < key(b); }
};

template <class T>
std::span<const T> take(std::span<const std::byte>& bytes, uint64_t count) {
  if (count > bytes.size() / sizeof(T)) return {};
  const std::span<const T> taken(reinterpret_cast<const T*>(bytes.data()), static_cast<size_t>(count));
  bytes = bytes.subspan(taken.size_bytes());
  return taken;
}

}  // namespace

bool operator==(const LineTable::Lines& a, const LineTable::Lines& b) { return key(a) == key(b); }

std::vector<std::byte> LineTable::encode(std::span<const Function> functions) {
  std::map<std::string, uint32_t> text_index;
  std::vector<std::byte> texts;
  const auto text = [&](const std::string& value) {
    const auto [known, fresh] = text_index.try_emplace(value, static_cast<uint32_t>(text_index.size()));
    if (fresh) append(texts, std::span(value.c_str(), value.size() + 1));
    return known->second;
  };

  std::map<Lines, uint32_t, Less> index_of;
  std::vector<std::byte> lines;
  std::map<uint64_t, StoredFunction> stored;
  std::map<uint64_t, int> times;  // a name that two functions have says nothing
  std::vector<std::byte> runs;
  for (const Function& function : functions) {
    const uint64_t hash = hash_of(function.symbol);
    if (++times[hash] > 1) {
      stored.erase(hash);
      continue;
    }
    stored[hash] = {hash, function.bytes, static_cast<uint32_t>(runs.size()),
                    static_cast<uint32_t>(function.runs.size())};
    int64_t previous = 0;
    for (const Run& run : function.runs) {
      const auto [known, fresh] = index_of.try_emplace(run.lines, static_cast<uint32_t>(index_of.size()));
      if (fresh) {
        for (const SourceLine& line : {run.lines.at.user, run.lines.at.library}) {
          append_number(lines, text(line.file));
          append_number(lines, line.line);
          append_number(lines, text(line.function));
        }
        append_number(lines, run.lines.kernel ? 1 : 0);
      }
      append_number(runs, run.bytes);
      append_number(runs, fold(known->second - previous));
      previous = known->second;
    }
  }

  Header header;
  header.functions = stored.size();
  header.run_bytes = runs.size();
  header.lines = index_of.size();
  header.line_bytes = lines.size();
  header.texts = text_index.size();
  header.text_bytes = texts.size();
  std::vector<std::byte> encoded;
  append(encoded, std::span<const Header>(&header, 1));
  for (const auto& [hash, function] : stored) append(encoded, std::span<const StoredFunction>(&function, 1));
  for (const auto* part : {&runs, &lines, &texts}) append(encoded, std::span<const std::byte>(*part));
  return encoded;
}

LineTable::LineTable(std::span<const std::byte> encoded) {
  const auto headers = take<Header>(encoded, 1);
  if (headers.empty() || headers[0].magic != Header{}.magic) return;
  const Header& header = headers[0];
  const auto functions = take<StoredFunction>(encoded, header.functions);
  const auto runs = take<std::byte>(encoded, header.run_bytes);
  auto lines = take<std::byte>(encoded, header.line_bytes);
  auto rest = take<std::byte>(encoded, header.text_bytes);
  if (rest.size() != header.text_bytes || rest.empty() || rest.back() != std::byte{0}) return;

  std::vector<std::string> texts;
  while (!rest.empty()) {
    texts.emplace_back(reinterpret_cast<const char*>(rest.data()));
    rest = rest.subspan(texts.back().size() + 1);
  }
  const auto source_line = [&] {
    const uint64_t file = read_number(lines), line = read_number(lines), function = read_number(lines);
    return SourceLine{file < texts.size() ? texts[file] : "", static_cast<uint32_t>(line),
                      function < texts.size() ? texts[function] : ""};
  };
  for (uint64_t i = 0; i < header.lines && !lines.empty(); ++i) {
    const SourceLine user = source_line();
    const SourceLine library = source_line();
    lines_.push_back({{user, library}, read_number(lines) != 0});
  }
  functions_ = functions;
  runs_ = runs;
}

std::optional<LineTable::Lines> LineTable::find(std::string_view symbol, uint64_t bytes, uint64_t offset) const {
  const uint64_t hash = hash_of(symbol);
  const auto found = std::ranges::lower_bound(functions_, hash, {}, &StoredFunction::hash);
  if (found == functions_.end() || found->hash != hash || found->bytes != bytes || found->first_run > runs_.size())
    return std::nullopt;
  auto rest = runs_.subspan(static_cast<size_t>(found->first_run));
  int64_t index = 0;
  uint64_t end = 0;
  for (uint64_t i = 0; i < found->runs && !rest.empty(); ++i) {
    end += read_number(rest);
    index += unfold(read_number(rest));
    if (offset >= end) continue;
    if (index < 0 || index >= static_cast<int64_t>(lines_.size())) return std::nullopt;
    return lines_[static_cast<size_t>(index)];
  }
  return std::nullopt;
}

std::span<const std::byte> carried_line_table() {
  return {warploom_line_table, static_cast<size_t>(warploom_line_table_bytes)};
}

}  // namespace warploom::loom
