//! Lines of one or several files, in the order of time.
//!
//! Each file keeps its own order; among several files, the line with the earliest time comes first
//! (`strace -ff` writes a file for each thread). Every line comes with the time of the next one in
//! its file: if strace was not asked to show how long calls took, the time of the next line is the
//! only upper bound of the call's end.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::line::{self, LineContent, StraceLine};
use super::result;
use crate::import_input::ImportInput;
use crate::tuning::{MAX_LINE_BYTES, MAX_OPEN_FILES, READ_AHEAD_BYTES};

/// An open file of strace's output.
struct StraceFile {
    path: PathBuf,
    /// Open file, or `None` if it is reopened for each read; compressed files stay open.
    file: Option<Box<dyn Read>>,
    keeps_open: bool,
    /// Number of bytes of the file that were read into the buffer so far.
    offset: u64,
    /// Size of a read, in bytes.
    step: usize,
    buffer: Vec<u8>,
    /// The current line in the buffer, with its end.
    line: Range<usize>,
    /// The line after the current one.
    next: Range<usize>,
    /// Number of the line, from 1 on.
    number: u64,
    /// Whether the file was read up to its end.
    is_whole: bool,
    /// Thread of lines that name none.
    thread: Option<u32>,
}

/// A line in its file.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlacedLine<'a> {
    pub(super) text: &'a [u8],
    /// Index of the file.
    pub(super) file: usize,
    pub(super) number: u64,
    /// Next line of the file, or empty.
    following: &'a [u8],
    /// Thread of the line, if the line names none.
    pub(super) thread: Option<u32>,
}

impl NextTime for PlacedLine<'_> {
    fn next_time(&self) -> i64 {
        line::parse_line(self.following).map_or(0, |line| line.time)
    }
}

/// Source of the time of the next line in the same file.
pub(super) trait NextTime {
    /// Time of the next line, in nanoseconds since the Unix epoch; 0 if there is none.
    fn next_time(&self) -> i64;
}

impl StraceFile {
    fn open(path: &Path, step: usize, keeps_open: bool) -> io::Result<StraceFile> {
        let file = Some(open_file(path)?).filter(|_| keeps_open);
        StraceFile::from_reader(path, file, step, keeps_open)
    }

    fn from_reader(
        path: &Path,
        file: Option<Box<dyn Read>>,
        step: usize,
        keeps_open: bool,
    ) -> io::Result<StraceFile> {
        let mut this = StraceFile {
            path: path.to_owned(),
            file,
            keeps_open,
            offset: 0,
            step,
            buffer: Vec::new(),
            line: 0..0,
            next: 0..0,
            number: 0,
            is_whole: false,
            thread: thread_of(path),
        };
        this.next = this.find_line(0)?;
        Ok(this)
    }

    /// Reads on. Returns false at the end of the file.
    fn read_more(&mut self) -> io::Result<bool> {
        let buffered = self.buffer.len();
        let mut file: Box<dyn Read> = match self.file.take() {
            Some(file) => file,
            None => {
                let mut file = File::open(&self.path)?;
                file.seek(SeekFrom::Start(self.offset))?;
                Box::new(file)
            }
        };
        let read = file.as_mut().take(self.step as u64).read_to_end(&mut self.buffer);
        self.offset += (self.buffer.len() - buffered) as u64;
        if self.keeps_open {
            self.file = Some(file);
        }
        // A truncated compressed file yields the data that it has.
        match read {
            Err(error) if self.buffer.len() == buffered => Err(error),
            _ => Ok(self.buffer.len() > buffered),
        }
    }

    /// Finds the line that begins at `from`, without its end; empty at the end of the file. For an
    /// overlong line, only the beginning.
    fn find_line(&mut self, from: usize) -> io::Result<Range<usize>> {
        let mut searched = from;
        loop {
            let rest = self.buffer.get(searched..).unwrap_or(&[]);
            if let Some(length) = rest.iter().position(|byte| *byte == b'\n') {
                return Ok(from..searched + length + 1);
            }
            searched = self.buffer.len();
            if searched - from > MAX_LINE_BYTES {
                // Continues after the end of the overlong line, and keeps enough of the line to
                // mark it as not understood.
                self.buffer.truncate(from + 200);
                searched = self.buffer.len();
                if !self.skip_line_end()? {
                    self.buffer.push(b'\n');
                }
                continue;
            }
            if !self.read_more()? {
                // The last line may lack its end.
                self.is_whole = true;
                return Ok(from..searched);
            }
        }
    }

    /// Drops the bytes before the next line end, but not the line end. Returns false at the end of
    /// the file.
    fn skip_line_end(&mut self) -> io::Result<bool> {
        let buffered = self.buffer.len();
        while self.read_more()? {
            match self
                .buffer
                .get(buffered..)
                .and_then(|more| more.iter().position(|byte| *byte == b'\n'))
            {
                Some(end) => {
                    self.buffer.drain(buffered..buffered + end);
                    return Ok(true);
                }
                None => self.buffer.truncate(buffered),
            }
        }
        Ok(false)
    }

