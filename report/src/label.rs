//! The label of a hop on screen: `src → dst:port`, the protocol if it is known and not TCP, the
//! operation if it is known, and a diamond before an untraced node. The label is shortened to the
//! available width, so that both names stay recognisable.

use analyze::paths::Hop;
use message_trace::TransportProtocol;
use message_trace::units::{shorten_middle, to_printable};

use crate::hop_endpoints::HopEndpoints;

/// The signs of labels, so that labels can be ASCII.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LabelSigns {
    /// The sign between sender and receiver.
    pub(crate) arrow: &'static str,
    /// The sign before the name of an untraced node.
    pub(crate) untraced: &'static str,
    /// The sign in place of omitted characters.
    pub(crate) ellipsis: char,
}

/// The signs for terminals with Unicode.
pub(crate) const UNICODE: LabelSigns =
    LabelSigns { arrow: " → ", untraced: "◇", ellipsis: '…' };

/// The signs for terminals without Unicode.
pub(crate) const ASCII: LabelSigns = LabelSigns { arrow: " -> ", untraced: "<>", ellipsis: '~' };

/// The parts of a label, without control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HopLabel {
    /// The sender, with a sign if it was not traced.
    pub(crate) src: String,
    /// The receiver, with a sign if it was not traced.
    pub(crate) dst: String,
    /// The port after the name of the receiver: `:port`, ` path` or ` operation`; empty for an
    /// ephemeral port.
    pub(crate) port: String,
    /// The protocol with a space before it. It is empty for TCP, which the port implies, and for an
    /// unknown protocol.
    pub(crate) protocol: String,
    /// The operation, with a space before it. It is empty if the message has none.
    pub(crate) operation: String,
    arrow: &'static str,
    ellipsis: char,
}

impl HopLabel {
    /// The label of a hop with these ends.
    pub(crate) fn from_ends<'a>(ends: impl Into<HopEndpoints<'a>>, signs: LabelSigns) -> HopLabel {
        let hop = ends.into();
        let name = |name: &str, traced: bool| {
            format!("{}{}", if traced { "" } else { signs.untraced }, to_printable(name))
        };
        let is_path = hop.dst_port.starts_with("unix:");
        let port = match hop.dst_port {
            "" | "*" => String::new(),
            // A node that is known by its endpoint only already has the port in its name.
            port if hop.dst.strip_suffix(port).is_some_and(|name| name.ends_with(':')) => {
                String::new()
            }
            port if port.bytes().all(|byte| byte.is_ascii_digit()) => format!(":{port}"),
            port => format!(" {}", to_printable(port)),
        };
        let protocol = match hop.protocol {
            TransportProtocol::Tcp | TransportProtocol::Other => String::new(),
            _ if is_path => String::new(),
            protocol => format!(" {protocol}"),
        };
        HopLabel {
            src: name(hop.src, hop.src_traced),
            dst: name(hop.dst, hop.dst_traced),
            port,
            protocol,
            operation: hop
                .operation
                .map_or_else(String::new, |name| format!(" {}", to_printable(name))),
            arrow: signs.arrow,
            ellipsis: signs.ellipsis,
        }
    }

    /// The text after the receiver's name: its port, the protocol, and the operation.
    pub(crate) fn receiver_suffix(&self) -> String {
        format!("{}{}{}", self.port, self.protocol, self.operation)
    }

    /// The number of characters of the whole label.
    pub(crate) fn width(&self) -> usize {
        [&self.src, &self.dst, &self.port, &self.protocol, &self.operation]
            .into_iter()
            .map(|part| part.chars().count())
            .sum::<usize>()
            + self.arrow.chars().count()
    }

    /// The label in at most `width` characters. The operation and then the port are cut first,
    /// until the names have half of the room; then the longer name is shortened, then both.
    pub(crate) fn fit_width(&self, width: usize) -> String {
        let length = |text: &str| text.chars().count();
        let (mut port, mut protocol) = (self.port.clone(), self.protocol.clone());
        let mut operation = self.operation.clone();
        let names = |port: &str, protocol: &str, operation: &str| {
            let others = [self.arrow, port, protocol, operation].map(length);
            width.saturating_sub(others.iter().sum())
        };
        if self.width() > width && length(&operation) > 10 {
            let room = names(&port, &protocol, "");
            let left = room.saturating_sub(length(&self.src) + length(&self.dst));
            operation = shorten_middle(&operation, left.max(room / 2).max(10), self.ellipsis);
        }
        if self.width() > width && length(&port) > 10 {
            let room = names("", &protocol, &operation);
            let left = room.saturating_sub(length(&self.src) + length(&self.dst));
            port = shorten_middle(&port, left.max(room / 2).max(10), self.ellipsis);
        }
        if self.width() > width && names(&port, &protocol, &operation) < 8 {
            [&mut port, &mut protocol, &mut operation].into_iter().for_each(String::clear);
        }
        let room = names(&port, &protocol, &operation);
        let (src, dst) = (length(&self.src), length(&self.dst));
        let half = room / 2;
        let (src_room, dst_room) = if src + dst <= room {
            (src, dst)
        } else if src <= half {
            (src, room - src)
        } else if dst <= room - half {
            (room - dst, dst)
        } else {
            (half, room - half)
        };
        let fitted = format!(
            "{}{}{}{port}{protocol}{operation}",
            shorten_middle(&self.src, src_room, self.ellipsis),
            self.arrow,
            shorten_middle(&self.dst, dst_room, self.ellipsis),
        );
        shorten_middle(&fitted, width, self.ellipsis)
    }
}

