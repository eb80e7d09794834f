//! Bolt inside a WebSocket, as programs in a browser speak it: the bytes of binary messages, one
//! after the other.
//!
//! # Invariants
//! * BO-11 A server without passwords is closed to the pages of other machines, which a browser on
//!   this one shows: such a page says where it comes from.
//! * BO-10 A WebSocket message has at most [`MESSAGE_MAX`] bytes: it is held until it is whole,
//!   also before a login. A chunk of Bolt has 64 KiB, and clients send each by itself.
//!
//! # Source
//! RFC 6455; Neo4j's driver for JavaScript.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_util::{Sink, Stream};
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf,
};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::machine::TryParse;
use tokio_tungstenite::tungstenite::handshake::server::{Request, create_response, write_response};
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Bytes, Error, Message};

/// Longest WebSocket message that is taken, and longest one that is sent.
const MESSAGE_MAX: usize = 128 << 10;
const SENT_MAX: usize = 64 << 10;

/// Bytes that are read at once.
const READ_BUFFER: usize = 4 << 10;

/// Longest request for a WebSocket.
const REQUEST_MAX: u64 = 16 << 10;

/// A WebSocket as a stream of bytes.
pub(crate) struct Socket<S> {
    inner: WebSocketStream<S>,
    /// What was received and not read.
    ahead: Bytes,
}

/// What a client is told that asks for something else over HTTP.
pub(crate) fn refusal(said: &str) -> String {
    let head = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close";
    let length = said.len();
    format!("{head}\r\nContent-Length: {length}\r\n\r\n{said}")
}

/// Answers a request for a WebSocket; none where it is refused.
///
/// `foreign_pages`: whether pages of other machines may connect.
///
/// # Errors
/// The connection broke off.
pub(crate) async fn accept<S>(mut stream: S, foreign_pages: bool) -> io::Result<Option<Socket<S>>>
where
    S: AsyncBufRead + AsyncWrite + Unpin,
{
    let head = head(&mut stream).await?;
    let parsed = Request::try_parse(&head).ok().flatten();
    let request = parsed.map(|(_, request)| request);
    let response = request.as_ref().and_then(|it| create_response(it).ok());
    let said = match (request, response) {
        (Some(request), Some(_)) if !foreign_pages && !is_near(&request) => {
            Err("this server asks for no password, so it refuses pages of other machines\n")
        }
        (_, Some(response)) => Ok(response),
        _ => Err("this port speaks Bolt: use a Neo4j driver with bolt://\n"),
    };
    let mut answer = Vec::new();
    match &said {
        Ok(response) => write_response(&mut answer, response).map_err(broken)?,
        Err(said) => answer.extend(refusal(said).into_bytes()),
    }
    stream.write_all(&answer).await?;
    stream.flush().await?;
    if said.is_err() {
        stream.shutdown().await?;
        return Ok(None);
    }
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(0)
        .max_message_size(Some(MESSAGE_MAX))
        .max_frame_size(Some(MESSAGE_MAX));
    let inner = WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await;
    let ahead = Bytes::new();
    Ok(Some(Socket { inner, ahead }))
}

/// The head of a request, with the empty line that ends it.
async fn head(from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut from = from.take(REQUEST_MAX);
    while !head.ends_with(b"\r\n\r\n") {
        if from.read_until(b'\n', &mut head).await? == 0 {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
    Ok(head)
}

/// Whether no page asks, or one of this machine.
fn is_near(request: &Request) -> bool {
    let Some(origin) = request.headers().get("Origin") else {
        return true;
    };
    let host = origin.to_str().ok().and_then(|it| it.split_once("://"));
    host.is_some_and(|(_, host)| {
        ["localhost", "127.0.0.1", "[::1]"].into_iter().any(|near| {
            let rest = host.strip_prefix(near);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        })
    })
}

/// An error as one of the connection.
fn broken(error: Error) -> io::Error {
    match error {
        Error::Io(error) => error,
        other => io::Error::new(io::ErrorKind::InvalidData, other),
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Socket<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            if !self.ahead.is_empty() {
                let bytes = self.ahead.len().min(to.remaining());
                to.put_slice(&self.ahead.split_to(bytes));
                return Poll::Ready(Ok(()));
            }
            match ready!(Pin::new(&mut self.inner).poll_next(context)) {
                None | Some(Ok(Message::Close(_)) | Err(Error::ConnectionClosed)) => {
                    return Poll::Ready(Ok(()));
                }
                Some(Ok(Message::Binary(bytes))) => self.ahead = bytes,
                Some(Ok(Message::Text(_))) => {
                    return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
                }
                // The other side is answered when something is sent or read next.
                Some(Ok(_)) => {}
                Some(Err(error)) => return Poll::Ready(Err(broken(error))),
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Socket<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut inner = Pin::new(&mut self.inner);
        ready!(inner.as_mut().poll_ready(context)).map_err(broken)?;
        let sent = bytes.len().min(SENT_MAX);
        let message = Message::Binary(Bytes::copy_from_slice(&bytes[..sent]));
        inner.start_send(message).map_err(broken)?;
        Poll::Ready(Ok(sent))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let inner = Pin::new(&mut self.inner);
        inner.poll_flush(context).map_err(broken)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let inner = Pin::new(&mut self.inner);
        inner.poll_close(context).map_err(broken)
    }
}
