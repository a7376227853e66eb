//! `import ctf`: traces of LTTng and other tools in the Common Trace Format, by parsing the text
//! output of the program babeltrace2.

mod child;
mod fields;
mod line;
mod repair;
mod spec;
mod streams;

pub(crate) use spec::CTF;
