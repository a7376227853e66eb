//! The names of calls and nodes that traces show.

use analyze::calls::windows::{Party, TracedCall};

use super::operations::CallOperation;

/// The name of a call: its operation. If that is not known, the name of the callee and, if the
/// callee accepted the connection, its port or other endpoint. The number of names is small,
/// however many calls there are.
pub(crate) fn call_name(
    call: &TracedCall<'_>,
    parties: &[Party],
    operation: &CallOperation<'_>,
) -> String {
    if !operation.name().is_empty() {
        return operation.name().to_owned();
    }
    let name = parties.get(call.callee).map_or("", |party| party.name.as_str());
    let Some(endpoint) = call.dst_endpoint.filter(|_| call.from_connecting) else {
        return name.to_owned();
    };
    match endpoint.parse::<std::net::SocketAddr>() {
        // A node that is known by its endpoint only already has the port in its name.
        Ok(_) if name == endpoint => name.to_owned(),
        Ok(address) => format!("{name}:{}", address.port()),
        // A socket without a name has a different number each time.
        Err(_) if name == endpoint || endpoint.starts_with("unix:#") => name.to_owned(),
        Err(_) => format!("{name} {endpoint}"),
    }
}

/// The name of a node with its host and process, which distinguish nodes of the same name.
pub(crate) fn node_description(party: &Party) -> String {
    match party.pid {
        Some(pid) => format!("{} ({}, {pid})", party.name, party.host),
        None => party.name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traces::testing;

    #[test]
    fn a_call_is_named_by_the_callee_and_a_name_shared_with_others() {
        let parties = testing::parties("web");
        let [call, .., lookup] = testing::calls()[..] else { panic!("there are calls") };
        let name = |dst_endpoint: Option<&'static str>, from_connecting| {
            let call = TracedCall { dst_endpoint, from_connecting, ..call };
            call_name(&call, &parties, &CallOperation::default())
        };
        assert_eq!(name(Some("[::1]:80"), true), "web:80");
        assert_eq!(name(Some("[::1]:80"), false), "web");
        assert_eq!(name(Some("unix:/run/web"), true), "web unix:/run/web");
        assert_eq!(name(Some("unix:#17"), true), "web");
        assert_eq!(name(None, true), "web");
        assert_eq!(call_name(&lookup, &parties, &CallOperation::default()), "10.0.0.2:53");
        let operations = testing::operation_lookup(testing::operation_rows());
        assert_eq!(
            call_name(&call, &parties, &operations.operation_of_call(&call)),
            "GET /cart/{}"
        );
    }
}
