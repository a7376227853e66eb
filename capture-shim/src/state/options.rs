//! Options: what is recorded in addition to messages, which programs and ports are recorded, and
//! the maximum size of a log.
//!
//! They are read once, at load, from the variables that `docs/capture.md` describes. An invalid
//! value counts as absent: a recording that is larger than desired is better than none.

use socket_log::layout::{CHUNK_BYTES, snippet};

use super::settings;
use crate::platform::text::file_name;
use crate::platform::{InitOnce, raw};
use crate::tuning::{MAX_PORTS, MAX_WORD_BYTES, MIN_LOG_BYTES, WORD_BYTES};

/// Whether files, sleeps and hand-offs between threads are recorded, too: true in
/// `libsockcap_resources.so`, which is built from the same sources.
pub(crate) const RESOURCES: bool = cfg!(feature = "resources");

/// Options, in a form that is fast to query.
pub(crate) struct RecordingOptions {
    /// Largest size of a process's log, in bytes of whole chunks.
    pub(crate) max_bytes: u64,
    /// Whether a full log continues in place of its oldest part, instead of ending.
    pub(crate) keeps_newest: bool,
    /// Whether the time is recorded during which threads wait for descriptors.
    pub(crate) waits: bool,
    /// Whether each message is followed by the thread's CPU time.
    pub(crate) cpu: bool,
    /// Number of bytes at the beginning of each direction of a stream that the recorded checksum
    /// covers; 0 for none.
    pub(crate) fingerprint: u32,
    /// Whether snippets are all that is recorded of streams in addition to their messages.
    pub(crate) watches_heads_alone: bool,
    /// Number of bytes at the beginning of each message in which rare words are searched; 0 for
    /// none.
    pub(crate) words: u16,
    /// Whether rare words are all that is recorded of streams in addition to their messages.
    pub(crate) watches_words_alone: bool,
    /// Classes of snippets that are kept (see [`snippet`]), a bit for each.
    heads: u8,
    /// The only ports that are recorded, in the first `port_count` places; if there are none, all
    /// ports are recorded.
    ports: [u16; MAX_PORTS],
    /// Number of the ports.
    port_count: usize,
}

/// Options of this process.
static OPTIONS: InitOnce<RecordingOptions> = InitOnce::new(RecordingOptions {
    max_bytes: u64::MAX,
    keeps_newest: false,
    waits: false,
    cpu: false,
    fingerprint: 0,
    watches_heads_alone: false,
    words: 0,
    watches_words_alone: false,
    heads: 0,
    ports: [0; MAX_PORTS],
    port_count: 0,
});

/// Options of this process.
#[inline(always)]
pub(crate) fn recording_options() -> &'static RecordingOptions {
    OPTIONS.get()
}

/// Reads the options from the environment.
pub(crate) fn read_options() {
    let [max_bytes, when_full, waits, cpu, fingerprint, ports, _] =
        core::array::from_fn(|index| settings::option_value(index).unwrap_or(b""));
    let mut options = RecordingOptions {
        max_bytes: parse_size(max_bytes).unwrap_or(u64::MAX).max(MIN_LOG_BYTES)
            & !(CHUNK_BYTES as u64 - 1),
        keeps_newest: when_full == b"newest",
        waits: RESOURCES || is_on(waits),
        cpu: is_on(cpu),
        fingerprint: parse_size(fingerprint).map_or(0, |bytes| bytes.min(1 << 30) as u32),
        watches_heads_alone: false,
        words: settings::option_value(settings::WORDS).map_or(WORD_BYTES, parse_words),
        watches_words_alone: false,
        heads: settings::option_value(settings::PROTOCOLS).map_or(0, parse_classes),
        ports: [0; MAX_PORTS],
        port_count: 0,
    };
    let numbers = ports
        .split(|byte| *byte == b',')
        .filter_map(parse_size)
        .filter_map(|port| u16::try_from(port).ok());
    for (place, port) in options.ports.iter_mut().zip(numbers) {
        *place = port;
        options.port_count += 1;
    }
    let is_plain = !options.cpu && !options.keeps_newest && options.fingerprint == 0;
    options.watches_heads_alone = is_plain && options.keeps_any_snippets() && options.words == 0;
    options.watches_words_alone = is_plain && options.words != 0 && !options.keeps_any_snippets();
    // SAFETY: the constructor runs before the program has a second thread.
    unsafe { OPTIONS.set(options) };
}

impl RecordingOptions {
    /// Limit of the log's size as its header states it, in bytes; 0 without a limit.
    pub(crate) fn log_limit(&self) -> u64 {
        if self.max_bytes > i64::MAX as u64 { 0 } else { self.max_bytes }
    }

    /// Whether only some ports are recorded.
    #[inline(always)]
    pub(crate) fn filters_ports(&self) -> bool {
        self.port_count > 0
    }

    /// Whether flows of this port are recorded.
    pub(crate) fn selects_port(&self, port: u16) -> bool {
        self.ports.iter().take(self.port_count).any(|selected| *selected == port)
    }

