//! A link and a server made by hand.

use core::time::Duration;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Instant;

use tungstenite::accept;

use super::{Core, Link, LinkError, MAX_FRAME};

const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

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

/// The next frame that the link has written: its opcode and its text.
fn written(socket: &mut TcpStream) -> (u8, Vec<u8>) {
    let mut exact = |len| {
        let mut bytes = vec![0; len];
        socket.read_exact(&mut bytes).expect("a frame");
        bytes
    };
    let head = exact(2);
    let len = match head[1] & 0x7f {
        126 => exact(2).iter().fold(0, |len, byte| len << 8 | usize::from(*byte)),
        127 => exact(8).iter().fold(0, |len, byte| len << 8 | usize::from(*byte)),
        len => usize::from(len),
    };
    let mask = exact(4);
    let mut payload = exact(len);
    payload.iter_mut().zip(mask.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
    (head[0] & 0x0f, payload)
}

fn listen() -> (TcpListener, Core) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let url = format!("ws://{}", listener.local_addr().expect("it has one"));
    (listener, Core::new(url))
}

/// A link to a server that does this after the opening.
fn with<R: Send>(
    configure: impl FnOnce(Core) -> Core,
    serve: impl FnOnce(TcpStream) + Send,
    test: impl FnOnce(Link) -> R,
) -> R {
    let (listener, core) = listen();
    let core = configure(core);
    thread::scope(|scope| {
        scope.spawn(move || {
            let (socket, _) = listener.accept().expect("a client");
            serve(accept(socket).expect("the opening").get_ref().try_clone().expect("a socket"));
        });
        test(Link::connect(&core).expect("a link"))
    })
}

fn same(core: Core) -> Core {
    core
}

#[test]
fn text_goes_both_ways() {
    let long = "two ".repeat(500_000);
    let echo = |mut socket: TcpStream| {
        for _ in 0..2 {
            let (opcode, text) = written(&mut socket);
            socket.write_all(&frame(opcode, &text)).expect("it is heard");
        }
    };
    with(same, echo, |mut link| {
        link.push(String::from("one"));
        link.push(long.clone());
        assert_eq!(link.waiting(), 2);
        assert_eq!(link.receive().expect("a text").as_str(), "one");
        assert_eq!(link.receive().expect("a text").as_str(), long);
        assert_eq!(link.waiting(), 0);
    });
}

#[test]
fn a_frame_may_come_byte_by_byte() {
    let text = "grüße".repeat(40);
    let bytes = frame(TEXT, text.as_bytes());
    let dribble = |mut socket: TcpStream| {
        socket.set_nodelay(true).expect("it can be set");
        for byte in bytes {
            socket.write_all(&[byte]).expect("it is heard");
            thread::yield_now();
        }
    };
    with(same, dribble, |mut link| {
        // One that does not wait gives up often, and loses nothing.
        let received = loop {
            if let Some(received) = link.try_receive().expect("no fault") {
                break received;
            }
        };
        assert_eq!(received.as_str(), text);
    });
}

#[test]
fn a_socket_may_be_cut_anywhere_in_a_frame() {
    let whole = frame(TEXT, &[b'x'; 300]);
    for cut in 0..=whole.len() {
        let send = |mut socket: TcpStream| {
            socket.write_all(&whole[..cut]).expect("it is heard");
            socket.shutdown(std::net::Shutdown::Both).expect("it is open");
        };
        with(same, send, |mut link| {
            let mut received = link.receive();
            if cut == whole.len() {
                assert_eq!(received.expect("a text").len(), 300);
                received = link.receive();
            }
            assert_eq!(received, Err(LinkError::Closed(None)), "after {cut} bytes");
        });
    }
}

#[test]
fn a_frame_may_be_as_large_as_was_said_and_no_larger() {
    let limit = 70_000;
    for len in [limit - 1, limit, limit + 1] {
        let send = |mut socket: TcpStream| {
            // It breaks off where the frame is refused.
            let _ = socket.write_all(&frame(TEXT, &vec![b'x'; len]));
        };
        let received = with(|core| core.max_frame(limit), send, |mut link| link.receive());
        let refused = Err(LinkError::TooLarge { len, limit });
        assert_eq!(received.map(|text| text.len()), if len <= limit { Ok(len) } else { refused });
    }
}

#[test]
fn what_is_no_text_breaks_the_link() {
    let mut huge = vec![0x80 | TEXT, 127];
    huge.extend(100_000_000_u64.to_be_bytes());
    let too_large = LinkError::TooLarge { len: 100_000_000, limit: MAX_FRAME };
    for (bytes, expected) in [
        (huge, Some(too_large)),
        (frame(BINARY, &[0; 5]), Some(LinkError::Binary { len: 5 })),
        (frame(TEXT, &[0xff, 0xfe]), Some(LinkError::NotUtf8)),
        (frame(CLOSE, &1001_u16.to_be_bytes()), Some(LinkError::Closed(Some(1001)))),
        (frame(3, b"reserved"), None),
        (b"HTTP/1.1 200 OK\r\n\r\n".repeat(9), None),
    ] {
        let send = |mut socket: TcpStream| {
            socket.write_all(&bytes).expect("it is heard");
            // Until the other side has gone.
            let _ = socket.read_to_end(&mut Vec::new());
        };
        let error = with(same, send, |mut link| link.receive()).expect_err("no text");
        match expected {
            Some(expected) => assert_eq!(error, expected),
            None => assert!(matches!(error, LinkError::Protocol(_)), "{error}"),
        }
    }
}

