//! The three equivalences of calling contexts (section 3.2), each a partition of the one before it:
//!
//! | context | executions of one operation are equivalent | here |
//! |---|---|---|
//! | caller-context | if operations of one name call them | a pair of operations |
//! | stack-context | if the paths to their roots are equal | [`StackId`] |
//! | trace-context | if their traces are equal, and their positions in these |
//! [`PositionId`](crate::traces::PositionId) |
//!
//! A root's caller is the request's, where it is known, else the external one, `$`. Traces are
//! equal as well where concurrent calls ended by chance before others began: [`ContextsByKind`].

mod by_kind;
mod level;
mod stack_context;
mod trace_context;

pub use by_kind::ContextsByKind;
pub use level::ContextLevel;
pub use stack_context::{StackContexts, StackId};
pub use trace_context::TraceContexts;
