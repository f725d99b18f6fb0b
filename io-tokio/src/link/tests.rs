//! A link and a server made by hand.

use core::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_tungstenite::accept_async;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, frame::coding::CloseCode};

use super::*;

/// More than anything here takes.
const LONG: Duration = Duration::from_secs(20);

async fn listen() -> (TcpListener, Core) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("ws://{}", listener.local_addr().unwrap());
    (listener, Core::new(url))
}

/// A link, and the socket of its other side after the opening.
async fn open(configure: impl FnOnce(Core) -> Core) -> (Link, TcpStream) {
    let (listener, core) = listen().await;
    let core = configure(core);
    let accepted = async {
        let (socket, _) = listener.accept().await.unwrap();
        accept_async(socket).await.unwrap().into_inner()
    };
    let (link, socket) = tokio::join!(Link::connect(&core), accepted);
    (link.unwrap(), socket)
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    timeout(LONG, future).await.expect("it comes in time")
}

/// A frame as a server sends it: no mask.
fn frame(opcode: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x80 | opcode];
    match u16::try_from(payload.len()) {
        Ok(len) if len < 126 => bytes.push(payload.len() as u8),
        Ok(len) => {
            bytes.push(126);
            bytes.extend(len.to_be_bytes());
        }
        Err(_) => {
            bytes.push(127);
            bytes.extend((payload.len() as u64).to_be_bytes());
        }
    }
    bytes.extend(payload);
    bytes
}