/// The nodes of a path in the order in which the path first reaches them, at most `limit`. Each has
/// a flag for whether the path continues from the preceding node.
pub(crate) fn visited_nodes(hops: &[Hop], limit: usize) -> Vec<(&str, bool)> {
    let mut nodes: Vec<(&str, bool)> =
        hops.first().map(|root| (root.src.as_str(), false)).into_iter().collect();
    for hop in hops {
        if nodes.len() >= limit {
            break;
        }
        if !nodes.iter().any(|(name, _)| *name == hop.dst) {
            let goes_on = nodes.last().is_some_and(|(last, _)| *last == hop.src);
            nodes.push((&hop.dst, goes_on));
        }
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_reports;

    #[test]
    fn a_label_has_nodes_port_and_protocol() {
        let lookup = sample_reports::lookup_pattern();
        let text = |index: usize| HopLabel::from_ends(&lookup.hops[index], UNICODE).fit_width(80);
        assert_eq!(text(0), "◇CLIENT → nginx:8080");
        assert_eq!(text(2), "app.py → ◇10.0.0.2:53 udp");
        assert_eq!(text(4), "app.py → nginx");
        let mut hop = lookup.hops[2].clone();
        hop.dst_port = "GetCart".to_owned();
        assert_eq!(
            HopLabel::from_ends(&hop, UNICODE).fit_width(80),
            "app.py → ◇10.0.0.2 GetCart udp"
        );
        hop.dst_port = "53".to_owned();
        hop.dst = "10.0.0.2:53".to_owned();
        assert_eq!(HopLabel::from_ends(&hop, UNICODE).fit_width(80), "app.py → ◇10.0.0.2:53 udp");
        assert_eq!(
            HopLabel::from_ends(&lookup.hops[2], ASCII).fit_width(80),
            "app.py -> <>10.0.0.2:53 udp"
        );
    }

    #[test]
    fn the_operation_comes_last_and_is_cut_before_the_names() {
        let mut hop = sample_reports::lookup_pattern().hops[0].clone();
        hop.operation = Some("GET /cart/{}/items/{}/prices".to_owned());
        let fitted = |width| HopLabel::from_ends(&hop, UNICODE).fit_width(width);
        assert_eq!(fitted(80), "◇CLIENT → nginx:8080 GET /cart/{}/items/{}/prices");
        let short = fitted(40);
        assert!(short.starts_with("◇CLIENT → nginx:8080 GET /ca"), "{short}");
        assert_eq!(short.chars().count(), 40);
        assert_eq!(fitted(15), "◇CLIENT → nginx");
        hop.operation = Some("a\u{1b}[2J".to_owned());
        assert!(!HopLabel::from_ends(&hop, UNICODE).fit_width(80).contains('\u{1b}'));
    }

    #[test]
    fn each_node_is_listed_once() {
        let forked = sample_reports::forked_pattern();
        let met = [
            ("CLIENT", false),
            ("gateway", true),
            ("prices", true),
            ("stock", false),
            ("audit", false),
        ];
        assert_eq!(visited_nodes(&forked.hops, 10), met);
        assert_eq!(visited_nodes(&forked.hops, 2), met[..2]);
        assert_eq!(visited_nodes(&[], 10), []);
    }

    #[test]
    fn a_label_fits_any_width() {
        let mut hops = sample_reports::hostile_pattern().hops;
        hops[1].operation = Some("SELECT a_table_with_a_very_long_name another".to_owned());
        for hop in &hops {
            let label = HopLabel::from_ends(hop, UNICODE);
            for width in 0..150 {
                let fitted = label.fit_width(width);
                assert!(fitted.chars().count() <= width, "{width}: {fitted}");
                assert!(fitted.chars().all(|c| !c.is_control()));
            }
            assert_eq!(label.fit_width(200).chars().count(), label.width());
        }
    }
}
