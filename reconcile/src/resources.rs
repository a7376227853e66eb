//! What requests cost: the events of threads, files, sockets and locks that logs with resources
//! have, and who let whom go on.

mod handoffs;
mod threads;
