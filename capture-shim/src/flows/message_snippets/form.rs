//! Form of bytes, which decides by what way they are passed.

/// Form of bytes that are about to be passed, by what came before and the first of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransferForm {
    /// Bytes that may begin with a usual head.
    Head,
    /// Bytes that may be one message of Redis.
    Redis,
    /// Frames of HTTP/2, from the beginning of one on.
    Frames,
    /// Words of a turn.
    Words,
    /// Bytes that are left out, or begin with such.
    LeftOut,
    /// Bytes that may be anything.
    Any,
}
