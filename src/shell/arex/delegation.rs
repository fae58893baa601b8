//! A cluster's own credentials of a user: a certificate for the cluster's request, signed by the
//! user's (a proxy, RFC 3820), by which the cluster fetches and sends files.

use super::credentials::UserChain;
use openssl::asn1::{Asn1Integer, Asn1Object, Asn1OctetString, Asn1Time};
use openssl::bn::BigNum;
use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::rand::rand_bytes;
use openssl::x509::extension::KeyUsage;
use openssl::x509::{X509, X509Builder, X509Extension, X509Name, X509Req};
use yardmaster_core::unit::{DAY, MINUTE, Millis, SECOND};

/// How long such credentials hold at most: a job may wait for days.
const LIFETIME_MAX: Millis = 7 * DAY;
/// By how much the cluster's clock may be behind.
const BEHIND: Millis = 5 * MINUTE;
/// The extension ProxyCertInfo, and its value: all rights of the user (id-ppl-inheritAll).
const PROXY_CERT_INFO: &str = "1.3.6.1.5.5.7.1.14";
const INHERITS_ALL: [u8; 14] =
    [0x30, 0x0c, 0x30, 0x0a, 0x06, 0x08, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x15, 0x01];

/// Signs a cluster's request; the certificate and those that lead to its authority, in PEM. The
/// request states version 2, which PKCS #10 does not have; OpenSSL does not look.
///
/// # Errors
/// The request is none, or the key cannot sign.
pub(super) fn signed(
    request: &[u8],
    chain: &UserChain,
    now: Millis,
) -> Result<Vec<u8>, ErrorStack> {
    let request = X509Req::from_pem(request)?;
    let issuer = chain.certificates.first().ok_or_else(ErrorStack::get)?;
    let mut serial = [0; 4];
    rand_bytes(&mut serial)?;
    let serial = u32::from_be_bytes(serial) >> 1;
    let mut builder = X509Builder::new()?;
    builder.set_version(2)?;
    let number = Asn1Integer::from_bn(&*BigNum::from_u32(serial)?)?;
    builder.set_serial_number(&number)?;
    builder.set_subject_name(&*subject(issuer, serial)?)?;
    builder.set_issuer_name(issuer.subject_name())?;
    builder.set_pubkey(&*request.public_key()?)?;
    builder.set_not_before(&*Asn1Time::from_unix((now - BEHIND) / SECOND)?)?;
    let until = Asn1Time::from_unix((now + LIFETIME_MAX) / SECOND)?;
    let ends = chain.certificates.iter().map(|it| it.not_after());
    let first_end = ends.fold(&*until, |first, end| if end < first { end } else { first });
    builder.set_not_after(first_end)?;
    builder.append_extension(X509Extension::new_from_der(
        &*Asn1Object::from_str(PROXY_CERT_INFO)?,
        true,
        &*Asn1OctetString::new_from_bytes(&INHERITS_ALL)?,
    )?)?;
    let usage = KeyUsage::new().critical().digital_signature().key_encipherment().build()?;
    builder.append_extension(usage)?;
    builder.sign(&chain.key, MessageDigest::sha256())?;
    let mut pem = builder.build().to_pem()?;
    for certificate in &chain.certificates {
        pem.extend(certificate.to_pem()?);
    }
    Ok(pem)
}

/// The issuer's name with one more common name.
fn subject(issuer: &X509, serial: u32) -> Result<X509Name, ErrorStack> {
    let mut name = X509Name::builder()?;
    for entry in issuer.subject_name().entries() {
        name.append_entry(entry)?;
    }
    name.append_entry_by_nid(Nid::COMMONNAME, &serial.to_string())?;
    Ok(name.build())
}
