//! Functions of Tokio by the names that Rust gives to them, in both mangling schemes.

use crate::tuning::{MAX_TASK_KINDS, MAX_TASK_STARTERS, MAX_TASK_WAKES};

/// Addresses of functions of one kind, up to `N`.
pub(super) struct FunctionAddresses<const N: usize> {
    addresses: [usize; N],
    count: usize,
}

impl<const N: usize> FunctionAddresses<N> {
    const NONE: FunctionAddresses<N> = FunctionAddresses { addresses: [0; N], count: 0 };

    /// Adds an address. Identical functions may have been merged into one with several names.
    fn add_address(&mut self, address: usize) {
        if !self.addresses().contains(&address)
            && let Some(place) = self.addresses.get_mut(self.count)
        {
            *place = address;
            self.count += 1;
        }
    }

    /// All addresses.
    pub(super) fn addresses(&self) -> &[usize] {
        self.addresses.get(..self.count).unwrap_or(&[])
    }
}

/// Functions that were found.
pub(super) struct TokioFunctions {
    /// Functions that poll a task, one for each kind of task.
    pub(super) polls: FunctionAddresses<MAX_TASK_KINDS>,
    /// Functions that wake a task, with the waker consumed or kept.
    pub(super) wakes: FunctionAddresses<MAX_TASK_WAKES>,
    /// Functions that take up a newly started task, one for each kind of scheduler.
    pub(super) starters: FunctionAddresses<MAX_TASK_STARTERS>,
}

impl TokioFunctions {
    /// No functions.
    pub(super) fn new() -> TokioFunctions {
        TokioFunctions {
            polls: FunctionAddresses::NONE,
            wakes: FunctionAddresses::NONE,
            starters: FunctionAddresses::NONE,
        }
    }

    /// Adds the address of a function if its name is of a function to be changed. `name` may be
    /// followed by other names, each ended by a zero byte.
    pub(super) fn match_name(&mut self, name: &[u8], address: usize) {
        let is_legacy = name.starts_with(b"_ZN5tokio7runtime4task");
        if !is_legacy && !name.starts_with(b"_R") {
            return;
        }
        let name = name.split(|byte| *byte == 0).next().unwrap_or(name);
        if is_poll(name, is_legacy) {
            self.polls.add_address(address);
        } else if is_wake(name, is_legacy) {
            self.wakes.add_address(address);
        } else if is_starter(name, is_legacy) {
            self.starters.add_address(address);
        }
    }
}

/// Whether the function polls a task: `tokio::runtime::task::raw::poll`, not an item nested in it.
fn is_poll(name: &[u8], is_legacy: bool) -> bool {
    match is_legacy {
        true => name.starts_with(b"_ZN5tokio7runtime4task3raw4poll17h"),
        false => {
            name.starts_with(b"_RINv") && contains_text(name, b"_5tokio7runtime4task3raw4poll")
        }
    }
}

/// Whether the function wakes a task: `wake_by_val` or `wake_by_ref` of its waker.
fn is_wake(name: &[u8], is_legacy: bool) -> bool {
    match is_legacy {
        true => {
            name.starts_with(b"_ZN5tokio7runtime4task5waker11wake_by_val17h")
                || name.starts_with(b"_ZN5tokio7runtime4task5waker11wake_by_ref17h")
        }
        false => {
            name.starts_with(b"_RNvNt")
                && contains_text(name, b"_5tokio7runtime4task5waker11wake_by_")
        }
    }
}

/// Whether the function takes up a started task, its second argument: `bind_inner` of a scheduler's
/// list of owned tasks.
fn is_starter(name: &[u8], is_legacy: bool) -> bool {
    match is_legacy {
        true => {
            name.starts_with(b"_ZN5tokio7runtime4task4list")
                && contains_text(name, b"OwnedTasks$LT$S$GT$10bind_inner17h")
        }
        false => {
            name.starts_with(b"_RNvM")
                && contains_text(name, b"_5tokio7runtime4task4list")
                && contains_text(name, b"OwnedTasks")
                && contains_text(name, b"10bind_inner")
        }
    }
}

/// Whether `text` contains `part`.
fn contains_text(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}
