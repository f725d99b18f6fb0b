//! Cards on the web: who vouches for them, and what is not fetched on their word.
#![allow(missing_docs, clippy::std_instead_of_alloc)]

mod host;
#[cfg(all(feature = "cli", unix))]
mod program;

use core::time::Duration;

use agentwire_core::card::{Refusal, SecretKey, VerifyError};
use agentwire_tokio::a2a::HttpError;
use agentwire_tokio::card::{CardClient, CardClientConfig, CardFetchError};

use host::{CARD_PATH, Host, KEYS_PATH, LINK};

fn key(seed: u8) -> SecretKey {
    SecretKey::from_bytes(&[seed; 32]).unwrap()
}

/// A client that reaches this machine.
fn client(host: &Host) -> CardClient {
    let mut config = CardClientConfig::default();
    config.allow_local = true;
    config.ca_file = host.ca_file.exists().then(|| host.ca_file.clone());
    CardClient::new(config).unwrap()
}

/// A host with a card that its key vouches for.
async fn shop() -> (Host, SecretKey) {
    let (host, key) = (Host::start("localhost").await, key(7));
    host.page(CARD_PATH, "", &host.sign(&host.at(KEYS_PATH), &[(&key, "k")]));
    host.publish("", &[(&key, "k")]);
    (host, key)
}

fn http(error: CardFetchError) -> HttpError {
    match error {
        CardFetchError::Http { error, .. } => error,
        other => panic!("{other}"),
    }
}

