//! The three equivalences of calling contexts (trace-context profiling, section 3.2), each a
//! refinement of the previous one:
//!
//! | context | executions of one operation are equivalent | here |
//! |---|---|---|
//! | caller-context | if operations of one name call them | a pair of operations |
//! | stack-context | if the paths to their roots are equal | [`StackId`] |
//! | trace-context | if their traces are equal, and their positions in these | [`PositionId`] |
//!
//! A root's caller is the request's, if it is known, otherwise the external one, `$`. Traces are
//! also equal if concurrent calls ended by chance before others began: [`ContextsByKind`].
//!
//! [`PositionId`]: crate::traces::PositionId

mod by_kind;
mod level;
mod stack_context;
mod trace_context;

pub use by_kind::ContextsByKind;
pub use level::ContextLevel;
pub use stack_context::{StackContexts, StackId};
pub use trace_context::TraceContexts;
