//! Redis (RESP2 and RESP3): commands without their arguments, errors by their code.

use registry::{EntryHelp, Spec};

use crate::cursor::{first_line, parse_decimal};
use crate::flow_snippet::{FlowSpeaker, SnippetRule};
use crate::opening::{FlowOpening, yes_if};
use crate::operation::{MessageRole, OperationSink, ProtocolOperation};
use crate::parser::ProtocolParser;
use crate::protocol::{ProtocolEntry, ProtocolSpec};
use crate::streams::{MessageParser, MessageStreams, ParseStep, UnparsedBytes};
use crate::tuning::OTHER_MESSAGE_BYTES;

/// Registry entry of Redis.
pub(crate) static REDIS: ProtocolSpec = Spec {
    about: EntryHelp {
        name: "redis",
        summary: "Redis: commands without keys and values, codes of errors",
        ..EntryHelp::NOTHING
    },
    flags: registry::no_flags,
    entry: ProtocolEntry {
        class: SnippetRule::Other,
        recognised: "An array of texts that begins with a known command.",
        recognise: |opening: &FlowOpening| {
            yes_if(matches!(parse_command(opening.client_bytes()), Some((Some(_), ..))))
        },
        open: open_parser,
        #[cfg(test)]
        samples: tests::sample_conversations,
    },
};

fn open_parser() -> Box<dyn ProtocolParser> {
    Box::new(MessageStreams::new(Redis::default()))
}

const NAME: &str = "redis";

/// Largest plausible number of elements and length of a text.
const MAX_COUNT: u64 = 1 << 32;

/// Known commands. Other commands are recorded without a name: it could be anything, and renamed
/// commands are meant to be secret.
const COMMANDS: &str = "\
    ACL APPEND ASKING AUTH BGREWRITEAOF BGSAVE BITCOUNT BITFIELD BITFIELD_RO BITOP BITPOS BLMOVE \
    BLMPOP BLPOP BRPOP BRPOPLPUSH BZMPOP BZPOPMAX BZPOPMIN CLIENT CLUSTER COMMAND CONFIG COPY \
    DBSIZE DEBUG DECR DECRBY DEL DISCARD DUMP ECHO EVAL EVALSHA EVALSHA_RO EVAL_RO EXEC EXISTS \
    EXPIRE EXPIREAT EXPIRETIME FAILOVER FCALL FCALL_RO FLUSHALL FLUSHDB FUNCTION GEOADD GEODIST \
    GEOHASH GEOPOS GEORADIUS GEORADIUSBYMEMBER GEORADIUSBYMEMBER_RO GEORADIUS_RO GEOSEARCH \
    GEOSEARCHSTORE GET GETBIT GETDEL GETEX GETRANGE GETSET HDEL HELLO HEXISTS HEXPIRE HEXPIREAT \
    HEXPIRETIME HGET HGETALL HGETDEL HGETEX HINCRBY HINCRBYFLOAT HKEYS HLEN HMGET HMSET HPERSIST \
    HPEXPIRE HPEXPIREAT HPEXPIRETIME HPTTL HRANDFIELD HSCAN HSET HSETEX HSETNX HSTRLEN HTTL HVALS \
    INCR INCRBY INCRBYFLOAT INFO KEYS LASTSAVE LATENCY LCS LINDEX LINSERT LLEN LMOVE LMPOP LOLWUT \
    LPOP LPOS LPUSH LPUSHX LRANGE LREM LSET LTRIM MEMORY MGET MIGRATE MODULE MONITOR MOVE MSET \
    MSETNX MULTI OBJECT PERSIST PEXPIRE PEXPIREAT PEXPIRETIME PFADD PFCOUNT PFDEBUG PFMERGE \
    PFSELFTEST PING PSETEX PSUBSCRIBE PSYNC PTTL PUBLISH PUBSUB PUNSUBSCRIBE QUIT RANDOMKEY \
    READONLY READWRITE RENAME RENAMENX REPLCONF REPLICAOF RESET RESTORE ROLE RPOP RPOPLPUSH RPUSH \
    RPUSHX SADD SAVE SCAN SCARD SCRIPT SDIFF SDIFFSTORE SELECT SET SETBIT SETEX SETNX SETRANGE \
    SHUTDOWN SINTER SINTERCARD SINTERSTORE SISMEMBER SLAVEOF SLOWLOG SMEMBERS SMISMEMBER SMOVE SORT \
    SORT_RO SPOP SPUBLISH SRANDMEMBER SREM SSCAN SSUBSCRIBE STRLEN SUBSCRIBE SUBSTR SUNION \
    SUNIONSTORE SUNSUBSCRIBE SWAPDB SYNC TIME TOUCH TTL TYPE UNLINK UNSUBSCRIBE UNWATCH VADD VSIM \
    WAIT WAITAOF WATCH XACK XADD XAUTOCLAIM XCLAIM XDEL XGROUP XINFO XLEN XPENDING XRANGE XREAD \
    XREADGROUP XREVRANGE XSETID XTRIM ZADD ZCARD ZCOUNT ZDIFF ZDIFFSTORE ZINCRBY ZINTER ZINTERCARD \
    ZINTERSTORE ZLEXCOUNT ZMPOP ZMSCORE ZPOPMAX ZPOPMIN ZRANDMEMBER ZRANGE ZRANGEBYLEX \
    ZRANGEBYSCORE ZRANGESTORE ZRANK ZREM ZREMRANGEBYLEX ZREMRANGEBYRANK ZREMRANGEBYSCORE ZREVRANGE \
    ZREVRANGEBYLEX ZREVRANGEBYSCORE ZREVRANK ZSCAN ZSCORE ZUNION ZUNIONSTORE \
    JSON.GET JSON.SET JSON.MGET JSON.DEL JSON.NUMINCRBY JSON.ARRAPPEND JSON.TYPE FT.SEARCH \
    FT.AGGREGATE FT.CREATE FT.INFO TS.ADD TS.MADD TS.RANGE TS.MRANGE TS.GET BF.ADD BF.EXISTS \
    CF.ADD CF.EXISTS TOPK.ADD CMS.INCRBY";

