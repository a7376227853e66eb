//! Floor 4, descriptors: kind and flow of each descriptor of the process, and facts about sockets.

mod nature;
pub(crate) mod other;
pub(crate) mod remembered;
mod socket_name;
pub(crate) mod table;

pub(crate) use nature::Nature;
pub(crate) use socket_name::Name;
