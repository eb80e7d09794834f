//! What was appended and not yet written: frames being filled, and the room that they will need.

use std::collections::VecDeque;

use crate::frame::FrameBuffer;
use crate::space::{Placement, Space};
use crate::{Lsn, RecordRef};

/// Frames kept for reuse.
const SPARE_FRAMES: usize = 4;

/// A frame and its place in the file.
#[derive(Debug)]
pub(crate) struct PlacedFrame {
    pub(crate) frame: FrameBuffer,
    pub(crate) place: Placement,
}

/// Appended records on their way to the file.
#[derive(Debug)]
pub(crate) struct Buffer {
    /// Full frames, oldest first, and the one that is being filled.
    frames: VecDeque<FrameBuffer>,
    spare: Vec<FrameBuffer>,
    pub(crate) space: Space,
    /// End of the stream.
    pub(crate) end: Lsn,
    /// A thread adds regions to the file.
    pub(crate) growing: bool,
    pub(crate) closed: bool,
    sector_bytes: usize,
}

impl Buffer {
    pub(crate) fn new(space: Space, end: Lsn, sector_bytes: usize) -> Buffer {
        Buffer {
            frames: VecDeque::new(),
            spare: Vec::new(),
            space,
            end,
            growing: false,
            closed: false,
            sector_bytes,
        }
    }

    /// Bytes of the file that everything appended will take if it is written now.
    pub(crate) fn waiting_bytes(&self) -> u64 {
        let bytes = |frame: &FrameBuffer| frame.file_bytes(self.sector_bytes) as u64;
        self.frames.iter().map(bytes).sum()
    }

    /// Takes a record; the caller has made sure of the room.
    pub(crate) fn append(&mut self, record: &RecordRef<'_>) {
        self.push(&record.header());
        self.push(record.payload);
    }

    fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let taken = self.frames.back_mut().map_or(0, |frame| frame.push(bytes));
            if taken == 0 {
                self.open_frame();
            }
            bytes = &bytes[taken..];
            self.end.0 += taken as u64;
        }
    }

    fn open_frame(&mut self) {
        let mut frame = self.spare.pop().unwrap_or_else(FrameBuffer::new);
        frame.begin(self.end);
        self.frames.push_back(frame);
    }

    /// Hands over all frames with their places; an empty one where nothing waits and `even_empty`
    /// is set and there is room for it.
    pub(crate) fn take(&mut self, even_empty: bool, batch: &mut Vec<PlacedFrame>) {
        if self.frames.is_empty()
            && even_empty
            && self
                .space
                .fits(self.sector_bytes as u64, crate::space::Reserve::Keep)
        {
            self.open_frame();
        }
        for frame in self.frames.drain(..) {
            let bytes = frame.file_bytes(self.sector_bytes) as u64;
            let place = self.space.place(bytes, frame.first);
            batch.push(PlacedFrame { frame, place });
        }
    }

    /// Takes written frames back for reuse.
    pub(crate) fn recycle(&mut self, batch: &mut Vec<PlacedFrame>) {
        let room = SPARE_FRAMES.saturating_sub(self.spare.len());
        self.spare
            .extend(batch.drain(..).map(|p| p.frame).take(room));
    }
}
