//! What the preloaded library logs of real programs, and that these do not notice it.

mod calls;
mod chroot;
mod complete;
mod confined;
mod cpython;
mod datagrams;
mod descriptors;
mod directory;
mod encrypted;
mod forgotten;
mod heads;
mod host;
mod languages;
mod limits;
mod musl;
mod options;
mod process;
mod reconnect;
mod recorder;
mod resources;
mod servers;
mod size;
mod sockets;
mod stack;
mod switches;
mod time;
