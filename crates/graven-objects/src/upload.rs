//! An object that is written: there as a whole, or not at all.
//!
//! # How it works
//! What is written is collected into parts. An object of one part is put by one request; one of
//! several by an upload of parts, which the store makes an object of with the last request. A part
//! is sent while the next one is collected, where there is memory for both.
//!
//! # Invariants
//! * OB-20: an object appears with [`Upload::finish`], as a whole. An upload that is dropped
//!   before is taken back, with the parts that were sent.
//!
//! # Costs
//! Memory: a part, and those that are on their way.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use object_store::{MultipartUpload, PutMultipartOptions, PutOptions, PutPayload};

use crate::clients::Client;
use crate::error::{Error, Result};
use crate::hints::explained;
use crate::object::{Asking, wait};
use crate::object_url::{ObjectUrl, Store};
use crate::runtime::{Pending, Stop};

/// Bytes of the smallest part that stores take.
pub const PART_BYTES_MIN: usize = 5 << 20;
/// Parts that stores take.
const PARTS_MAX: usize = 10_000;
/// How long an upload that failed waits for its parts to be taken back.
const ABORT_TIME: Duration = Duration::from_secs(10);

/// An object that is written; see the file header.
pub struct Upload {
    client: Client,
    url: ObjectUrl,
    stop: Stop,
    part: Vec<u8>,
    part_bytes: usize,
    parts: usize,
    upload: Option<Box<dyn MultipartUpload>>,
    under_way: VecDeque<Pending<Result<()>>>,
    /// Parts that may be on their way while one is collected.
    most: usize,
    finished: bool,
}

impl std::fmt::Debug for Upload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upload")
            .field("url", &self.url.text())
            .field("parts", &self.parts)
            .finish_non_exhaustive()
    }
}

impl Upload {
    /// Begins to write the object at `url`, in parts of so many bytes, of which `most` are on their
    /// way while one is collected. Nothing is asked of the store yet.
    ///
    /// # Errors
    /// [`Error::Forbidden`]; [`Error::Object`] for a web server, a folder or a pattern.
    ///
    /// # Panics
    /// Where a part is smaller than [`PART_BYTES_MIN`].
    pub fn begin(
        url: &ObjectUrl,
        asking: &Asking,
        (part_bytes, most): (usize, usize),
    ) -> Result<Upload> {
        assert!(part_bytes >= PART_BYTES_MIN, "stores take no such parts");
        asking.check(url)?;
        let wrong = |why: &str| Err(Error::object(url.text(), why));
        if url.store() == Store::Web {
            return wrong("web servers are read, not written: write to s3://, gs:// or az://");
        }
        if url.key.is_empty() || url.key.ends_with('/') || url.is_pattern() {
            return wrong("it is a folder or a pattern; name the object to write");
        }
        Ok(Upload {
            client: Client::of(url, &asking.allowed)?,
            url: url.clone(),
            stop: asking.stop.clone(),
            part: Vec::new(),
            part_bytes,
            parts: 0,
            upload: None,
            under_way: VecDeque::new(),
            most,
            finished: false,
        })
    }

    /// Sends the part that was collected, as one of several.
    fn send(&mut self) -> Result<()> {
        if self.parts == PARTS_MAX {
            let why = format!(
                "an object has at most {PARTS_MAX} parts of {} MiB: write several objects",
                self.part_bytes >> 20
            );
            return Err(Error::object(self.url.text(), why));
        }
        if self.upload.is_none() {
            let (client, url) = (self.client.clone(), self.url.clone());
            let begun = wait(&self.url, &self.stop, async move {
                let options = PutMultipartOptions::default();
                let begun = client.store.put_multipart_opts(&client.path, options).await;
                begun.map_err(|error| explained(&url, "writing", &error))
            })?;
            self.upload = Some(begun);
        }
        while self.most > 0 && self.under_way.len() >= self.most {
            self.wait_for_one()?;
        }
        let payload = PutPayload::from(std::mem::take(&mut self.part));
        let sent = self.upload.as_mut().expect("begun").put_part(payload);
        self.parts += 1;
        let url = self.url.clone();
        let started = Pending::start(async move {
            sent.await
                .map_err(|error| explained(&url, "writing", &error))
        });
        let started = started.map_err(|error| Error::object(self.url.text(), error.to_string()))?;
        self.under_way.push_back(started);
        if self.most == 0 {
            self.wait_for_one()?;
        }
        Ok(())
    }

    fn wait_for_one(&mut self) -> Result<()> {
        let Some(part) = self.under_way.pop_front() else {
            return Ok(());
        };
        match part.wait(&self.stop) {
            Ok(Some(sent)) => sent,
            Ok(None) => Err(Error::Stopped {
                url: self.url.text().to_owned(),
            }),
            Err(error) => Err(Error::object(self.url.text(), error.to_string())),
        }
    }

    fn collect(&mut self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            if self.part.is_empty() {
                self.part.reserve_exact(self.part_bytes);
            }
            let room = self.part_bytes - self.part.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.part.extend_from_slice(now);
            bytes = later;
            if self.part.len() == self.part_bytes {
                self.send()?;
            }
        }
        Ok(())
    }

    /// Makes the object appear.
    ///
    /// # Errors
    /// [`Error::Object`]; [`Error::Stopped`]. There is no new object then.
    pub fn finish(mut self) -> Result<()> {
        if self.upload.is_some() {
            if !self.part.is_empty() {
                self.send()?;
            }
            while !self.under_way.is_empty() {
                self.wait_for_one()?;
            }
        }
        let (client, url) = (self.client.clone(), self.url.clone());
        // Without a stop: whether the object is there has to be known.
        let never: Stop = Arc::new(|| false);
        match self.upload.take() {
            None => {
                let payload = PutPayload::from(std::mem::take(&mut self.part));
                wait(&self.url, &never, async move {
                    let put = client
                        .store
                        .put_opts(&client.path, payload, PutOptions::default());
                    put.await
                        .map_err(|error| explained(&url, "writing", &error))
                })?;
            }
            Some(mut upload) => {
                let (upload, done) = wait(&self.url, &never, async move {
                    let done = upload.complete().await;
                    let done = done.map_err(|error| explained(&url, "writing", &error));
                    Ok((upload, done))
                })?;
                if done.is_err() {
                    self.upload = Some(upload);
                }
                done?;
            }
        }
        self.finished = true;
        Ok(())
    }
}

impl Write for Upload {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let collected = self.collect(bytes);
        collected.map_err(|error| io::Error::other(error.why()))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        let Some(mut upload) = self.upload.take().filter(|_| !self.finished) else {
            return;
        };
        // A part that came after the others were taken back would stay.
        self.under_way.clear();
        let end = Instant::now() + ABORT_TIME;
        let stop: Stop = Arc::new(move || Instant::now() > end);
        // What cannot be taken back now is left to the rules of the bucket.
        let _ = wait(&self.url, &stop, async move {
            let _ = upload.abort().await;
            Ok(())
        });
    }
}
