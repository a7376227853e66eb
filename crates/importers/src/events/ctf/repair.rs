//! Repair of traces with truncated streams, as after a machine stopped while it was traced.
//! babeltrace2 rejects a trace with a truncated stream as a whole and names the stream. The
//! stream's last packet is then left out, in a copy next to links to the other files, so that the
//! complete packets are read.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::Error;
use crate::tuning::{MAX_CUTS_OF_A_STREAM, READ_BUFFER_BYTES};

/// Number of bytes at a packet's beginning that are equal in all packets of a stream: the magic
/// number and the trace's UUID (CTF 1.8, 5.1).
const PACKET_BEGINNING: usize = 20;

/// Text before the file's path in babeltrace2's message about a stream with unreadable packets.
const REFUSAL: &str = "Failed to index CTF stream file '";

/// Trace that is read, repaired if necessary.
pub(super) struct RepairedTrace {
    /// Directory of the original trace.
    trace: PathBuf,
    /// Copy of the trace with truncated streams, once a stream was cut.
    copy: Option<TempDir>,
    /// Number of cuts of each stream.
    cuts: HashMap<PathBuf, usize>,
}

/// Part that was left out of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StreamCut {
    /// The file, as given by the user.
    pub(super) file: PathBuf,
    /// Number of bytes before the cut, which are read.
    pub(super) kept: u64,
}

impl RepairedTrace {
    /// Creates the unrepaired trace of the directory `trace`.
    pub(super) fn new(trace: &Path) -> RepairedTrace {
        RepairedTrace { trace: trace.to_owned(), copy: None, cuts: HashMap::new() }
    }

    /// Directory of the repaired trace, to be read.
    pub(super) fn path(&self) -> &Path {
        self.copy.as_ref().map_or(&self.trace, TempDir::path)
    }

    /// Leaves out the last packet of the stream that babeltrace2's error output names; `None` if it
    /// names none.
    ///
    /// # Errors
    /// When the stream cannot be read or copied.
    pub(super) fn without_last_packet(
        &mut self,
        error_output: &str,
    ) -> Result<Option<StreamCut>, Error> {
        let Some(stream) =
            refused_stream(error_output).and_then(|file| file.strip_prefix(self.path()).ok())
        else {
            return Ok(None);
        };
        let (stream, file) = (stream.to_owned(), self.trace.join(stream));
        let copy = match self.copy.take() {
            Some(copy) => copy,
            None => link_trace(&self.trace)?,
        };
        let mended = self.copy.insert(copy).path().join(&stream);
        let kept = cut_last_packet(&file, &mended, self.cuts.entry(stream).or_default())
            .map_err(|error| Error::from_io(&file, error))?;
        Ok(Some(StreamCut { file, kept }))
    }
}

/// Path of the rejected stream.
fn refused_stream(error_output: &str) -> Option<&Path> {
    let (_, rest) = error_output.split_once(REFUSAL)?;
    rest.split_once('\'').map(|(path, _)| Path::new(path))
}

/// Creates a temporary directory with the same subdirectories, and links to all files.
fn link_trace(trace: &Path) -> Result<TempDir, Error> {
    let trace = fs::canonicalize(trace).map_err(|error| Error::from_io(trace, error))?;
    let copy = tempfile::tempdir().map_err(|error| Error::from_io(std::env::temp_dir(), error))?;
    let mut open = vec![PathBuf::new()];
    while let Some(place) = open.pop() {
        let directory = trace.join(&place);
        let link = |error| Error::from_io(&directory, error);
        for entry in fs::read_dir(&directory).map_err(link)? {
            let entry = entry.map_err(link)?;
            let at = place.join(entry.file_name());
            if entry.file_type().map_err(link)?.is_dir() {
                fs::create_dir(copy.path().join(&at)).map_err(link)?;
                open.push(at);
            } else {
                symlink(entry.path(), copy.path().join(&at)).map_err(link)?;
            }
        }
    }
    Ok(copy)
}

