//! The messages. Both enums are encoded by postcard: the variant's number, then its fields in
//! order; new variants are added at the end. The version is the first field of the first message,
//! and stays there.

use serde::{Deserialize, Serialize};

use crate::identity::LogIdentity;

/// Message of a shipper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShipperRequest<'a> {
    /// The first message, which identifies the shipper. Answered by [`CollectorAnswer::Welcome`],
    /// or refused.
    Hello {
        /// [`VERSION`](super::VERSION).
        version: u32,
        /// Name of the host, which must be in the shipper's certificate.
        host: &'a str,
        /// The kernel's id of this boot, for clock hints.
        boot: [u8; 16],
    },
    /// Selects the file that the next requests are about.
    File {
        /// Name of the file.
        name: &'a str,
        /// Identity of the log.
        identity: LogIdentity,
    },
    /// Queries the collector's content of the file's pages. Answered by [`CollectorAnswer::Have`].
    Ask {
        /// The first page.
        page: u64,
        /// Number of pages, at most [`ASK_LIMIT`](super::ASK_LIMIT).
        pages: u32,
    },
    /// Bytes of the file. A zstd frame with these bytes follows the message.
    Extent {
        /// Position in the file, in bytes: at the beginning of a page.
        offset: u64,
        /// Number of bytes, at most [`EXTENT_LIMIT`](super::EXTENT_LIMIT).
        length: u32,
    },
    /// Size of the file, which is made longer or shorter accordingly.
    Length {
        /// The size in bytes.
        length: u64,
    },
    /// Everything since the last flush shall be made durable. Answered by
    /// [`CollectorAnswer::Durable`] or [`CollectorAnswer::NotStored`].
    Flush {
        /// Number of the flush, from 1 on in each connection.
        number: u64,
        /// Bytes that the shipper knows of and has not sent, for monitoring.
        left: u64,
    },
    /// Asks for the time. Answered by [`CollectorAnswer::Time`].
    Time,
    /// The four times of an exchange, for the collector to keep.
    Hint(TimeExchange),
    /// The shipper ends. Answered by [`CollectorAnswer::Bye`].
    Bye,
}

/// Answer of a collector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CollectorAnswer {
    /// The shipper is admitted.
    Welcome {
        /// [`VERSION`](super::VERSION).
        version: u32,
        /// Random id of this collection of files. While it is the same, everything that was
        /// acknowledged is still stored.
        store: u128,
    },
    /// The connection ends, for this reason.
    Refused {
        /// Reason, for the person who reads the shipper's log.
        why: String,
    },
    /// Content of the current file at the collector.
    Have {
        /// Size of the file in bytes; 0 if there is none.
        length: u64,
        /// The checksums of the requested pages, as many as the file has.
        sums: Vec<u64>,
    },
    /// Everything up to flush `number` is on the disk, except data that was reported as not stored.
    Durable {
        /// Number of the flush.
        number: u64,
    },
    /// A part of the data between flush `number` and the previous flush is not on the disk, and
    /// must be sent again.
    NotStored {
        /// Number of the flush.
        number: u64,
        /// The shortage.
        shortage: StorageShortage,
    },
    /// The collector's time, in answer to [`ShipperRequest::Time`].
    Time {
        /// Time when the request came, in nanoseconds since the Unix epoch.
        received: i64,
        /// Time when the answer was sent, in nanoseconds since the Unix epoch.
        sent: i64,
    },
    /// The collector acknowledges the end of the shipper, and sends nothing more.
    Bye,
}

/// Shortage: why something could not be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StorageShortage {
    /// The collector's disk is full.
    Disk,
    /// The host has used its quota.
    Quota,
    /// The host has the maximum number of files.
    Files,
    /// The disk reported another error, which is in the collector's log.
    Failure,
    /// No shortage: files of this host were removed, for instance to free space, with all data that
    /// was sent of them.
    Removed,
}

/// An exchange of times as in NTP (RFC 5905, section 8), all in nanoseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeExchange {
    /// Time of the host's request, by its clock.
    pub host_sent: i64,
    /// Time of the request's receipt at the collector, by the collector's clock.
    pub collector_received: i64,
    /// Time of the collector's answer, by the collector's clock.
    pub collector_sent: i64,
    /// Time of the answer's receipt at the host, by the host's clock.
    pub host_received: i64,
}

impl TimeExchange {
    /// Nanoseconds that the host's clock is ahead of the collector's, if both directions took
    /// equally long.
    pub fn clock_offset(&self) -> i64 {
        let there = i128::from(self.host_sent) - i128::from(self.collector_received);
        let back = i128::from(self.host_received) - i128::from(self.collector_sent);
        i64::try_from((there + back) / 2).unwrap_or(if there > 0 { i64::MAX } else { i64::MIN })
    }

    /// Round trip in nanoseconds. The offset is wrong by at most half of the round trip.
    pub fn round_trip(&self) -> i64 {
        let host = i128::from(self.host_received) - i128::from(self.host_sent);
        let collector = i128::from(self.collector_sent) - i128::from(self.collector_received);
        i64::try_from(host - collector).unwrap_or(i64::MAX)
    }
}

impl StorageShortage {
    /// All shortages.
    pub const ALL: [StorageShortage; 5] = [
        StorageShortage::Disk,
        StorageShortage::Quota,
        StorageShortage::Files,
        StorageShortage::Failure,
        StorageShortage::Removed,
    ];

    /// Label for counters.
    pub fn label(self) -> &'static str {
        match self {
            StorageShortage::Disk => "disk",
            StorageShortage::Quota => "quota",
            StorageShortage::Files => "files",
            StorageShortage::Failure => "failure",
            StorageShortage::Removed => "removed",
        }
    }
}

impl std::fmt::Display for StorageShortage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            StorageShortage::Disk => "the collector's disk is full",
            StorageShortage::Quota => "this host has used up its quota at the collector",
            StorageShortage::Files => "this host has the maximum number of files at the collector",
            StorageShortage::Failure => "the collector's disk failed; see its log",
            StorageShortage::Removed => "logs of this host were removed at the collector",
        })
    }
}
