#include "arithmetic_model.hpp"

#include <algorithm>
#include <bit>

#include "arithmetic_floats.hpp"

namespace warploom::ptx::model {
namespace {

__extension__ typedef __int128 Wide;  // NOLINT: -Wpedantic knows no other way

uint64_t ones(uint32_t width) { return width >= 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1; }
uint64_t cut(Wide value, uint32_t width) { return static_cast<uint64_t>(value) & ones(width); }

/// A register's number, as the type has it.
Wide number(uint64_t bits, uint32_t width, bool is_signed_type) {
  bits &= ones(width);
  if (is_signed_type && width != 0 && (bits >> (width - 1) & 1) != 0)
    return static_cast<Wide>(bits) - (Wide{1} << width);
  return static_cast<Wide>(bits);
}
Wide number(uint64_t value, Type type) { return number(value, bits(type), is_signed(type)); }
Wide least(Type type) { return is_signed(type) ? -(Wide{1} << (bits(type) - 1)) : 0; }
Wide most(Type type) { return (Wide{1} << (bits(type) - (is_signed(type) ? 1 : 0))) - 1; }
Wide limited(Wide value, Type type) { return std::clamp(value, least(type), most(type)); }

char rounding(const Opcode& opcode) {
  for (const char* mode : {"rn", "rni"})
    if (opcode.has(mode)) return 'n';
  if (opcode.has("rz") || opcode.has("rzi")) return 'z';
  if (opcode.has("rm") || opcode.has("rmi")) return 'm';
  if (opcode.has("rp") || opcode.has("rpi")) return 'p';
  return 'n';
}

bool is_half(Type type) { return type == Type::f16 || type == Type::bf16; }
bool is_pair(Type type) { return type == Type::f16x2 || type == Type::bf16x2; }

/// One result of a float operation on operands of one format.
uint64_t float_operation(const Opcode& opcode, const Format& f, const Inputs& raw) {
  const bool ftz = opcode.has("ftz");
  Inputs in = raw;
  for (uint64_t& word : in) {
    word &= ones(static_cast<uint32_t>(f.total()));
    if (ftz) word = flushed(word, f);
  }
  const long double a = decode(in[0], f), b = decode(in[1], f), c = decode(in[2], f);
  const std::string_view base = opcode.base();
  const uint64_t magnitude = ~f.sign() & ones(static_cast<uint32_t>(f.total()));
  if (base == "abs") return in[0] & magnitude;
  if (base == "neg") return in[0] ^ f.sign();
  if (base == "copysign") return (in[1] & magnitude) | (in[0] & f.sign());
  uint64_t result = 0;
  if (base == "min" || base == "max") {
    uint64_t sign = 0;
    uint64_t x = in[0], y = in[1];
    if (opcode.has("xorsign")) {
      sign = (x ^ y) & f.sign();
      x &= magnitude;
      y &= magnitude;
    }
    const long double v = decode(x, f), w = decode(y, f);
    if (std::isnan(v) || std::isnan(w)) {
      if (opcode.has("NaN") || (std::isnan(v) && std::isnan(w))) return f.nan();
      return (std::isnan(v) ? y : x) | sign;
    }
    const bool first_less = v < w || (v == w && (x & f.sign()) != 0);
    return ((base == "min") == first_less ? x : y) | sign;
  }
  long double value = 0;
  if (base == "add") value = exact_sum(a, b, rounding(opcode));
  if (base == "sub") value = exact_sum(a, -b, rounding(opcode));
  if (base == "mul") value = exact_product(a, b);
  if (base == "fma" || base == "mad") value = exact_sum(a * b, c, rounding(opcode));  // the product of two f32 is exact
  if (base == "div") value = exact_quotient(a, b);
  if (base == "rcp") value = exact_quotient(1, a);
  if (base == "sqrt") value = exact_root(a);
  result = encode(value, f, rounding(opcode));
  if ((base == "fma" || base == "mad") && f.total() == 64) {
    const double r = std::fma(static_cast<double>(a), static_cast<double>(b), static_cast<double>(c));
    std::memcpy(&result, &r, 8);
    if (std::isnan(r)) result = f.nan();
  }
  if (ftz) result = flushed(result, f);
  if (opcode.has("sat")) {
    const long double r = decode(result, f);
    if (std::isnan(r) || r <= 0) return 0;
    if (r > 1) return encode(1, f, 'n');
  }
  if (opcode.has("relu") && (result & f.sign()) != 0 && !std::isnan(decode(result, f))) return 0;
  return result;
}

bool compared(std::string_view how, const Opcode& opcode, Type type, uint64_t x, uint64_t y) {
  bool unordered = false, less = false, equal = false;
  if (is_float(type)) {
    const Format f = format_of(type);
    if (opcode.has("ftz")) {
      x = flushed(x & ones(static_cast<uint32_t>(f.total())), f);
      y = flushed(y & ones(static_cast<uint32_t>(f.total())), f);
    }
    const long double a = decode(x, f), b = decode(y, f);
    unordered = std::isnan(a) || std::isnan(b);
    less = a < b;
    equal = a == b;
  } else {
    less = number(x, type) < number(y, type);
    equal = number(x, type) == number(y, type);
  }
  if (how == "num") return !unordered;
  if (how == "nan") return unordered;
  if (how == "lo" || how == "ls" || how == "hi" || how == "hs")
    how = how == "lo" ? "lt" : how == "ls" ? "le" : how == "hi" ? "gt" : "ge";
  const bool with_unordered = how.size() == 3;
  if (unordered) return with_unordered;
  how = how.substr(0, 2);
  if (how == "eq") return equal;
  if (how == "ne") return !equal;
  if (how == "lt") return less;
  if (how == "le") return less || equal;
  if (how == "gt") return !less && !equal;
  return !less;
}

bool combined(const Opcode& opcode, bool result, bool other) {
  if (opcode.has("and")) return result && other;
  if (opcode.has("or")) return result || other;
  return opcode.has("xor") ? result != other : result;
}

std::optional<Answer> convert(const Opcode& opcode, const Inputs& in) {
  if (opcode.has("pack")) return std::nullopt;
  const Type to = type_named(opcode.parts[opcode.parts.size() - 2]), from = opcode.last_type();
  const bool sat = opcode.has("sat"), ftz = opcode.has("ftz");
  if (is_integer(to) && is_integer(from)) {
    const Wide value = number(in[0], from);
    return Answer{cut(sat ? limited(value, to) : value, bits(to))};
  }
  const bool simple = (to == Type::f32 || to == Type::f64 || is_half(to) || is_integer(to)) &&
                      (from == Type::f32 || from == Type::f64 || is_half(from) || is_integer(from));
  if (!simple) return std::nullopt;
  const Format f = format_of(from);
  if (is_integer(to)) {
    uint64_t word = in[0] & ones(bits(from));
    if (ftz && from == Type::f32) word = flushed(word, f);
    const long double value = decode(word, f);
    if (std::isnan(value))
      return Answer{bits(to) == 64 ? uint64_t{1} << 63 : bits(to) == 32 && from == Type::f64 ? uint64_t{1} << 31 : 0};
    const char mode = rounding(opcode);
    const long double whole = mode == 'n'   ? std::nearbyint(value)
                              : mode == 'z' ? std::trunc(value)
                              : mode == 'm' ? std::floor(value)
                                            : std::ceil(value);
    if (whole <= static_cast<long double>(least(to))) return Answer{cut(least(to), bits(to))};
    if (whole >= static_cast<long double>(most(to))) return Answer{cut(most(to), bits(to))};
    return Answer{cut(static_cast<Wide>(whole), bits(to))};
  }
  const Format g = format_of(to);
  uint64_t result = 0;
  if (is_integer(from)) {
    result = encode(static_cast<long double>(number(in[0], from)), g, rounding(opcode));
  } else {
    uint64_t word = in[0] & ones(bits(from));
    if (ftz && from == Type::f32) word = flushed(word, f);
    long double value = decode(word, f);
    const bool whole = opcode.has("rni") || opcode.has("rzi") || opcode.has("rmi") || opcode.has("rpi");
    const char mode = rounding(opcode);
    if (whole && !std::isnan(value))
      value = mode == 'n'   ? std::nearbyint(value)
              : mode == 'z' ? std::trunc(value)
              : mode == 'm' ? std::floor(value)
                            : std::ceil(value);
    if (opcode.has("relu") && std::signbit(value) && !std::isnan(value)) value = 0;
    if (to == from && !whole)
      result = word;  // a copy
    else if (to == Type::f32 && from == Type::bf16)
      result = word << 16;  // a NaN keeps its bits
    else
      result = encode(value, g, whole ? 'n' : mode);
    if (opcode.has("satfinite") && (result & ~g.sign()) == g.infinity()) --result;
    if (ftz && to == Type::f32) result = flushed(result, g);
  }
  if (sat) {
    const long double r = decode(result, g);
    if (std::isnan(r) || r <= 0) return Answer{0};
    if (r > 1) return Answer{encode(1, g, 'n')};
  }
  return Answer{result};
}

std::optional<Answer> approximation(const Opcode& opcode, const Inputs& in) {
  const Type type = opcode.last_type();
  if (type != Type::f32) return std::nullopt;
  uint64_t word = in[0] & ones(32);
  if (opcode.has("ftz")) word = flushed(word, f32_format);
  const double a = static_cast<double>(decode(word, f32_format));
  const std::string_view base = opcode.base();
  Answer answer;
  answer.tolerance = 8;
  if (base == "ex2") answer.truth = std::exp2(a);
  if (base == "lg2") answer.truth = std::log2(a);
  if (base == "rcp") answer.truth = 1 / a;
  if (base == "rsqrt") answer.truth = 1 / std::sqrt(a);
  if (base == "sqrt") answer.truth = std::sqrt(a);
  if (base == "tanh") {
    answer.truth = std::tanh(a);
    answer.tolerance = 8192;  // 2^-10.9
  }
  if (base == "sin" || base == "cos") {
    if (!(std::fabs(a) < 3)) return std::nullopt;
    answer.truth = base == "sin" ? std::sin(a) : std::cos(a);
    answer.tolerance = 65536;  // an absolute error
  }
  if (base == "div") {
    uint64_t second = in[1] & ones(32);
    if (opcode.has("ftz")) second = flushed(second, f32_format);
    const double b = static_cast<double>(decode(second, f32_format));
    if (!(std::fabs(b) > 0x1p-126) || !(std::fabs(b) < 0x1p126)) return std::nullopt;
    answer.truth = a / b;
  }
  if (base == "lg2" && a > 0.9 && a < 1.1) return std::nullopt;  // an absolute error there
  return answer;
}

}  // namespace

std::optional<Answer> evaluate(const Opcode& opcode, const Inputs& in, uint64_t immediate) {
  const std::string_view base = opcode.base();
  const Type type = opcode.last_type();
  const uint32_t width = bits(type);
  const auto integer = [&](Wide value) { return Answer{cut(value, width)}; };
  const Wide a = number(in[0], type), b = number(in[1], type), c = number(in[2], type);

  if (base == "cvt") {
    std::optional<Answer> answer = convert(opcode, in);
    // A signed result fills the register, of which there is none with 8 bits.
    if (answer && type_named(opcode.parts[opcode.parts.size() - 2]) == Type::s8)
      answer->value = cut(number(answer->value, Type::s8), 16);
    return answer;
  }
  if (opcode.has("approx") || opcode.has("full")) return approximation(opcode, in);
  if (base == "setp") {
    if (is_pair(type)) return std::nullopt;
    const bool result = compared(opcode.part(1), opcode, type, in[0] & ones(width), in[1] & ones(width));
    return Answer{combined(opcode, result, in[2] != 0), combined(opcode, !result, in[2] != 0)};
  }
  if (base == "set") {
    const bool result =
        combined(opcode, compared(opcode.part(1), opcode, type, in[0] & ones(width), in[1] & ones(width)), in[2] != 0);
    return Answer{!result                                                                ? 0
                  : opcode.has("f32") && (opcode.part(opcode.parts.size() - 2) == "f32") ? 0x3f800000u
                                                                                         : ones(32)};
  }
  if (base == "testp") {
    const Format f = format_of(type);
    const uint64_t x = in[0] & ones(width);
    const bool finite = (x & f.infinity()) != f.infinity(), tiny = (x & f.infinity()) == 0;
    const std::string_view what = opcode.part(1);
    const bool nan = std::isnan(decode(x, f));
    return Answer{what == "finite"       ? finite
                  : what == "infinite"   ? !finite && !nan
                  : what == "number"     ? !nan
                  : what == "notanumber" ? nan
                  : what == "normal"     ? finite && !tiny
                                         : tiny};
  }
  if (base == "selp") return integer(in[2] != 0 ? static_cast<Wide>(in[0]) : static_cast<Wide>(in[1]));
  if (base == "slct") {
    const Type of = type_named(opcode.parts[opcode.parts.size() - 2]);
    const bool first =
        type == Type::s32
            ? c >= 0
            : decode(opcode.has("ftz") ? flushed(in[2] & ones(32), f32_format) : in[2] & ones(32), f32_format) >= 0;
    return Answer{(first ? in[0] : in[1]) & ones(bits(of))};
  }
  if (base == "mov") return Answer{in[0] & ones(type == Type::pred ? 1 : width)};
  if (base == "and") return integer(static_cast<Wide>(in[0] & in[1]));
  if (base == "or") return integer(static_cast<Wide>(in[0] | in[1]));
  if (base == "xor") return integer(static_cast<Wide>(in[0] ^ in[1]));
  if (base == "not") return type == Type::pred ? Answer{in[0] == 0} : integer(static_cast<Wide>(~in[0]));
  if (base == "cnot") return integer((in[0] & ones(width)) == 0);

  if (is_pair(type)) {
    Inputs low = in, high = in;
    for (uint64_t& word : low) word &= 0xffff;
    for (uint64_t& word : high) word = word >> 16 & 0xffff;
    return Answer{float_operation(opcode, format_of(type), low) | float_operation(opcode, format_of(type), high) << 16};
  }
  if (type == Type::f32x2) {
    Inputs low = in, high = in;
    for (uint64_t& word : low) word &= ones(32);
    for (uint64_t& word : high) word >>= 32;
    return Answer{float_operation(opcode, f32_format, low) | float_operation(opcode, f32_format, high) << 32};
  }
  if (is_float(type)) {
    const Format f = format_of(type);
    if (f.total() == 64 && rounding(opcode) != 'n') return std::nullopt;  // long double has too few bits
    return Answer{float_operation(opcode, f, in)};
  }

  if (type == Type::u16x2 || type == Type::s16x2) {
    uint64_t result = 0;
    for (uint32_t shift = 0; shift < 32; shift += 16) {
      const Wide x = number(in[0] >> shift, 16, type == Type::s16x2),
                 y = number(in[1] >> shift, 16, type == Type::s16x2);
      Wide r = base == "add" ? x + y : base == "min" ? std::min(x, y) : std::max(x, y);
      if (opcode.has("relu") && r < 0) r = 0;
      result |= cut(r, 16) << shift;
    }
    return Answer{result};
  }
  if (base == "add") return integer(opcode.has("sat") ? limited(a + b, type) : a + b);
  if (base == "sub") return integer(opcode.has("sat") ? limited(a - b, type) : a - b);
  if (base == "mul" && opcode.has("wide")) return Answer{cut(a * b, 2 * width)};
  if (base == "mul") {
    if (opcode.has("lo")) return integer(a * b);
    if (width == 64) {  // of two halves each, so that nothing is lost
      const Wide low = static_cast<Wide>(static_cast<uint64_t>(a) & ones(32)) * b;
      return integer(((a >> 32) * b + (low >> 32)) >> 32);
    }
    return integer((a * b) >> width);
  }
  if (base == "mad" && (opcode.has("cc"))) return std::nullopt;
  if (base == "mad") {
    if (opcode.has("wide")) return Answer{cut(a * b + number(in[2], 2 * width, is_signed(type)), 2 * width)};
    if (opcode.has("lo")) return integer(a * b + c);
    if (width == 64) return std::nullopt;
    const Wide sum = ((a * b) >> width) + c;
    return integer(opcode.has("sat") ? limited(sum, type) : sum);
  }
  if (base == "mul24" || base == "mad24") {
    const Wide product = number(in[0], 24, is_signed(type)) * number(in[1], 24, is_signed(type));
    const Wide part = opcode.has("hi") ? product >> 16 : product;
    if (base == "mul24") return integer(part);
    const Wide sum = number(cut(part, 32), 32, is_signed(type)) + c;
    return integer(opcode.has("sat") ? limited(sum, type) : sum);
  }
  if (base == "sad") return integer(c + (a < b ? b - a : a - b));
  if (base == "div") return integer(b == 0 ? Wide{-1} : a / b);
  if (base == "rem") return integer(b == 0 ? a : a % b);
  if (base == "abs") return integer(a < 0 ? -a : a);
  if (base == "neg") return integer(-a);
  if (base == "min" || base == "max") {
    const Wide r = base == "min" ? std::min(a, b) : std::max(a, b);
    return integer(opcode.has("relu") && r < 0 ? 0 : r);
  }
  if (base == "dp4a" || base == "dp2a") {
    const bool signed_a = opcode.part(opcode.parts.size() - 2) == "s32", signed_b = opcode.parts.back() == "s32";
    const uint32_t wide = base == "dp4a" ? 8 : 16, count = base == "dp4a" ? 4 : 2;
    Wide sum = static_cast<Wide>(in[2] & ones(32));
    for (uint32_t i = 0; i < count; ++i)
      sum += number(in[0] >> (wide * i), wide, signed_a) *
             number(in[1] >> (8 * i + (opcode.has("hi") ? 16 : 0)), 8, signed_b);
    return Answer{cut(sum, 32)};
  }
  const uint64_t amount = in[1] & ones(32);
  if (base == "shl") return integer(amount >= width ? 0 : static_cast<Wide>((in[0] & ones(width)) << amount));
  if (base == "shr") return integer(a >> std::min<uint64_t>(amount, 100));
  if (base == "shf") {
    const uint64_t both = (in[1] & ones(32)) << 32 | (in[0] & ones(32));
    uint64_t n = in[2] & ones(32);
    n = opcode.has("clamp") ? std::min<uint64_t>(n, 32) : n & 31;
    return Answer{(opcode.has("l") ? (both << n) >> 32 : both >> n) & ones(32)};
  }
  if (base == "lop3") {
    uint64_t result = 0;
    for (uint32_t i = 0; i < 32; ++i) {
      const uint64_t row = (in[0] >> i & 1) * 4 + (in[1] >> i & 1) * 2 + (in[2] >> i & 1);
      result |= (immediate >> row & 1) << i;
    }
    if (opcode.parts.size() == 2) return Answer{result};
    const bool other = in[3] != 0;
    return Answer{result, opcode.has("or") ? (result != 0 || other) : (result != 0 && other)};
  }
  if (base == "prmt") {
    const auto byte = [&](uint64_t i) { return (i < 4 ? in[0] >> 8 * i : in[1] >> 8 * (i - 4)) & 255; };
    uint64_t result = 0;
    for (uint64_t i = 0; i < 4; ++i) {
      const uint64_t k = in[2] & 3;
      uint64_t from = 0;
      bool sign = false;
      if (opcode.parts.size() == 2) {
        from = in[2] >> 4 * i & 7;
        sign = (in[2] >> (4 * i + 3) & 1) != 0;
      }
      if (opcode.has("f4e")) from = k + i;
      if (opcode.has("b4e")) from = (k + 8 - i) % 8;
      if (opcode.has("rc8")) from = k;
      if (opcode.has("ecl")) from = std::max(i, k);
      if (opcode.has("ecr")) from = std::min(i, k);
      if (opcode.has("rc16")) from = (k % 2) * 2 + i % 2;
      const uint64_t value = byte(from);
      result |= (sign ? (value >= 128 ? 255 : 0) : value) << 8 * i;
    }
    return Answer{result};
  }
  if (base == "bfe") {
    const uint64_t position = in[1] & 255, length = in[2] & 255;
    uint64_t result = 0;
    const uint64_t top = std::min<uint64_t>(position + length - 1, width - 1);
    const uint64_t sign = is_signed(type) && length != 0 ? in[0] >> top & 1 : 0;
    for (uint64_t i = 0; i < width; ++i) {
      const uint64_t bit = i < length && position + i < width ? in[0] >> (position + i) & 1 : sign;
      result |= bit << i;
    }
    return Answer{result};
  }
  if (base == "bfi") {
    const uint64_t position = in[2] & 255, length = in[3] & 255;
    uint64_t result = in[1] & ones(width);
    for (uint64_t i = 0; i < length && position + i < width; ++i) {
      result &= ~(uint64_t{1} << (position + i));
      if (i < width) result |= (in[0] >> i & 1) << (position + i);
    }
    return Answer{result};
  }
  if (base == "bfind") {
    uint64_t word = in[0] & ones(width);
    if (is_signed(type) && a < 0) word = ~word & ones(width);
    for (uint32_t i = width; i-- > 0;)
      if ((word >> i & 1) != 0) return Answer{opcode.has("shiftamt") ? width - 1 - i : i};
    return Answer{ones(32)};
  }
  if (base == "brev" || base == "popc" || base == "clz") {
    uint64_t reversed = 0, count = 0, zeros = 0;
    for (uint32_t i = 0; i < width; ++i) {
      reversed |= (in[0] >> i & 1) << (width - 1 - i);
      count += in[0] >> i & 1;
    }
    while (zeros < width && (in[0] >> (width - 1 - zeros) & 1) == 0) ++zeros;
    return Answer{base == "brev" ? reversed : base == "popc" ? count : zeros};
  }
  if (base == "bmsk" || base == "szext") {
    uint64_t x = in[0] & ones(32), n = in[1] & ones(32);
    if (opcode.has("wrap")) n &= 31;
    if (base == "bmsk") {
      if (opcode.has("wrap")) x &= 31;
      uint64_t result = 0;
      for (uint64_t i = 0; i < 32; ++i)
        if (i >= x && i - x < n) result |= uint64_t{1} << i;
      return Answer{result};
    }
    if (n >= 32) return Answer{x};
    return Answer{n == 0 ? 0 : cut(number(x, static_cast<uint32_t>(n), is_signed(type)), 32)};
  }
  if (base == "fns") {
    const uint64_t at = in[1] & ones(32);
    const auto n = static_cast<int32_t>(in[2]);
    if (at > 31) return Answer{ones(32)};
    int64_t place = static_cast<int64_t>(at), left = n == 0 ? 1 : std::abs(static_cast<int64_t>(n));
    const int64_t step = n < 0 ? -1 : 1;
    for (int64_t i = place; i >= 0 && i < 32; i += step) {
      if ((in[0] >> i & 1) != 0 && --left == 0) return Answer{static_cast<uint64_t>(i)};
      if (n == 0) break;
    }
    return Answer{ones(32)};
  }
  return std::nullopt;
}

uint64_t random_operand(uint64_t (*random)(), Type type) {
  const uint64_t word = random();
  const uint32_t width = std::max(1u, bits(type));
  const uint64_t choice = random() % 8;
  if (is_float(type) && width >= 16 && choice < 6) {
    const Format f = format_of(type);
    const uint64_t specials[] = {0,
                                 f.sign(),
                                 f.infinity(),
                                 f.infinity() | f.sign(),
                                 f.nan(),
                                 1,
                                 f.sign() | 1,
                                 f.infinity() - 1,
                                 uint64_t{1} << f.mantissa_bits,
                                 (uint64_t{1} << f.mantissa_bits) - 1,
                                 encode(1, f, 'n'),
                                 encode(-1, f, 'n'),
                                 encode(0.5L, f, 'n'),
                                 encode(3.5L, f, 'n')};
    const auto one = [&](uint64_t from) {
      if (choice == 0) return specials[from % std::size(specials)];
      if (choice < 4)  // near 1: sums and products that are neither lost nor overflow
        return (from & (f.sign() | ((uint64_t{1} << f.mantissa_bits) - 1))) |
               (static_cast<uint64_t>(f.bias()) - 12 + (from >> 56) % 24) << f.mantissa_bits;
      return from & ones(static_cast<uint32_t>(f.total()));
    };
    if (f.total() == static_cast<int>(width)) return one(word);
    return one(word) | one(random()) << width / 2;
  }
  switch (choice) {
    case 0: return word % 5;
    case 1: return ~(word % 5) & ones(width);
    case 2: return uint64_t{1} << word % width;
    case 3: return word % 70;
    case 4: return (uint64_t{1} << (width - 1)) - word % 2;
    default: return word & ones(width);
  }
}

}  // namespace warploom::ptx::model
