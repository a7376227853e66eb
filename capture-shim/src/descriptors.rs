//! Floor 4, descriptors: what each descriptor of the process is, and what is known of a socket.

mod nature;
pub(crate) mod remembered;
mod socket_name;
pub(crate) mod table;

pub(crate) use nature::Nature;
pub(crate) use socket_name::Name;
