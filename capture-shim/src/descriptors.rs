//! Layer 4, descriptors: kind and flow of each descriptor of the process, and facts about sockets.

mod nature;
pub(crate) mod non_sockets;
pub(crate) mod remembered_sockets;
mod socket_name;
pub(crate) mod table;

pub(crate) use nature::SocketNature;
pub(crate) use socket_name::RawSocketName;
