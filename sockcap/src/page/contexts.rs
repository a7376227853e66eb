//! The contexts of a page: the profile of the requests.

use report::page::{MoreByCommand, PageContexts, RequestsBy};
use request_flow::{requests_of_messages, requests_of_paths};

use super::profile;
use crate::arguments::Inference;
use crate::error::Error;
use crate::output::say;
use crate::shown::{Shown, Source};
use crate::stages;
use crate::tuning::MIN_STEPS_OF_KEPT_PROFILE;

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
    let profile = profile::of(&shown.data, MIN_STEPS_OF_KEPT_PROFILE)?;
    let again = shown.again();
    let more = MoreByCommand {
        contexts: format!("sockcap contexts{again}"),
        instances: (!is_served).then(|| format!("sockcap view{again}")),
        steps: format!("sockcap export steps{again}"),
    };
    let contexts = PageContexts::of(&profile, more);
    let examples = contexts.requests();
    let requests = match shown.source {
        Source::Messages => RequestsBy::Path(requests_of_paths(&shown.data, &examples)?),
        Source::Spans => RequestsBy::Message(requests_of_messages(&shown.data, &examples)?),
    };
    Ok(Some(contexts.known(requests)))
}
