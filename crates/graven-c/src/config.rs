//! `graven_config`: how a database is opened.

use std::ffi::c_char;

use crate::error::{Error, guard, there};
use crate::text::text;
use graven_binding::set_config;

/// Settings with which a database is opened.
pub struct Config {
    pub(crate) config: graven::Config,
}

impl Default for Config {
    fn default() -> Self {
        let mut config = graven::Config::default();
        config.create = true;
        Config { config }
    }
}

/// New settings, all as if none were given. To be freed with graven_config_free().
#[unsafe(no_mangle)]
pub extern "C" fn graven_config_new() -> Option<Box<Config>> {
    guard(None, || Ok(Box::new(Config::default())))
}

/// Sets one: "memory" (such as "64MiB"), "threads", "policy", "io" ("direct" or "buffered"),
/// "read_only", "create" (true if not set), "attach" ("true" or "false"), "timeout_ms",
/// "disk_cache" (a folder), "disk_budget" (such as "10GiB"). Whether it was set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn graven_config_set(
    config: Option<&mut Config>,
    name: *const c_char,
    value: *const c_char,
    error: Option<&mut *mut Error>,
) -> bool {
    let set = guard(error, || {
        let config = there(config, "configuration")?;
        // SAFETY: CA-2.
        let (name, value) = unsafe { (text(name, "name")?, text(value, "value")?) };
        set_config(&mut config.config, name, value)
    });
    set.is_some()
}

/// Frees settings; a null pointer is left alone.
#[unsafe(no_mangle)]
pub extern "C" fn graven_config_free(config: Option<Box<Config>>) {
    drop(config);
}
