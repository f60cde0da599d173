// Calls of the C functions with structs and memory that are right, nearly right, or not right at all. Buffers end where
// their last element does, with a page behind them that nobody may touch; a status of 0 stands for a right D.
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "bench/dice.hpp"
#include "input_fuzz/answer.hpp"
#include "input_fuzz/input_fuzz.hpp"
#include "kernels/gemm_values.hpp"
#include "support/json.hpp"
#include "warploom/c_api.h"

namespace warploom::test::input_fuzz {
namespace {

using bench::Dice;
using Bytes = std::vector<std::byte>;
__extension__ using Wide = __int128;  // strides and extents may be anything

/// Memory of exactly so many bytes, at a multiple of 16; whoever looks further faults.
class Buffer {
 public:
  explicit Buffer(size_t bytes) : bytes_((bytes + 15) / 16 * 16) {
    constexpr size_t page = 4096;
    mapped_ = (bytes_ + page - 1) / page * page + page;
    map_ = static_cast<std::byte*>(mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(map_ + mapped_ - page, page, PROT_NONE);
    data_ = map_ + mapped_ - page - bytes_;
    std::memset(data_, 0x55, bytes_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { munmap(map_, mapped_); }
  std::byte* data() { return data_; }
  size_t size() const { return bytes_; }
  Bytes copy() const { return {data_, data_ + bytes_}; }
  bool is(const Bytes& bytes) const { return std::memcmp(data_, bytes.data(), bytes_) == 0; }

 private:
  std::byte *map_ = nullptr, *data_ = nullptr;
  size_t bytes_, mapped_ = 0;
};

int64_t round_up(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

/// A problem that some kernel has, its memory, and what may be done to it.
class Case {
 public:
  explicit Case(uint64_t seed) : dice_(seed) { make(); }

  Judged judge() {
    if (!dice_.one_in(3)) disturb();
    Judged judged;
    judged.broken = plan_and_run(judged.code);
    judged.input = text_;
    return judged;
  }

 private:
  void make() {
    chip_ = dice_.one_in(2) ? WARPLOOM_SM90 : WARPLOOM_SM100;
    p_.m = dice_.between(1, 100);
    p_.n = dice_.between(1, 100);
    p_.k = dice_.between(1, 100) * dice_.of({1, 1, 3});
    p_.a_type = p_.b_type = dice_.of({WARPLOOM_BF16, WARPLOOM_F16, WARPLOOM_E4M3});
    p_.scaling = p_.a_type == WARPLOOM_E4M3 ? dice_.between(0, 2) : 0;
    p_.batch = p_.scaling == 0 && dice_.one_in(4) ? dice_.between(2, 3) : 1;
    p_.d_type = dice_.of({WARPLOOM_BF16, WARPLOOM_F16, WARPLOOM_F32});
    p_.c_type = p_.d_type;
    p_.bias_type = dice_.of({WARPLOOM_F32, WARPLOOM_BF16});
    p_.alpha = dice_.of({1.0f, 1.0f, -2.0f, 0.5f});
    p_.beta = dice_.of({0.0f, 0.0f, 1.0f, -0.25f});
    if (dice_.one_in(3)) p_.bias_along = dice_.between(1, 2);
    if (dice_.one_in(4)) p_.activation = dice_.between(1, 4);
    if (p_.scaling == 0 && p_.a_type != WARPLOOM_E4M3 && dice_.one_in(3)) p_.a_major = WARPLOOM_MN_MAJOR;
    if (p_.scaling == 0 && p_.a_type != WARPLOOM_E4M3 && dice_.one_in(3)) p_.b_major = WARPLOOM_MN_MAJOR;
    lay_out();
  }

  void lay_out() {
    const auto strides = [&](int64_t inner, int64_t outer, DType type, int64_t& stride, int64_t& batch_stride) {
      stride = round_up(inner, 16 / size_of(type)) + (dice_.one_in(3) ? 16 : 0);
      batch_stride = stride * outer;
      return static_cast<size_t>((batch_stride * (p_.batch - 1) + stride * (outer - 1) + inner) * size_of(type));
    };
    const auto operand = [&](int32_t major, int64_t rows, int32_t type, int64_t& stride, int64_t& batch_stride) {
      const bool along_k = major == WARPLOOM_K_MAJOR;
      return strides(along_k ? p_.k : rows, along_k ? rows : p_.k, static_cast<DType>(type), stride, batch_stride);
    };
    a_.emplace(operand(p_.a_major, p_.m, p_.a_type, p_.a_stride, p_.a_batch_stride));
    b_.emplace(operand(p_.b_major, p_.n, p_.b_type, p_.b_stride, p_.b_batch_stride));
    c_.emplace(strides(p_.n, p_.m, static_cast<DType>(p_.c_type), p_.c_stride, p_.c_batch_stride));
    d_.emplace(strides(p_.n, p_.m, static_cast<DType>(p_.d_type), p_.d_stride, p_.d_batch_stride));
    bias_.emplace(static_cast<size_t>(std::max(p_.m, p_.n)) * 4);
    const int64_t blocks = (p_.k + 127) / 128;
    p_.a_scale_stride = round_up(p_.m, 4);
    p_.b_scale_stride = p_.scaling == WARPLOOM_A_ROWS_B_ROWS ? round_up(p_.n, 4) : blocks;
    const int64_t lines_b = p_.scaling == WARPLOOM_A_ROWS_B_ROWS ? blocks : (p_.n + 127) / 128;
    a_scales_.emplace(static_cast<size_t>(p_.a_scale_stride * blocks) * 4);
    b_scales_.emplace(static_cast<size_t>(p_.b_scale_stride * lines_b) * 4);
    numbers(*a_, p_.a_type);
    numbers(*b_, p_.b_type);
    numbers(*c_, p_.c_type);
    numbers(*bias_, p_.bias_type);
    numbers(*a_scales_, WARPLOOM_F32);
    numbers(*b_scales_, WARPLOOM_F32);
    p_.a = a_->data();
    p_.b = b_->data();
    p_.c = p_.beta != 0 || dice_.one_in(2) ? c_->data() : nullptr;
    p_.d = d_->data();
    p_.bias = p_.bias_along != 0 || dice_.one_in(4) ? bias_->data() : nullptr;
    if (p_.scaling != 0) {
      p_.a_scales = reinterpret_cast<const float*>(a_scales_->data());
      p_.b_scales = reinterpret_cast<const float*>(b_scales_->data());
    }
    if (p_.beta != 0 && p_.c_stride == p_.d_stride && p_.c_batch_stride == p_.d_batch_stride && dice_.one_in(4)) {
      std::memcpy(d_->data(), c_->data(), std::min(c_->size(), d_->size()));
      p_.c = p_.d;
    }
    readable_ = p_;
  }

  void numbers(Buffer& buffer, int32_t type) {
    const auto t = static_cast<DType>(type);
    for (size_t at = 0; at + size_of(t) <= buffer.size(); at += size_of(t))
      store_bits(t, buffer.data() + at, encode_value(t, static_cast<float>(dice_.between(-3, 3))));
  }

  // ---- what nobody meant

  void disturb() {
    int32_t warploom_gemm_problem::* const words[] = {
        &warploom_gemm_problem::m,       &warploom_gemm_problem::n,          &warploom_gemm_problem::k,
        &warploom_gemm_problem::batch,   &warploom_gemm_problem::a_type,     &warploom_gemm_problem::b_type,
        &warploom_gemm_problem::c_type,  &warploom_gemm_problem::d_type,     &warploom_gemm_problem::bias_type,
        &warploom_gemm_problem::a_major, &warploom_gemm_problem::bias_along, &warploom_gemm_problem::activation,
        &warploom_gemm_problem::scaling};
    int64_t warploom_gemm_problem::* const strides[] = {
        &warploom_gemm_problem::a_stride,       &warploom_gemm_problem::b_stride,
        &warploom_gemm_problem::c_stride,       &warploom_gemm_problem::d_stride,
        &warploom_gemm_problem::a_batch_stride, &warploom_gemm_problem::d_batch_stride,
        &warploom_gemm_problem::a_scale_stride, &warploom_gemm_problem::b_scale_stride};
    const auto any_word = [&] {
      return dice_.of({0, 1, 2, 3, 4, 5, 7, 128, -1, -128, 1 << 20, std::numeric_limits<int32_t>::max(),
                       std::numeric_limits<int32_t>::min()});
    };
    do switch (dice_.below(9)) {
        case 0: p_.*words[dice_.below(static_cast<int>(std::size(words)))] = any_word(); break;
        case 1: {
          int64_t& stride = p_.*strides[dice_.below(static_cast<int>(std::size(strides)))];
          stride = dice_.of({int64_t{0}, int64_t{1}, stride - 1, stride - 8, stride + 8, -stride, int64_t{8},
                             std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min(), int64_t{1} << 62,
                             int64_t{1} << 33});
          break;
        }
        case 2: *dice_.of({&p_.a, &p_.b, &p_.c, &p_.bias}) = nullptr; break;
        case 3: {
          const void*& moved = *dice_.of({&p_.a, &p_.b, &p_.c, &p_.bias});
          if (moved != nullptr) moved = static_cast<const std::byte*>(moved) + dice_.of({-16, -2, 1, 2, 8});
          break;
        }
        case 4:
          p_.d = const_cast<void*>(dice_.of({p_.a, p_.b, p_.c, p_.bias, static_cast<const void*>(nullptr)}));
          break;
        case 5:
          (dice_.one_in(2) ? p_.alpha : p_.beta) = dice_.of({NAN, INFINITY, -INFINITY, 0.0f, 1e-40f, 3e38f});
          break;
        case 6: p_.struct_size = dice_.of({size_t{0}, size_t{8}, sizeof(p_) - 4, sizeof(p_) - 8, ~size_t{0}}); break;
        case 7: (dice_.one_in(2) ? chip_ : sms_) = any_word(); break;
        default:
          config_ = dice_.of({"", "nobody", "bf16-kk-64x64-one-1x1", "\xff\x01"});
          schedule_ = dice_.of({"lazy", "random:9", "adversarial:2", "backwards", "", "random:", "eager:hold=2"});
          workers_ = dice_.of({0, 1, 2, -1, 5});
          step_limit_ = dice_.of({uint64_t{0}, uint64_t{1}, uint64_t{500}, uint64_t{200'000'000}, ~uint64_t{0}});
          seconds_limit_ = dice_.of({0.0, 5.0, -1.0, double{NAN}, double{INFINITY}});
          check_ = dice_.below(2);
          exact_ = dice_.below(2);
      }
    while (dice_.one_in(3));
  }

  /// Whether every byte that the problem names is one that it may name. The numbers may be anything.
  bool is_ours() const {
    if (p_.struct_size != sizeof(p_)) return false;  // which fields count is the library's to say
    for (const int32_t type : {p_.a_type, p_.b_type, p_.c_type, p_.d_type, p_.bias_type})
      if (type < 0 || type > WARPLOOM_F32) return false;
    if (p_.m < 0 || p_.n < 0 || p_.k < 0 || p_.batch < 0) return false;
    if (p_.m == 0 || p_.n == 0 || p_.batch == 0) return true;
    const auto inside = [&](const void* at, const std::optional<Buffer>& buffer, DType type, int64_t inner,
                            int64_t outer, int64_t stride, int64_t batch_stride) {
      if (inner == 0 || outer == 0) return true;
      const Wide last = (Wide{batch_stride} * (p_.batch - 1) + Wide{stride} * (outer - 1) + inner) * size_of(type);
      const Wide least = Wide{std::min<int64_t>(batch_stride, 0)} * (p_.batch - 1) * size_of(type) +
                         Wide{std::min<int64_t>(stride, 0)} * (outer - 1) * size_of(type);
      const auto* const begin = const_cast<Buffer&>(*buffer).data();
      const Wide from = static_cast<const std::byte*>(at) - begin;
      return at != nullptr && from + least >= 0 && from + last <= static_cast<Wide>(buffer->size());
    };
    const auto operand = [&](const void* at, const std::optional<Buffer>& buffer, int32_t type, int32_t major,
                             int64_t rows, int64_t stride, int64_t batch_stride) {
      const bool along_k = major == WARPLOOM_K_MAJOR;
      return inside(at, buffer, static_cast<DType>(type), along_k ? p_.k : rows, along_k ? rows : p_.k, stride,
                    batch_stride);
    };
    if (!operand(p_.a, a_, p_.a_type, p_.a_major, p_.m, p_.a_stride, p_.a_batch_stride) ||
        !operand(p_.b, b_, p_.b_type, p_.b_major, p_.n, p_.b_stride, p_.b_batch_stride) ||
        !inside(p_.d, d_, static_cast<DType>(p_.d_type), p_.n, p_.m, p_.d_stride, p_.d_batch_stride))
      return false;
    const bool in_place = p_.c == p_.d;
    if (p_.beta != 0 &&
        !inside(p_.c, in_place ? d_ : c_, static_cast<DType>(p_.c_type), p_.n, p_.m, p_.c_stride, p_.c_batch_stride))
      return false;
    if (p_.bias_along != 0 && !inside(p_.bias, bias_, static_cast<DType>(p_.bias_type),
                                      p_.bias_along == WARPLOOM_BIAS_N ? p_.n : p_.m, 1, 0, 0))
      return false;
    if (p_.scaling == 0) return true;
    // Scales: as they were laid out.
    return p_.m <= readable_.m && p_.n <= readable_.n && p_.k <= readable_.k && p_.batch == 1 &&
           p_.scaling == readable_.scaling && p_.a_scale_stride <= readable_.a_scale_stride &&
           p_.b_scale_stride <= readable_.b_scale_stride && p_.a_scale_stride >= 0 && p_.b_scale_stride >= 0;
  }

  GemmProblem problem() const {
    GemmProblem p;
    p.m = p_.m, p.n = p_.n, p.k = p_.k, p.batch = p_.batch;
    p.a = {p_.a, static_cast<DType>(p_.a_type), p_.a_stride, p_.a_batch_stride, static_cast<Major>(p_.a_major)};
    p.b = {p_.b, static_cast<DType>(p_.b_type), p_.b_stride, p_.b_batch_stride, static_cast<Major>(p_.b_major)};
    p.c = {p_.c, static_cast<DType>(p_.c_type), p_.c_stride, p_.c_batch_stride};
    p.d = {p_.d, static_cast<DType>(p_.d_type), p_.d_stride, p_.d_batch_stride};
    p.bias = {p_.bias, static_cast<DType>(p_.bias_type), static_cast<BiasAlong>(p_.bias_along)};
    p.alpha = p_.alpha, p.beta = p_.beta;
    p.activation = static_cast<Activation>(p_.activation);
    p.scaling = static_cast<Scaling>(p_.scaling);
    p.a_scales = {p_.a_scales, p_.a_scale_stride, p_.a_scale_batch_stride};
    p.b_scales = {p_.b_scales, p_.b_scale_stride, p_.b_scale_batch_stride};
    return p;
  }

  // ---- the calls

  static std::string status_broken(const char* function, int status) {
    if (status < 0 || status > WARPLOOM_INTERNAL) return fmt::format("{} answers {}", function, status);
    if (status == WARPLOOM_INTERNAL) return fmt::format("{}: an error of its own: {}", function, warploom_error());
    if ((status == WARPLOOM_OK) != (*warploom_error() == '\0'))
      return fmt::format("{}: {} and '{}'", function, status, warploom_error());
    if (warploom_error_code() != status) return fmt::format("{}: the last error has another code", function);
    return {};
  }

  std::string plan_and_run(int& status) {
    text_ = fmt::format(
        "m {} n {} k {} batch {} alpha {} beta {} types {} {} {} {} {} strides {} {} {} {} bias {} "
        "activation {} scaling {} chip {} sms {} config {} schedule {}",
        p_.m, p_.n, p_.k, p_.batch, p_.alpha, p_.beta, p_.a_type, p_.b_type, p_.c_type, p_.d_type, p_.bias_type,
        p_.a_stride, p_.b_stride, p_.c_stride, p_.d_stride, p_.bias_along, p_.activation, p_.scaling, chip_, sms_,
        config_ == nullptr ? "-" : config_, schedule_ == nullptr ? "-" : schedule_);
    status = warploom_gemm_supported_on(&p_, chip_);
    if (std::string broken = status_broken("supported", status); !broken.empty()) return broken;
    const int supported = status;
    warploom_plan* plan = reinterpret_cast<warploom_plan*>(8);
    status = config_ != nullptr || dice_.one_in(2) ? warploom_plan_gemm(&p_, chip_, sms_, config_, &plan)
                                                   : warploom_plan_gemm_on_loom(&p_, chip_, sms_, &plan);
    if (std::string broken = status_broken("plan", status); !broken.empty()) return broken;
    if ((status == WARPLOOM_OK) != (plan != nullptr)) return "a plan with an error, or none without";
    if (status == WARPLOOM_OK && supported != WARPLOOM_OK) return "a plan for what is not supported";
    if (status != WARPLOOM_OK) return {};
    if (warploom_plan_ctas(plan) < 0 || warploom_plan_splits(plan) < 1 || *warploom_plan_config(plan) == '\0' ||
        *warploom_plan_why(plan) == '\0' || !(warploom_plan_predicted_us(plan) >= 0))
      return "a plan that makes no sense";
    // A plan belongs to the form of its problem; with another it is an error or does right.
    if (dice_.one_in(10)) {
      Case other(dice_.bits());
      warploom_plan* another = nullptr;
      if (warploom_plan_gemm_on_loom(&other.p_, other.chip_, 0, &another) == WARPLOOM_OK) std::swap(plan, another);
      warploom_plan_release(another);
    }
    std::string broken = is_ours() ? run(plan, status) : "";
    warploom_plan_release(plan);
    return broken;
  }

  std::string run(const warploom_plan* plan, int& status) {
    warploom_loom_options options = WARPLOOM_LOOM_OPTIONS_INIT;
    options.workers = workers_;
    options.schedule = schedule_;
    options.step_limit = step_limit_;
    options.seconds_limit = seconds_limit_;
    options.check = check_;
    options.exact = exact_;
    Buffer* const inputs[] = {&*a_, &*b_, &*c_, &*bias_, &*a_scales_, &*b_scales_};
    std::vector<Bytes> before;
    for (Buffer* buffer : inputs) before.push_back(buffer->copy());
    const Bytes d_before = d_->copy();
    warploom_report* report = reinterpret_cast<warploom_report*>(8);
    status = warploom_run_on_loom(&p_, plan, &options, &report);
    std::string broken = status_broken("run", status);
    if (report == reinterpret_cast<warploom_report*>(8)) return "the report was left as it was";
    if (report != nullptr) {
      if ((warploom_report_findings(report) > 0) != (status == WARPLOOM_FINDING))
        broken = "findings without their status";
      if (!json::accept(warploom_report_json(report)) || *warploom_report_text(report) == '\0')
        broken = "a report without text";
    }
    if (status == WARPLOOM_FINDING && broken.empty() &&
        std::string(warploom_error()).find("STEP-LIMIT") == std::string::npos)
      broken = fmt::format("a finding in a kernel as it is shipped: {}", warploom_error());
    warploom_report_release(report);
    if (!broken.empty()) return broken;
    for (size_t i = 0; i < before.size(); ++i)
      if (!inputs[i]->is(before[i]) && inputs[i]->data() != p_.d) return "an operand was written";
    if (status == WARPLOOM_FINDING) return {};
    if (status != WARPLOOM_OK) return d_->is(d_before) ? "" : "it refused, and wrote";
    return wrong_d(d_before);
  }

  /// D, element by element; what lies between its rows is as it was.
  std::string wrong_d(const Bytes& d_before) {
    if (p_.m == 0 || p_.n == 0 || p_.batch == 0) return d_->is(d_before) ? "" : "nothing to do, and it wrote";
    GemmProblem p = problem();
    Bytes source = d_before;
    if (p.c.data == p.d.data) p.c.data = source.data() + (static_cast<std::byte*>(p_.d) - d_->data());
    if (std::isfinite(p_.alpha) && std::isfinite(p_.beta))
      if (std::string wrong = wrong_answer(p, chip_ == WARPLOOM_SM90); !wrong.empty()) return wrong;
    std::vector<bool> written(d_->size());
    for (int64_t z = 0; z < p_.batch; ++z)
      for (int64_t i = 0; i < p_.m; ++i) {
        const int64_t row = (static_cast<std::byte*>(p_.d) - d_->data()) +
                            (z * p_.d_batch_stride + i * p_.d_stride) * size_of(p.d.type);
        std::fill_n(written.begin() + row, p_.n * size_of(p.d.type), true);
      }
    for (size_t i = 0; i < d_->size(); ++i)
      if (!written[i] && d_->data()[i] != d_before[i]) return "it wrote beside D";
    return {};
  }

  Dice dice_;
  warploom_gemm_problem p_ = WARPLOOM_GEMM_PROBLEM_INIT, readable_ = WARPLOOM_GEMM_PROBLEM_INIT;
  std::optional<Buffer> a_, b_, c_, d_, bias_, a_scales_, b_scales_;
  int32_t chip_ = 0, sms_ = 0, workers_ = 1, check_ = 0, exact_ = 0;
  const char *config_ = nullptr, *schedule_ = nullptr;
  uint64_t step_limit_ = 200'000'000;
  double seconds_limit_ = 30;
  std::string text_;
};

/// What a child has got to, where its parent sees it.
struct Slot {
  double seconds;
  int32_t code, done;
  char broken[400], input[600];
};

}  // namespace

Judged try_c_calls(uint64_t seed) {
  const auto start = std::chrono::steady_clock::now();
  Judged judged = Case(seed).judge();
  judged.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  judged.input = fmt::format("c-calls, seed {}: {}", seed, judged.input);
  return judged;
}

std::vector<Judged> try_c_calls_apart(uint64_t first_seed, uint32_t count) {
  auto* const slots = static_cast<Slot*>(
      mmap(nullptr, count * sizeof(Slot), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::vector<Judged> judged;
  for (uint32_t from = 0; from < count;) {
    const pid_t child = fork();
    if (child == 0) {
      limit(RLIMIT_CORE, 0);
      for (uint32_t i = from; i < count; ++i) {
        const Judged one = try_c_calls(first_seed + i);
        Slot& slot = slots[i];
        slot.seconds = one.seconds;
        slot.code = one.code;
        one.broken.copy(slot.broken, sizeof(slot.broken) - 1);
        one.input.copy(slot.input, sizeof(slot.input) - 1);
        __atomic_store_n(&slot.done, 1, __ATOMIC_RELEASE);
      }
      _exit(0);
    }
    int status = 0;
    bool hung = false;
    auto last = std::chrono::steady_clock::now();
    while (waitpid(child, &status, WNOHANG) == 0) {
      const uint32_t before = from;
      while (from < count && __atomic_load_n(&slots[from].done, __ATOMIC_ACQUIRE) != 0) ++from;
      if (from != before) last = std::chrono::steady_clock::now();
      if (std::chrono::duration<double>(std::chrono::steady_clock::now() - last).count() > longest_seconds) {
        hung = true;
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        break;
      }
      usleep(500);
    }
    while (from < count && slots[from].done != 0) ++from;
    if (from == count) break;
    // This one ended the child; the next child goes on behind it.
    Slot& slot = slots[from++];
    fmt::format_to_n(slot.broken, sizeof(slot.broken) - 1, "{}",
                     hung                  ? fmt::format("it had not ended after {} s", longest_seconds)
                     : WIFSIGNALED(status) ? fmt::format("signal {} ended the process", WTERMSIG(status))
                                           : fmt::format("the process ended with {}", WEXITSTATUS(status)));
    fmt::format_to_n(slot.input, sizeof(slot.input) - 1, "c-calls, seed {}", first_seed + from - 1);
  }
  for (uint32_t i = 0; i < count; ++i)
    judged.push_back({slots[i].broken, slots[i].input, slots[i].code, slots[i].seconds});
  munmap(slots, count * sizeof(Slot));
  return judged;
}

}  // namespace warploom::test::input_fuzz
