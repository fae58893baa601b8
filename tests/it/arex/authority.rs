//! An authority, and certificates and proxies that it and users sign.

use openssl::asn1::Asn1Time;
use openssl::asn1::{Asn1Object, Asn1OctetString};
use openssl::bn::BigNum;
use openssl::hash::MessageDigest;
use openssl::pkey::{PKey, Private};
use openssl::rsa::Rsa;
use openssl::x509::extension::{BasicConstraints, SubjectAlternativeName};
use openssl::x509::{X509, X509Builder, X509Extension, X509Name, X509NameBuilder};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

pub const HOUR: i64 = 3_600;

pub fn now_s() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64
}

/// A certificate and its key.
#[derive(Clone)]
pub struct Signed {
    pub certificate: X509,
    pub key: PKey<Private>,
}

/// An authority, with a folder for files.
pub struct Authority {
    pub own: Signed,
    dir: TempDir,
}

fn key() -> PKey<Private> {
    PKey::from_rsa(Rsa::generate(2_048).unwrap()).unwrap()
}

fn name(parts: &[&str]) -> X509Name {
    let mut name = X509NameBuilder::new().unwrap();
    name.append_entry_by_text("O", "Grid").unwrap();
    parts.iter().for_each(|part| name.append_entry_by_text("CN", part).unwrap());
    name.build()
}

fn builder(subject: &[&str], key: &PKey<Private>, from_s: i64, until_s: i64) -> X509Builder {
    let mut builder = X509Builder::new().unwrap();
    builder.set_version(2).unwrap();
    let serial = BigNum::from_u32(now_s() as u32).unwrap().to_asn1_integer().unwrap();
    builder.set_serial_number(&serial).unwrap();
    builder.set_subject_name(&name(subject)).unwrap();
    builder.set_pubkey(key).unwrap();
    builder.set_not_before(&Asn1Time::from_unix(from_s).unwrap()).unwrap();
    builder.set_not_after(&Asn1Time::from_unix(until_s).unwrap()).unwrap();
    builder
}

impl Authority {
    pub fn new() -> Authority {
        let (key, dir) = (key(), TempDir::new().unwrap());
        // Each has a name of its own.
        let own = [dir.path().file_name().unwrap().to_str().unwrap()];
        let mut builder = builder(&own, &key, now_s() - HOUR, now_s() + 100 * HOUR);
        builder.set_issuer_name(&name(&own)).unwrap();
        builder.append_extension(BasicConstraints::new().critical().ca().build().unwrap()).unwrap();
        builder.sign(&key, MessageDigest::sha256()).unwrap();
        let own = Signed { certificate: builder.build(), key };
        let authority = Authority { own, dir };
        authority.write("ca.pem", &[authority.own.certificate.to_pem().unwrap()]);
        authority
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, parts: &[Vec<u8>]) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, parts.concat()).unwrap();
        path
    }

    /// A certificate of a host, by its name, or of a user.
    pub fn sign(&self, subject: &str, is_host: bool) -> Signed {
        let key = key();
        let mut builder = builder(&[subject], &key, now_s() - HOUR, now_s() + 50 * HOUR);
        builder.set_issuer_name(self.own.certificate.subject_name()).unwrap();
        if is_host {
            let context = builder.x509v3_context(Some(&self.own.certificate), None);
            let names = SubjectAlternativeName::new().dns(subject).build(&context).unwrap();
            builder.append_extension(names).unwrap();
        }
        builder.sign(&self.own.key, MessageDigest::sha256()).unwrap();
        Signed { certificate: builder.build(), key }
    }

    /// A proxy of a user until a time, as `arcproxy` writes it: certificate, key, the user's.
    pub fn proxy(&self, file: &str, user: &str, until_s: i64) -> PathBuf {
        let issuer = self.sign(user, false);
        let key = key();
        let mut builder = builder(&[user, "17"], &key, until_s.min(now_s()) - HOUR, until_s);
        builder.set_issuer_name(issuer.certificate.subject_name()).unwrap();
        let oid = Asn1Object::from_str("1.3.6.1.5.5.7.1.14").unwrap();
        let all = [0x30, 0x0c, 0x30, 0x0a, 6, 8, 0x2b, 6, 1, 5, 5, 7, 0x15, 1];
        let value = Asn1OctetString::new_from_bytes(&all).unwrap();
        let information = X509Extension::new_from_der(&oid, true, &value).unwrap();
        builder.append_extension(information).unwrap();
        builder.sign(&issuer.key, MessageDigest::sha256()).unwrap();
        let of_key = key.rsa().unwrap().private_key_to_pem().unwrap();
        let proxy = builder.build().to_pem().unwrap();
        self.write(file, &[proxy, of_key, issuer.certificate.to_pem().unwrap()])
    }

    /// A user's certificate and key, in one file.
    pub fn plain(&self, file: &str, user: &str) -> PathBuf {
        let Signed { certificate, key } = self.sign(user, false);
        let key = key.private_key_to_pem_pkcs8().unwrap();
        self.write(
            file,
            &[key, self.own.certificate.to_pem().unwrap(), certificate.to_pem().unwrap()],
        )
    }
}

pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}
