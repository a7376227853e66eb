//! `sockcap view`: serves the page of a data directory to the browser of this machine, in batches,
//! to every client with the token of its address.

mod redirect;
mod token;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;

use clap::Parser;
use registry::ShownDefault;
use std::sync::Arc;
use std::time::Duration;

use analyze::paths::{ChosenPatterns, PathFilter, PathPattern};
use http_server::{HttpAnswer, HttpRequest, HttpServer};
use report::page::{InstanceOrder, InstanceStore, PageData};
use report::{HtmlWriter, Options, SortKey};

use crate::arguments::values::sort_key_parser;
use crate::arguments::{DataArguments, InferenceArguments, SourceChoice};
use crate::command::{RunnableCommand, Subcommand};
use crate::error::CommandError;
use crate::output::print_message;
use crate::report_meta::{build_meta, rest_of_patterns};
use crate::signals::stop_on_signals_or_hangup;
use crate::tuning::{INSTANCES_PER_ANSWER, MAX_PATTERNS_SHOWN};
use crate::{lock, page, stages};
use redirect::BrowserRedirect;
use token::{PageToken, TokenPlace};

/// Default port of the page, fixed so that a link to it still works the next time.
const PORT: u16 = 9714;

const HELP: &str = "\
The page is served only to this machine, until Ctrl-C, and only to browsers
with the token in the printed address. It is the page that 'sockcap report'
writes, with every instance of every pattern, loaded on demand.

Examples:
  sockcap view
  sockcap view -d gathered --sort p99
  sockcap view --no-browser --port 8080
  ssh -t -L 9714:127.0.0.1:9714 far-away sockcap view --no-browser --port 9714";

/// Show the page of a report in the browser, with every instance
#[derive(Debug, Parser)]
#[command(name = "view", after_help = HELP)]
pub(crate) struct ViewCommand {
    #[command(flatten)]
    data: DataArguments,
    #[command(flatten)]
    source: SourceChoice,
    /// The key to rank the patterns by at first
    #[arg(
        long,
        value_name = "KEY",
        default_value_t,
        value_parser = sort_key_parser(),
        hide_possible_values = true
    )]
    sort: SortKey,
    /// The port to serve at; 0 for any free one
    #[arg(
        long,
        value_name = "PORT",
        add = ShownDefault::new(format_args!("{PORT}, or any if that is taken"))
    )]
    port: Option<u16>,
    /// Do not open the browser
    #[arg(long)]
    no_browser: bool,
    #[command(flatten)]
    inference: InferenceArguments,
}

pub(super) const COMMAND: Subcommand = Subcommand::with_arguments::<ViewCommand>();

impl RunnableCommand for ViewCommand {
    fn run(&self) -> Result<ExitCode, CommandError> {
        let server = bind_server(self.port)?;
        let address = server.address().map_err(CommandError::Output)?;
        let locks = lock::lock_directories(&[&self.data.data_dir()])?;
        let shown = self.source.choose_source(&self.data)?;
        let data = &shown.data;
        let summary = stages::ensure_analysis(&shown, &self.inference)?;
        let order = |one: &PathPattern, other: &PathPattern| self.sort.compare_patterns(one, other);
        let chosen = ChosenPatterns::read(data.patterns_path(), MAX_PATTERNS_SHOWN, order)?;
        let mut meta = build_meta(&shown, &summary)?;
        meta.rest = rest_of_patterns(&chosen);
        let options = Options { sort: self.sort, ..Options::default() };
        let report = report::Report::new(&chosen.patterns, meta);
        let mut instances = InstanceStore::new(report.meta.begin.unwrap_or_default());
        let page = page::read_page(
            &shown,
            &self.inference,
            &report,
            &options,
            &PathFilter::default(),
            Some(&mut instances),
        )?;
        // All served data is in memory, except for single instances.
        drop(locks);
        let frame = HtmlWriter.page_frame(&report).into_bytes().into();
        let token = PageToken::new(address.port()).map_err(CommandError::Output)?;
        let url = format!("http://{address}/?{}", token.query_text());
        let patterns = chosen.patterns.len();
        let pages = ViewPages { address, token, frame, patterns, page, instances };
        // The browser opens a file, which has to be removed, also when the terminal is closed.
        let stop = stop_on_signals_or_hangup()?;
        print_message(&format!("{} is shown at {url} until Ctrl-C", shown.whole.path().display()));
        let redirect = (!self.no_browser).then(|| open_browser(&url));
        server.run(|request| pages.reply_to(request), &stop);
        drop(redirect);
        Ok(ExitCode::SUCCESS)
    }
}

