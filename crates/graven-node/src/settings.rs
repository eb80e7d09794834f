//! Settings by their names, as `package/settings.js` gives them.

use crate::told::Told;

/// Names and values of settings.
pub(crate) type Settings = Vec<Vec<String>>;

/// The name and the value of a setting.
pub(crate) fn pair(setting: &[String]) -> Result<(&str, &str), Told> {
    match setting {
        [name, value] => Ok((name, value)),
        _ => Err(Told::usage("a setting has a name and a value")),
    }
}
