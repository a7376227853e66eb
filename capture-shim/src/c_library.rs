//! Floor 1, the C library: its functions that are interposed, their types, and `errno`.

pub(crate) mod errno;
pub(crate) mod functions;
mod interposed;
pub(crate) mod types;

pub(crate) use functions::real;
pub(crate) use interposed::interposed;
