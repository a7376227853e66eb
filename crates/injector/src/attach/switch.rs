//! Switch of a blob that cannot be taken out of a process: the process cannot be stopped, or
//! another one traces it. It is thrown by writing into the process's memory, while it runs.

use super::held::Held;
use crate::blob::Switch;
use crate::memory::Memory;

/// Makes the hooks of a blob do nothing from now on. `false` where that cannot be.
pub(super) fn switch_off(held: &Held) -> bool {
    Memory::open(held.process).is_ok_and(|memory| is_thrown(held, &memory).unwrap_or(false))
}

fn is_thrown(held: &Held, memory: &Memory) -> Option<bool> {
    let at = held.blob().wrapping_add(held.ending?.switch?);
    let word = |at: u64| memory.word(at).ok();
    let mut words = [0; Switch::WORDS];
    for (place, to) in (0..).zip(&mut words) {
        *to = word(at.wrapping_add(place * 8))?;
    }
    let switch = Switch::of(words);
    let state = word(switch.state)?;
    if state == 0 {
        return Some(true);
    }
    // First what it was, or the blob's end could not find it again.
    memory.write(at.wrapping_add(Switch::KEPT), &state.to_le_bytes()).ok()?;
    memory.write(switch.state, &0u64.to_le_bytes()).ok()?;
    let header = word(state.wrapping_add(switch.header)).filter(|header| *header != 0);
    if let Some(header) = header {
        let left = (switch.left as u32).to_le_bytes();
        // Without it, the log seems to be that of a process that was killed.
        let _ = memory.write(header.wrapping_add(switch.progress), &left);
    }
    Some(word(switch.state)? == 0)
}
