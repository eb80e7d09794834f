//! A web server with files in memory, which counts what it sends and does wrong what it is told.

use std::collections::BTreeMap;
use std::io::{BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::s3::http::{Message, read_request};

/// What the server does; the first part of a path says it, as in `/slow/a.csv`.
#[derive(Default)]
struct Shared {
    files: Mutex<BTreeMap<String, Vec<u8>>>,
    requests: AtomicUsize,
    bytes: AtomicUsize,
    asked: Mutex<Vec<String>>,
}

/// See the file header.
#[derive(Clone)]
pub(crate) struct Web {
    pub(crate) port: u16,
    shared: Arc<Shared>,
}

impl Web {
    pub(crate) fn serve() -> Web {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::<Shared>::default();
        let own = shared.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = own.clone();
                std::thread::spawn(move || {
                    let mut reader = BufReader::new(stream.try_clone().unwrap());
                    // The client may go at any time.
                    while let Ok(Some(request)) = read_request(&mut reader) {
                        if !shared.answer(&stream, &request).unwrap_or(false) {
                            return;
                        }
                    }
                });
            }
        });
        Web { port, shared }
    }

    /// The URL of a file, and how it is served.
    pub(crate) fn url(&self, how: &str, name: &str) -> String {
        format!("http://127.0.0.1:{}/{how}/{name}", self.port)
    }

    pub(crate) fn put(&self, name: &str, content: impl Into<Vec<u8>>) {
        let mut files = self.shared.files.lock().unwrap();
        files.insert(name.to_owned(), content.into());
    }

    /// Requests that were answered and bytes of files that were sent since this was asked last.
    pub(crate) fn sent(&self) -> (usize, usize) {
        let requests = self.shared.requests.swap(0, Ordering::SeqCst);
        (requests, self.shared.bytes.swap(0, Ordering::SeqCst))
    }

    /// The paths that were asked for since this was asked last.
    pub(crate) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.shared.asked.lock().unwrap())
    }
}

fn refuse(mut to: &TcpStream, status: &str) -> std::io::Result<bool> {
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
    to.write_all(head.as_bytes())?;
    Ok(true)
}

impl Shared {
    /// Sends a body without saying how long it is.
    fn send_in_pieces(&self, mut to: &TcpStream, body: &[u8]) -> std::io::Result<bool> {
        to.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
        for piece in body.chunks(16 << 10) {
            to.write_all(format!("{:x}\r\n", piece.len()).as_bytes())?;
            to.write_all(piece)?;
            to.write_all(b"\r\n")?;
            self.bytes.fetch_add(piece.len(), Ordering::SeqCst);
        }
        to.write_all(b"0\r\n\r\n")?;
        Ok(true)
    }

    /// Answers a request; whether the connection goes on.
    fn answer(&self, mut to: &TcpStream, request: &Message) -> std::io::Result<bool> {
        let number = self.requests.fetch_add(1, Ordering::SeqCst);
        self.asked.lock().unwrap().push(request.target.clone());
        let path = request.target.split('?').next().unwrap_or_default();
        let (how, name) = path[1..].split_once('/').unwrap_or((&path[1..], ""));
        let query = request.target.split_once('?').map_or("", |(_, it)| it);
        let files = self.files.lock().unwrap();
        let Some(content) = files.get(name).cloned() else {
            return refuse(to, "404 Not Found");
        };
        drop(files);
        match how {
            "forbidden" => return refuse(to, "403 Forbidden"),
            "broken" => return refuse(to, "500 Internal Server Error"),
            "flaky" if number.is_multiple_of(2) => return refuse(to, "503 Service Unavailable"),
            "signed" if query != "sig=SECRET" => return refuse(to, "403 Forbidden"),
            "slow" => std::thread::sleep(Duration::from_secs(20)),
            "elsewhere" => {
                let head = format!("HTTP/1.1 302 Found\r\nLocation: {query}\r\n");
                to.write_all(head.as_bytes())?;
                to.write_all(b"Content-Length: 0\r\n\r\n")?;
                return Ok(true);
            }
            _ => {}
        }
        let range = request.header("range").and_then(|text| {
            let (first, last) = text.strip_prefix("bytes=")?.split_once('-')?;
            Some((first.parse::<usize>().ok()?, last.parse::<usize>().ok()?))
        });
        let tag = match how {
            "changing" => format!("ETag: \"{number}\"\r\n"),
            "tagged" => "ETag: \"1\"\r\n".to_owned(),
            _ => String::new(),
        };
        let (head, body) = match range.filter(|_| !matches!(how, "plain" | "unsized")) {
            Some((first, _)) if first >= content.len() => {
                return refuse(to, "416 Range Not Satisfiable");
            }
            Some((first, last)) => {
                let last = last.min(content.len() - 1);
                let range = format!("Content-Range: bytes {first}-{last}/{}", content.len());
                let head = format!("HTTP/1.1 206 Partial Content\r\n{range}\r\n");
                (head, &content[first..=last])
            }
            None => ("HTTP/1.1 200 OK\r\n".to_owned(), &content[..]),
        };
        if how == "unsized" {
            return self.send_in_pieces(to, &content);
        }
        let length = format!("{tag}Content-Length: {}\r\n\r\n", body.len());
        to.write_all(head.as_bytes())?;
        to.write_all(length.as_bytes())?;
        if request.method == "HEAD" {
            return Ok(true);
        }
        self.bytes.fetch_add(body.len(), Ordering::SeqCst);
        if how == "truncated" {
            to.write_all(&body[..body.len() / 2])?;
            return Ok(false);
        }
        to.write_all(body)?;
        Ok(true)
    }
}
