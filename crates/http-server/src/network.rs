//! Networks: the unit by which the number of connections is limited.

use std::net::{IpAddr, Ipv4Addr};

/// Network of a client: an IPv4 address, or the 64 bits of IPv6 that a provider gives to one
/// customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClientNetwork {
    /// An IPv4 address, including one that is mapped to IPv6 (`::ffff:192.0.2.1`).
    V4(Ipv4Addr),
    /// The first eight bytes of an IPv6 address.
    V6([u8; 8]),
}

impl From<IpAddr> for ClientNetwork {
    fn from(address: IpAddr) -> ClientNetwork {
        match address.to_canonical() {
            IpAddr::V4(address) => ClientNetwork::V4(address),
            IpAddr::V6(address) => {
                let [a, b, c, d, e, f, g, h, ..] = address.octets();
                ClientNetwork::V6([a, b, c, d, e, f, g, h])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network_of(text: &str) -> ClientNetwork {
        text.parse::<IpAddr>().unwrap().into()
    }

    #[test]
    fn a_customer_of_ipv6_is_one_network_and_a_mapped_address_is_its_ipv4() {
        assert_eq!(network_of("2001:db8:1:2::1"), network_of("2001:db8:1:2:ffff:ffff:ffff:ffff"));
        assert_ne!(network_of("2001:db8:1:2::1"), network_of("2001:db8:1:3::1"));
        assert_eq!(network_of("::ffff:192.0.2.1"), network_of("192.0.2.1"));
        assert_ne!(network_of("::ffff:192.0.2.1"), network_of("::ffff:192.0.2.2"));
        assert_ne!(network_of("192.0.2.1"), network_of("192.0.2.2"));
    }
}
