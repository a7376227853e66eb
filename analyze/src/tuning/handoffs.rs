//! Tuned figures of the table of hand-offs.

/// Maximum number of hand-offs in a batch for each of its messages, so that memory is bounded. A
/// server in Python has 20 for each, nearly all of them for the lock of its interpreter.
pub(crate) const MAX_PER_MESSAGE: usize = 64;
