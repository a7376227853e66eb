//! Captures in any order, each in one file or in several, give the same messages.

use std::path::Path;

use message_trace::DataPath;
use message_trace::table::export::{TableFormat, export_table};
use proptest::prelude::*;
use reconcile::{Options, reconcile};

use super::bench::*;
use super::wire::*;

const HOSTS: [&str; 3] = ["10.0.0.1", "10.0.0.2", "10.0.0.3"];

/// Names of the hosts' sniffers, in another order than the hosts.
const NAMES: [&str; 3] = ["one", "two", "three"];

/// Connections, each a client and a server: the host and the port.
const CONNECTIONS: [[(usize, u16); 2]; 3] =
    [[(0, 40_000), (1, 80)], [(1, 40_001), (2, 5432)], [(0, 40_002), (2, 80)]];

/// Traffic between the hosts.
#[derive(Clone, Debug)]
enum Traffic {
    /// A request and its response, of these sizes, on this connection.
    Call(usize, [usize; 2]),
    /// A datagram from one host to another, of this size.
    Datagram(usize, usize, usize),
}

/// Captures of a sniffer on each host, with different clocks. No sniffer sees two packets at one
/// time.
fn capture(traffic: &[Traffic], link: Link) -> [Sniffer; 3] {
    let offsets = [0, 3_600_000 * MS, -7 * MS];
    let mut sniffers =
        [0, 1, 2].map(|host| Sniffer::new(link).on(&[HOSTS[host]]).ahead(offsets[host]));
    let name = |(host, port): (usize, u16)| format!("{}:{port}", HOSTS[host]);
    let mut connections =
        CONNECTIONS.map(|[client, server]| Connection::new(&name(client), &name(server)));
    let mut is_open = [false; 3];
    let mut time = 0;
    for (number, traffic) in traffic.iter().enumerate() {
        match *traffic {
            Traffic::Call(which, sizes) => {
                let [(client, _), (server, _)] = CONNECTIONS[which];
                let mut ends = sniffers.get_disjoint_mut([client, server]).unwrap();
                let mut packets = Vec::new();
                if !std::mem::replace(&mut is_open[which], true) {
                    packets.extend([(0, SYN, 0), (1, SYN | ACK, 0), (0, ACK, 0)]);
                }
                packets.extend([(0, PUSH | ACK, sizes[0]), (1, PUSH | ACK, sizes[1])]);
                for (from, flags, size) in packets {
                    time += 3 * MS;
                    let payload = vec![number as u8; size];
                    connections[which].send(time, from, flags, &payload, &mut ends);
                }
            }
            Traffic::Datagram(from, to, size) => {
                time += 3 * MS;
                let ends = [(from, 45_000), (to, 53)].map(name);
                let packet = udp(&ends[0], &ends[1], &vec![number as u8; size]);
                let packet = Packet { id: number as u16 + 1, ..packet };
                sniffers[from].see(time, &packet);
                sniffers[to].see(time + MS, &packet);
            }
        }
    }
    sniffers
}

/// Messages, nodes and clocks, as written, of captures that each belong to a host's sniffer; `None`
/// if nothing in them can be used.
fn tables(captures: &[(usize, Sniffer)]) -> Option<[String; 3]> {
    let mut bench = Bench::new();
    for (place, (host, capture)) in captures.iter().enumerate() {
        let file = capture.write(bench.directory.path(), &format!("{place}.pcap"));
        bench.packets.hosts.push((NAMES[*host].to_owned(), file));
    }
    bench.import().ok()?;
    let data = bench.data();
    reconcile(&data, &Options::default(), &()).unwrap();
    let table = |path: DataPath| {
        let mut text = Vec::new();
        export_table(path, TableFormat::Csv, &mut text, Path::new("x")).unwrap();
        String::from_utf8(text).unwrap()
    };
    let clocks = data.clocks_path().read_to_string().unwrap();
    Some([table(data.messages_path()), table(data.nodes_path()), clocks])
}

/// Either sniffer saw the only datagram, and nothing shows which is nearer to one of the hosts.
#[test]
fn of_sniffers_that_saw_the_same_the_first_by_name_times_the_hosts() {
    let [one, two, _] = capture(&[Traffic::Datagram(0, 1, 9)], Link::Ethernet);
    let found = tables(&[(0, one.clone()), (1, two.clone())]);
    assert!(found.is_some());
    assert_eq!(found, tables(&[(1, two), (0, one)]));
}

fn any_traffic() -> impl Strategy<Value = Vec<Traffic>> {
    let call = (0..3usize, 1..300usize, 1..1400usize)
        .prop_map(|(which, request, response)| Traffic::Call(which, [request, response]));
    let datagram = (0..3usize, 1..3usize, 8..40usize)
        .prop_map(|(from, step, size)| Traffic::Datagram(from, (from + step) % 3, size));
    prop::collection::vec(prop_oneof![call, datagram], 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..Default::default() })]

    #[test]
    fn captures_in_any_order_and_any_parts_are_one_import(
        traffic in any_traffic(),
        link in prop::sample::select(vec![Link::Ethernet, Link::Sll]),
        sniffed in 1..4usize,
        part_of_frame in prop::collection::vec(0..3usize, 1..20),
        order in Just((0..9usize).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let sniffers = capture(&traffic, link);
        let whole: Vec<(usize, Sniffer)> =
            sniffers.iter().cloned().enumerate().take(sniffed).collect();
        let parts = order.iter().map(|place| (place / 3, place % 3));
        let parts = parts.filter(|(host, _)| *host < sniffed).map(|(host, part)| {
            let all = sniffers[host].frames.iter().zip(part_of_frame.iter().cycle());
            let frames = all.filter(|(_, of)| **of == part).map(|(frame, _)| frame.clone());
            (host, Sniffer { frames: frames.collect(), ..sniffers[host].clone() })
        });
        prop_assert_eq!(tables(&whole), tables(&parts.collect::<Vec<_>>()));
    }
}
