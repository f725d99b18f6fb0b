//! The Service RPC rules of the module's table, each by its name.

use alloc::{format, string::String, vec::Vec};
use core::time::Duration;

use super::*;
use crate::json::ErrorKind;
use crate::rpc::{CoreFailure, PADDED_LEN, SignerKeyError};

const NOW: Instant = Instant::from_millis(1_000);
const KEY: &str = "MCowBQYDK2VwAyEAwD9ONWX9Uyd_GYW1dOqBHxooGRhLBdAXaH-xvt2bl-Q=";

/// A requester, and a responder whose address takes requests.
struct Pair {
    net: Loopback,
    ann: ProfileId,
    bot: ProfileId,
    address: ServiceAddress,
}

impl Pair {
    fn new() -> Self {
        let mut net = Loopback::new(3);
        let (ann, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
        let address = net.create_address(bot, true).unwrap();
        net.enable_service_requests(bot, true).unwrap();
        Self { net, ann, bot, address }
    }

    fn request_with(
        &mut self,
        options: ServiceRequestOptions<'_>,
        json: &str,
    ) -> Result<ServiceSent<ServiceHandle>, ServiceRequestError> {
        self.net.service_request(NOW, self.ann, self.address, options, json)
    }

    fn request(&mut self, json: &str) -> ServiceSent<ServiceHandle> {
        self.request_with(ServiceRequestOptions::new(), json).unwrap()
    }

    /// The one request that bot has received.
    fn received(&mut self) -> ReceivedServiceRequest {
        let Some(Event::ServiceRequest(request)) = self.net.poll_event(self.bot) else { panic!() };
        assert_eq!(self.net.poll_event(self.bot), None);
        request
    }

    fn respond(
        &mut self,
        after: Duration,
        id: &str,
        json: &str,
    ) -> Result<ServiceSent<ConnectionId>, ServiceResponseError> {
        self.net.service_response(NOW.saturating_add(after), self.bot, id, json)
    }

    fn events(&mut self, profile: ProfileId) -> Vec<Event> {
        core::iter::from_fn(|| self.net.poll_event(profile)).collect()
    }
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn failed(handle: ServiceHandle) -> Event {
    Event::ServiceFailed { handle, failure: CoreFailure::Timeout }
}

/// An object of so many bytes.
fn object(len: usize) -> String {
    format!("{{\"a\":\"{}\"}}", "x".repeat(len - 8))
}

#[test]
fn the_responders_core_must_run_with_service_requests_enabled() {
    let mut pair = Pair::new();
    pair.net.enable_service_requests(pair.bot, false).unwrap();
    let sent = pair.request("{}");
    assert_eq!(pair.events(pair.bot), []);
    assert_eq!(pair.net.in_flight(), 0);
    assert_eq!(pair.net.service_requests_waiting(pair.ann), 1);
    let due = pair.net.poll_timeout().unwrap();
    assert_eq!(due, NOW.saturating_add(seconds(30)));
    pair.net.handle_timeout(Instant::from_millis(due.as_millis() - 1));
    assert_eq!(pair.events(pair.ann), []);
    pair.net.handle_timeout(due);
    assert_eq!(pair.events(pair.ann), [failed(sent.handle)]);
    assert_eq!(pair.net.poll_timeout(), None);
    // Off is how a profile begins.
    let fresh = pair.net.add_profile("fresh").unwrap();
    let address = pair.net.create_address(fresh, true).unwrap();
    let options = ServiceRequestOptions::new();
    pair.net.service_request(due, pair.ann, address, options, "{}").unwrap();
    assert_eq!(pair.events(fresh), []);
}

#[test]
fn the_contact_address_must_have_ratchet_keys() {
    let mut pair = Pair::new();
    let plain = pair.net.create_address(pair.ann, false).unwrap();
    pair.net.enable_service_requests(pair.ann, true).unwrap();
    let options = ServiceRequestOptions::new();
    let refused = pair.net.service_request(NOW, pair.bot, plain, options, "{}");
    assert_eq!(refused, Err(ServiceRequestError::NoRatchetKeys));
    assert_eq!(pair.net.service_requests_waiting(pair.bot), 0);
    assert_eq!(
        pair.net.create_address(pair.ann, true),
        Err(SetupError::DuplicateAddress { profile: pair.ann })
    );
    pair.net.add_ratchet_keys(plain).unwrap();
    pair.net.service_request(NOW, pair.bot, plain, options, "{}").unwrap();
    assert_eq!(pair.events(pair.ann).len(), 1);
}

#[test]
fn a_request_is_written_anew() {
    let mut pair = Pair::new();
    let json = r#" { "b" : 1e2, "a" : "\u00e9\/", "b" : 2, "c": 1e1025 } "#;
    let sent = pair.request(json);
    // What goes out is what is measured; the core at the other end writes it once more.
    assert_eq!(sent.json_len, r#"{"a":"é/","b":100,"c":1.0e1025}"#.len());
    let zeros = "0".repeat(1_025);
    assert_eq!(pair.received().data, format!("{{\"a\":\"é/\",\"b\":100,\"c\":1{zeros}}}"));
}

#[test]
fn a_response_is_written_anew() {
    let mut pair = Pair::new();
    let sent = pair.request("{}");
    let id = pair.received().request_id;
    pair.respond(Duration::ZERO, &id, r#"{"response": {"z": 1.50, "y": null}}"#).unwrap();
    let [Event::ServiceResponse(response)] = &pair.events(pair.ann)[..] else { panic!() };
    assert_eq!(response.handle, sent.handle);
    assert_eq!(response.data, r#"{"response":{"y":null,"z":1.5}}"#);
    // Nothing is left of the wait.
    assert_eq!((pair.net.poll_timeout(), pair.net.in_flight()), (None, 0));
}

#[test]
fn only_json_objects_are_sent() {
    let mut pair = Pair::new();
    for (json, kind, offset) in [
        ("[1]", ErrorKind::NotAnObject, 0),
        ("null", ErrorKind::NotAnObject, 0),
        ("{\"a\":}", ErrorKind::UnexpectedByte(b'}'), 5),
    ] {
        let refused = pair.request_with(ServiceRequestOptions::new(), json);
        let Err(ServiceRequestError::Grammar(error)) = refused else { panic!("{refused:?}") };
        assert_eq!((error.kind, error.offset), (kind, offset), "{json}");
        let refused = pair.respond(Duration::ZERO, "any", json);
        assert!(matches!(refused, Err(ServiceResponseError::Grammar(_))), "{refused:?}");
    }
    let options = ServiceRequestOptions::new().signed_by("AAAA");
    let refused = pair.request_with(options, "{}");
    assert_eq!(refused, Err(ServiceRequestError::SignKey(SignerKeyError::NotAnEd25519Key)));
    assert_eq!(pair.events(pair.bot), []);
}

#[test]
fn a_request_is_padded_to_11106_bytes_with_its_framing() {
    let mut pair = Pair::new();
    let signed = ServiceRequestOptions::new().signed_by(KEY);
    for (options, framing) in [(ServiceRequestOptions::new(), 3 + 189), (signed, 3 + 189 + 111)] {
        let most = PADDED_LEN - framing;
        let sent = pair.request_with(options, &object(most)).unwrap();
        assert_eq!((sent.json_len, sent.framed_len), (most, 11_106));
        let refused = pair.request_with(options, &object(most + 1));
        assert_eq!(refused, Err(ServiceRequestError::TooLarge { needed: 11_107, limit: 11_106 }));
    }
    let longer = Config::new().reply_queue_len(300);
    let mut net = Loopback::with_config(1, longer);
    let bot = net.add_profile("bot").unwrap();
    let address = net.create_address(bot, true).unwrap();
    let options = ServiceRequestOptions::new();
    let sent = net.service_request(NOW, bot, address, options, "{}").unwrap();
    assert_eq!(sent.framed_len, 2 + 3 + 300);
}

#[test]
fn a_response_is_padded_to_11106_bytes_with_its_framing() {
    let mut pair = Pair::new();
    pair.request("{}");
    let id = pair.received().request_id;
    let refused = pair.respond(Duration::ZERO, &id, &object(PADDED_LEN - 2));
    assert_eq!(refused, Err(ServiceResponseError::TooLarge { needed: 11_107, limit: 11_106 }));
    // Another one can still be given.
    let sent = pair.respond(Duration::ZERO, &id, &object(PADDED_LEN - 3)).unwrap();
    assert_eq!(sent.framed_len, 11_106);
}

#[test]
fn the_key_of_a_signed_request_is_reported() {
    let mut pair = Pair::new();
    pair.request("{}");
    assert_eq!(pair.received().signer_key, None);
    // The core writes keys in its own way, padded.
    let options = ServiceRequestOptions::new().signed_by(KEY.trim_end_matches('='));
    pair.request_with(options, "{}").unwrap();
    assert_eq!(pair.received().signer_key.as_deref(), Some(KEY));
}

#[test]
fn a_duplicate_request_is_dropped() {
    let mut pair = Pair::new();
    for is_the_response_too in [false, true] {
        if is_the_response_too {
            pair.net.set_faults(Faults::new().duplicate(1_000));
        } else {
            pair.net.fault_next(pair.ann, Fault::Duplicate);
        }
        let sent = pair.request("{}");
        let id = pair.received().request_id;
        pair.respond(Duration::ZERO, &id, r#"{"response":1}"#).unwrap();
        let events = pair.events(pair.ann);
        assert!(
            matches!(&events[..], [Event::ServiceResponse(one)] if one.handle == sent.handle),
            "{events:?}"
        );
        assert!(matches!(&pair.events(pair.bot)[..], [Event::ServiceReplySent { .. }]));
    }
}

#[test]
fn an_accepted_response_is_reported_as_sent() {
    let mut pair = Pair::new();
    pair.request("{}");
    let id = pair.received().request_id;
    let accepted = pair.respond(Duration::ZERO, &id, r#"{"response":1}"#).unwrap();
    let sent = Event::ServiceReplySent { connection: accepted.handle };
    assert_eq!(pair.events(pair.bot), [sent]);
}

#[test]
fn a_response_is_taken_for_180_seconds() {
    let mut pair = Pair::new();
    let options = ServiceRequestOptions::new().timeout(seconds(600));
    let mut open = Vec::new();
    for _ in 0..2 {
        pair.request_with(options, "{}").unwrap();
        open.push(pair.received().request_id);
    }
    pair.respond(seconds(180), &open[0], r#"{"response":1}"#).unwrap();
    let late = SERVICE_RESPONSE_TIMEOUT + Duration::from_millis(1);
    assert_eq!(
        pair.respond(late, &open[1], r#"{"response":1}"#),
        Err(ServiceResponseError::Late { after: late, limit: SERVICE_RESPONSE_TIMEOUT })
    );
    assert_eq!(
        pair.respond(late, &open[1], r#"{"response":1}"#),
        Err(ServiceResponseError::NoPendingRequest)
    );
}

#[test]
fn a_request_has_one_response() {
    let mut pair = Pair::new();
    pair.request("{}");
    let id = pair.received().request_id;
    let unknown = pair.respond(Duration::ZERO, "bm9uZQ==", "{}");
    assert_eq!(unknown, Err(ServiceResponseError::NoPendingRequest));
    pair.respond(Duration::ZERO, &id, r#"{"response":1}"#).unwrap();
    let second = pair.respond(Duration::ZERO, &id, r#"{"response":2}"#);
    assert_eq!(second, Err(ServiceResponseError::NoPendingRequest));
    // Another profile has no such request.
    let ann = pair.ann;
    let other = pair.net.service_response(NOW, ann, &id, "{}");
    assert_eq!(other, Err(ServiceResponseError::NoPendingRequest));
}

#[test]
fn the_requester_waits_as_long_as_it_says() {
    let mut pair = Pair::new();
    let options = ServiceRequestOptions::new().timeout(seconds(2));
    let sent = pair.request_with(options, "{}").unwrap();
    let id = pair.received().request_id;
    // A response that comes with the end comes too late, and the responder does not learn it.
    pair.net.handle_timeout(NOW.saturating_add(seconds(2)));
    pair.respond(seconds(2), &id, r#"{"response":1}"#).unwrap();
    assert_eq!(pair.events(pair.ann), [failed(sent.handle)]);
    assert_eq!(pair.net.service_requests_waiting(pair.ann), 0);
}

#[test]
fn requests_and_responses_are_lost_and_delayed_like_messages() {
    let mut pair = Pair::new();
    pair.net.fault_next(pair.ann, Fault::Drop);
    pair.request("{}");
    assert_eq!(pair.events(pair.bot), []);

    let delay = seconds(20);
    pair.net.set_faults(Faults::new().delay(delay, delay));
    let sent = pair.request("{}");
    assert_eq!(pair.events(pair.bot), []);
    // One that is sent later and travels without delay overtakes it: each has its connection.
    pair.net.set_faults_between(pair.ann, pair.bot, Faults::new());
    pair.request(r#"{"n":2}"#);
    assert_eq!(pair.received().data, r#"{"n":2}"#);
    pair.net.handle_timeout(NOW.saturating_add(delay));
    let id = pair.received().request_id;
    // The response arrives ten seconds after the wait is over, even if time moves in one step.
    pair.respond(delay, &id, r#"{"response":1}"#).unwrap();
    pair.net.handle_timeout(NOW.saturating_add(seconds(500)));
    let events = pair.events(pair.ann);
    assert!(events.contains(&failed(sent.handle)), "{events:?}");
    assert!(!events.iter().any(|event| matches!(event, Event::ServiceResponse(_))), "{events:?}");
}

#[test]
fn a_response_in_time_counts_even_if_time_moves_in_one_step() {
    let mut pair = Pair::new();
    let sent = pair.request("{}");
    let id = pair.received().request_id;
    let delay = seconds(29);
    pair.net.set_faults(Faults::new().delay(delay, delay));
    pair.respond(Duration::ZERO, &id, r#"{"response":1}"#).unwrap();
    pair.net.handle_timeout(NOW.saturating_add(seconds(500)));
    let events = pair.events(pair.ann);
    assert!(
        matches!(&events[..], [Event::ServiceResponse(one)] if one.handle == sent.handle),
        "{events:?}"
    );
}

#[test]
fn nothing_is_kept_of_requests_that_are_long_over() {
    let mut pair = Pair::new();
    let mut now = NOW;
    for _ in 0..10 {
        let options = ServiceRequestOptions::new();
        pair.net.service_request(now, pair.ann, pair.address, options, "{}").unwrap();
        assert_eq!(pair.events(pair.bot).len(), 1);
        now = now.saturating_add(SERVICE_RESPONSE_TIMEOUT);
    }
    let service = &pair.net.profiles[pair.bot.0].service;
    assert!(service.is_small(), "{service:?}");
    assert!(pair.net.profiles[pair.ann.0].inbox.len() <= 1);
}

#[test]
fn the_number_of_messages_on_their_way_is_bounded() {
    let mut net = Loopback::with_config(1, Config::new().max_in_flight(1));
    net.set_faults(Faults::new().delay(seconds(1), seconds(1)));
    let (ann, bot) = (net.add_profile("ann").unwrap(), net.add_profile("bot").unwrap());
    let address = net.create_address(bot, true).unwrap();
    let options = ServiceRequestOptions::new();
    net.service_request(NOW, ann, address, options, "{}").unwrap();
    let refused = net.service_request(NOW, ann, address, options, "{}");
    assert_eq!(refused, Err(ServiceRequestError::TooManyInFlight { limit: 1 }));
}

#[test]
fn debug_shows_no_text() {
    let mut pair = Pair::new();
    pair.request(r#"{"secret":1}"#);
    let request = pair.received();
    let id = request.request_id.clone();
    pair.respond(Duration::ZERO, &id, r#"{"response":"secret"}"#).unwrap();
    let events = pair.events(pair.ann);
    assert!(!format!("{request:?}{events:?}").contains("secret"));
}
