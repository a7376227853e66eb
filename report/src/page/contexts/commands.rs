//! Commands that show what the page has no room for.

use serde::Serialize;

/// Commands that show what the page has no room for.
#[derive(Clone, Debug, Default, Serialize)]
pub struct MoreByCommand {
    /// The one that shows all contexts.
    pub contexts: String,
    /// The one that shows all instances of patterns; `None` where the page has them itself.
    pub instances: Option<String>,
    /// The one that prints the steps of all requests as CSV, with the request's number first.
    pub steps: String,
}
