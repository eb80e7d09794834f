//! A client that speaks the protocol byte by byte.

#![allow(dead_code, reason = "each test uses some of it")]

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use graven::Value;
use graven_server::Server;

pub(crate) type Map = BTreeMap<Arc<str>, Value>;

/// A client that writes messages by hand.
pub(crate) struct Client(pub(crate) TcpStream);

pub(crate) const HELLO: &[u8] = &[
    0xb1, 0x01, 0xa1, 0x8a, b'u', b's', b'e', b'r', b'_', b'a', b'g', b'e', b'n', b't', 0x81, b't',
];
pub(crate) const LOGON: &[u8] = &[
    0xb1, 0x6a, 0xa1, 0x86, b's', b'c', b'h', b'e', b'm', b'e', 0x84, b'n', b'o', b'n', b'e',
];
pub(crate) const RESET: &[u8] = &[0xb0, 0x0f];
pub(crate) const BEGIN: &[u8] = &[0xb1, 0x11, 0xa0];
pub(crate) const COMMIT: &[u8] = &[0xb0, 0x12];
pub(crate) const ROLLBACK: &[u8] = &[0xb0, 0x13];
pub(crate) const PULL_ALL: &[u8] = &[0xb1, 0x3f, 0xa1, 0x81, b'n', 0xff];
pub(crate) const DISCARD_ALL: &[u8] = &[0xb1, 0x2f, 0xa1, 0x81, b'n', 0xff];
pub(crate) const PULL_TWO: &[u8] = &[0xb1, 0x3f, 0xa1, 0x81, b'n', 2];

pub(crate) fn run(text: &str) -> Vec<u8> {
    run_with(text, &[0xa0], &[0xa0])
}

/// With parameters and with what is said besides: maps in bytes.
fn run_with(text: &str, params: &[u8], extra: &[u8]) -> Vec<u8> {
    let length = u16::try_from(text.len()).expect("short");
    let mut message = vec![0xb3, 0x10, 0xd1];
    message.extend(length.to_be_bytes());
    message.extend(text.as_bytes());
    message.extend(params);
    message.extend(extra);
    message
}

/// A short text.
fn text(value: &str) -> Vec<u8> {
    let length = u8::try_from(value.len()).expect("short");
    [&[0xd0, length], value.as_bytes()].concat()
}

/// A map of short texts.
fn map(entries: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = vec![0xa0 | u8::try_from(entries.len()).expect("few")];
    for (key, value) in entries {
        bytes.extend(text(key));
        bytes.extend(text(value));
    }
    bytes
}

/// A statement on the database of this name.
pub(crate) fn run_on(text: &str, database: &str) -> Vec<u8> {
    run_with(text, &[0xa0], &map(&[("db", database)]))
}

/// The begin of a transaction on the database of this name.
/// A statement with the parameter `name`.
pub(crate) fn run_with_name(text: &str, name: &str) -> Vec<u8> {
    run_with(text, &map(&[("name", name)]), &[0xa0])
}

pub(crate) fn begin_on(database: &str) -> Vec<u8> {
    [&[0xb1, 0x11][..], &map(&[("db", database)])].concat()
}

/// A login.
pub(crate) fn log_on(name: &str, password: &str) -> Vec<u8> {
    let said = map(&[
        ("scheme", "basic"),
        ("principal", name),
        ("credentials", password),
    ]);
    [&[0xb1, 0x6a][..], &said].concat()
}

/// An answer: its signature and its field.
pub(crate) type Answer = (u8, Value);

/// What answers are made of, read in the most simple way.
pub(crate) fn value(from: &mut &[u8]) -> Value {
    let take = |from: &mut &[u8], n: usize| {
        let (taken, rest) = from.split_at(n);
        *from = rest;
        taken.to_vec()
    };
    let size = |from: &mut &[u8], bytes: usize| {
        take(from, bytes)
            .iter()
            .fold(0, |size, byte| size << 8 | usize::from(*byte))
    };
    let marker = take(from, 1)[0];
    let text =
        |from: &mut &[u8], n: usize| Value::from(String::from_utf8(take(from, n)).expect("UTF-8"));
    let list = |from: &mut &[u8], n: usize| Value::List((0..n).map(|_| value(from)).collect());
    let map = |from: &mut &[u8], n: usize| {
        let entries = (0..n).map(|_| match value(from) {
            Value::String(key) => (key, value(from)),
            other => panic!("a key: {other}"),
        });
        Value::Map(entries.collect())
    };
    match marker {
        0..=0x7f | 0xf0..=0xff => Value::Integer(marker.cast_signed().into()),
        0xc0 => Value::Null,
        0xc1 => Value::Float(f64::from_be_bytes(take(from, 8).try_into().expect("8"))),
        0xc2 | 0xc3 => Value::Boolean(marker == 0xc3),
        0xc8..=0xcb => {
            let bytes = take(from, 1 << (marker - 0xc8));
            let sign = if bytes[0] > 127 { -1i64 } else { 0 };
            Value::Integer(bytes.iter().fold(sign, |n, byte| n << 8 | i64::from(*byte)))
        }
        0x80..=0x8f => text(from, usize::from(marker & 15)),
        0xd0..=0xd2 => {
            let n = size(from, 1 << (marker - 0xd0));
            text(from, n)
        }
        0x90..=0x9f => list(from, usize::from(marker & 15)),
        0xd4 => {
            let n = size(from, 1);
            list(from, n)
        }
        0xa0..=0xaf => map(from, usize::from(marker & 15)),
        // A structure as a list: signature, fields.
        0xb0..=0xbf => {
            let signature = take(from, 1)[0];
            let mut fields = vec![Value::Integer(signature.into())];
            fields.extend((0..marker & 15).map(|_| value(from)));
            Value::List(fields)
        }
        other => panic!("marker {other:x}"),
    }
}

