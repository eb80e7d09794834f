//! Colour, dashes and marker of a name: the same in every figure, as long as no two names of one
//! figure would look alike.

/// How something is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Style {
    /// Colour of lines, markers and bars.
    pub(super) colour: &'static str,
    dash: usize,
    marker: usize,
}

/// Colours that stay apart for colour-blind readers, on white.
const COLOURS: [&str; 10] = [
    "#0072b2", "#d55e00", "#00875f", "#b0478d", "#b88600", "#3a3f47", "#5d8a00", "#7a52c7",
    "#c23b3b", "#1a8f9c",
];
const DASHES: [&str; 4] = ["", "6 3", "2 3", "9 3 2 3"];
/// Markers; no divisor of the colours, so that a colour comes with each of them.
const MARKERS: usize = 7;

/// Names that have a place of their own, so that those which meet in one figure differ.
const KNOWN: [&str; 40] = [
    "graven",
    "lru",
    "s3fifo",
    "lirs",
    "arc",
    "min",
    "random",
    "wtinylfu",
    "neo4j",
    "twoq", // solid
    "fifo",
    "clock",
    "gclock",
    "clockpro",
    "slru",
    "lfu",
    "sieve",
    "history",
    "muninn",
    "car", // dashed
    "neo4j-rand",
    "neo4j-7",
    "neo4j-2",
    "lruk",
    "mglru",
    "hist-4-7",
    "hist-7-7",
    "s4lru-blog",
    "eviction-queue",
    "neo4j-3", // dotted
    "neo4j-7-rand",
    "lru:protocol=locked",
    "lru:protocol=batched",
    "slru:protocol=locked",
    "thesis-clockpro",
    "thesis-clockpro-adaptive",
    "thesis-clockpro-plus",
    "lru:protocol=combining",
    "min-bypass",
    "slru4",
];

/// Names that begin so are an original's points: drawn in grey.
const ORIGINAL: &str = "original";
const GREY: &str = "#9aa0a6";

/// Names that are no policies, with the place whose colour they take.
const OTHERS: [(&str, usize); 6] = [
    ("pinned", 0),
    ("unpinned", 1),
    ("one arm", 0),
    ("random start", 11),
    ("size classes", 0),
    ("two static pools", 11),
];

/// The styles of one figure's names: a later name gives way where an earlier one has its colour or
/// its marker, as long as there are others.
#[derive(Default)]
pub(super) struct Styles(Vec<(String, Style)>);

impl Styles {
    pub(super) fn of(names: &[String]) -> Self {
        let mut styles = Self::default();
        for name in names {
            let mut style = Style::of(name);
            let is_taken =
                |test: &dyn Fn(&Style) -> bool| styles.0.iter().any(|(_, taken)| test(taken));
            if style.colour != GREY && is_taken(&|taken| taken.colour == style.colour) {
                let free = COLOURS
                    .iter()
                    .find(|free| !is_taken(&|taken| taken.colour == **free));
                style.colour = free.copied().unwrap_or(style.colour);
            }
            if is_taken(&|taken| taken.marker == style.marker) {
                let free = (0..MARKERS).find(|free| !is_taken(&|taken| taken.marker == *free));
                style.marker = free.unwrap_or(style.marker);
            }
            styles.0.push((name.clone(), style));
        }
        styles
    }

    pub(super) fn get(&self, name: &str) -> Style {
        let known = self.0.iter().find(|(known, _)| known == name);
        known.map_or_else(|| Style::of(name), |(_, style)| *style)
    }
}

impl Style {
    pub(super) fn of(name: &str) -> Self {
        let other = OTHERS.iter().find(|(other, _)| *other == name);
        let place = KNOWN
            .iter()
            .position(|known| *known == name)
            .or(other.map(|(_, place)| *place))
            .unwrap_or_else(|| {
                let hash = name.bytes().fold(2_166_136_261u32, |hash, byte| {
                    (hash ^ u32::from(byte)).wrapping_mul(16_777_619)
                });
                hash as usize % (COLOURS.len() * DASHES.len())
            });
        Self {
            colour: if name.starts_with(ORIGINAL) {
                GREY
            } else {
                COLOURS[place % COLOURS.len()]
            },
            dash: place / COLOURS.len(),
            marker: place % MARKERS,
        }
    }

    /// The attribute that makes a line dashed, or nothing.
    pub(super) fn dashes(self) -> String {
        match DASHES[self.dash % DASHES.len()] {
            "" => String::new(),
            dashes => format!(" stroke-dasharray=\"{dashes}\""),
        }
    }

    /// The marker at a place; neighbours in colour differ in it, so that figures can be read
    /// without colours.
    pub(super) fn marker(self, x: f64, y: f64) -> String {
        let path = match self.marker {
            0 => return format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.2\"/>"),
            1 => "m-2.9 -2.9h5.8v5.8h-5.8z",
            2 => "m0 -4.2l3.8 6.6h-7.6z",
            3 => "m0 -4l4 4l-4 4l-4 -4z",
            4 => "m0 4.2l3.8 -6.6h-7.6z",
            5 => "m-1.2 -4h2.4v2.8h2.8v2.4h-2.8v2.8h-2.4v-2.8h-2.8v-2.4h2.8z",
            _ => "m-3.6 -1.6h7.2v3.2h-7.2z",
        };
        format!("<path d=\"M{x:.1} {y:.1}{path}\"/>")
    }
}
