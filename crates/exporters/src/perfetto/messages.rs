//! The few messages of Perfetto that are written, with their numbers in the published schema,
//! `protos/perfetto/trace/perfetto_trace.proto`.

use prost::{Message, Oneof};

/// A trace: a sequence of packets.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Trace {
    #[prost(message, repeated, tag = "1")]
    pub(super) packet: Vec<TracePacket>,
}

/// A packet: an event, or the description of a track.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TracePacket {
    #[prost(uint64, optional, tag = "8")]
    pub(super) timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")]
    pub(super) trusted_packet_sequence_id: Option<u32>,
    #[prost(uint32, optional, tag = "13")]
    pub(super) sequence_flags: Option<u32>,
    #[prost(oneof = "Data", tags = "11, 60")]
    pub(super) data: Option<Data>,
}

/// The content of a packet.
#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Data {
    #[prost(message, tag = "11")]
    Event(TrackEvent),
    #[prost(message, tag = "60")]
    Track(TrackDescriptor),
}

/// The beginning or the end of a slice on a track.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    pub(super) debug_annotations: Vec<DebugAnnotation>,
    #[prost(int32, optional, tag = "9")]
    pub(super) r#type: Option<i32>,
    #[prost(uint64, optional, tag = "11")]
    pub(super) track_uuid: Option<u64>,
    #[prost(string, repeated, tag = "22")]
    pub(super) categories: Vec<String>,
    #[prost(string, optional, tag = "23")]
    pub(super) name: Option<String>,
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub(super) flow_ids: Vec<u64>,
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    pub(super) terminating_flow_ids: Vec<u64>,
}

/// A named value that is shown with a slice.
#[derive(Clone, PartialEq, Message)]
pub(super) struct DebugAnnotation {
    #[prost(string, optional, tag = "10")]
    pub(super) name: Option<String>,
    #[prost(oneof = "Annotated", tags = "4, 5, 6")]
    pub(super) value: Option<Annotated>,
}

/// The values of annotations that are written.
#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Annotated {
    #[prost(int64, tag = "4")]
    Integer(i64),
    #[prost(double, tag = "5")]
    Float(f64),
    #[prost(string, tag = "6")]
    Text(String),
}

/// The description of a track.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    pub(super) uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub(super) name: Option<String>,
    #[prost(uint64, optional, tag = "5")]
    pub(super) parent_uuid: Option<u64>,
    #[prost(int32, optional, tag = "15")]
    pub(super) sibling_merge_behavior: Option<i32>,
}

/// A value of `TrackEvent.Type`: a slice begins.
pub(super) const SLICE_BEGIN: i32 = 1;
/// A value of `TrackEvent.Type`: the open slice of the track ends.
pub(super) const SLICE_END: i32 = 2;
/// A value of `TrackEvent.Type`: an event without a duration.
pub(super) const SLICE_INSTANT: i32 = 3;
/// A value of `TrackDescriptor.SiblingMergeBehavior`: tracks of the same name stay separate.
pub(super) const NOT_MERGED: i32 = 2;
/// A value of `TracePacket.SequenceFlags`: the packet needs no earlier one.
pub(super) const INCREMENTAL_STATE_CLEARED: u32 = 1;
/// The id of the only sequence of packets.
pub(super) const SEQUENCE_ID: u32 = 1;