fn refusals(error: CardFetchError) -> Vec<Refusal> {
    match error {
        CardFetchError::Refused(VerifyError::Refused(refusals)) => refusals,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn from_a_cards_url_to_its_simplex_link() {
    let (host, _) = shop().await;
    let client = client(&host);
    let card = client.fetch(&host.at(CARD_PATH)).await.unwrap();
    let verified = client.verify(&card).await.unwrap();
    assert_eq!((verified.kid.as_str(), verified.index), ("k", 0));
    assert_eq!(card.card().unwrap().simplex_interfaces().next().unwrap().url, LINK);
    assert_eq!(host.asked(), [CARD_PATH, KEYS_PATH]);
    // The keys are known now.
    assert!(client.verify(&card).await.is_ok());
    assert_eq!(host.asked(), [""; 0]);
}

#[tokio::test]
async fn a_key_is_replaced_and_the_old_one_revoked() {
    let (host, old) = shop().await;
    let (client, new, jku) = (client(&host), key(8), host.at(KEYS_PATH));
    let before = client.fetch(&host.at(CARD_PATH)).await.unwrap();
    assert!(client.verify(&before).await.is_ok());
    // Both sign; whoever knows one of them accepts it.
    host.page(CARD_PATH, "", &host.sign(&jku, &[(&new, "n"), (&old, "k")]));
    let both = client.fetch(&host.at(CARD_PATH)).await.unwrap();
    assert_eq!(client.verify(&both).await.unwrap().kid, "k");
    // A key that is not known is asked for again.
    host.publish("Cache-Control: no-store\r\n", &[(&new, "n")]);
    host.page(CARD_PATH, "", &host.sign(&jku, &[(&new, "n")]));
    host.asked();
    let after = client.fetch(&host.at(CARD_PATH)).await.unwrap();
    assert_eq!(client.verify(&after).await.unwrap().kid, "n");
    assert_eq!(host.asked(), [CARD_PATH, KEYS_PATH]);
    // The old one is not in the set any more.
    assert_eq!(refusals(client.verify(&before).await.unwrap_err()), [Refusal::NoKey]);
    // What is not to be stored is fetched each time.
    assert!(client.verify(&after).await.is_ok());
    assert_eq!(host.asked(), [KEYS_PATH, KEYS_PATH]);
}

#[tokio::test]
async fn keys_are_taken_from_the_cards_own_origin_alone() {
    let (host, _) = shop().await;
    let evil = Host::start("localhost").await;
    let attacker = key(9);
    evil.publish("", &[(&attacker, "k")]);
    let client = client(&host);
    // Signed by somebody else, who names his own set: on another port, so on another origin.
    host.page(CARD_PATH, "", &host.sign(&evil.at(KEYS_PATH), &[(&attacker, "k")]));
    let card = client.fetch(&host.at(CARD_PATH)).await.unwrap();
    assert_eq!(refusals(client.verify(&card).await.unwrap_err()), [Refusal::KeyElsewhere]);
    for jku in ["https://127.0.0.1/keys.json", "https://169.254.169.254/latest/meta-data/"] {
        host.page(CARD_PATH, "", &host.sign(jku, &[(&attacker, "k")]));
        let card = client.fetch(&host.at(CARD_PATH)).await.unwrap();
        assert_eq!(refusals(client.verify(&card).await.unwrap_err()), [Refusal::KeyElsewhere]);
    }
    // And with the host's own set, in which his key is not.
    host.page(CARD_PATH, "", &host.sign(&host.at(KEYS_PATH), &[(&attacker, "k")]));
    let card = client.fetch(&host.at(CARD_PATH)).await.unwrap();
    assert_eq!(refusals(client.verify(&card).await.unwrap_err()), [Refusal::Invalid]);
    assert_eq!(evil.asked(), [""; 0]);
}

#[tokio::test]
async fn one_set_that_cannot_be_fetched_does_not_stand_in_the_way_of_another() {
    let (host, key) = shop().await;
    let client = client(&host);
    let signed = |jku: &str, kid| host.sign(&host.at(jku), &[(&key, kid)]);
    let signature = |text: &str| {
        let start = text.find("\"signatures\":[").unwrap() + 14;
        text[start..text.len() - 2].to_owned()
    };
    let (gone, good) = (signed("/gone.json", "k"), signed(KEYS_PATH, "k"));
    let both =
        good.replace(&signature(&good), &format!("{},{}", signature(&gone), signature(&good)));
    host.page(CARD_PATH, "", &both);
    let card = client.fetch(&host.at(CARD_PATH)).await.unwrap();
    assert_eq!(client.verify(&card).await.unwrap().index, 1);
    host.page(CARD_PATH, "", &gone);
    let card = client.fetch(&host.at(CARD_PATH)).await.unwrap();
    assert_eq!(http(client.verify(&card).await.unwrap_err()), HttpError::Status(404));
    // Each signature is refused for its own reason.
    let other = signed(KEYS_PATH, "other");
    host.publish("", &[]);
    let two =
        other.replace(&signature(&other), &format!("{},{}", signature(&good), signature(&other)));
    host.page(CARD_PATH, "", &two);
    let card = client.fetch(&host.at(CARD_PATH)).await.unwrap();
    let anew = self::client(&host);
    let refused = refusals(anew.verify(&card).await.unwrap_err());
    assert_eq!(refused, [Refusal::NoKey, Refusal::NoKey]);
}

#[tokio::test]
async fn what_is_not_there_as_it_should_be_is_refused() {
    let (host, _) = shop().await;
    let mut config = CardClientConfig::default();
    config.allow_local = true;
    config.ca_file = Some(host.ca_file.clone());
    config.timeout = Duration::from_millis(300);
    let client = CardClient::new(config).unwrap();
    let signed = client.fetch(&host.at(CARD_PATH)).await.unwrap();
    let ok = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
    let long = format!("{ok}\r\n{{\"x\":\"{}\"}}", "x".repeat(256 * 1024));
    for (page, error) in [
        // Nowhere else, not even to the same host.
        (
            format!("HTTP/1.1 302 Found\r\nLocation: {}\r\n\r\n", host.at("/other")),
            HttpError::Status(302),
        ),
        (
            String::from(
                "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://169.254.169.254/\r\n\r\n",
            ),
            HttpError::Status(307),
        ),
        (String::from("HTTP/1.1 500 Internal Server Error\r\n\r\n<html>"), HttpError::Status(500)),
        (String::from("HTTP/1.1 204 No Content\r\n\r\n"), HttpError::Status(204)),
        (long, HttpError::TooLarge { limit: 256 * 1024 }),
        (format!("{ok}\r\n@ENDLESS"), HttpError::TooLarge { limit: 256 * 1024 }),
        (format!("{ok}Content-Length: 999999\r\n\r\n{{@SILENT"), HttpError::TimedOut),
        (String::from("HTTP/1.1 200 OK\r\nX: @SILENT"), HttpError::TimedOut),
    ] {
        host.raw(CARD_PATH, page.clone());
        let got = http(client.fetch(&host.at(CARD_PATH)).await.unwrap_err());
        let shown = &page[..page.len().min(60)];
        assert_eq!(got, error, "{shown}");
        // The same goes for keys.
        host.raw(KEYS_PATH, page.clone());
        let got = http(client.verify(&signed).await.unwrap_err());
        let error = match error {
            HttpError::TooLarge { .. } => HttpError::TooLarge { limit: 64 * 1024 },
            error => error,
        };
        assert_eq!(got, error, "{shown}");
    }
    host.raw(CARD_PATH, b"HTTP/1.1 200 OK\r\n\r\n{\"\xff\"}".to_vec());
    assert_eq!(http(client.fetch(&host.at(CARD_PATH)).await.unwrap_err()), HttpError::NotUtf8);
    for page in ["<html>", "[]", "", "{\"signatures\":{}}"] {
        host.page(CARD_PATH, "", page);
        let error = client.fetch(&host.at(CARD_PATH)).await.unwrap_err();
        assert!(matches!(error, CardFetchError::Card(_)), "{page} {error}");
        host.page(KEYS_PATH, "", page);
        let error = client.verify(&signed).await.unwrap_err();
        assert!(matches!(error, CardFetchError::Keys { .. }), "{page} {error}");
    }
    assert!(!host.asked().contains(&String::from("/other")));
}

#[tokio::test]
async fn only_the_public_internet_is_reached_unless_more_is_allowed() {
    let (host, _) = shop().await;
    let mut config = CardClientConfig::default();
    config.ca_file = Some(host.ca_file.clone());
    let careful = CardClient::new(config).unwrap();
    let port = host.url.rsplit_once(':').unwrap().1;
    for url in [
        host.at(CARD_PATH),
        format!("https://127.0.0.1:{port}/"),
        format!("https://[::1]:{port}/"),
        format!("https://[::ffff:127.0.0.1]:{port}/"),
        format!("https://127.1:{port}/"),
        format!("https://0.0.0.0:{port}/"),
        String::from("https://169.254.169.254/latest/meta-data/"),
        String::from("https://10.0.0.1/"),
    ] {
        let error = http(careful.fetch(&url).await.unwrap_err());
        assert!(matches!(error, HttpError::NotPublic | HttpError::Connection(_)), "{url} {error}");
    }
    assert_eq!(http(careful.fetch(&host.at(CARD_PATH)).await.unwrap_err()), HttpError::NotPublic);
    // A card that came another way does not open the way to its keys.
    let card = client(&host).fetch(&host.at(CARD_PATH)).await.unwrap();
    assert_eq!(host.asked(), [CARD_PATH]);
    assert_eq!(http(careful.verify(&card).await.unwrap_err()), HttpError::NotPublic);
    for url in ["http://agent.example/", "http://127.0.0.1/"] {
        assert_eq!(http(careful.fetch(url).await.unwrap_err()), HttpError::PlainHttp, "{url}");
    }
    for url in ["ftp://agent.example/", "https://user@agent.example/", "agent.example", ""] {
        assert_eq!(http(careful.fetch(url).await.unwrap_err()), HttpError::Url, "{url}");
    }
    assert_eq!(host.asked(), [""; 0]);
}

#[tokio::test]
async fn plain_http_says_nothing_about_whose_a_card_is() {
    let host = Host::plain().await;
    let key = key(7);
    host.page(CARD_PATH, "", &host.sign("https://localhost/keys.json", &[(&key, "k")]));
    let client = client(&host);
    let card = client.fetch(&host.at(CARD_PATH)).await.unwrap();
    let error = client.verify(&card).await.unwrap_err();
    assert!(matches!(error, CardFetchError::Origin(_)), "{error}");
    assert_eq!(
        http(client.fetch("http://agent.example/").await.unwrap_err()),
        HttpError::PlainHttp
    );
}
