//! What an exporter says of itself.

/// The name of an exporter, and what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Description {
    /// The name by which a user asks for it.
    pub name: &'static str,
    /// What it writes, in one line without a full stop.
    pub summary: &'static str,
    /// The tools that open it; empty for tables, which many tools open.
    pub opened_by: &'static str,
}
