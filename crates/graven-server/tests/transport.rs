//! Goal: the same conversation over every carrier and in every version, on one port; what is not
//! accepted is refused in words.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use graven::{Config, Database};
use graven_server::{Options, Server, Tls};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

struct Served {
    server: Server,
    folder: tempfile::TempDir,
}

fn served(options: impl FnOnce(&mut Options, &std::path::Path)) -> Served {
    let folder = tempfile::tempdir().expect("a folder");
    let mut config = Config::default();
    config.memory = 16 << 20;
    config.create = true;
    let database = Database::open(folder.path().join("social.graven"), config).expect("a database");
    let mut own = Options::default();
    own.address = "127.0.0.1:0".to_owned();
    own.open_to_all = true;
    options(&mut own, folder.path());
    let server = Server::start(database, own).expect("a server");
    Served { server, folder }
}

fn self_signed(options: &mut Options, folder: &std::path::Path) {
    options.tls = Some(Tls::SelfSigned {
        folder: folder.join("tls"),
        names: vec!["graven.example".to_owned()],
    });
}

const MAGIC: [u8; 4] = [0x60, 0x60, 0xb0, 0x17];

/// HELLO without a name of the client, and LOGON without a scheme, or both in one before version
/// 5.1.
const HELLO: &[u8] = &[0, 3, 0xb1, 0x01, 0xa0, 0, 0];
const LOGON: &[u8] = &[0, 3, 0xb1, 0x6a, 0xa0, 0, 0];
/// `RETURN 7`, and all its rows.
const SEVEN: &[u8] = b"\0\x0d\xb3\x10\x88RETURN 7\xa0\xa0\0\0\0\x06\xb1\x3f\xa1\x81n\xff\0\0";
const ROW: &[u8] = &[0, 4, 0xb1, 0x71, 0x91, 7, 0, 0];

/// What a version is asked for by, HELLO and LOGON, and a statement.
fn asked((major, minor): (u8, u8)) -> Vec<u8> {
    let logon = if (major, minor) >= (5, 1) { LOGON } else { &[] };
    let proposals = [0, 0, minor, major, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    [&MAGIC, &proposals[..], HELLO, logon, SEVEN].concat()
}

/// Whether what was answered is the version and, somewhere behind it, the row.
fn is_answer(said: &[u8], (major, minor): (u8, u8)) -> bool {
    said.starts_with(&[0, 0, minor, major]) && said.windows(ROW.len()).any(|it| it == ROW)
}

async fn converse(mut stream: impl AsyncRead + AsyncWrite + Unpin, version: (u8, u8)) {
    stream.write_all(&asked(version)).await.expect("sent");
    stream.flush().await.expect("sent");
    let mut said = Vec::new();
    while !is_answer(&said, version) {
        let mut some = [0; 1024];
        let read = tokio::time::timeout(Duration::from_secs(60), stream.read(&mut some)).await;
        match read.expect("in time").expect("read") {
            0 => panic!("it ended after {said:?}"),
            read => said.extend(&some[..read]),
        }
    }
}

/// What is said to these bytes until the connection ends.
fn said_to(server: &Server, sent: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(server.address()).expect("a connection");
    let timeout = Some(Duration::from_secs(60));
    stream.set_read_timeout(timeout).expect("a timeout");
    stream.write_all(sent).expect("sent");
    let mut said = Vec::new();
    let _ = stream.read_to_end(&mut said);
    said
}

fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().expect("a runtime")
}

#[test]
fn every_version_is_spoken_alone() {
    let served = served(|_, _| {});
    let address = served.server.address();
    let versions = (1..=4).map(|minor| (4, minor));
    let versions = versions.chain((0..=8).map(|minor| (5, minor)));
    runtime().block_on(async {
        for version in versions.chain([(6, 0)]) {
            let stream = tokio::net::TcpStream::connect(address).await;
            converse(stream.expect("a connection"), version).await;
        }
    });
}

