//! As much of HTTP/1.1 as a proxy and a small server need.

use std::io::{BufRead, Error, ErrorKind};

/// A request, or an answer with its first line as `target`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message {
    pub(crate) method: String,
    pub(crate) target: String,
    /// Names in small letters.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Message {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut all = self.headers.iter();
        all.find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn set(&mut self, name: &str, value: String) {
        self.headers.retain(|(known, _)| known != name);
        self.headers.push((name.to_owned(), value));
    }

    /// Everything before the body, behind the first line.
    pub(crate) fn head(&self, first: &str) -> Vec<u8> {
        let mut head = format!("{first}\r\n");
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        (head + "\r\n").into_bytes()
    }
}

fn line(from: &mut impl BufRead) -> std::io::Result<Option<String>> {
    let mut line = String::new();
    match from.read_line(&mut line)? {
        0 => Ok(None),
        _ => Ok(Some(line.trim_end().to_owned())),
    }
}

/// The headers and the body of a message, after its first line.
fn rest(from: &mut impl BufRead, message: &mut Message) -> std::io::Result<()> {
    while let Some(line) = line(from)?.filter(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        let (name, value) = (name.to_ascii_lowercase(), value.trim().to_owned());
        message.headers.push((name, value));
    }
    let length = message
        .header("content-length")
        .map_or(Ok(0), str::parse::<usize>);
    let length = length.map_err(|error| Error::new(ErrorKind::InvalidData, error))?;
    message.body = vec![0; length];
    from.read_exact(&mut message.body)
}

/// The next request; none: the client has gone.
pub(crate) fn read_request(from: &mut impl BufRead) -> std::io::Result<Option<Message>> {
    let Some(first) = line(from)? else {
        return Ok(None);
    };
    let mut parts = first.split(' ').map(str::to_owned);
    let mut message = Message {
        method: parts.next().unwrap_or_default(),
        target: parts.next().unwrap_or_default(),
        ..Message::default()
    };
    rest(from, &mut message)?;
    Ok(Some(message))
}

/// An answer to a request that asks for its body.
pub(crate) fn read_answer(from: &mut impl BufRead) -> std::io::Result<Message> {
    let mut message = Message {
        target: line(from)?.ok_or(ErrorKind::UnexpectedEof)?,
        ..Message::default()
    };
    rest(from, &mut message)?;
    Ok(message)
}