#[test]
fn a_ping_is_answered_and_an_end_is_said() {
    let serve = |mut socket: TcpStream| {
        socket.write_all(&frame(PING, b"?")).expect("it is heard");
        socket.write_all(&frame(TEXT, b"x")).expect("it is heard");
        assert_eq!(written(&mut socket), (PONG, b"?".to_vec()));
        assert_eq!(written(&mut socket), (TEXT, b"last words".to_vec()));
        assert_eq!(written(&mut socket).0, CLOSE);
    };
    with(same, serve, |mut link| {
        assert_eq!(link.receive().expect("a text").as_str(), "x");
        link.push(String::from("last words"));
        link.close();
    });
}

#[test]
fn a_silent_link_is_asked_and_then_given_up() {
    let (ping, silent) = (Duration::from_millis(30), Duration::from_millis(300));
    let serve = |mut socket: TcpStream| {
        for _ in 0..3 {
            assert_eq!(written(&mut socket).0, PING);
            socket.write_all(&frame(PONG, b"")).expect("it is heard");
        }
        socket.write_all(&frame(TEXT, b"alive")).expect("it is heard");
        // Until the other side has gone.
        let _ = socket.read_to_end(&mut Vec::new());
    };
    with(
        |core| core.keep_alive(ping, silent),
        serve,
        |mut link| {
            assert_eq!(link.receive().expect("a text").as_str(), "alive");
            let begin = Instant::now();
            assert_eq!(link.receive(), Err(LinkError::Silent(silent)));
            assert!(begin.elapsed() >= silent);
        },
    );
}

#[test]
fn an_opening_that_never_ends_is_given_up() {
    let (listener, core) = listen();
    let limit = Duration::from_millis(60);
    thread::scope(|scope| {
        let (half, ended) = std::sync::mpsc::channel::<()>();
        scope.spawn(move || {
            let (mut socket, _) = listener.accept().expect("a client");
            socket.write_all(b"HTTP/1.1 101 Switching").expect("it is heard");
            let _ = ended.recv();
        });
        let error = Link::connect(&core.connect_timeout(limit)).expect_err("no link");
        assert_eq!(error, LinkError::TimedOut(limit));
        drop(half);
    });
}

#[test]
fn what_speaks_no_websocket_is_named() {
    for (answer, expected) in [
        (&b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"[..], Some(LinkError::Status(404))),
        (b"220 mail ESMTP\r\n", None),
    ] {
        let (listener, core) = listen();
        thread::scope(|scope| {
            scope.spawn(move || {
                let (mut socket, _) = listener.accept().expect("a client");
                let _ = socket.read(&mut [0; 1_024]).expect("a request");
                socket.write_all(answer).expect("it is heard");
            });
            let error = Link::connect(&core).expect_err("no link");
            match expected {
                Some(expected) => assert_eq!(error, expected),
                None => assert!(matches!(error, LinkError::Protocol(_)), "{error:?}"),
            }
        });
    }
    let (listener, core) = listen();
    drop(listener);
    let error = Link::connect(&core).expect_err("nobody listens");
    assert_eq!(error, LinkError::Io(ErrorKind::ConnectionRefused));
}

#[cfg(feature = "tls")]
#[test]
fn a_certificate_of_ones_own_is_trusted_where_it_was_named() {
    use std::sync::Arc;

    use rcgen::{CertifiedKey, generate_simple_self_signed};
    use rustls::crypto::ring;
    use rustls::pki_types::PrivateKeyDer;
    use rustls::{ServerConfig, ServerConnection, StreamOwned};

    for (name, is_trusted) in [("127.0.0.1", true), ("other.example", false)] {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed([name.to_owned()]).expect("a certificate");
        let file = std::env::temp_dir()
            .join(format!("agentwire-blocking-{}-{is_trusted}.pem", std::process::id()));
        std::fs::write(&file, cert.pem()).expect("it can be written");
        let key = PrivateKeyDer::try_from(signing_key.serialize_der()).expect("a key");
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)
            .expect("a configuration");
        let (listener, core) = listen();
        let core = Core::new(core.url().replace("ws:", "wss:")).ca_file(&file);
        thread::scope(|scope| {
            scope.spawn(move || {
                let (socket, _) = listener.accept().expect("a client");
                let tls = ServerConnection::new(Arc::new(config)).expect("a connection");
                // A client that trusts us not ends it here.
                let Ok(mut opened) = accept(StreamOwned::new(tls, socket)) else { return };
                opened.send(tungstenite::Message::text("hello")).expect("it is heard");
            });
            match Link::connect(&core) {
                Ok(mut link) => {
                    assert!(is_trusted);
                    assert_eq!(link.receive().expect("a text").as_str(), "hello");
                }
                Err(error) => {
                    assert!(!is_trusted && matches!(error, LinkError::Tls(_)), "{error:?}")
                }
            }
        });
        std::fs::remove_file(file).expect("it is there");
    }
}
