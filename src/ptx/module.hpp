// PTX as the parser hands it on: a module with its variables, kernels and functions, every name resolved to an index.
//
//   Result<Module> module = parse(text, "kernel.ptx");
//   for (const Function& function : module->functions)
//     for (const Instruction& instruction : function.body)
//       if (instruction.op().is("mbarrier", "try_wait")) ...
//
// Names and opcodes are views into memory that the module owns; a module can be moved, not copied.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/types.hpp"

namespace warploom::ptx {

/// Stands for "none" wherever an index is kept.
inline constexpr uint32_t no_index = ~uint32_t{0};

enum class Space : uint8_t { none, reg, param, local, shared, global, constant };

constexpr std::string_view to_string(Space space) {
  constexpr std::array<std::string_view, 7> names{"", "reg", "param", "local", "shared", "global", "const"};
  return names[static_cast<size_t>(space)];
}

/// A virtual register. Two scopes of a function may have registers of one name: they differ in their index.
struct Register {
  std::string_view name;  ///< with its percent sign, where it has one
  Type type = Type::none;
};

/// The opcode `ld.shared::cluster.v4.f32` and its parts `ld`, `shared::cluster`, `v4`, `f32`. One object for each
/// spelling in a module: instructions of the same form have the same pointer.
struct Opcode {
  std::string text;
  std::vector<std::string_view> parts;  ///< into text
  uint32_t index = 0;                   ///< in Module::opcodes

  std::string_view base() const { return parts.front(); }
  /// "" where there are fewer parts.
  std::string_view part(size_t i) const { return i < parts.size() ? parts[i] : std::string_view{}; }
  /// The opcode begins with these parts.
  template <class... Parts>
  bool is(Parts... names) const {
    size_t i = 0;
    return ((part(i++) == std::string_view{names}) && ...);
  }
  /// One of the parts after the first has that name.
  bool has(std::string_view name) const {
    for (size_t i = 1; i < parts.size(); ++i)
      if (parts[i] == name) return true;
    return false;
  }
  /// The last part that is a type: that of the source, where an instruction has two (`cvt.f32.f16`).
  Type last_type() const {
    for (size_t i = parts.size(); i-- > 1;)
      if (const Type type = type_named(parts[i]); type != Type::none) return type;
    return Type::none;
  }
};

struct Operand {
  enum class Kind : uint8_t {
    reg,             ///< index: Function::registers; negated: `!%p1`
    immediate,       ///< bits, literal
    special,         ///< name: `%tid.x`, `%clock64`
    variable,        ///< index: Module::variables; offset: `table+16`
    parameter,       ///< index: Function::parameters; offset
    result,          ///< index: Function::results (the return parameters of a .func); offset
    label,           ///< index: Function::labels
    function,        ///< index: Module::functions
    branch_targets,  ///< index: Function::branch_targets (brx.idx)
    prototype,       ///< index: Function::prototypes (call through a pointer)
    sink,            ///< `_`: the value is not wanted
    vector,          ///< parts: `{%f1, %f2}`
    list,            ///< parts: `(param0, param1)` of a call
    pair,            ///< two parts: `%p1|%p2`
    address,         ///< parts[0]: the base, offset; parts[1...]: what follows a comma, `[map, {x, y}]`
  };
  /// How an immediate was written. `bits` are those of the written type: a decimal integer is sign-extended to 64 bits,
  /// 0f3F800000 has the 32 bits of an f32, 0d... and 1.5 the 64 bits of an f64.
  enum class Literal : uint8_t { integer, f32, f64 };

  Kind kind = Kind::sink;
  Literal literal = Literal::integer;
  bool negated = false;
  uint32_t index = no_index;
  int64_t offset = 0;
  uint64_t bits = 0;
  std::string_view name;  ///< as written, where it is a name
  std::vector<Operand> parts;

  bool is(Kind k) const { return kind == k; }
  bool is_register() const { return kind == Kind::reg; }
  bool is_immediate() const { return kind == Kind::immediate; }
};

/// Where an instruction comes from, of a `.loc` line. An inlined function's location leads to that of its call.
struct Location {
  uint32_t file = 0;  ///< number in Module::files
  uint32_t line = 0;
  uint32_t column = 0;
  std::string_view
      function;  ///< mangled name of the inlined function; "" where the location is in the kernel's own source
  uint32_t inlined_at = no_index;  ///< index in Module::locations, smaller than its own
};

struct Instruction {
  const Opcode* opcode = nullptr;
  std::vector<Operand> operands;
  uint32_t guard = no_index;     ///< register of `@%p1`
  bool guard_negated = false;    ///< `@!%p1`
  uint32_t line = 0;             ///< in the PTX
  uint32_t location = no_index;  ///< in Module::locations

