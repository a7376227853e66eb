//! Kafka: requests by API name and topic, paired by correlation ids.
//!
//! A response contains only the id of the request that it answers. Any four bytes could be a
//! correlation id, so without a pending request nothing is a response.

mod topic;

use registry::{EntryHelp, Spec};

use crate::bounded_map::BoundedMap;
use crate::cursor::ByteCursor;
use crate::flow_snippet::{FlowSpeaker, SnippetRule};
use crate::opening::{FlowOpening, yes_if};
use crate::operation::{MessageRole, OperationSink, ProtocolOperation};
use crate::parser::ProtocolParser;
use crate::protocol::{ProtocolEntry, ProtocolSpec};
use crate::streams::{MessageParser, MessageStreams, ParseStep, UnparsedBytes};
use crate::tuning::{MAX_UNANSWERED, OTHER_MESSAGE_BYTES};

/// Registry entry of Kafka.
pub(crate) static KAFKA: ProtocolSpec = Spec {
    about: EntryHelp {
        name: "kafka",
        summary: "Kafka: names of requests and topics, by correlation ids",
        ..EntryHelp::NOTHING
    },
    flags: registry::no_flags,
    entry: ProtocolEntry {
        class: SnippetRule::Other,
        recognised: "A request for the server's versions, or one with a response of the same \
        correlation id.",
        recognise: |opening: &FlowOpening| {
            let Some(request) = KafkaRequest::read_header(opening.client_bytes()) else {
                return yes_if(false);
            };
            let mut answer = ByteCursor(opening.server_bytes());
            let size = answer.be_u32().is_some_and(|size| (4..MAX_MESSAGE_BYTES).contains(&size));
            let is_answered = size && answer.be_u32() == Some(request.correlation);
            let asks_versions = request.key == VERSIONS && request.client.is_some();
            yes_if(!opening.server_leads() && (asks_versions || is_answered))
        },
        open: open_parser,
        #[cfg(test)]
        samples: tests::sample_conversations,
    },
};

fn open_parser() -> Box<dyn ProtocolParser> {
    Box::new(MessageStreams::new(Kafka {
        unanswered: BoundedMap::new(MAX_UNANSWERED),
        has_unread_request: false,
    }))
}

const NAME: &str = "kafka";

/// Largest plausible size of a message, in bytes.
const MAX_MESSAGE_BYTES: u32 = 1 << 28;

const PRODUCE: u16 = 0;
const VERSIONS: u16 = 18;

/// Names of APIs, by API key.
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

/// Highest version of any API so far, with a margin.
const MAX_VERSION: u16 = 25;

/// Header of a request.
struct KafkaRequest<'a> {
    size: u32,
    key: u16,
    version: u16,
    correlation: u32,
    /// Client id; `None` if there is none or it is incomplete.
    client: Option<&'a [u8]>,
    body: ByteCursor<'a>,
}

impl KafkaRequest<'_> {
    /// Reads the header of a request; `None` if it is invalid or incomplete.
    fn read_header(bytes: &[u8]) -> Option<KafkaRequest<'_>> {
        let mut cursor = ByteCursor(bytes);
        let size = cursor.be_u32().filter(|size| (10..MAX_MESSAGE_BYTES).contains(size))?;
        let key = cursor.be_u16().filter(|key| usize::from(*key) < APIS.len())?;
        let version = cursor.be_u16().filter(|version| *version <= MAX_VERSION)?;
        let correlation = cursor.be_u32()?;
        let client = match cursor.be_u16()? {
            u16::MAX => None,
            length @ 0..=255 => Some(cursor.take_bytes(usize::from(length))?),
            _ => return None,
        };
        let printable = |client: &[u8]| client.iter().all(|byte| (b' '..=b'~').contains(byte));
        let plain = client.is_none_or(printable);
        plain.then_some(KafkaRequest { size, key, version, correlation, client, body: cursor })
    }
}

#[derive(Debug)]
struct Kafka {
    /// Unanswered requests, by correlation id. If it is unknown whether the server
    /// answers a request, the request's operation is here, and is emitted with the response.
    unanswered: BoundedMap<u32, Option<ProtocolOperation>>,
    /// Whether a request could not be read: its response has an unknown correlation id.
    has_unread_request: bool,
}

impl MessageParser for Kafka {
    const NAME: &'static str = NAME;
    const MAX_EXAMINED_BYTES: usize = OTHER_MESSAGE_BYTES;

