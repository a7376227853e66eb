//! Serves the figures to Prometheus over plain HTTP: `GET /metrics` and nothing else.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::atomic::AtomicBool;

use http_server::{HttpAnswer, HttpRequest};

use super::CollectorMetrics;

/// Default address of the server, reachable from this machine only.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:9713";

/// HTTP server for Prometheus.
#[derive(Debug)]
pub struct MetricsServer {
    server: http_server::HttpServer,
    /// Names of this server besides its addresses.
    names: Vec<String>,
}

impl MetricsServer {
    /// Listens at an address. Anyone who can reach it can read the figures: hosts' names and how
    /// much they send.
    ///
    /// # Errors
    /// Fails if the address is invalid, in use, or not of this machine.
    pub fn bind(address: impl ToSocketAddrs) -> io::Result<MetricsServer> {
        Ok(MetricsServer { server: http_server::HttpServer::bind(address)?, names: Vec::new() })
    }

    /// Adds names under which this server may be requested. By default a request has to name this
    /// machine (`localhost`) or the address that it reaches: a page in a browser on this machine
    /// could resolve its own name to this server, and read the figures.
    #[must_use]
    pub fn with_names(self, names: Vec<String>) -> MetricsServer {
        MetricsServer { names, ..self }
    }

    /// Address at which the server listens.
    ///
    /// # Errors
    /// Returns the error of the kernel.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.server.address()
    }

    /// Serves requests with the figures of `metrics` until `stop` is set.
    pub fn run(&self, metrics: &CollectorMetrics, stop: &AtomicBool) {
        self.server.run(|request| reply_to(request, &self.names, metrics), stop);
    }
}

fn reply_to(request: &HttpRequest<'_>, names: &[String], metrics: &CollectorMetrics) -> HttpAnswer {
    const KIND: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    if !request.is_for_this_server(names) {
        let why = "the request names another server; allow the name with --metrics-host NAME";
        return HttpAnswer::refusal(421, why);
    }
    match (request.path, request.method) {
        ("/metrics", "GET") => HttpAnswer::with_body(KIND, metrics.render_text().into_bytes()),
        ("/metrics", _) => HttpAnswer::refusal(405, "the figures are read-only: GET /metrics"),
        _ => HttpAnswer::refusal(404, "only /metrics is served here"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn the_figures_are_served_and_nothing_else() {
        let metrics = CollectorMetrics::new(None, &["tls"], &[]);
        metrics.host_connected("web1");
        let server = MetricsServer::bind("127.0.0.1:0").unwrap().with_names(vec!["figures".into()]);
        let (address, stop) = (server.address().unwrap(), AtomicBool::new(false));
        let ask = |(line, host): (&str, &str)| -> std::io::Result<String> {
            let mut stream = TcpStream::connect(address)?;
            stream.write_all(format!("{line}\r\nHost: {host}\r\n\r\n").as_bytes())?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok(answer)
        };
        const GET: &str = "GET /metrics HTTP/1.1";
        let answers = std::thread::scope(|scope| {
            scope.spawn(|| server.run(&metrics, &stop));
            let asked = [
                (GET, "127.0.0.1:9713"),
                ("POST /metrics HTTP/1.1", "localhost"),
                ("GET / HTTP/1.1", "localhost"),
                (GET, "figures:80"),
                (GET, "evil.example"),
                (GET, "127.0.0.1.evil.example:9713"),
            ];
            let answers = asked.map(ask);
            stop.store(true, Relaxed);
            answers
        });
        let [figures, posted, root, named, others @ ..] = answers.map(Result::unwrap);
        assert!(named.starts_with("HTTP/1.1 200 "), "{named}");
        // A page that resolves its own name to this address (DNS rebinding) learns nothing.
        for other in others {
            assert!(other.starts_with("HTTP/1.1 421 ") && !other.contains("web1"), "{other}");
        }
        let (head, body) = figures.split_once("\r\n\r\n").unwrap();
        assert!(
            head.contains("\r\nContent-Type: application/openmetrics-text; version=1.0.0"),
            "{head}"
        );
        assert!(
            body.contains("host_connected{host=\"web1\"} 1\n") && body.ends_with("# EOF\n"),
            "{body}"
        );
        assert!(posted.starts_with("HTTP/1.1 405 "), "{posted}");
        assert!(root.starts_with("HTTP/1.1 404 "), "{root}");
    }

    #[test]
    fn by_default_only_this_machine_is_served() {
        let address: SocketAddr = DEFAULT_ADDRESS.parse().unwrap();
        assert!(address.ip().is_loopback());
    }
}