const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// The next frame that the link has written: its opcode and its text.
async fn written(socket: &mut TcpStream) -> (u8, Vec<u8>) {
    let mut head = [0; 2];
    socket.read_exact(&mut head).await.unwrap();
    let len = match head[1] & 0x7f {
        126 => usize::from(socket.read_u16().await.unwrap()),
        127 => usize::try_from(socket.read_u64().await.unwrap()).unwrap(),
        len => usize::from(len),
    };
    assert_eq!(head[1] & 0x80, 0x80, "a client masks");
    let mut mask = [0; 4];
    socket.read_exact(&mut mask).await.unwrap();
    let mut payload = vec![0; len];
    socket.read_exact(&mut payload).await.unwrap();
    payload.iter_mut().zip(mask.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
    (head[0] & 0x0f, payload)
}

#[tokio::test]
async fn text_goes_both_ways() {
    let (mut link, mut socket) = open(|core| core).await;
    link.push(String::from("one"));
    link.push("two ".repeat(20_000));
    assert_eq!(link.waiting(), 2);
    socket.write_all(&frame(TEXT, b"three")).await.unwrap();
    assert_eq!(within(link.receive()).await.unwrap().as_str(), "three");
    let (first, second) = within(async {
        let mut writing = core::pin::pin!(poll_fn(|cx| link.poll_write(cx)));
        let reading = async { (written(&mut socket).await, written(&mut socket).await) };
        let (sent, read) = tokio::join!(writing.as_mut(), reading);
        sent.unwrap();
        read
    })
    .await;
    assert_eq!(first, (TEXT, b"one".to_vec()));
    assert_eq!(second, (TEXT, "two ".repeat(20_000).into_bytes()));
    assert_eq!(link.waiting(), 0);
}

#[tokio::test]
async fn a_frame_may_come_byte_by_byte() {
    let (mut link, mut socket) = open(|core| core).await;
    let sender = tokio::spawn(async move {
        socket.set_nodelay(true).unwrap();
        for byte in frame(TEXT, "grüße".repeat(40).as_bytes()) {
            socket.write_all(&[byte]).await.unwrap();
            tokio::task::yield_now().await;
        }
        socket
    });
    assert_eq!(within(link.receive()).await.unwrap().as_str(), "grüße".repeat(40));
    drop(sender.await.unwrap());
}

#[tokio::test]
async fn a_receive_that_is_given_up_loses_nothing() {
    let (mut link, mut socket) = open(|core| core).await;
    link.push(String::from("mine"));
    let frame = frame(TEXT, b"in two parts");
    let (head, tail) = frame.split_at(7);
    socket.write_all(head).await.unwrap();
    let early = timeout(Duration::from_millis(30), link.receive()).await;
    assert!(early.is_err());
    socket.write_all(tail).await.unwrap();
    assert_eq!(within(link.receive()).await.unwrap().as_str(), "in two parts");
    assert_eq!(within(written(&mut socket)).await, (TEXT, b"mine".to_vec()));
}

#[tokio::test]
async fn a_socket_may_be_cut_anywhere_in_a_frame() {
    let whole = frame(TEXT, &[b'x'; 300]);
    for cut in 0..=whole.len() {
        let (mut link, mut socket) = open(|core| core).await;
        socket.write_all(&whole[..cut]).await.unwrap();
        drop(socket);
        let mut received = within(link.receive()).await;
        if cut == whole.len() {
            assert_eq!(received.unwrap().len(), 300);
            received = within(link.receive()).await;
        }
        assert_eq!(received, Err(LinkError::Closed(None)), "after {cut} bytes");
    }
}

#[tokio::test]
async fn a_frame_may_be_as_large_as_was_said_and_no_larger() {
    let limit = 70_000;
    for len in [limit - 1, limit, limit + 1] {
        let (mut link, mut socket) = open(|core| core.max_frame(limit)).await;
        let sender: JoinHandle<_> = tokio::spawn(async move {
            // It breaks off where the frame is refused.
            let _ = socket.write_all(&frame(TEXT, &vec![b'x'; len])).await;
            socket
        });
        let received = within(link.receive()).await.map(|text| text.len());
        let refused = Err(LinkError::TooLarge { len, limit });
        assert_eq!(received, if len <= limit { Ok(len) } else { refused });
        drop(link);
        drop(sender.await.unwrap());
    }
}

#[tokio::test]
async fn a_huge_frame_is_refused_when_it_is_announced() {
    let (mut link, mut socket) = open(|core| core).await;
    // A hundred million bytes, of which none ever comes.
    let mut head = vec![0x80 | TEXT, 127];
    head.extend(100_000_000_u64.to_be_bytes());
    socket.write_all(&head).await.unwrap();
    let error = within(link.receive()).await.unwrap_err();
    assert_eq!(error, LinkError::TooLarge { len: 100_000_000, limit: MAX_FRAME });
}

#[tokio::test]
async fn fragments_count_together() {
    let (mut link, mut socket) = open(|core| core.max_frame(1_000)).await;
    let mut part = frame(TEXT, &[b'x'; 600]);
    part[0] &= 0x7f;
    socket.write_all(&part).await.unwrap();
    socket.write_all(&frame(0, &[b'x'; 600])).await.unwrap();
    let error = within(link.receive()).await.unwrap_err();
    assert_eq!(error, LinkError::TooLarge { len: 1_200, limit: 1_000 });
}

#[tokio::test]
async fn what_is_no_text_breaks_the_link() {
    let masked = [0x80 | TEXT, 0x80 | 1, 1, 2, 3, 4, b'x'];
    for (bytes, expected) in [
        (frame(BINARY, &[0; 5]), Some(LinkError::Binary { len: 5 })),
        (frame(TEXT, &[0xff, 0xfe]), Some(LinkError::NotUtf8)),
        (frame(3, b"reserved"), None),
        (frame(0, b"goes on"), None),
        (b"HTTP/1.1 200 OK\r\n\r\n".repeat(9), None),
        (masked.to_vec(), None),
    ] {
        let (mut link, mut socket) = open(|core| core).await;
        socket.write_all(&bytes).await.unwrap();
        let error = within(link.receive()).await.unwrap_err();
        match expected {
            Some(expected) => assert_eq!(error, expected),
            None => assert!(matches!(error, LinkError::Protocol(_)), "{error}"),
        }
        assert!(!error.is_permanent());
    }
}

#[tokio::test]
async fn an_orderly_end_says_why() {
    let (mut link, mut socket) = open(|core| core).await;
    let reason = CloseFrame { code: CloseCode::Away, reason: "restart".into() };
    let mut payload = 1001_u16.to_be_bytes().to_vec();
    payload.extend(reason.reason.as_bytes());
    socket.write_all(&frame(CLOSE, &payload)).await.unwrap();
    assert_eq!(within(link.receive()).await, Err(LinkError::Closed(Some(1001))));

    let (mut link, mut socket) = open(|core| core).await;
    link.push(String::from("last words"));
    within(link.close()).await;
    assert_eq!(within(written(&mut socket)).await, (TEXT, b"last words".to_vec()));
    assert_eq!(within(written(&mut socket)).await.0, CLOSE);
}

#[tokio::test]
async fn a_ping_is_answered() {
    let (mut link, mut socket) = open(|core| core).await;
    socket.write_all(&frame(PING, b"?")).await.unwrap();
    socket.write_all(&frame(TEXT, b"x")).await.unwrap();
    let answered = async { tokio::join!(link.receive(), written(&mut socket)) };
    // The text may come first; the pong is out all the same.
    let (received, pong) = within(answered).await;
    assert_eq!((received.unwrap().as_str(), pong), ("x", (PONG, b"?".to_vec())));
}

#[tokio::test]
async fn a_silent_link_is_asked_and_then_given_up() {
    let (ping, silent) = (Duration::from_millis(40), Duration::from_millis(400));
    let (mut link, mut socket) = open(|core| core.keep_alive(ping, silent)).await;
    let asked = async { tokio::join!(link.receive(), written(&mut socket)) };
    let (received, asked) = within(asked).await;
    assert_eq!(asked.0, PING);
    assert_eq!(received, Err(LinkError::Silent(silent)));

    // One that answers is asked again and again.
    let (mut link, mut socket) = open(|core| core.keep_alive(ping, silent)).await;
    let other = async {
        for _ in 0..4 {
            assert_eq!(written(&mut socket).await.0, PING);
            socket.write_all(&frame(PONG, b"")).await.unwrap();
        }
        socket.write_all(&frame(TEXT, b"alive")).await.unwrap();
    };
    let (received, ()) = within(async { tokio::join!(link.receive(), other) }).await;
    assert_eq!(received.unwrap().as_str(), "alive");
}

#[tokio::test]
async fn who_sends_faster_than_it_is_heard_is_held_up() {
    let (link, mut socket) = open(|core| core).await;
    let chunk = frame(TEXT, &[b'x'; 60_000]);
    let mut sent = 0;
    // A socket's buffers take a few megabytes, a link that is not asked takes nothing.
    let flood = async {
        while sent < 4_000 {
            socket.write_all(&chunk).await.unwrap();
            sent += 1;
        }
    };
    assert!(timeout(Duration::from_millis(300), flood).await.is_err(), "240 MB were taken");
    drop(link);
}

#[tokio::test]
async fn an_opening_that_never_ends_is_given_up() {
    let (listener, core) = listen().await;
    let limit = Duration::from_millis(50);
    let core = core.connect_timeout(limit);
    let accepting = async {
        let (mut socket, _) = listener.accept().await.unwrap();
        socket.write_all(b"HTTP/1.1 101 Switching").await.unwrap();
        socket
    };
    let (link, _socket) = within(async { tokio::join!(Link::connect(&core), accepting) }).await;
    assert_eq!(link.unwrap_err(), LinkError::TimedOut(limit));
}

#[tokio::test]
async fn what_speaks_no_websocket_is_named() {
    type IsExpected = fn(&LinkError) -> bool;
    let answers: [(&[u8], IsExpected); 4] = [
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", |error| {
            *error == LinkError::Status(404)
        }),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", |error| {
            matches!(error, LinkError::Protocol(_))
        }),
        (b"220 mail ESMTP\r\n", |error| matches!(error, LinkError::Protocol(_))),
        (b"", |error| {
            matches!(error, LinkError::Closed(None) | LinkError::Protocol(_) | LinkError::Io(_))
        }),
    ];
    for (answer, is_expected) in answers {
        let (listener, core) = listen().await;
        let accepting = async {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut request = [0; 1_024];
            let _ = socket.read(&mut request).await.unwrap();
            socket.write_all(answer).await.unwrap();
        };
        let (link, ()) = within(async { tokio::join!(Link::connect(&core), accepting) }).await;
        let error = link.unwrap_err();
        assert!(is_expected(&error), "{error:?}");
    }
    // Nobody listens.
    let (listener, core) = listen().await;
    drop(listener);
    let error = within(Link::connect(&core)).await.unwrap_err();
    assert_eq!(error, LinkError::Io(std::io::ErrorKind::ConnectionRefused));
    let error = within(Link::connect(&Core::new("http://127.0.0.1"))).await.unwrap_err();
    assert_eq!(error, LinkError::Url);
}

