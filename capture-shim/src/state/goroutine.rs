//! Goroutine that the calling thread runs, where the library was injected into a program of Go:
//! what runs in sequence there. A thread takes up whichever can go on.

/// Goroutine that records are of, until another is told of.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Goroutine {
    /// Number of the goroutine; 0 where records are of the thread itself.
    pub(crate) number: u64,
    /// Number of the goroutine that started it; 0 for none.
    pub(crate) creator: u64,
}
