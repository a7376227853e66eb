//! Kafka: requests by the API's name and the topic, calls by correlation ids.
//!
//! A response says no more than which request it answers. Since any four bytes could be a
//! correlation id, one that waits for no answer makes none.

mod topic;

use registry::About;

use crate::cursor::Cursor;
use crate::opening::{Opening, yes_if};
use crate::operation::{Operation, Out, Role};
use crate::parser::Parser;
use crate::piece::{Class, Speaker};
use crate::protocol::Protocol;
use crate::remembered::Remembered;
use crate::streams::{Heard, Messages, Step, Streams};
use crate::tuning::{OTHER_MESSAGE_BYTES, WAITING};

/// The entry of Kafka.
pub(crate) static KAFKA: Protocol = Protocol {
    about: About {
        name: "kafka",
        summary: "Kafka: names of requests and topics, by correlation ids",
        ..About::NOTHING
    },
    class: Class::Other,
    recognised: "A request for the versions of the server, or one whose answer has its correlation \
        id.",
    recognise: |opening: &Opening| {
        let Some(request) = Request::read(opening.client()) else { return yes_if(false) };
        let mut answer = Cursor(opening.server());
        let size = answer.be_u32().is_some_and(|size| (4..GREATEST).contains(&size));
        let is_answered = size && answer.be_u32() == Some(request.correlation);
        let asks_versions = request.key == VERSIONS && request.client.is_some();
        yes_if(!opening.server_leads() && (asks_versions || is_answered))
    },
    open,
    #[cfg(test)]
    samples: tests::samples,
};

fn open() -> Box<dyn Parser> {
    Box::new(Streams::new(Kafka { waiting: Remembered::new(WAITING), is_lost: false }))
}

const NAME: &str = "kafka";

/// Greatest size of a message that is believed.
const GREATEST: u32 = 1 << 28;

const PRODUCE: u16 = 0;
const VERSIONS: u16 = 18;

/// Names of APIs, by their keys.
const APIS: [&str; 75] = [
    "Produce",
    "Fetch",
    "ListOffsets",
    "Metadata",
    "LeaderAndIsr",
    "StopReplica",
    "UpdateMetadata",
    "ControlledShutdown",
    "OffsetCommit",
    "OffsetFetch",
    "FindCoordinator",
    "JoinGroup",
    "Heartbeat",
    "LeaveGroup",
    "SyncGroup",
    "DescribeGroups",
    "ListGroups",
    "SaslHandshake",
    "ApiVersions",
    "CreateTopics",
    "DeleteTopics",
    "DeleteRecords",
    "InitProducerId",
    "OffsetForLeaderEpoch",
    "AddPartitionsToTxn",
    "AddOffsetsToTxn",
    "EndTxn",
    "WriteTxnMarkers",
    "TxnOffsetCommit",
    "DescribeAcls",
    "CreateAcls",
    "DeleteAcls",
    "DescribeConfigs",
    "AlterConfigs",
    "AlterReplicaLogDirs",
    "DescribeLogDirs",
    "SaslAuthenticate",
    "CreatePartitions",
    "CreateDelegationToken",
    "RenewDelegationToken",
    "ExpireDelegationToken",
    "DescribeDelegationToken",
    "DeleteGroups",
    "ElectLeaders",
    "IncrementalAlterConfigs",
    "AlterPartitionReassignments",
    "ListPartitionReassignments",
    "OffsetDelete",
    "DescribeClientQuotas",
    "AlterClientQuotas",
    "DescribeUserScramCredentials",
    "AlterUserScramCredentials",
    "Vote",
    "BeginQuorumEpoch",
    "EndQuorumEpoch",
    "DescribeQuorum",
    "AlterPartition",
    "UpdateFeatures",
    "Envelope",
    "FetchSnapshot",
    "DescribeCluster",
    "DescribeProducers",
    "BrokerRegistration",
    "BrokerHeartbeat",
    "UnregisterBroker",
    "DescribeTransactions",
    "ListTransactions",
    "AllocateProducerIds",
    "ConsumerGroupHeartbeat",
    "ConsumerGroupDescribe",
    "ControllerRegistration",
    "GetTelemetrySubscriptions",
    "PushTelemetry",
    "AssignReplicasToDirs",
    "ListClientMetricsResources",
];

/// Greatest version of any API so far, with room.
const VERSION: u16 = 25;

/// The head of a request.
struct Request<'a> {
    size: u32,
    key: u16,
    version: u16,
    correlation: u32,
    /// The client's id; `None` where it has none, or it is not all there.
    client: Option<&'a [u8]>,
    body: Cursor<'a>,
}

impl Request<'_> {
    /// `None` where it makes no sense, or is not all there.
    fn read(bytes: &[u8]) -> Option<Request<'_>> {
        let mut cursor = Cursor(bytes);
        let size = cursor.be_u32().filter(|size| (10..GREATEST).contains(size))?;
        let key = cursor.be_u16().filter(|key| usize::from(*key) < APIS.len())?;
        let version = cursor.be_u16().filter(|version| *version <= VERSION)?;
        let correlation = cursor.be_u32()?;
        let client = match cursor.be_u16()? {
            u16::MAX => None,
            length @ 0..=255 => Some(cursor.take(usize::from(length))?),
            _ => return None,
        };
        let printable = |client: &[u8]| client.iter().all(|byte| (b' '..=b'~').contains(byte));
        let plain = client.is_none_or(printable);
        plain.then_some(Request { size, key, version, correlation, client, body: cursor })
    }
}

