#include "input_fuzz/many.hpp"

#include <algorithm>
#include <chrono>

namespace warploom::test::input_fuzz {

const char* to_string(Domain domain) {
  constexpr const char* names[] = {"commands", "tensors", "states", "c-calls"};
  return names[static_cast<int>(domain)];
}

namespace {

void add(Tally& tally, const Judged& judged) {
  ++tally.inputs;
  tally.broken += judged.broken.empty() ? 0 : 1;
  constexpr int last = static_cast<int>(std::size(Tally{}.codes)) - 1;
  ++tally.codes[judged.code < 0 || judged.code > last ? last : judged.code];
  tally.longest = std::max(tally.longest, judged.seconds);
}

void try_share(Domain domain, uint64_t first, uint64_t count, Tally& tally,
               const std::function<void(const Judged&)>& on_broken) {
  const Folder folder;
  const auto take = [&](const Judged& judged) {
    add(tally, judged);
    if (!judged.broken.empty()) on_broken(judged);
  };
  constexpr uint64_t most_apart = 64;
  for (uint64_t i = 0; i < count;) {
    if (domain == Domain::c_calls) {
      const uint64_t some = std::min(most_apart, count - i);
      for (const Judged& judged : try_c_calls_apart(first + i, static_cast<uint32_t>(some))) take(judged);
      i += some;
      continue;
    }
    const uint64_t seed = first + i++;
    take(domain == Domain::commands  ? try_command(seed, folder)
         : domain == Domain::tensors ? try_tensors(seed, folder)
                                     : try_state(seed, folder));
  }
}

}  // namespace

Tally try_many(Domain domain, uint64_t first_seed, uint64_t count, uint32_t jobs,
               const std::function<void(const Judged&)>& on_broken) {
  const auto start = std::chrono::steady_clock::now();
  const auto parts = std::clamp<uint64_t>(jobs, 1, std::max<uint64_t>(1, count));
  auto* const tallies = static_cast<Tally*>(
      mmap(nullptr, parts * sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::fflush(stdout);
  std::vector<pid_t> children;
  for (uint64_t part = 0; part < parts; ++part) {
    const uint64_t from = count * part / parts, to = count * (part + 1) / parts;
    if (parts == 1) {
      try_share(domain, first_seed, count, tallies[0], on_broken);
      break;
    }
    const pid_t child = fork();
    if (child == 0) {
      try_share(domain, first_seed + from, to - from, tallies[part], on_broken);
      std::fflush(stdout);
      _exit(0);
    }
    children.push_back(child);
  }
  Tally all;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) ++all.broken;  // a share that came to no end
  }
  for (uint64_t part = 0; part < parts; ++part) {
    all.inputs += tallies[part].inputs;
    all.broken += tallies[part].broken;
    for (size_t code = 0; code < std::size(all.codes); ++code) all.codes[code] += tallies[part].codes[code];
    all.longest = std::max(all.longest, tallies[part].longest);
  }
  munmap(tallies, parts * sizeof(Tally));
  all.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return all;
}

}  // namespace warploom::test::input_fuzz
