use super::*;
use std::string::ToString as _;
use std::vec;

/// A card that has one canonical text in all forms.
pub(super) const CLEAN: &str = r#"{"name":"A","description":"d","version":"1","supportedInterfaces":[{"url":"https://a.example/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"capabilities":{"streaming":true},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[{"id":"s","name":"n","description":"x","tags":["t"]}]}"#;

const JKU: &str = "https://a.example/keys.json";

fn secret(seed: u8) -> SecretKey {
    SecretKey::from_bytes(&[seed; 32]).unwrap()
}

fn keys(named: &[(u8, &str)]) -> KeySet {
    let mut keys = KeySet::new();
    for (seed, kid) in named {
        keys.add(secret(*seed).public(), Some(kid)).unwrap();
    }
    keys
}

fn signature(text: &str, seed: u8, kid: &str, form: Form) -> NewSignature {
    let (card, key) = (Card::parse(text).unwrap(), secret(seed));
    let signer = Signer::new(&key, kid).unwrap().jku(JKU).unwrap().form(form);
    signer.sign(&card).unwrap()
}

fn signed(text: &str, seed: u8, kid: &str, form: Form) -> String {
    Card::parse(text).unwrap().with_signatures(&[signature(text, seed, kid, form)], false)
}

fn pinned(text: &str, keys: &KeySet) -> Result<Verified, VerifyError> {
    Verifier::pinned(keys).verify(&Card::parse(text).unwrap())
}

fn refused(text: &str, keys: &KeySet) -> Vec<Refusal> {
    match pinned(text, keys) {
        Err(VerifyError::Refused(refusals)) => refusals,
        other => panic!("{other:?}"),
    }
}

/// The card with one signature of this header, made with key 1 by the specification's form.
fn with_header(header: &str, unprotected: &str) -> String {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let protected = URL_SAFE_NO_PAD.encode(header);
    let payload = Card::parse(CLEAN).unwrap().canonical(Form::Spec).unwrap();
    let signature =
        URL_SAFE_NO_PAD.encode(secret(1).sign(&jws::hash(&protected, &payload)).unwrap());
    let signatures = std::format!(
        "{{\"signatures\":[{{\"protected\":\"{protected}\",\"signature\":\"{signature}\"{unprotected}}}],"
    );
    CLEAN.replacen('{', &signatures, 1)
}

#[test]
fn a_signed_card_verifies_however_it_is_laid_out() {
    let text = signed(CLEAN, 1, "k", Form::Spec);
    let keys = keys(&[(1, "k")]);
    let verified = pinned(&text, &keys).unwrap();
    assert_eq!((verified.index, verified.kid.as_str(), verified.form), (0, "k", Form::Spec));
    assert_eq!(verified.payload, Card::parse(CLEAN).unwrap().canonical(Form::Spec).unwrap());
    let spaced =
        text.replace(":", " : ").replace("https : //", "https://").replace("\"A\"", "\"\\u0041\"");
    assert!(pinned(&spaced, &keys).is_ok());
}

#[test]
fn every_change_of_a_covered_part_is_refused() {
    let text = signed(CLEAN, 1, "k", Form::Spec);
    let keys = keys(&[(1, "k")]);
    for (from, to) in [
        ("\"A\"", "\"B\""),
        ("true", "false"),
        ("[\"t\"]", "[\"t\",\"\"]"),
        ("\"version\"", "\"x\":1,\"version\""),
        ("https://a.example/rpc", "https://b.example/rpc"),
        ("{\"streaming\":true}", "{\"streaming\":true,\"extensions\":[{}]}"),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text);
        // What the other forms leave out is named as such, and refused as well.
        let refusals = refused(&changed, &keys);
        assert!(matches!(refusals[..], [Refusal::Invalid | Refusal::Form(_)]), "{to}");
    }
    // What ProtoJSON does not tell apart is not told apart here.
    let same =
        text.replacen("\"version\"", "\"iconUrl\":null,\"securitySchemes\":{},\"version\"", 1);
    assert!(pinned(&same, &keys).is_ok());
}

