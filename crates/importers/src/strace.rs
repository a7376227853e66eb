//! Importer of strace's output: for programs that cannot load the library, the system calls become
//! the same logs that the library would have written.
//!
//! A line is read (`lines`), parsed (`line`, `result`) and assigned to its thread and process
//! (`tasks`). The effect of the call (`calls`, `lifecycle`, `accept`, `transfers`, `failed_calls`;
//! with `arguments`, `descriptor`, `decoration`, `address`, `messages`, `segment_size` and
//! `segments` for the arguments) changes the state of sockets and descriptors (`traced_system`,
//! `sockets`, `tables`) and is written to the process's log (`log`). Memory holds the state at one
//! moment, whatever the size of the files.

mod accept;
mod address;
mod arguments;
mod call;
mod calls;
mod connection_names;
mod decoration;
mod descriptor;
mod failed_calls;
mod lifecycle;
mod line;
mod lines;
mod log;
mod messages;
mod outcome;
mod result;
mod segment_size;
mod segments;
mod sockets;
mod spec;
mod tables;
mod tasks;
mod traced_system;
mod transfers;

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use message_trace::{DataDir, Progress};

use crate::tuning::{COARSE_STEP_NS, FINE_NS, HEAD_BYTES};

pub use outcome::{how_to_run, strace_options};
pub(crate) use spec::STRACE;

use crate::error::Error;
use crate::importer::Importer;
use crate::summary::ImportSummary;

use self::connection_names::{MatchedNames, OwnNames};
use self::line::LineContent;
use self::lines::{MergedLines, NextTime};
use self::log::ProcessLogEnd;
use self::outcome::StraceOutcome;
use self::tasks::{DeferredLine, TaskTable};
use self::traced_system::{LogDestination, StraceCaller, TracedSystem};

/// Importer of strace's output. Files of `strace -ff` belong together, and files of several straces
/// that ran on one host may be given together. All files are checked before anything is written: a
/// file that is not strace's, or without absolute times, is an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StraceImporter {
    /// Host on which the programs ran.
    pub host: String,
}

impl Importer for StraceImporter {
    fn input_nouns(&self) -> [&'static str; 2] {
        ["line", "lines"]
    }

    fn output_nouns(&self) -> [&'static str; 2] {
        ["message at one end", "messages at one end"]
    }

    fn import_files(
        &self,
        files: &[PathBuf],
        data: &DataDir,
        progress: &dyn Progress,
    ) -> Result<ImportSummary, Error> {
        // Lines of equal times come in the order of their files, and threads without an id have the
        // number of their file: neither may depend on the order in which the user names the files.
        let files = &sorted_paths(files)[..];
        let heads: Vec<StraceHead> =
            files.iter().map(|path| read_head(path)).collect::<Result<_, _>>()?;
        if let (true, Some(first)) = (heads.iter().all(|head| head.time.is_none()), files.first()) {
            return Err(outcome::empty_file_error(first));
        }
        let bytes =
            files.iter().map(|path| path.metadata().map_or(0, |metadata| metadata.len())).sum();
        progress.begin_step("reading strace's output", bytes);
        let directory = data.hosts_dir().join(&self.host);
        let salt = socket_salt(files, &heads);
        let place =
            LogDestination { host: self.host.clone(), directory: Some(directory.clone()), salt };
        let open = || -> Result<MergedLines, Error> {
            let mut lines =
                MergedLines::open(files).map_err(|(path, source)| Error::from_io(&path, source))?;
            for (file, head) in heads.iter().enumerate() {
                lines.set_thread(file, head.thread.unwrap_or(file as u32));
            }
            Ok(lines)
        };
        let names = OwnNames::default();
        let (mut imported, found) = import_lines(files, open()?, place.clone(), names, progress)?;
        if !found.names.is_empty() {
            progress
                .begin_step("reading strace's output again, with the names of connections", bytes);
            let replaced = imported.replaced;
            (imported, _) = import_lines(files, open()?, place, found.names, progress)?;
            imported.replaced = replaced;
        }
        imported.unnamed = found.without;
        if imported.sockets == 0 {
            return Err(outcome::no_sockets_error(files, imported.into_summary()));
        }
        let files = files.len() as u64;
        Ok(ImportSummary { files, bytes, written: vec![directory], ..imported.into_summary() })
    }
}

