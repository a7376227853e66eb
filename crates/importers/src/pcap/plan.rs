//! Capture plan: the host of each address, the sniffer with the clock for its packets (WAP5 section
//! 7), and the ports of services. The plan is made from all sniffers' indexes, between the two
//! passes over the captures.
//!
//! A sniffer on a node's own host or switch sees all of its packets, so the sniffer with most bytes
//! of a node provides its clock. If two see all of them, copies of the same packets show which is
//! nearer: packets from the node pass the nearer one first, packets to it pass the nearer one last,
//! whatever the clocks of the two.

use std::net::IpAddr;

use rustc_hash::{FxHashMap, FxHashSet};

use super::flow::{PacketFlowKey, is_group_address};
use super::headers::PacketEnd;
use super::index_pass::{AddressPackets, MidstreamConnection, SnifferIndex};
use super::roles::{self, InferredService};
use super::sniffer::Sniffer;
use super::translation::{AddressTranslations, CopyEvidence, SnifferDelay};
use crate::tuning::{AS_MUCH_SHARE, MAX_HOSTS, MAX_SERVICES};

/// Result of the planning.
#[derive(Debug, Default)]
pub(crate) struct CapturePlan {
    pub(crate) hosts: Vec<PlannedHost>,
    /// Host of each address except loopback ones.
    addresses: FxHashMap<IpAddr, u32>,
    /// Host that each sniffer is on, which has its loopback addresses.
    own: Vec<u32>,
    pub(crate) translations: AddressTranslations,
    /// For connections that are older than the captures: the sequence number of each end from which
    /// its bytes are counted.
    pub(crate) starts: FxHashMap<PacketFlowKey, [Option<u32>; 2]>,
    /// Number of addresses without a host, because there are too many.
    pub(crate) left_out: u64,
}

/// Host: one clock, and one or several nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlannedHost {
    pub(crate) name: String,
    /// Sniffer with the clock for the host's packets.
    pub(crate) sniffer: u32,
    /// Whether the sniffer that times the host's packets is on the host itself: incoming packets
    /// that it sees have arrived.
    pub(crate) near: bool,
    /// Ports of the host's services that are separate nodes.
    pub(crate) services: Vec<u16>,
    /// The only service of the host besides `services`, if it has one.
    pub(crate) service: Option<u16>,
    /// Ports of connections that are older than the captures, in order.
    pub(crate) listening: Vec<u16>,
}

impl CapturePlan {
    /// Host of `address` as the sniffer number `sniffer` sees it.
    pub(crate) fn host_of(&self, address: IpAddr, sniffer: u32) -> Option<u32> {
        if address.is_loopback() {
            return self.own.get(sniffer as usize).copied();
        }
        self.addresses.get(&address).copied()
    }

    /// Number and plan of the host at `address`, if its packets are timed by the clock of
    /// `sniffer`.
    pub(crate) fn timed_by(&self, address: IpAddr, sniffer: u32) -> Option<(u32, &PlannedHost)> {
        let host = self.host_of(address, sniffer)?;
        self.hosts
            .get(host as usize)
            .filter(|known| known.sniffer == sniffer)
            .map(|known| (host, known))
    }
}

