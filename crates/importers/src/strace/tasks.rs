//! Threads and processes: who begins, becomes another program and ends, and calls that are in two
//! lines.

use rustc_hash::FxHashMap;
use socket_log::encode::{self, ProcessEvent};

use super::call::Call;
use super::calls;
use super::line::{Line, What};
use super::lines::Next;
use super::log::{End, Program};
use super::messages::Payload;
use super::result::{self, Outcome};
use super::value::Cursor;
use super::world::{ProcessId, Who, World};
use crate::tuning::{FINE_NS, MAX_HELD_LINES};

/// A thread.
#[derive(Debug)]
struct Task {
    process: ProcessId,
    /// The call that has begun: its text so far, the name's length in it, and when.
    begun: Option<Begun>,
}

#[derive(Debug)]
struct Begun {
    text: Vec<u8>,
    name: usize,
    time: i64,
}

/// A line of a thread whose maker is not known yet.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) text: Vec<u8>,
    pub(super) file: usize,
    pub(super) number: u64,
    /// When it was written, in the order of its file.
    pub(super) time: i64,
    pub(super) next: i64,
}

impl Next for Held {
    fn next(&self) -> i64 {
        self.next
    }
}

/// All threads.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    all: FxHashMap<u32, Task>,
    /// Threads in the middle of a call that makes another.
    making: Vec<u32>,
    held: FxHashMap<u32, Vec<Held>>,
    held_lines: usize,
    /// Lines of threads whose maker has become known.
    pub(super) released: Vec<Held>,
    payload: Payload,
}

fn makes_a_thread(name: &[u8]) -> bool {
    matches!(name, b"clone" | b"clone3" | b"clone2" | b"fork" | b"vfork")
}

fn runs_a_program(name: &[u8]) -> bool {
    matches!(name, b"execve" | b"execveat")
}

impl Tasks {
    /// The thread that lines without a number are of, when the file's first has ended: the one that
    /// is left.
    pub(super) fn only(&self, first: u32) -> u32 {
        match self.all.keys().next() {
            Some(only) if self.all.len() == 1 && !self.all.contains_key(&first) => *only,
            _ => first,
        }
    }

    /// Whether a line must wait until it is known whose thread it is; it is kept then.
    pub(super) fn must_wait(
        &mut self,
        world: &mut World,
        thread: u32,
        line: &Line,
        held: impl FnOnce() -> Held,
    ) -> bool {
        if self.all.contains_key(&thread) {
            return false;
        }
        if let &[maker] = self.making.as_slice() {
            // Only one can be its maker.
            let child = self.all.get(&maker).and_then(|task| {
                task.begun.as_ref().map(|begun| (task.process, begun.text.clone()))
            });
            if let Some((process, text)) = child {
                self.child(world, process, thread, &text, line.time);
                return false;
            }
        }
        if self.making.is_empty() || self.held_lines >= MAX_HELD_LINES {
            return false;
        }
        self.held_lines += 1;
        self.held.entry(thread).or_default().push(held());
        true
    }

    /// Lines that nobody will tell the maker of any more.
    pub(super) fn release_all(&mut self) {
        for (_, mut lines) in self.held.drain() {
            self.released.append(&mut lines);
        }
        self.held_lines = 0;
        self.making.clear();
    }

