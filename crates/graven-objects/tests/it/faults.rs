//! Goal: a web server that fails, resets, truncates, stalls or lies never makes a read wrong: it
//! gives the published bytes, or an error.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use graven_objects::{Location, open};

use crate::sample::{all, bytes, publish_bytes};

/// What goes wrong with a request for a range.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    None,
    ServerError,
    Reset,
    Truncated,
    WrongRange,
    Whole,
}

/// Serves a folder on loopback; every other request for a range has the fault.
struct Server {
    port: u16,
    fault: Arc<Mutex<Fault>>,
    faults: Arc<AtomicUsize>,
}

impl Server {
    fn of(folder: PathBuf) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let fault = Arc::new(Mutex::new(Fault::None));
        let faults = Arc::new(AtomicUsize::new(0));
        let server = Server {
            port,
            fault: fault.clone(),
            faults: faults.clone(),
        };
        std::thread::spawn(move || {
            let count = Arc::new(AtomicUsize::new(0));
            for stream in listener.incoming().flatten() {
                let (folder, fault) = (folder.clone(), fault.clone());
                let (faults, count) = (faults.clone(), count.clone());
                std::thread::spawn(move || {
                    // The client may go at any time.
                    let _ = serve(stream, &folder, &fault, &faults, &count);
                });
            }
        });
        server
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/graph/", self.port)
    }
}

fn serve(
    mut stream: TcpStream,
    folder: &std::path::Path,
    fault: &Mutex<Fault>,
    faults: &AtomicUsize,
    count: &AtomicUsize,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let path = line.split(' ').nth(1).unwrap_or("/").to_owned();
        let mut headers = HashMap::new();
        loop {
            let mut header = String::new();
            reader.read_line(&mut header)?;
            let Some((name, value)) = header.trim().split_once(':') else {
                break;
            };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let Ok(body) = std::fs::read(folder.join(path.trim_start_matches('/'))) else {
            stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")?;
            continue;
        };
        let range = headers.get("range").and_then(|text| {
            let (first, last) = text.strip_prefix("bytes=")?.split_once('-')?;
            Some((first.parse::<usize>().ok()?, last.parse::<usize>().ok()?))
        });
        let always = "Last-Modified: Fri, 27 Nov 2026 21:00:00 GMT\r\nETag: \"1\"";
        let Some((first, last)) = range else {
            let length = body.len();
            let head = format!("HTTP/1.1 200 OK\r\n{always}\r\nContent-Length: {length}\r\n\r\n");
            stream.write_all(head.as_bytes())?;
            stream.write_all(&body)?;
            continue;
        };
        let mut fault = *fault.lock().unwrap();
        if count.fetch_add(1, Ordering::SeqCst) % 2 == 1 {
            fault = Fault::None;
        }
        if fault != Fault::None {
            faults.fetch_add(1, Ordering::SeqCst);
        }
        let part = &body[first..=last.min(body.len() - 1)];
        let partial = |first: usize, bytes: usize| {
            format!(
                "HTTP/1.1 206 Partial Content\r\n{always}\r\nContent-Length: {bytes}\r\n\
                 Content-Range: bytes {first}-{}/{}\r\n\r\n",
                first + bytes - 1,
                body.len()
            )
        };
        match fault {
            Fault::None => {
                stream.write_all(partial(first, part.len()).as_bytes())?;
                stream.write_all(part)?;
            }
            Fault::ServerError => stream.write_all(
                b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 5\r\n\r\nbusy\n",
            )?,
            Fault::Reset => return Ok(()),
            Fault::Truncated => {
                stream.write_all(partial(first, part.len()).as_bytes())?;
                stream.write_all(&part[..part.len() / 2])?;
                return Ok(());
            }
            Fault::WrongRange => {
                stream.write_all(partial(first, part.len() / 2).as_bytes())?;
                stream.write_all(&part[..part.len() / 2])?;
            }
            Fault::Whole => {
                let length = body.len();
                let head =
                    format!("HTTP/1.1 200 OK\r\n{always}\r\nContent-Length: {length}\r\n\r\n");
                stream.write_all(head.as_bytes())?;
                stream.write_all(&body)?;
            }
        }
    }
}

#[test]
fn faults_of_the_server_never_make_a_read_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("file://{}/graph/", folder.path().display());
    let content = bytes(8);
    publish_bytes(&Location::new(&url).unwrap(), &content, 1).unwrap();
    let server = Server::of(folder.path().to_path_buf());
    let faults = [
        Fault::None,
        Fault::ServerError,
        Fault::Reset,
        Fault::Truncated,
        Fault::WrongRange,
    ];
    for fault in faults {
        *server.fault.lock().unwrap() = fault;
        let location = Location::new(&server.url()).unwrap();
        let file = open(&location, None).unwrap();
        assert!(all(&file) == content, "{fault:?}");
    }
    assert!(
        server.faults.load(Ordering::SeqCst) > 10,
        "there were faults"
    );
    // A server that knows no ranges is told from one that does.
    *server.fault.lock().unwrap() = Fault::Whole;
    let location = Location::new(&server.url()).unwrap();
    let file = open(&location, None).unwrap();
    let mut some = [0; 10];
    let mut last = graven_io::File::read_at(&file, &mut some, 100_000);
    last = last.and_then(|_| graven_io::File::read_at(&file, &mut some, 100_000));
    assert!(last.is_err() || some[..] == content[100_000..100_010]);
    // Nothing there, and no server.
    let nothing = Location::new(&format!("http://127.0.0.1:{}/none/", server.port)).unwrap();
    let error = open(&nothing, None).unwrap_err();
    assert!(
        error.to_string().contains("no published snapshot"),
        "{error}"
    );
}
