//! The address of a store: the path of a folder, or a URL. URLs with forbidden parts, above all
//! credentials, are rejected here, and no message shows them.

use std::ffi::OsString;
use std::net::IpAddr;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use repro_core::disk::folder_of;
use repro_core::source::{Error, Location};

use crate::storage::{BAD_ADDRESS, name};

/// The schemes of object storage.
const CLOUD: &[&str] = &["s3", "gs", "az", "https", "http"];
const FILE: &str = "file";

/// A store's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A folder of this machine, or one that is mounted here; as somebody wrote it.
    Folder(PathBuf),
    /// A part of a bucket or of a server.
    Cloud(CloudAddress),
}

/// The parts of `scheme://host/prefix`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloudAddress {
    /// One of the schemes of object storage.
    pub scheme: &'static str,
    /// The bucket or the container; with `https`, the server and its port.
    pub host: String,
    /// The prefix of all object names, without a slash at either end; may be empty.
    pub prefix: String,
}

/// The path of what somebody names by a path or by `file://`; none where it is a URL of object storage.
pub fn local_path(address: &str) -> Result<Option<PathBuf>, Error> {
    Ok(match Address::parse(address)? {
        Address::Folder(path) => Some(path),
        Address::Cloud(_) => None,
    })
}

impl Address {
    /// Reads what somebody wrote.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let Some((scheme, rest)) = scheme_of(text) else {
            return Ok(Self::Folder(PathBuf::from(text)));
        };
        let known = CLOUD.iter().chain([&FILE]).find(|known| known.eq_ignore_ascii_case(scheme));
        let (Some(&scheme), Some(rest)) = (known, rest.strip_prefix('/')) else {
            let expected = format!("`file://`, `{}://`", CLOUD[..4].join("://`, `"));
            let place = Location::file(format!("{}:/…", name::cut(scheme)));
            return Err(BAD_ADDRESS.at(place, expected, "a different scheme"));
        };
        // What stands before an `@` or behind a `?` may be a secret, and a secret may hold slashes.
        if let Some(at) = rest.find(['@', '?', '#']) {
            let found = match rest.as_bytes()[at] {
                b'@' => "a `@`: user names and passwords are read only from the environment",
                b'?' => "a `?`: signatures and tokens are read only from the environment",
                _ => "a `#`",
            };
            let place = Location::file(format!("{scheme}://…"));
            return Err(BAD_ADDRESS.at(place, "only a host and a path", found));
        }
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        if scheme == FILE {
            return folder(host, path).ok_or_else(|| {
                let expected =
                    "`file:///`, then a path in which special characters are `%` and two digits";
                BAD_ADDRESS.at(
                    Location::file(format!("file://{rest}")),
                    expected,
                    "a different form",
                )
            });
        }
        let address = CloudAddress {
            scheme,
            host: host.to_ascii_lowercase(),
            prefix: path.trim_end_matches('/').to_owned(),
        };
        address.check()?;
        Ok(Self::Cloud(address))
    }

    /// The place that holds what is here, and its name there.
    pub fn split(self) -> Result<(Self, String), Error> {
        let shown = self.shown();
        let split = match self {
            Self::Folder(path) => {
                let name = path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
                name.map(|name| (Self::Folder(folder_of(&path)), name))
            }
            Self::Cloud(mut address) => {
                let prefix = std::mem::take(&mut address.prefix);
                let (above, name) = prefix.rsplit_once('/').unwrap_or(("", &prefix));
                above.clone_into(&mut address.prefix);
                let name = name.to_owned();
                (!name.is_empty()).then_some((Self::Cloud(address), name))
            }
        };
        split.ok_or_else(|| {
            let found = "an entire bucket, server or folder";
            BAD_ADDRESS.at(Location::file(shown), "the address of one object", found)
        })
    }

    /// How it is told: a folder as it was written, a URL without anything but its parts.
    pub fn shown(&self) -> String {
        match self {
            Self::Folder(path) => path.display().to_string(),
            Self::Cloud(address) => address.shown(),
        }
    }
}

impl CloudAddress {
    fn shown(&self) -> String {
        let Self { scheme, host, prefix } = self;
        if prefix.is_empty() {
            format!("{scheme}://{host}")
        } else {
            format!("{scheme}://{host}/{prefix}")
        }
    }

    /// Whether the host is a server and not a bucket.
    pub fn is_server(&self) -> bool {
        self.scheme.starts_with("http")
    }

    fn check(&self) -> Result<(), Error> {
        let bad = |expected: &str, found: &str| {
            Err(BAD_ADDRESS.at(Location::file(self.shown()), expected, found))
        };
        let plain = |byte: u8| {
            byte.is_ascii_alphanumeric()
                || b".-_".contains(&byte)
                || (self.is_server() && b":[]".contains(&byte))
        };
        if self.host.is_empty() || !self.host.bytes().all(plain) {
            let expected = if self.is_server() { "a server name" } else { "a bucket name" };
            return bad(expected, "other characters");
        }
        if self.scheme == "http" && !is_loopback(&self.host) {
            return bad("`https://`, or `http://` to this machine", "`http://` to another machine");
        }
        name::check_below(&self.prefix, &self.shown())
    }
}

