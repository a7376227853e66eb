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
mod call;
mod calls;
mod decoration;
mod descriptor;
mod failed;
mod kind;
mod lifecycle;
mod line;
mod lines;
mod log;
mod messages;
mod moves;
mod outcome;
mod result;
mod segment_size;
mod segments;
mod sockets;
mod tables;
mod tasks;
mod unnamed;
mod value;
mod world;

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use message_trace::{DataDir, Progress};

use crate::tuning::{COARSE_STEP_NS, FINE_NS, HEAD_BYTES};

pub(crate) use kind::STRACE;
pub use outcome::{how_to_run, options};

use crate::error::Error;
use crate::importer::Importer;
use crate::summary::Summary;

use self::line::What;
use self::lines::{Lines, Next};
use self::log::End;
use self::outcome::Imported;
use self::tasks::{Held, Tasks};
use self::unnamed::{Found, OwnNames};
use self::world::{Destination, Who, World};

/// The importer of strace's output. Files of `strace -ff` belong together, and those of several
/// straces that ran on one host may be given at once. The files are looked at before anything is
/// written: one that is not strace's or has no whole times is an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strace {
    /// The host that the programs ran on.
    pub host: String,
}

impl Importer for Strace {
    fn reads(&self) -> [&'static str; 2] {
        ["line", "lines"]
    }

    fn makes(&self) -> [&'static str; 2] {
        ["message at one end", "messages at one end"]
    }

    fn import(
        &self,
        files: &[PathBuf],
        data: &DataDir,
        progress: &dyn Progress,
    ) -> Result<Summary, Error> {
        let heads: Vec<Head> = files.iter().map(|path| look_at(path)).collect::<Result<_, _>>()?;
        if let (true, Some(first)) = (heads.iter().all(|head| head.time.is_none()), files.first()) {
            return Err(outcome::empty(first));
        }
        let bytes =
            files.iter().map(|path| path.metadata().map_or(0, |metadata| metadata.len())).sum();
        progress.step("reading strace's output", bytes);
        let directory = data.hosts().join(&self.host);
        let salt = salt(files, &heads);
        let place =
            Destination { host: self.host.clone(), directory: Some(directory.clone()), salt };
        let open = || -> Result<Lines, Error> {
            let mut lines =
                Lines::open(files).map_err(|(path, source)| Error::io(&path, source))?;
            for (file, head) in heads.iter().enumerate() {
                lines.set_thread(file, head.thread.unwrap_or(file as u32));
            }
            Ok(lines)
        };
        let names = OwnNames::default();
        let (mut imported, found) = import(files, open()?, place.clone(), names, progress)?;
        if !found.names.is_empty() {
            progress.step("reading strace's output again, with the names of connections", bytes);
            let replaced = imported.replaced;
            (imported, _) = import(files, open()?, place, found.names, progress)?;
            imported.replaced = replaced;
        }
        imported.unnamed = found.without;
        if imported.sockets == 0 {
            return Err(outcome::no_sockets(files, imported.summary()));
        }
        let files = files.len() as u64;
        Ok(Summary { files, bytes, written: vec![directory], ..imported.summary() })
    }
}

/// `import strace` of a file with these bytes, without writing anything, for fuzzing: how many
/// lines there were, and how many of them were not understood.
fn import_bytes(bytes: &[u8]) -> Result<(u64, u64), Error> {
    let place = Destination { host: "host".into(), directory: None, salt: 0 };
    let files = [PathBuf::from("input")];
    let read = |names| import(&files, Lines::of(bytes.to_vec()), place.clone(), names, &());
    let (imported, found) = read(OwnNames::default())?;
    read(found.names)?;
    Ok((imported.lines, imported.skipped.total()))
}

/// Imports the lines of files that have been looked at.
fn import(
    files: &[PathBuf],
    mut lines: Lines,
    place: Destination,
    names: OwnNames,
    progress: &dyn Progress,
) -> Result<(Imported, Found), Error> {
    let read = |(path, source): (PathBuf, _)| Error::io(&path, source);
    let mut import = Import {
        world: World::new(place, names),
        tasks: Tasks::default(),
        latest: 0,
        clocks: vec![0; files.len()],
    };
    let mut waiting = 0;
    let ended = loop {
        let placed = match lines.next() {
            Ok(Some(placed)) => placed,
            Ok(None) => break Ok(()),
            Err(error) => break Err(read(error)),
        };
        let file = files.get(placed.file).map_or(Path::new(""), PathBuf::as_path);
        import.line(placed.text, file, &placed);
        import.replay(files);
        if import.world.failed.is_some() {
            break Ok(());
        }
        waiting += 1;
        if waiting == 10_000 {
            progress.advance(lines.take_read());
            waiting = 0;
        }
    };
    import.tasks.release_all();
    import.replay(files);
    progress.advance(lines.take_read());
    import.finish(ended)
}

/// What a file begins with.
struct Head {
    /// The time of its first call.
    time: Option<i64>,
    /// The thread of lines that name none.
    thread: Option<u32>,
}

