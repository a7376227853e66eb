//! Copies of one packet: seen by several sniffers under other names, on both interfaces of a
//! router, or by one sniffer twice; and equal packets that are different ones.

use super::bench::*;
use super::wire::*;

#[test]
fn translated_addresses_are_found_by_equal_packets() {
    // A load balancer passes data for the virtual address on to a server, under a name of its own.
    const VIRTUAL: &str = "10.0.0.1:80";
    const GATEWAY: &str = "10.1.0.1:61000";
    const BEHIND: &str = "10.1.0.2:8080";
    let (mut client, mut server) =
        (Sniffer::new(Link::Ethernet), Sniffer::new(Link::Ethernet).ahead(50 * MS));
    let mut connection = Connection::new(CLIENT, VIRTUAL);
    let mut send = |time: i64, from: usize, flags, payload: &[u8]| {
        let near = connection.packet(from, flags, payload);
        let mut far = near.clone();
        let (gateway, backend) = (end(GATEWAY), end(BEHIND));
        // The server sees other ends, and everything that was passed on has a hop less to go.
        (far.source, far.destination) =
            if from == 0 { (gateway, backend) } else { (backend, gateway) };
        let [to, back] = [far.source.port().to_be_bytes(), far.destination.port().to_be_bytes()];
        far.body[..2].copy_from_slice(&to);
        far.body[2..4].copy_from_slice(&back);
        let (mut near, mut far) = (near, far);
        if from == 0 {
            far.ttl -= 1
        } else {
            near.ttl -= 1
        }
        let (at_client, at_server) = if from == 0 { (time, time + MS) } else { (time + MS, time) };
        client.see(at_client, &near);
        server.see(at_server, &far);
    };
    send(0, 0, SYN, &[]);
    send(2 * MS, 1, SYN | ACK, &[]);
    send(4 * MS, 0, ACK, &[]);
    send(10 * MS, 0, PUSH | ACK, &[1; 100]);
    send(20 * MS, 1, PUSH | ACK, &[2; 300]);
    let outcome = Bench::from_sniffers(&[("client.pcap", &client), ("server.pcap", &server)]).run();
    assert_eq!(
        outcome.lines(),
        [
            "client/client => server/server:8080 100 10000 61000",
            "server/server:8080 -> client/client 300 70000 21000"
        ]
    );
    assert_eq!(outcome.endpoints()[0], format!("{CLIENT} > {BEHIND}"));
    assert!(
        outcome.has_note("flows with translated addresses, named by their ends' own: 1"),
        "{:?}",
        outcome.summary.notes
    );
}

#[test]
fn a_router_sees_each_packet_twice() {
    // One sniffer on both interfaces of a router that translates: still one message each.
    let mut router = Sniffer { format: FORMATS[5], ..Sniffer::new(Link::Ethernet) };
    let mut connection = Connection::new(CLIENT, "10.0.0.1:80");
    for (time, from, flags, payload) in [
        (0, 0, SYN, 0),
        (1, 1, SYN | ACK, 0),
        (3, 0, PUSH | ACK, 100),
        (4, 1, PUSH | ACK, 300),
        (5, 0, ACK, 0),
    ] {
        let before = connection.packet(from, flags, &vec![5; payload]);
        let mut backend = before.clone();
        let server = end("10.1.0.2:80");
        if from == 0 {
            backend.destination = server;
            backend.ttl -= 1;
            router.see_on(0, time * MS, &before);
            router.see_on(1, time * MS + 5_000, &backend);
        } else {
            backend.source = server;
            backend.ttl += 1;
            router.see_on(1, time * MS, &backend);
            router.see_on(0, time * MS + 5_000, &before);
        }
    }
    let outcome = Bench::from_sniffers(&[("router.pcapng", &router)]).run();
    assert_eq!(
        outcome.lines(),
        [
            "10.0.0.9/10.0.0.9 => 10.1.0.2/10.1.0.2:80 100 3000 3000",
            "10.1.0.2/10.1.0.2:80 -> 10.0.0.9/10.0.0.9 300 4000 4000"
        ]
    );
}

#[test]
fn copies_of_a_datagram_are_one_and_equal_datagrams_are_several() {
    let question = |id| Packet { id, ..udp("10.0.0.9:4000", "10.0.0.1:53", b"question") };
    let mut sniffer = Sniffer { format: FORMATS[5], ..Sniffer::new(Link::Ethernet) };
    // Seen on two interfaces; sent again; and sent again by a system that does not number packets.
    sniffer.see_on(0, 0, &question(7));
    sniffer.see_on(1, 1000, &question(7));
    sniffer.see_on(0, 20 * MS, &question(8));
    sniffer.see_on(0, 40 * MS, &question(0));
    sniffer.see_on(0, 60 * MS, &question(0));
    let outcome = Bench::from_sniffers(&[("x.pcap", &sniffer)]).run();
    let times: Vec<String> =
        outcome.lines().iter().map(|line| line.split(' ').nth(4).unwrap().to_owned()).collect();
    assert_eq!(times, ["0", "20000", "40000", "60000"]);
    assert_eq!(outcome.summary.skipped.causes["copies of a packet"], 1);
}