#[test]
fn tls_and_websockets_are_told_apart_on_one_port() {
    let served = served(self_signed);
    let address = served.server.address();
    let certificate = served.folder.path().join("tls/cert.pem");
    let mut roots = RootCertStore::empty();
    let certificate = CertificateDer::from_pem_file(certificate).expect("a certificate");
    roots.add(certificate).expect("a root");
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = TlsConnector::from(Arc::new(config));
    runtime().block_on(async {
        for name in [None, Some("localhost"), Some("graven.example")] {
            for in_socket in [false, true] {
                let stream = tokio::net::TcpStream::connect(address).await;
                let stream = stream.expect("a connection");
                match name {
                    Some(name) => {
                        let name = ServerName::try_from(name).expect("a name");
                        let stream = connector.connect(name, stream).await.expect("trusted");
                        either(stream, in_socket).await;
                    }
                    None => either(stream, in_socket).await,
                }
            }
        }
    });
    // The key is its owner's.
    use std::os::unix::fs::PermissionsExt;
    let key = served.folder.path().join("tls/key.pem");
    let mode = key.metadata().expect("a key").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

async fn either(stream: impl AsyncRead + AsyncWrite + Unpin, in_socket: bool) {
    if !in_socket {
        return converse(stream, (5, 8)).await;
    }
    let (mut socket, _) = client_async("ws://localhost/", stream)
        .await
        .expect("a WebSocket");
    // The bytes of a message may come in any parts.
    for part in asked((5, 8)).chunks(7) {
        let message = Message::binary(part.to_vec());
        socket.send(message).await.expect("sent");
    }
    let mut said = Vec::new();
    while !is_answer(&said, (5, 8)) {
        match socket.next().await.expect("not ended").expect("read") {
            Message::Binary(bytes) => said.extend(bytes),
            other => panic!("{other:?} after {said:?}"),
        }
    }
    socket.close(None).await.expect("closed");
}

#[test]
fn what_is_not_accepted_is_refused_in_words() {
    let plain = served(|_, _| {});
    // A TLS handshake, where there is no certificate: an alert.
    let hello = [0x16, 3, 1, 0, 4, 1, 2, 3, 4];
    assert_eq!(said_to(&plain.server, &hello), [0x15, 3, 3, 0, 2, 2, 40]);
    let said = said_to(&plain.server, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let said = String::from_utf8(said).expect("text");
    assert!(
        said.starts_with("HTTP/1.1 400") && said.contains("Bolt"),
        "{said}"
    );
    let only = served(|options, folder| {
        self_signed(options, folder);
        options.tls_only = true;
    });
    assert_eq!(said_to(&only.server, &asked((5, 8))), b"");
    let said = said_to(&only.server, b"GET / HTTP/1.1\r\n\r\n");
    assert!(String::from_utf8_lossy(&said).contains("TLS alone"));
}

#[test]
fn pages_of_other_machines_do_not_reach_a_server_without_passwords() {
    let served = served(|_, _| {});
    let address = served.server.address();
    runtime().block_on(async {
        for (origin, comes_in) in [
            ("http://localhost:3000", true),
            ("http://127.0.0.1", true),
            ("http://localhost.example", false),
            ("https://example.org", false),
            ("null", false),
        ] {
            let stream = tokio::net::TcpStream::connect(address).await;
            let mut request = "ws://localhost/".into_client_request().expect("a request");
            let origin_header = origin.parse().expect("a header");
            request.headers_mut().insert("Origin", origin_header);
            let connected = client_async(request, stream.expect("a connection")).await;
            assert_eq!(connected.is_ok(), comes_in, "{origin}");
        }
    });
}

#[test]
fn a_message_above_the_limit_fails_and_the_connection_goes_on() {
    let served = served(|options, _| options.message_bytes_max = 100_000);
    let mut stream = TcpStream::connect(served.server.address()).expect("a connection");
    let timeout = Some(Duration::from_secs(60));
    stream.set_read_timeout(timeout).expect("a timeout");
    let mut said = Vec::new();
    let mut wait_for = |stream: &mut TcpStream, what: &[u8], times: usize| {
        let count = |said: &[u8]| said.windows(what.len()).filter(|it| *it == what).count();
        while count(&said) < times {
            let mut some = [0; 1024];
            let read = stream.read(&mut some).expect("an answer");
            assert!(
                read > 0,
                "it ended after {}",
                String::from_utf8_lossy(&said)
            );
            said.extend(&some[..read]);
        }
        said.clone()
    };
    // Before it has logged in, a client has less.
    stream.write_all(&asked((5, 8))).expect("sent");
    wait_for(&mut stream, ROW, 1);
    let chunk = [&[0xff, 0xff][..], &[0x80; 0xffff]].concat();
    let mut long = chunk.repeat(5);
    // Its end, and something that is ignored.
    long.extend([0, 0]);
    long.extend(SEVEN);
    stream.write_all(&long).expect("sent");
    let ignored = &[0, 2, 0xb0, 0x7e, 0, 0][..];
    let said = wait_for(&mut stream, &[ignored, ignored].concat(), 1);
    // A RESET, and a statement.
    stream.write_all(&[0, 2, 0xb0, 0x0f, 0, 0]).expect("sent");
    stream.write_all(SEVEN).expect("sent");
    wait_for(&mut stream, ROW, 2);
    let text = String::from_utf8_lossy(&said);
    assert!(text.contains("more than 100000 bytes"), "{text}");
    assert!(text.contains("Neo.ClientError.Request.Invalid"), "{text}");
}

#[test]
fn a_client_that_waits_gets_signs_of_life() {
    let served = served(|options, _| options.keep_alive = Duration::from_millis(20));
    let mut stream = TcpStream::connect(served.server.address()).expect("a connection");
    let timeout = Some(Duration::from_secs(60));
    stream.set_read_timeout(timeout).expect("a timeout");
    let asked = asked((5, 8));
    stream.write_all(&asked).expect("sent");
    // `RETURN count(*)` of very many rows, which takes until it is stopped.
    let text = b"UNWIND range(1, 1000000000000) AS x RETURN count(x)";
    let length = u8::try_from(text.len()).expect("short");
    let run = [&[0, length + 6, 0xb3, 0x10, 0xd0, length][..], text];
    let run = [
        &run.concat()[..],
        &[0xa0, 0xa0, 0, 0],
        &SEVEN[SEVEN.len() - 10..],
    ]
    .concat();
    stream.write_all(&run).expect("sent");
    let mut said = Vec::new();
    // Not one after the other: an empty chunk follows each message as its end, too.
    while !said.ends_with(&[0; 8]) {
        let mut some = [0; 1024];
        let read = stream.read(&mut some).expect("an answer");
        assert!(read > 0, "it ended");
        said.extend(&some[..read]);
    }
}
