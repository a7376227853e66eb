//! `import events`: JSON with one object per line, and CSV with a header. The first byte of a file
//! determines which of the two it is.

mod column;
mod csv;
mod json;
mod log;
mod moment;
mod row;
mod spec;

pub(crate) use spec::EVENTS;
