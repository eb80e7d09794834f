//! What every file and every read queue must do, as checks that a backend's tests run.
//!
//! # How it works
//! [`check`] takes a function that makes a new, empty, writable file and runs every check on files
//! of its own; a broken promise is a panic that names it. Sizes are multiples of 4 KiB wherever a
//! direct file needs them to be.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

use crate::{
    AlignedBuffer, Completion, Error, File, PARTS_MAX, ReadQueue, ReadRequest, Result, Wait,
};

const PAGE: usize = 4096;

/// Makes a new, empty, writable file.
pub type Make<'a> = dyn Fn() -> Arc<dyn File> + 'a;

/// Runs every check.
///
/// # Errors
/// An operation fails that must not.
///
/// # Panics
/// A promise is broken.
pub fn check(make: &Make<'_>) -> Result<()> {
    reads_what_was_written(&*make())?;
    reports_short_files(&*make())?;
    grows_and_shrinks(&*make())?;
    refuses_unaligned_writes(&*make())?;
    queue_reads_a_batch(&*make())?;
    queue_scatters_one_range(&*make())?;
    queue_takes_more_than_its_depth(&*make())?;
    queue_reports_the_end_of_the_file(&*make())?;
    queue_refuses_bad_requests(&*make())?;
    queue_waits_when_dropped(&*make())?;
    queue_is_reaped_by_another_thread(&*make())?;
    queue_outlives_its_submitter(&*make())?;
    Ok(())
}

