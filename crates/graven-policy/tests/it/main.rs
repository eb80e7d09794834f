//! Tests of the policies: conformance, golden hit counts, identities, the band of Neo4j's real
//! cache.

mod conformance;
mod golden;
mod identities;
mod muninn;
mod shared;
