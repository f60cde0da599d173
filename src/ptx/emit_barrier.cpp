// Emitters of mbarriers.
#include "ptx/emit_body.hpp"

namespace warploom::ptx {

void emit_mbarrier(Body& body, const Instruction& instruction) {
  const Opcode& opcode = instruction.op();
  const auto& o = instruction.operands;
  const std::string_view what = opcode.part(1);
  if (what == "init")
    return body.put("native::mbarrier_init({}, {});", body.shared_address(o[0]), body.value(o[1], Type::u32));
  if (what == "inval") return body.put("native::mbarrier_invalidate({});", body.shared_address(o[0]));
  if (what == "pending_count")
    return body.set(o[0], Type::u32, fmt::format("native::mbarrier_pending_count({})", body.value(o[1], Type::u64)));
  body.put("native::mbarrier_{}({}, {});", what, body.shared_address(o[0]), body.value(o[1], Type::u32));
}

void emit_mbarrier_arrive(Body& body, const Instruction& instruction) {
  const Opcode& opcode = instruction.op();
  std::span<const Operand> o = instruction.operands;
  const Operand* state = nullptr;
  if (!o.front().is(Operand::Kind::address)) {
    if (Body::wanted(o.front())) state = &o.front();
    o = o.subspan(1);
  }
  const std::string barrier = body.shared_address(o[0]);
  const std::string count = o.size() > 1 ? body.value(o[1], Type::u32) : "1u";
  const std::string_view what = opcode.part(1);
  const bool drops = what == "arrive_drop", expects = opcode.has("expect_tx"), partial = opcode.has("noComplete");
  if (drops && state != nullptr) return body.fail("the state that mbarrier.arrive_drop returns is not translated");
  if (drops && partial) return body.fail("mbarrier.arrive_drop.noComplete is not translated");
  if (expects) {
    body.put("native::mbarrier_{}_expect_tx({}, {});", what, barrier, count);
    if (state != nullptr) {
      body.put(" ");
      body.set(*state, Type::u64, "last_token()");
    }
    return;
  }
  if (drops) return body.put("native::mbarrier_arrive_drop({}, {});", barrier, count);
  if (state != nullptr || partial) {
    const std::string code = fmt::format("native::mbarrier_arrive_token({}, {}, {})", barrier, count, partial);
    if (state == nullptr) return body.put("(void){};", code);
    return body.set(*state, Type::u64, code);
  }
  const bool cluster = opcode.has("cluster") || opcode.has("shared::cluster");
  body.put("native::mbarrier_arrive({}, {}, {});", barrier, count, cluster);
}

void emit_mbarrier_wait(Body& body, const Instruction& instruction) {
  const Opcode& opcode = instruction.op();
  const auto& o = instruction.operands;
  const std::string barrier = body.shared_address(o[1]);
  const auto index = static_cast<size_t>(&instruction - body.function.body.data());
  const WaitLoop loop = body.plan.waits[index];
  if (!opcode.has("parity")) {
    const std::string token = body.value(o[2], Type::u64);
    if (loop == WaitLoop::poll)
      return body.set_predicate(o[0], fmt::format("native::mbarrier_test_token({}, {})", barrier, token));
    body.put("native::mbarrier_wait_token({}, {}); ", barrier, token);
    return body.set_predicate(o[0], "true");
  }
  const std::string parity = body.value(o[2], Type::u32) + " & 1";
  const bool cluster = opcode.has("cluster");
  if (loop == WaitLoop::poll)
    return body.set_predicate(o[0], fmt::format("native::mbarrier_test_parity({}, {}, {})", barrier, parity, cluster));
  if (loop == WaitLoop::parks_before_wgmma && !cluster)
    body.put("native::mbarrier_wait_parity_before_wgmma({}, {}); ", barrier, parity);
  else
    body.put("wait_parity<{}>({}, {}); ", cluster, barrier, parity);
  body.set_predicate(o[0], "true");
}

}  // namespace warploom::ptx
