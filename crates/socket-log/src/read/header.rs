//! Header page as it is read: facts about the process, and whether the file is a log of this
//! version at all.

use std::ffi::OsStr;
use std::mem::offset_of;
use std::path::Path;

use crate::layout::{
    ANCESTORS_BYTES, Anchor, CHUNK_BYTES, FileHeader, HEADER_BYTES, KEEPS_NEWEST, MAGIC, VERSION,
    left_out, lost, state,
};
use crate::recording::{RECORDING_BYTES, RecordingId};

/// Size of the field of the host's name, in bytes.
const HOST_BYTES: usize = 128;
/// Size of the field of control groups, in bytes.
const CGROUP_BYTES: usize = 240;

/// Facts of a log's header about the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogHeader {
    /// Clock of the ticks, one of [`tick`](crate::layout::tick).
    pub tick_clock: u32,
    /// Id of the process.
    pub pid: u32,
    /// Id of the process's parent when the log began.
    pub parent_pid: u32,
    /// Id of the process's user.
    pub uid: u32,
    /// Start of the process.
    pub start: Anchor,
    /// The kernel's random id of this boot.
    pub boot_id: [u8; 16],
    /// Progress of the process, one of [`state`].
    pub state: u32,
    /// Number of records lost, by cause, see [`lost`].
    pub lost: [u64; lost::CAUSES],
    /// Largest size of the log, in bytes; 0 if it has no limit.
    pub limit: u64,
    /// Whether a full log continues in place of its oldest chunks.
    pub keeps_newest: bool,
    /// Whether the log's transfers have positions, see [`POSITION`](crate::layout::kind::POSITION).
    pub has_positions: bool,
    /// Source of the log, one of [`source`](crate::layout::source).
    pub source: u32,
    /// Inode of the process's network namespace when the log began; 0 if it is not known.
    pub namespace: u64,
    /// Inode of the pid namespace of the process; 0 if it is not known.
    pub pid_namespace: u64,
    /// Control groups of the process when the log began, in the form of `/proc/self/cgroup`, cut if
    /// they were too long for the header; empty if they are not known.
    pub cgroup: String,
    /// Ancestors of this process, as far as they were recorded, the nearest last.
    pub ancestors: Vec<Ancestor>,
    /// Number of processes of this process's family that used sockets and have no log, since there
    /// was no space for one.
    pub without_log: u64,
    /// Whether resources are recorded in addition to messages: files, sleeps, and hand-offs between
    /// threads.
    pub resources: bool,
    /// Whether snippets of messages are recorded.
    pub heads: bool,
    /// Recording that the log belongs to; `None` if there is none, or for logs from before there
    /// were ids.
    pub recording: Option<RecordingId>,
    /// Whether the user had rare words left out; false for logs from before there were any.
    pub leaves_out_words: bool,
    /// Number of chunks that were assigned: the maximum number of chunks with records, unless the
    /// log was damaged.
    pub chunks: u32,
    /// Name of the host that the process ran on: the name of the directory in which the log was
    /// opened, otherwise the one in the log.
    pub host: String,
    /// Name of the host in the log, if it differs from `host`.
    pub says: Option<String>,
    /// Path of the executable.
    pub executable: String,
    /// Arguments, the program's name first; cut if they were too long for the header.
    pub arguments: Vec<String>,
}

/// Ancestor of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ancestor {
    /// Id of the process.
    pub pid: u32,
    /// Start of the process, in nanoseconds since the Unix epoch.
    pub start: i64,
    /// Name of the file that the process was started as.
    pub name: String,
}

impl Ancestor {
    /// Parses the ancestors in a header's field. An invalid entry is skipped.
    fn parse_list(field: &str) -> Vec<Ancestor> {
        let one = |entry: &str| {
            let mut parts = entry.splitn(3, ':');
            let (pid, start, name) = (parts.next()?, parts.next()?, parts.next()?);
            Some(Ancestor {
                pid: pid.parse().ok()?,
                start: start.parse().ok()?,
                name: name.to_owned(),
            })
        };
        field.split(',').filter_map(one).collect()
    }
}

impl LogHeader {
    /// Number of records lost for any cause; saturates if a damaged header has larger numbers.
    pub fn lost_records(&self) -> u64 {
        self.lost.iter().fold(0, |sum: u64, lost| sum.saturating_add(*lost))
    }

    /// Whether the writer has recorded the end of the log. A killed writer does not.
    pub fn has_ended(&self) -> bool {
        self.state != state::RUNNING
    }

