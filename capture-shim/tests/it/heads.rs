//! Heads: the bytes of a conversation that are kept.
//!
//! The fuzz target of heads includes this file, without the tests.

#[path = "../../src/flows/message_snippets/body_framing.rs"]
mod body_framing;
#[allow(dead_code, reason = "the library begins anew in the place of another flow")]
#[path = "../../src/flows/message_snippets/conversation.rs"]
mod conversation;
#[path = "../../src/flows/message_snippets/direction.rs"]
mod direction;
#[path = "../../src/flows/message_snippets/fields.rs"]
mod fields;
#[path = "../../src/flows/message_snippets/form.rs"]
mod form;
#[path = "../../src/flows/message_snippets/hpack.rs"]
mod hpack;
#[path = "../../src/flows/message_snippets/http1.rs"]
mod http1;
#[path = "../../src/flows/message_snippets/http2.rs"]
mod http2;
#[path = "../../src/flows/message_snippets/lines.rs"]
mod lines;
#[path = "../../src/flows/message_snippets/marks.rs"]
mod marks;
#[path = "../../src/flows/message_snippets/newlines.rs"]
mod newlines;
#[path = "../../src/flows/message_snippets/opening.rs"]
mod opening;
#[path = "../../src/flows/message_snippets/pieces.rs"]
mod pieces;
#[allow(dead_code, reason = "the library asks more of it")]
#[path = "../../src/flows/message_snippets/records.rs"]
mod records;
#[path = "../../src/flows/message_snippets/redis.rs"]
mod redis;
#[path = "../../src/flows/message_snippets/sink.rs"]
mod sink;
#[path = "../../src/flows/message_snippets/usual.rs"]
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