  const Opcode& op() const { return *opcode; }
};

struct Label {
  std::string_view name;  ///< labels of two scopes may have one name
  uint32_t target = 0;    ///< the instruction that follows; the size of the body for one at its end
  uint32_t line = 0;
};

/// `$L: .branchtargets A, B;`
struct BranchTargets {
  std::string_view name;
  std::vector<uint32_t> labels;
  uint32_t line = 0;
};

/// A parameter of a kernel or a function, or its return value.
struct Parameter {
  std::string_view name;
  Type type = Type::none;  ///< of one element
  uint64_t bytes = 0;
  uint32_t align = 1;
  uint64_t offset = 0;                 ///< in the parameter block
  bool in_register = false;            ///< `.reg .b32 %r0` instead of `.param .b32 p`
  bool array = false;                  ///< `.b8 p[128]`
  Space points_to = Space::none;       ///< `.ptr .global`
  uint32_t register_index = no_index;  ///< of one in a register
};

/// `$P: .callprototype (.param .b32 _) _ (.param .b64 _);`
struct Prototype {
  std::string_view name;
  std::vector<Parameter> results;
  std::vector<Parameter> parameters;
  bool noreturn = false;
  uint32_t line = 0;
};

enum class Linkage : uint8_t { local, visible, weak, common, external };

/// The address of a variable or a function among the bytes of an initialiser.
struct Relocation {
  uint64_t offset = 0;  ///< in Variable::image
  uint32_t bytes = 8;
  bool is_function = false;
  bool generic = false;  ///< `generic(x)`: the generic address
  uint32_t index = no_index;
  int64_t addend = 0;
};

struct Variable {
  std::string_view name;
  Space space = Space::none;
  Type type = Type::none;  ///< of one element
  uint32_t vector = 1;     ///< `.v4 .f32`: 4
  uint64_t bytes = 0;      ///< 0: an array without a size, such as dynamic shared memory
  uint32_t align = 1;
  Linkage linkage = Linkage::local;
  bool unsized = false;          ///< `x[]`: as large as the launch says, or as its initialiser
  bool managed = false;          ///< `.attribute(.managed)`
  uint32_t function = no_index;  ///< of a variable inside a function
  std::vector<uint8_t> image;    ///< initial bytes, as far as they are given; the rest is zero
  std::vector<Relocation> relocations;
  uint32_t line = 0;

  bool initialised() const { return !image.empty(); }
};

using Triple = std::array<uint32_t, 3>;

/// Performance directives of a kernel: `.maxntid 384, 1, 1`.
struct Directives {
  std::optional<Triple> maxntid;
  std::optional<Triple> reqntid;
  std::optional<Triple> reqnctapercluster;  ///< {0, 0, 0}: a cluster launch, its size is the launch's
  std::optional<uint32_t> maxclusterrank;
  std::optional<uint32_t> minnctapersm;
  std::optional<uint32_t> maxnctapersm;
  std::optional<uint32_t> maxnreg;
  bool explicitcluster = false;
  bool blocksareclusters = false;
  bool noreturn = false;
};

struct Function {
  std::string_view name;
  bool entry = false;  ///< a kernel; otherwise a function that is called
  Linkage linkage = Linkage::local;
  bool defined = false;          ///< has a body
  uint32_t alias_of = no_index;  ///< `.alias`: another name of that function, which has the body
  std::vector<Parameter> parameters;
  std::vector<Parameter> results;
  uint64_t parameter_bytes = 0;
  Directives directives;
  std::vector<Register> registers;  ///< those that are used
  std::vector<Label> labels;        ///< in the order of their targets
  std::vector<Instruction> body;
  std::vector<BranchTargets> branch_targets;
  std::vector<Prototype> prototypes;
  std::vector<std::string_view> pragmas;  ///< the strings of `.pragma`, without their quotes
  uint32_t line = 0;
};

struct SourceFile {
  uint32_t number = 0;
  std::string_view name;
};

struct Module {
  std::string name;  ///< the file's, as errors name it
  uint32_t version_major = 0;
  uint32_t version_minor = 0;
  std::string_view target;                       ///< "sm_90a"
  std::vector<std::string_view> target_options;  ///< what follows the target: "debug", "texmode_unified"
  uint32_t address_size = 64;
  std::vector<SourceFile> files;
  std::vector<Location> locations;
  std::vector<Variable> variables;  ///< of the module and of its functions
  std::vector<Function> functions;
  std::deque<Opcode> opcodes;  ///< one for each spelling; pointers to them stay valid

  std::unique_ptr<const std::string> text;  ///< what the views look into
  std::deque<std::string> strings;          ///< names that do not stand in the text as such

  Module() = default;
  Module(Module&&) = default;
  Module& operator=(Module&&) = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// "" for a number that no `.file` has.
  std::string_view file_name(uint32_t number) const {
    for (const SourceFile& file : files)
      if (file.number == number) return file.name;
    return {};
  }
  /// The kernel or function of that name, or nullptr.
  const Function* find(std::string_view wanted) const {
    for (const Function& function : functions)
      if (function.name == wanted) return &function;
    return nullptr;
  }
  /// 90 of "sm_90a".
  uint32_t target_number() const {
    uint32_t number = 0;
    for (const char c : target)
      if (c >= '0' && c <= '9') number = number * 10 + static_cast<uint32_t>(c - '0');
    return number;
  }
};

}  // namespace warploom::ptx
