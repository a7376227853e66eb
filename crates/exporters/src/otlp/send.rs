//! Client of a collector over HTTP (OTLP/HTTP with protobuf), request by request, with the retries
//! that the specification asks for. A temporary error is retried; any other is reported with a
//! hint.

use std::time::Duration;

use prost::Message;
use ureq::Agent;

use super::messages::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use super::request_sink::RequestSink;
use crate::error::{Error, SendError};
use crate::tuning::{
    FIRST_WAIT, MAX_ANSWER_BYTES, MAX_ANSWER_SHOWN, MAX_TRIES, MAX_WAIT, REQUEST_TIMEOUT,
};

/// The path of traces below the address of a collector.
const TRACES_PATH: &str = "/v1/traces";
/// The number of attempts for a request, and the waits between them. Each wait is twice as long as
/// the last.
#[derive(Clone, Copy, Debug)]
pub(super) struct RetryPolicy {
    /// Maximum number of attempts, at least 1.
    pub(super) tries: u32,
    /// The wait before the second attempt.
    pub(super) wait: Duration,
}

impl RetryPolicy {
    /// The wait after `tries` attempts. `asked` is the wait that the collector requested in its
    /// last response.
    fn wait_time(&self, tries: u32, asked: Option<Duration>) -> Duration {
        let doubled = || self.wait.saturating_mul(2_u32.saturating_pow(tries.saturating_sub(1)));
        asked.unwrap_or_else(doubled).min(MAX_WAIT)
    }
}

impl Default for RetryPolicy {
    fn default() -> RetryPolicy {
        RetryPolicy { tries: MAX_TRIES, wait: FIRST_WAIT }
    }
}

/// A collector that receives spans.
#[derive(Debug)]
pub(super) struct CollectorClient {
    agent: Agent,
    url: String,
    headers: Vec<(String, String)>,
    retries: RetryPolicy,
    /// The number of spans that the collector rejected, and its reason.
    pub(super) rejected: (i64, String),
}

impl CollectorClient {
    /// The collector at `address`. The path of traces may be omitted; each of `headers` is
    /// `KEY=VALUE`.
    ///
    /// # Errors
    /// When the address or a header is malformed. Nothing is sent yet.
    pub(super) fn new(
        address: &str,
        headers: &[String],
        retries: RetryPolicy,
    ) -> Result<CollectorClient, SendError> {
        let wrong = || SendError::Address(address.to_owned());
        let uri: ureq::http::Uri = address.parse().map_err(|_| wrong())?;
        if !matches!(uri.scheme_str(), Some("http" | "https"))
            || uri.host().is_none_or(str::is_empty)
        {
            return Err(wrong());
        }
        let path = if uri.path() == "/" && uri.query().is_none() { TRACES_PATH } else { "" };
        let url = format!(
            "{}{path}",
            if path.is_empty() { address } else { address.trim_end_matches('/') }
        );
        let header = |text: &String| {
            let (key, value) =
                text.split_once('=').ok_or_else(|| SendError::Header(text.clone()))?;
            let is_valid = ureq::http::HeaderName::try_from(key.trim()).is_ok()
                && ureq::http::HeaderValue::try_from(value.trim()).is_ok();
            let parts = (key.trim().to_owned(), value.trim().to_owned());
            is_valid.then_some(parts).ok_or_else(|| SendError::Header(text.clone()))
        };
        let config = Agent::config_builder()
            .timeout_global(Some(REQUEST_TIMEOUT))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("sockcap/", env!("CARGO_PKG_VERSION")))
            .build();
        let headers = headers.iter().map(header).collect::<Result<_, _>>()?;
        Ok(CollectorClient {
            agent: config.into(),
            url,
            headers,
            retries,
            rejected: (0, String::new()),
        })
    }

    /// Sends a request once; this is attempt number `tries`. Returns `None` if the request was
    /// accepted. Otherwise it may be retried, and the result is the wait that the collector
    /// requested, if any, and the cause of the failure. An error is permanent.
    fn send_once(
        &mut self,
        body: &[u8],
        tries: u32,
    ) -> Result<Option<(Option<Duration>, String)>, SendError> {
        let mut request =
            self.agent.post(&self.url).header("content-type", "application/x-protobuf");
        for (key, value) in &self.headers {
            request = request.header(key, value);
        }
        let mut answer = match request.send(body) {
            Ok(answer) => answer,
            Err(ureq::Error::BadUri(_) | ureq::Error::Http(_)) => {
                return Err(SendError::Address(self.url.clone()));
            }
            Err(error @ (ureq::Error::Tls(_) | ureq::Error::Rustls(_))) => {
                return Err(SendError::Unreachable {
                    url: self.url.clone(),
                    why: error.to_string(),
                    tries,
                });
            }
            Err(error) => return Ok(Some((None, error.to_string()))),
        };
        let status = answer.status().as_u16();
        let after =
            answer.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
        let text = answer
            .body_mut()
            .with_config()
            .limit(MAX_ANSWER_BYTES)
            .read_to_vec()
            .unwrap_or_default();
        match status {
            200..=299 => {
                let partial = ExportTraceServiceResponse::decode(&text[..])
                    .ok()
                    .and_then(|r| r.partial_success);
                if let Some(partial) = partial.filter(|partial| partial.rejected_spans > 0) {
                    self.rejected.0 = self.rejected.0.saturating_add(partial.rejected_spans);
                    self.rejected.1 = partial.error_message;
                }
                Ok(None)
            }
            429 | 502..=504 => {
                Ok(Some((after.map(Duration::from_secs), format!("it answered {status}"))))
            }
            _ => Err(SendError::Refused {
                url: self.url.clone(),
                status,
                reason: answer_line(&text),
                hint: status_hint(status),
            }),
        }
    }
}

