//! The importer of strace's output: for programs that load no library, the calls as the kernel saw
//! them become the same logs that the library would have written.
//!
//! The way of a line: it is read (`lines`), taken apart (`line`, `result`), given to its thread and
//! process (`tasks`), and what the call did (`calls`, `lifecycle`, `moves`, `failed`; with `value`,
//! `descriptor`, `decoration`, `address`, `messages`, `segment_size` and `segments` for the
//! arguments) changes what is known of sockets and descriptors (`world`, `sockets`, `tables`) and
//! is written to the process's log (`log`). Memory holds what is open at one moment, whatever the
//! size of the files.

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

/// The importer of strace's output. Files of `strace -ff` belong together, and those of several
/// straces that ran on one host may be given at once. The files are looked at before anything is
/// written: one that is not strace's or has no whole times is an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StraceImporter {
    /// The host that the programs ran on.
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

/// `import strace` of a file with these bytes, without writing anything, for fuzzing: how many
/// lines there were, and how many of them were not understood.
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

/// Imports the lines of files that have been looked at.
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

/// What a file begins with.
struct StraceHead {
    /// The time of its first call.
    time: Option<i64>,
    /// The thread of lines that name none.
    thread: Option<u32>,
}

/// Looks whether a file is strace's.
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

/// The thread that the first lines are of, where strace wrote to the terminal: it names threads
/// only when there are several, and then it is the first that is not another's child.
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

/// Sets this import's socket numbers apart from those of others, and is the same whenever the same
/// is imported.
fn socket_salt(files: &[PathBuf], heads: &[StraceHead]) -> u64 {
    use std::hash::Hasher;
    let mut hasher = rustc_hash::FxHasher::default();
    for (path, head) in files.iter().zip(heads) {
        hasher.write(path.file_name().unwrap_or_default().as_encoded_bytes());
        hasher.write_i64(head.time.unwrap_or(0));
    }
    hasher.finish()
}

/// An import under way.
struct StraceImport {
    world: TracedSystem,
    tasks: TaskTable,
    /// The latest time met.
    latest: i64,
    /// The time of the last line of each file.
    clocks: Vec<i64>,
}

impl StraceImport {
    fn add_line(&mut self, text: &[u8], file: &Path, placed: &lines::PlacedLine) {
        self.world.imported.lines += 1;
        let Ok(mut line) = line::parse_line(text) else {
            self.world.imported.add_unparsed(file, placed.number, text);
            return;
        };
        if line.what != LineContent::Remark {
            self.order_line(&mut line, placed.file);
        }
        self.latest = self.latest.max(line.time);
        if line.what == LineContent::Remark {
            return;
        }
        let thread =
            line.thread.unwrap_or_else(|| self.tasks.only_thread(placed.thread.unwrap_or(0)));
        let held = || DeferredLine {
            text: text.to_vec(),
            file: placed.file,
            number: placed.number,
            time: line.time,
            next: placed.next_time(),
        };
        if self.tasks.defer_line(&mut self.world, thread, &line, held) {
            return;
        }
        if self.tasks.add_line(&mut self.world, thread, &line, placed).is_none() {
            self.world.imported.add_unparsed(file, placed.number, text);
        }
    }

    /// Where times are coarse, many lines have the same: each then comes a little after the one
    /// before it in its file, so that the order stays.
    fn order_line(&mut self, line: &mut line::StraceLine, file: usize) {
        let Some(clock) = self.clocks.get_mut(file) else { return };
        if line.unit > FINE_NS {
            self.world.imported.coarse += 1;
            line.time = line.time.max(clock.saturating_add(COARSE_STEP_NS));
        }
        *clock = line.time;
    }

    /// Takes lines that had to wait into account.
    fn replay_deferred(&mut self, files: &[PathBuf]) {
        for held in std::mem::take(&mut self.tasks.released) {
            let Ok(mut line) = line::parse_line(&held.text) else { continue };
            let Some(thread) = line.thread else { continue };
            line.time = held.time;
            if self.tasks.add_line(&mut self.world, thread, &line, &held).is_none() {
                let file = files.get(held.file).map_or(Path::new(""), PathBuf::as_path);
                self.world.imported.add_unparsed(file, held.number, &held.text);
            }
        }
    }

    /// Ends all logs; of an import that has `ended` by an error, or that no socket was in, none is
    /// left.
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
                // What cannot be removed either is a log without a header, and no reader takes it
                // for one.
                let _ = log.remove_file();
            }
        }
        let TracedSystem { imported, unnamed, .. } = self.world;
        ended.map(|()| (imported, unnamed.match_ends()))
    }
}