/// Looks whether a file is strace's.
fn look_at(path: &Path) -> Result<Head, Error> {
    let failed = |error| Error::io(path, error);
    let mut head = Head { time: None, thread: None };
    let mut reader = BufReader::new(lines::open(path).map_err(failed)?.take(HEAD_BYTES));
    let (mut text, mut number, mut foreign) = (Vec::new(), 0, None);
    loop {
        text.clear();
        if reader.read_until(b'\n', &mut text).map_err(failed)? == 0 {
            break;
        }
        number += 1;
        let line = text.strip_suffix(b"\n").unwrap_or(&text);
        match line::parse(line) {
            Ok(line) if line.what == What::Remark => {}
            Ok(line) => {
                head.time = Some(line.time);
                if line.thread.is_none() {
                    head.thread = first_thread(path).map_err(failed)?;
                }
                return Ok(head);
            }
            Err(problem) => match outcome::times(path, number, problem) {
                Some(error) => return Err(error),
                None => drop(foreign.get_or_insert((number, outcome::beginning(line)))),
            },
        }
    }
    match foreign {
        Some((number, text)) => Err(outcome::not_strace(path, number, &text)),
        None => Ok(head),
    }
}

/// The thread that the first lines are of, where strace wrote to the terminal: it names threads
/// only when there are several, and then it is the first that is not another's child.
fn first_thread(path: &Path) -> std::io::Result<Option<u32>> {
    if lines::thread_of(path).is_some() {
        return Ok(None);
    }
    let mut reader = BufReader::with_capacity(1 << 18, lines::open(path)?);
    let (mut text, mut children) = (Vec::new(), Vec::new());
    loop {
        text.clear();
        if (&mut reader).take(1 << 20).read_until(b'\n', &mut text)? == 0 {
            return Ok(None);
        }
        if let Some(child) = line::attached(&text) {
            children.push(child);
            continue;
        }
        let line = text.strip_suffix(b"\n").unwrap_or(&text);
        if line.starts_with(b"[pid")
            && let Ok(line::Line { thread: Some(thread), .. }) = line::parse(line)
            && !children.contains(&thread)
        {
            return Ok(Some(thread));
        }
    }
}

/// Sets this import's socket numbers apart from those of others, and is the same whenever the same
/// is imported.
fn salt(files: &[PathBuf], heads: &[Head]) -> u64 {
    use std::hash::Hasher;
    let mut hasher = rustc_hash::FxHasher::default();
    for (path, head) in files.iter().zip(heads) {
        hasher.write(path.file_name().unwrap_or_default().as_encoded_bytes());
        hasher.write_i64(head.time.unwrap_or(0));
    }
    hasher.finish()
}

/// An import under way.
struct Import {
    world: World,
    tasks: Tasks,
    /// The latest time met.
    latest: i64,
    /// The time of the last line of each file.
    clocks: Vec<i64>,
}

impl Import {
    fn line(&mut self, text: &[u8], file: &Path, placed: &lines::Placed) {
        self.world.imported.lines += 1;
        let Ok(mut line) = line::parse(text) else {
            self.world.imported.did_not_understand(file, placed.number, text);
            return;
        };
        if line.what != What::Remark {
            self.put_in_order(&mut line, placed.file);
        }
        self.latest = self.latest.max(line.time);
        if line.what == What::Remark {
            return;
        }
        let thread = line.thread.unwrap_or_else(|| self.tasks.only(placed.thread.unwrap_or(0)));
        let held = || Held {
            text: text.to_vec(),
            file: placed.file,
            number: placed.number,
            time: line.time,
            next: placed.next(),
        };
        if self.tasks.must_wait(&mut self.world, thread, &line, held) {
            return;
        }
        if self.tasks.line(&mut self.world, thread, &line, placed).is_none() {
            self.world.imported.did_not_understand(file, placed.number, text);
        }
    }

    /// Where times are coarse, many lines have the same: each then comes a little after the one
    /// before it in its file, so that the order stays.
    fn put_in_order(&mut self, line: &mut line::Line, file: usize) {
        let Some(clock) = self.clocks.get_mut(file) else { return };
        if line.unit > FINE_NS {
            self.world.imported.coarse += 1;
            line.time = line.time.max(clock.saturating_add(COARSE_STEP_NS));
        }
        *clock = line.time;
    }

    /// Takes lines that had to wait into account.
    fn replay(&mut self, files: &[PathBuf]) {
        for held in std::mem::take(&mut self.tasks.released) {
            let Ok(mut line) = line::parse(&held.text) else { continue };
            let Some(thread) = line.thread else { continue };
            line.time = held.time;
            if self.tasks.line(&mut self.world, thread, &line, &held).is_none() {
                let file = files.get(held.file).map_or(Path::new(""), PathBuf::as_path);
                self.world.imported.did_not_understand(file, held.number, &held.text);
            }
        }
    }

    /// Ends all logs; of an import that has `ended` by an error, or that no socket was in, none is
    /// left.
    fn finish(mut self, ended: Result<(), Error>) -> Result<(Imported, Found), Error> {
        let mut left: Vec<u32> = self.world.processes.keys().copied().collect();
        left.sort_unstable();
        for process in left {
            let pid = self.world.pid(process);
            self.world.end(Who { thread: pid, process, time: self.latest }, End::Unknown);
        }
        let failed = self.world.failed.take();
        let ended = ended.and_then(|()| failed.map_or(Ok(()), Err));
        if ended.is_err() || self.world.imported.sockets == 0 {
            for log in self.world.logs() {
                // What cannot be removed either is a log without a header, and no reader takes it
                // for one.
                let _ = log.remove_file();
            }
        }
        let World { imported, unnamed, .. } = self.world;
        ended.map(|()| (imported, unnamed.find()))
    }
}
