//! Bounds of this crate. All are chosen, not measured: they are what keeps the memory of a flow
//! small, and each is several times what usual programs need.

/// Most bytes of one HTTP/1 head that are looked at together. Servers refuse longer first lines.
pub(crate) const HTTP1_HEAD_BYTES: usize = 8 << 10;

/// Most bytes of one HTTP/2 frame that are looked at together: the greatest length that a peer may
/// use unasked, and the frame's head.
pub(crate) const HTTP2_FRAME_BYTES: usize = 9 + (16 << 10);

/// Most bytes of a block of HTTP/2 headers over several frames.
pub(crate) const HTTP2_BLOCK_BYTES: usize = 16 << 10;

/// Most bytes of one header's value that are kept; the rest of a longer one is not.
pub(crate) const HEADER_VALUE_BYTES: usize = 1 << 10;

/// Most entries of an HPACK table that are kept. 4096 bytes, which is what peers may use unasked,
/// are at most 128 entries.
pub(crate) const HPACK_ENTRIES: usize = 256;

/// Most bytes of values that are kept in an HPACK table.
pub(crate) const HPACK_VALUE_BYTES: usize = 8 << 10;

/// Most HTTP/2 streams of a flow that are open and remembered.
pub(crate) const OPEN_STREAMS: usize = 256;

/// Most bytes of a message of other protocols that are looked at together. A turn has at most 256
/// bytes that were kept, and one that goes on in the next turn has a few of these.
pub(crate) const OTHER_MESSAGE_BYTES: usize = 1 << 10;

/// Number of bytes of a turn that the library keeps, of protocols other than HTTP.
pub(crate) const KEPT_TURN_BYTES: usize = 256;

/// Most bytes of a turn that recognition looks at.
pub(crate) const OPENING_BYTES: usize = 512;

/// Most turns of a flow in which its protocol is looked for. What is not known by then is most
/// likely of none of them, and each further turn could only be mistaken for one.
pub(crate) const OPENING_TURNS: u32 = 16;

/// Most segments of a path that are named.
pub(crate) const PATH_SEGMENTS: usize = 10;

/// Greatest length of a name, in bytes.
pub(crate) const NAME_BYTES: usize = 200;

/// Greatest length of a statement's detail, in bytes.
pub(crate) const DETAIL_BYTES: usize = 400;

/// Most bytes of a statement that are looked at.
pub(crate) const STATEMENT_BYTES: usize = 4 << 10;

/// Most tables of a statement that are named.
pub(crate) const STATEMENT_TABLES: usize = 4;

/// Most prepared statements of a flow that are remembered.
pub(crate) const PREPARED_STATEMENTS: usize = 32;

/// Most questions of a flow that wait for an answer and are remembered.
pub(crate) const WAITING: usize = 64;
