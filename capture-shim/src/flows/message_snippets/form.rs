//! Form of bytes, which determines the path that handles them.

/// Form of the next bytes, judged by the state before them and by their beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransferForm {
    /// Bytes that may begin with a usual head.
    Head,
    /// Bytes that may be one message of Redis.
    Redis,
    /// Frames of HTTP/2, from the beginning of one on.
    Frames,
    /// Bytes of a turn.
    Words,
    /// Bytes that are left out, at least at the beginning.
    LeftOut,
    /// Bytes that may be anything.
    Any,
}
