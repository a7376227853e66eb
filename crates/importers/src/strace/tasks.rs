//! Threads and processes: their beginnings, execs and ends, and calls that are on two lines.

use rustc_hash::FxHashMap;
use socket_log::encode::{self, ProcessEvent};

use super::arguments::ArgumentCursor;
use super::call::StraceCall;
use super::calls;
use super::line::{LineContent, StraceLine};
use super::lines::NextTime;
use super::log::{ProcessLogEnd, ProgramIdentity};
use super::messages::CallPayload;
use super::result::{self, CallResult};
use super::traced_system::{ProcessId, StraceCaller, TracedSystem};
use crate::tuning::{FINE_NS, MAX_HELD_LINES};

/// A thread of a traced process.
#[derive(Debug)]
struct TracedTask {
    process: ProcessId,
    /// Call that has begun and has not returned.
    unfinished: Option<UnfinishedCall>,
}

#[derive(Debug)]
struct UnfinishedCall {
    /// Text of the call so far.
    text: Vec<u8>,
    /// Length of the call's name in the text, in bytes.
    name: usize,
    /// Time of the call, in nanoseconds since the Unix epoch.
    time: i64,
}

/// Line of a thread with an unknown creator.
#[derive(Debug)]
pub(super) struct DeferredLine {
    pub(super) text: Vec<u8>,
    pub(super) file: usize,
    pub(super) number: u64,
    /// Time of the line in nanoseconds since the Unix epoch, in the order of its file.
    pub(super) time: i64,
    /// Time of the next line in its file; 0 if there is none.
    pub(super) next: i64,
}

impl NextTime for DeferredLine {
    fn next_time(&self) -> i64 {
        self.next
    }
}

/// All traced threads.
#[derive(Debug, Default)]
pub(super) struct TaskTable {
    all: FxHashMap<u32, TracedTask>,
    /// Threads in a call that creates another thread.
    creators: Vec<u32>,
    /// Lines of each thread with an unknown creator.
    deferred: FxHashMap<u32, Vec<DeferredLine>>,
    /// Number of all deferred lines.
    deferred_count: usize,
    /// Lines of threads with a creator that has become known.
    pub(super) released: Vec<DeferredLine>,
    payload: CallPayload,
}

fn creates_thread(name: &[u8]) -> bool {
    matches!(name, b"clone" | b"clone3" | b"clone2" | b"fork" | b"vfork")
}

fn executes_program(name: &[u8]) -> bool {
    matches!(name, b"execve" | b"execveat")
}

impl TaskTable {
    /// Thread of lines without a number after the file's first thread has ended: the only thread
    /// left.
    pub(super) fn only_thread(&self, first: u32) -> u32 {
        match self.all.keys().next() {
            Some(only) if self.all.len() == 1 && !self.all.contains_key(&first) => *only,
            _ => first,
        }
    }

    /// Stores a line that has to wait until the creator of its thread is known; returns whether it
    /// was stored.
    pub(super) fn defer_line(
        &mut self,
        world: &mut TracedSystem,
        thread: u32,
        line: &StraceLine,
        deferred: impl FnOnce() -> DeferredLine,
    ) -> bool {
        if self.all.contains_key(&thread) {
            return false;
        }
        if let &[creator] = self.creators.as_slice() {
            // Only one thread can be the creator of a new thread.
            let child = self.all.get(&creator).and_then(|task| {
                task.unfinished.as_ref().map(|begun| (task.process, begun.text.clone()))
            });
            if let Some((process, text)) = child {
                self.add_child(world, process, thread, &text, line.time);
                return false;
            }
        }
        if self.creators.is_empty() || self.deferred_count >= MAX_HELD_LINES {
            return false;
        }
        self.deferred_count += 1;
        self.deferred.entry(thread).or_default().push(deferred());
        true
    }

    /// Releases lines of threads with a creator that stays unknown.
    pub(super) fn release_deferred(&mut self) {
        for (_, mut lines) in self.deferred.drain() {
            self.released.append(&mut lines);
        }
        self.deferred_count = 0;
        self.creators.clear();
    }