fn sorted_paths(files: &[PathBuf]) -> Vec<PathBuf> {
    let mut sorted = files.to_vec();
    sorted.sort();
    sorted
}

/// Runs `import strace` on a file with these bytes, without writing anything, for fuzzing: returns
/// the number of lines, and of lines that were not understood.
fn import_bytes(bytes: &[u8]) -> Result<(u64, u64), Error> {
    let place = LogDestination { host: "host".into(), directory: None, salt: 0 };
    let files = [PathBuf::from("input")];
    let read = |names| {
        import_lines(&files, MergedLines::from_bytes(bytes.to_vec()), place.clone(), names, &())
    };
    let (imported, found) = read(OwnNames::default())?;
    read(found.names)?;
    Ok((imported.lines, imported.skipped.total()))
}

/// Imports the lines of files that have been checked.
fn import_lines(
    files: &[PathBuf],
    mut lines: MergedLines,
    place: LogDestination,
    names: OwnNames,
    progress: &dyn Progress,
) -> Result<(StraceOutcome, MatchedNames), Error> {
    let read = |(path, source): (PathBuf, _)| Error::from_io(&path, source);
    let mut import = StraceImport {
        world: TracedSystem::new(place, names),
        tasks: TaskTable::default(),
        latest: 0,
        clocks: vec![0; files.len()],
    };
    let mut waiting = 0;
    let ended = loop {
        let placed = match lines.next_line() {
            Ok(Some(placed)) => placed,
            Ok(None) => break Ok(()),
            Err(error) => break Err(read(error)),
        };
        let file = files.get(placed.file).map_or(Path::new(""), PathBuf::as_path);
        import.add_line(placed.text, file, &placed);
        import.replay_deferred(files);
        if import.world.failed.is_some() {
            break Ok(());
        }
        waiting += 1;
        if waiting == 10_000 {
            progress.advance_step(lines.take_bytes_read());
            waiting = 0;
        }
    };
    import.tasks.release_deferred();
    import.replay_deferred(files);
    progress.advance_step(lines.take_bytes_read());
    import.finish(ended)
}

/// Facts from the beginning of a file.
struct StraceHead {
    /// Time of the file's first call, in nanoseconds since the Unix epoch.
    time: Option<i64>,
    /// Thread of lines that name none.
    thread: Option<u32>,
}

/// Checks whether a file is strace's.
fn read_head(path: &Path) -> Result<StraceHead, Error> {
    let failed = |error| Error::from_io(path, error);
    let mut head = StraceHead { time: None, thread: None };
    let mut reader = BufReader::new(lines::open_file(path).map_err(failed)?.take(HEAD_BYTES));
    let (mut text, mut number, mut foreign) = (Vec::new(), 0, None);
    loop {
        text.clear();
        if reader.read_until(b'\n', &mut text).map_err(failed)? == 0 {
            break;
        }
        number += 1;
        let line = text.strip_suffix(b"\n").unwrap_or(&text);
        match line::parse_line(line) {
            Ok(line) if line.what == LineContent::Remark => {}
            Ok(line) => {
                head.time = Some(line.time);
                if line.thread.is_none() {
                    head.thread = first_thread(path).map_err(failed)?;
                }
                return Ok(head);
            }
            Err(problem) => match outcome::time_error(path, number, problem) {
                Some(error) => return Err(error),
                None => drop(foreign.get_or_insert((number, outcome::shorten_line(line)))),
            },
        }
    }
    match foreign {
        Some((number, text)) => Err(outcome::not_strace_error(path, number, &text)),
        None => Ok(head),
    }
}

/// Thread of the first lines, if strace wrote to the terminal: strace names threads only once there
/// are several, and then the first thread is the one that no other thread has created.
fn first_thread(path: &Path) -> std::io::Result<Option<u32>> {
    if lines::thread_of(path).is_some() {
        return Ok(None);
    }
    let mut reader = BufReader::with_capacity(1 << 18, lines::open_file(path)?);
    let (mut text, mut children) = (Vec::new(), Vec::new());
    loop {
        text.clear();
        if (&mut reader).take(1 << 20).read_until(b'\n', &mut text)? == 0 {
            return Ok(None);
        }
        if let Some(child) = line::attached_thread(&text) {
            children.push(child);
            continue;
        }
        let line = text.strip_suffix(b"\n").unwrap_or(&text);
        if line.starts_with(b"[pid")
            && let Ok(line::StraceLine { thread: Some(thread), .. }) = line::parse_line(line)
            && !children.contains(&thread)
        {
            return Ok(Some(thread));
        }
    }
}

