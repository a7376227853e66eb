//! The contexts of a page: the profile of the requests.

use contexts::collect::Collected;
use contexts::identity::By;
use out_of_core::MemoryBudget;
use report::page::{MoreByCommand, PageContexts, RequestsBy};
use request_flow::tables::{Columns, RequestTables};
use request_flow::{requests_of_messages, requests_of_paths};

use crate::arguments::Inference;
use crate::error::Error;
use crate::output::say;
use crate::progress::Terminal;
use crate::shown::{Shown, Source};
use crate::stages;
use crate::tuning::RESPONSE_TIMES_IN_MEMORY_BYTES;

/// The contexts of the requests of what is shown. Where requests cannot be made, as nothing may be
/// written to the directory, a line says so, and there are none. A page that is served has all
/// instances itself.
///
/// # Errors
/// When the tables of requests cannot be read.
pub(super) fn of(
    shown: &Shown,
    inference: &Inference,
    is_served: bool,
) -> Result<Option<PageContexts>, Error> {
    if let Err(error) = stages::requests(shown, inference) {
        say(&format!("the page has no contexts: {error}"));
        return Ok(None);
    }
    let data = &shown.data;
    let tables = RequestTables::open(&data.requests(), &data.steps(), Columns::default())?;
    let budget = MemoryBudget::new(RESPONSE_TIMES_IN_MEMORY_BYTES);
    let progress = Terminal::new();
    let collected = Collected::read(&tables, By::Operation, &budget, data.path(), &progress)?;
    let profile = contexts::profile::profile(&collected, &budget, &progress)?.profile;
    let again = shown.again();
    let more = MoreByCommand {
        contexts: format!("sockcap contexts{again}"),
        instances: (!is_served).then(|| format!("sockcap view{again}")),
        steps: format!("sockcap export steps{again}"),
    };
    let contexts = PageContexts::of(&profile, more);
    let examples = contexts.requests();
    let requests = match shown.source {
        Source::Messages => RequestsBy::Path(requests_of_paths(data, &examples)?),
        Source::Spans => RequestsBy::Message(requests_of_messages(data, &examples)?),
    };
    Ok(Some(contexts.known(requests)))
}
