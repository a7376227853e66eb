//! Number of a system call, if the code just before it sets a constant.

use iced_x86::{
    FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
};

use super::jump_targets::JumpTargets;
use super::syscall_site::SyscallSite;
use crate::patching::numbers::SyscallNumber;
use crate::patching::tuning::NEAR_BYTES;

/// Registers that a function call preserves.
const PRESERVED: [Register; 6] =
    [Register::RBX, Register::RBP, Register::R12, Register::R13, Register::R14, Register::R15];

/// Traces the value of `rax` back to a constant. The number is variable if a jump leads in between,
/// or if the value is computed otherwise.
pub(crate) fn number_at_site(site: &SyscallSite<'_>, reached: &JumpTargets<'_>) -> SyscallNumber {
    let mut register = Register::RAX;
    let (mut factory, mut after) = (InstructionInfoFactory::new(), site.address);
    for instruction in site.code.get(..site.place).unwrap_or_default().iter().rev() {
        let is_next = instruction.next_ip() == after && !reached.contains(after);
        after = instruction.ip();
        if !is_next || site.address - after > NEAR_BYTES {
            return SyscallNumber::Variable;
        }
        match instruction.flow_control() {
            FlowControl::Next | FlowControl::ConditionalBranch => {}
            FlowControl::Call | FlowControl::IndirectCall
                if instruction.mnemonic() == Mnemonic::Syscall || PRESERVED.contains(&register) => {
            }
            _ => return SyscallNumber::Variable,
        }
        let writes = factory.info(instruction).used_registers().iter().any(|used| {
            used.register().full_register() == register
                && !matches!(
                    used.access(),
                    OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess
                )
        });
        if !writes {
            continue;
        }
        match written_source(instruction, register) {
            Some(NumberSource::Constant(number)) => return SyscallNumber::Constant(number),
            Some(NumberSource::Register(from)) => register = from,
            None => return SyscallNumber::Variable,
        }
    }
    SyscallNumber::Variable
}

enum NumberSource {
    Constant(u32),
    Register(Register),
}

/// Value that an instruction writes to `register`, if all of it comes from one source.
fn written_source(instruction: &Instruction, register: Register) -> Option<NumberSource> {
    let target = instruction.op0_register();
    // A write of 32 bits clears the rest; a smaller one keeps the rest.
    if target.full_register() != register || target.size() < 4 || instruction.op_count() != 2 {
        return None;
    }
    match (instruction.mnemonic(), instruction.op1_kind()) {
        (Mnemonic::Mov, OpKind::Register) => {
            let from = instruction.op1_register();
            (from.is_gpr() && from.size() >= 4)
                .then(|| NumberSource::Register(from.full_register()))
        }
        (Mnemonic::Mov, _) => {
            let number = instruction.try_immediate(1).ok()?;
            u32::try_from(number).ok().map(NumberSource::Constant)
        }
        (Mnemonic::Xor | Mnemonic::Sub, OpKind::Register) => {
            (instruction.op1_register() == target).then_some(NumberSource::Constant(0))
        }
        _ => None,
    }
}
