//! Heads: what is kept of the bytes of a conversation.
//!
//! The fuzz target of heads takes this in as its own, without the tests.

#[path = "../../src/flows/heads/behind.rs"]
mod behind;
#[allow(dead_code, reason = "the library begins anew in the place of another flow")]
#[path = "../../src/flows/heads/conversation.rs"]
mod conversation;
#[path = "../../src/flows/heads/direction.rs"]
mod direction;
#[path = "../../src/flows/heads/fields.rs"]
mod fields;
#[path = "../../src/flows/heads/form.rs"]
mod form;
#[path = "../../src/flows/heads/hpack.rs"]
mod hpack;
#[path = "../../src/flows/heads/http1.rs"]
mod http1;
#[path = "../../src/flows/heads/http2.rs"]
mod http2;
#[path = "../../src/flows/heads/lines.rs"]
mod lines;
#[path = "../../src/flows/heads/marks.rs"]
mod marks;
#[path = "../../src/flows/heads/newlines.rs"]
mod newlines;
#[path = "../../src/flows/heads/opening.rs"]
mod opening;
#[path = "../../src/flows/heads/pieces.rs"]
mod pieces;
#[allow(dead_code, reason = "the library asks more of it")]
#[path = "../../src/flows/heads/records.rs"]
mod records;
#[path = "../../src/flows/heads/redis.rs"]
mod redis;
#[path = "../../src/flows/heads/sink.rs"]
mod sink;
#[path = "../../src/flows/heads/usual.rs"]
mod usual;

#[cfg(test)]
mod any_bytes;
#[cfg(test)]
mod encrypted;
#[cfg(test)]
mod frames;
#[path = "heads/fuzz.rs"]
pub(crate) mod fuzz;
#[cfg(test)]
mod of_http1;
#[cfg(test)]
mod pipelines;
#[cfg(test)]
mod places;
#[cfg(test)]
mod queries;
#[path = "heads/talk.rs"]
mod talk;
#[cfg(test)]
mod whole;
#[cfg(test)]
mod words;
