//! Bounds of this crate. All are chosen, not measured: they keep the memory of a flow small, and
//! each is several times what usual programs need.

/// Maximum number of bytes of one HTTP/1 head that are examined together. Servers refuse longer
/// first lines.
pub(crate) const HTTP1_HEAD_BYTES: usize = 8 << 10;

/// Maximum number of bytes of one HTTP/2 frame that are examined together: the greatest length that
/// a peer may use by default, and the frame header.
pub(crate) const HTTP2_FRAME_BYTES: usize = 9 + (16 << 10);

/// Maximum number of bytes of an HTTP/2 header block over several frames.
pub(crate) const HTTP2_BLOCK_BYTES: usize = 16 << 10;

/// Maximum number of bytes of a header value that are kept; the rest of a longer value is not kept.
pub(crate) const HEADER_VALUE_BYTES: usize = 1 << 10;

/// Maximum number of entries of an HPACK table that are kept. The default table size of 4096 bytes
/// is at most 128 entries.
pub(crate) const HPACK_ENTRIES: usize = 256;

/// Maximum size of the values that are kept in an HPACK table, in bytes.
pub(crate) const HPACK_VALUE_BYTES: usize = 8 << 10;

/// Maximum number of open HTTP/2 streams of a flow that are remembered.
pub(crate) const OPEN_STREAMS: usize = 256;

/// Maximum number of bytes of a message that are examined together, in protocols other than HTTP.
/// At most 256 bytes of a turn are captured; a message that continues in the next turn has a few
/// more.
pub(crate) const OTHER_MESSAGE_BYTES: usize = 1 << 10;

/// Number of bytes that the library keeps of a turn (what one side sends until the other side
/// sends), in protocols other than HTTP.
pub(crate) const KEPT_TURN_BYTES: usize = 256;

/// Maximum number of bytes of a turn that recognition examines.
pub(crate) const OPENING_BYTES: usize = 512;

/// Maximum number of turns of a flow in which its protocol is recognised. A flow that is not
/// recognised by then most likely has no known protocol, and each further turn could only be
/// mistaken for one.
pub(crate) const OPENING_TURNS: u32 = 16;

/// Maximum number of segments of a path in a name.
pub(crate) const PATH_SEGMENTS: usize = 10;

/// Maximum length of a name, in bytes.
pub(crate) const NAME_BYTES: usize = 200;

/// Maximum length of a statement's detail, in bytes.
pub(crate) const DETAIL_BYTES: usize = 400;

/// Maximum number of bytes of a statement that are examined.
pub(crate) const STATEMENT_BYTES: usize = 4 << 10;

/// Maximum number of tables of a statement in a name.
pub(crate) const STATEMENT_TABLES: usize = 4;

/// Maximum number of prepared statements of a flow that are remembered.
pub(crate) const PREPARED_STATEMENTS: usize = 32;

/// Maximum number of unanswered requests of a flow that are remembered.
pub(crate) const MAX_UNANSWERED: usize = 64;
