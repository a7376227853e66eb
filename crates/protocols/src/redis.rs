//! Redis's protocol (RESP2 and RESP3): commands without their arguments, errors by their code.

use registry::About;

use crate::cursor::{decimal, line};
use crate::opening::{Opening, yes_if};
use crate::operation::{Operation, Out, Role};
use crate::parser::Parser;
use crate::piece::{Class, Speaker};
use crate::protocol::Protocol;
use crate::streams::{Heard, Messages, Step, Streams};
use crate::tuning::OTHER_MESSAGE_BYTES;

/// The entry of Redis.
pub(crate) static REDIS: Protocol = Protocol {
    about: About {
        name: "redis",
        summary: "Redis: commands without keys and values, codes of errors",
        ..About::NOTHING
    },
    class: Class::Other,
    recognised: "An array of texts that begins with a known command.",
    recognise: |opening: &Opening| yes_if(matches!(command(opening.client()), Some((Some(_), ..)))),
    open,
    #[cfg(test)]
    samples: tests::samples,
};

fn open() -> Box<dyn Parser> {
    Box::new(Streams::new(Redis::default()))
}

const NAME: &str = "redis";

/// Greatest number of elements, and length of a text, that is believed.
const GREATEST: u64 = 1 << 32;

/// Commands. Others are told without their name: it could be anything, and renamed commands are
/// meant to be secret.
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

/// Codes of errors. Others are a script's own, and are told as `ERR`.
const ERRORS: &str = "\
    ERR WRONGTYPE NOAUTH WRONGPASS NOPERM NOSCRIPT BUSY LOADING READONLY MASTERDOWN OOM EXECABORT \
    MOVED ASK TRYAGAIN CROSSSLOT CLUSTERDOWN MISCONF NOREPLICAS NOPROTO BUSYKEY BUSYGROUP NOGROUP \
    UNKILLABLE NOTBUSY INPROG NOGOODSLAVE UNBLOCKED DENIED IOERR";

