//! Functions of Tokio by the names that Rust gives to them, of both kinds of mangling.

use crate::tuning::{MAX_TASK_KINDS, MAX_TASK_STARTERS, MAX_TASK_WAKES};

/// Addresses of functions of one kind, up to `N`.
pub(super) struct FunctionAddresses<const N: usize> {
    addresses: [usize; N],
    count: usize,
}

impl<const N: usize> FunctionAddresses<N> {
    const NONE: FunctionAddresses<N> = FunctionAddresses { addresses: [0; N], count: 0 };

    /// Adds one. Functions that are alike may have been made one, with several names.
    fn add_address(&mut self, address: usize) {
        if !self.addresses().contains(&address)
            && let Some(place) = self.addresses.get_mut(self.count)
        {
            *place = address;
            self.count += 1;
        }
    }

    /// All of them.
    pub(super) fn addresses(&self) -> &[usize] {
        self.addresses.get(..self.count).unwrap_or(&[])
    }
}

/// Functions that were found.
pub(super) struct TokioFunctions {
    /// Functions that poll a task, one for each kind of task.
    pub(super) polls: FunctionAddresses<MAX_TASK_KINDS>,
    /// Functions that let a task go on: what wakes it may keep the waker, or not.
    pub(super) wakes: FunctionAddresses<MAX_TASK_WAKES>,
    /// Functions that take up a task which is started, one for each kind of scheduler.
    pub(super) starters: FunctionAddresses<MAX_TASK_STARTERS>,
}

impl TokioFunctions {
    /// None.
    pub(super) fn new() -> TokioFunctions {
        TokioFunctions {
            polls: FunctionAddresses::NONE,
            wakes: FunctionAddresses::NONE,
            starters: FunctionAddresses::NONE,
        }
    }

    /// Adds a function if it is one of those that are changed. `name` may have other names behind
    /// it, each ended by a zero byte.
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

/// Whether the function polls a task: `tokio::runtime::task::raw::poll`, not what lies within it.
fn is_poll(name: &[u8], is_legacy: bool) -> bool {
    match is_legacy {
        true => name.starts_with(b"_ZN5tokio7runtime4task3raw4poll17h"),
        false => {
            name.starts_with(b"_RINv") && contains_text(name, b"_5tokio7runtime4task3raw4poll")
        }
    }
}

/// Whether the function lets a task go on: `wake_by_val` or `wake_by_ref` of its waker.
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

/// Whether the function takes up a task that is started, its second argument: `bind_inner` of the
/// lists of tasks that a scheduler owns.
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

/// Whether `text` has `part` within it.
fn contains_text(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}
