//! Points: made of maps, distances, boxes.
//!
//! # Source
//! Distances on the globe: haversine formula on a sphere of 6,378,140 metres, as Neo4j computes
//! them; with a height, the arc at the mean height and the difference of heights are the legs of a
//! right triangle.

use crate::value::coordinate_system::CARTESIAN;
use crate::value::coordinate_system::CARTESIAN_3D;
use crate::value::coordinate_system::SYSTEMS;
use crate::value::coordinate_system::WGS_84;
use crate::value::coordinate_system::WGS_84_3D;
use crate::value::coordinate_system::system_name;
use std::sync::Arc;

use graven_types::Point;
use graven_types::PropertyValue;
use graven_types::told;

use super::graph::properties;
use super::wrong;
use crate::error::{ExecError, Result};
use crate::expression::signature::Function;
use crate::query_context::QueryContext;
use crate::value::arithmetic::as_float;
use crate::value::{Map, Value};

pub(in crate::expression) const FUNCTIONS: &[Function] = &[
    Function {
        name: "point",
        arity: (1, 1),
        body: point,
    },
    Function {
        name: "point.distance",
        arity: (2, 2),
        body: distance,
    },
    Function {
        name: "point.withinbbox",
        arity: (3, 3),
        body: within_box,
    },
];

fn is_globe(srid: u32) -> bool {
    matches!(srid, WGS_84 | WGS_84_3D)
}

/// `p.x`, `p.latitude`, `p.crs`, ..., in any letter case.
///
/// # Errors
/// A part that no point has, or that this one does not have.
pub(in crate::expression) fn component(point: &Point, name: &str) -> Result<Value> {
    let globe = is_globe(point.srid);
    let lower = name.to_ascii_lowercase();
    let there = match &*lower {
        "x" | "longitude" => Some(Value::Float(point.x)),
        "y" | "latitude" => Some(Value::Float(point.y)),
        "z" | "height" => point.z.map(Value::Float),
        "srid" => Some(Value::Integer(i64::from(point.srid))),
        "crs" => Some(Value::text(system_name(point.srid))),
        _ => {
            let parts = "x, y, z, longitude, latitude, height, crs, srid";
            return Err(refused(told!("a point has no part {name}, only {parts}")));
        }
    };
    let is_of_globe = matches!(&*lower, "longitude" | "latitude" | "height");
    there.filter(|_| globe || !is_of_globe).ok_or_else(|| {
        let system = system_name(point.srid);
        refused(told!("a point of {system} has no part {name}"))
    })
}

fn refused(message: String) -> ExecError {
    ExecError::Argument { message }
}

fn point(rt: &QueryContext, args: &[Value]) -> Result<Value> {
    match &args[0] {
        Value::Null => Ok(Value::Null),
        Value::Map(map) => of_map(map),
        entity @ (Value::Node(_) | Value::Relationship(_)) => {
            point(rt, &[properties(rt, std::slice::from_ref(entity))?])
        }
        other => Err(wrong("point", "a Map, Node or Relationship", other)),
    }
}

/// Coordinates of the axes (`x`, `y`, `z`) or of the globe (`longitude`, `latitude`, `z` or
/// `height`), in any letter case; keys that name nothing of a point do not count.
fn of_map(map: &Map) -> Result<Value> {
    if map.entries().iter().any(|(_, value)| value.is_null()) {
        return Ok(Value::Null);
    }
    let coordinate = |name: &str| -> Result<Option<f64>> {
        let Some(value) = entry(map, name) else {
            return Ok(None);
        };
        let number = as_float(value)
            .ok_or_else(|| refused(told!("{name} must be a number, got {}", value.type_name())))?;
        Ok(Some(number))
    };
    let [x, y, z] = ["x", "y", "z"].map(coordinate);
    let [longitude, latitude, height] = ["longitude", "latitude", "height"].map(coordinate);
    let (x, y, z) = (x?, y?, z?);
    let (longitude, latitude, height) = (longitude?, latitude?, height?);
    let named = system(map)?;
    let (x, y, z, default) = match (x, y, longitude, latitude) {
        (Some(x), Some(y), ..) => (x, y, z, [CARTESIAN, CARTESIAN_3D]),
        (_, _, Some(x), Some(y)) => (x, y, z.or(height), [WGS_84, WGS_84_3D]),
        _ => {
            let message = "a point needs x and y, or longitude and latitude".to_owned();
            return Err(refused(message));
        }
    };
    let srid = named.unwrap_or(default[usize::from(z.is_some())]);
    let is_solid = matches!(srid, CARTESIAN_3D | WGS_84_3D);
    if is_solid != z.is_some() {
        let wanted = if is_solid { "three" } else { "two" };
        return Err(refused(told!(
            "the coordinate system {} needs {wanted} coordinates",
            system_name(srid)
        )));
    }
    if is_globe(default[0]) && !is_globe(srid) {
        return Err(refused(told!(
            "longitude and latitude are no coordinates of {}",
            system_name(srid)
        )));
    }
    if [x, y, z.unwrap_or(0.0)].iter().any(|c| !c.is_finite()) {
        return Err(refused("a coordinate must be a finite number".to_owned()));
    }
    let mut longitude = x;
    if is_globe(srid) {
        if !(-90.0..=90.0).contains(&y) {
            return Err(refused(told!("latitude {y} is not between -90 and 90")));
        }
        // Longitudes go around the globe.
        if !(-180.0..=180.0).contains(&x) {
            longitude = (x + 180.0).rem_euclid(360.0) - 180.0;
        }
    }
    Ok(Value::Stored(Arc::new(PropertyValue::Point(Point {
        srid,
        x: longitude,
        y,
        z,
    }))))
}

