//! Layer 1, the C library: interposed functions of libc and of TLS libraries, their types, and
//! `errno`.

mod c_name;
pub(crate) mod errno;
pub(crate) mod functions;
mod interposed;
#[cfg(feature = "resources")]
mod interposed_for_resources;
pub(crate) mod linker;
pub(crate) mod objects;
#[cfg(feature = "injected")]
pub(crate) mod stand_ins;
pub(crate) mod tls;
pub(crate) mod types;

pub(crate) use functions::real;
#[cfg_attr(feature = "injected", allow(unused_imports, reason = "nothing is interposed"))]
pub(crate) use interposed::interposed;
#[cfg(feature = "resources")]
pub(crate) use interposed_for_resources::interposed_for_resources;
