//! gRPC vocabulary: names of methods and statuses.

use crate::names;

/// Names of gRPC's status codes, by their numbers.
pub const GRPC_STATUSES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

/// Whether a content type is that of gRPC: `application/grpc`, `application/grpc+proto`.
pub(super) fn is_grpc(content_type: &[u8]) -> bool {
    let rest = content_type.strip_prefix(b"application/grpc");
    rest.is_some_and(|rest| !matches!(rest.first(), Some(byte) if !matches!(byte, b'+' | b';')))
}

/// Extracts `service/method` from a path. The path comes from a schema, so it is kept unchanged if
/// it has the form of a schema's names.
pub(super) fn method_name(path: &str) -> String {
    let name = path.strip_prefix('/').unwrap_or(path);
    let is_name = |part: &str| {
        let part = part.as_bytes();
        part.first().is_some_and(u8::is_ascii_alphabetic)
            && part.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    };
    match name.split_once('/') {
        Some((service, method))
            if service.split('.').all(is_name) && is_name(method) && name.len() <= 120 =>
        {
            name.to_owned()
        }
        _ => names::target_route(path).trim_start_matches('/').to_owned(),
    }
}

/// Name of a `grpc-status` value; an unknown number is kept.
pub(super) fn status_name(value: &[u8]) -> String {
    let number: Option<usize> = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
    match number {
        Some(number) => match GRPC_STATUSES.get(number) {
            Some(name) => (*name).to_owned(),
            None => number.min(9999).to_string(),
        },
        None => "UNKNOWN".to_owned(),
    }
}

/// Status that a client derives from a response that is not gRPC, by gRPC's published mapping.
pub(super) fn status_of_http(code: u16) -> &'static str {
    match code {
        400 => "INTERNAL",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "UNIMPLEMENTED",
        429 | 502..=504 => "UNAVAILABLE",
        _ => "UNKNOWN",
    }
}

/// Whether a status is the server's failure, by OpenTelemetry's gRPC conventions for the server's
/// span.
pub(super) fn is_error(status: &str) -> bool {
    matches!(
        status,
        "UNKNOWN"
            | "DEADLINE_EXCEEDED"
            | "UNIMPLEMENTED"
            | "INTERNAL"
            | "UNAVAILABLE"
            | "DATA_LOSS"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_types() {
        assert!(is_grpc(b"application/grpc") && is_grpc(b"application/grpc+proto"));
        assert!(!is_grpc(b"application/grpc-web") && !is_grpc(b"application/json"));
    }

    #[test]
    fn methods_have_a_schemas_form() {
        assert_eq!(
            method_name("/hipstershop.CartService/GetCart"),
            "hipstershop.CartService/GetCart"
        );
        assert_eq!(method_name("/user/alice@x/7"), "user/{}/{}");
    }

    #[test]
    fn statuses_have_names() {
        assert_eq!(
            [status_name(b"0"), status_name(b"14"), status_name(b"77")],
            ["OK", "UNAVAILABLE", "77"]
        );
        assert_eq!(status_name(b"alice"), "UNKNOWN");
        assert!(is_error("INTERNAL") && !is_error("NOT_FOUND") && !is_error("OK"));
    }
}