    /// Sets the host by the path of the log. A log in a host's directory (`hosts/NAME/`) belongs to
    /// the host NAME, whatever its bytes state: at a collector, the directory belongs to the
    /// sending host, and the bytes are only a claim of that host.
    pub(crate) fn set_host_from_path(&mut self, path: &Path) {
        let directory = path.parent();
        let above = directory.and_then(Path::parent).and_then(Path::file_name);
        let Some(name) =
            directory.and_then(Path::file_name).filter(|_| above == Some(OsStr::new("hosts")))
        else {
            return;
        };
        let says = std::mem::replace(&mut self.host, name.to_string_lossy().into_owned());
        // A directory's name has no slash, and the header's name is cut.
        let named = says.replace('/', "_");
        let is_same =
            named == self.host || named.len() == HOST_BYTES - 1 && self.host.starts_with(&named);
        self.says = Some(says).filter(|says| !says.is_empty() && !is_same);
    }
}

/// Reason why a page is not a header.
pub(crate) enum HeaderProblem {
    /// The page does not belong to a log, for this reason.
    NotALog(&'static str),
    /// The page is of this other version.
    Version(u32),
}

/// Reads the header at the beginning of a file.
pub(crate) fn parse_header(page: &[u8]) -> Result<LogHeader, HeaderProblem> {
    let word = |at: usize| {
        page.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes)
    };
    let long = |at: usize| {
        page.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes)
    };
    match long(offset_of!(FileHeader, magic)) {
        None => return Err(HeaderProblem::NotALog("the file is too short")),
        Some(MAGIC) => {}
        Some(0) => return Err(HeaderProblem::NotALog("its header was never finished")),
        Some(_) => return Err(HeaderProblem::NotALog("its first bytes do not belong to a log")),
    }
    let short = HeaderProblem::NotALog("the file ends inside its header");
    match word(offset_of!(FileHeader, version)) {
        Some(VERSION) => {}
        Some(version) => return Err(HeaderProblem::Version(version)),
        None => return Err(short),
    }
    if page.len() < HEADER_BYTES {
        return Err(short);
    }
    let sizes =
        (word(offset_of!(FileHeader, header_bytes)), word(offset_of!(FileHeader, chunk_bytes)));
    if sizes != (Some(HEADER_BYTES as u32), Some(CHUNK_BYTES as u32)) {
        return Err(HeaderProblem::NotALog(
            "its header has sizes that this version does not support",
        ));
    }
    let word = |at| word(at).unwrap_or(0);
    let long = |at| long(at).unwrap_or(0);
    let bytes = |at: usize, length: usize| page.get(at..at + length).unwrap_or(&[]);
    let start = offset_of!(FileHeader, start);
    let mut boot_id = [0; 16];
    boot_id.copy_from_slice(bytes(offset_of!(FileHeader, boot_id), 16));
    let mut recording = [0; RECORDING_BYTES];
    recording.copy_from_slice(bytes(offset_of!(FileHeader, recording), RECORDING_BYTES));
    Ok(LogHeader {
        tick_clock: word(offset_of!(FileHeader, tick_clock)),
        pid: word(offset_of!(FileHeader, pid)),
        parent_pid: word(offset_of!(FileHeader, parent_pid)),
        uid: word(offset_of!(FileHeader, uid)),
        start: Anchor {
            ticks: long(start + offset_of!(Anchor, ticks)),
            monotonic: long(start + offset_of!(Anchor, monotonic)) as i64,
            realtime: long(start + offset_of!(Anchor, realtime)) as i64,
        },
        boot_id,
        state: word(offset_of!(FileHeader, state)),
        lost: std::array::from_fn(|cause| long(offset_of!(FileHeader, lost) + 8 * cause)),
        limit: long(offset_of!(FileHeader, limit)),
        keeps_newest: word(offset_of!(FileHeader, keeps_newest)) != 0,
        has_positions: word(offset_of!(FileHeader, keeps_newest)) == KEEPS_NEWEST,
        source: word(offset_of!(FileHeader, source)),
        namespace: long(offset_of!(FileHeader, namespace)),
        pid_namespace: long(offset_of!(FileHeader, pid_namespace)),
        cgroup: first_text(bytes(offset_of!(FileHeader, cgroup), CGROUP_BYTES)),
        ancestors: Ancestor::parse_list(&first_text(bytes(
            offset_of!(FileHeader, ancestors),
            ANCESTORS_BYTES,
        ))),
        without_log: long(offset_of!(FileHeader, without_log)),
        resources: word(offset_of!(FileHeader, resources)) != 0,
        heads: word(offset_of!(FileHeader, heads)) != 0,
        recording: RecordingId::new(recording),
        leaves_out_words: word(offset_of!(FileHeader, left_out)) & left_out::WORDS != 0,
        chunks: word(offset_of!(FileHeader, chunks)),
        host: first_text(bytes(offset_of!(FileHeader, host), HOST_BYTES)),
        says: None,
        executable: first_text(bytes(offset_of!(FileHeader, executable), 1024)),
        arguments: split_texts(bytes(offset_of!(FileHeader, arguments), 2048)),
    })
}

