//! Axes: from values to places, and the round values that are named.

use crate::report::chart::{escape, number, ticks};

/// An axis of a panel.
#[derive(Clone, Debug, Default)]
pub struct Axis {
    /// Name with unit.
    pub title: String,
    /// How values are spread.
    pub scale: Scale,
    /// Values that must be visible whatever the points are.
    pub include: Vec<f64>,
}

/// How values are spread along an axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Scale {
    /// Evenly.
    #[default]
    Linear,
    /// By their logarithm; values must be above 0.
    Log,
    /// Names at even distances; a value is a place among them.
    Categories(Vec<String>),
}

impl Axis {
    /// An even axis that shows zero.
    #[must_use]
    pub fn from_zero(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            scale: Scale::Linear,
            include: vec![0.0],
        }
    }

    /// An even axis around its points.
    #[must_use]
    pub fn linear(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            ..Self::default()
        }
    }

    /// A logarithmic axis around its points.
    #[must_use]
    pub fn log(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            scale: Scale::Log,
            include: Vec::new(),
        }
    }

    /// Names at even distances.
    #[must_use]
    pub fn categories(title: impl Into<String>, names: Vec<String>) -> Self {
        Self {
            title: title.into(),
            scale: Scale::Categories(names),
            include: Vec::new(),
        }
    }
}

/// An axis laid out between two places.
pub(super) struct Mapping {
    scale: Scale,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    /// Named values with their escaped names.
    pub(super) ticks: Vec<(f64, String)>,
}

impl Mapping {
    pub(super) fn new(axis: &Axis, values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        if let Scale::Categories(names) = &axis.scale {
            let every = names.len().div_ceil(12).max(1);
            let named = names.iter().enumerate().step_by(every);
            return Self {
                scale: axis.scale.clone(),
                low: -0.5,
                high: names.len().max(1) as f64 - 0.5,
                from,
                to,
                ticks: named.map(|(at, name)| (at as f64, escape(name))).collect(),
            };
        }
        let log = axis.scale == Scale::Log;
        let usable = |value: &f64| value.is_finite() && (!log || *value > 0.0);
        let all = values.chain(axis.include.iter().copied()).filter(usable);
        let (low, high) = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let (low, high) = if low > high { (0.1, 1.0) } else { (low, high) };
        let ticks = if log {
            decades(low, high)
        } else {
            ticks(low, high)
        };
        let step = ticks
            .windows(2)
            .next()
            .map_or(1.0, |pair| pair[1] - pair[0]);
        let label = |value: f64| {
            if log || step >= 10_000.0 {
                short(value)
            } else {
                number(value, step)
            }
        };
        let bounds = if log {
            let (low, high) = (low.min(ticks[0]), high.max(ticks[ticks.len() - 1]));
            (
                low.log10(),
                if high > low {
                    high.log10()
                } else {
                    low.log10() + 1.0
                },
            )
        } else {
            let high = ticks[ticks.len() - 1];
            (
                ticks[0],
                if high > ticks[0] {
                    high
                } else {
                    ticks[0] + 1.0
                },
            )
        };
        Self {
            scale: axis.scale.clone(),
            low: bounds.0,
            high: bounds.1,
            from,
            to,
            ticks: ticks
                .into_iter()
                .map(|value| (value, label(value)))
                .collect(),
        }
    }

    /// The place of a value.
    pub(super) fn at(&self, value: f64) -> f64 {
        let value = if self.scale == Scale::Log {
            value.max(f64::MIN_POSITIVE).log10()
        } else {
            value
        };
        let share = ((value - self.low) / (self.high - self.low)).clamp(-0.02, 1.02);
        self.from + (self.to - self.from) * share
    }

    /// A value in words.
    pub(super) fn label(&self, value: f64) -> String {
        match &self.scale {
            Scale::Categories(names) => names.get(value as usize).cloned().unwrap_or_default(),
            _ => number(value, value.abs() / 1000.0),
        }
    }
}

/// Values 1, 2 and 5 times a power of ten that lie in the range, or the powers alone where those
/// are too many.
fn decades(low: f64, high: f64) -> Vec<f64> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let factors: &[f64] = if last - first > 4 {
        &[1.0]
    } else {
        &[1.0, 2.0, 5.0]
    };
    let all: Vec<f64> = (first..=last)
        .flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power)))
        .filter(|value| *value >= low * 0.999 && *value <= high * 1.001)
        .collect();
    if all.is_empty() { vec![low] } else { all }
}

/// A number with a letter for thousands, millions and so on.
pub(super) fn short(value: f64) -> String {
    let (value, letter) = match value.abs() {
        v if v >= 1e9 => (value / 1e9, "G"),
        v if v >= 1e6 => (value / 1e6, "M"),
        v if v >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    if value.abs() >= 1.0 || value == 0.0 {
        let text = format!("{value:.1}");
        format!("{}{letter}", text.strip_suffix(".0").unwrap_or(&text))
    } else {
        format!("{value}{letter}")
    }
}
