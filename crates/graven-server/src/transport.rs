//! What carries the bytes of a connection: TCP, TLS, a WebSocket, or a WebSocket within TLS, all on
//! one port.
//!
//! # How it works
//! The first byte tells them apart: a TLS handshake begins with 0x16, the request for a WebSocket
//! with `G` of `GET`, Bolt with 0x60. Inside TLS the same byte is looked at again.
//!
//! # Invariants
//! * BO-9 Where the server accepts TLS alone, nothing that a client says outside of it is answered
//!   but by a refusal.
//!
//! # Source
//! RFC 8446 (records and alerts), RFC 6455; how Neo4j's server tells them apart.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use crate::websocket;

/// Bytes that are read at once.
const READ_BUFFER: usize = 4 << 10;

/// The first byte of a TLS handshake.
const TLS: u8 = 0x16;

/// The first byte of a request for a WebSocket.
const HTTP: u8 = b'G';

/// A TLS alert: fatal, the handshake has failed.
const NO_TLS: [u8; 7] = [0x15, 3, 3, 0, 2, 2, 40];

/// The side that is read.
pub(crate) type Receiving = BufReader<Box<dyn AsyncRead + Send + Unpin>>;

/// The side that is written.
pub(crate) type Sending = Box<dyn AsyncWrite + Send + Unpin>;

/// What may carry a connection.
#[derive(Clone, Default)]
pub(crate) struct Carriers {
    /// Makes TLS of a connection; none: there is no certificate.
    pub(crate) tls: Option<TlsAcceptor>,
    /// Nothing is accepted outside of TLS.
    pub(crate) tls_only: bool,
    /// No client needs to log in.
    pub(crate) open_to_all: bool,
}

impl std::fmt::Debug for Carriers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Carriers")
            .field("tls", &self.tls.is_some())
            .field("tls_only", &self.tls_only)
            .finish_non_exhaustive()
    }
}

/// Both sides of a connection, ready for Bolt; none where the client was refused.
///
/// # Errors
/// The connection broke off, or what the client sent is neither Bolt nor any of the others.
pub(crate) async fn open(
    stream: TcpStream,
    carriers: &Carriers,
) -> io::Result<Option<(Receiving, Sending)>> {
    let mut first = [0];
    if stream.peek(&mut first).await? == 0 {
        return Ok(None);
    }
    match (first[0], &carriers.tls) {
        (TLS, Some(tls)) => {
            let stream = tls.accept(stream).await?;
            let mut stream = BufReader::with_capacity(READ_BUFFER, stream);
            match stream.fill_buf().await?.first() {
                None => Ok(None),
                Some(&HTTP) => upgrade(stream, carriers).await,
                Some(_) => Ok(Some(split(stream))),
            }
        }
        (TLS, None) => {
            refuse(stream, &NO_TLS).await?;
            Ok(None)
        }
        (first, _) if carriers.tls_only => {
            let said = "this server accepts TLS alone: use bolt+s://, neo4j+s:// or wss://\n";
            let said = match first {
                HTTP => websocket::refusal(said),
                _ => String::new(),
            };
            refuse(stream, said.as_bytes()).await?;
            Ok(None)
        }
        (HTTP, _) => {
            let stream = BufReader::with_capacity(READ_BUFFER, stream);
            upgrade(stream, carriers).await
        }
        _ => {
            let (from, to) = stream.into_split();
            Ok(Some((buffered(from), Box::new(to))))
        }
    }
}

/// Makes a WebSocket of what asks for one.
async fn upgrade(
    stream: impl AsyncBufRead + AsyncWrite + Send + Unpin + 'static,
    carriers: &Carriers,
) -> io::Result<Option<(Receiving, Sending)>> {
    let socket = websocket::accept(stream, !carriers.open_to_all).await?;
    Ok(socket.map(split))
}

/// Says a last word.
async fn refuse(mut stream: TcpStream, said: &[u8]) -> io::Result<()> {
    stream.write_all(said).await?;
    stream.shutdown().await
}

fn buffered(from: impl AsyncRead + Send + Unpin + 'static) -> Receiving {
    BufReader::with_capacity(READ_BUFFER, Box::new(from))
}

fn split(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> (Receiving, Sending) {
    let (from, to) = tokio::io::split(stream);
    (buffered(from), Box::new(to))
}
