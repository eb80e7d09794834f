//! The URL of one object, or a pattern of several, as a statement names them.
//!
//! # How it works
//! `s3://`, `gs://` and `az://` name a bucket and a key. The key is taken as it stands: no
//! character of it is decoded, and `*`, `?` and `[...]` make it a pattern. `http://` and
//! `https://` name a file of a web server: they are read as URLs are, with their query.
//!
//! Messages show a URL without its query, which may hold a signature.
//!
//! # Invariants
//! * OB-15: a text ([`ObjectUrl::text`]) has its scheme and host in one form, and no part `.` or
//!   `..`: what begins with a prefix lies below it.

use std::fmt;
use std::sync::Arc;

use object_store::path::Path;
use url::Url;

use crate::error::{Error, Result};

/// Where an object is kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Store {
    /// Amazon S3, and what speaks its protocol.
    S3,
    /// Google Cloud Storage.
    Google,
    /// Azure Blob Storage.
    Azure,
    /// A web server.
    Web,
}

impl Store {
    fn of_scheme(scheme: &str) -> Option<Store> {
        Some(match scheme {
            "s3" | "s3a" => Store::S3,
            "gs" | "gcs" => Store::Google,
            "az" | "azure" => Store::Azure,
            "http" | "https" => Store::Web,
            _ => return None,
        })
    }

    fn scheme(self) -> &'static str {
        match self {
            Store::S3 => "s3",
            Store::Google => "gs",
            Store::Azure => "az",
            Store::Web => "http",
        }
    }
}

/// The URL of an object; see the file header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObjectUrl {
    pub(crate) store: Store,
    /// The bucket or container; the host of a web server.
    pub(crate) bucket: String,
    /// The key in the bucket.
    pub(crate) key: String,
    /// Of a web server: the whole URL, with its query.
    pub(crate) web: Option<Url>,
    text: String,
}

impl fmt::Display for ObjectUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The URL without what may be secret, for messages about one that cannot be used.
fn shown(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let rest = rest.split('?').next().unwrap_or_default();
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}/{path}")
}

impl ObjectUrl {
    /// Reads a URL; nothing is asked of its store yet.
    ///
    /// # Errors
    /// [`Error::Object`] for what is no URL, a scheme that no store has, a URL without a bucket or
    /// with a password in it.
    pub fn parse(url: &str) -> Result<ObjectUrl> {
        let wrong = |why: &str| Error::object(shown(url), why);
        let (scheme, rest) = url.split_once("://").ok_or_else(|| wrong("it is no URL"))?;
        let scheme = scheme.to_ascii_lowercase();
        match Store::of_scheme(&scheme) {
            None => Err(wrong(
                "no store has this scheme; there are s3://BUCKET/KEY, gs://, az://, http:// and \
                 https://",
            )),
            Some(Store::Web) => ObjectUrl::web(&format!("{scheme}://{rest}"), &wrong),
            Some(store) => ObjectUrl::in_bucket(store, rest, &wrong),
        }
    }

    fn in_bucket(store: Store, rest: &str, wrong: &dyn Fn(&str) -> Error) -> Result<ObjectUrl> {
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if bucket.is_empty() || !bucket.chars().all(is_name) {
            return Err(wrong(
                "a bucket has a name of letters, digits, `-`, `_` and `.`, with the key behind it: \
                 s3://BUCKET/KEY",
            ));
        }
        Path::parse(key).map_err(|_| wrong("the key has an empty part, or a part `.` or `..`"))?;
        Ok(ObjectUrl {
            store,
            text: format!("{}://{bucket}/{key}", store.scheme()),
            bucket: bucket.to_owned(),
            key: key.to_owned(),
            web: None,
        })
    }

    fn web(url: &str, wrong: &dyn Fn(&str) -> Error) -> Result<ObjectUrl> {
        let parsed = Url::parse(url).map_err(|error| wrong(&format!("it is no URL: {error}")))?;
        ObjectUrl::of_web(parsed)
            .ok_or_else(|| wrong("a URL here has a host, and no user name or password in it"))
    }

    /// Of a URL of a web server; none where it has no host, or a user name.
    pub(crate) fn of_web(mut url: Url) -> Option<ObjectUrl> {
        let has_user = !url.username().is_empty() || url.password().is_some();
        let host = url.host_str().filter(|_| !has_user)?.to_owned();
        url.set_fragment(None);
        let mut text = url[..url::Position::AfterPath].to_owned();
        if url.query().is_some() {
            text.push_str("?...");
        }
        Some(ObjectUrl {
            store: Store::Web,
            bucket: host,
            key: url.path().trim_start_matches('/').to_owned(),
            web: Some(url),
            text,
        })
    }

    /// As messages show it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// As a statement would name it: [`ObjectUrl::parse`] reads the same from it.
    #[must_use]
    pub fn whole(&self) -> &str {
        self.web.as_ref().map_or(&self.text, Url::as_str)
    }

    /// Where it is kept.
    #[must_use]
    pub fn store(&self) -> Store {
        self.store
    }

    /// The last part of its path, by which its format is known.
    #[must_use]
    pub fn file_name(&self) -> &str {
        self.key.rsplit('/').next().unwrap_or_default()
    }

    /// Whether it means all keys that fit it.
    #[must_use]
    pub fn is_pattern(&self) -> bool {
        self.store != Store::Web && is_pattern(&self.key)
    }

    /// Another object of the same bucket.
    pub(crate) fn with_key(&self, key: &str) -> ObjectUrl {
        ObjectUrl {
            text: format!("{}://{}/{key}", self.store.scheme(), self.bucket),
            key: key.to_owned(),
            ..self.clone()
        }
    }
}