#[derive(Debug)]
struct Kafka {
    /// Requests that were not answered, by their correlation ids; with the operation of those of
    /// which only that tells whether they are answered.
    waiting: Remembered<u32, Option<Operation>>,
    /// A request could not be read: its response has an id that is not known.
    is_lost: bool,
}

impl Messages for Kafka {
    const NAME: &'static str = NAME;
    const BOUND: usize = OTHER_MESSAGE_BYTES;

    fn message(&mut self, heard: &Heard<'_>, out: &mut Out<'_>) -> Step {
        let mut cursor = Cursor(heard.bytes);
        let Some(size) = cursor.be_u32() else { return heard.more() };
        if !(4..GREATEST).contains(&size) {
            return Step::Lost;
        }
        let whole = cursor.0.len() as u64 >= u64::from(size);
        if heard.speaker == Speaker::Server {
            let Some(correlation) = cursor.be_u32() else { return heard.more() };
            match self.waiting.remove(&correlation) {
                Some(request) => out.of(Speaker::Client).extend(request),
                None if heard.after_gap => return Step::Lost,
                None if self.is_lost => self.is_lost = false,
                None => return Step::Skip(4 + u64::from(size)),
            }
            let response = Operation::new(heard.place(0), Role::Response, NAME);
            out.push(response.of_call(correlation.into()));
            return Step::Skip(4 + u64::from(size));
        }
        if !whole && !heard.ended {
            return Step::More;
        }
        let Some(request) = Request::read(heard.bytes) else { return Step::Lost };
        let api = APIS.get(usize::from(request.key)).copied().unwrap_or_default();
        let told = topic::of(request.key, request.version, request.body);
        let name = match told.topic {
            Some(topic) => format!("{api} {topic}"),
            None => api.to_owned(),
        };
        let is_answered = told.acks != Some(0);
        let role = if is_answered { Role::Request } else { Role::OneWay };
        let operation = Operation::new(heard.place(0), role, NAME);
        let operation = operation.of_call(request.correlation.into()).named(name);
        if request.key == PRODUCE && told.acks.is_none() {
            // Whether it is answered is not there.
            self.waiting.insert(request.correlation, Some(operation));
            return Step::Skip(4 + u64::from(size));
        }
        if is_answered {
            self.waiting.insert(request.correlation, None);
        }
        out.push(operation);
        Step::Skip(4 + u64::from(request.size))
    }

    fn lose(&mut self, speaker: Speaker, _: &mut Out<'_>) {
        self.is_lost |= speaker == Speaker::Client;
    }
}

#[cfg(test)]
mod tests {
    use crate::talk::Talk;

    fn text(text: &str) -> Vec<u8> {
        [&(text.len() as u16).to_be_bytes()[..], text.as_bytes()].concat()
    }

    fn compact(text: &str) -> Vec<u8> {
        [&[text.len() as u8 + 1], text.as_bytes()].concat()
    }

    fn request(key: u16, version: u16, correlation: u32, body: &[u8]) -> Vec<u8> {
        let head = [&key.to_be_bytes()[..], &version.to_be_bytes(), &correlation.to_be_bytes()];
        let message = [&head.concat(), &text("app-alice")[..], body].concat();
        [&(message.len() as u32).to_be_bytes()[..], &message].concat()
    }

    fn response(correlation: u32, body: &[u8]) -> Vec<u8> {
        let size = (4 + body.len() as u32).to_be_bytes();
        [&size[..], &correlation.to_be_bytes(), body].concat()
    }

    fn produce(acks: u8, topic: &str) -> Vec<u8> {
        // Version 9: tags of the head, no transaction, acks, timeout, topics.
        [&[0, 0, 0, acks, 0, 0, 0, 9, 2], &compact(topic)[..], b"\x02alice"].concat()
    }

    pub(crate) fn samples() -> Vec<Talk> {
        // Version 4: replica, wait, least, most, isolation, one topic.
        let fetch =
            [&[255; 4], &[0; 12][..], &[1], &[0, 0, 0, 1], &text("orders"), b"alice"].concat();
        let versions = [&[0], &compact("alice")[..], &compact("1"), &[0]].concat();
        vec![
            Talk::other()
                .client(request(18, 3, 1, &versions))
                .server(response(1, &[0; 300]))
                .client(
                    [request(0, 9, 2, &produce(1, "orders")), request(1, 4, 3, &fetch)].concat(),
                )
                .client(request(0, 9, 4, &produce(0, "user.alice")))
                .server([response(3, b"alice"), response(2, b"")].concat()),
            Talk::other()
                .client(request(12, 2, 77, &text("group-alice")))
                .server(response(77, &[0; 2])),
        ]
    }

    #[test]
    fn requests_and_answers_by_correlation_ids() {
        let expected = [
            "> ApiVersions #1",
            "< #1",
            "> Produce orders #2",
            "> Fetch orders #3",
            "> = Produce user.{} #4",
            "< #3",
            "< #2",
        ];
        assert_eq!(samples()[0].told(), expected);
        assert_eq!(samples()[1].told(), ["> Heartbeat #77", "< #77"]);
    }

    #[test]
    fn an_answer_to_nothing_is_none() {
        let talk = Talk::other().client(request(12, 2, 77, b"")).server(response(78, &[0; 2]));
        assert_eq!(talk.told(), [""; 0]);
        let talk = samples()[0].clone().server(response(99, b""));
        assert_eq!(talk.told().len(), 7);
    }
}
