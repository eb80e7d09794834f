//! What speaks as much of the protocol of S3 as publishing and reading need: objects in memory,
//! ranges, conditions, lists.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use super::http::{Message, read_request};

/// Objects by their keys, each with the number of the write that made it.
type Objects = Arc<Mutex<BTreeMap<String, (Vec<u8>, u64)>>>;

/// Serves an empty store from now on; the port.
pub(crate) fn serve() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let objects = Objects::default();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let objects = objects.clone();
            std::thread::spawn(move || {
                let mut reader = std::io::BufReader::new(stream.try_clone().unwrap());
                // The client may go at any time.
                while let Ok(Some(request)) = read_request(&mut reader) {
                    if answer(&stream, &request, &objects).is_err() {
                        return;
                    }
                }
            });
        }
    });
    port
}

fn send(mut to: &TcpStream, status: &str, headers: &str, body: &[u8]) -> std::io::Result<()> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\n\r\n");
    to.write_all(head.as_bytes())?;
    to.write_all(body)
}

fn refuse(to: &TcpStream, status: &str, code: &str) -> std::io::Result<()> {
    let body = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code></Error>");
    send(
        to,
        status,
        "Content-Type: application/xml\r\n",
        body.as_bytes(),
    )
}

fn tag(number: u64) -> String {
    format!("\"{number:032x}\"")
}

fn answer(to: &TcpStream, request: &Message, objects: &Objects) -> std::io::Result<()> {
    let signed = request.header("authorization").unwrap_or_default();
    if !signed.starts_with("AWS4-HMAC-SHA256 Credential=tester/") {
        return refuse(to, "403 Forbidden", "AccessDenied");
    }
    let (path, query) = request
        .target
        .split_once('?')
        .unwrap_or((&request.target, ""));
    let Some(path) = path.strip_prefix("/bucket") else {
        return refuse(to, "404 Not Found", "NoSuchBucket");
    };
    let key = path.trim_start_matches('/').to_owned();
    let mut objects = objects.lock().unwrap();
    match request.method.as_str() {
        "GET" if key.is_empty() => {
            let prefix = query
                .split('&')
                .find_map(|part| part.strip_prefix("prefix="));
            let prefix = prefix.unwrap_or_default().replace("%2F", "/");
            let listed = objects.iter().filter(|(key, _)| key.starts_with(&prefix));
            let listed = listed.map(|(key, (bytes, number))| {
                format!(
                    "<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00.000Z\
                     </LastModified><ETag>{}</ETag><Size>{}</Size></Contents>",
                    tag(*number).replace('"', "&quot;"),
                    bytes.len()
                )
            });
            let body = format!(
                "<?xml version=\"1.0\"?><ListBucketResult><IsTruncated>false</IsTruncated>{}\
                 </ListBucketResult>",
                listed.collect::<String>()
            );
            send(
                to,
                "200 OK",
                "Content-Type: application/xml\r\n",
                body.as_bytes(),
            )
        }
        "PUT" => {
            let now = objects.get(&key).map(|(_, number)| tag(*number));
            let refused = match (request.header("if-none-match"), request.header("if-match")) {
                (Some("*"), _) => now.is_some(),
                (_, Some(wanted)) => now.as_deref() != Some(wanted),
                _ => false,
            };
            if refused {
                return refuse(to, "412 Precondition Failed", "PreconditionFailed");
            }
            let number = 1 + objects
                .values()
                .map(|(_, number)| *number)
                .max()
                .unwrap_or(0);
            objects.insert(key, (request.body.clone(), number));
            send(to, "200 OK", &format!("ETag: {}\r\n", tag(number)), b"")
        }
        "GET" => {
            let Some((bytes, number)) = objects.get(&key) else {
                return refuse(to, "404 Not Found", "NoSuchKey");
            };
            let mut headers = format!(
                "ETag: {}\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\n",
                tag(*number)
            );
            if request
                .header("if-match")
                .is_some_and(|it| it != tag(*number))
            {
                return refuse(to, "412 Precondition Failed", "PreconditionFailed");
            }
            let range = request.header("range").and_then(|text| {
                let (first, last) = text.strip_prefix("bytes=")?.split_once('-')?;
                Some((first.parse::<usize>().ok()?, last.parse::<usize>().ok()?))
            });
            let Some((first, last)) = range else {
                return send(to, "200 OK", &headers, bytes);
            };
            let last = last.min(bytes.len() - 1);
            headers += &format!("Content-Range: bytes {first}-{last}/{}\r\n", bytes.len());
            send(to, "206 Partial Content", &headers, &bytes[first..=last])
        }
        _ => refuse(to, "405 Method Not Allowed", "MethodNotAllowed"),
    }
}