/// The scheme of a URL, and what follows its first slash. A path may hold a colon, and even `://`.
fn scheme_of(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(":/")?;
    let is_known = CLOUD.iter().chain([&FILE]).any(|known| known.eq_ignore_ascii_case(scheme));
    let is_scheme = !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_known || (is_scheme && rest.starts_with('/'))).then_some((scheme, rest))
}

/// Whether a host, which may name a port, is this machine.
pub fn is_loopback(host: &str) -> bool {
    let address = |text: &str| text.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    let bracketed = host.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let (name, port) =
        bracketed.unwrap_or_else(|| host.find(':').map_or((host, ""), |at| host.split_at(at)));
    let is_port =
        port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
    is_port && (name == "localhost" || address(name))
}

/// The folder of `file://host/path`, where it is one.
fn folder(host: &str, path: &str) -> Option<Address> {
    let is_here = host.is_empty() || host.eq_ignore_ascii_case("localhost");
    let mut bytes = vec![b'/'];
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(if byte == b'%' {
            16 * digit(rest.next()?)? + digit(rest.next()?)?
        } else {
            byte
        });
    }
    let is_path = is_here && bytes.len() > 1 && !bytes.contains(&0);
    is_path.then(|| Address::Folder(PathBuf::from(OsString::from_vec(bytes))))
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::Address;

    fn shown(text: &str) -> String {
        Address::parse(text).unwrap().shown()
    }

    #[test]
    fn folders_and_urls() {
        for path in ["results", "/mnt/a b/c", "../x", "a:b/c", "a:/b", "./a://b", "user@host"] {
            assert_eq!(shown(path), path);
        }
        assert_eq!(shown("file:///mnt/a%20b"), "/mnt/a b");
        assert_eq!(shown("FILE://localhost/mnt"), "/mnt");
        assert_eq!(shown("s3://bucket"), "s3://bucket");
        assert_eq!(shown("s3://bucket/"), "s3://bucket");
        assert_eq!(shown("S3://bucket/runs/a=1/"), "s3://bucket/runs/a=1");
        assert_eq!(shown("https://example.org:8443/a"), "https://example.org:8443/a");
        for host in
            ["localhost", "localhost:9000", "127.0.0.1", "127.8.9.1:1", "[::1]:9000", "[::1]"]
        {
            assert_eq!(shown(&format!("http://{host}/a")), format!("http://{host}/a"));
        }
    }

    #[test]
    fn an_object_lies_in_a_place() {
        for (text, place, name) in [
            ("s3://bucket/runs/a", "s3://bucket/runs", "a"),
            ("s3://bucket/a", "s3://bucket", "a"),
            ("https://example.org/x/y/model.gguf", "https://example.org/x/y", "model.gguf"),
            ("a/b.json", "a", "b.json"),
            ("b.json", ".", "b.json"),
        ] {
            let (address, found) = Address::parse(text).unwrap().split().unwrap();
            assert_eq!((address.shown().as_str(), found.as_str()), (place, name));
        }
        for text in ["s3://bucket", "https://example.org/", "/", ".."] {
            assert!(Address::parse(text).unwrap().split().is_err(), "{text}");
        }
    }

    #[test]
    fn what_no_url_may_be() {
        for text in [
            "ftp://a/b",
            "file://host/a",
            "file:///",
            "file://",
            "file:///a%0",
            "file:///a%00b",
            "file:/a",
            "s3:/bucket",
            "s3://",
            "s3:///a",
            "s3://bucket:80/a",
            "s3://bu cket/a",
            "s3://bucket/../other",
            "s3://bucket//a",
            "s3://bucket/a b",
            "gs://bucket/%2e%2e/a",
            "http://example.org/a",
            "http://127.0.0.1.example.org/a",
            "http://localhost:x/a",
            "http://localhost.example.org",
            "http://0.0.0.0/a",
            "http://[::1/a",
            "https://",
        ] {
            assert!(Address::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn secrets_are_refused_and_not_shown() {
        for text in [
            "s3://key:CANARY@bucket/a",
            "s3://key:CAN/CANARY@bucket/a",
            "https://CANARY@example.org/a",
            "https://user@CANARY@example.org/a",
            "https://example.org/a?X-Amz-Signature=CANARY",
            "az://container/a?sig=CANARY",
            "s3://bucket/a#CANARY",
            "file:///a?CANARY",
            "ftp://key:CANARY@host",
        ] {
            let error = Address::parse(text).unwrap_err();
            let told = format!("{error} {error:?}");
            assert!(!told.contains("CANARY"), "{told}");
            assert_eq!(error.code.id, "storage::bad-address");
        }
    }
}
