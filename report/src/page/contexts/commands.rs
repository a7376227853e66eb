//! Commands that show data that do not fit into the page.

use serde::Serialize;

/// Commands that show data that the page has no room for.
#[derive(Clone, Debug, Default, Serialize)]
pub struct MoreByCommand {
    /// The command that shows all contexts.
    pub contexts: String,
    /// The command that shows all instances of patterns; `None` if the page has them itself.
    pub instances: Option<String>,
    /// The command that prints the steps of all requests as CSV, with the request's number first.
    pub steps: String,
}
