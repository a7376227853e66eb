//! `import events`: JSON, an object a line, and CSV with a header. Which of them a file is, its
//! first byte tells.

mod column;
mod csv;
mod json;
mod kind;
mod log;
mod moment;
mod row;

pub(crate) use kind::EVENTS;