    /// Advances to the next line. Returns false after the last.
    fn advance_line(&mut self) -> io::Result<bool> {
        self.line = self.next.clone();
        self.number += 1;
        if self.line.is_empty() {
            return Ok(false);
        }
        // The buffer is compacted before more is read, once most of it has been consumed.
        if self.line.start > self.buffer.len() / 2 && self.line.start > 0 {
            let after = self.line.start;
            self.buffer.drain(..after);
            self.line = 0..self.line.end - after;
        }
        self.next = self.find_line(self.line.end)?;
        Ok(true)
    }

    /// Time by which the line is ordered among the lines of other files.
    fn order_time(&self) -> i64 {
        line::parse_line(self.text(&self.line)).map_or(0, |line| order_of_line(&line))
    }

    fn text(&self, range: &Range<usize>) -> &[u8] {
        let text = self.buffer.get(range.clone()).unwrap_or(&[]);
        text.strip_suffix(b"\n").unwrap_or(text)
    }
}

/// Thread of a file of `strace -ff -o NAME`, which writes to NAME.PID and names no thread in the
/// lines.
pub(super) fn thread_of(path: &Path) -> Option<u32> {
    path.extension()?.to_str()?.parse().ok()
}

/// Opens a file, which may be compressed.
pub(super) fn open_file(path: &Path) -> io::Result<Box<dyn Read>> {
    Ok(ImportInput::from_reader(path, File::open(path)?)?.bytes)
}

/// Time by which a line is ordered among the lines of other files: the end of its call if it is
/// known; for a call that creates a thread, the begin, which is before the thread's first line.
fn order_of_line(line: &StraceLine) -> i64 {
    match line.what {
        LineContent::Call { name, rest }
            if !name.starts_with(b"clone") && !name.ends_with(b"fork") =>
        {
            line.time.saturating_add(result::split_duration(rest).1.unwrap_or(0))
        }
        _ => line.time,
    }
}

/// Lines of all files, merged by time.
#[derive(Default)]
pub(super) struct MergedLines {
    readers: Vec<StraceFile>,
    /// For each file except the present one: the time of its line, and its index.
    waiting: BinaryHeap<Reverse<(i64, usize)>>,
    /// File of the latest returned line.
    present: Option<usize>,
    /// Latest time so far in each file, in nanoseconds since the Unix epoch.
    times: Vec<i64>,
    /// Number of processed bytes that were not reported yet.
    read: u64,
}

impl MergedLines {
    /// Opens `paths`. The error names the file.
    pub(super) fn open(paths: &[PathBuf]) -> Result<MergedLines, (PathBuf, io::Error)> {
        let step = (READ_AHEAD_BYTES / paths.len().max(1)).clamp(4 << 10, 1 << 20);
        let mut this = MergedLines::default();
        for path in paths {
            let failed = |error| (path.clone(), error);
            let reader =
                StraceFile::open(path, step, paths.len() <= MAX_OPEN_FILES).map_err(failed)?;
            this.add_file(reader).map_err(failed)?;
        }
        Ok(this)
    }

    /// The lines of a file with the content `bytes`.
    pub(super) fn from_bytes(bytes: Vec<u8>) -> MergedLines {
        let mut this = MergedLines::default();
        // Reading from memory does not fail.
        if let Ok(reader) = StraceFile::from_reader(
            Path::new(""),
            Some(Box::new(io::Cursor::new(bytes))),
            4 << 10,
            true,
        ) {
            let _ = this.add_file(reader);
        }
        this
    }

    fn add_file(&mut self, mut reader: StraceFile) -> io::Result<()> {
        let file = self.readers.len();
        let is_empty = !reader.advance_line()?;
        self.times.push(if is_empty { 0 } else { reader.order_time() });
        if !is_empty {
            self.waiting.push(Reverse((self.times[file], file)));
        }
        self.readers.push(reader);
        Ok(())
    }

    /// Sets the thread of a file's lines that name none, unless the file's name provides it.
    pub(super) fn set_thread(&mut self, file: usize, thread: u32) {
        if let Some(reader) = self.readers.get_mut(file) {
            reader.thread.get_or_insert(thread);
        }
    }

    /// The next line, if there is one.
    pub(super) fn next_line(&mut self) -> Result<Option<PlacedLine<'_>>, (PathBuf, io::Error)> {
        if let Some(file) = self.present.take()
            && let Some(reader) = self.readers.get_mut(file)
        {
            self.read += reader.line.len() as u64;
            if reader.advance_line().map_err(|error| (reader.path.clone(), error))? {
                // A line without a time follows the previous line. A single file has its own order.
                let time = if self.times.len() == 1 { 0 } else { reader.order_time() };
                self.times[file] = time.max(self.times[file]);
                self.waiting.push(Reverse((self.times[file], file)));
            }
        }
        let Some(Reverse((_, file))) = self.waiting.pop() else { return Ok(None) };
        self.present = Some(file);
        let Some(reader) = self.readers.get(file) else { return Ok(None) };
        let (text, following) = (reader.text(&reader.line), reader.text(&reader.next));
        Ok(Some(PlacedLine { text, file, number: reader.number, following, thread: reader.thread }))
    }

    /// Number of bytes that were processed since the last call.
    pub(super) fn take_bytes_read(&mut self) -> u64 {
        std::mem::take(&mut self.read)
    }
}