/// Salt that distinguishes this import's socket numbers from other imports, and that is equal for
/// equal imports.
fn socket_salt(files: &[PathBuf], heads: &[StraceHead]) -> u64 {
    use std::hash::Hasher;
    let mut hasher = rustc_hash::FxHasher::default();
    for (path, head) in files.iter().zip(heads) {
        hasher.write(path.file_name().unwrap_or_default().as_encoded_bytes());
        hasher.write_i64(head.time.unwrap_or(0));
    }
    hasher.finish()
}

/// Import in progress.
struct StraceImport {
    world: TracedSystem,
    tasks: TaskTable,
    /// Latest time so far, in nanoseconds since the Unix epoch.
    latest: i64,
    /// Time of the last line of each file, in nanoseconds since the Unix epoch; 0 before its first.
    clocks: Vec<i64>,
}

impl StraceImport {
    fn add_line(&mut self, text: &[u8], file: &Path, placed: &lines::PlacedLine) {
        self.world.imported.lines += 1;
        let Ok(mut line) = line::parse_line(text) else {
            self.world.imported.add_unparsed(file, placed.number, text);
            return;
        };
        let is_first = self.clocks.get(placed.file).is_none_or(|clock| *clock == 0);
        if line.what != LineContent::Remark {
            self.order_line(&mut line, placed.file);
        }
        self.latest = self.latest.max(line.time);
        if line.what == LineContent::Remark {
            return;
        }
        let thread = line.thread.unwrap_or_else(|| {
            let first = placed.thread.unwrap_or(0);
            // The file's first thread has not ended but begins, whichever threads other files have.
            if is_first { first } else { self.tasks.only_thread(first) }
        });
        let deferred = || DeferredLine {
            text: text.to_vec(),
            file: placed.file,
            number: placed.number,
            time: line.time,
            next: placed.next_time(),
        };
        if self.tasks.defer_line(&mut self.world, thread, &line, deferred) {
            return;
        }
        if self.tasks.add_line(&mut self.world, thread, &line, placed).is_none() {
            self.world.imported.add_unparsed(file, placed.number, text);
        }
    }

    /// Separates lines with equal coarse times: each follows the previous one in its file by a
    /// small step, so that the order stays.
    fn order_line(&mut self, line: &mut line::StraceLine, file: usize) {
        let Some(clock) = self.clocks.get_mut(file) else { return };
        if line.unit > FINE_NS {
            self.world.imported.coarse += 1;
            line.time = line.time.max(clock.saturating_add(COARSE_STEP_NS));
        }
        *clock = line.time;
    }

    /// Processes lines that were deferred until their process was known.
    fn replay_deferred(&mut self, files: &[PathBuf]) {
        for deferred in std::mem::take(&mut self.tasks.released) {
            let Ok(mut line) = line::parse_line(&deferred.text) else { continue };
            let Some(thread) = line.thread else { continue };
            line.time = deferred.time;
            if self.tasks.add_line(&mut self.world, thread, &line, &deferred).is_none() {
                let file = files.get(deferred.file).map_or(Path::new(""), PathBuf::as_path);
                self.world.imported.add_unparsed(file, deferred.number, &deferred.text);
            }
        }
    }

    /// Finishes all logs; after an error in `ended`, or without any socket, no log is left.
    fn finish(mut self, ended: Result<(), Error>) -> Result<(StraceOutcome, MatchedNames), Error> {
        let mut left: Vec<u32> = self.world.processes.keys().copied().collect();
        left.sort_unstable();
        for process in left {
            let pid = self.world.pid_of_process(process);
            self.world.end_process(
                StraceCaller { thread: pid, process, time: self.latest },
                ProcessLogEnd::Unknown,
            );
        }
        let failed = self.world.failed.take();
        let ended = ended.and_then(|()| failed.map_or(Ok(()), Err));
        if ended.is_err() || self.world.imported.sockets == 0 {
            for log in self.world.log_paths() {
                // A log that cannot be removed either has no header, and is rejected by readers.
                let _ = log.remove_file();
            }
        }
        let TracedSystem { imported, unnamed, .. } = self.world;
        ended.map(|()| (imported, unnamed.match_ends()))
    }
}
