//! A name lookup is a hop of its own, and not its caller's own time: on real sockets, in a separate
//! network with a name server that takes 20 ms.

use std::fs;
use std::process::{Command, Stdio};

use end_to_end::capture::{program_path, run_successfully};
use end_to_end::command::assert_succeeds;
use end_to_end::{repository, sockcap_program};
use serde_json::Value;

const REQUESTS: u64 = 20;

/// The hops of the most frequent pattern, in which the server looks a name up for each request. The
/// name server is either recorded too or not.
fn lookup_hops(with_server: bool) -> Vec<Value> {
    let directory = tempfile::tempdir().unwrap();
    let resolv = directory.path().join("resolv.conf");
    fs::write(&resolv, "nameserver 127.0.0.1\noptions timeout:5\n").unwrap();
    let lookups = repository().join("tests/programs/name_lookups.py");
    let lookups = lookups.to_str().unwrap();
    let server =
        if with_server { "" } else { "/usr/bin/python3 \"$2\" dns & server=$!; sleep 0.3;" };
    let (stop, more) = if with_server { ("", "dns") } else { ("kill $server;", "") };
    let script = format!(
        "mount --bind \"$1\" /etc/resolv.conf && ip link set lo up || exit; {server}\
         \"$3\" record -- /usr/bin/python3 \"$2\" front {REQUESTS} {more}; status=$?; {stop} exit $status"
    );
    let mut command = Command::new(program_path("unshare"));
    command.args(["--mount", "--net", "sh", "-c", &script, "sh"]);
    command.args([resolv.to_str().unwrap(), lookups, sockcap_program().to_str().unwrap()]);
    run_successfully(command.current_dir(directory.path()).stdin(Stdio::null()));
    let json = assert_succeeds(
        &["report", "--json", "--sort", "count", "--node", "process"],
        directory.path(),
    );
    let json: Value = serde_json::from_str(&json).unwrap();
    let pattern = &json["patterns"][0];
    assert!(pattern["count"].as_u64().unwrap() >= REQUESTS - 1, "{pattern}");
    pattern["hops"].as_array().unwrap().clone()
}

/// The mean of a field of a hop, in milliseconds.
fn mean_of_hop(hop: &Value, what: &str) -> f64 {
    hop[what].as_f64().unwrap_or_else(|| panic!("no {what}: {hop}")) / 1e6
}

fn is_lookup(hop: &Value, side: &str) -> bool {
    hop[side].as_str().is_some_and(|name| name.contains("name lookup"))
}

#[test]
fn a_lookup_is_a_hop() {
    let hops = lookup_hops(false);
    assert_eq!(hops.len(), 4, "asked, looking up, looked up, answered: {hops:?}");
    assert!(is_lookup(&hops[1], "dst") && hops[1]["dst_port"] == "getaddrinfo", "{}", hops[1]);
    assert!(is_lookup(&hops[2], "src"), "{}", hops[2]);
    let looked_up = mean_of_hop(&hops[2], "untraced_mean");
    assert!(looked_up > 19.0, "{looked_up} ms");
    // The server's own work is a sleep of 5 ms before the lookup, and nothing after it.
    let own = mean_of_hop(&hops[1], "node_mean") + mean_of_hop(&hops[3], "node_mean");
    assert!(own > 5.0 && own < 0.8 * looked_up, "{own} ms of its own, {looked_up} ms looking up");
}

#[test]
fn a_recorded_name_server_is_part_of_the_path() {
    let hops = lookup_hops(true);
    let to_server =
        hops.iter().filter(|hop| is_lookup(hop, "src") && hop["protocol"] == "udp").count();
    let answers =
        hops.iter().filter(|hop| is_lookup(hop, "dst") && hop["protocol"] == "udp").count();
    assert_eq!((hops.len(), to_server, answers), (6, 1, 1), "{hops:?}");
}
