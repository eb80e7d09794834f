//! Coordinate systems of points: their numbers and names.

pub(crate) const CARTESIAN: u32 = 7203;
pub(crate) const CARTESIAN_3D: u32 = 9157;
pub(crate) const WGS_84: u32 = 4326;
pub(crate) const WGS_84_3D: u32 = 4979;
pub(crate) const SYSTEMS: [(u32, &str); 4] = [
    (CARTESIAN, "cartesian"),
    (CARTESIAN_3D, "cartesian-3d"),
    (WGS_84, "wgs-84"),
    (WGS_84_3D, "wgs-84-3d"),
];

/// Name of a coordinate system.
pub(crate) fn system_name(srid: u32) -> &'static str {
    SYSTEMS
        .iter()
        .find(|(number, _)| *number == srid)
        .map_or("unknown", |(_, name)| name)
}
