//! The tables: `events/sockcap.parquet` and `handoffs.parquet`.

use arrow_schema::DataType;
use events::{AttributeValue, Event, EventWriter};
use message_trace::table::columns::{self, required_field};
use message_trace::table::{BATCH_ROWS, BatchWriter};
use message_trace::{DataPath, PathError};
use out_of_core::{NameId, NameInterner, ReadFailure, SortedRuns};
use socket_log::encode::FlowRole;

use crate::logs::capture::Capture;
use crate::resources::cached_reads::CachedReads;
use crate::resources::handoff_kinds;
use crate::resources::handoff_matching::HandoffRow;
use crate::resources::own_event::{OwnEvent, OwnEventKind};
use crate::sentinels::NIL;
use crate::sockets::socket::KernelSockets;

/// Numbers of the names in the table of events.
struct EventNameIds {
    names: NameInterner,
    /// Names of each kind, and of its attributes.
    kinds: Vec<(OwnEventKind, NameId, Vec<NameId>)>,
    hosts: Vec<NameId>,
    local: NameId,
    peer: NameId,
    role: NameId,
    what: NameId,
    comm: NameId,
}

impl EventNameIds {
    fn from_capture(capture: &Capture) -> EventNameIds {
        let mut names = NameInterner::default();
        let mut number = |text: &str| names.intern(text);
        let kinds = OwnEventKind::ALL.map(|kind| {
            let attributes = kind.attribute_names().iter().map(|name| number(name)).collect();
            (kind, number(kind.name()), attributes)
        });
        let hosts = capture.hosts.iter().map(|host| number(host)).collect();
        let [local, peer, role, what, comm] =
            ["local", "peer", "role", "what", "comm"].map(&mut number);
        EventNameIds { kinds: kinds.into(), hosts, local, peer, role, what, comm, names }
    }
}

/// Writes all events to `path`, sorted by time.
///
/// # Errors
/// Fails if a file cannot be written or read.
pub(crate) fn write_events(
    path: &DataPath,
    sorted: &SortedRuns<OwnEvent>,
    capture: &Capture,
    sockets: &KernelSockets,
) -> Result<u64, PathError> {
    let mut writer = EventWriter::create(path)?;
    let vocabulary = EventNameIds::from_capture(capture);
    let failed = ReadFailure::default();
    let mut cached = CachedReads::default();
    for mut own in sorted.iter(&failed) {
        let known = cached.classify_event(&own);
        let Some((kind, name, attributes)) = vocabulary.kinds.get(own.kind as usize) else {
            continue;
        };
        if *kind == OwnEventKind::FileRead {
            own.values[2] = known;
        }
        let event = Event {
            time: own.time,
            kind: *name,
            host: vocabulary.hosts.get(own.host.index()).copied().unwrap_or(NameInterner::UNKNOWN),
            processor: own.processor,
            process: own.process,
            thread: own.thread,
        };
        let numbers = attributes.iter().copied().zip(own.values);
        let numbers = numbers.filter(|(_, value)| *value != NIL);
        let mut texts = EventTexts::default();
        texts.fill_texts(*kind, &own, &vocabulary, capture, sockets);
        let texts =
            texts.0.iter().flatten().map(|(name, text)| (*name, AttributeValue::Text(text)));
        let numbers = numbers.map(|(name, value)| (name, AttributeValue::Int(value)));
        writer.push_event(event, numbers.chain(texts), &vocabulary.names)?;
    }
    failed.check_failure()?;
    writer.finish(&vocabulary.names)
}

/// Text attributes of an event.
#[derive(Default)]
struct EventTexts([Option<(NameId, String)>; 3]);

impl EventTexts {
    /// Sets the text attributes of an event of this kind.
    fn fill_texts(
        &mut self,
        kind: OwnEventKind,
        own: &OwnEvent,
        vocabulary: &EventNameIds,
        capture: &Capture,
        sockets: &KernelSockets,
    ) {
        let [first, second, third] = &mut self.0;
        match kind {
            OwnEventKind::Lock
            | OwnEventKind::Signal
            | OwnEventKind::Unreceived
            | OwnEventKind::Wake => {
                *first = Some((vocabulary.what, handoff_kinds::handoff_name(own.word).to_owned()));
            }
            OwnEventKind::Name => {
                let bytes = own.values.iter().take(2).flat_map(|part| part.to_le_bytes());
                let bytes: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
                let text = String::from_utf8_lossy(&bytes).into_owned();
                *first = Some((vocabulary.comm, text));
            }
            OwnEventKind::Connection => {
                let Some(socket) = sockets.all.get(own.word as usize) else { return };
                let name = |name| capture.names.to_endpoint(name).map(|end| end.to_string());
                *first = name(socket.local).map(|text| (vocabulary.local, text));
                *second = name(socket.peer).map(|text| (vocabulary.peer, text));
                let role = match socket.role {
                    FlowRole::Connect => "connected",
                    FlowRole::Accept => "accepted",
                    _ => return,
                };
                *third = Some((vocabulary.role, role.to_owned()));
            }
            _ => {}
        }
    }
}

/// Writes the hand-offs to `path`, in the order in which threads continued.
///
/// # Errors
/// Fails if a file cannot be written or read.
pub(crate) fn write_handoffs(
    path: &DataPath,
    sorted: &SortedRuns<HandoffRow>,
) -> Result<(), PathError> {
    let schema = columns::build_schema([
        required_field("signalled", DataType::Int64),
        required_field("woken", DataType::Int64),
        required_field("node", DataType::Int64),
        required_field("from_tid", DataType::Int32),
        required_field("to_tid", DataType::Int32),
        required_field("object", DataType::Int64),
        required_field("what", columns::dictionary_type()),
    ]);
    let mut writer = BatchWriter::create(path, schema.clone())?;
    let failed = ReadFailure::default();
    let mut rows = sorted.iter(&failed);
    loop {
        let some: Vec<HandoffRow> = rows.by_ref().take(BATCH_ROWS).collect();
        if some.is_empty() {
            break;
        }
        let int64 =
            |of: fn(&HandoffRow) -> i64| columns::int64_array(some.iter().map(|row| Some(of(row))));
        let int32 =
            |of: fn(&HandoffRow) -> i32| columns::int32_array(some.iter().map(|row| Some(of(row))));
        let arrays = vec![
            int64(|row| row.signalled),
            int64(|row| row.woken),
            int64(|row| row.node.index() as i64),
            int32(|row| row.from),
            int32(|row| row.to),
            int64(|row| row.object),
            columns::dictionary_array(
                some.iter().map(|row| Some(handoff_kinds::handoff_name(row.what))),
            ),
        ];
        writer.write_batch(&columns::build_batch(path, &schema, arrays)?)?;
    }
    failed.check_failure()?;
    writer.finish()
}