/// Whether part of a path is a pattern.
pub(crate) fn is_pattern(part: &str) -> bool {
    part.contains(['*', '?', '['])
}

/// The URLs that statements may name.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Allowed {
    /// All.
    All,
    /// Those that lie below one of these, and these themselves; none, where there is none.
    Below(Arc<[Arc<str>]>),
}

impl Allowed {
    /// No URL.
    #[must_use]
    pub fn none() -> Allowed {
        Allowed::Below(Arc::default())
    }

    /// What lies below these URLs: a bucket, a folder of it, a web server or a folder of it.
    ///
    /// # Errors
    /// As [`ObjectUrl::parse`]; a pattern or a query.
    pub fn below<T: AsRef<str>>(urls: &[T]) -> Result<Allowed> {
        let below = urls.iter().map(|url| {
            let url = ObjectUrl::parse(url.as_ref())?;
            let has_query = url.web.as_ref().is_some_and(|web| web.query().is_some());
            if has_query || url.is_pattern() {
                let why = "a URL that is opened to clients is a bucket or folder, no pattern, and \
                           has no query";
                return Err(Error::object(url.text, why));
            }
            Ok(Arc::from(url.text.trim_end_matches('/')))
        });
        Ok(Allowed::Below(below.collect::<Result<_>>()?))
    }

    /// Whether this URL, or all of a pattern, may be named.
    #[must_use]
    pub fn allows(&self, url: &ObjectUrl) -> bool {
        let Allowed::Below(below) = self else {
            return true;
        };
        let path = match &url.web {
            Some(web) => &web[..url::Position::AfterPath],
            None => url.text(),
        };
        // Some servers take these for what stands between two parts of a path.
        let hidden = url.web.is_some() && {
            let path = path.to_ascii_lowercase().replace("%2e", ".");
            let leaves = |part: &str| part.split(';').next() == Some("..") && part != "..";
            // The last two: a part that some servers cut at its `;`, and what is decoded twice.
            path.contains("%2f")
                || path.contains("%5c")
                || path.contains("%25")
                || path.split('/').any(leaves)
        };
        // Of a pattern, the folders before its first part that is one.
        let fixed = match path.find(['*', '?', '[']).filter(|_| url.is_pattern()) {
            Some(at) => &path[..path[..at].rfind('/').unwrap_or(0)],
            None => path,
        };
        let within = |known: &Arc<str>| {
            let rest = fixed.strip_prefix(&**known);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        !hidden && below.iter().any(within)
    }
}

#[cfg(test)]
mod tests {
    //! Goal: a URL is read one way, shows no secret, and lies below a prefix or does not.

    use super::*;

    #[test]
    fn keys_are_taken_as_they_stand() {
        let url = ObjectUrl::parse("s3a://data/a b%20c/d#e?.csv").unwrap();
        assert_eq!((&*url.bucket, &*url.key), ("data", "a b%20c/d#e?.csv"));
        assert_eq!(url.text(), "s3://data/a b%20c/d#e?.csv");
        assert!(url.is_pattern());
        assert_eq!(url.file_name(), "d#e?.csv");
        let web = ObjectUrl::parse("HTTPS://Example.org:443/a/../b/x.csv?token=abc#f").unwrap();
        assert_eq!(web.text(), "https://example.org/b/x.csv?...");
        assert_eq!(web.whole(), "https://example.org/b/x.csv?token=abc");
        assert_eq!(ObjectUrl::parse(web.whole()).unwrap(), web);
        assert!(!web.is_pattern());
        for (wrong, part) in [
            ("ftp://host/x", "no store has this scheme"),
            ("s3:///x", "a bucket has a name"),
            ("s3://bucket@evil/x", "a bucket has a name"),
            ("s3://bucket/a/../b", "`..`"),
            ("s3://bucket/a//b", "empty part"),
            ("https://user:secret@host/x", "no user name"),
            ("https://", "no URL"),
        ] {
            let error = ObjectUrl::parse(wrong).unwrap_err().to_string();
            assert!(error.contains(part), "{wrong}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn what_lies_below_a_prefix_is_allowed_and_nothing_else() {
        let below = ["s3://data/in/", "https://example.org/open", "gs://all"];
        let allowed = Allowed::below(&below).unwrap();
        for (url, wanted) in [
            ("s3://data/in/a.csv", true),
            ("s3://data/in", true),
            ("s3://data/in/*.csv", true),
            ("s3://data/in*/a.csv", false),
            ("s3://data/*/a.csv", false),
            ("s3://data/inside/a.csv", false),
            ("s3://data2/in/a.csv", false),
            ("gs://all/x/y", true),
            ("gs://all2/x", false),
            ("https://example.org/open/a.csv?x=1", true),
            ("https://example.org/open/../secret", false),
            ("https://example.org/open/%2e%2e/secret", false),
            ("https://example.org/open/..%2fsecret", false),
            ("https://example.org/opened", false),
            ("http://example.org/open/a.csv", false),
            ("https://example.org.evil.test/open/a.csv", false),
            ("https://example.org:8443/open/a.csv", false),
        ] {
            let parsed = ObjectUrl::parse(url).unwrap();
            assert_eq!(allowed.allows(&parsed), wanted, "{url}");
            assert!(Allowed::All.allows(&parsed));
            assert!(!Allowed::none().allows(&parsed));
        }
        for part in [
            "..;/secret",
            "%2e%2e;x/secret",
            "a%252f..%252fb",
            "..%2fsecret",
            "..%5cb",
        ] {
            let url = ObjectUrl::parse(&format!("https://example.org/open/{part}")).unwrap();
            assert!(!allowed.allows(&url), "{part}");
        }
        assert!(Allowed::below(&["s3://data/*"]).is_err());
        assert!(Allowed::below(&["https://h/a?b"]).is_err());
    }
}