#[test]
fn canonical_forms_that_others_got_wrong() {
    let spec = |text| Card::parse(text).unwrap().canonical(Form::Spec).unwrap();
    // The example of A2A 1.0 section 8.4.1 (A2A#2122, a2a-js#627).
    assert_eq!(
        spec(
            r#"{"name":"Example Agent","description":"","capabilities":{"streaming":false,
            "pushNotifications":false,"extensions":[]},"skills":[]}"#
        ),
        r#"{"capabilities":{"pushNotifications":false,"streaming":false},"description":"","name":"Example Agent","skills":[]}"#
    );
    // a2a-python#1174 and #1193.
    assert_eq!(
        spec(r#"{"x":{"\uff01":1.0,"\ud83d\ude00":0.000001},"name":"Caf\u00e9"}"#),
        "{\"name\":\"Caf\u{e9}\",\"x\":{\"\u{1f600}\":0.000001,\"\u{ff01}\":1}}"
    );
    // a2a-js#663.
    let schemes = r#"{"securitySchemes":{"o":{"openIdConnectSecurityScheme":{"openIdConnectUrl":"https://h/"}}}}"#;
    assert_eq!(spec(schemes), schemes);
    // a2a-rs#332, a2a-java#667: a requirement without scopes.
    let bare = r#"{"securityRequirements":[{"schemes":{"b":{}}}]}"#;
    assert_eq!(spec(bare), bare);
    assert_eq!(spec(r#"{"securityRequirements":[{"schemes":{"b":{"list":[]}}}]}"#), bare);
}

#[test]
fn both_spellings_of_a_field_are_one_name_twice() {
    let keys = keys(&[(1, "k")]);
    let text = signed(CLEAN, 1, "k", Form::Spec);
    let twice = text.replacen("\"version\"", "\"supported_interfaces\":[],\"version\"", 1);
    assert!(matches!(pinned(&twice, &keys), Err(VerifyError::Card(CardError::Canonical(_)))));
    // One spelling by itself is the field.
    let snake = text.replacen("\"supportedInterfaces\"", "\"supported_interfaces\"", 1);
    assert!(pinned(&snake, &keys).is_ok());
}

#[test]
fn only_forms_that_cover_all_are_accepted_unasked() {
    let keys = keys(&[(1, "k")]);
    let text = CLEAN
        .replacen(
            "\"version\"",
            "\"url\":\"x\",\"iconUrl\":\"\",\"tenant\":null,\"securitySchemes\":{},\"version\"",
            1,
        )
        .replacen("\"protocolVersion\":\"1.0\"", "\"protocolVersion\":\"1.0\",\"tenant\":\"\"", 1)
        .replacen("\"description\":\"d\",", "", 1);
    let card = Card::parse(&text).unwrap();
    let mut texts: Vec<String> =
        Form::ALL.iter().map(|form| card.canonical(*form).unwrap()).collect();
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), Form::ALL.len(), "the card tells all forms apart");
    for form in Form::ALL {
        let text = signed(&text, 1, "k", form);
        let card = Card::parse(&text).unwrap();
        let asked = Verifier::pinned(&keys).accept_uncovering().verify(&card).unwrap();
        assert_eq!((asked.form, asked.payload), (form, card.canonical(form).unwrap()));
        match Verifier::pinned(&keys).verify(&card) {
            Ok(verified) => assert!(form.covers_all() && verified.form == form),
            Err(error) => assert!(
                !form.covers_all() && error == VerifyError::Refused(vec![Refusal::Form(form)])
            ),
        }
    }
}

