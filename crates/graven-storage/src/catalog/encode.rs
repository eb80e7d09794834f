//! Bytes of the catalogue.
