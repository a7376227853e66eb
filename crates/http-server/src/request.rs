//! Request: what a client asks for, and by which name of this server.

use std::net::SocketAddr;

use crate::answer::HttpAnswer;

/// Request, with the parts that are used here (RFC 9112, section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpRequest<'a> {
    /// The method, such as `GET`.
    pub method: &'a str,
    /// The path as it was sent: `/metrics`.
    pub path: &'a str,
    /// Query: the text after the question mark.
    pub query: &'a str,
    /// Name by which the client knows this server: the field `Host`.
    pub host: Option<&'a str>,
    /// Cookies of the client: the field `Cookie`.
    pub cookie: Option<&'a str>,
    /// Address at which the client reached this server.
    pub reached: SocketAddr,
}

impl<'a> HttpRequest<'a> {
    /// Parses the request in a head that was received at the address `reached`.
    ///
    /// # Errors
    /// The answer that refuses an invalid request.
    pub(crate) fn parse_head(
        head: &'a str,
        reached: SocketAddr,
    ) -> Result<HttpRequest<'a>, HttpAnswer> {
        let mut lines = head.split("\r\n");
        let mut parts = lines.next().unwrap_or_default().split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(HttpAnswer::refusal(400, "not an HTTP request"));
        };
        if !version.starts_with("HTTP/1.") {
            return Err(HttpAnswer::refusal(400, "only HTTP/1 is supported"));
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let (mut host, mut cookie) = (None, None);
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            if name.eq_ignore_ascii_case("host") {
                // RFC 9112, section 3.2: with two `Host` fields, two readers may choose different
                // ones.
                if host.replace(value.trim()).is_some() {
                    return Err(HttpAnswer::refusal(400, "the request names two hosts"));
                }
            } else if name.eq_ignore_ascii_case("cookie") {
                cookie = Some(value.trim());
            }
        }
        Ok(HttpRequest { method, path, query, host, cookie, reached })
    }

    /// Whether the request is meant for this server: its `Host` is the address that it reached,
    /// this machine (`localhost` or a loopback address), or one of `names`. A foreign page can make
    /// its own name resolve to this machine (DNS rebinding), but its requests contain that name.
    /// Ports are not compared, since they differ through a tunnel.
    pub fn is_for_this_server(&self, names: &[String]) -> bool {
        let Some((name, port)) = self.host.and_then(split_port) else { return false };
        if port.is_some_and(|port| port.parse::<u16>().is_err()) {
            return false;
        }
        let name = name.strip_suffix('.').unwrap_or(name);
        match name.parse::<std::net::IpAddr>().map(|address| address.to_canonical()) {
            Ok(address) if address.is_loopback() => true,
            Ok(address) if address == self.reached.ip().to_canonical() => true,
            _ => {
                name.eq_ignore_ascii_case("localhost")
                    || names.iter().any(|known| known.eq_ignore_ascii_case(name))
            }
        }
    }
}

/// The name or address and the port of a field `Host`; an IPv6 address without its brackets.
fn split_port(host: &str) -> Option<(&str, Option<&str>)> {
    if let Some(rest) = host.strip_prefix('[') {
        let (address, rest) = rest.split_once(']')?;
        return match rest {
            "" => Some((address, None)),
            rest => Some((address, Some(rest.strip_prefix(':')?))),
        };
    }
    match host.split_once(':') {
        Some((name, port)) => Some((name, Some(port))),
        None => Some((host, None)),
    }
    .filter(|(name, _)| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_meant(host: Option<&str>, reached: &str) -> bool {
        let reached = reached.parse().unwrap();
        let (method, path, query, cookie) = ("GET", "/", "", None);
        let request = HttpRequest { method, path, query, host, cookie, reached };
        request.is_for_this_server(&["collector.example".to_owned()])
    }

    #[test]
    fn a_request_must_name_this_server() {
        for host in [
            "localhost",
            "LOCALHOST:80",
            "127.0.0.1:9714",
            "127.1.2.3",
            "[::1]:9714",
            "[::1]",
            "192.0.2.7:9713",
            "[::ffff:192.0.2.7]:9713",
            "collector.example",
            "Collector.Example.:9713",
        ] {
            assert!(is_meant(Some(host), "192.0.2.7:9713"), "{host}");
        }
        assert!(is_meant(Some("192.0.2.7"), "[::ffff:192.0.2.7]:9713"));
        assert!(is_meant(Some("[2001:db8::7]:1"), "[2001:db8::7]:9713"));
        for host in [
            "",
            ":80",
            "evil.example",
            "evil.example:9713",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "192.0.2.8",
            "localhost:x",
            "localhost:1:2",
            "[::1",
            "[::1]x",
            "[2001:db8::8]",
            "x@localhost",
            "collector.example.evil",
        ] {
            assert!(!is_meant(Some(host), "192.0.2.7:9713"), "{host}");
        }
        assert!(!is_meant(None, "192.0.2.7:9713"));
    }

    #[test]
    fn a_request_with_two_hosts_is_refused() {
        let reached = "127.0.0.1:1".parse().unwrap();
        let read = |head| HttpRequest::parse_head(head, reached);
        assert!(read("GET / HTTP/1.1\r\nHost: a\r\nHost: b").is_err());
        let request = read("GET /x?y HTTP/1.1\r\nhost:a \r\ncookie: k=v; l=w").unwrap();
        assert_eq!((request.host, request.cookie), (Some("a"), Some("k=v; l=w")));
        assert_eq!((request.path, request.query), ("/x", "y"));
    }
}