#[test]
fn a_required_field_that_is_null_is_as_good_as_absent() {
    for text in [r#"{"name":null,"capabilities":{}}"#, r#"{"capabilities":{}}"#] {
        let card = Card::parse(text).unwrap();
        assert_eq!(card.canonical(Form::Spec).unwrap(), r#"{"capabilities":{}}"#);
        let injected = card.canonical(Form::Injected).unwrap();
        let expected = r#"{"capabilities":{},"defaultInputModes":[],"defaultOutputModes":[],"description":"","name":"","skills":[],"supportedInterfaces":[],"version":""}"#;
        assert_eq!(injected, expected);
    }
}

#[test]
fn headers_that_ask_for_something_else_are_refused() {
    let keys = keys(&[(1, "k")]);
    let verdict =
        |header: &str, unprotected: &str| match pinned(&with_header(header, unprotected), &keys) {
            Ok(_) => None,
            Err(VerifyError::Refused(refusals)) => Some(refusals[0]),
            Err(error) => panic!("{error}"),
        };
    for (header, expected) in [
        (r#"{"alg":"ES256","kid":"k"}"#, None),
        (r#"{"alg":"ES256","kid":"k","typ":"JOSE","x5c":["AA=="],"jwk":{"kty":"EC"}}"#, None),
        (r#"{ "kid" : "\u006b", "alg":"ES256" }"#, None),
        (r#"{"alg":"none","kid":"k"}"#, Some(Refusal::Algorithm)),
        (r#"{"alg":"HS256","kid":"k"}"#, Some(Refusal::Algorithm)),
        (r#"{"alg":"ES384","kid":"k"}"#, Some(Refusal::Algorithm)),
        (r#"{"alg":"es256","kid":"k"}"#, Some(Refusal::Algorithm)),
        (r#"{"kid":"k"}"#, Some(Refusal::Algorithm)),
        (r#"{"alg":["ES256"],"kid":"k"}"#, Some(Refusal::Header)),
        (r#"{"alg":"ES256","alg":"none","kid":"k"}"#, Some(Refusal::Header)),
        (r#"{"alg":"ES256","\u0061lg":"ES256","kid":"k"}"#, Some(Refusal::Header)),
        (r#"{"alg":"ES256","kid":"k","b64":false}"#, Some(Refusal::Extension)),
        (r#"{"alg":"ES256","kid":"k","b64":true}"#, Some(Refusal::Extension)),
        (r#"{"alg":"ES256","kid":"k","crit":["b64"],"b64":false}"#, Some(Refusal::Extension)),
        (r#"{"alg":"ES256","kid":"k","crit":[]}"#, Some(Refusal::Extension)),
        (r#"{"alg":"ES256","kid":"k","\u0063rit":["x"],"x":1}"#, Some(Refusal::Extension)),
        (r#"{"alg":"ES256"}"#, Some(Refusal::NoKid)),
        (r#"{"alg":"ES256","kid":""}"#, Some(Refusal::NoKid)),
        (r#"{"alg":"ES256","kid":7}"#, Some(Refusal::Header)),
        (r#"{"alg":"ES256","kid":"K"}"#, Some(Refusal::NoKey)),
        (r#"["ES256"]"#, Some(Refusal::Header)),
        ("{\"alg\":\"ES256\",\"kid\":\"k\"", Some(Refusal::Header)),
        ("", Some(Refusal::Header)),
    ] {
        assert_eq!(verdict(header, ""), expected, "{header}");
    }
    let plain = r#"{"alg":"ES256","kid":"k"}"#;
    for (unprotected, expected) in [
        (r#","header":{"x":1}"#, None),
        (r#","header":null"#, None),
        (r#","header":{}"#, None),
        (r#","header":{"alg":"ES256"}"#, Some(Refusal::TwoHeaders)),
        (r#","header":{"kid":"other"}"#, Some(Refusal::TwoHeaders)),
        (r#","header":{"crit":["x"]}"#, Some(Refusal::Extension)),
        (r#","header":{"b64":false}"#, Some(Refusal::Extension)),
        (r#","header":7"#, Some(Refusal::Shape)),
        (r#","protected":"e30""#, None),
    ] {
        if unprotected.contains("protected") {
            // A member twice: the card itself is refused.
            assert!(matches!(
                pinned(&with_header(plain, unprotected), &keys),
                Err(VerifyError::Card(_))
            ));
            continue;
        }
        assert_eq!(verdict(plain, unprotected), expected, "{unprotected}");
    }
}

#[test]
fn headers_at_their_limits() {
    let keys = keys(&[(1, "k")]);
    let parameters = |count: usize| {
        let more: String = (2..count).map(|at| std::format!(",\"x{at}\":0")).collect();
        std::format!("{{\"alg\":\"ES256\",\"kid\":\"k\"{more}}}")
    };
    assert!(pinned(&with_header(&parameters(MAX_HEADER_PARAMETERS), ""), &keys).is_ok());
    let more = with_header(&parameters(MAX_HEADER_PARAMETERS + 1), "");
    assert_eq!(refused(&more, &keys), [Refusal::Header]);
    let long = |len: usize| std::format!("{:<len$}", r#"{"alg":"ES256","kid":"k"}"#);
    assert!(pinned(&with_header(&long(MAX_HEADER_LEN), ""), &keys).is_ok());
    assert_eq!(refused(&with_header(&long(MAX_HEADER_LEN + 1), ""), &keys), [Refusal::Header]);
    let kid = "k".repeat(MAX_KID_LEN + 1);
    let header = std::format!("{{\"alg\":\"ES256\",\"kid\":\"{kid}\"}}");
    assert_eq!(refused(&with_header(&header, ""), &keys), [Refusal::NoKid]);
}

#[test]
fn signatures_of_other_shapes_are_refused() {
    let keys = keys(&[(1, "k")]);
    let text = signed(CLEAN, 1, "k", Form::Spec);
    let made = signature(CLEAN, 1, "k", Form::Spec);
    let with = |from: &str, to: &str| refused(&text.replacen(from, to, 1), &keys);
    let signature = made.signature();
    assert_eq!(with(signature, &signature[..85]), [Refusal::SignatureLength]);
    assert_eq!(with(signature, &std::format!("{signature}AA")), [Refusal::SignatureLength]);
    assert_eq!(with(signature, &std::format!("{signature}==")), [Refusal::SignatureLength]);
    assert_eq!(with(signature, &signature.replace(['-', '_'], "+")), [Refusal::SignatureLength]);
    // R or S of zero, and of the group's order and above.
    assert_eq!(with(signature, &"A".repeat(86)), [Refusal::Invalid]);
    assert_eq!(with(signature, &("_".repeat(85) + "w")), [Refusal::Invalid]);
    assert_eq!(with(&std::format!("\"signature\":\"{signature}\""), "\"x\":1"), [Refusal::Shape]);
    assert_eq!(with(made.protected(), &std::format!("{}=", made.protected())), [Refusal::Header]);
    assert_eq!(
        refused(&CLEAN.replacen('{', "{\"signatures\":[7,null],", 1), &keys),
        [Refusal::Shape; 2]
    );
}

/// ES256 does not ask for the lower of the two values that S can have, and signers do not choose
/// it: half of all signatures that are made have the higher one.
#[test]
fn both_values_of_s_hold() {
    use p256::ecdsa::Signature;
    let keys = keys(&[(1, "k")]);
    let mut high = 0;
    for at in 0..20 {
        let text = CLEAN.replacen("\"A\"", &std::format!("\"A{at}\""), 1);
        let made = signature(&text, 1, "k", Form::Spec);
        let signed = signed(&text, 1, "k", Form::Spec);
        let read = Card::parse(&signed).unwrap().signatures().next().unwrap().unwrap();
        let other = Signature::from_slice(&read.signature).unwrap();
        let (r, s) = other.split_scalars();
        high += usize::from(other.normalize_s() != other);
        let mirrored = Signature::from_scalars(r, -*s).unwrap();
        use base64::Engine as _;
        let mirrored = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(mirrored.to_bytes());
        assert_ne!(mirrored, made.signature());
        assert!(pinned(&signed, &keys).is_ok());
        assert!(pinned(&signed.replace(made.signature(), &mirrored), &keys).is_ok());
    }
    assert!((1..20).contains(&high), "{high}");
}

#[test]
fn any_of_several_signatures_is_enough() {
    let old = signature(CLEAN, 1, "2025", Form::Spec);
    let new = signature(CLEAN, 2, "2026", Form::Spec);
    let card = Card::parse(CLEAN).unwrap();
    let text = card.with_signatures(&[old.clone(), new], false);
    assert_eq!(pinned(&text, &keys(&[(1, "2025")])).unwrap().index, 0);
    assert_eq!(pinned(&text, &keys(&[(2, "2026")])).unwrap().index, 1);
    assert_eq!(pinned(&text, &keys(&[(2, "2026"), (3, "2025")])).unwrap().index, 1);
    assert_eq!(refused(&text, &keys(&[(2, "2025")])), [Refusal::Invalid, Refusal::NoKey]);
    // Signatures are added behind those that are there.
    let one = card.with_signatures(&[old], false);
    let again = signature(&one, 2, "2026", Form::Spec);
    assert_eq!(Card::parse(&one).unwrap().with_signatures(&[again], true), text);
}

#[test]
fn cards_with_signatures_at_the_limit_and_one_more() {
    let one = signature(CLEAN, 1, "k", Form::Spec);
    let card = Card::parse(CLEAN).unwrap();
    let text = |count: usize| card.with_signatures(&vec![one.clone(); count], false);
    assert_eq!(Card::parse(&text(MAX_SIGNATURES)).unwrap().signatures().count(), MAX_SIGNATURES);
    let error = Card::parse(&text(MAX_SIGNATURES + 1)).unwrap_err();
    assert_eq!(
        error,
        CardError::TooManySignatures { count: MAX_SIGNATURES + 1, limit: MAX_SIGNATURES }
    );
    let padded = |len: usize| CLEAN.to_string() + &" ".repeat(len - CLEAN.len());
    assert!(Card::parse(&padded(MAX_CARD_LEN)).is_ok());
    assert!(matches!(Card::parse(&padded(MAX_CARD_LEN + 1)), Err(CardError::TooLong { .. })));
}

#[test]
fn fetched_keys_count_for_their_own_origin_and_url_alone() {
    let text = signed(CLEAN, 1, "k", Form::Spec);
    let card = Card::parse(&text).unwrap();
    let keys = keys(&[(1, "k")]);
    let verdict = |url, jku| Verifier::fetched(Origin::of(url).unwrap(), jku, &keys).verify(&card);
    let refusal = |url, jku| match verdict(url, jku) {
        Err(VerifyError::Refused(refusals)) => refusals[0],
        other => panic!("{other:?}"),
    };
    assert!(verdict("https://a.example/.well-known/agent-card.json", JKU).is_ok());
    assert!(verdict("https://A.EXAMPLE:443/card", JKU).is_ok());
    assert_eq!(refusal("https://b.example/card", JKU), Refusal::KeyElsewhere);
    assert_eq!(refusal("https://a.example:8443/card", JKU), Refusal::KeyElsewhere);
    assert_eq!(
        refusal("https://a.example/card", "https://a.example/other.json"),
        Refusal::OtherKeyUrl
    );
    let without = with_header(r#"{"alg":"ES256","kid":"k"}"#, "");
    let card = Card::parse(&without).unwrap();
    let origin = Origin::of("https://a.example/card").unwrap();
    let verdict = Verifier::fetched(origin, JKU, &keys).verify(&card);
    assert_eq!(verdict, Err(VerifyError::Refused(vec![Refusal::NoKeyUrl])));
    assert!(Verifier::key_urls(&card, &origin).is_empty());
}

#[test]
fn a_signer_refuses_what_no_verifier_would_take() {
    let key = secret(1);
    let signer = Signer::new(&key, "k").unwrap();
    for (url, fragment) in
        [("http://a.example/k", false), ("https://a.example/k#x", true), ("keys.json", false)]
    {
        let error = signer.clone().jku(url).unwrap_err();
        assert_eq!(error == SignError::Fragment, fragment, "{url}: {error}");
    }
    assert!(matches!(Signer::new(&key, &"k".repeat(257)), Err(SignError::Kid { len: 257, .. })));
    assert!(Signer::new(&key, &"k".repeat(256)).is_ok());
    let unclear = CLEAN.replace("\"d\"", "\"\"");
    let card = Card::parse(&unclear).unwrap();
    assert_eq!(signer.sign(&card).unwrap_err(), SignError::FormsDiffer { form: Form::Pruned });
    let twice = CLEAN.replacen('{', "{\"name\":1,", 1);
    assert!(matches!(signer.sign(&Card::parse(&twice).unwrap()), Err(SignError::Card(_))));
}

#[test]
fn nothing_of_a_card_or_a_key_is_shown() {
    let text = signed(CLEAN, 1, "secret-kid", Form::Spec);
    let card = Card::parse(&text).unwrap();
    let key = secret(1);
    let shown = [
        std::format!("{card:?} {:?}", card.signatures().collect::<Vec<_>>()),
        std::format!("{:?}", pinned(&text, &keys(&[(1, "secret-kid")])).unwrap()),
        std::format!("{:?} {:?}", key, Signer::new(&key, "secret-kid")),
        Lint::of(&card).map(|lint| std::format!("{lint:?}")).unwrap(),
        pinned(&text, &keys(&[])).unwrap_err().to_string(),
    ]
    .join(" ");
    for part in ["secret-kid", "a.example", "text/plain"] {
        assert!(!shown.contains(part), "{shown}");
    }
}