/// Makes the plan. `named` are the user's names for addresses.
pub(crate) fn plan_hosts(
    sniffers: &[Sniffer],
    indexes: &[SnifferIndex],
    evidence: CopyEvidence,
    named: &[(String, IpAddr)],
) -> CapturePlan {
    let chooser = SnifferChooser::new(indexes, &evidence.delays);
    let mut plan = CapturePlan { translations: evidence.translations, ..CapturePlan::default() };
    let host = |name: &str, sniffer, near| PlannedHost {
        name: name.to_owned(),
        sniffer,
        near,
        services: Vec::new(),
        service: None,
        listening: Vec::new(),
    };
    for (number, sniffer) in (0..).zip(sniffers) {
        plan.own.push(number);
        plan.hosts.push(host(&sniffer.name, number, true));
    }
    let mut addresses: Vec<(u64, IpAddr)> = chooser.bytes_by_address();
    addresses.sort_by_key(|(bytes, address)| (std::cmp::Reverse(*bytes), *address));
    let names: FxHashMap<IpAddr, &str> =
        named.iter().map(|(name, ip)| (*ip, name.as_str())).collect();
    let mut by_name: FxHashMap<String, u32> =
        (0..).zip(sniffers).map(|(number, sniffer)| (sniffer.name.clone(), number)).collect();
    let choices: Vec<(IpAddr, SnifferChoice)> = addresses
        .iter()
        .filter_map(|(_, address)| Some((*address, chooser.choose_sniffer(*address)?)))
        .collect();
    let own = own_addresses(&chooser, &choices, &plan.translations);
    for (address, choice) in &choices {
        let name = match names.get(address) {
            Some(name) => (*name).to_owned(),
            None if own.contains(address) => sniffers
                .get(choice.sniffer as usize)
                .map_or_else(String::new, |sniffer| sniffer.name.clone()),
            None => address.to_string(),
        };
        let next = plan.hosts.len() as u32;
        let number = match by_name.get(&name) {
            Some(number) => *number,
            None if plan.hosts.len() >= MAX_HOSTS => {
                plan.left_out += 1;
                continue;
            }
            None => {
                plan.hosts.push(host(&name, choice.sniffer, choice.near));
                by_name.insert(name, next);
                next
            }
        };
        plan.addresses.insert(*address, number);
    }
    find_services(&mut plan, indexes);
    find_starts(&mut plan, indexes);
    plan
}

/// Chosen sniffer of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SnifferChoice {
    sniffer: u32,
    /// Whether the sniffer's frames show that the address is its own.
    certain: bool,
    /// Whether the sniffer is on the host itself.
    near: bool,
}

/// Addresses of the hosts on which sniffers run: their frames show it or, if they do not, all
/// packets of a family belong to one address, which has no nearer sniffer.
fn own_addresses(
    chooser: &SnifferChooser,
    choices: &[(IpAddr, SnifferChoice)],
    translations: &AddressTranslations,
) -> FxHashSet<IpAddr> {
    let aliases = translations.alias_addresses();
    let mut own: FxHashSet<IpAddr> =
        choices.iter().filter(|(_, choice)| choice.certain).map(|(address, _)| *address).collect();
    for sniffer in 0..chooser.indexes.len() as u32 {
        let mine = |choice: &SnifferChoice| choice.sniffer == sniffer;
        let certain = choices.iter().any(|(_, choice)| mine(choice) && choice.certain);
        if certain || chooser.knows_directions(sniffer) || translations.is_between_hosts(sniffer) {
            continue;
        }
        for v6 in [false, true] {
            let mut everywhere = choices
                .iter()
                .filter(|(address, choice)| mine(choice) && address.is_ipv6() == v6)
                .filter(|(address, _)| !aliases.contains(address))
                .filter(|(address, _)| chooser.byte_share(*address, sniffer) >= AS_MUCH_SHARE)
                .map(|(address, _)| *address);
            if let (Some(only), None) = (everywhere.next(), everywhere.next()) {
                own.insert(only);
            }
        }
    }
    own
}

/// Data for the choice of sniffers.
struct SnifferChooser<'a> {
    indexes: &'a [SnifferIndex],
    /// By address and two sniffers: the number of packets for which the first is nearer, minus the
    /// contrary.
    nearer: FxHashMap<(IpAddr, u32, u32), i64>,
}

