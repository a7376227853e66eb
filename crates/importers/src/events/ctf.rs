//! `import ctf`: traces of LTTng and other tools in the Common Trace Format, through the program
//! babeltrace2, whose text is parsed.

mod child;
mod fields;
mod kind;
mod line;
mod mend;
mod streams;

pub(crate) use kind::CTF;