/// The name of a command, in capital letters.
fn known(word: &[u8], among: &'static str) -> Option<&'static str> {
    among.split_ascii_whitespace().find(|name| name.as_bytes().eq_ignore_ascii_case(word))
}

/// The head of an array of texts with its first text: the command, where it is known, the number of
/// texts behind it, and the length of all that. `None` where it is not there.
fn command(bytes: &[u8]) -> Option<(Option<&'static str>, u64, usize)> {
    let (count, head) = number(bytes, b'*')?;
    let (length, text) = number(bytes.get(head..)?, b'$')?;
    let (begin, length) = (head + text, usize::try_from(length).ok().filter(|of| *of <= 64)?);
    let word = bytes.get(begin..begin + length)?;
    let end = bytes.get(begin + length..begin + length + 2)?;
    let known = known(word, COMMANDS).filter(|_| end == b"\r\n");
    Some((known, count.checked_sub(1)?, begin + length + 2))
}

/// A line of a type and a number, and its length.
fn number(bytes: &[u8], kind: u8) -> Option<(u64, usize)> {
    let (line, length) = line(bytes.get(..bytes.len().min(32))?)?;
    let number = decimal(line.strip_prefix(&[kind])?)?;
    (number < GREATEST).then_some((number, length))
}

/// A response that is an error of this code.
fn failed(response: Operation, code: &[u8]) -> Operation {
    let code = known(code, ERRORS).unwrap_or("ERR");
    response.ended(code, !matches!(code, "MOVED" | "ASK"))
}

#[derive(Debug, Default)]
struct Redis {
    /// Texts of the client's command that are still to come.
    arguments: u64,
    /// Elements of the server's answer that are still to come.
    elements: u64,
    /// Whether the client subscribed to anything.
    is_subscribed: bool,
}

impl Messages for Redis {
    const NAME: &'static str = NAME;
    const BOUND: usize = OTHER_MESSAGE_BYTES;
    const QUIET_TURNS: bool = true;

    fn message(&mut self, heard: &Heard<'_>, out: &mut Out<'_>) -> Step {
        match heard.speaker {
            Speaker::Client => self.asks(heard, out),
            Speaker::Server => self.answers(heard, out),
        }
    }

    fn lose(&mut self, speaker: Speaker, out: &mut Out<'_>) {
        self.gap(speaker, out);
    }

    fn gap(&mut self, speaker: Speaker, _: &mut Out<'_>) {
        match speaker {
            Speaker::Client => self.arguments = 0,
            Speaker::Server => self.elements = 0,
        }
    }

    fn is_within(&self, speaker: Speaker) -> bool {
        match speaker {
            Speaker::Client => self.arguments > 0,
            Speaker::Server => self.elements > 0,
        }
    }
}

impl Redis {
    fn asks(&mut self, heard: &Heard<'_>, out: &mut Out<'_>) -> Step {
        let mut ask = |name: &str| {
            out.push(Operation::new(heard.place(0), Role::Request, NAME).named(name));
        };
        if self.arguments > 0 {
            let Some((length, head)) = number(heard.bytes, b'$') else {
                return if line(heard.bytes).is_some() { Step::Lost } else { heard.more() };
            };
            self.arguments -= 1;
            return Step::Skip(head as u64 + length + 2);
        }
        if heard.bytes.first() != Some(&b'*') {
            // A command as people type it.
            let Some((line, length)) = line(heard.bytes) else { return heard.more() };
            let word = line.split(|byte| *byte == b' ').next().unwrap_or_default();
            return match known(word, COMMANDS) {
                Some(name) => {
                    ask(name);
                    Step::Skip(length as u64)
                }
                None if line.is_empty() => Step::Skip(length as u64),
                None => Step::Lost,
            };
        }
        match command(heard.bytes) {
            Some((name, arguments, length)) => {
                let subscribes = name.is_some_and(|name| name.ends_with("SUBSCRIBE"));
                self.is_subscribed |= subscribes;
                self.arguments = arguments;
                ask(name.unwrap_or_default());
                Step::Skip(length as u64)
            }
            // A whole line that is none of an array's, or more than a command can have.
            None if heard.bytes.len() >= 128 => Step::Lost,
            None => heard.more(),
        }
    }

    fn answers(&mut self, heard: &Heard<'_>, out: &mut Out<'_>) -> Step {
        let Some(kind) = heard.bytes.first() else { return heard.more() };
        if !b"+-:$*_#,(!=%~>|".contains(kind) {
            return Step::Lost;
        }
        let Some((head, length)) = line(heard.bytes) else {
            // A value begins here for certain, and of an error the first word says which.
            if heard.ended && self.elements == 0 && !b">|".contains(kind) && !self.is_subscribed {
                let response = Operation::new(heard.place(0), Role::Response, NAME);
                let end = heard.bytes.iter().position(|byte| *byte == b' ');
                out.push(match end.and_then(|end| heard.bytes.get(1..end)) {
                    Some(code) if *kind == b'-' => failed(response, code),
                    _ => Operation { is_error: *kind == b'-', ..response },
                });
            }
            return heard.more();
        };
        let content = head.get(1..).unwrap_or_default();
        let is_null = content == b"-1";
        let count = decimal(content).filter(|count| *count < GREATEST);
        let is_sized = b"$*!=%~>|".contains(kind);
        if is_sized && count.is_none() && !is_null {
            return Step::Lost;
        }
        let count = if is_sized { count.unwrap_or(0) } else { 0 };
        let is_first = self.elements == 0;
        let rest = heard.bytes.get(length..).unwrap_or_default();
        if is_first && *kind != b'|' {
            let Some(operation) = self.answer(*kind, content, count, rest, heard) else {
                return heard.more();
            };
            out.push(operation);
        }
        // Attributes come in front of what they are about.
        if !is_first && *kind != b'|' {
            self.elements -= 1;
        }
        self.elements = self.elements.saturating_add(match kind {
            b'*' | b'~' | b'>' => count,
            b'%' | b'|' => count * 2,
            _ => 0,
        });
        let is_text = b"$!=".contains(kind) && !is_null;
        Step::Skip(length as u64 + if is_text { count + 2 } else { 0 })
    }

    /// What a value of the server is; `None` where more of it is needed to tell.
    fn answer(
        &self,
        kind: u8,
        content: &[u8],
        count: u64,
        rest: &[u8],
        heard: &Heard<'_>,
    ) -> Option<Operation> {
        let place = heard.place(0);
        let response = Operation::new(place, Role::Response, NAME);
        let one_way = |name: &str| Operation::new(place, Role::OneWay, NAME).named(name);
        let may_be_told = kind == b'>' || kind == b'*' && self.is_subscribed && count >= 3;
        let first = match number(rest, b'$') {
            Some((length, head)) => rest.get(head..).and_then(|rest| rest.get(..length as usize)),
            None => None,
        };
        Some(match kind {
            b'-' | b'!' => {
                let text = if kind == b'!' { rest } else { content };
                let word = text.split(|byte| matches!(byte, b' ' | b'\r')).next();
                failed(response, word.unwrap_or_default())
            }
            _ if !may_be_told => response,
            _ => match first {
                // What is cut off may be the answer to a subscription, where there is one.
                None if rest.len() < 64 && (!heard.ended || self.is_subscribed) => return None,
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
    use crate::talk::Talk;

    fn array(words: &[&str]) -> String {
        let text = |word: &&str| format!("${}\r\n{word}\r\n", word.len());
        format!("*{}\r\n{}", words.len(), words.iter().map(text).collect::<String>())
    }

    pub(crate) fn samples() -> Vec<Talk> {
        let pipeline = [array(&["set", "user:7", "alice"]), array(&["GET", "user:7"])].concat();
        vec![
            Talk::other()
                .client(array(&["HELLO", "3"]))
                .server("%2\r\n$6\r\nserver\r\n$5\r\nredis\r\n$5\r\nproto\r\n:3\r\n")
                .client(pipeline)
                .server("+OK\r\n$5\r\nalice\r\n")
                .client(array(&["HGET", "a", "b"]))
                .server("-WRONGTYPE Operation against a key\r\n")
                .client(array(&["LRANGE", "a", "0", "9"]))
                .server("*2\r\n*1\r\n$5\r\nalice\r\n$-1\r\n")
                .client(array(&["SET", "big", &"alice".repeat(100)]))
                .server("+OK\r\n")
                .client(array(&["SECRETCOMMAND", "alice"]))
                .server("-ALICE what\r\n"),
            Talk::other()
                .client(array(&["SUBSCRIBE", "news"]))
                .server("*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n")
                .server("*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$5\r\nalice\r\n"),
        ]
    }

    #[test]
    fn each_command_of_a_pipeline_has_its_answer() {
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
        assert_eq!(samples()[0].told(), expected);
    }

    #[test]
    fn published_messages_are_one_way() {
        assert_eq!(samples()[1].told(), ["> SUBSCRIBE", "<", "< = message"]);
        let pushed = Talk::other().client(array(&["PING"])).server(
            "+PONG\r\n>2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\na\r\n|1\r\n+a\r\n+b\r\n:1\r\n",
        );
        assert_eq!(pushed.told(), ["> PING", "<", "< = invalidate", "<"]);
    }

    /// A value that is longer than what is kept of a turn.
    #[test]
    fn a_value_that_is_cut_off_is_a_response() {
        let pings = || Talk::other().client(array(&["PING"]).repeat(2));
        for (value, told) in [("-ERR unknown", "< ERR!"), ("-E", "<!"), ("+x", "<")] {
            let long = format!("{}{}", "+PONG\r\n", value.to_owned() + &"x".repeat(300));
            assert_eq!(pings().server(long).told(), ["> PING", "> PING", "<", told], "{value}");
        }
    }

    /// A push whose first text is behind what is kept of the turn is one, whatever it says.
    #[test]
    fn a_push_that_is_cut_off_is_one_way() {
        let before = format!("+{}\r\n", "x".repeat(240));
        let pushed = format!("{before}>3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nb\r\n");
        let told = |kept: &str| Talk::other().client(array(&["PING"])).server(kept).told();
        assert_eq!(told(&pushed), ["> PING", "<", "< ="]);
        // Of who subscribed it may be the answer to that.
        let subscribed = Talk::other().client(array(&["SUBSCRIBE", "a"]));
        assert_eq!(subscribed.server(&pushed).told(), ["> SUBSCRIBE", "<"]);
    }

    #[test]
    fn what_is_no_command_is_not_recognised() {
        for bytes in ["*1\r\n$5\r\nalice\r\n", "*x\r\n$4\r\nPING\r\n", "PING", "+OK\r\n"] {
            assert_eq!(Talk::other().client(bytes).told(), [""; 0], "{bytes}");
        }
    }
}
