//! A real S3 server over a folder: `s3s-fs`, which `scripts/storage.sh` installs.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use repro_bundle::storage::{Limits, StoreSettings};
use tempfile::TempDir;

use crate::shared::say_skipped;

/// What no message may hold.
pub const CANARY: &str = "CANARYxSECRETxCANARY";
/// The key that the server knows.
pub const KEY: &str = "CANARYxKEY";
/// The bucket that it has.
pub const BUCKET: &str = "bucket";

/// A server, which ends with its value.
pub struct S3Server {
    child: Child,
    folder: TempDir,
    /// Where it listens.
    pub address: SocketAddr,
}

impl S3Server {
    /// Starts one with an empty bucket. Where the program is absent the caller skips, and says so, unless `REPRO_REQUIRE_S3` is
    /// set.
    pub fn start(test: &str) -> Option<Self> {
        let program = program();
        if !program.is_file() {
            let required = std::env::var_os("REPRO_REQUIRE_S3").is_some();
            assert!(!required, "{} is required: `scripts/storage.sh`", program.display());
            say_skipped(test, &format!("there is no S3 server at {}", program.display()));
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(BUCKET)).unwrap();
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let child = Command::new(program)
            .args(["--host", "127.0.0.1", "--port", &address.port().to_string()])
            .args(["--access-key", KEY, "--secret-key", CANARY])
            .arg(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self { child, folder, address };
        let began = Instant::now();
        while TcpStream::connect(address).is_err() {
            assert!(began.elapsed() < Duration::from_secs(20), "the server does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(server)
    }

    /// The folder that is the bucket.
    pub fn bucket(&self) -> PathBuf {
        self.folder.path().join(BUCKET)
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn program() -> PathBuf {
    let named = std::env::var_os("REPRO_S3_SERVER").map(PathBuf::from);
    named.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/bin/s3s-fs"))
}

/// The variables by which a program reaches the server at an address.
pub fn variables(address: SocketAddr) -> Vec<(String, String)> {
    let pairs = [
        ("AWS_ACCESS_KEY_ID", KEY.to_owned()),
        ("AWS_SECRET_ACCESS_KEY", CANARY.to_owned()),
        ("AWS_REGION", "us-east-1".to_owned()),
        ("AWS_ENDPOINT_URL", format!("http://{address}")),
    ];
    pairs.map(|(name, value)| (name.to_owned(), value)).to_vec()
}

/// StoreSettings of somebody who does not wait long.
pub fn settings(variables: Vec<(String, String)>) -> StoreSettings {
    let limits = Limits {
        retries: 3,
        retry_time: Duration::from_secs(5),
        connect: Duration::from_secs(1),
        silence: Duration::from_secs(1),
        whole: Duration::from_secs(10),
        ..Limits::default()
    };
    let mut settings = StoreSettings::of(variables);
    settings.limits = limits;
    settings
}
