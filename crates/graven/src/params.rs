//! Parameters of a statement: `$name` in the text, a value here.

use std::collections::BTreeMap;
use std::sync::Arc;

use graven_files::Frame;

use crate::value::Value;

/// Values by parameter name.
///
/// # Examples
/// ```
/// use graven::Params;
/// let params = Params::new().with("id", 933).with("names", vec!["Ada", "Bo"]);
/// assert_eq!(params.get("id").and_then(|v| v.as_integer()), Some(933));
/// assert!(params.get("other").is_none());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Params {
    values: BTreeMap<Arc<str>, Value>,
    frames: Arc<BTreeMap<Arc<str>, Frame>>,
}

impl Params {
    /// No parameters.
    #[must_use]
    pub fn new() -> Self {
        Params::default()
    }

    /// The same with one more; an earlier value of that name is replaced.
    #[must_use]
    pub fn with(mut self, name: impl Into<Arc<str>>, value: impl Into<Value>) -> Self {
        self.set(name, value);
        self
    }

    /// Sets one.
    pub fn set(&mut self, name: impl Into<Arc<str>>, value: impl Into<Value>) {
        self.values.insert(name.into(), value.into());
    }

    /// Sets a frame, which `LOAD FROM $name` reads once.
    pub fn set_frame(&mut self, name: impl Into<Arc<str>>, frame: Frame) {
        Arc::make_mut(&mut self.frames).insert(name.into(), frame);
    }

    /// Whether there is such a frame.
    #[must_use]
    pub fn has_frame(&self, name: &str) -> bool {
        self.frames.contains_key(name)
    }

    /// Frames by name.
    pub(crate) fn frames(&self) -> &Arc<BTreeMap<Arc<str>, Frame>> {
        &self.frames
    }

    /// The value of `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    pub(crate) fn shared(&self) -> impl Iterator<Item = (&Arc<str>, &Value)> {
        self.values.iter()
    }

    /// Bytes that the values take, about.
    #[must_use]
    pub fn memory(&self) -> u64 {
        self.values.values().map(|value| value.bytes() as u64).sum()
    }

    /// Names and values by ascending name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.values.iter().map(|(name, value)| (&**name, value))
    }
}

impl<N: Into<Arc<str>>, V: Into<Value>> FromIterator<(N, V)> for Params {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(entries: I) -> Self {
        Params {
            values: entries
                .into_iter()
                .map(|(n, v)| (n.into(), v.into()))
                .collect(),
            frames: Arc::default(),
        }
    }
}
