//! Questions over HTTP, and which users may ask them.
//!
//! # How it works
//! Each connection is a task; what is asked of the database runs on a thread of its own, a few at a
//! time. A user that may connect with Bolt may ask here, with the same name and password (basic
//! authentication). A page of another site that a browser shows is refused: by `Origin`, and by
//! `Host`, which has to name this machine, whatever name leads here.
//!
//! # Invariants
//! * HT-1 A head has at most [`HEAD_BYTES`], comes within [`HEAD_TIME`], and no body is read. A
//!   connection lasts no longer than [`LIFE`].
//! * HT-2 Connections that ask nothing, or slowly, lose their places to new ones
//!   ([`crate::admission`]).

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use base64ct::{Base64, Encoding};
use http_body_util::Full as Whole;
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, watch};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use super::Answer;
use crate::admission::{Admission, ConnectionSlot};
use crate::service::Service;
use crate::stage::Stage;

/// Longest head of a request, and most lines of it.
const HEAD_BYTES: usize = 16 << 10;
const HEAD_LINES: usize = 64;
/// How long a client may take for a head, and how long a connection lasts.
const HEAD_TIME: Duration = Duration::from_secs(5);
const LIFE: Duration = Duration::from_secs(60);
/// Questions that are answered at a time, and how long one may take.
const AT_ONCE: usize = 4;
const ANSWER_TIME: Duration = Duration::from_secs(30);
/// Pause after a connection that could not be accepted.
const PAUSE: Duration = Duration::from_millis(5);

/// Where questions are answered.
pub(crate) struct Endpoint {
    address: SocketAddr,
}

/// What all connections share.
struct Shared {
    service: Arc<Service>,
    /// Of Bolt.
    bolt: Arc<Admission>,
    /// Names of this machine.
    hosts: Vec<String>,
    answering: Semaphore,
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Endpoint").field(&self.address).finish()
    }
}

impl Endpoint {
    /// Listens at an address.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub(crate) fn start(
        runtime: &Runtime,
        address: &str,
        mut hosts: Vec<String>,
        service: Arc<Service>,
        bolt: Arc<Admission>,
        stop: watch::Receiver<Stage>,
    ) -> Result<Self, String> {
        let listener = runtime.block_on(TcpListener::bind(address));
        let listener = listener.map_err(|error| format!("{address}: {error}"))?;
        let bound = listener.local_addr();
        let bound = bound.map_err(|error| format!("{address}: {error}"))?;
        hosts.push("localhost".to_owned());
        hosts.extend(address.rsplit_once(':').map(|(host, _)| host.to_owned()));
        let own = rustix::system::uname();
        hosts.extend(own.nodename().to_str().ok().map(str::to_owned));
        let shared = Arc::new(Shared {
            service,
            bolt,
            hosts,
            answering: Semaphore::new(AT_ONCE),
        });
        runtime.spawn(accept(listener, shared, stop));
        Ok(Endpoint { address: bound })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>, mut stop: watch::Receiver<Stage>) {
    let places = Admission::new(0);
    loop {
        let accepted = tokio::select! {
            _ = stop.wait_for(|stage| *stage != Stage::Runs) => return,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, peer)) = accepted else {
            sleep(PAUSE).await;
            continue;
        };
        let place = places.arrive(peer.ip());
        tokio::spawn(serve(
            stream,
            peer.ip(),
            place,
            Arc::clone(&shared),
            stop.clone(),
        ));
    }
}

async fn serve(
    stream: TcpStream,
    peer: IpAddr,
    place: ConnectionSlot,
    shared: Arc<Shared>,
    mut stop: watch::Receiver<Stage>,
) {
    let answer = service_fn(move |request| {
        let shared = Arc::clone(&shared);
        async move { Ok::<_, Infallible>(answer(&request, peer, &shared).await) }
    });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME);
    builder.max_buf_size(HEAD_BYTES).max_headers(HEAD_LINES);
    let connection = builder.serve_connection(TokioIo::new(stream), answer);
    tokio::select! {
        () = place.lost() => {}
        _ = stop.wait_for(|stage| *stage != Stage::Runs) => {}
        // A client that has gone needs no answer.
        _ = timeout(LIFE, connection) => {}
    }
}

/// A line of text with a status.
fn refusal(status: StatusCode, text: &str) -> Response<Whole<Bytes>> {
    let answer = Answer {
        status: status.as_u16(),
        kind: "text/plain",
        text: format!("{text}\n"),
    };
    response(answer)
}

