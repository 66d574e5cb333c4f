//! A server that does not do what it should: it stands before another one, or alone.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What is done with a request.
#[derive(Debug, Clone)]
pub enum Fault {
    /// It is handed on, and so is the answer.
    None,
    /// It is answered with a status, and a body.
    Status(u16, String),
    /// Of the answer half of the body comes, then the end.
    Half,
    /// The same, and the answer says that this is all.
    HalfAsWhole,
    /// It is handed on, and the answer is lost.
    Lost,
    /// The connection ends at once.
    Hangs,
    /// The answer begins, and then nothing comes.
    Stalls,
    /// The client is sent elsewhere.
    Leads(String),
    /// The answer is no HTTP.
    Noise,
    /// These bytes are sent, or the part of them that is asked for.
    Sends(Vec<u8>, Option<(usize, usize)>),
    /// A status, with a body that does not end.
    Endless(u16),
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Its first line and its headers.
    pub head: String,
    /// How many bytes of a body were sent back.
    pub sent: usize,
}

type Plan = dyn Fn(usize, &str) -> Fault + Send + Sync;

/// A server that misbehaves as planned.
pub struct Proxy {
    /// Where it listens.
    pub address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Proxy {
    /// Stands before `server`; `plan` answers what is done with each request, by how many were before, and its head.
    pub fn before(
        server: SocketAddr,
        plan: impl Fn(usize, &str) -> Fault + Send + Sync + 'static,
    ) -> Self {
        Self::start(Some(server), Arc::new(plan))
    }

    /// Stands alone.
    pub fn alone(plan: impl Fn(usize, &str) -> Fault + Send + Sync + 'static) -> Self {
        Self::start(None, Arc::new(plan))
    }

    fn start(server: Option<SocketAddr>, plan: Arc<Plan>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::<Mutex<Vec<Asked>>>::default();
        let seen = Arc::clone(&asked);
        std::thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                let (plan, seen) = (Arc::clone(&plan), Arc::clone(&seen));
                // A client that goes away is none of our business.
                std::thread::spawn(move || serve(connection, server, &*plan, &seen));
            }
        });
        Self { address, asked }
    }

    /// What was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

/// Answers one request, and ends the connection.
fn serve(
    client: TcpStream,
    server: Option<SocketAddr>,
    plan: &Plan,
    seen: &Mutex<Vec<Asked>>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(client.try_clone()?);
    let head = head_of(&mut reader)?;
    if head.is_empty() {
        return Ok(());
    }
    let mut body = vec![0; length_of(&head)];
    reader.read_exact(&mut body)?;
    let at = {
        let mut seen = seen.lock().unwrap();
        seen.push(Asked { head: head.clone(), sent: 0 });
        seen.len() - 1
    };
    let fault = plan(at, &head);
    let (answer_head, answer) = match (&fault, server) {
        (
            Fault::None | Fault::Half | Fault::HalfAsWhole | Fault::Lost | Fault::Stalls,
            Some(server),
        ) => forwarded(server, &head, &body)?,
        _ => (
            "HTTP/1.1 200 OK\r\nETag: \"e\"\r\nContent-Length: 10\r\n\r\n".to_owned(),
            vec![b'x'; 10],
        ),
    };
    let sent = reply(&client, &fault, &answer_head, &answer);
    seen.lock().unwrap()[at].sent = sent?;
    Ok(())
}

/// Sends what the fault leaves of an answer; tells how much of its body.
fn reply(mut client: &TcpStream, fault: &Fault, head: &str, body: &[u8]) -> std::io::Result<usize> {
    let half = &body[..body.len() / 2];
    match fault {
        Fault::None => {
            client.write_all(head.as_bytes())?;
            client.write_all(body)?;
            return Ok(body.len());
        }
        Fault::Status(status, body) => {
            let length = body.len();
            write!(
                client,
                "HTTP/1.1 {status} Said\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            )?;
        }
        Fault::Half => {
            client.write_all(head.as_bytes())?;
            client.write_all(half)?;
            return Ok(half.len());
        }
        Fault::HalfAsWhole => {
            let lines = head.split_inclusive("\r\n").map(|line| {
                let is_length = line.to_ascii_lowercase().starts_with("content-length:");
                if is_length {
                    format!("Content-Length: {}\r\n", half.len())
                } else {
                    line.to_owned()
                }
            });
            client.write_all(lines.collect::<String>().as_bytes())?;
            client.write_all(half)?;
            return Ok(half.len());
        }
        Fault::Sends(bytes, None) => {
            let length = bytes.len();
            write!(
                client,
                "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
            )?;
            client.write_all(bytes)?;
            return Ok(length);
        }
        Fault::Sends(bytes, Some((from, to))) => {
            let part = &bytes[*from..bytes.len().min(to + 1)];
            let (length, last, whole) = (part.len(), from + part.len() - 1, bytes.len());
            write!(
                client,
                "HTTP/1.1 206 Part\r\nContent-Length: {length}\r\nContent-Range: bytes {from}-{last}/{whole}\r\nConnection: close\r\n\r\n"
            )?;
            client.write_all(part)?;
            return Ok(length);
        }
        Fault::Lost | Fault::Hangs => {}
        Fault::Stalls => {
            client.write_all(head.as_bytes())?;
            client.write_all(half)?;
            std::thread::sleep(Duration::from_secs(30));
        }
        Fault::Leads(to) => {
            write!(
                client,
                "HTTP/1.1 307 Elsewhere\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            )?;
        }
        Fault::Noise => client.write_all(b"\x00\xff no HTTP at all\r\n\r\n")?,
        Fault::Endless(status) => {
            write!(client, "HTTP/1.1 {status} Said\r\nConnection: close\r\n\r\n")?;
            while client.write_all(&[b'x'; 4096]).is_ok() {}
        }
    }
    Ok(0)
}

fn forwarded(server: SocketAddr, head: &str, body: &[u8]) -> std::io::Result<(String, Vec<u8>)> {
    let mut server = TcpStream::connect(server)?;
    let (first, rest) = head.split_once("\r\n").unwrap();
    write!(server, "{first}\r\nConnection: close\r\n{rest}")?;
    server.write_all(body)?;
    let mut reader = BufReader::new(server);
    let head = head_of(&mut reader)?;
    let mut body = Vec::new();
    reader.read_to_end(&mut body)?;
    Ok((head, body))
}

/// The first line and the headers, with the empty line behind them.
fn head_of(reader: &mut impl BufRead) -> std::io::Result<String> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head)? > 0 {}
    Ok(head)
}

fn length_of(head: &str) -> usize {
    let lower = head.to_ascii_lowercase();
    let value = lower
        .lines()
        .find_map(|line| line.strip_prefix("content-length:").map(str::trim).map(str::to_owned));
    value.map_or(0, |value| value.parse().unwrap())
}
