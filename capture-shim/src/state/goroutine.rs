//! Goroutine that the calling thread runs, if the library was injected into a Go program, in which
//! a goroutine is what runs sequentially. A thread takes up whichever goroutine is ready.

/// Goroutine of the following records, until another one is recorded.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Goroutine {
    /// Number of the goroutine; 0 if records are of the thread itself.
    pub(crate) number: u64,
    /// Number of the goroutine that started this one; 0 for none.
    pub(crate) creator: u64,
}