fn response(answer: Answer) -> Response<Whole<Bytes>> {
    let Answer { status, kind, text } = answer;
    // The page has all it needs in itself and loads nothing from other servers.
    let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
        connect-src 'self'; frame-ancestors 'none'";
    let mut response = Response::new(Whole::new(Bytes::from(text)));
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(policy),
    );
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    response
}

/// The name before the port of `host:port`.
fn host_of(authority: &str) -> &str {
    match authority.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    }
}

impl Shared {
    /// Whether a name certainly leads to this machine: no other site can have it.
    fn is_own(&self, host: &str) -> bool {
        host.parse::<IpAddr>().is_ok()
            || self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host))
    }
}

async fn answer(
    request: &Request<Incoming>,
    peer: IpAddr,
    shared: &Arc<Shared>,
) -> Response<Whole<Bytes>> {
    let text = |name| {
        let value = request.headers().get(name);
        value.and_then(|value: &HeaderValue| value.to_str().ok())
    };
    let mut answer = check(request, &text, shared);
    if answer.is_none() {
        let said = text(header::AUTHORIZATION).and_then(basic);
        let path = request.uri().path().to_owned();
        let query = request.uri().query().unwrap_or_default().split('&');
        let mut wanted = query.filter_map(|part| part.strip_prefix("database="));
        let asks = (path, wanted.next().map(str::to_owned));
        answer = Some(asked(said, asks, peer, shared).await);
    }
    let mut answer = answer.expect("one of both");
    if !request.body().is_end_stream() {
        // HT-1: what follows is not read.
        let close = HeaderValue::from_static("close");
        answer.headers_mut().insert(header::CONNECTION, close);
    }
    answer
}

/// Why a request is refused whatever user sends it, if so.
fn check<'a>(
    request: &Request<Incoming>,
    text: &impl Fn(header::HeaderName) -> Option<&'a str>,
    shared: &Shared,
) -> Option<Response<Whole<Bytes>>> {
    let host = text(header::HOST).unwrap_or_default();
    if !shared.is_own(host_of(host)) {
        let said = "the Host of the request is no name of this machine: ask by its address, or \
            start the server with --metrics-host NAME";
        return Some(refusal(StatusCode::MISDIRECTED_REQUEST, said));
    }
    let origin = text(header::ORIGIN);
    let same = |origin: &str| origin.split_once("://").is_some_and(|(_, own)| own == host);
    if origin.is_some_and(|origin| !same(origin)) {
        return Some(refusal(
            StatusCode::FORBIDDEN,
            "pages of other sites may not ask",
        ));
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Some(refusal(StatusCode::METHOD_NOT_ALLOWED, "only GET"));
    }
    if !request.body().is_end_stream() {
        return Some(refusal(
            StatusCode::PAYLOAD_TOO_LARGE,
            "a request has no body here",
        ));
    }
    None
}

/// Name and password of basic authentication.
fn basic(value: &str) -> Option<(String, String)> {
    let (scheme, coded) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(Base64::decode_vec(coded.trim()).ok()?).ok()?;
    let (name, password) = decoded.split_once(':')?;
    Some((name.to_owned(), password.to_owned()))
}

async fn asked(
    said: Option<(String, String)>,
    (path, wanted): (String, Option<String>),
    peer: IpAddr,
    shared: &Arc<Shared>,
) -> Response<Whole<Bytes>> {
    let Ok(Ok(_turn)) = timeout(ANSWER_TIME, shared.answering.acquire()).await else {
        return refusal(
            StatusCode::SERVICE_UNAVAILABLE,
            "too many questions at a time",
        );
    };
    let own = Arc::clone(shared);
    let answered = spawn_blocking(move || {
        let service = &own.service;
        let said = said
            .as_ref()
            .map(|(name, password)| (name.as_str(), password.as_str()));
        if let Err(failure) = service.log_in(peer, said) {
            let mut refused = refusal(StatusCode::UNAUTHORIZED, &failure.message);
            let how = HeaderValue::from_static("Basic realm=\"graven\", charset=\"UTF-8\"");
            refused.headers_mut().insert(header::WWW_AUTHENTICATE, how);
            return refused;
        }
        let open = own.bolt.open();
        response(Answer::at(
            &path,
            wanted.as_deref(),
            (&service.databases, &service.counters),
            open,
        ))
    });
    match timeout(ANSWER_TIME, answered).await {
        Ok(Ok(answer)) => answer,
        _ => refusal(
            StatusCode::SERVICE_UNAVAILABLE,
            "the question takes too long",
        ),
    }
}
