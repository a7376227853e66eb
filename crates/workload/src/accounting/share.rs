//! Share of the relevant processes' processor time that was charged to requests.

use out_of_core::NameId;
use rustc_hash::FxHashMap;

use crate::accounting::threads::{ThreadAccount, ThreadAccounts};
use crate::joined_request::JoinedEvent;

/// Processor time of the relevant processes that was charged to requests. A process is relevant if
/// it ever worked for a request (Magpie, section 6.1.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChargedShare {
    /// Processor time of requests, in nanoseconds.
    pub requests_ns: i64,
    /// Processor time of all threads of relevant processes, in nanoseconds.
    pub relevant_ns: i64,
    /// Processor time of all threads, in nanoseconds.
    pub all_ns: i64,
}

impl ChargedShare {
    /// The share, from 0 to 1; `None` if no event shows which thread ran.
    pub fn charged_share(&self) -> Option<f64> {
        (self.relevant_ns > 0).then(|| self.requests_ns as f64 / self.relevant_ns as f64)
    }
}

/// Sums of used time by process. A thread of an unknown process counts as a process of its own.
#[derive(Debug, Default)]
pub(crate) struct UsageSums {
    requests_ns: i64,
    /// The part of `requests_ns` that interrupts used.
    interrupts_ns: i64,
    /// For each process, by host and id: the processor time in nanoseconds of its forgotten
    /// threads, and whether the process is relevant.
    processes: FxHashMap<(NameId, i32), (i64, bool)>,
}

impl UsageSums {
    /// Adds an event that was charged to a request. The time of an interrupt belongs to no thread.
    pub(crate) fn charge_event(&mut self, event: &JoinedEvent, is_interrupt: bool) {
        let used = event.demands.processor_ns;
        self.requests_ns += used;
        if is_interrupt {
            self.interrupts_ns += used;
        } else if event.thread != 0 {
            let process = (event.host, process_or_thread_id(event.process, event.thread));
            self.processes.entry(process).or_default().1 = true;
        }
    }

    /// Adds a thread that is about to be forgotten.
    pub(crate) fn add_forgotten_thread(&mut self, thread: &ThreadAccount) {
        let process = process_or_thread_id(thread.process, thread.id);
        self.processes.entry((thread.host, process)).or_default().0 += thread.total_ns;
    }

    /// The sums, including the known threads.
    pub(crate) fn charged_share(&self, threads: &ThreadAccounts) -> ChargedShare {
        let mut charged = ChargedShare {
            requests_ns: self.requests_ns,
            relevant_ns: self.interrupts_ns,
            all_ns: self.interrupts_ns,
        };
        for thread in threads.iter() {
            charged.all_ns += thread.total_ns;
            let process = (thread.host, process_or_thread_id(thread.process, thread.id));
            if self.processes.get(&process).is_some_and(|(_, relevant)| *relevant) {
                charged.relevant_ns += thread.total_ns;
            }
        }
        for (total_ns, relevant) in self.processes.values() {
            charged.all_ns += total_ns;
            if *relevant {
                charged.relevant_ns += total_ns;
            }
        }
        charged
    }
}

fn process_or_thread_id(process: i32, thread: i32) -> i32 {
    if process != 0 { process } else { thread }
}
