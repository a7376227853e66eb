//! The contexts of a page: the profile of the requests.

use report::page::{MoreByCommand, PageContexts, RequestsBy};
use request_flow::{requests_of_messages, requests_of_paths};

use super::profile;
use crate::arguments::InferenceArguments;
use crate::error::CommandError;
use crate::output::print_message;
use crate::shown::{PathSource, ShownData};
use crate::stages;
use crate::tuning::MIN_STEPS_OF_KEPT_PROFILE;

/// The contexts of the requests of the shown source. If requests cannot be made, because the
/// directory is not writable, a line reports it, and there are none. A page that is served has all
/// instances itself.
///
/// # Errors
/// When the tables of requests cannot be read.
pub(super) fn contexts_of_page(
    shown: &ShownData,
    inference: &InferenceArguments,
    is_served: bool,
) -> Result<Option<PageContexts>, CommandError> {
    if let Err(error) = stages::ensure_requests(shown, inference) {
        print_message(&format!("the page has no contexts: {error}"));
        return Ok(None);
    }
    let profile = profile::profile_of_page(&shown.data, MIN_STEPS_OF_KEPT_PROFILE)?;
    let again = shown.repeat_arguments();
    let more = MoreByCommand {
        contexts: format!("sockcap contexts{again}"),
        instances: (!is_served).then(|| format!("sockcap view{again}")),
        steps: format!("sockcap export steps{again}"),
    };
    let contexts = PageContexts::from_profile(&profile, more);
    let examples = contexts.example_requests();
    let requests = match shown.source {
        PathSource::Messages => RequestsBy::Path(requests_of_paths(&shown.data, &examples)?),
        PathSource::Spans => RequestsBy::Message(requests_of_messages(&shown.data, &examples)?),
    };
    Ok(Some(contexts.with_requests(requests)))
}
