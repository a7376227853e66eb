//! Unsupported link types, by their common names.

/// Number of a link type (tcpdump's `LINKTYPE_`) and its name.
const NAMES: &[(i32, &str)] = &[
    (6, "Token Ring"),
    (8, "SLIP"),
    (9, "PPP"),
    (10, "FDDI"),
    (50, "PPP in HDLC-like frames"),
    (51, "PPP over Ethernet"),
    (100, "IP over ATM"),
    (104, "Cisco HDLC"),
    (105, "IEEE 802.11"),
    (107, "Frame Relay"),
    (117, "OpenBSD pflog"),
    (119, "IEEE 802.11 with a Prism header"),
    (127, "IEEE 802.11 with a radiotap header"),
    (163, "IEEE 802.11 with an AVS header"),
    (187, "Bluetooth HCI"),
    (189, "USB"),
    (192, "per-packet information"),
    (195, "IEEE 802.15.4"),
    (201, "Bluetooth HCI"),
    (220, "USB"),
    (227, "CAN"),
    (231, "D-Bus"),
    (239, "Linux NFLOG"),
    (247, "InfiniBand"),
    (249, "USB"),
    (251, "Bluetooth Low Energy"),
    (253, "Linux netlink"),
    (254, "Bluetooth"),
];

/// Message that frames of the link type `number` are not supported, and which are.
pub(super) fn unsupported_link_name(number: i32) -> String {
    let name = NAMES.iter().find(|(known, _)| *known == number);
    let name = name.map_or_else(String::new, |(_, name)| format!(" ({name})"));
    format!(
        "link type {number}{name} is not supported; supported are Ethernet, Linux cooked captures, \
         raw IP and the loopback of BSD"
    )
}
