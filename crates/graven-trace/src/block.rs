//! Block traces: what `blkparse` prints, and the tables of the MSR Cambridge servers.
//!
//! # How it works
//! A request covers a range of bytes of a device; every page that the range touches is one access,
//! in ascending order. Page numbers are `device << 48 | byte / page size`; devices are numbered as
//! they appear and stand in the table of files.
//!
//! * `blkparse`: lines `device cpu sequence time pid action rwbs sector + sectors [process]`. Only
//!   queued requests (action `Q`) that read or write count; sectors have 512 bytes.
//! * MSR: `timestamp,host,disk,Read|Write,offset,size,latency` in bytes, with or without a header.
//!
//! # Source
//! blkparse(1); D. Narayanan, A. Donnelly, A. Rowstron, "Write off-loading", FAST 2008.

use std::path::Path;

use crate::error::TraceError;
use crate::{Access, FLAG_WRITE, FileRow};

const SECTOR_BYTES: u64 = 512;
/// Page numbers of a device fit below the device's bits.
const PAGES_MAX: u64 = 1 << 48;

/// Devices in order of appearance.
#[derive(Debug, Default)]
struct Devices(Vec<(String, String)>);

/// Names of a host, where the trace has several, and of its disk.
type Device<'a> = (&'a str, &'a str);

impl Devices {
    fn number(&mut self, device: Device<'_>) -> Result<u64, String> {
        let (host, disk) = device;
        let at = self
            .0
            .iter()
            .position(|(h, d)| (h.as_str(), d.as_str()) == device)
            .unwrap_or_else(|| {
                self.0.push((host.to_owned(), disk.to_owned()));
                self.0.len() - 1
            });
        if at > usize::from(u16::MAX) {
            return Err(format!(
                "device {host} {disk} is one too many; at most 65,536"
            ));
        }
        Ok(at as u64)
    }

    fn rows(self) -> Vec<FileRow> {
        let row = |(id, (host, disk)): (usize, (String, String))| FileRow {
            id: id as u16,
            name: if host.is_empty() {
                disk
            } else {
                format!("{host}_{disk}")
            },
        };
        self.0.into_iter().enumerate().map(row).collect()
    }
}

/// A request of a block trace.
struct Request<'a> {
    device: Device<'a>,
    offset: u64,
    bytes: u64,
    write: bool,
}

/// Hands over the page accesses of `blkparse`'s lines and returns the devices.
///
/// # Errors
/// Unreadable files, lines that look like queued requests and are none.
pub fn blkparse(
    path: &Path,
    page_bytes: u64,
    access: &mut dyn FnMut(Access),
) -> Result<Vec<FileRow>, TraceError> {
    requests(path, page_bytes, access, queued)
}

/// Hands over the page accesses of an MSR table and returns the devices.
///
/// # Errors
/// Unreadable files, lines that are no requests.
pub fn msr(
    path: &Path,
    page_bytes: u64,
    access: &mut dyn FnMut(Access),
) -> Result<Vec<FileRow>, TraceError> {
    requests(path, page_bytes, access, msr_row)
}

fn requests(
    path: &Path,
    page_bytes: u64,
    access: &mut dyn FnMut(Access),
    parse: impl Fn(&str) -> Result<Option<Request<'_>>, String>,
) -> Result<Vec<FileRow>, TraceError> {
    if page_bytes == 0 {
        return Err(TraceError::malformed(path, "pages of 0 bytes".to_owned()));
    }
    let mut devices = Devices::default();
    crate::for_each_line(path, &mut |line| {
        let Some(request) = parse(line)? else {
            return Ok(());
        };
        let device = devices.number(request.device)?;
        let first = request.offset / page_bytes;
        let last = request.offset.saturating_add(request.bytes.max(1) - 1) / page_bytes;
        if last >= PAGES_MAX {
            return Err(format!("byte {} is beyond any device", request.offset));
        }
        let flags = if request.write { FLAG_WRITE } else { 0 };
        for page in first..=last {
            access(Access {
                page: device << 48 | page,
                flags,
                ..Access::default()
            });
        }
        Ok(())
    })?;
    Ok(devices.rows())
}

/// A queued read or write; none for other lines.
fn queued(line: &str) -> Result<Option<Request<'_>>, String> {
    let cells: Vec<&str> = line.split_ascii_whitespace().collect();
    let is_queued = cells.len() > 6 && cells[0].contains(',') && cells[5] == "Q";
    if !is_queued || !cells[6].contains(['R', 'W']) || cells[6].contains('D') {
        return Ok(None);
    }
    let [sector, "+", sectors] = cells.get(7..10).unwrap_or_default() else {
        return Err(format!("expected `sector + sectors` after {:?}", cells[6]));
    };
    let number = |cell: &str| {
        let value: u64 = cell
            .parse()
            .map_err(|_| format!("{cell:?} is no number of sectors"))?;
        value
            .checked_mul(SECTOR_BYTES)
            .ok_or_else(|| format!("sector {cell} is too far"))
    };
    Ok(Some(Request {
        device: ("", cells[0]),
        offset: number(sector)?,
        bytes: number(sectors)?,
        write: cells[6].contains('W'),
    }))
}

/// Whether a line has the shape of an MSR row.
pub(crate) fn is_msr(line: &str) -> bool {
    let cells: Vec<&str> = line.split(',').map(str::trim).collect();
    let is_header = cells.len() == 7 && cells[3] == "Type" && cells[4] == "Offset";
    is_header || (cells.len() >= 6 && matches!(cells[3], "Read" | "Write"))
}

fn msr_row(line: &str) -> Result<Option<Request<'_>>, String> {
    let cells: Vec<&str> = line.split(',').map(str::trim).collect();
    let [_, host, disk, kind, offset, size, ..] = cells[..] else {
        return Err(format!("expected 7 cells, found {}", cells.len()));
    };
    if kind == "Type" {
        return Ok(None);
    }
    let number = |cell: &str| {
        cell.parse::<u64>()
            .map_err(|_| format!("{cell:?} is no number of bytes"))
    };
    let write = match kind {
        "Read" => false,
        "Write" => true,
        other => return Err(format!("{other:?} is neither Read nor Write")),
    };
    Ok(Some(Request {
        device: (host, disk),
        offset: number(offset)?,
        bytes: number(size)?,
        write,
    }))
}
