//! Sizes of a simulated cache: pages, a share of the trace's pages, or bytes.

use std::str::FromStr;

use crate::error::LabError;

/// A cache size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// `4096`: so many pages.
    Pages(u64),
    /// `1%`: a share of the different pages of the trace, here 0.01; rounded to the nearest page,
    /// at least 1.
    Share(f64),
    /// `64MiB`: so many bytes, at a number of bytes a page; rounded down.
    Bytes(u64),
}

impl Size {
    /// The size in pages for a trace with `unique` different pages.
    ///
    /// # Errors
    /// Less than one page, or more pages than fit a frame index.
    pub fn pages(self, unique: usize, page_bytes: u64) -> Result<usize, LabError> {
        let pages = match self {
            Size::Pages(pages) => pages,
            Size::Share(share) => ((unique as f64 * share).round() as u64).max(1),
            Size::Bytes(bytes) => bytes / page_bytes,
        };
        if pages == 0 {
            return Err(LabError::Setting(format!(
                "a cache of that size is less than one page of {page_bytes} bytes"
            )));
        }
        // More frames than pages change nothing but the memory they take.
        let frames = pages.min(u64::from(u32::MAX - 1));
        usize::try_from(frames)
            .map_err(|_| LabError::Setting(format!("{pages} pages are too many")))
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let advice = || {
            format!("`{text}` is no cache size; write pages (4096), a share (1%) or bytes (64MiB)")
        };
        let text_trimmed = text.trim();
        if let Some(share) = text_trimmed.strip_suffix('%') {
            let percent: f64 = share.trim().parse().map_err(|_| advice())?;
            let valid = percent > 0.0 && percent <= 100.0;
            return if valid {
                Ok(Size::Share(percent / 100.0))
            } else {
                Err(advice())
            };
        }
        if let Ok(pages) = text_trimmed.parse::<u64>() {
            return if pages > 0 {
                Ok(Size::Pages(pages))
            } else {
                Err(advice())
            };
        }
        graven::parse_bytes(text_trimmed)
            .map(Size::Bytes)
            .map_err(|_| advice())
    }
}