    /// Processes a line of `thread`. `None` if it is not understood.
    pub(super) fn add_line(
        &mut self,
        world: &mut TracedSystem,
        thread: u32,
        line: &StraceLine,
        next: &dyn NextTime,
    ) -> Option<()> {
        if line.what == LineContent::Remark {
            return Some(());
        }
        self.add_unknown_thread(world, thread, line);
        let process = self.all.get(&thread)?.process;
        let caller = StraceCaller { thread, process, time: line.time };
        match line.what {
            LineContent::Call { name, rest } => {
                let (rest, duration) = result::split_duration(rest);
                // On a coarse clock, the call counts as ended immediately: it ended before the next
                // line was written.
                let end = duration.map(|duration| match line.unit > FINE_NS {
                    true => line.time,
                    false => line.time.saturating_add(duration),
                });
                self.finish_call(world, StraceCall { name, rest, caller, end, next })
            }
            LineContent::Unfinished { name: b"close", rest } => {
                // Applied at the time of the call: the number may be reused before the call
                // returns.
                calls::handle_call(
                    world,
                    &mut self.payload,
                    StraceCall { name: b"close", rest, caller, end: None, next },
                )
            }
            LineContent::Unfinished { name, rest } => {
                self.begin_call(world, caller, name, rest);
                Some(())
            }
            LineContent::Resumed { rest } => {
                // A call that began before the trace is skipped.
                let Some(mut begun) =
                    self.all.get_mut(&thread).and_then(|task| task.unfinished.take())
                else {
                    return Some(());
                };
                self.creators.retain(|creator| *creator != thread);
                let (rest, duration) = result::split_duration(rest);
                begun.text.extend_from_slice(rest);
                // The line was written when the call returned; its duration counts from a moment
                // after it began.
                let end = duration
                    .filter(|_| line.unit <= FINE_NS)
                    .map_or(0, |duration| begun.time.saturating_add(duration))
                    .max(line.time);
                let (name, rest) = begun.text.split_at_checked(begun.name)?;
                let caller = StraceCaller { time: begun.time, ..caller };
                self.finish_call(world, StraceCall { name, rest, caller, end: Some(end), next })
            }
            LineContent::Exited(status) => {
                self.end_thread(world, caller, ProcessLogEnd::Exited(status));
                Some(())
            }
            LineContent::Killed(status) => {
                self.end_thread(world, caller, ProcessLogEnd::Killed(status));
                Some(())
            }
            LineContent::Superseded(by) => {
                // All other threads are gone, and the one that executed a program continues under
                // this number.
                let begun = self.all.remove(&by).and_then(|task| task.unfinished);
                if let Some(task) = self.all.get_mut(&thread) {
                    task.unfinished = begun;
                }
                if let Some(process) = world.processes.get_mut(&process) {
                    process.threads = 1;
                }
                Some(())
            }
            LineContent::Remark => Some(()),
        }
    }

    /// Adds a process for an unknown thread.
    fn add_unknown_thread(&mut self, world: &mut TracedSystem, thread: u32, line: &StraceLine) {
        if self.all.contains_key(&thread) {
            return;
        }
        let name = match line.command {
            b"" => format!("pid {thread}"),
            name => String::from_utf8_lossy(name).into_owned(),
        };
        // A thread that is about to execute another program was not one of the traced programs
        // before.
        let counts = !matches!(line.what, LineContent::Call { name, .. } | LineContent::Unfinished { name, .. } if executes_program(name));
        world.imported.found_threads += u64::from(counts && !self.all.is_empty());
        let table = world.tables.add_table();
        let program = ProgramIdentity { executable: name.clone(), arguments: vec![name] };
        let process = world.add_process(thread, 0, table, program, line.time, counts);
        self.all.insert(thread, TracedTask { process, unfinished: None });
    }

    fn begin_call(
        &mut self,
        world: &mut TracedSystem,
        caller: StraceCaller,
        name: &[u8],
        rest: &[u8],
    ) {
        if matches!(name, b"exit_group" | b"exit") {
            handle_exit(world, caller, name);
            return;
        }
        let begun =
            UnfinishedCall { text: [name, rest].concat(), name: name.len(), time: caller.time };
        if let Some(task) = self.all.get_mut(&caller.thread) {
            task.unfinished = Some(begun);
        }
        if creates_thread(name) && !self.creators.contains(&caller.thread) {
            self.creators.push(caller.thread);
        }
    }

    fn finish_call(&mut self, world: &mut TracedSystem, call: StraceCall) -> Option<()> {
        match call.name {
            b"exit_group" | b"exit" => {
                handle_exit(world, call.caller, call.name);
                Some(())
            }
            name if creates_thread(name) => self.handle_clone(world, call),
            name if executes_program(name) => handle_exec(world, call),
            b"unshare" => {
                if call.arguments().read_flags().has_flag("CLONE_FILES") {
                    world.unshare_table(call.caller.process);
                }
                Some(())
            }
            _ => {
                let done = calls::handle_call(world, &mut self.payload, call);
                world.flush_log(call.caller.process);
                done
            }
        }
    }