    /// Whether anything is recorded of a stream in addition to its messages.
    pub(crate) fn watches_streams(&self) -> bool {
        self.cpu
            || self.fingerprint > 0
            || self.keeps_newest
            || self.words > 0
            || self.keeps_any_snippets()
    }

    /// Whether anything is recorded of a socket in addition to its datagrams.
    pub(crate) fn watches_datagrams(&self) -> bool {
        self.cpu || self.words > 0 || self.keeps_any_snippets()
    }

    /// Whether snippets are kept.
    pub(crate) fn keeps_any_snippets(&self) -> bool {
        self.heads != 0
    }

    /// Whether snippets of the class `class` are kept, one of [`snippet`].
    #[inline(always)]
    pub(crate) fn keeps_snippets(&self, class: u8) -> bool {
        self.heads >> class & 1 != 0
    }
}

/// Whether this program is to be recorded: by the name of its file, by the name of its first
/// argument, or by its name in the kernel (which for a script is the script's name).
pub(crate) fn selects_this_command() -> bool {
    let Some(list) = settings::option_value(6).filter(|list| !list.is_empty()) else { return true };
    let mut path = [0; 4096];
    let length = raw::readlink(c"/proc/self/exe", &mut path);
    let executable = file_name(path.get(..length).unwrap_or(&[]));
    let mut arguments = [0; 4096];
    let first = file_name(read_until(c"/proc/self/cmdline", &mut arguments, 0));
    let mut comm = [0; 32];
    let comm = read_until(c"/proc/self/comm", &mut comm, b'\n');
    list.split(|byte| *byte == b',').filter(|name| !name.is_empty()).any(|name| {
        // The kernel's name has at most 15 bytes.
        name == executable || name == first || name.get(..15).unwrap_or(name) == comm
    })
}

/// Whether the tasks of the runtime `name` are followed: unless the user's value is off, or names
/// the runtime with a minus sign.
pub(crate) fn follows_runtime(name: &[u8]) -> bool {
    let value = settings::option_value(settings::RUNTIMES).unwrap_or(b"");
    let is_left_out = |part: &[u8]| part.strip_prefix(b"-") == Some(name);
    value.is_empty() || is_on(value) && !value.split(|byte| *byte == b',').any(is_left_out)
}

/// Beginning of the file `path`, up to the first byte `end`; empty if the file cannot be read.
fn read_until<'buffer>(
    path: &core::ffi::CStr,
    buffer: &'buffer mut [u8],
    end: u8,
) -> &'buffer [u8] {
    let Ok(file) = raw::open(path, libc::O_RDONLY | libc::O_CLOEXEC, 0) else { return &[] };
    let length = file.read(buffer);
    buffer.get(..length).unwrap_or(&[]).split(|byte| *byte == end).next().unwrap_or(&[])
}

/// Whether a value turns an option on: any value except the empty one, `0`, `no`, `off` and
/// `false`.
fn is_on(value: &[u8]) -> bool {
    !matches!(value, b"" | b"0" | b"no" | b"off" | b"false")
}

/// Classes of snippets requested by a value of `SOCKCAP_PROTOCOLS`, a bit for each: all classes if
/// the value only turns snippets on, otherwise the classes of the named protocols. Protocols of the
/// last class cannot be distinguished yet.
fn parse_classes(value: &[u8]) -> u8 {
    const ALL: u8 = 1 << snippet::HTTP1 | 1 << snippet::HTTP2 | 1 << snippet::OTHER;
    if !is_on(value) {
        return 0;
    }
    if matches!(value, b"1" | b"yes" | b"on" | b"true" | b"all") {
        return ALL;
    }
    let class = |name: &[u8]| match name {
        b"" => 0,
        b"http" => 1 << snippet::HTTP1 | 1 << snippet::HTTP2,
        b"http1" | b"websocket" => 1 << snippet::HTTP1,
        b"http2" | b"grpc" => 1 << snippet::HTTP2,
        _ => 1 << snippet::OTHER,
    };
    value.split(|byte| *byte == b',').map(class).fold(0, |all, class| all | class)
}

/// Number of bytes of each message in which words are searched, from a value of `SOCKCAP_WORDS`: a
/// number of bytes, or whether they are searched at all.
fn parse_words(value: &[u8]) -> u16 {
    match parse_size(value) {
        _ if !is_on(value) => 0,
        Some(bytes @ 2..) => bytes.min(MAX_WORD_BYTES) as u16,
        _ => WORD_BYTES,
    }
}

/// Parses a number, with an optional suffix K, M or G for the powers of 1024.
fn parse_size(text: &[u8]) -> Option<u64> {
    let (digits, shift) = match text.split_last()? {
        (b'k' | b'K', digits) => (digits, 10),
        (b'm' | b'M', digits) => (digits, 20),
        (b'g' | b'G', digits) => (digits, 30),
        _ => (text, 0),
    };
    let mut number = 0u64;
    for digit in digits {
        let value = digit.wrapping_sub(b'0');
        if value > 9 {
            return None;
        }
        number = number.checked_mul(10)?.checked_add(value.into())?;
    }
    (!digits.is_empty()).then(|| number.checked_mul(1 << shift))?
}