/// Replaces `mended` by `file` without its last packet; returns the number of remaining bytes.
/// After [`MAX_CUTS_OF_A_STREAM`] cuts there are none: the fault is not in the last packet.
fn cut_last_packet(file: &Path, mended: &Path, cuts: &mut usize) -> io::Result<u64> {
    *cuts += 1;
    let length = fs::metadata(mended)?.len();
    let mut bytes = File::open(mended)?;
    let kept =
        if *cuts > MAX_CUTS_OF_A_STREAM { 0 } else { last_packet_offset(&mut bytes, length)? };
    if fs::symlink_metadata(mended)?.is_symlink() {
        fs::remove_file(mended)?;
        if kept > 0 {
            let mut copy = File::create_new(mended)?;
            io::copy(&mut File::open(file)?.take(kept), &mut copy)?;
        }
    } else if kept > 0 {
        File::options().write(true).open(mended)?.set_len(kept)?;
    } else {
        fs::remove_file(mended)?;
    }
    Ok(kept)
}

/// Offset of the last packet of a stream, even if only few of its bytes exist; 0 without another
/// one.
fn last_packet_offset(stream: &mut (impl Read + Seek), length: u64) -> io::Result<u64> {
    let mut beginning = Vec::new();
    stream.take(PACKET_BEGINNING as u64).read_to_end(&mut beginning)?;
    let mut window = Vec::new();
    let mut end = length;
    while end > 0 {
        let begin = end.saturating_sub(READ_BUFFER_BYTES as u64);
        stream.seek(SeekFrom::Start(begin))?;
        window.clear();
        // A packet that begins in this window may continue in the next.
        let wanted = end - begin + PACKET_BEGINNING as u64;
        stream.take(wanted).read_to_end(&mut window)?;
        let begins = |place: &usize| {
            let rest = window.get(*place..).unwrap_or_default();
            let common = rest.len().min(beginning.len());
            common > 0 && rest.get(..common) == beginning.get(..common)
        };
        if let Some(place) = (0..(end - begin) as usize).rev().find(begins) {
            return Ok(begin + place as u64);
        }
        end = begin;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    fn packets(sizes: &[usize]) -> Vec<u8> {
        let packet = |size: &usize| {
            let mut packet: Vec<u8> = (0..PACKET_BEGINNING as u8).map(|byte| byte | 0x40).collect();
            packet.resize(*size, 7);
            packet
        };
        sizes.iter().flat_map(packet).collect()
    }

    #[test]
    fn the_last_packet_is_found_however_short_it_is() {
        let whole = packets(&[300, 200]);
        let long = packets(&[100, 3 * READ_BUFFER_BYTES]);
        let last =
            |bytes: &[u8]| last_packet_offset(&mut Cursor::new(bytes), bytes.len() as u64).unwrap();
        for length in 301..=500 {
            assert_eq!(last(&whole[..length]), 300, "{length}");
        }
        assert_eq!((last(&whole[..300]), last(&[])), (0, 0));
        for less in [0, 1, READ_BUFFER_BYTES - 10, READ_BUFFER_BYTES, 2 * READ_BUFFER_BYTES + 5] {
            assert_eq!(last(&long[..long.len() - less]), 100, "{less}");
        }
    }

    #[test]
    fn a_stream_is_cut_repeatedly_and_then_left_out() {
        let trace = tempfile::tempdir().unwrap();
        let deep = trace.path().join("kernel");
        fs::create_dir(&deep).unwrap();
        fs::write(deep.join("metadata"), "m").unwrap();
        let bytes = packets(&[100; 8]);
        fs::write(deep.join("one"), &bytes[..770]).unwrap();
        let mut mended = RepairedTrace::new(trace.path());
        let mut kept = Vec::new();
        for _ in 0..=MAX_CUTS_OF_A_STREAM {
            let error_output =
                format!("W x\nE {REFUSAL}{}'\n", mended.path().join("kernel/one").display());
            let cut = mended.without_last_packet(&error_output).unwrap().unwrap();
            assert_eq!(cut.file, deep.join("one"));
            let read = fs::read(mended.path().join("kernel/one"));
            assert!(read.map_or(cut.kept == 0, |read| read == bytes[..cut.kept as usize]));
            kept.push(cut.kept);
        }
        assert_eq!(kept, [700, 600, 500, 0]);
        assert_eq!(fs::read(mended.path().join("kernel/metadata")).unwrap(), b"m");
        assert_eq!(fs::read(deep.join("one")).unwrap().len(), 770);
        for error_output in ["", "something else", &format!("{REFUSAL}/elsewhere/one'")] {
            assert_eq!(mended.without_last_packet(error_output).unwrap(), None);
        }
    }
}