/// Opens the page in the browser, by a file that must exist as long as the page, or reports why
/// not.
fn open_browser(url: &str) -> Option<BrowserRedirect> {
    let redirect = BrowserRedirect::new(url).and_then(|redirect| {
        open::that_detached(redirect.path())?;
        Ok(redirect)
    });
    let failed = |error: &io::Error| {
        print_message(&format!("no browser could be opened ({error}): open {url} in a browser"))
    };
    redirect.inspect_err(failed).ok()
}

/// Listens at the requested port or, if none is requested, at the default port or else at any free
/// port.
fn bind_server(port: Option<u16>) -> Result<HttpServer, CommandError> {
    // Through a tunnel a response may take long.
    let patient = |server: HttpServer| server.with_deadline(Duration::from_secs(120));
    let at = |port: u16| HttpServer::bind((Ipv4Addr::LOCALHOST, port)).map(patient);
    let failed = |port: u16| move |source| CommandError::Port { port, source };
    match port {
        Some(port) => at(port).map_err(failed(port)),
        None => at(PORT).or_else(|_| at(0)).map_err(failed(0)),
    }
}

/// Response to clients without the token.
const NO_TOKEN: &str = "this page is for the user who started 'sockcap view': open the complete \
                        address that it has printed, with the token after '?', which differs each \
                        time";

/// All pages of the server.
struct ViewPages {
    address: SocketAddr,
    token: PageToken,
    /// The HTML page, which loads its data from the other addresses.
    frame: Arc<[u8]>,
    /// Number of patterns.
    patterns: usize,
    page: PageData,
    instances: InstanceStore,
}

impl ViewPages {
    fn reply_to(&self, request: &HttpRequest<'_>) -> HttpAnswer {
        const JSON: &str = "application/json";
        // A page from elsewhere with a name that resolves to this address must not read the data.
        if !request.is_for_this_server(&[]) {
            return HttpAnswer::refusal(421, &format!("this is http://{}/", self.address));
        }
        // Other users of this machine can reach the port, too.
        let shown = self.token.find_in(request);
        if shown == TokenPlace::Nowhere {
            return HttpAnswer::refusal(403, NO_TOKEN);
        }
        if request.method != "GET" {
            return HttpAnswer::refusal(405, "the page is read-only");
        }
        if shown == TokenPlace::InAddress && request.path == "/" {
            // From here on the browser has it in a cookie, and it is in no address.
            let (name, value) = self.token.cookie_pair();
            return HttpAnswer::redirect_with_cookie("/", name, value);
        }
        let nothing = || HttpAnswer::refusal(404, "there is nothing here; the page is at /");
        let parts: Vec<&str> = request.path.split('/').collect();
        match parts[..] {
            ["", ""] => HttpAnswer::with_body("text/html; charset=utf-8", self.frame.clone()),
            ["", "api", "overview"] => HttpAnswer::with_body(JSON, self.page.overview.clone()),
            ["", "api", "details", group] => parse_number(group)
                .and_then(|group| self.page.details.get(group))
                .map_or_else(nothing, |details| HttpAnswer::with_body(JSON, details.clone())),
            ["", "api", piece @ ("contexts" | "workload")] => {
                let page = &self.page;
                let found = if piece == "contexts" { &page.contexts } else { &page.workload };
                found
                    .as_ref()
                    .map_or_else(nothing, |found| HttpAnswer::with_body(JSON, found.clone()))
            }
            ["", "api", "place", rank, path] => {
                let known = parse_number(rank).filter(|rank| *rank < self.patterns);
                match known.zip(parse_number(path)) {
                    Some((rank, path)) => self.place_answer(rank, path, request.query),
                    None => nothing(),
                }
            }
            ["", "api", "instances", rank] => {
                match parse_number(rank).filter(|rank| *rank < self.patterns) {
                    Some(rank) => self.instances_answer(rank, request.query),
                    None => nothing(),
                }
            }
            _ => nothing(),
        }
    }

    fn instances_answer(&self, rank: usize, query: &str) -> HttpAnswer {
        let InstancesQuery { order, from } = match parse_query(query) {
            Ok(asked) => asked,
            Err(refusal) => return refusal,
        };
        match self.instances.to_json(rank, order, from, INSTANCES_PER_ANSWER) {
            Ok(json) => HttpAnswer::with_body("application/json", json),
            Err(error) => HttpAnswer::refusal(500, &error.to_string()),
        }
    }