impl Client {
    pub(crate) fn connect(server: &Server, minor: u8) -> Self {
        let mut stream = TcpStream::connect(server.address()).expect("a connection");
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .expect("a timeout");
        let major = if minor == 4 { 4 } else { 5 };
        let mut hand = [0; 20];
        hand[..4].copy_from_slice(&[0x60, 0x60, 0xb0, 0x17]);
        hand[6..8].copy_from_slice(&[minor, major]);
        stream.write_all(&hand).expect("sent");
        let mut version = [0; 4];
        stream.read_exact(&mut version).expect("a version");
        assert_eq!(version, [0, 0, minor, major]);
        Client(stream)
    }

    pub(crate) fn greeted(server: &Server) -> Self {
        let mut client = Client::connect(server, 3);
        let (signature, Value::Map(map)) = client.ask(HELLO) else {
            panic!("no map");
        };
        assert_eq!(signature, 0x70);
        assert!(
            map["server"]
                .as_str()
                .is_some_and(|name| name.starts_with("Neo4j/"))
        );
        assert_eq!(client.ask(LOGON).0, 0x70);
        client
    }

    /// A client that has logged in as this user.
    pub(crate) fn of(server: &Server, name: &str, password: &str) -> Self {
        let mut client = Client::connect(server, 3);
        assert_eq!(client.ask(HELLO).0, 0x70);
        assert_eq!(client.ask(&log_on(name, password)).0, 0x70);
        client
    }

    pub(crate) fn send(&mut self, message: &[u8]) {
        let length = u16::try_from(message.len()).expect("short");
        let wire = [&length.to_be_bytes()[..], message, &[0, 0]].concat();
        self.0.write_all(&wire).expect("sent");
    }

    pub(crate) fn answer(&mut self) -> Answer {
        let mut message = Vec::new();
        loop {
            let mut length = [0; 2];
            self.0.read_exact(&mut length).expect("an answer");
            let length = usize::from(u16::from_be_bytes(length));
            if length == 0 {
                break;
            }
            let before = message.len();
            message.resize(before + length, 0);
            self.0
                .read_exact(&mut message[before..])
                .expect("an answer");
        }
        match value(&mut &message[..]) {
            Value::List(mut fields) => {
                let signature = fields[0].as_integer().expect("a number");
                let field = if fields.len() > 1 {
                    fields.swap_remove(1)
                } else {
                    Value::Null
                };
                (u8::try_from(signature).expect("a byte"), field)
            }
            other => panic!("no message: {other}"),
        }
    }

    pub(crate) fn ask(&mut self, message: &[u8]) -> Answer {
        self.send(message);
        self.answer()
    }

    /// Runs a statement and pulls all rows; the last answer.
    pub(crate) fn rows(&mut self, text: &str) -> (Vec<Value>, Map) {
        self.rows_of(&run(text))
    }

    /// The same for a message.
    pub(crate) fn rows_of(&mut self, message: &[u8]) -> (Vec<Value>, Map) {
        let (signature, head) = self.ask(message);
        assert_eq!(signature, 0x70, "{head}");
        self.send(PULL_ALL);
        let mut rows = Vec::new();
        loop {
            match self.answer() {
                (0x71, row) => rows.push(row),
                (0x70, Value::Map(tail)) => return (rows, tail),
                (signature, other) => panic!("{signature:x}: {other}"),
            }
        }
    }

    /// The code of a failure.
    pub(crate) fn failure(answer: Answer) -> String {
        match answer {
            (0x7f, Value::Map(map)) => map["code"].as_str().expect("text").to_owned(),
            (signature, other) => panic!("{signature:x}: {other}"),
        }
    }
}

/// What the page of counters says at a path.
pub(crate) fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("a connection");
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    )
    .expect("sent");
    let mut said = String::new();
    stream.read_to_string(&mut said).expect("an answer");
    said
}
