//! Goal: whatever a client sends, before and after it has logged in, its connection ends with it or
//! goes on by the rules, and slots, threads and memory of the server come back to what they were.
//! Method: every message of the protocol, cut at every byte, with fields of wrong types, too many
//! and too few of them, sizes that lie, nonsense behind it, and out of its place; thousands of
//! connections to a server with few places, beside a client that stays.

mod process;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use graven::{Config, Database};
use graven_server::{Options, Server};
use process::resident_bytes;

const PLACES: usize = 4;
const PATIENCE: Duration = Duration::from_secs(60);

fn text(text: &str) -> Vec<u8> {
    let mut bytes = vec![0xd0, u8::try_from(text.len()).expect("short")];
    bytes.extend(text.as_bytes());
    bytes
}

fn message(signature: u8, fields: &[Vec<u8>]) -> Vec<u8> {
    let count = u8::try_from(fields.len()).expect("few");
    let mut message = vec![0xb0 | count, signature];
    fields.iter().for_each(|field| message.extend(field));
    message
}

fn map(entries: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut map = vec![0xa0 | u8::try_from(entries.len()).expect("few")];
    for (key, value) in entries {
        map.extend(text(key));
        map.extend(value);
    }
    map
}

/// Each message of the protocol, as it should be.
fn messages() -> Vec<Vec<u8>> {
    let empty = || vec![0xa0];
    vec![
        hello(),
        logon(),
        message(0x6b, &[]),
        message(0x0f, &[]),
        message(
            0x10,
            &[
                text("RETURN $p"),
                map(&[("p", vec![0x93, 1, 0xc0, 0x90])]),
                empty(),
            ],
        ),
        message(0x11, &[empty()]),
        message(0x12, &[]),
        message(0x13, &[]),
        message(0x3f, &[map(&[("n", vec![0xff])])]),
        message(0x2f, &[map(&[("n", vec![1])])]),
        message(0x66, &[empty(), vec![0x90], empty()]),
        message(0x54, &[vec![1]]),
        message(0x02, &[]),
    ]
}

fn hello() -> Vec<u8> {
    message(0x01, &[map(&[("user_agent", text("t/1"))])])
}

fn logon() -> Vec<u8> {
    message(0x6a, &[map(&[("scheme", text("none"))])])
}

/// What can be made of a message that it should not be.
fn malformed(whole: &[u8]) -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = (1..whole.len()).map(|end| whole[..end].to_vec()).collect();
    for wrong in [
        &[0xc0][..],
        &[0x01],
        &[0x81, b'x'],
        &[0x90],
        &[0xa1, 0x01, 0x01],
        &[0xb1, 0x4e, 0x01],
        &[0xd6, 0xff, 0xff, 0xff, 0xff],
        &[0xda, 0x7f, 0xff, 0xff, 0xff],
        &[0xd2, 0xff, 0xff, 0xff, 0xff],
        &[0xce, 0x7f, 0xff, 0xff, 0xff],
        &[0xdf],
        &[0x91; 200],
    ] {
        // In the place of the fields, behind them, and instead of the message.
        all.push([&[0xb1, whole[1]][..], wrong].concat());
        all.push([&[0xb3, whole[1]][..], wrong, wrong, wrong].concat());
        all.push([whole, wrong].concat());
        all.push(wrong.to_vec());
    }
    all.push(vec![0xb0, whole[1], 0x00]);
    all.push(vec![0xbf, whole[1]]);
    all.push(vec![0xb0, 0x99]);
    all
}

/// How far a connection comes before it sends nonsense.
#[derive(Clone, Copy, Debug)]
enum Stage {
    Connected,
    Agreed,
    Greeted,
    LoggedIn,
    InTransaction,
    Failed,
}

struct Client(TcpStream);

impl Client {
    fn connect(server: &Server) -> Client {
        let stream = TcpStream::connect(server.address()).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        Client(stream)
    }

    fn agree(&mut self) {
        let mut hand = [0; 20];
        hand[..4].copy_from_slice(&[0x60, 0x60, 0xb0, 0x17]);
        hand[6..8].copy_from_slice(&[4, 5]);
        self.0.write_all(&hand).expect("sent");
        let mut version = [0; 4];
        self.0.read_exact(&mut version).expect("a version");
    }

