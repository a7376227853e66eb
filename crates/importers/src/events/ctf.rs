//! `import ctf`: traces of LTTng and other tools in the Common Trace Format, through the program
//! babeltrace2, whose text is parsed.

mod child;
mod fields;
mod line;
mod repair;
mod spec;
mod streams;

pub(crate) use spec::CTF;
