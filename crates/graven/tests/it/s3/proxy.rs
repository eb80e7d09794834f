//! A proxy between a client and a store of S3: each request takes 20 ms more, and some of them go
//! wrong.

use std::io::{BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::http::{Message, read_answer, read_request};

/// What each request takes more.
const LATENCY: Duration = Duration::from_millis(20);

/// How an answer goes wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// 500, and the store has heard nothing.
    InternalError,
    /// 503, and the store has heard nothing.
    SlowDown,
    /// The connection ends without an answer; the store has done what it was asked.
    Reset,
    /// The connection ends within the body.
    Truncated,
    /// The body comes in small parts.
    Trickle,
    /// The body stands still for longer than the client waits.
    Stall,
    /// A bit of the body is another one.
    WrongBytes,
    /// Half of the range, and the store says so.
    WrongRange,
    /// The whole object where a range was asked for.
    Whole,
    /// Another state of the object is named.
    StaleTag,
    /// The first pointer that came through comes for ever.
    StalePointer,
}

/// Which requests go wrong, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) fault: Option<Fault>,
    /// One of so many does.
    pub(crate) every: usize,
    /// Requests with these words in their method and target.
    pub(crate) of: &'static str,
}

/// The proxy.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    store: u16,
    plan: Mutex<Plan>,
    requests: AtomicUsize,
    faults: AtomicUsize,
    pointer: Mutex<Option<Message>>,
}

impl Proxy {
    pub(crate) fn before(store: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            store,
            plan: Mutex::new(Plan {
                fault: None,
                every: 1,
                of: "",
            }),
            requests: AtomicUsize::new(0),
            faults: AtomicUsize::new(0),
            pointer: Mutex::new(None),
        });
        let own = shared.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = own.clone();
                std::thread::spawn(move || {
                    let mut reader = BufReader::new(stream.try_clone().unwrap());
                    // The client may go at any time.
                    while let Ok(Some(request)) = read_request(&mut reader) {
                        if !shared.pass(&stream, &request).unwrap_or(false) {
                            return;
                        }
                    }
                });
            }
        });
        Proxy { port, shared }
    }

    pub(crate) fn go_wrong(&self, plan: Plan) {
        *self.shared.plan.lock().unwrap() = plan;
    }

    /// How many requests went wrong.
    pub(crate) fn faults(&self) -> usize {
        self.shared.faults.load(Ordering::SeqCst)
    }
}

impl Shared {
    /// The answer of the store.
    fn ask(&self, request: &Message) -> std::io::Result<Message> {
        let mut store = TcpStream::connect(("127.0.0.1", self.store))?;
        let mut request = request.clone();
        request.set("connection", "close".to_owned());
        let first = format!("{} {} HTTP/1.1", request.method, request.target);
        store.write_all(&request.head(&first))?;
        store.write_all(&request.body)?;
        read_answer(&mut BufReader::new(store))
    }

    /// Answers one request; whether the connection goes on.
    fn pass(&self, mut to: &TcpStream, request: &Message) -> std::io::Result<bool> {
        std::thread::sleep(LATENCY);
        let plan = *self.plan.lock().unwrap();
        let asked = format!("{} {}", request.method, request.target);
        let named = |words: &str| words.split(' ').all(|word| asked.contains(word));
        let mut fault = plan.fault.filter(|_| named(plan.of));
        if fault.is_some() {
            let number = self.requests.fetch_add(1, Ordering::SeqCst);
            if number.is_multiple_of(plan.every) {
                self.faults.fetch_add(1, Ordering::SeqCst);
            } else {
                fault = None;
            }
        }
        let refused = match fault {
            Some(Fault::InternalError) => Some(("500 Internal Server Error", "InternalError")),
            Some(Fault::SlowDown) => Some(("503 Slow Down", "SlowDown")),
            _ => None,
        };
        if let Some((status, code)) = refused {
            let body = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code></Error>");
            let length = body.len();
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n{body}");
            to.write_all(head.as_bytes())?;
            return Ok(true);
        }
        let is_pointer = request.method == "GET" && request.target.contains("current.json");
        let mut answer = match fault {
            Some(Fault::Whole) => {
                let mut whole = request.clone();
                whole.headers.retain(|(name, _)| name != "range");
                self.ask(&whole)?
            }
            _ => self.ask(request)?,
        };
        answer
            .headers
            .retain(|(name, _)| !matches!(name.as_str(), "connection" | "keep-alive"));
        if is_pointer && answer.target.contains(" 200 ") {
            let mut first = self.pointer.lock().unwrap();
            let first = first.get_or_insert_with(|| answer.clone());
            if fault == Some(Fault::StalePointer) {
                answer = first.clone();
            }
        }
        if request.method != "GET" && fault != Some(Fault::Reset) {
            fault = None;
        }
        let half = answer.body.len() / 2;
        match fault {
            Some(Fault::Reset) => return Ok(false),
            Some(Fault::WrongBytes) if half > 0 => answer.body[half] ^= 0x10,
            Some(Fault::WrongRange) if answer.header("content-range").is_some() => {
                let range = answer.header("content-range").unwrap_or_default();
                let (first, whole) = range["bytes ".len()..].split_once('-').unwrap();
                let (_, whole) = whole.split_once('/').unwrap();
                let first: usize = first.parse().unwrap();
                let range = format!("bytes {first}-{}/{whole}", first + half - 1);
                answer.body.truncate(half);
                answer.set("content-range", range);
                answer.set("content-length", half.to_string());
            }
            Some(Fault::StaleTag) => answer.set("etag", "\"stale\"".to_owned()),
            _ => {}
        }
        to.write_all(&answer.head(&answer.target))?;
        match fault {
            Some(Fault::Truncated) => {
                to.write_all(&answer.body[..half])?;
                return Ok(false);
            }
            Some(Fault::Stall) => {
                to.write_all(&answer.body[..half])?;
                std::thread::sleep(Duration::from_secs(2));
                return Ok(false);
            }
            Some(Fault::Trickle) => {
                for part in answer.body.chunks(answer.body.len().div_ceil(6).max(1)) {
                    to.write_all(part)?;
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
            _ => to.write_all(&answer.body)?,
        }
        Ok(true)
    }
}
