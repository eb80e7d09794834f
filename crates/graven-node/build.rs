//! Links the addon so that Node.js can load it, and so that it stays loaded: its threads may run
//! when a worker thread of JavaScript that has loaded it is gone.

fn main() {
    napi_build::setup();
}