    /// The server may have ended the connection.
    fn send(&mut self, message: &[u8]) {
        let mut chunks = Vec::new();
        for chunk in message.chunks(0xffff) {
            let length = u16::try_from(chunk.len()).expect("a chunk");
            chunks.extend(length.to_be_bytes());
            chunks.extend(chunk);
        }
        chunks.extend([0, 0]);
        // One write: small ones would each wait for the acknowledgement of the one before.
        let _ = self.0.write_all(&chunks);
    }

    /// The signature of the next answer; none at the end of the connection.
    fn answer(&mut self) -> Option<u8> {
        let mut message = Vec::new();
        loop {
            let mut length = [0; 2];
            self.0.read_exact(&mut length).ok()?;
            let length = usize::from(u16::from_be_bytes(length));
            if length == 0 {
                return message.get(1).copied();
            }
            let before = message.len();
            message.resize(before + length, 0);
            self.0.read_exact(&mut message[before..]).ok()?;
        }
    }

    fn ask(&mut self, message: &[u8]) -> Option<u8> {
        self.send(message);
        self.answer()
    }

    fn at(server: &Server, stage: Stage) -> Client {
        let mut client = Client::connect(server);
        let last = match stage {
            Stage::Connected => return client,
            Stage::Agreed => {
                client.agree();
                return client;
            }
            Stage::Greeted => {
                client.agree();
                assert_eq!(client.ask(&hello()), Some(0x70));
                return client;
            }
            Stage::LoggedIn => message(0x0f, &[]),
            Stage::InTransaction => message(0x11, &[vec![0xa0]]),
            Stage::Failed => message(0x10, &[text("RETRUN 1"), vec![0xa0], vec![0xa0]]),
        };
        // The place of one that has just ended may not be back yet.
        let began = Instant::now();
        let mut client = loop {
            match Client::logged_in(server) {
                Some(client) => break client,
                None => assert!(began.elapsed() < PATIENCE, "places are lost"),
            }
        };
        assert!(client.ask(&last).is_some(), "{stage:?}");
        client
    }

    fn logged_in(server: &Server) -> Option<Client> {
        let mut client = Client::at(server, Stage::Greeted);
        (client.ask(&logon()) == Some(0x70)).then_some(client)
    }
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").expect("Linux").count()
}

fn waits_until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn nothing_that_a_client_sends_keeps_anything() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = Config::default();
    config.memory = 16 << 20;
    config.create = true;
    let database = Database::open(folder.path().join("h.graven"), config).expect("a database");
    let mut options = Options::default();
    options.address = "127.0.0.1:0".to_owned();
    options.open_to_all = true;
    options.connections_max = PLACES;
    let server = Server::start(database, options).expect("a server");
    let mut staying = Client::logged_in(&server).expect("room");
    let all_have_room = || {
        let clients: Vec<_> = (1..PLACES).map(|_| Client::logged_in(&server)).collect();
        clients.iter().all(Option::is_some)
    };
    assert!(all_have_room());
    // Threads without work end after some seconds.
    let quiet = threads();
    let before = resident_bytes();
    let mut sent = 0;
    for stage in [
        Stage::Connected,
        Stage::Agreed,
        Stage::Greeted,
        Stage::LoggedIn,
        Stage::InTransaction,
        Stage::Failed,
    ] {
        for whole in messages() {
            for nonsense in malformed(&whole).into_iter().chain([whole]) {
                let mut client = Client::at(&server, stage);
                client.send(&nonsense);
                // Some go without a word, some say that they send no more and wait for the end.
                if sent % 2 == 0 {
                    let _ = client.0.shutdown(Shutdown::Write);
                    let mut rest = Vec::new();
                    let _ = client.0.read_to_end(&mut rest);
                }
                sent += 1;
            }
        }
    }
    // Larger than what may be sent before a login.
    for _ in 0..50 {
        let mut client = Client::at(&server, Stage::Agreed);
        client.send(&vec![0x91; 100_000]);
    }
    assert!(sent > 3000, "{sent}");
    waits_until("all places come back", all_have_room);
    waits_until("threads end", || threads() <= quiet);
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 32 << 20, "{grown} bytes more than before");
    let run = message(0x10, &[text("RETURN 1"), vec![0xa0], vec![0xa0]]);
    assert_eq!(staying.ask(&run), Some(0x70), "beside all of it");
}