    /// Takes a line of `thread` into account. `None` where it is not understood.
    pub(super) fn line(
        &mut self,
        world: &mut World,
        thread: u32,
        line: &Line,
        next: &dyn Next,
    ) -> Option<()> {
        if line.what == What::Remark {
            return Some(());
        }
        self.meet(world, thread, line);
        let process = self.all.get(&thread)?.process;
        let who = Who { thread, process, time: line.time };
        match line.what {
            What::Call { name, rest } => {
                let (rest, duration) = result::duration(rest);
                // By a coarse clock it ended at once: before the next line was written.
                let end = duration.map(|duration| match line.unit > FINE_NS {
                    true => line.time,
                    false => line.time.saturating_add(duration),
                });
                self.call(world, Call { name, rest, who, end, next })
            }
            What::Begun { name: b"close", rest } => {
                // At its call: the number may be given out again before it returns.
                calls::call(
                    world,
                    &mut self.payload,
                    Call { name: b"close", rest, who, end: None, next },
                )
            }
            What::Begun { name, rest } => {
                self.begin(world, who, name, rest);
                Some(())
            }
            What::Resumed { rest } => {
                // One whose beginning was before the trace's is passed over.
                let Some(mut begun) = self.all.get_mut(&thread).and_then(|task| task.begun.take())
                else {
                    return Some(());
                };
                self.making.retain(|maker| *maker != thread);
                let (rest, duration) = result::duration(rest);
                begun.text.extend_from_slice(rest);
                // The line was written when it returned; what it took is counted from a moment
                // after it began.
                let end = duration
                    .filter(|_| line.unit <= FINE_NS)
                    .map_or(0, |duration| begun.time.saturating_add(duration))
                    .max(line.time);
                let (name, rest) = begun.text.split_at_checked(begun.name)?;
                let who = Who { time: begun.time, ..who };
                self.call(world, Call { name, rest, who, end: Some(end), next })
            }
            What::Exited(status) => {
                self.ended(world, who, End::Exited(status));
                Some(())
            }
            What::Killed(status) => {
                self.ended(world, who, End::Killed(status));
                Some(())
            }
            What::Superseded(by) => {
                // All threads but that one are gone, and it goes on under this number.
                let begun = self.all.remove(&by).and_then(|task| task.begun);
                if let Some(task) = self.all.get_mut(&thread) {
                    task.begun = begun;
                }
                if let Some(process) = world.processes.get_mut(&process) {
                    process.threads = 1;
                }
                Some(())
            }
            What::Remark => Some(()),
        }
    }

    /// Makes a process of a thread that is not known.
    fn meet(&mut self, world: &mut World, thread: u32, line: &Line) {
        if self.all.contains_key(&thread) {
            return;
        }
        let name = match line.command {
            b"" => format!("pid {thread}"),
            name => String::from_utf8_lossy(name).into_owned(),
        };
        // What is about to become another program was none of the traced ones before.
        let counts = !matches!(line.what, What::Call { name, .. } | What::Begun { name, .. } if runs_a_program(name));
        world.imported.found_threads += u64::from(counts && !self.all.is_empty());
        let table = world.tables.make();
        let program = Program { executable: name.clone(), arguments: vec![name] };
        let process = world.add(thread, 0, table, program, line.time, counts);
        self.all.insert(thread, Task { process, begun: None });
    }

    fn begin(&mut self, world: &mut World, who: Who, name: &[u8], rest: &[u8]) {
        if matches!(name, b"exit_group" | b"exit") {
            exits(world, who, name);
            return;
        }
        let begun = Begun { text: [name, rest].concat(), name: name.len(), time: who.time };
        if let Some(task) = self.all.get_mut(&who.thread) {
            task.begun = Some(begun);
        }
        if makes_a_thread(name) && !self.making.contains(&who.thread) {
            self.making.push(who.thread);
        }
    }

    fn call(&mut self, world: &mut World, call: Call) -> Option<()> {
        match call.name {
            b"exit_group" | b"exit" => {
                exits(world, call.who, call.name);
                Some(())
            }
            name if makes_a_thread(name) => self.made(world, call),
            name if runs_a_program(name) => run(world, call),
            b"unshare" => {
                if call.arguments().flags().has("CLONE_FILES") {
                    world.unshare(call.who.process);
                }
                Some(())
            }
            _ => {
                let done = calls::call(world, &mut self.payload, call);
                world.relieve(call.who.process);
                done
            }
        }
    }

