//! Which requests answer a batch of reads.
//!
//! # How it works
//! Ranges are sorted by chunk and offset, and joined where the gap between two is short: a request
//! takes tens of milliseconds before its first byte comes, in which a gap of [`GAP_MAX`] could have
//! been transferred. A joined range ends at [`JOINED_MAX`], so that several travel side by side.

use std::ops::Range;

/// Most bytes between two ranges of one request.
pub(crate) const GAP_MAX: u64 = 128 << 10;
/// Most bytes of a request that joins ranges.
pub(crate) const JOINED_MAX: u64 = 2 << 20;

/// A piece of a read: bytes of one chunk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    /// Which read of the batch.
    pub(crate) read: usize,
    /// Where its bytes go, from the read's first destination byte on.
    pub(crate) at: usize,
    pub(crate) chunk: usize,
    /// Bytes of the chunk.
    pub(crate) range: Range<u64>,
}

/// One request, and the pieces it answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Joined {
    pub(crate) chunk: usize,
    pub(crate) range: Range<u64>,
    pub(crate) pieces: Vec<Piece>,
}

/// The requests that answer `pieces`.
pub(crate) fn join(pieces: Vec<Piece>) -> Vec<Joined> {
    join_near(pieces, GAP_MAX)
}

/// The requests that answer `pieces`, which ask for no more than `most` bytes where the pieces
/// themselves do not: the less room there is, the shorter the gaps that are asked for.
pub(crate) fn join_within(pieces: &[Piece], most: u64) -> Vec<Joined> {
    let bytes = |it: &Joined| it.range.end - it.range.start;
    let gaps = [GAP_MAX, GAP_MAX / 8, GAP_MAX / 64];
    let mut joined = gaps.iter().map(|gap| join_near(pieces.to_vec(), *gap));
    let fits = joined.find(|joined| joined.iter().map(bytes).sum::<u64>() <= most);
    fits.unwrap_or_else(|| join_near(pieces.to_vec(), 0))
}

fn join_near(mut pieces: Vec<Piece>, gap: u64) -> Vec<Joined> {
    pieces.sort_by_key(|piece| (piece.chunk, piece.range.start));
    let mut joined: Vec<Joined> = Vec::new();
    for piece in pieces {
        if let Some(last) = joined.last_mut()
            && last.chunk == piece.chunk
            && piece.range.start <= last.range.end + gap
            && piece.range.end.max(last.range.end) - last.range.start <= JOINED_MAX
        {
            last.range.end = last.range.end.max(piece.range.end);
            last.pieces.push(piece);
            continue;
        }
        joined.push(Joined {
            chunk: piece.chunk,
            range: piece.range.clone(),
            pieces: vec![piece],
        });
    }
    joined
}

#[cfg(test)]
mod tests {
    //! Near ranges share a request, and every byte is asked for.

    use super::*;

    fn piece(read: usize, chunk: usize, start: u64, bytes: u64) -> Piece {
        Piece {
            read,
            at: 0,
            chunk,
            range: start..start + bytes,
        }
    }

    #[test]
    fn near_ranges_share_a_request() {
        let far = 3 * GAP_MAX;
        let joined = join(vec![
            piece(0, 1, 0, 4096),
            piece(1, 0, far, 4096),
            piece(2, 0, 8192, 4096),
            piece(3, 0, 0, 4096),
        ]);
        let spans: Vec<_> = joined
            .iter()
            .map(|it| (it.chunk, it.range.clone()))
            .collect();
        assert_eq!(spans, [(0, 0..12288), (0, far..far + 4096), (1, 0..4096)]);
        assert_eq!(joined[0].pieces.len(), 2);
    }

    #[test]
    fn gaps_take_no_more_than_there_is_room_for() {
        let far = GAP_MAX / 16;
        let many: Vec<_> = (0..10).map(|i| piece(i, 0, i as u64 * far, 100)).collect();
        let counts = [far * 10, 2_000, 10].map(|most| join_within(&many, most).len());
        assert_eq!(counts, [1, 10, 10]);
    }

    #[test]
    fn a_request_does_not_grow_without_end() {
        let size = 64 << 10;
        let many = (0..1000).map(|i| piece(i as usize, 0, i * size, size));
        let joined = join(many.collect());
        assert!(
            joined
                .iter()
                .all(|it| it.range.end - it.range.start <= JOINED_MAX)
        );
        assert_eq!(joined.iter().map(|it| it.pieces.len()).sum::<usize>(), 1000);
        assert_eq!(joined.len() as u64, 1000 * size / JOINED_MAX + 1);
    }
}
