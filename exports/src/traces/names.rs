//! The names that traces show: of a call, and of the node where it happens.

use analyze::calls::windows::{Party, TracedCall};

/// What a call is called: the callee and, where it is a server's, its port or other endpoint. There
/// are few of these, however many calls there are.
pub(crate) fn operation(call: &TracedCall<'_>, parties: &[Party]) -> String {
    let name = parties.get(call.callee).map_or("", |party| party.name.as_str());
    let Some(endpoint) = call.dst_endpoint.filter(|_| call.from_connecting) else {
        return name.to_owned();
    };
    match endpoint.parse::<std::net::SocketAddr>() {
        // A node that is known by its endpoint alone has the port in its name.
        Ok(_) if name == endpoint => name.to_owned(),
        Ok(address) => format!("{name}:{}", address.port()),
        // A socket without a name of its own is another one each time.
        Err(_) if name == endpoint || endpoint.starts_with("unix:#") => name.to_owned(),
        Err(_) => format!("{name} {endpoint}"),
    }
}

/// A node's name with its host and process, by which it is told from others of its name.
pub(crate) fn described(party: &Party) -> String {
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
    fn a_call_goes_by_the_callee_and_a_name_that_others_share() {
        let parties = testing::parties("web");
        let [call, .., lookup] = testing::calls()[..] else { panic!("there are calls") };
        let name = |dst_endpoint: Option<&'static str>, from_connecting| {
            operation(&TracedCall { dst_endpoint, from_connecting, ..call }, &parties)
        };
        assert_eq!(name(Some("[::1]:80"), true), "web:80");
        assert_eq!(name(Some("[::1]:80"), false), "web");
        assert_eq!(name(Some("unix:/run/web"), true), "web unix:/run/web");
        assert_eq!(name(Some("unix:#17"), true), "web");
        assert_eq!(name(None, true), "web");
        assert_eq!(operation(&lookup, &parties), "10.0.0.2:53");
    }
}