/// Text up to the first zero byte.
fn first_text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// Texts that each end with a zero byte. Zeros that pad the field are not texts.
fn split_texts(bytes: &[u8]) -> Vec<String> {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    if end == 0 {
        return Vec::new();
    }
    bytes[..end]
        .split(|byte| *byte == 0)
        .map(|text| String::from_utf8_lossy(text).into_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::layout::{source, state, tick};
    use crate::write::{EPOCH, LogWriter};

    use super::*;

    #[test]
    fn the_header_is_read_back_as_written() {
        let mut log = LogWriter::new("alpha", 7, "/bin/x");
        log.set_arguments(&["x", "-v"]).set_parent(3).set_boot_id(*b"0123456789abcdef");
        log.set_source(source::PACKETS).set_namespace(0x1_0000_0002).set_state(state::EXITED);
        log.set_cgroup("0::/a.service\n").set_pid_namespace(4_026_531_836);
        log.set_resources().set_snippets().set_words_left_out().set_recording(*b"fedcba9876543210");
        log.set_start(500).set_epoch(EPOCH + 1).set_ancestors("1:5:init,x:6:no,3:17:a:b");
        let Ok(header) = parse_header(&log.to_bytes()) else { panic!("no header") };
        let start = Anchor { ticks: 500, monotonic: 500, realtime: EPOCH + 501 };
        let expected = LogHeader {
            tick_clock: tick::MONOTONIC,
            pid: 7,
            parent_pid: 3,
            uid: 0,
            start,
            boot_id: *b"0123456789abcdef",
            state: state::EXITED,
            lost: [0; lost::CAUSES],
            limit: 0,
            keeps_newest: false,
            has_positions: false,
            source: source::PACKETS,
            namespace: 0x1_0000_0002,
            pid_namespace: 4_026_531_836,
            cgroup: "0::/a.service\n".into(),
            ancestors: vec![
                Ancestor { pid: 1, start: 5, name: "init".into() },
                Ancestor { pid: 3, start: 17, name: "a:b".into() },
            ],
            without_log: 0,
            resources: true,
            heads: true,
            recording: RecordingId::new(*b"fedcba9876543210"),
            leaves_out_words: true,
            chunks: 0,
            host: "alpha".into(),
            says: None,
            executable: "/bin/x".into(),
            arguments: vec!["x".into(), "-v".into()],
        };
        assert_eq!(header, expected);
    }

    #[test]
    fn a_log_without_source_and_namespace_is_from_the_library() {
        let header = parse_header(&LogWriter::new("alpha", 7, "/bin/x").to_bytes());
        assert!(header.is_ok_and(|header| header.source == source::LIBRARY
            && header.namespace == 0
            && header.recording.is_none()
            && !header.leaves_out_words
            && header.cgroup.is_empty()));
    }

    #[test]
    fn a_log_in_a_host_directory_belongs_to_that_host() {
        let header_at = |named: &str, path: &str| {
            let Ok(mut header) = parse_header(&LogWriter::new(named, 7, "/bin/x").to_bytes())
            else {
                panic!("no header")
            };
            header.set_host_from_path(Path::new(path));
            (header.host, header.says)
        };
        let is = |host: &str, says: Option<&str>| (host.to_owned(), says.map(str::to_owned));
        assert_eq!(header_at("victim", "data/hosts/other/1-1.sclog"), is("other", Some("victim")));
        assert_eq!(header_at("", "hosts/other/1-1.sclog"), is("other", None));
        assert_eq!(header_at("other", "hosts/other/1-1.sclog"), is("other", None));
        for path in ["1-1.sclog", "other/1-1.sclog", "hosts/1-1.sclog", "hosts/a/b/1-1.sclog"] {
            assert_eq!(header_at("victim", path), is("victim", None), "{path}");
        }
        // As the library writes them: the directory's name has no slash, and the header has room
        // for 127 bytes.
        assert_eq!(header_at("a/b", "hosts/a_b/1-1.sclog"), is("a_b", None));
        let long = "x".repeat(140);
        assert_eq!(header_at(&long[..127], &format!("hosts/{long}/1-1.sclog")), is(&long, None));
    }
}
