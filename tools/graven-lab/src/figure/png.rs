//! A figure as PNG, drawn from its SVG in twice the size.
//!
//! # Source
//! resvg; letters come from the fonts of the system.

use std::sync::{Arc, OnceLock};

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use crate::error::LabError;

const ZOOM: f32 = 2.0;

/// The PNG file of an SVG document.
pub(super) fn of(svg: &str) -> Result<Vec<u8>, LabError> {
    let failed = |what: String| LabError::Setting(format!("the figure cannot be drawn: {what}"));
    let options = Options {
        fontdb: fonts(),
        ..Options::default()
    };
    let tree = Tree::from_str(svg, &options).map_err(|e| failed(e.to_string()))?;
    let size = tree.size().to_int_size();
    let scaled = |length: u32| (length as f32 * ZOOM) as u32;
    let mut pixels = Pixmap::new(scaled(size.width()), scaled(size.height()))
        .ok_or_else(|| failed("it is too large".to_owned()))?;
    resvg::render(
        &tree,
        Transform::from_scale(ZOOM, ZOOM),
        &mut pixels.as_mut(),
    );
    pixels.encode_png().map_err(|e| failed(e.to_string()))
}

/// The fonts of the system, found once.
fn fonts() -> Arc<fontdb::Database> {
    static FONTS: OnceLock<Arc<fontdb::Database>> = OnceLock::new();
    let found = FONTS.get_or_init(|| {
        let mut fonts = fontdb::Database::new();
        fonts.load_system_fonts();
        Arc::new(fonts)
    });
    Arc::clone(found)
}
