//! The tables: `events/sockcap.parquet` and `handoffs.parquet`.

use arrow_schema::DataType;
use events::{Event, EventWriter, Value};
use message_trace::table::columns::{self, required};
use message_trace::table::{BATCH_ROWS, Writer};
use message_trace::{DataPath, PathError};
use out_of_core::{NameId, Names, ReadFailure, SortedRuns};
use socket_log::encode::Role;

use crate::absent::NIL;
use crate::logs::capture::Capture;
use crate::resources::cached::Cached;
use crate::resources::matched::HandoffRow;
use crate::resources::own_event::{Kind, OwnEvent};
use crate::resources::what;
use crate::sockets::socket::Sockets;

/// Numbers of the names in the table of events.
struct Vocabulary {
    names: Names,
    /// Of each kind, and of its attributes.
    kinds: Vec<(Kind, NameId, Vec<NameId>)>,
    hosts: Vec<NameId>,
    local: NameId,
    peer: NameId,
    role: NameId,
    what: NameId,
    comm: NameId,
}

impl Vocabulary {
    fn of(capture: &Capture) -> Vocabulary {
        let mut names = Names::default();
        let mut number = |text: &str| names.number(text);
        let kinds = Kind::ALL.map(|kind| {
            let attributes = kind.attributes().iter().map(|name| number(name)).collect();
            (kind, number(kind.name()), attributes)
        });
        let hosts = capture.hosts.iter().map(|host| number(host)).collect();
        let [local, peer, role, what, comm] =
            ["local", "peer", "role", "what", "comm"].map(&mut number);
        Vocabulary { kinds: kinds.into(), hosts, local, peer, role, what, comm, names }
    }
}

/// Writes all events to `path`, in the order of time.
///
/// # Errors
/// When a file cannot be written or read.
pub(crate) fn events(
    path: &DataPath,
    sorted: &SortedRuns<OwnEvent>,
    capture: &Capture,
    sockets: &Sockets,
) -> Result<u64, PathError> {
    let mut writer = EventWriter::create(path)?;
    let vocabulary = Vocabulary::of(capture);
    let failed = ReadFailure::default();
    let mut cached = Cached::default();
    for mut own in sorted.iter(&failed) {
        let known = cached.next(&own);
        let Some((kind, name, attributes)) = vocabulary.kinds.get(own.kind as usize) else {
            continue;
        };
        if *kind == Kind::FileRead {
            own.values[2] = known;
        }
        let event = Event {
            time: own.time,
            kind: *name,
            host: vocabulary.hosts.get(own.host as usize).copied().unwrap_or(Names::UNKNOWN),
            processor: own.processor,
            process: own.process,
            thread: own.thread,
        };
        let numbers = attributes.iter().copied().zip(own.values);
        let numbers = numbers.filter(|(_, value)| *value != NIL);
        let mut texts = Texts::default();
        texts.fill(*kind, &own, &vocabulary, capture, sockets);
        let texts = texts.0.iter().flatten().map(|(name, text)| (*name, Value::Text(text)));
        let numbers = numbers.map(|(name, value)| (name, Value::Int(value)));
        writer.push(event, numbers.chain(texts), &vocabulary.names)?;
    }
    failed.check()?;
    writer.finish(&vocabulary.names)
}

/// Attributes of an event that are texts.
#[derive(Default)]
struct Texts([Option<(NameId, String)>; 3]);

impl Texts {
    fn fill(
        &mut self,
        kind: Kind,
        own: &OwnEvent,
        vocabulary: &Vocabulary,
        capture: &Capture,
        sockets: &Sockets,
    ) {
        let [first, second, third] = &mut self.0;
        match kind {
            Kind::Lock | Kind::Signal | Kind::Unheard | Kind::Wake => {
                *first = Some((vocabulary.what, what::name(own.word).to_owned()));
            }
            Kind::Name => {
                let bytes = own.values.iter().take(2).flat_map(|part| part.to_le_bytes());
                let bytes: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
                let text = String::from_utf8_lossy(&bytes).into_owned();
                *first = Some((vocabulary.comm, text));
            }
            Kind::Connection => {
                let Some(socket) = sockets.all.get(own.word as usize) else { return };
                let name = |name| capture.names.endpoint(name).map(|end| end.to_string());
                *first = name(socket.local).map(|text| (vocabulary.local, text));
                *second = name(socket.peer).map(|text| (vocabulary.peer, text));
                let role = match socket.role {
                    Role::Connect => "connected",
                    Role::Accept => "accepted",
                    _ => return,
                };
                *third = Some((vocabulary.role, role.to_owned()));
            }
            _ => {}
        }
    }
}

/// Writes the hand-offs to `path`, in the order in which threads went on.
///
/// # Errors
/// When a file cannot be written or read.
pub(crate) fn handoffs(path: &DataPath, sorted: &SortedRuns<HandoffRow>) -> Result<(), PathError> {
    let schema = columns::schema([
        required("signalled", DataType::Int64),
        required("woken", DataType::Int64),
        required("node", DataType::Int64),
        required("from_tid", DataType::Int32),
        required("to_tid", DataType::Int32),
        required("object", DataType::Int64),
        required("what", columns::dictionary()),
    ]);
    let mut writer = Writer::create(path, schema.clone())?;
    let failed = ReadFailure::default();
    let mut rows = sorted.iter(&failed);
    loop {
        let some: Vec<HandoffRow> = rows.by_ref().take(BATCH_ROWS).collect();
        if some.is_empty() {
            break;
        }
        let int64 =
            |of: fn(&HandoffRow) -> i64| columns::int64(some.iter().map(|row| Some(of(row))));
        let int32 =
            |of: fn(&HandoffRow) -> i32| columns::int32(some.iter().map(|row| Some(of(row))));
        let arrays = vec![
            int64(|row| row.signalled),
            int64(|row| row.woken),
            int64(|row| i64::from(row.node)),
            int32(|row| row.from),
            int32(|row| row.to),
            int64(|row| row.object),
            columns::texts(some.iter().map(|row| Some(what::name(row.what)))),
        ];
        writer.write(&columns::batch(path, &schema, arrays)?)?;
    }
    failed.check()?;
    writer.finish()
}
