//! What is wrong when a store does not give an object, and what to do about it.

use object_store::Error as Failed;

use crate::error::{Error, chain};
use crate::object_url::{ObjectUrl, Store};

/// Longest answer of a store that a message repeats.
const SHOWN: usize = 400;

/// What to do about a failure with these words, with a separator before it; empty if unknown.
pub(crate) fn hint(store: Store, why: &str) -> &'static str {
    let says = |parts: &[&str]| parts.iter().any(|part| why.contains(part));
    let no_credentials = [
        "169.254.169.254",
        "169.254.170",
        "metadata.google",
        "metadata",
        "No credentials",
        "Account must be specified",
        "credential",
    ];
    match store {
        Store::S3 if says(&["redirect without LOCATION", "PermanentRedirect"]) => {
            "; the bucket may be in another region: set AWS_REGION"
        }
        Store::S3 if says(&["scheme is not allowed"]) => {
            "; for an http:// endpoint set AWS_ALLOW_HTTP=true"
        }
        Store::S3 if says(&no_credentials) => {
            "; no credentials were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or \
             AWS_SKIP_SIGNATURE=true for a public bucket"
        }
        Store::Google if says(&no_credentials) => {
            "; no credentials were found: set GOOGLE_APPLICATION_CREDENTIALS, or \
             GOOGLE_SKIP_SIGNATURE=true for a public bucket"
        }
        Store::Azure if says(&no_credentials) => {
            "; set AZURE_STORAGE_ACCOUNT_NAME, and AZURE_STORAGE_ACCOUNT_KEY or \
             AZURE_SKIP_SIGNATURE=true for a public container"
        }
        _ if says(&["dns error", "failed to lookup"]) => {
            "; the host has no address: check its name and the network"
        }
        Store::S3 if says(&["error sending request", "Connection refused", "tcp connect"]) => {
            "; check AWS_ENDPOINT_URL and the network"
        }
        _ if says(&["error sending request", "Connection refused", "tcp connect"]) => {
            "; check the host, its port and the network"
        }
        _ => "",
    }
}

fn denied(store: Store) -> &'static str {
    match store {
        Store::S3 => {
            "access is denied: check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and what they \
             permit; a public bucket wants AWS_SKIP_SIGNATURE=true"
        }
        Store::Google => "access is denied: check GOOGLE_APPLICATION_CREDENTIALS",
        Store::Azure => {
            "access is denied: check AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY"
        }
        Store::Web => "the server denies access, and Graven sends web servers no credentials",
    }
}

/// The error of `url` for what a store answered while it was asked to do `action`.
pub(crate) fn explained(url: &ObjectUrl, action: &str, failed: &Failed) -> Error {
    let said = chain(failed);
    let why = match failed {
        _ if said.contains("NoSuchBucket") || said.contains("ContainerNotFound") => format!(
            "there is no bucket {}: check its name, and the endpoint",
            url.bucket
        ),
        Failed::NotFound { .. } if url.store == Store::Web => {
            "the server has no such file (404)".to_owned()
        }
        Failed::NotFound { .. } => {
            "there is no such object: check the key, which is taken as it stands".to_owned()
        }
        Failed::PermissionDenied { .. } | Failed::Unauthenticated { .. } => {
            format!("{}; it said: {}", denied(url.store), short(&said))
        }
        _ => {
            let hint = hint(url.store, &said);
            format!("{action} failed: {}{hint}", short(&said))
        }
    };
    Error::object(url.text(), without_query(url, why))
}

/// The text, cut where it is long, in one line.
fn short(said: &str) -> String {
    let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        None => line,
        Some((end, _)) => format!("{}...", &line[..end]),
    }
}

/// The text without the query of the URL, which may hold a signature.
fn without_query(url: &ObjectUrl, why: String) -> String {
    match url.web.as_ref().and_then(|web| web.query()) {
        Some(query) if !query.is_empty() => why.replace(query, "..."),
        _ => why,
    }
}

#[cfg(test)]
mod tests {
    //! Goal: what a store answers becomes a message that names what to do, and no secret.

    use super::*;

    fn generic(said: &str) -> Failed {
        Failed::Generic {
            store: "S3",
            source: said.to_owned().into(),
        }
    }

    #[test]
    fn messages_name_what_to_do() {
        let url = ObjectUrl::parse("s3://data/a.csv").unwrap();
        for (failed, wanted) in [
            (
                Failed::NotFound {
                    path: "a.csv".to_owned(),
                    source: "<Code>NoSuchBucket</Code>".into(),
                },
                "there is no bucket data",
            ),
            (
                Failed::NotFound {
                    path: "a.csv".to_owned(),
                    source: "<Code>NoSuchKey</Code>".into(),
                },
                "no such object",
            ),
            (
                Failed::PermissionDenied {
                    path: "a.csv".to_owned(),
                    source: "<Code>SignatureDoesNotMatch</Code>".into(),
                },
                "AWS_ACCESS_KEY_ID",
            ),
            (generic("redirect without LOCATION"), "AWS_REGION"),
            (
                generic("http://169.254.169.254/ timed out"),
                "AWS_SKIP_SIGNATURE",
            ),
            (generic("dns error"), "has no address"),
        ] {
            let error = explained(&url, "reading", &failed).to_string();
            assert!(error.starts_with("s3://data/a.csv: "), "{error}");
            assert!(error.contains(wanted), "{error}");
        }
        let signed = ObjectUrl::parse("https://h/a.csv?sig=SECRET").unwrap();
        let failed = generic("error sending request for https://h/a.csv?sig=SECRET");
        let error = explained(&signed, "reading", &failed).to_string();
        assert!(!error.contains("SECRET"), "{error}");
    }
}
