//! Streams of traces that are read separately and merged by time.
//!
//! babeltrace2 rejects a whole trace if one message is earlier than the previous one, as when a
//! packet states that it begins before the last event of the previous packet; old tracers, and
//! tracers that lose events, write such packets. Within a single stream babeltrace2 does not check
//! the order, and the table of events sorts events by time anyway.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::child::{Babeltrace, BabeltraceFailure};
use super::line::time_of_line;
use super::repair::{RepairedTrace, StreamCut};
use crate::error::Error;
use crate::text_lines::{NextLine, TextLines};

/// Streams of all traces in the directory `path`, in a fixed order.
///
/// # Errors
/// When a directory cannot be read.
pub(super) fn streams_of_traces(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let (mut streams, mut open) = (Vec::new(), vec![path.to_owned()]);
    while let Some(directory) = open.pop() {
        let failed = |error| Error::from_io(&directory, error);
        let is_trace = directory.join("metadata").is_file();
        for entry in fs::read_dir(&directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let (name, path) = (entry.file_name(), entry.path());
            if entry.file_type().map_err(failed)?.is_dir() {
                open.push(path);
                continue;
            }
            let is_hidden = name.as_encoded_bytes().starts_with(b".");
            let has_bytes = path.metadata().is_ok_and(|about| about.is_file() && about.len() > 0);
            if is_trace && name != "metadata" && !is_hidden && has_bytes {
                streams.push(path);
            }
        }
    }
    streams.sort();
    Ok(streams)
}

/// Lines of babeltrace2's output.
type BabeltraceLines = TextLines<Box<dyn Read>>;

/// Stream that is being read.
pub(super) struct CtfStream {
    /// File of the stream.
    file: PathBuf,
    /// Directory of a trace with this stream only; it is removed with this struct.
    _alone: TempDir,
    mended: RepairedTrace,
    program: Babeltrace,
    lines: Option<BabeltraceLines>,
    /// Latest line that was read.
    line: Vec<u8>,
    /// Whether a line has been read.
    has_begun: bool,
}

/// Result of advancing to the next line.
pub(super) enum StreamStep {
    /// A line, with the time by which streams are merged.
    Line(i64),
    /// The end of the stream.
    End,
    /// The last packet is incomplete, and everything before it has been read.
    Cut(StreamCut),
    /// The rest cannot be read, for this reason.
    Failed(String),
}

impl CtfStream {
    /// Opens the stream of `file`.
    ///
    /// # Errors
    /// When the program cannot be run, or the links cannot be created.
    pub(super) fn open(file: &Path) -> Result<CtfStream, Error> {
        let file = fs::canonicalize(file).map_err(|error| Error::from_io(file, error))?;
        let alone =
            tempfile::tempdir().map_err(|error| Error::from_io(std::env::temp_dir(), error))?;
        let name = file.file_name().unwrap_or_default();
        for (to, name) in
            [(file.with_file_name("metadata"), "metadata".as_ref()), (file.clone(), name)]
        {
            symlink(to, alone.path().join(name)).map_err(|error| Error::from_io(&file, error))?;
        }
        let mended = RepairedTrace::new(alone.path());
        let (program, lines) = start_babeltrace(mended.path())?;
        Ok(CtfStream {
            file,
            _alone: alone,
            mended,
            program,
            lines,
            line: Vec::new(),
            has_begun: false,
        })
    }

    /// File of the stream.
    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// Whether the metadata of the stream's trace is in CTF 2: JSON objects, separated by the
    /// record separator.
    pub(super) fn is_ctf_2(&self) -> bool {
        let mut first = [0];
        let metadata = fs::File::open(self.file.with_file_name("metadata"));
        metadata.and_then(|mut file| file.read_exact(&mut first)).is_ok_and(|()| first == [0x1e])
    }

    /// Latest line that was read.
    pub(super) fn line(&self) -> &[u8] {
        &self.line
    }

    /// Advances to the next line.
    ///
    /// # Errors
    /// When the stream cannot be copied without its last packet.
    pub(super) fn next_line(&mut self) -> Result<StreamStep, Error> {
        while let Some(lines) = &mut self.lines {
            match lines.next_line() {
                NextLine::Line([]) => {}
                NextLine::Line(line) => {
                    self.line.clear();
                    self.line.extend_from_slice(line);
                    self.has_begun = true;
                    return Ok(StreamStep::Line(time_of_line(line).unwrap_or(i64::MIN)));
                }
                NextLine::TooLong => {
                    self.line.clear();
                    return Ok(StreamStep::Line(i64::MIN));
                }
                NextLine::Pending => {
                    if let Err(error) = lines.read_more() {
                        self.lines = None;
                        return Ok(StreamStep::Failed(error.to_string()));
                    }
                }
                NextLine::End => self.lines = None,
            }
        }
        let Some(BabeltraceFailure { why, error_output }) = self.program.wait_for_end() else {
            return Ok(StreamStep::End);
        };
        if self.has_begun {
            return Ok(StreamStep::Failed(why));
        }
        let Some(cut) = self.mended.without_last_packet(&error_output)? else {
            return Ok(StreamStep::Failed(why));
        };
        (self.program, self.lines) = start_babeltrace(self.mended.path())?;
        Ok(StreamStep::Cut(StreamCut { file: self.file.clone(), ..cut }))
    }
}

fn start_babeltrace(trace: &Path) -> Result<(Babeltrace, Option<BabeltraceLines>), Error> {
    let mut program = Babeltrace::spawn_alone(trace)?;
    let lines =
        program.take_output().map(|output| TextLines::new(Box::new(output) as Box<dyn Read>));
    Ok((program, lines))
}

/// Merged streams, the one with the earliest line first.
#[derive(Default)]
pub(super) struct MergedStreams {
    streams: Vec<CtfStream>,
    waiting: BinaryHeap<Reverse<(i64, usize)>>,
}

impl MergedStreams {
    /// Adds a stream with its first line at the time `time`.
    pub(super) fn add(&mut self, stream: CtfStream, time: i64) {
        self.waiting.push(Reverse((time, self.streams.len())));
        self.streams.push(stream);
    }

    /// Stream with the earliest line, and its number for [`MergedStreams::push_waiting`].
    pub(super) fn pop_earliest(&mut self) -> Option<(usize, &mut CtfStream)> {
        let Reverse((_, number)) = self.waiting.pop()?;
        self.streams.get_mut(number).map(|stream| (number, stream))
    }

    /// Requeues the stream with this number, which has its next line at the time `time`.
    pub(super) fn push_waiting(&mut self, number: usize, time: i64) {
        self.waiting.push(Reverse((time, number)));
    }
}