    /// The index of a path among the instances of a pattern.
    fn place_answer(&self, rank: usize, path: usize, query: &str) -> HttpAnswer {
        let InstancesQuery { order, .. } = match parse_query(query) {
            Ok(asked) => asked,
            Err(refusal) => return refusal,
        };
        let path = i64::try_from(path).ok();
        let place = path.and_then(|path| self.instances.place_of_path(rank, order, path));
        let said = serde_json::json!({ "place": place });
        HttpAnswer::with_body("application/json", said.to_string().into_bytes())
    }
}

/// The parameters of a query for the instances of a pattern.
#[derive(Default)]
struct InstancesQuery {
    order: InstanceOrder,
    /// Number of the first requested instance.
    from: usize,
}

/// Parses the query of an address, or returns the refusal if it is invalid.
fn parse_query(query: &str) -> Result<InstancesQuery, HttpAnswer> {
    let mut asked = InstancesQuery::default();
    for (name, value) in query.split('&').filter_map(|said| said.split_once('=')) {
        match name {
            "order" => {
                let unknown = || HttpAnswer::refusal(400, "the order is time, slowest or likely");
                asked.order = InstanceOrder::from_name(value).ok_or_else(unknown)?;
            }
            "from" => {
                let unknown = || HttpAnswer::refusal(400, "from is a number");
                asked.from = parse_number(value).ok_or_else(unknown)?;
            }
            _ => {}
        }
    }
    Ok(asked)
}

