//! A host on HTTPS that answers as it is told to, byte by byte.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use agentwire_core::card::{Card, SecretKey, Signer};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

pub(crate) const CARD_PATH: &str = "/.well-known/agent-card.json";
pub(crate) const KEYS_PATH: &str = "/keys.json";
pub(crate) const LINK: &str = "https://smp.example/a#MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY";

type Pages = BTreeMap<String, Vec<u8>>;

/// A host.
pub(crate) struct Host {
    pub(crate) url: String,
    /// The file with its certificate.
    pub(crate) ca_file: PathBuf,
    pages: Arc<Mutex<Pages>>,
    asked: Arc<Mutex<Vec<String>>>,
    _tasks: JoinSet<()>,
}

impl Host {
    /// On HTTPS, by this name of this machine.
    pub(crate) async fn start(name: &str) -> Self {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed([name.to_owned()]).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![cert.der().clone()],
                PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap(),
            )
            .unwrap();
        let host = Self::serve(name, Some(TlsAcceptor::from(Arc::new(config)))).await;
        std::fs::write(&host.ca_file, cert.pem()).unwrap();
        host
    }

    /// On plain HTTP.
    pub(crate) async fn plain() -> Self {
        Self::serve("localhost", None).await
    }

    async fn serve(name: &str, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let pages: Arc<Mutex<Pages>> = Arc::default();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let (served, seen) = (Arc::clone(&pages), Arc::clone(&asked));
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (socket, _) = listener.accept().await.unwrap();
                let (served, seen, tls) = (Arc::clone(&served), Arc::clone(&seen), tls.clone());
                connections.spawn(async move {
                    match tls {
                        None => answer(socket, &served, &seen).await,
                        Some(tls) => {
                            if let Ok(socket) = tls.accept(socket).await {
                                answer(socket, &served, &seen).await;
                            }
                        }
                    }
                });
            }
        });
        let ca_file =
            PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("card-web-{port}.pem"));
        Self { url: format!("{scheme}://{name}:{port}"), ca_file, pages, asked, _tasks: tasks }
    }

    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// From now on this is at a path, byte by byte.
    pub(crate) fn raw(&self, path: &str, answer: impl Into<Vec<u8>>) {
        self.pages.lock().unwrap().insert(path.to_owned(), answer.into());
    }

    /// From now on this is at a path, with these headers.
    pub(crate) fn page(&self, path: &str, headers: &str, body: &str) {
        let len = body.len();
        self.raw(
            path,
            format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{headers}Content-Length: {len}\r\n\r\n{body}"
            ),
        );
    }

    /// The card with signatures by these keys, whose set is at this URL.
    pub(crate) fn sign(&self, jku: &str, keys: &[(&SecretKey, &str)]) -> String {
        let text = format!(
            r#"{{"name":"Shop","description":"Sells anvils","version":"1","supportedInterfaces":[{{"url":"{LINK}","protocolBinding":"https://simplex.chat/protocol/a2a/v1","protocolVersion":"1.0"}}],"capabilities":{{"streaming":true}},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[{{"id":"s","name":"n","description":"d","tags":["t"]}}]}}"#
        );
        let card = Card::parse(&text).unwrap();
        let sign = |(key, kid): &(&SecretKey, &str)| {
            Signer::new(key, kid).unwrap().jku(jku).unwrap().sign(&card).unwrap()
        };
        card.with_signatures(&keys.iter().map(sign).collect::<Vec<_>>(), false)
    }

    /// Publishes these keys, with these headers.
    pub(crate) fn publish(&self, headers: &str, keys: &[(&SecretKey, &str)]) {
        let keys: Vec<_> = keys.iter().map(|(key, kid)| key.public().to_jwk(Some(kid))).collect();
        self.page(KEYS_PATH, headers, &format!("{{\"keys\":[{}]}}", keys.join(",")));
    }

    /// The paths that were asked for so far.
    pub(crate) fn asked(&self) -> Vec<String> {
        core::mem::take(&mut *self.asked.lock().unwrap())
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.ca_file);
    }
}

async fn answer<S: AsyncRead + AsyncWrite + Unpin>(
    mut socket: S,
    pages: &Mutex<Pages>,
    asked: &Mutex<Vec<String>>,
) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match socket.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let head = String::from_utf8(head).unwrap();
    let path = head.split(' ').nth(1).unwrap().to_owned();
    let page = pages.lock().unwrap().get(&path).cloned();
    asked.lock().unwrap().push(path);
    let page =
        page.unwrap_or_else(|| b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_vec());
    let is_endless = page.ends_with(b"@ENDLESS");
    let page = page.strip_suffix(b"@ENDLESS").unwrap_or(&page);
    // The connection ends with the answer: nobody is to use it again.
    let line = page.windows(2).position(|pair| pair == b"\r\n").unwrap() + 2;
    let page = [&page[..line], b"Connection: close\r\n", &page[line..]].concat();
    let mut written = socket.write_all(&page).await;
    while is_endless && written.is_ok() {
        written = socket.write_all(&[b' '; 4096]).await;
    }
    let _ = socket.flush().await;
    if page.ends_with(b"@SILENT") {
        core::future::pending::<()>().await;
    }
    let _ = socket.shutdown().await;
}
