//! Messages of an exec announcement.
//!
//! A process sends `SCX1`, the id of the thread that is to execute the program (4 bytes, in that
//! process's own namespace), the length of the program's path (2 bytes) and the path, with all
//! numbers in little-endian order. The recorder answers one byte, `TRACED` or `NOT_TRACED`. Then
//! the thread executes the program, which closes the connection. If the exec fails, the thread
//! sends `FAILED`, and waits for the end of the connection before it continues: until then it is
//! traced.
//!
//! If a thread's libc is to create a child and execute the program there (`posix_spawn`), the
//! thread sends `SCX2` instead of `SCX1`, and closes the connection after the call.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::trace::ExecutingThread;

/// Answer: the thread is traced.
pub(crate) const TRACED: u8 = b'1';
/// Answer: the thread is not traced, and executes its program without the blob.
pub(crate) const NOT_TRACED: u8 = b'0';
/// Message of a thread after a failed exec.
pub(crate) const FAILED: u8 = b'x';

/// First bytes of an announcement for the thread itself.
const ITSELF: [u8; 4] = *b"SCX1";
/// First bytes of an announcement for the thread's next child.
const CHILD: [u8; 4] = *b"SCX2";
/// Number of bytes before the path.
pub(crate) const HEAD_BYTES: usize = 10;
/// Maximum length of a path, in bytes (`PATH_MAX`).
const MAX_PATH: usize = 4096;

/// Content of an announcement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExecAnnouncement {
    /// Which thread executes the program: the announcing one, or its next child.
    pub who: ExecutingThread,
    /// Id of the thread, in its process's own namespace.
    pub tid: u32,
    /// Path of the program.
    pub program: PathBuf,
}

/// Encodes an announcement. A path that is too long cannot be executed either.
pub(crate) fn encode_announcement(
    who: ExecutingThread,
    tid: u32,
    program: &Path,
) -> io::Result<Vec<u8>> {
    let program = program.as_os_str().as_bytes();
    if program.is_empty() || program.len() > MAX_PATH {
        return Err(io::ErrorKind::InvalidFilename.into());
    }
    let length = (program.len() as u16).to_le_bytes();
    let magic = match who {
        ExecutingThread::Itself => ITSELF,
        ExecutingThread::Child => CHILD,
    };
    Ok([&magic[..], &tid.to_le_bytes(), &length, program].concat())
}

/// Sets the thread id in the bytes of an announcement.
pub(crate) fn write_tid(bytes: &mut [u8], tid: u32) {
    if let Some(place) = bytes.get_mut(4..8) {
        place.copy_from_slice(&tid.to_le_bytes());
    }
}

/// Reads an announcement. Bytes that are not an announcement, or not a complete one, are an error.
pub(crate) fn read_announcement(mut from: impl Read) -> io::Result<ExecAnnouncement> {
    let invalid = || io::Error::from(io::ErrorKind::InvalidData);
    let mut head = [0; HEAD_BYTES];
    from.read_exact(&mut head)?;
    let [a, b, c, d, t0, t1, t2, t3, l0, l1] = head;
    let length = usize::from(u16::from_le_bytes([l0, l1]));
    let who = match [a, b, c, d] {
        ITSELF => ExecutingThread::Itself,
        CHILD => ExecutingThread::Child,
        _ => return Err(invalid()),
    };
    if length == 0 || length > MAX_PATH {
        return Err(invalid());
    }
    let mut program = vec![0; length];
    from.read_exact(&mut program)?;
    if program.contains(&0) {
        return Err(invalid());
    }
    let program = PathBuf::from(OsStr::from_bytes(&program));
    Ok(ExecAnnouncement { who, tid: u32::from_le_bytes([t0, t1, t2, t3]), program })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn encoded_values_round_trip() {
        let mut bytes =
            encode_announcement(ExecutingThread::Itself, 1, Path::new("/bin/true")).unwrap();
        write_tid(&mut bytes, 77);
        assert_eq!(bytes, b"SCX1\x4d\0\0\0\x09\0/bin/true");
        let program = PathBuf::from("/bin/true");
        let mut expected = ExecAnnouncement { who: ExecutingThread::Itself, tid: 77, program };
        assert_eq!(read_announcement(&bytes[..]).unwrap(), expected);
        expected.who = ExecutingThread::Child;
        let bytes = encode_announcement(ExecutingThread::Child, 77, &expected.program).unwrap();
        assert_eq!((&bytes[..4], read_announcement(&bytes[..]).unwrap()), (&b"SCX2"[..], expected));
    }

    #[test]
    fn other_bytes_are_refused() {
        let long = "x".repeat(MAX_PATH + 1);
        assert!(encode_announcement(ExecutingThread::Itself, 1, Path::new(&long)).is_err());
        assert!(encode_announcement(ExecutingThread::Child, 1, Path::new("")).is_err());
        for bytes in [
            &b"SCX3\x4d\0\0\0\x01\0a"[..],
            b"SCX1\x4d\0\0\0\0\0",
            b"SCX1\x4d\0\0\0\x02\0a",
            b"SCX1\x4d\0\0\0\x02\0a\0",
            b"SCX1\x4d\0\0\0\xff\xffa",
            b"",
        ] {
            assert!(read_announcement(bytes).is_err(), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = read_announcement(&bytes[..]);
            let _ = read_announcement(&[&b"SCX1"[..], &bytes[..]].concat()[..]);
        }
    }
}