/// Page `n` of the pattern that the checks write.
fn pattern(n: u64) -> [u8; PAGE] {
    let mut page = [0; PAGE];
    for (i, word) in page.chunks_exact_mut(8).enumerate() {
        let value = (n << 16 | i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        word.copy_from_slice(&value.to_le_bytes());
    }
    page
}

fn fill(file: &dyn File, pages: u64) -> Result<()> {
    let mut buf = AlignedBuffer::zeroed(PAGE);
    for n in 0..pages {
        buf.copy_from_slice(&pattern(n));
        file.write_all_at(&buf, n * PAGE as u64)?;
    }
    Ok(())
}

fn reads_what_was_written(file: &dyn File) -> Result<()> {
    assert!(file.is_empty()?, "a new file is empty");
    fill(file, 8)?;
    assert_eq!(file.len()?, 8 * PAGE as u64, "writing extends the file");
    let mut aligned = AlignedBuffer::zeroed(2 * PAGE);
    file.read_exact_at(&mut aligned, 3 * PAGE as u64)?;
    assert_eq!(aligned[..PAGE], pattern(3));
    assert_eq!(aligned[PAGE..], pattern(4));
    // Any offset, any length, any address.
    let mut bytes = vec![0; 5000];
    file.read_exact_at(&mut bytes[1..4999], 777)?;
    let whole: Vec<u8> = (0..8).flat_map(pattern).collect();
    assert_eq!(bytes[1..4999], whole[777..777 + 4998]);
    // A buffer that lies anywhere may be written.
    let mut shifted = vec![0; PAGE + 1];
    shifted[1..].copy_from_slice(&pattern(99));
    file.write_all_at(&shifted[1..], PAGE as u64)?;
    file.sync_data()?;
    file.read_exact_at(&mut aligned, PAGE as u64)?;
    assert_eq!(aligned[..PAGE], pattern(99));
    assert_eq!(aligned[PAGE..], pattern(2));
    file.read_exact_at(&mut [], 0)
}

fn reports_short_files(file: &dyn File) -> Result<()> {
    fill(file, 2)?;
    let mut buf = AlignedBuffer::zeroed(4 * PAGE);
    assert_eq!(
        file.read_at(&mut buf, PAGE as u64)?,
        PAGE,
        "read_at stops at the end"
    );
    assert_eq!(
        file.read_at(&mut buf, 100 * PAGE as u64)?,
        0,
        "nothing is behind the end"
    );
    let error = file
        .read_exact_at(&mut buf, PAGE as u64)
        .expect_err("the file is too short");
    let Error::ShortRead {
        offset,
        wanted,
        got,
        ..
    } = error
    else {
        panic!("{error}")
    };
    assert_eq!(
        (offset, wanted, got),
        (PAGE as u64, 4 * PAGE as u64, PAGE as u64)
    );
    file.set_len(PAGE as u64 + 100)?;
    assert_eq!(
        file.read_at(&mut buf, 0)?,
        PAGE + 100,
        "an odd length is read to its end"
    );
    assert_eq!(file.read_at(&mut buf[..50], PAGE as u64 + 90)?, 10);
    Ok(())
}

fn grows_and_shrinks(file: &dyn File) -> Result<()> {
    fill(file, 2)?;
    file.set_len(100)?;
    file.set_len(4 * PAGE as u64)?;
    let mut buf = AlignedBuffer::zeroed(4 * PAGE);
    file.read_exact_at(&mut buf, 0)?;
    assert_eq!(buf[..100], pattern(0)[..100]);
    assert!(
        buf[100..].iter().all(|&byte| byte == 0),
        "what was cut off reads as zeros"
    );
    file.allocate(2 * PAGE as u64, 6 * PAGE as u64)?;
    assert_eq!(file.len()?, 8 * PAGE as u64, "reserving extends the file");
    file.read_exact_at(&mut buf, 0)?;
    assert_eq!(buf[..100], pattern(0)[..100], "reserving keeps the content");
    file.write_all_at(&buf[..PAGE], (1 << 30) - PAGE as u64)?;
    assert_eq!(file.len()?, 1 << 30, "a sparse file");
    file.read_exact_at(&mut buf[..PAGE], 1 << 20)?;
    assert!(
        buf[..PAGE].iter().all(|&byte| byte == 0),
        "holes read as zeros"
    );
    Ok(())
}

fn refuses_unaligned_writes(file: &dyn File) -> Result<()> {
    let alignment = file.alignment();
    assert!(alignment.is_power_of_two() && alignment <= AlignedBuffer::ALIGNMENT);
    let buf = AlignedBuffer::zeroed(2 * alignment);
    if alignment > 1 {
        let error = file
            .write_all_at(&buf[..alignment + 1], 0)
            .expect_err("an odd length");
        assert!(matches!(error, Error::Unaligned { .. }), "{error}");
        file.write_all_at(&buf[..alignment], 1)
            .expect_err("an odd offset");
    }
    file.write_all_at(&buf[..alignment], alignment as u64)
}

/// Hands over `requests`; their destinations outlive every use of the queue in the checks.
fn submit(queue: &mut dyn ReadQueue, requests: &[ReadRequest]) -> Result<()> {
    // SAFETY: every check keeps the destination buffers untouched until it has reaped the
    // completions, or has dropped the queue.
    unsafe { queue.submit(requests) }
}

fn page_request(n: u64, buf: &mut AlignedBuffer, place: usize) -> ReadRequest {
    ReadRequest::new(n, n * PAGE as u64, buf[place * PAGE..].as_mut_ptr(), PAGE)
}

fn reap_all(queue: &mut dyn ReadQueue) -> Result<Vec<Completion>> {
    let mut done = Vec::new();
    queue.reap(Wait::AtLeast(queue.in_flight()), &mut done)?;
    assert_eq!(queue.in_flight(), 0, "everything was reaped");
    done.sort_by_key(|completion| completion.token);
    Ok(done)
}

fn bytes_read(completion: &Completion) -> usize {
    *completion.result.as_ref().expect("the read succeeds")
}

fn queue_reads_a_batch(file: &dyn File) -> Result<()> {
    fill(file, 32)?;
    let mut queue = file.read_queue(32)?;
    let mut done = Vec::new();
    queue.reap(Wait::None, &mut done)?;
    queue.reap(Wait::AtLeast(3), &mut done)?;
    assert!(done.is_empty(), "an empty queue has nothing to wait for");
    let mut buf = AlignedBuffer::zeroed(32 * PAGE);
    for round in 0..3 {
        let requests: Vec<_> = (0..32)
            .rev()
            .map(|n| page_request(n, &mut buf, (n as usize + round) % 32))
            .collect();
        submit(&mut *queue, &requests)?;
        assert_eq!(queue.in_flight(), 32);
        queue.reap(Wait::AtLeast(5), &mut done)?;
        assert!(done.len() >= 5, "as many as were asked for");
        assert_eq!(queue.in_flight(), 32 - done.len());
        while queue.in_flight() > 0 {
            queue.reap(Wait::None, &mut done)?;
        }
        let mut tokens: Vec<u64> = done.iter().map(|completion| completion.token).collect();
        tokens.sort_unstable();
        assert!(tokens.iter().copied().eq(0..32), "every token once");
        for completion in done.drain(..) {
            assert_eq!(bytes_read(&completion), PAGE);
            let place = (completion.token as usize + round) % 32 * PAGE;
            assert_eq!(buf[place..place + PAGE], pattern(completion.token));
        }
    }
    Ok(())
}

fn queue_scatters_one_range(file: &dyn File) -> Result<()> {
    fill(file, 40)?;
    let mut queue = file.read_queue(4)?;
    let mut buf = AlignedBuffer::zeroed(40 * PAGE);
    let mut request = page_request(3, &mut buf, 39);
    for i in 1..PARTS_MAX {
        assert!(request.push(buf[(39 - i) * PAGE..].as_mut_ptr(), PAGE));
    }
    assert!(
        !request.push(buf.as_mut_ptr(), PAGE),
        "a request holds PARTS_MAX parts"
    );
    assert_eq!(request.bytes(), PARTS_MAX * PAGE);
    assert_eq!(request.end(), (3 + PARTS_MAX as u64) * PAGE as u64);
    submit(&mut *queue, &[request])?;
    let done = reap_all(&mut *queue)?;
    assert_eq!((done.len(), bytes_read(&done[0])), (1, PARTS_MAX * PAGE));
    for i in 0..PARTS_MAX {
        let place = (39 - i) * PAGE;
        assert_eq!(buf[place..place + PAGE], pattern(3 + i as u64));
    }
    Ok(())
}

fn queue_takes_more_than_its_depth(file: &dyn File) -> Result<()> {
    fill(file, 100)?;
    let mut queue = file.read_queue(4)?;
    let mut buf = AlignedBuffer::zeroed(100 * PAGE);
    for batch in 0..4 {
        let pages = batch * 25..(batch + 1) * 25;
        let requests: Vec<_> = pages
            .map(|n: u64| page_request(n, &mut buf, n as usize))
            .collect();
        submit(&mut *queue, &requests)?;
    }
    let done = reap_all(&mut *queue)?;
    assert_eq!(done.len(), 100);
    for completion in &done {
        let place = completion.token as usize * PAGE;
        assert_eq!(buf[place..place + PAGE], pattern(completion.token));
    }
    Ok(())
}

fn queue_reports_the_end_of_the_file(file: &dyn File) -> Result<()> {
    fill(file, 3)?;
    file.set_len(2 * PAGE as u64 + 100)?;
    let mut queue = file.read_queue(4)?;
    let mut buf = AlignedBuffer::zeroed(8 * PAGE);
    let mut request = page_request(1, &mut buf, 0);
    assert!(request.push(buf[PAGE..].as_mut_ptr(), 2 * PAGE));
    let behind = page_request(5, &mut buf, 3);
    submit(&mut *queue, &[request, behind])?;
    let done = reap_all(&mut *queue)?;
    assert_eq!(
        bytes_read(&done[0]),
        PAGE + 100,
        "a short read tells its bytes"
    );
    assert_eq!(bytes_read(&done[1]), 0, "nothing is behind the end");
    assert_eq!(buf[..PAGE], pattern(1));
    assert_eq!(buf[PAGE..PAGE + 100], pattern(2)[..100]);
    Ok(())
}

fn queue_refuses_bad_requests(file: &dyn File) -> Result<()> {
    fill(file, 2)?;
    let mut queue = file.read_queue(4)?;
    let mut buf = AlignedBuffer::zeroed(2 * PAGE);
    let good = page_request(0, &mut buf, 0);
    let empty = ReadRequest::new(1, 0, buf.as_mut_ptr(), 0);
    let error = submit(&mut *queue, &[good, empty]).expect_err("an empty destination");
    assert!(matches!(error, Error::BadRequest { .. }), "{error}");
    if file.alignment() > 1 {
        let odd = ReadRequest::new(1, 1, buf.as_mut_ptr(), PAGE);
        let error = submit(&mut *queue, &[good, odd]).expect_err("an odd offset");
        assert!(matches!(error, Error::Unaligned { .. }), "{error}");
    }
    assert_eq!(queue.in_flight(), 0, "none of a refused batch was taken");
    Ok(())
}

fn queue_waits_when_dropped(file: &dyn File) -> Result<()> {
    fill(file, 64)?;
    for round in 0..20 {
        let mut buf = AlignedBuffer::zeroed(64 * PAGE);
        let mut queue = file.read_queue(16)?;
        let requests: Vec<_> = (0..64)
            .map(|n| page_request(n, &mut buf, n as usize))
            .collect();
        submit(&mut *queue, &requests)?;
        drop(queue);
        // From here on only this thread may write to the buffer.
        buf.fill(round);
        thread::yield_now();
        assert!(
            buf.iter().all(|&byte| byte == round),
            "a read arrived after its queue was gone"
        );
    }
    Ok(())
}

fn queue_is_reaped_by_another_thread(file: &dyn File) -> Result<()> {
    fill(file, 64)?;
    let mut buf = AlignedBuffer::zeroed(64 * PAGE);
    let mut queue = file.read_queue(64)?;
    let requests: Vec<_> = (0..64)
        .map(|n| page_request(n, &mut buf, n as usize))
        .collect();
    submit(&mut *queue, &requests)?;
    // The submitter meanwhile computes without a system call and without the queue.
    let reaped = AtomicBool::new(false);
    let done = thread::scope(|scope| {
        let reaper = scope.spawn(|| {
            let done = reap_all(&mut *queue);
            reaped.store(true, Ordering::Release);
            done
        });
        while !reaped.load(Ordering::Acquire) {
            std::hint::spin_loop();
        }
        reaper.join().expect("the other thread does not panic")
    })?;
    assert_eq!(done.len(), 64);
    for n in 0..64 {
        assert_eq!(buf[n * PAGE..(n + 1) * PAGE], pattern(n as u64));
    }
    Ok(())
}

fn queue_outlives_its_submitter(file: &dyn File) -> Result<()> {
    fill(file, 64)?;
    let mut buf = AlignedBuffer::zeroed(64 * PAGE);
    let (send, receive) = mpsc::channel();
    let queue = file.read_queue(8)?;
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut queue = queue;
            let requests: Vec<_> = (0..64)
                .map(|n| page_request(n, &mut buf, n as usize))
                .collect();
            let submitted = submit(&mut *queue, &requests);
            send.send((queue, submitted)).expect("the receiver waits");
        });
    });
    let (mut queue, submitted) = receive.recv().expect("the submitter sent its queue");
    submitted?;
    let done = reap_all(&mut *queue)?;
    assert_eq!(done.len(), 64);
    for n in 0..64 {
        assert_eq!(bytes_read(&done[n]), PAGE);
        assert_eq!(buf[n * PAGE..(n + 1) * PAGE], pattern(n as u64));
    }
    Ok(())
}
