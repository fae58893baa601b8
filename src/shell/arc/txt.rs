//! TXT records of a name, over UDP; over TCP where the answer was cut.

use std::hash::{BuildHasher, RandomState};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::time::{Duration, Instant};
use yardmaster_wire::import::arc::{TxtAnswer, txt_answer, txt_query};

/// Port of name servers.
const PORT: u16 = 53;
/// Where the system names its own.
const SYSTEM: &str = "/etc/resolv.conf";
/// How long a server may take before the next is asked.
const TIMEOUT: Duration = Duration::from_secs(2);
/// How often each is asked: datagrams get lost.
const TRIES: usize = 2;

/// Name servers, asked in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameServers(Vec<SocketAddr>);

impl NameServers {
    /// The one of an address: `HOST:PORT`, or `HOST` with port 53.
    ///
    /// # Errors
    /// Text that is no address, or a host without one.
    pub fn parse(text: &str) -> Result<NameServers, String> {
        let wrong = || format!("--dns {text}: wants HOST:PORT of a name server");
        if let Ok(host) = text.parse::<IpAddr>() {
            return Ok(NameServers(vec![SocketAddr::new(host, PORT)]));
        }
        let found = match text.contains(':') {
            true => text.to_socket_addrs(),
            false => (text, PORT).to_socket_addrs(),
        };
        let servers: Vec<SocketAddr> = found.map_err(|_| wrong())?.collect();
        if servers.is_empty() { Err(wrong()) } else { Ok(NameServers(servers)) }
    }

    /// Those that the system asks.
    ///
    /// # Errors
    /// The system names none.
    pub fn of_system() -> Result<NameServers, String> {
        let remedy = "name one with --dns HOST:PORT";
        let text =
            std::fs::read_to_string(SYSTEM).map_err(|why| format!("{SYSTEM}: {why}; {remedy}"))?;
        let servers = listed(&text);
        match servers.is_empty() {
            true => Err(format!("{SYSTEM} lists no name server; {remedy}")),
            false => Ok(NameServers(servers)),
        }
    }

    /// The TXT records of a name.
    ///
    /// # Errors
    /// No server answers, or what it answers is none; the text states the last cause.
    pub fn txt(&self, name: &str) -> Result<TxtAnswer, String> {
        let mut why = String::new();
        for _ in 0..TRIES {
            for server in &self.0 {
                // A number that others cannot guess, so that they cannot answer.
                let number = RandomState::new().hash_one(name) as u16;
                let query = txt_query(number, name)?;
                match ask(*server, &query) {
                    Ok(answer) => return Ok(answer),
                    Err(cause) => why = format!("name server {server}: {cause}"),
                }
            }
        }
        Err(why)
    }
}

/// The servers that a `resolv.conf` lists.
fn listed(text: &str) -> Vec<SocketAddr> {
    let words = text.lines().map(|line| line.split_whitespace());
    let named =
        words.filter_map(|mut words| (words.next()? == "nameserver").then(|| words.next())?);
    // An address of one interface alone is behind a percent sign.
    let hosts = named.filter_map(|host| host.split('%').next()?.parse::<IpAddr>().ok());
    hosts.map(|host| SocketAddr::new(host, PORT)).collect()
}

fn ask(server: SocketAddr, query: &[u8]) -> Result<TxtAnswer, String> {
    let answer = over_udp(server, query).map_err(|why| why.to_string())?;
    let read = txt_answer(query, &answer)?;
    if !read.is_cut {
        return Ok(read);
    }
    let answer = over_tcp(server, query).map_err(|why| format!("over TCP: {why}"))?;
    txt_answer(query, &answer)
}

fn over_udp(server: SocketAddr, query: &[u8]) -> std::io::Result<Vec<u8>> {
    let any: IpAddr = match server {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(server)?;
    socket.send(query)?;
    let until = Instant::now() + TIMEOUT;
    let mut answer = vec![0; usize::from(u16::MAX)];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        socket.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        let length = socket.recv(&mut answer)?;
        // One of another number is late, or forged.
        if length > 2 && answer[..2] == query[..2] {
            answer.truncate(length);
            return Ok(answer);
        }
    }
}

fn over_tcp(server: SocketAddr, query: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&server, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    stream.write_all(&[&(query.len() as u16).to_be_bytes(), query].concat())?;
    let mut length = [0; 2];
    stream.read_exact(&mut length)?;
    let mut answer = vec![0; usize::from(u16::from_be_bytes(length))];
    stream.read_exact(&mut answer)?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_servers_are_those_of_the_system_or_one_that_is_named() {
        let text =
            "# made by\nsearch x\nnameserver 10.0.0.1\nnameserver  fe80::1%eth0 # c\nnameserver x";
        let shown: Vec<String> = listed(text).iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["10.0.0.1:53", "[fe80::1]:53"]);
        for (text, shown) in [
            ("127.0.0.1:5353", "127.0.0.1:5353"),
            ("127.0.0.1", "127.0.0.1:53"),
            ("::1", "[::1]:53"),
            ("[::1]:54", "[::1]:54"),
        ] {
            assert_eq!(NameServers::parse(text).unwrap().0[0].to_string(), shown);
        }
        assert!(NameServers::parse("127.0.0.1:many").unwrap_err().contains("HOST:PORT"));
    }
}