impl SnifferChooser<'_> {
    fn new<'a>(indexes: &'a [SnifferIndex], delays: &[SnifferDelay]) -> SnifferChooser<'a> {
        SnifferChooser { indexes, nearer: vote_for_nearer(delays) }
    }

    /// Number of bytes of each address.
    fn bytes_by_address(&self) -> Vec<(u64, IpAddr)> {
        let mut all: FxHashMap<IpAddr, u64> = FxHashMap::default();
        for index in self.indexes {
            for (address, seen) in &index.addresses {
                if !address.is_loopback()
                    && !address.is_unspecified()
                    && !is_group_address(*address)
                {
                    *all.entry(*address).or_default() += seen.bytes;
                }
            }
        }
        all.into_iter().map(|(address, bytes)| (bytes, address)).collect()
    }

    fn packets_at(&self, address: IpAddr, sniffer: u32) -> AddressPackets {
        let index = self.indexes.get(sniffer as usize);
        index.and_then(|index| index.addresses.get(&address).copied()).unwrap_or_default()
    }

    /// Whether the sniffer's frames record their direction.
    fn knows_directions(&self, sniffer: u32) -> bool {
        let index = self.indexes.get(sniffer as usize);
        index.is_some_and(|index| index.addresses.values().any(|seen| seen.own + seen.other > 0))
    }

    /// Share of the sniffer's bytes, in the address's family, that belong to the address.
    fn byte_share(&self, address: IpAddr, sniffer: u32) -> f64 {
        let index = self.indexes.get(sniffer as usize);
        let all = index.map_or(0, |index| index.bytes[usize::from(address.is_ipv6())]);
        self.packets_at(address, sniffer).bytes as f64 / all.max(1) as f64
    }

    fn choose_sniffer(&self, address: IpAddr) -> Option<SnifferChoice> {
        let sniffers = 0..self.indexes.len() as u32;
        let with = |sniffer: u32| (sniffer, self.packets_at(address, sniffer));
        let mut all: Vec<(u32, AddressPackets)> =
            sniffers.map(with).filter(|(_, seen)| seen.bytes > 0).collect();
        let is_own = |seen: &AddressPackets| seen.own > 0 && seen.other == 0;
        let certain = all.iter().any(|(_, seen)| is_own(seen));
        if certain {
            all.retain(|(_, seen)| is_own(seen));
        }
        let most = all.iter().map(|(_, seen)| seen.bytes).max()?;
        all.retain(|(_, seen)| seen.bytes as f64 >= most as f64 * AS_MUCH_SHARE);
        let mut best = all.first()?.0;
        let mut near = certain;
        for (sniffer, _) in all.iter().skip(1) {
            let votes = self.nearer.get(&(address, best, *sniffer)).copied().unwrap_or(0);
            let better = match votes {
                0 => self.byte_share(address, *sniffer) > self.byte_share(address, best),
                votes => votes < 0,
            };
            if better {
                best = *sniffer;
            }
        }
        // All packets of the sniffer are the node's, so it is at the node, or would see others as
        // well.
        near |= self.byte_share(address, best) >= AS_MUCH_SHARE && self.indexes.len() > 1;
        Some(SnifferChoice { sniffer: best, certain, near })
    }
}

/// Votes for each address and two sniffers which one is nearer. Packets from an address pass the
/// nearer sniffer first, so by the second's clock they are later by the clock difference plus the
/// transit time; packets to it are later by the difference minus the transit time. Only neighbours
/// in time are compared, as clocks drift.
fn vote_for_nearer(delays: &[SnifferDelay]) -> FxHashMap<(IpAddr, u32, u32), i64> {
    /// Time at the first sniffer, delay at the second, whether the address sent the packet, and how
    /// many more hops it had made at the second.
    type PacketCrossing = (i64, i64, bool, i64);
    let mut by_pair: FxHashMap<(IpAddr, u32, u32), Vec<PacketCrossing>> = FxHashMap::default();
    for delay in delays {
        let SnifferDelay { source, destination, sniffers: [one, other], times, ttls } = *delay;
        let later = times[1].saturating_sub(times[0]);
        // A packet with fewer hops left is further from its sender.
        let hops = (i64::from(ttls[0]) - i64::from(ttls[1])).signum();
        for (address, out) in [(source, true), (destination, false)] {
            let hops = if out { hops } else { -hops };
            by_pair.entry((address, one, other)).or_default().push((times[0], later, out, hops));
        }
    }
    let mut nearer = FxHashMap::default();
    for (pair, mut seen) in by_pair {
        seen.sort_unstable();
        let hops: i64 = seen.iter().map(|(.., hops)| hops).sum();
        let votes = seen.windows(2).filter_map(|two| match two {
            [(_, first, true, _), (_, second, false, _)] => Some(first.saturating_sub(*second)),
            [(_, first, false, _), (_, second, true, _)] => Some(second.saturating_sub(*first)),
            _ => None,
        });
        let times: i64 = votes.map(i64::signum).sum();
        nearer.insert(pair, if hops != 0 { hops } else { times });
    }
    nearer
}

