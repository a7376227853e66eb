//! The number of a system call, where the code right before it says so.

use iced_x86::{
    FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
};

use super::found::Found;
use super::reached::Reached;
use crate::patching::numbers::Numbers;
use crate::patching::tuning::NEAR_BYTES;

/// Registers that a call preserves.
const PRESERVED: [Register; 6] =
    [Register::RBX, Register::RBP, Register::R12, Register::R13, Register::R14, Register::R15];

/// Follows what becomes of `rax` back to a constant. Where a jump comes in between, or anything
/// else happens to it, the number is variable.
pub(crate) fn of_site(site: &Found<'_>, reached: &Reached<'_>) -> Numbers {
    let mut register = Register::RAX;
    let (mut factory, mut behind) = (InstructionInfoFactory::new(), site.address);
    for instruction in site.code.get(..site.place).unwrap_or_default().iter().rev() {
        let is_next = instruction.next_ip() == behind && !reached.contains(behind);
        behind = instruction.ip();
        if !is_next || site.address - behind > NEAR_BYTES {
            return Numbers::Variable;
        }
        match instruction.flow_control() {
            FlowControl::Next | FlowControl::ConditionalBranch => {}
            FlowControl::Call | FlowControl::IndirectCall
                if instruction.mnemonic() == Mnemonic::Syscall || PRESERVED.contains(&register) => {
            }
            _ => return Numbers::Variable,
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
        match source(instruction, register) {
            Some(Source::Constant(number)) => return Numbers::Constant(number),
            Some(Source::Register(from)) => register = from,
            None => return Numbers::Variable,
        }
    }
    Numbers::Variable
}

enum Source {
    Constant(u32),
    Register(Register),
}

/// What an instruction that writes `register` makes it, if all of it comes from one place.
fn source(instruction: &Instruction, register: Register) -> Option<Source> {
    let target = instruction.op0_register();
    // A write of 32 bits makes the rest zero; of less, it leaves the rest.
    if target.full_register() != register || target.size() < 4 || instruction.op_count() != 2 {
        return None;
    }
    match (instruction.mnemonic(), instruction.op1_kind()) {
        (Mnemonic::Mov, OpKind::Register) => {
            let from = instruction.op1_register();
            (from.is_gpr() && from.size() >= 4).then(|| Source::Register(from.full_register()))
        }
        (Mnemonic::Mov, _) => {
            let number = instruction.try_immediate(1).ok()?;
            u32::try_from(number).ok().map(Source::Constant)
        }
        (Mnemonic::Xor | Mnemonic::Sub, OpKind::Register) => {
            (instruction.op1_register() == target).then_some(Source::Constant(0))
        }
        _ => None,
    }
}