/// The value under a key, in any letter case.
fn entry<'m>(map: &'m Map, name: &str) -> Option<&'m Value> {
    let mut entries = map.entries().iter();
    let found = entries.find(|(key, _)| key.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value)
}

/// The system under `crs` or `srid`.
fn system(map: &Map) -> Result<Option<u32>> {
    let found = match (entry(map, "crs"), entry(map, "srid")) {
        (None, None) => return Ok(None),
        (Some(Value::String(name)), None) => {
            let name = name.to_lowercase();
            SYSTEMS.iter().find(|(_, known)| *known == name)
        }
        (None, Some(Value::Integer(srid))) => {
            SYSTEMS.iter().find(|(known, _)| i64::from(*known) == *srid)
        }
        _ => None,
    };
    match found {
        Some((srid, _)) => Ok(Some(*srid)),
        None => {
            let names: Vec<String> = SYSTEMS.iter().map(|(n, s)| format!("{s} ({n})")).collect();
            Err(refused(told!(
                "unknown coordinate system; there are {}",
                names.join(", ")
            )))
        }
    }
}

fn as_point(value: &Value) -> Option<&Point> {
    match value {
        Value::Stored(stored) => match &**stored {
            PropertyValue::Point(point) => Some(point),
            _ => None,
        },
        _ => None,
    }
}

/// Metres on the globe, units of the axes elsewhere; null between different systems and for what is
/// no point.
fn distance(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let (Some(a), Some(b)) = (as_point(&args[0]), as_point(&args[1])) else {
        return Ok(Value::Null);
    };
    if a.srid != b.srid {
        return Ok(Value::Null);
    }
    let height = b.z.unwrap_or(0.0) - a.z.unwrap_or(0.0);
    let length =
        |legs: [f64; 3]| Value::Float(legs.iter().map(|leg| leg * leg).sum::<f64>().sqrt());
    if !is_globe(a.srid) {
        return Ok(length([b.x - a.x, b.y - a.y, height]));
    }
    const RADIUS: f64 = 6_378_140.0;
    let [x1, y1, x2, y2] = [a.x, a.y, b.x, b.y].map(f64::to_radians);
    let haversine =
        ((y2 - y1) / 2.0).sin().powi(2) + y1.cos() * y2.cos() * ((x2 - x1) / 2.0).sin().powi(2);
    // Rounding may take it beyond 1.
    let rest = (1.0 - haversine).max(0.0);
    let angle = 2.0 * haversine.sqrt().atan2(rest.sqrt());
    if a.z.is_none() {
        return Ok(Value::Float(RADIUS * angle));
    }
    let mean = (a.z.unwrap_or(0.0) + b.z.unwrap_or(0.0)) / 2.0;
    Ok(length([(RADIUS + mean) * angle, height, 0.0]))
}

/// Whether a point lies in the box of two corners, borders included. On the globe a box may cross
/// the date line.
fn within_box(_: &QueryContext, args: &[Value]) -> Result<Value> {
    let points = [&args[0], &args[1], &args[2]].map(as_point);
    let [Some(point), Some(low), Some(high)] = points else {
        return Ok(Value::Null);
    };
    if point.srid != low.srid || point.srid != high.srid {
        return Ok(Value::Null);
    }
    let between = |low: f64, at: f64, high: f64| (low..=high).contains(&at);
    let is_x = if is_globe(point.srid) && low.x > high.x {
        point.x >= low.x || point.x <= high.x
    } else {
        between(low.x, point.x, high.x)
    };
    let [low_z, z, high_z] = [low.z, point.z, high.z].map(|z| z.unwrap_or(0.0));
    let inside = is_x && between(low.y, point.y, high.y) && between(low_z, z, high_z);
    Ok(inside.into())
}