/// Finds the services of the hosts. If a host also connects to others, packets do not show which of
/// its services connects, so the services are one node: separating them would cut every path
/// through it. But a service to which the host itself connects is a different program than the
/// connecting one.
fn find_services(plan: &mut CapturePlan, indexes: &[SnifferIndex]) {
    let mut ports: Vec<FxHashMap<u16, bool>> = vec![FxHashMap::default(); plan.hosts.len()];
    let mut connects = vec![false; plan.hosts.len()];
    let mut call = |client: IpAddr, (address, port): PacketEnd, sniffer: u32| {
        let host = plan.host_of(address, sniffer);
        let from = plan.host_of(client, sniffer);
        // Traffic between a host's own addresses stays on the host, whichever of its addresses it
        // uses.
        let inner = from == host;
        if let Some(host) = host {
            *ports[host as usize].entry(port).or_default() |= inner;
        }
        if let Some(from) = from.filter(|_| !inner) {
            connects[from as usize] = true;
        }
    };
    for (sniffer, index) in (0..).zip(indexes) {
        index.calls.iter().for_each(|of| call(of.client, of.server, sniffer));
    }
    let mut listening: Vec<(u32, u16)> = Vec::new();
    for decided in roles::infer_services(indexes, |address, sniffer| plan.host_of(address, sniffer))
    {
        let InferredService { sniffer, service, client, both_fixed } = decided;
        call(client.0, service, sniffer);
        let host = plan.host_of(service.0, sniffer);
        if both_fixed && host == plan.host_of(client.0, sniffer) {
            call(service.0, client, sniffer);
        }
        listening.extend(host.map(|host| (host, service.1)));
    }
    listening.sort_unstable();
    listening.dedup();
    for (host, port) in listening {
        plan.hosts[host as usize].listening.push(port);
    }
    for ((host, ports), connects) in plan.hosts.iter_mut().zip(ports).zip(connects) {
        let apart = !connects && ports.len() > 1 && ports.len() <= MAX_SERVICES;
        let (nodes, rest): (Vec<_>, Vec<_>) =
            ports.into_iter().partition(|(_, inner)| apart || *inner);
        host.services = nodes.into_iter().map(|(port, _)| port).collect();
        host.services.sort_unstable();
        host.service = rest.first().map(|(port, _)| *port).filter(|_| rest.len() == 1);
    }
}

/// Finds where midstream connections begin: at the first byte that both ends' sniffers have, so
/// that the bytes of both ends can be counted together.
fn find_starts(plan: &mut CapturePlan, indexes: &[SnifferIndex]) {
    let mut starts: FxHashMap<PacketFlowKey, [Option<u32>; 2]> = FxHashMap::default();
    for (sniffer, index) in (0..).zip(indexes) {
        for (key, MidstreamConnection { first, .. }) in &index.midstream {
            let [one, other] = key.ends;
            let names = plan.translations.own_names(&(one, other, key.udp)).unwrap_or((one, other));
            let swapped = names.0 > names.1;
            let (ends, first) = match swapped {
                true => ([names.1, names.0], [first[1], first[0]]),
                false => ([names.0, names.1], *first),
            };
            let timed: Vec<u32> = ends
                .iter()
                .filter_map(|end| {
                    Some(plan.hosts.get(plan.host_of(end.0, sniffer)? as usize)?.sniffer)
                })
                .collect();
            let apart = timed.first() != timed.last();
            if !apart || !timed.contains(&sniffer) || ends.iter().any(|end| end.0.is_loopback()) {
                continue;
            }
            let known = starts.entry(PacketFlowKey { ends, udp: false }).or_default();
            for (known, first) in known.iter_mut().zip(first) {
                *known = match (*known, first) {
                    (Some(one), Some(other)) if (other.wrapping_sub(one) as i32) < 0 => Some(one),
                    (one, other) => other.or(one),
                };
            }
        }
    }
    plan.starts = starts;
}
