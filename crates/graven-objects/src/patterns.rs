//! The objects that a pattern means.
//!
//! # How it works
//! The key is looked up part by part, as folders of a file system would be: a part that is a
//! pattern is compared with the names that the store lists below the parts before it.
//!
//! # Costs
//! A request for each thousand names of a folder that is listed.

use object_store::ObjectStoreExt;
use object_store::path::Path;

use crate::clients::Client;
use crate::error::{Error, Result};
use crate::hints::explained;
use crate::object::{Asking, wait};
use crate::object_url::{ObjectUrl, Store, is_pattern};

/// Objects that a pattern may mean.
const OBJECTS_MAX: usize = 100_000;

/// Whether a name fits a part of a pattern: the pattern, then the name.
pub type Fits = fn(&str, &str) -> bool;

impl ObjectUrl {
    /// The objects that it means, in the order of their keys: itself, where it is no pattern.
    ///
    /// # Errors
    /// [`Error::Forbidden`]; [`Error::Object`] where no object fits, or the store cannot be asked;
    /// [`Error::Stopped`].
    pub fn matching(&self, asking: &Asking, fits: Fits) -> Result<Vec<ObjectUrl>> {
        asking.check(self)?;
        let path = self.web.as_ref().map_or("", |web| web.path());
        if self.store == Store::Web && path.contains('*') {
            let why = "a web server lists no files: name each of them, as in LOAD FROM [URL, URL]";
            return Err(Error::object(self.text(), why));
        }
        if !self.is_pattern() {
            return Ok(vec![self.clone()]);
        }
        let (of, url) = (
            Client::of(&self.with_key(""), &asking.allowed)?,
            self.clone(),
        );
        let keys = wait(self, &asking.stop, async move {
            let mut keys = found(&of, &url, fits).await?;
            // An object may be called so.
            let itself = Path::parse(&url.key).ok();
            if let Some(itself) = itself.filter(|_| keys.is_empty())
                && of.store.head(&itself).await.is_ok()
            {
                keys.push(url.key.clone());
            }
            Ok(keys)
        })?;
        if keys.is_empty() {
            return Err(Error::object(self.text(), "no object has such a key"));
        }
        Ok(keys.iter().map(|key| self.with_key(key)).collect())
    }
}

/// Keys that fit, ascending.
async fn found(client: &Client, url: &ObjectUrl, fits: Fits) -> Result<Vec<String>> {
    let mut folders = vec![String::new()];
    let parts: Vec<&str> = url.key.split('/').collect();
    let (last, before) = parts.split_last().expect("a text has a part");
    for part in before {
        let mut next = Vec::new();
        for folder in folders {
            match is_pattern(part) {
                false => next.push(format!("{folder}{part}/")),
                true => {
                    let (_, inner) = names(client, url, &folder).await?;
                    let fitting = inner.iter().filter(|name| fits(part, name));
                    next.extend(fitting.map(|name| format!("{folder}{name}/")));
                }
            }
        }
        folders = next;
    }
    let mut keys = Vec::new();
    for folder in folders {
        let (objects, _) = names(client, url, &folder).await?;
        let fitting = objects.iter().filter(|name| fits(last, name));
        keys.extend(fitting.map(|name| format!("{folder}{name}")));
        if keys.len() > OBJECTS_MAX {
            let why = format!("more than {OBJECTS_MAX} objects fit it: name fewer");
            return Err(Error::object(url.text(), why));
        }
    }
    keys.sort();
    Ok(keys)
}

/// Names of the objects in a folder, and of the folders in it.
async fn names(
    client: &Client,
    url: &ObjectUrl,
    folder: &str,
) -> Result<(Vec<String>, Vec<String>)> {
    let path = Path::parse(folder).map_err(|error| Error::object(url.text(), error.to_string()))?;
    let listed = client.store.list_with_delimiter(Some(&path)).await;
    let listed = listed.map_err(|error| explained(url, "listing", &error))?;
    let name = |path: &Path| path.filename().map(str::to_owned);
    let objects = listed.objects.iter();
    let objects = objects.filter_map(|object| name(&object.location));
    let folders = listed.common_prefixes.iter().filter_map(name);
    Ok((objects.collect(), folders.collect()))
}
