//! Certificates: read from files, or made on request.
//!
//! # Invariants
//! * BO-12 A key that the server makes can be read by its owner alone; a pair that is there is used
//!   as it is, never replaced.

use std::fs::OpenOptions;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use graven::Error;
use rustix::system::uname;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::options::{KEY, Tls};

/// Name of the certificate in the folder of a pair that the server made.
const CERTIFICATE: &str = "cert.pem";

fn bad(path: &Path, why: impl std::fmt::Display) -> Error {
    Error::usage(format!("{}: {why}", path.display()))
}

/// What accepts TLS.
///
/// # Errors
/// A file that cannot be read or written, or holds something else; a key that does not belong to
/// the certificate.
pub(crate) fn acceptor(tls: &Tls) -> Result<TlsAcceptor, Error> {
    let (certificate, key) = match tls {
        Tls::Files { certificate, key } => (certificate.clone(), key.clone()),
        Tls::SelfSigned { folder, names } => {
            let pair = (folder.join(CERTIFICATE), folder.join(KEY));
            if !pair.0.exists() && !pair.1.exists() {
                make(folder, names, (&pair.0, &pair.1))?;
            }
            pair
        }
    };
    let chain = CertificateDer::pem_file_iter(&certificate);
    let chain = chain.and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let chain = chain.map_err(|error| {
        bad(
            &certificate,
            format_args!("no certificate can be read there: {error}"),
        )
    })?;
    if chain.is_empty() {
        let why = "there is no certificate in it: it begins with `-----BEGIN CERTIFICATE-----`";
        return Err(bad(&certificate, why));
    }
    let own = PrivateKeyDer::from_pem_file(&key).map_err(|error| {
        bad(
            &key,
            format_args!("no private key can be read there: {error}"),
        )
    })?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|it| it.with_no_client_auth().with_single_cert(chain, own))
        .map_err(|error| {
            bad(
                &certificate,
                format_args!("not with {}: {error}", key.display()),
            )
        })?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Makes a pair for this machine.
fn make(folder: &Path, more: &[String], (certificate, key): (&Path, &Path)) -> Result<(), Error> {
    let host = uname().nodename().to_string_lossy().into_owned();
    let mut names: Vec<String> = vec!["localhost".to_owned()];
    names.extend(
        [
            IpAddr::from(Ipv4Addr::LOCALHOST),
            Ipv6Addr::LOCALHOST.into(),
        ]
        .map(|it| it.to_string()),
    );
    names.extend([host].into_iter().chain(more.iter().cloned()));
    names.dedup();
    let failed =
        |error: rcgen::Error| bad(folder, format_args!("no certificate can be made: {error}"));
    let made = rcgen::generate_simple_self_signed(names).map_err(failed)?;
    std::fs::create_dir_all(folder).map_err(|error| {
        bad(
            folder,
            format_args!("no certificate can be kept there: {error}"),
        )
    })?;
    let keep = |path: &Path, mode, text: String| {
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(mode).open(path);
        file.and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        })
        .map_err(|error| bad(path, format_args!("it cannot be written: {error}")))
    };
    keep(key, 0o600, made.signing_key.serialize_pem())?;
    keep(certificate, 0o644, made.cert.pem())
}
