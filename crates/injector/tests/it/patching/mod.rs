//! Programs that are patched on disk and run.

mod counting;
mod embed;
mod go;
mod running;
