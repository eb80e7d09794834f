//! What every file and every read queue must do, as checks that a backend's tests run.
