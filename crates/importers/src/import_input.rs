//! Input of an import: plain, gzip, zstd or xz by the file's first bytes, regardless of its name,
//! with progress by the bytes on disk.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lzma_rust2::XzReader;
use message_trace::Progress;

use crate::error::Error;
use crate::tuning::{MAX_UNPACKED_BYTES, MAX_UNPACKED_TIMES, MAX_XZ_MEMORY_KIB, READ_BUFFER_BYTES};

/// First bytes of compressed files.
const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const XZ: &[u8] = &[0xfd, b'7', b'z', b'X', b'Z', 0];

/// Bytes to import, and their name in messages to the user.
pub(crate) struct ImportInput<'a> {
    pub(crate) file: PathBuf,
    pub(crate) bytes: Box<dyn Read + Send + 'a>,
}

impl<'a> ImportInput<'a> {
    /// Opens `path`; each byte that is read is reported to `progress`.
    pub(crate) fn open(path: &Path, progress: &'a dyn Progress) -> Result<ImportInput<'a>, Error> {
        let file = File::open(path).map_err(|error| Error::from_io(path, error))?;
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            let why = io::Error::new(
                io::ErrorKind::IsADirectory,
                "this is a directory; name the files in it",
            );
            return Err(Error::from_io(path, why));
        }
        ImportInput::from_reader(path, ProgressReader { file, progress })
            .map_err(|error| Error::from_io(path, error))
    }

    /// Creates an input from the bytes of `raw`, with the name of `file`.
    pub(crate) fn from_reader(
        file: &Path,
        mut raw: impl Read + Send + 'a,
    ) -> io::Result<ImportInput<'a>> {
        let mut first = Vec::new();
        raw.by_ref().take(XZ.len() as u64).read_to_end(&mut first)?;
        let begins = |magic: &[u8]| first.starts_with(magic);
        let (gzip, zstd, xz) = (begins(GZIP), begins(ZSTD), begins(XZ));
        let packed = Arc::new(AtomicU64::new(first.len() as u64));
        let raw = PackedReader { bytes: raw, count: Arc::clone(&packed) };
        let whole = BufReader::with_capacity(READ_BUFFER_BYTES, io::Cursor::new(first).chain(raw));
        let bytes: Box<dyn Read + Send + 'a> = if gzip {
            let bytes = flate2::bufread::MultiGzDecoder::new(whole);
            Box::new(UnpackedReader { bytes, packed, count: 0 })
        } else if zstd {
            let bytes = zstd::stream::read::Decoder::with_buffer(whole)?;
            Box::new(UnpackedReader { bytes, packed, count: 0 })
        } else if xz {
            let bytes = XzReader::new_mem_limit(whole, true, MAX_XZ_MEMORY_KIB);
            Box::new(UnpackedReader { bytes, packed, count: 0 })
        } else {
            Box::new(whole)
        };
        Ok(ImportInput { file: file.to_owned(), bytes })
    }
}

/// Compressed file that counts its bytes.
struct PackedReader<R> {
    bytes: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for PackedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.bytes.read(buffer)?;
        self.count.fetch_add(read as u64, Relaxed);
        Ok(read)
    }
}

/// Reader of the content of a compressed file, up to the maximum length of a recording.
struct UnpackedReader<R> {
    bytes: R,
    packed: Arc<AtomicU64>,
    count: u64,
}

impl<R: Read> Read for UnpackedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let packed = self.packed.load(Relaxed);
        if self.count > MAX_UNPACKED_BYTES.max(packed.saturating_mul(MAX_UNPACKED_TIMES)) {
            let why = format!(
                "its content is more than {MAX_UNPACKED_TIMES} times as long as the file, as in no \
                 recording; to read it anyway, unpack it first"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        let read = self.bytes.read(buffer)?;
        self.count += read as u64;
        Ok(read)
    }
}

/// File that reports its reading.
struct ProgressReader<'a> {
    file: File,
    progress: &'a dyn Progress,
}

impl Read for ProgressReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.progress.advance_step(read as u64);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn read(bytes: Vec<u8>) -> io::Result<String> {
        let mut text = String::new();
        ImportInput::from_reader(Path::new("x"), io::Cursor::new(bytes))?
            .bytes
            .read_to_string(&mut text)?;
        Ok(text)
    }

    fn gzip(text: &str) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    fn xz(text: &str) -> Vec<u8> {
        let options = lzma_rust2::XzOptions::with_preset(6);
        let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn compression_is_detected_by_the_first_bytes() {
        assert_eq!(read(b"plain".to_vec()).unwrap(), "plain");
        assert_eq!(read(gzip("packed")).unwrap(), "packed");
        assert_eq!(read(zstd::encode_all(&b"packed"[..], 0).unwrap()).unwrap(), "packed");
        assert_eq!(read(xz("packed")).unwrap(), "packed");
        for short in [&b""[..], b"a", b"ab", b"abcde"] {
            assert_eq!(read(short.to_vec()).unwrap().as_bytes(), short);
        }
    }

    #[test]
    fn decompression_bombs_are_not_unpacked() {
        let zeros = io::repeat(0).take(4 * MAX_UNPACKED_BYTES);
        let bomb = zstd::encode_all(zeros, 1).unwrap();
        assert!(bomb.len() < 100_000, "{}", bomb.len());
        let mut input = ImportInput::from_reader(Path::new("x"), io::Cursor::new(bomb)).unwrap();
        let (mut buffer, mut read) = (vec![0; 1 << 20], 0);
        let error = loop {
            match input.bytes.read(&mut buffer) {
                Ok(0) => panic!("{read} bytes came"),
                Ok(some) => read += some as u64,
                Err(error) => break error,
            }
        };
        assert!(error.to_string().contains("1000 times"), "{error}");
        assert!(read <= MAX_UNPACKED_BYTES + (1 << 20), "{read}");
    }

    #[test]
    fn concatenated_files_are_read_to_the_end() {
        assert_eq!(read([gzip("one "), gzip("two")].concat()).unwrap(), "one two");
        let frames =
            [zstd::encode_all(&b"one "[..], 0).unwrap(), zstd::encode_all(&b"two"[..], 0).unwrap()];
        assert_eq!(read(frames.concat()).unwrap(), "one two");
        assert_eq!(read([xz("one "), xz("two")].concat()).unwrap(), "one two");
    }

    #[test]
    fn a_truncated_file_is_an_error() {
        let text = "text ".repeat(1000);
        for whole in [gzip(&text), zstd::encode_all(text.as_bytes(), 0).unwrap(), xz(&text)] {
            assert!(read(whole[..whole.len() / 2].to_vec()).is_err());
        }
    }
}