    fn parse_message(
        &mut self,
        unparsed: &UnparsedBytes<'_>,
        out: &mut OperationSink<'_>,
    ) -> ParseStep {
        let mut cursor = ByteCursor(unparsed.bytes);
        let Some(size) = cursor.be_u32() else { return unparsed.wait_or_give_up() };
        if !(4..MAX_MESSAGE_BYTES).contains(&size) {
            return ParseStep::Lost;
        }
        let whole = cursor.0.len() as u64 >= u64::from(size);
        if unparsed.speaker == FlowSpeaker::Server {
            let Some(correlation) = cursor.be_u32() else { return unparsed.wait_or_give_up() };
            match self.unanswered.remove(&correlation) {
                Some(request) => out.for_speaker(FlowSpeaker::Client).extend(request),
                None if unparsed.after_gap => return ParseStep::Lost,
                None if self.has_unread_request => self.has_unread_request = false,
                None => return ParseStep::Skip(4 + u64::from(size)),
            }
            let response =
                ProtocolOperation::new(unparsed.position_at(0), MessageRole::Response, NAME);
            out.push(response.with_call(correlation.into()));
            return ParseStep::Skip(4 + u64::from(size));
        }
        if !whole && !unparsed.ended {
            return ParseStep::More;
        }
        let Some(request) = KafkaRequest::read_header(unparsed.bytes) else {
            return ParseStep::Lost;
        };
        let api = APIS.get(usize::from(request.key)).copied().unwrap_or_default();
        let facts = topic::parse_body(request.key, request.version, request.body);
        let name = match facts.topic {
            Some(topic) => format!("{api} {topic}"),
            None => api.to_owned(),
        };
        let is_answered = facts.acks != Some(0);
        let role = if is_answered { MessageRole::Request } else { MessageRole::OneWay };
        let operation = ProtocolOperation::new(unparsed.position_at(0), role, NAME);
        let operation = operation.with_call(request.correlation.into()).with_name(name);
        if request.key == PRODUCE && facts.acks.is_none() {
            // The fields of the request that tell whether it is answered cannot be read.
            self.unanswered.insert(request.correlation, Some(operation));
            return ParseStep::Skip(4 + u64::from(size));
        }
        if is_answered {
            self.unanswered.insert(request.correlation, None);
        }
        out.push(operation);
        ParseStep::Skip(4 + u64::from(request.size))
    }

    fn lose_track(&mut self, speaker: FlowSpeaker, _: &mut OperationSink<'_>) {
        self.has_unread_request |= speaker == FlowSpeaker::Client;
    }
}

#[cfg(test)]
mod tests {
    use crate::test_conversation::TestConversation;

    fn make_text(text: &str) -> Vec<u8> {
        [&(text.len() as u16).to_be_bytes()[..], text.as_bytes()].concat()
    }

    fn make_compact(text: &str) -> Vec<u8> {
        [&[text.len() as u8 + 1], text.as_bytes()].concat()
    }

    fn make_request(key: u16, version: u16, correlation: u32, body: &[u8]) -> Vec<u8> {
        let head = [&key.to_be_bytes()[..], &version.to_be_bytes(), &correlation.to_be_bytes()];
        let message = [&head.concat(), &make_text("app-alice")[..], body].concat();
        [&(message.len() as u32).to_be_bytes()[..], &message].concat()
    }

    fn make_response(correlation: u32, body: &[u8]) -> Vec<u8> {
        let size = (4 + body.len() as u32).to_be_bytes();
        [&size[..], &correlation.to_be_bytes(), body].concat()
    }

    fn make_produce(acks: u8, topic: &str) -> Vec<u8> {
        // Version 9: header tags, no transaction, acks, timeout, topics.
        [&[0, 0, 0, acks, 0, 0, 0, 9, 2], &make_compact(topic)[..], b"\x02alice"].concat()
    }

    pub(crate) fn sample_conversations() -> Vec<TestConversation> {
        // Version 4: replica, maximum wait, minimum and maximum bytes, isolation level, one topic.
        let fetch =
            [&[255; 4], &[0; 12][..], &[1], &[0, 0, 0, 1], &make_text("orders"), b"alice"].concat();
        let versions = [&[0], &make_compact("alice")[..], &make_compact("1"), &[0]].concat();
        vec![
            TestConversation::other_protocol()
                .client_says(make_request(18, 3, 1, &versions))
                .server_says(make_response(1, &[0; 300]))
                .client_says(
                    [
                        make_request(0, 9, 2, &make_produce(1, "orders")),
                        make_request(1, 4, 3, &fetch),
                    ]
                    .concat(),
                )
                .client_says(make_request(0, 9, 4, &make_produce(0, "user.alice")))
                .server_says([make_response(3, b"alice"), make_response(2, b"")].concat()),
            TestConversation::other_protocol()
                .client_says(make_request(12, 2, 77, &make_text("group-alice")))
                .server_says(make_response(77, &[0; 2])),
        ]
    }

    #[test]
    fn requests_and_responses_by_correlation_ids() {
        let expected = [
            "> ApiVersions #1",
            "< #1",
            "> Produce orders #2",
            "> Fetch orders #3",
            "> = Produce user.{} #4",
            "< #3",
            "< #2",
        ];
        assert_eq!(sample_conversations()[0].operation_lines(), expected);
        assert_eq!(sample_conversations()[1].operation_lines(), ["> Heartbeat #77", "< #77"]);
    }

    #[test]
    fn a_response_without_a_request_is_ignored() {
        let talk = TestConversation::other_protocol()
            .client_says(make_request(12, 2, 77, b""))
            .server_says(make_response(78, &[0; 2]));
        assert_eq!(talk.operation_lines(), [""; 0]);
        let talk = sample_conversations()[0].clone().server_says(make_response(99, b""));
        assert_eq!(talk.operation_lines().len(), 7);
    }
}