/// Known error codes. Other codes are a script's own, and are recorded as `ERR`.
const ERRORS: &str = "\
    ERR WRONGTYPE NOAUTH WRONGPASS NOPERM NOSCRIPT BUSY LOADING READONLY MASTERDOWN OOM EXECABORT \
    MOVED ASK TRYAGAIN CROSSSLOT CLUSTERDOWN MISCONF NOREPLICAS NOPROTO BUSYKEY BUSYGROUP NOGROUP \
    UNKILLABLE NOTBUSY INPROG NOGOODSLAVE UNBLOCKED DENIED IOERR";

/// Finds a word, in any case, in a list of words in capital letters.
fn find_listed(word: &[u8], list: &'static str) -> Option<&'static str> {
    list.split_ascii_whitespace().find(|name| name.as_bytes().eq_ignore_ascii_case(word))
}

/// Parses the beginning of an array of texts up to its first text: the command if it is known, the
/// number of texts after it, and the length of this beginning. `None` if it is incomplete.
fn parse_command(bytes: &[u8]) -> Option<(Option<&'static str>, u64, usize)> {
    let (count, head) = parse_number(bytes, b'*')?;
    let (length, text) = parse_number(bytes.get(head..)?, b'$')?;
    let (begin, length) = (head + text, usize::try_from(length).ok().filter(|of| *of <= 64)?);
    let word = bytes.get(begin..begin + length)?;
    let end = bytes.get(begin + length..begin + length + 2)?;
    let known = find_listed(word, COMMANDS).filter(|_| end == b"\r\n");
    Some((known, count.checked_sub(1)?, begin + length + 2))
}

/// Parses a line of a type and a number, and returns its length, too.
fn parse_number(bytes: &[u8], kind: u8) -> Option<(u64, usize)> {
    let (line, length) = first_line(bytes.get(..bytes.len().min(32))?)?;
    let number = parse_decimal(line.strip_prefix(&[kind])?)?;
    (number < MAX_COUNT).then_some((number, length))
}

/// The response with its error code.
fn with_error(response: ProtocolOperation, code: &[u8]) -> ProtocolOperation {
    let code = find_listed(code, ERRORS).unwrap_or("ERR");
    response.with_status(code, !matches!(code, "MOVED" | "ASK"))
}

#[derive(Debug, Default)]
struct Redis {
    /// Number of texts of the client's command that are still to come.
    arguments: u64,
    /// Number of elements of the server's response that are still to come.
    elements: u64,
    /// Whether the client subscribed to anything.
    is_subscribed: bool,
}

impl MessageParser for Redis {
    const NAME: &'static str = NAME;
    const MAX_EXAMINED_BYTES: usize = OTHER_MESSAGE_BYTES;
    const QUIET_TURNS: bool = true;

    fn parse_message(
        &mut self,
        unparsed: &UnparsedBytes<'_>,
        out: &mut OperationSink<'_>,
    ) -> ParseStep {
        match unparsed.speaker {
            FlowSpeaker::Client => self.parse_request(unparsed, out),
            FlowSpeaker::Server => self.parse_responses(unparsed, out),
        }
    }

    fn lose_track(&mut self, speaker: FlowSpeaker, out: &mut OperationSink<'_>) {
        self.on_gap(speaker, out);
    }

    fn on_gap(&mut self, speaker: FlowSpeaker, _: &mut OperationSink<'_>) {
        match speaker {
            FlowSpeaker::Client => self.arguments = 0,
            FlowSpeaker::Server => self.elements = 0,
        }
    }

    fn is_within(&self, speaker: FlowSpeaker) -> bool {
        match speaker {
            FlowSpeaker::Client => self.arguments > 0,
            FlowSpeaker::Server => self.elements > 0,
        }
    }
}

impl Redis {
    fn parse_request(
        &mut self,
        unparsed: &UnparsedBytes<'_>,
        out: &mut OperationSink<'_>,
    ) -> ParseStep {
        let mut ask = |name: &str| {
            out.push(
                ProtocolOperation::new(unparsed.position_at(0), MessageRole::Request, NAME)
                    .with_name(name),
            );
        };
        if self.arguments > 0 {
            let Some((length, head)) = parse_number(unparsed.bytes, b'$') else {
                return if first_line(unparsed.bytes).is_some() {
                    ParseStep::Lost
                } else {
                    unparsed.wait_or_give_up()
                };
            };
            self.arguments -= 1;
            return ParseStep::Skip(head as u64 + length + 2);
        }
        if unparsed.bytes.first() != Some(&b'*') {
            // A command in the inline format, as people type it.
            let Some((line, length)) = first_line(unparsed.bytes) else {
                return unparsed.wait_or_give_up();
            };
            let word = line.split(|byte| *byte == b' ').next().unwrap_or_default();
            return match find_listed(word, COMMANDS) {
                Some(name) => {
                    ask(name);
                    ParseStep::Skip(length as u64)
                }
                None if line.is_empty() => ParseStep::Skip(length as u64),
                None => ParseStep::Lost,
            };
        }
        match parse_command(unparsed.bytes) {
            Some((name, arguments, length)) => {
                let subscribes = name.is_some_and(|name| name.ends_with("SUBSCRIBE"));
                self.is_subscribed |= subscribes;
                self.arguments = arguments;
                ask(name.unwrap_or_default());
                ParseStep::Skip(length as u64)
            }
            // The beginning of a command has fewer bytes.
            None if unparsed.bytes.len() >= 128 => ParseStep::Lost,
            None => unparsed.wait_or_give_up(),
        }
    }

    fn parse_responses(
        &mut self,
        unparsed: &UnparsedBytes<'_>,
        out: &mut OperationSink<'_>,
    ) -> ParseStep {
        let Some(kind) = unparsed.bytes.first() else { return unparsed.wait_or_give_up() };
        if !b"+-:$*_#,(!=%~>|".contains(kind) {
            return ParseStep::Lost;
        }
        let Some((head, length)) = first_line(unparsed.bytes) else {
            // A value certainly begins here, and the first word of an error is its code.
            if unparsed.ended && self.elements == 0 && !b">|".contains(kind) && !self.is_subscribed
            {
                let response =
                    ProtocolOperation::new(unparsed.position_at(0), MessageRole::Response, NAME);
                let end = unparsed.bytes.iter().position(|byte| *byte == b' ');
                out.push(match end.and_then(|end| unparsed.bytes.get(1..end)) {
                    Some(code) if *kind == b'-' => with_error(response, code),
                    _ => ProtocolOperation { is_error: *kind == b'-', ..response },
                });
            }
            return unparsed.wait_or_give_up();
        };
        let content = head.get(1..).unwrap_or_default();
        let is_null = content == b"-1";
        let count = parse_decimal(content).filter(|count| *count < MAX_COUNT);
        let is_sized = b"$*!=%~>|".contains(kind);
        if is_sized && count.is_none() && !is_null {
            return ParseStep::Lost;
        }
        let count = if is_sized { count.unwrap_or(0) } else { 0 };
        let is_first = self.elements == 0;
        let rest = unparsed.bytes.get(length..).unwrap_or_default();
        if is_first && *kind != b'|' {
            let Some(operation) = self.parse_value(*kind, content, count, rest, unparsed) else {
                return unparsed.wait_or_give_up();
            };
            out.push(operation);
        }
        // Attributes precede the value that they are about.
        if !is_first && *kind != b'|' {
            self.elements -= 1;
        }
        self.elements = self.elements.saturating_add(match kind {
            b'*' | b'~' | b'>' => count,
            b'%' | b'|' => count * 2,
            _ => 0,
        });
        let is_text = b"$!=".contains(kind) && !is_null;
        ParseStep::Skip(length as u64 + if is_text { count + 2 } else { 0 })
    }

    /// Parses a value of the server with `count` elements: `content` is its first line after the
    /// type, and `rest` has the bytes after that line. `None` if more bytes are needed.
    fn parse_value(
        &self,
        kind: u8,
        content: &[u8],
        count: u64,
        rest: &[u8],
        unparsed: &UnparsedBytes<'_>,
    ) -> Option<ProtocolOperation> {
        let place = unparsed.position_at(0);
        let response = ProtocolOperation::new(place, MessageRole::Response, NAME);
        let one_way =
            |name: &str| ProtocolOperation::new(place, MessageRole::OneWay, NAME).with_name(name);
        let may_be_push = kind == b'>' || kind == b'*' && self.is_subscribed && count >= 3;
        let first = match parse_number(rest, b'$') {
            Some((length, head)) => rest.get(head..).and_then(|rest| rest.get(..length as usize)),
            None => None,
        };
        Some(match kind {
            b'-' | b'!' => {
                let text = if kind == b'!' { rest } else { content };
                let word = text.split(|byte| matches!(byte, b' ' | b'\r')).next();
                with_error(response, word.unwrap_or_default())
            }
            _ if !may_be_push => response,
            _ => match first {
                // A truncated value may be the response to a subscription, if there is one.
                None if rest.len() < 64 && (!unparsed.ended || self.is_subscribed) => return None,
                Some(b"message" | b"pmessage" | b"smessage") => one_way("message"),
                Some(b"invalidate") => one_way("invalidate"),
                Some(b"subscribe" | b"psubscribe" | b"ssubscribe") => response,
                Some(b"unsubscribe" | b"punsubscribe" | b"sunsubscribe") => response,
                _ if kind == b'>' => one_way(""),
                _ => response,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::test_conversation::TestConversation;

    fn make_array(words: &[&str]) -> String {
        let text = |word: &&str| format!("${}\r\n{word}\r\n", word.len());
        format!("*{}\r\n{}", words.len(), words.iter().map(text).collect::<String>())
    }

    pub(crate) fn sample_conversations() -> Vec<TestConversation> {
        let pipeline =
            [make_array(&["set", "user:7", "alice"]), make_array(&["GET", "user:7"])].concat();
        vec![
            TestConversation::other_protocol()
                .client_says(make_array(&["HELLO", "3"]))
                .server_says("%2\r\n$6\r\nserver\r\n$5\r\nredis\r\n$5\r\nproto\r\n:3\r\n")
                .client_says(pipeline)
                .server_says("+OK\r\n$5\r\nalice\r\n")
                .client_says(make_array(&["HGET", "a", "b"]))
                .server_says("-WRONGTYPE Operation against a key\r\n")
                .client_says(make_array(&["LRANGE", "a", "0", "9"]))
                .server_says("*2\r\n*1\r\n$5\r\nalice\r\n$-1\r\n")
                .client_says(make_array(&["SET", "big", &"alice".repeat(100)]))
                .server_says("+OK\r\n")
                .client_says(make_array(&["SECRETCOMMAND", "alice"]))
                .server_says("-ALICE what\r\n"),
            TestConversation::other_protocol()
                .client_says(make_array(&["SUBSCRIBE", "news"]))
                .server_says("*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n")
                .server_says("*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$5\r\nalice\r\n"),
        ]
    }

    #[test]
    fn each_command_of_a_pipeline_has_its_response() {
        let expected = [
            "> HELLO",
            "<",
            "> SET",
            "> GET",
            "<",
            "<",
            "> HGET",
            "< WRONGTYPE!",
            "> LRANGE",
            "<",
            "> SET",
            "<",
            ">",
            "< ERR!",
        ];
        assert_eq!(sample_conversations()[0].operation_lines(), expected);
    }

    #[test]
    fn published_messages_are_one_way() {
        assert_eq!(
            sample_conversations()[1].operation_lines(),
            ["> SUBSCRIBE", "<", "< = message"]
        );
        let pushed =
            TestConversation::other_protocol().client_says(make_array(&["PING"])).server_says(
                "+PONG\r\n>2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\na\r\n|1\r\n+a\r\n+b\r\n:1\r\n",
            );
        assert_eq!(pushed.operation_lines(), ["> PING", "<", "< = invalidate", "<"]);
    }

    /// A value that is longer than the captured part of a turn.
    #[test]
    fn a_truncated_value_is_a_response() {
        let pings =
            || TestConversation::other_protocol().client_says(make_array(&["PING"]).repeat(2));
        for (value, lines) in [("-ERR unknown", "< ERR!"), ("-E", "<!"), ("+x", "<")] {
            let long = format!("{}{}", "+PONG\r\n", value.to_owned() + &"x".repeat(300));
            assert_eq!(
                pings().server_says(long).operation_lines(),
                ["> PING", "> PING", "<", lines],
                "{value}"
            );
        }
    }

    /// A push is still recognised if its first text is not in the captured part of the turn.
    #[test]
    fn a_truncated_push_is_one_way() {
        let before = format!("+{}\r\n", "x".repeat(240));
        let pushed = format!("{before}>3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nb\r\n");
        let lines = |kept: &str| {
            TestConversation::other_protocol()
                .client_says(make_array(&["PING"]))
                .server_says(kept)
                .operation_lines()
        };
        assert_eq!(lines(&pushed), ["> PING", "<", "< ="]);
        // From a subscriber's server it may be the response to the subscription.
        let subscribed =
            TestConversation::other_protocol().client_says(make_array(&["SUBSCRIBE", "a"]));
        assert_eq!(subscribed.server_says(&pushed).operation_lines(), ["> SUBSCRIBE", "<"]);
    }

    #[test]
    fn other_lines_are_not_recognised_as_commands() {
        for bytes in ["*1\r\n$5\r\nalice\r\n", "*x\r\n$4\r\nPING\r\n", "PING", "+OK\r\n"] {
            assert_eq!(
                TestConversation::other_protocol().client_says(bytes).operation_lines(),
                [""; 0],
                "{bytes}"
            );
        }
    }
}
