//! Floor 1, the C library: interposed functions of libc, their types, and `errno`.

pub(crate) mod errno;
pub(crate) mod functions;
mod interposed;
pub(crate) mod types;

pub(crate) use functions::real;
pub(crate) use interposed::interposed;
