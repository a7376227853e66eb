//! Kill switch of a blob that cannot be removed because its process cannot be stopped, or another
//! process traces it. It is operated by writing to the process's memory while it runs.

use super::installed_blob::InstalledBlob;
use crate::blob::KillSwitch;
use crate::memory::ProcessMemory;

/// Makes the hooks of a blob do nothing from now on. Returns `false` if its memory cannot be
/// written.
pub(super) fn switch_off(installed: &InstalledBlob) -> bool {
    ProcessMemory::open(installed.process)
        .is_ok_and(|memory| operate_switch(installed, &memory).unwrap_or(false))
}

/// Writes the words of the kill switch. Returns whether the hooks are off; `None` if the blob has
/// no switch, or its memory cannot be read or written.
fn operate_switch(installed: &InstalledBlob, memory: &ProcessMemory) -> Option<bool> {
    let at = installed.blob_address().wrapping_add(installed.ending?.switch?);
    let word = |at: u64| memory.word(at).ok();
    let mut words = [0; KillSwitch::WORDS];
    for (place, to) in (0..).zip(&mut words) {
        *to = word(at.wrapping_add(place * 8))?;
    }
    let switch = KillSwitch::from_words(words);
    let state = word(switch.state)?;
    if state == 0 {
        return Some(true);
    }
    // The previous value is kept first, so that the blob's last function finds it.
    memory.write(at.wrapping_add(KillSwitch::KEPT), &state.to_le_bytes()).ok()?;
    memory.write(switch.state, &0u64.to_le_bytes()).ok()?;
    let header = word(state.wrapping_add(switch.header)).filter(|header| *header != 0);
    if let Some(header) = header {
        let left = (switch.left as u32).to_le_bytes();
        // Without this number, the log would look as if the process had been killed.
        let _ = memory.write(header.wrapping_add(switch.progress), &left);
    }
    Some(word(switch.state)? == 0)
}
