//! `import events`: JSON, an object a line, and CSV with a header. Which of them a file is, its
//! first byte tells.

mod column;
mod csv;
mod json;
mod log;
mod moment;
mod row;
mod spec;

pub(crate) use spec::EVENTS;
