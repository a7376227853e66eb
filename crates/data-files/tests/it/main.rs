//! Files below a data directory in which somebody else put links, FIFOs and other things.

mod links;
mod locks;
mod races;