#[cfg(feature = "tls")]
mod tls {
    use std::path::PathBuf;
    use std::sync::Arc;

    use rcgen::{CertifiedKey, generate_simple_self_signed};
    use tokio_rustls::TlsAcceptor;
    use tokio_rustls::rustls::ServerConfig;
    use tokio_rustls::rustls::crypto::ring;
    use tokio_rustls::rustls::pki_types::PrivateKeyDer;

    use super::*;

    /// Serves one connection that says hello; the file has its certificate.
    async fn serve(name: &str) -> (JoinHandle<()>, u16, PathBuf) {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed([name.to_owned()]).unwrap();
        let file = std::env::temp_dir().join(format!(
            "agentwire-link-{}-{}.pem",
            std::process::id(),
            name.replace(['.', ':'], "-")
        ));
        std::fs::write(&file, cert.pem()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![cert.der().clone()],
                PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap(),
            )
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = tokio::spawn(async move {
            let (socket, _) = listener.accept().await.unwrap();
            // A client that trusts us not ends it here.
            let Ok(socket) = acceptor.accept(socket).await else { return };
            let mut stream = accept_async(socket).await.unwrap();
            let mut hello = Pin::new(&mut stream);
            poll_fn(|cx| hello.as_mut().poll_ready(cx)).await.unwrap();
            hello.as_mut().start_send(Message::text("hello")).unwrap();
            poll_fn(|cx| hello.as_mut().poll_flush(cx)).await.unwrap();
        });
        (server, port, file)
    }

