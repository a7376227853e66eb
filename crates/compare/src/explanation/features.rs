//! Features: properties of a request, each a number or a text.

use request_flow::{NameId, Request, StepResource};

/// A feature of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum RequestFeature {
    /// Number of requests that are open when this one begins.
    OpenRequests,
    /// Number of requests that began in the second before this one.
    RecentRequests,
    /// Second of the day, in UTC.
    TimeOfDay,
    /// Host of the node that calls the root.
    CallerHost,
    /// A feature of the step at a place.
    Step(u32, StepFeature),
}

/// A feature of a step.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum StepFeature {
    /// Size of the call, in bytes.
    BytesIn,
    /// Size of the response, in bytes.
    BytesOut,
    /// Time spent on a resource.
    Spent(StepResource),
    /// Bytes read from and written to files.
    DiskBytes,
    /// Host of the step.
    Host,
    /// A parameter by its name.
    Parameter(String),
}

/// The value of a feature.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum FeatureValue {
    Number(f64),
    Text(String),
}

impl RequestFeature {
    /// The name by which a user excludes the feature.
    pub(super) fn name(&self) -> &str {
        match self {
            RequestFeature::OpenRequests => "open_requests",
            RequestFeature::RecentRequests => "recent_requests",
            RequestFeature::TimeOfDay => "time_of_day",
            RequestFeature::CallerHost => "caller_host",
            RequestFeature::Step(_, StepFeature::BytesIn) => "bytes_in",
            RequestFeature::Step(_, StepFeature::BytesOut) => "bytes_out",
            RequestFeature::Step(_, StepFeature::Spent(resource)) => resource.column_name(),
            RequestFeature::Step(_, StepFeature::DiskBytes) => "disk_bytes",
            RequestFeature::Step(_, StepFeature::Host) => "host",
            RequestFeature::Step(_, StepFeature::Parameter(name)) => name,
        }
    }
}

impl RequestFeature {
    /// Whether the feature's values are identifiers.
    pub(super) fn is_identifier(&self) -> bool {
        matches!(self, RequestFeature::Step(_, StepFeature::Parameter(name)) if is_name(name))
    }
}

/// Whether numbers of this parameter are names: their order has no meaning.
fn is_name(parameter: &str) -> bool {
    ["id", "pid", "port"].iter().any(|end| {
        let rest = parameter.strip_suffix(end);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with(['.', '_', '-']))
    })
}

/// Whether numbers of this parameter are codes of an outcome, such as 404: their order has no
/// meaning, but each means the same in all recordings.
fn is_code(parameter: &str) -> bool {
    parameter.ends_with("status_code") || parameter == "sockcap.status"
}

/// Calls `each` for the features of the step of a request at a place.
pub(super) fn for_each_step_feature(
    request: &Request,
    step: usize,
    place: u32,
    name_of: &dyn Fn(NameId) -> String,
    each: &mut dyn FnMut(RequestFeature, FeatureValue),
) {
    let Some(of) = request.steps.get(step) else { return };
    let sizes = [
        (StepFeature::BytesIn, of.bytes_in),
        (StepFeature::BytesOut, of.bytes_out),
        (StepFeature::DiskBytes, of.disk_bytes),
    ];
    let spent =
        StepResource::ALL.map(|resource| (StepFeature::Spent(resource), resource.time_in_step(of)));
    for (what, size) in sizes.into_iter().chain(spent) {
        if let Some(size) = size {
            each(RequestFeature::Step(place, what), FeatureValue::Number(size as f64));
        }
    }
    if of.host != request_flow::NameInterner::UNKNOWN {
        each(RequestFeature::Step(place, StepFeature::Host), FeatureValue::Text(name_of(of.host)));
    }
    for (name, value) in request.parameters.of_step(step) {
        let name = name_of(name);
        let number = value.parse().ok().filter(|number: &f64| number.is_finite());
        let value = match number {
            Some(number) if !is_name(&name) && !is_code(&name) => FeatureValue::Number(number),
            _ => FeatureValue::Text(value.to_owned()),
        };
        each(RequestFeature::Step(place, StepFeature::Parameter(name)), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_codes() {
        for name in ["http.response.status_code", "http.status_code", "db.response.status_code"] {
            assert!(is_code(name) && !is_name(name), "{name}");
        }
        assert!(!is_code("http.response.body.size") && !is_code("process.pid"));
    }

    #[test]
    fn numbers_that_are_names() {
        for name in ["thread.id", "process.pid", "server.port", "pid", "user_id"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["paid", "size", "valid", "http.response.body.size"] {
            assert!(!is_name(name), "{name}");
        }
    }
}
