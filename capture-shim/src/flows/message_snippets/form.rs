//! Form of the next bytes of a direction, which determines the fast path that handles them.

/// Form of the next bytes of a direction, by the state before them and by their beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransferForm {
    /// Bytes that may begin with a usual head of HTTP/1.
    Head,
    /// Bytes that may be one message of Redis.
    Redis,
    /// Frames of HTTP/2, from the beginning of one on.
    Frames,
    /// Bytes of a turn (what one side sends until the other side sends) of an unknown protocol.
    Words,
    /// Bytes that are left out, at least at the beginning.
    LeftOut,
    /// Bytes that may be anything: no fast path handles them.
    Any,
}