    /// A call that makes a thread or a process has returned.
    fn made(&mut self, world: &mut World, call: Call) -> Option<()> {
        let Outcome::Returned(child) = result::outcome(&mut call.arguments())? else {
            return Some(());
        };
        let child = u32::try_from(child).ok().filter(|child| *child > 0)?;
        if !self.all.contains_key(&child) {
            self.child(world, call.who.process, child, call.rest, call.who.time);
        }
        if let Some(mut lines) = self.held.remove(&child) {
            self.held_lines -= lines.len();
            self.released.append(&mut lines);
        }
        if self.making.is_empty() {
            self.release_all();
        }
        let made = Cursor::new(call.rest).all_flags();
        let is_vfork = call.name == b"vfork" || made.has("CLONE_VFORK");
        if !made.has("CLONE_THREAD") {
            let event = if is_vfork { ProcessEvent::Spawn } else { ProcessEvent::Fork };
            let who = call.returned();
            if world.processes.get(&who.process).is_some_and(|process| process.counts) {
                world.record(
                    who,
                    &encode::process(who.at().time.max(0) as u64, event, child as i32),
                );
            }
        }
        Some(())
    }

    /// `child` is a thread that `parent` has made by the call of this text.
    fn child(&mut self, world: &mut World, parent: ProcessId, child: u32, text: &[u8], time: i64) {
        let flags = Cursor::new(text).all_flags();
        if flags.has("CLONE_THREAD") {
            if let Some(process) = world.processes.get_mut(&parent) {
                process.threads += 1;
            }
            self.all.insert(child, Task { process: parent, begun: None });
            return;
        }
        let Some(of) = world.processes.get(&parent) else { return };
        let (pid, table, program) = (of.pid, of.table, of.program.clone());
        let table = if flags.has("CLONE_FILES") {
            world.tables.share(table)
        } else {
            world.tables.copy(table, &mut world.sockets)
        };
        let counts =
            !flags.has("CLONE_VM") && !text.starts_with(b"vfork") && !flags.has("CLONE_VFORK");
        let process = world.add(child, pid, table, program, time, counts);
        self.all.insert(child, Task { process, begun: None });
    }

    /// A thread has ended.
    fn ended(&mut self, world: &mut World, who: Who, end: End) {
        self.all.remove(&who.thread);
        self.making.retain(|maker| *maker != who.thread);
        let Some(process) = world.processes.get_mut(&who.process) else { return };
        process.threads = process.threads.saturating_sub(1);
        if process.threads > 0 {
            if let Some(log) = &mut process.log {
                log.end_thread(who.thread);
            }
            return;
        }
        let time = process.exits.unwrap_or(who.time);
        world.end(who.later(time), end);
    }
}

/// A process, or a thread of it, is about to end.
fn exits(world: &mut World, who: Who, name: &[u8]) {
    if let Some(process) = world.processes.get_mut(&who.process)
        && (name == b"exit_group" || process.threads == 1)
    {
        process.exits = Some(who.time);
    }
}

/// `execve("/bin/x", ["x", "-v"], ...) = 0`: the process goes on as another program, with a log of
/// its own.
fn run(world: &mut World, call: Call) -> Option<()> {
    if result::outcome(&mut call.arguments())? != Outcome::Returned(0) {
        return Some(());
    }
    let first = usize::from(call.name == b"execveat");
    let mut executable = Vec::new();
    call.arguments().argument(first)?.text(&mut executable)?;
    let mut arguments = Vec::new();
    // Where they cannot be read strace shows a pointer.
    let _ = call.arguments().argument(first + 1)?.fields(|_, mut value| {
        let mut argument = Vec::new();
        if value.text(&mut argument).is_some() {
            arguments.push(String::from_utf8_lossy(&argument).into_owned());
        }
    });
    let executable = String::from_utf8_lossy(&executable).into_owned();
    world.finish_log(call.who, End::Replaced);
    world.unshare(call.who.process);
    world.close_on_exec(call.who.process);
    let process = world.processes.get_mut(&call.who.process)?;
    process.program = Program { executable, arguments };
    process.started = call.returned().at().time;
    (process.counts, process.threads) = (true, 1);
    Some(())
}