impl CollectorClient {
    /// Checks that the collector rejected no spans of the requests that it accepted. `url` is the
    /// address as the user wrote it.
    ///
    /// # Errors
    /// When the collector rejected some spans.
    pub(super) fn check_all_accepted(self, url: &str) -> Result<(), Error> {
        match self.rejected {
            (..=0, _) => Ok(()),
            (spans, reason) => {
                let reason = if reason.is_empty() { reason } else { format!(": {reason}") };
                Err(Error::Rejected { url: url.to_owned(), spans, reason })
            }
        }
    }
}

impl RequestSink for CollectorClient {
    fn take_request(&mut self, request: &ExportTraceServiceRequest) -> Result<(), Error> {
        let body = request.encode_to_vec();
        let mut tries = 1;
        loop {
            let Some((after, why)) = self.send_once(&body, tries)? else { return Ok(()) };
            if tries >= self.retries.tries {
                return Err(SendError::Unreachable { url: self.url.clone(), why, tries }.into());
            }
            std::thread::sleep(self.retries.wait_time(tries, after));
            tries += 1;
        }
    }

    fn finish(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

/// The response of a collector on one line. It may be a page, or a protobuf that contains a
/// readable text.
fn answer_line(answer: &[u8]) -> String {
    let text = String::from_utf8_lossy(answer);
    let words: Vec<&str> = text.split(|c: char| c.is_control() || c.is_whitespace()).collect();
    let line: String = words
        .into_iter()
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .take(MAX_ANSWER_SHOWN)
        .collect();
    if line.is_empty() { line } else { format!(": {line}") }
}

fn status_hint(status: u16) -> &'static str {
    match status {
        401 | 403 => {
            "give the header that it requires with --header, such as \
                      'authorization=Bearer TOKEN'"
        }
        404 | 405 => "give the complete path if it does not accept traces at /v1/traces",
        413 => "let it accept larger requests: a batch has 1000 spans",
        300..=399 => "give the address that it redirects to",
        _ => "see its own log",
    }
}

#[cfg(test)]
#[path = "send_tests.rs"]
mod tests;