    #[tokio::test]
    async fn a_certificate_of_ones_own_is_trusted_where_it_was_named() {
        let (server, port, file) = serve("127.0.0.1").await;
        let core = Core::new(format!("wss://127.0.0.1:{port}")).ca_file(&file);
        let mut link = within(Link::connect(&core)).await.unwrap();
        assert_eq!(within(link.receive()).await.unwrap().as_str(), "hello");
        server.await.unwrap();
        std::fs::remove_file(file).unwrap();
    }

    #[tokio::test]
    async fn a_certificate_of_somebody_else_is_not() {
        let (server, port, file) = serve("other.example").await;
        let core = Core::new(format!("wss://127.0.0.1:{port}")).ca_file(&file);
        let error = within(Link::connect(&core)).await.unwrap_err();
        assert!(matches!(error, LinkError::Tls(_)), "{error:?}");
        server.await.unwrap();
        std::fs::remove_file(file).unwrap();
    }

    #[tokio::test]
    async fn a_file_without_certificates_is_named() {
        let core = Core::new("wss://127.0.0.1:1");
        let missing = core.clone().ca_file("/nowhere/ca.pem");
        let missing = Link::connect(&missing).await.unwrap_err();
        assert_eq!(missing, LinkError::CaFile(std::io::ErrorKind::NotFound));
        let file = std::env::temp_dir().join(format!("agentwire-link-{}.txt", std::process::id()));
        std::fs::write(&file, "no certificate").unwrap();
        let empty = Link::connect(&core.ca_file(&file)).await.unwrap_err();
        assert_eq!(empty, LinkError::CaFile(std::io::ErrorKind::UnexpectedEof));
        assert!(missing.is_permanent() && empty.is_permanent());
        std::fs::remove_file(file).unwrap();
    }
}