/// A number in an address.
fn parse_number(text: &str) -> Option<usize> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use analyze::paths::{InstanceRow, TimedHop, TimedInstance};

    use super::*;

    fn sample_pages() -> ViewPages {
        ViewPages {
            address: "127.0.0.1:9714".parse().unwrap(),
            token: PageToken::new(9714).unwrap(),
            frame: b"<html>"[..].into(),
            patterns: 2,
            page: PageData {
                overview: b"{}".to_vec(),
                details: vec![b"[1]"[..].into()],
                contexts: Some(b"[2]"[..].into()),
                workload: Some(b"[3]"[..].into()),
            },
            instances: InstanceStore::new(0),
        }
    }

    /// The response to a browser that has the cookie.
    fn reply_with_cookie(
        pages: &ViewPages,
        method: &str,
        path: &str,
        host: Option<&str>,
    ) -> HttpAnswer {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let (name, value) = pages.token.cookie_pair();
        let cookie = format!("{name}={value}");
        let (cookie, reached) = (Some(cookie.as_str()), pages.address);
        pages.reply_to(&HttpRequest { method, path, query, host, cookie, reached })
    }

    fn ask_page(path: &str, host: Option<&str>) -> HttpAnswer {
        reply_with_cookie(&sample_pages(), "GET", path, host)
    }

    #[test]
    fn clients_without_the_token_get_nothing() {
        let pages = sample_pages();
        let ask = |method, path: &str, query: &str, cookie: Option<&str>| {
            let (host, reached) = (Some("localhost:9714"), pages.address);
            pages.reply_to(&HttpRequest { method, path, query, host, cookie, reached })
        };
        let refusal = HttpAnswer::refusal(403, NO_TOKEN);
        let (name, value) = pages.token.cookie_pair();
        let other = format!("{name}=0{}", &value[1..]);
        for path in ["/", "/api/overview", "/api/details/0", "/api/instances/1", "/nothing"] {
            for method in ["GET", "POST"] {
                assert_eq!(ask(method, path, "", None), refusal, "{path}");
                assert_eq!(ask(method, path, "token=", Some("")), refusal, "{path}");
                let wrong = if value.starts_with('0') { "sockcap-9714=1" } else { &other };
                assert_eq!(ask(method, path, "", Some(wrong)), refusal, "{path}");
            }
        }
        // The printed address gives the browser the cookie, and other programs the content.
        let query = pages.token.query_text().to_string();
        assert_eq!(
            ask("GET", "/", &query, None),
            HttpAnswer::redirect_with_cookie("/", name, value)
        );
        let overview = HttpAnswer::with_body("application/json", &b"{}"[..]);
        assert_eq!(ask("GET", "/api/overview", &query, None), overview);
    }

    #[test]
    fn batches_are_served_at_their_paths() {
        let host = Some("127.0.0.1:9714");
        assert_eq!(
            ask_page("/", host),
            HttpAnswer::with_body("text/html; charset=utf-8", &b"<html>"[..])
        );
        assert_eq!(
            ask_page("/api/overview", host),
            HttpAnswer::with_body("application/json", &b"{}"[..])
        );
        assert_eq!(
            ask_page("/api/details/0", host),
            HttpAnswer::with_body("application/json", &b"[1]"[..])
        );
        assert_eq!(
            ask_page("/api/contexts", host),
            HttpAnswer::with_body("application/json", &b"[2]"[..])
        );
        assert_eq!(
            ask_page("/api/workload", host),
            HttpAnswer::with_body("application/json", &b"[3]"[..])
        );
        let nowhere = HttpAnswer::with_body("application/json", &br#"{"place":null}"#[..]);
        assert_eq!(ask_page("/api/place/1/7?order=slowest", host), nowhere);
        let none = &br#"{"from":5,"all":0,"instances":[]}"#[..];
        assert_eq!(
            ask_page("/api/instances/1?order=likely&from=5", host),
            HttpAnswer::with_body("application/json", none)
        );
        let nothing = HttpAnswer::refusal(404, "there is nothing here; the page is at /");
        for path in [
            "/api",
            "/api/details/1",
            "/api/details/-1",
            "/api/details/",
            "/api/instances/2",
            "/api/place/2/7",
            "/api/place/1/-7",
            "/api/place/1",
            "//",
            "",
        ] {
            assert_eq!(ask_page(path, host), nothing, "{path}");
        }
        for path in [
            "/api/place/1/7?order=none",
            "/api/instances/1?order=none",
            "/api/instances/1?from=-1",
            "/api/instances/1?from=",
        ] {
            assert!(format!("{:?}", ask_page(path, host)).contains("400"), "{path}");
        }
    }

    #[test]
    fn instances_come_in_the_requested_order() {
        let mut pages = sample_pages();
        for (path, duration) in [(7, 10), (8, 30), (9, 20)] {
            let hop = TimedHop {
                parent: None,
                depth: 0,
                message: path,
                sent: Some(path),
                received: Some(path + duration),
                bytes: 1,
                connecting: 0,
                is_error: None,
            };
            let which = InstanceRow { path, pattern: 0, probability: 1.0 };
            pages.instances.add_instance(1, &TimedInstance { which, hops: &[hop] });
        }
        let piece = |order, from| {
            let json = pages.instances.to_json(1, order, from, INSTANCES_PER_ANSWER).unwrap();
            HttpAnswer::with_body("application/json", json)
        };
        assert_ne!(piece(InstanceOrder::Time, 0), piece(InstanceOrder::Slowest, 0));
        assert_eq!(pages.instances_answer(1, ""), piece(InstanceOrder::Time, 0));
        assert_eq!(
            pages.instances_answer(1, "order=slowest&from=1"),
            piece(InstanceOrder::Slowest, 1)
        );
        assert_eq!(pages.instances_answer(1, "from=2&order=time"), piece(InstanceOrder::Time, 2));
        let place = |path| pages.place_answer(1, path, "order=slowest");
        let at = |json: &str| HttpAnswer::with_body("application/json", json.as_bytes().to_vec());
        assert_eq!([place(8), place(7)], [at(r#"{"place":0}"#), at(r#"{"place":2}"#)]);
        (pages.page.contexts, pages.page.workload) = (None, None);
        let nothing = HttpAnswer::refusal(404, "there is nothing here; the page is at /");
        for path in ["/api/contexts", "/api/workload"] {
            assert_eq!(reply_with_cookie(&pages, "GET", path, Some("localhost")), nothing);
        }
    }

    #[test]
    fn only_requests_addressed_to_this_machine_are_answered() {
        let refusal = HttpAnswer::refusal(421, "this is http://127.0.0.1:9714/");
        for host in [
            None,
            Some(""),
            Some("example.com"),
            Some("example.com:9714"),
            Some("127.0.0.1.example.com:9714"),
            Some("localhost:x"),
        ] {
            assert_eq!(ask_page("/api/overview", host), refusal, "{host:?}");
        }
        for host in ["localhost:9714", "127.0.0.1:8080", "localhost"] {
            assert_ne!(ask_page("/api/overview", Some(host)), refusal, "{host}");
        }
    }

    #[test]
    fn the_page_is_read_only() {
        let refusal = HttpAnswer::refusal(405, "the page is read-only");
        assert_eq!(reply_with_cookie(&sample_pages(), "POST", "/", Some("localhost:1")), refusal);
    }
}