    /// Handles the return of a call that creates a thread or a process.
    fn handle_clone(&mut self, world: &mut TracedSystem, call: StraceCall) -> Option<()> {
        let CallResult::Returned(child) = result::parse_result(&mut call.arguments())? else {
            return Some(());
        };
        let child = u32::try_from(child).ok().filter(|child| *child > 0)?;
        if !self.all.contains_key(&child) {
            self.add_child(world, call.caller.process, child, call.rest, call.caller.time);
        }
        if let Some(mut lines) = self.deferred.remove(&child) {
            self.deferred_count -= lines.len();
            self.released.append(&mut lines);
        }
        if self.creators.is_empty() {
            self.release_deferred();
        }
        let made = ArgumentCursor::new(call.rest).read_all_flags();
        let is_vfork = call.name == b"vfork" || made.has_flag("CLONE_VFORK");
        if !made.has_flag("CLONE_THREAD") {
            let event = if is_vfork { ProcessEvent::Spawn } else { ProcessEvent::Fork };
            let caller = call.caller_at_return();
            if world.processes.get(&caller.process).is_some_and(|process| process.counts) {
                world.write_record(
                    caller,
                    &encode::process_record(
                        caller.to_stamp().time.max(0) as u64,
                        event,
                        child as i32,
                    ),
                );
            }
        }
        Some(())
    }

    /// Adds `child`, which `parent` has created by the call with the text `text`.
    fn add_child(
        &mut self,
        world: &mut TracedSystem,
        parent: ProcessId,
        child: u32,
        text: &[u8],
        time: i64,
    ) {
        let flags = ArgumentCursor::new(text).read_all_flags();
        if flags.has_flag("CLONE_THREAD") {
            if let Some(process) = world.processes.get_mut(&parent) {
                process.threads += 1;
            }
            self.all.insert(child, TracedTask { process: parent, unfinished: None });
            return;
        }
        let Some(of) = world.processes.get(&parent) else { return };
        let (pid, table, program) = (of.pid, of.table, of.program.clone());
        let table = if flags.has_flag("CLONE_FILES") {
            world.tables.share_table(table)
        } else {
            world.tables.copy_table(table, &mut world.sockets)
        };
        let counts = !flags.has_flag("CLONE_VM")
            && !text.starts_with(b"vfork")
            && !flags.has_flag("CLONE_VFORK");
        let process = world.add_process(child, pid, table, program, time, counts);
        self.all.insert(child, TracedTask { process, unfinished: None });
    }

    /// Handles the end of a thread.
    fn end_thread(&mut self, world: &mut TracedSystem, caller: StraceCaller, end: ProcessLogEnd) {
        self.all.remove(&caller.thread);
        self.creators.retain(|creator| *creator != caller.thread);
        let Some(process) = world.processes.get_mut(&caller.process) else { return };
        process.threads = process.threads.saturating_sub(1);
        if process.threads > 0 {
            if let Some(log) = &mut process.log {
                log.end_thread(caller.thread);
            }
            return;
        }
        let time = process.exits.unwrap_or(caller.time);
        world.end_process(caller.at_time(time), end);
    }
}

/// Handles a call that is about to end a process or a thread.
fn handle_exit(world: &mut TracedSystem, caller: StraceCaller, name: &[u8]) {
    if let Some(process) = world.processes.get_mut(&caller.process)
        && (name == b"exit_group" || process.threads == 1)
    {
        process.exits = Some(caller.time);
    }
}

/// `execve("/bin/x", ["x", "-v"], ...) = 0`: the process continues as another program, with a log
/// of its own.
fn handle_exec(world: &mut TracedSystem, call: StraceCall) -> Option<()> {
    if result::parse_result(&mut call.arguments())? != CallResult::Returned(0) {
        return Some(());
    }
    let first = usize::from(call.name == b"execveat");
    let mut executable = Vec::new();
    call.arguments().nth_argument(first)?.read_text(&mut executable)?;
    let mut arguments = Vec::new();
    // strace shows a pointer if it cannot read them.
    let _ = call.arguments().nth_argument(first + 1)?.for_each_field(|_, mut value| {
        let mut argument = Vec::new();
        if value.read_text(&mut argument).is_some() {
            arguments.push(String::from_utf8_lossy(&argument).into_owned());
        }
    });
    let executable = String::from_utf8_lossy(&executable).into_owned();
    world.finish_log(call.caller, ProcessLogEnd::Replaced);
    world.unshare_table(call.caller.process);
    world.close_on_exec(call.caller.process);
    let process = world.processes.get_mut(&call.caller.process)?;
    process.program = ProgramIdentity { executable, arguments };
    process.started = call.caller_at_return().to_stamp().time;
    (process.counts, process.threads) = (true, 1);
    Some(())
}
