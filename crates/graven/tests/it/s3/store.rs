//! What speaks as much of the protocol of S3 as publishing and reading need: objects in memory,
//! ranges, conditions, lists, uploads of parts. Of an object whose key has `refused` in it the
//! second part is refused.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use super::http::{Message, read_request};

/// What is kept.
#[derive(Default)]
pub(crate) struct Kept {
    /// Objects by their keys, each with the number of the write that made it.
    pub(crate) objects: BTreeMap<String, (Vec<u8>, u64)>,
    /// The parts of uploads that were begun and have not ended.
    pub(crate) uploads: BTreeMap<u64, BTreeMap<u32, Vec<u8>>>,
    begun: u64,
}

/// The store.
pub(crate) struct Store {
    pub(crate) port: u16,
    pub(crate) kept: Arc<Mutex<Kept>>,
}

/// Serves an empty store from now on.
pub(crate) fn serve() -> Store {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let kept = Arc::<Mutex<Kept>>::default();
    let own = kept.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let objects = own.clone();
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
    Store { port, kept }
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

/// The value of a part of the query.
fn asked<'q>(query: &'q str, name: &str) -> Option<&'q str> {
    let mut parts = query.split('&');
    parts.find_map(|part| match part.split_once('=') {
        Some((known, value)) => (known == name).then_some(value),
        None => (part == name).then_some(""),
    })
}

/// Answers a request about an upload of parts.
fn upload(
    to: &TcpStream,
    request: &Message,
    (key, query): (&str, &str),
    kept: &mut Kept,
) -> std::io::Result<()> {
    let xml = "Content-Type: application/xml\r\n";
    if asked(query, "uploads").is_some() {
        kept.begun += 1;
        kept.uploads.insert(kept.begun, BTreeMap::new());
        let body = format!(
            "<?xml version=\"1.0\"?><InitiateMultipartUploadResult><UploadId>{}</UploadId>\
             </InitiateMultipartUploadResult>",
            kept.begun
        );
        return send(to, "200 OK", xml, body.as_bytes());
    }
    let id = asked(query, "uploadId").and_then(|id| id.parse().ok());
    let id: u64 = id.unwrap_or_default();
    let Some(parts) = kept.uploads.get_mut(&id) else {
        return refuse(to, "404 Not Found", "NoSuchUpload");
    };
    match request.method.as_str() {
        "PUT" => {
            let number = asked(query, "partNumber").and_then(|it| it.parse().ok());
            let number: u32 = number.unwrap_or_default();
            if key.contains("refused") && number > 1 {
                return refuse(to, "403 Forbidden", "AccessDenied");
            }
            parts.insert(number, request.body.clone());
            send(
                to,
                "200 OK",
                &format!("ETag: {}\r\n", tag(number.into())),
                b"",
            )
        }
        "POST" => {
            let bytes = parts.values().flatten().copied().collect();
            kept.uploads.remove(&id);
            let number = 1 + kept.objects.values().map(|it| it.1).max().unwrap_or(0);
            kept.objects.insert(key.to_owned(), (bytes, number));
            let body = format!(
                "<?xml version=\"1.0\"?><CompleteMultipartUploadResult><ETag>{}</ETag>\
                 </CompleteMultipartUploadResult>",
                tag(number).replace('"', "&quot;")
            );
            send(to, "200 OK", xml, body.as_bytes())
        }
        _ => {
            kept.uploads.remove(&id);
            send(to, "204 No Content", "", b"")
        }
    }
}

fn answer(to: &TcpStream, request: &Message, kept: &Mutex<Kept>) -> std::io::Result<()> {
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
    let key = path.trim_start_matches('/').replace("%20", " ");
    let mut kept = kept.lock().unwrap();
    if asked(query, "uploads").is_some() || asked(query, "uploadId").is_some() {
        return upload(to, request, (&key, query), &mut kept);
    }
    let objects = &mut kept.objects;
    match request.method.as_str() {
        "GET" if key.is_empty() => {
            let prefix = query
                .split('&')
                .find_map(|part| part.strip_prefix("prefix="));
            let prefix = prefix.unwrap_or_default().replace("%2F", "/");
            let listed = objects.iter().filter(|(key, _)| key.starts_with(&prefix));
            let is_flat = asked(query, "delimiter").is_some();
            let inner = |key: &str| {
                let (folder, _) = key[prefix.len()..].split_once('/')?;
                is_flat.then(|| format!("{prefix}{folder}/"))
            };
            let folders = listed.clone().filter_map(|(key, _)| inner(key));
            let folders: std::collections::BTreeSet<String> = folders.collect();
            let folders = folders.into_iter().map(|folder| {
                format!("<CommonPrefixes><Prefix>{folder}</Prefix></CommonPrefixes>")
            });
            let listed = listed.filter(|(key, _)| inner(key).is_none());
            let listed = listed.map(|(key, (bytes, number))| {
                format!(
                    "<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00.000Z\
                     </LastModified><ETag>{}</ETag><Size>{}</Size></Contents>",
                    tag(*number).replace('"', "&quot;"),
                    bytes.len()
                )
            });
            let body = format!(
                "<?xml version=\"1.0\"?><ListBucketResult><IsTruncated>false</IsTruncated>{}{}\
                 </ListBucketResult>",
                listed.collect::<String>(),
                folders.collect::<String>()
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
        "GET" | "HEAD" => {
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
                if request.method == "GET" {
                    return send(to, "200 OK", &headers, bytes);
                }
                let length = bytes.len();
                let head = format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: {length}\r\n\r\n");
                let mut to = to;
                return to.write_all(head.as_bytes());
            };
            if first >= bytes.len() {
                return refuse(to, "416 Range Not Satisfiable", "InvalidRange");
            }
            let last = last.min(bytes.len() - 1);
            headers += &format!("Content-Range: bytes {first}-{last}/{}\r\n", bytes.len());
            send(to, "206 Partial Content", &headers, &bytes[first..=last])
        }
        _ => refuse(to, "405 Method Not Allowed", "MethodNotAllowed"),
    }
}
