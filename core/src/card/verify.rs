//! Checking signatures (A2A 1.0 section 8.4.3).

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::jws::hash;
use super::{Card, CardError, CardSignature, Form, KeySet, Origin, Refusal};

/// Which keys are trusted, and why.
///
/// ```text
/// where the card is from      keys                                 Verifier
/// ─────────────────────────   ──────────────────────────────────   ─────────
/// fetched from an https URL   fetched from the signature's jku,    fetched
///                             on the origin of that URL
/// anywhere, chat included     given by the agent's owner before    pinned
/// ```
///
/// A card that came through chat has no origin, so nothing but pinned keys can vouch for it.
#[derive(Clone, Copy, Debug)]
pub struct Verifier<'t> {
    keys: &'t KeySet,
    /// Where the card and the keys are from.
    fetched: Option<(Origin<'t>, &'t str)>,
    uncovering: bool,
}

impl<'t> Verifier<'t> {
    /// Trusts these keys, wherever the card is from. `jku` is not looked at.
    ///
    /// See [`Signer`](super::Signer) for an example.
    pub const fn pinned(keys: &'t KeySet) -> Self {
        Self { keys, fetched: None, uncovering: false }
    }

    /// Trusts keys that were fetched from `jku`, for a card that was fetched from `origin`: both
    /// over https, without a redirect.
    ///
    /// A signer chooses its `jku`, so the URL by itself proves nothing. Only one on the card's own
    /// origin says what the card's URL says too: who runs this host made the card.
    /// [`key_urls`](Self::key_urls) gives the URLs that may be fetched.
    ///
    /// ```
    /// use agentwire_core::card::{Card, Form, KeySet, Origin, SecretKey, Signer, Verifier};
    /// let key = SecretKey::from_bytes(&[7; 32]).unwrap();
    /// let jku = "https://agent.example/keys.json";
    /// let signer = Signer::new(&key, "k").unwrap().jku(jku).unwrap().form(Form::Spec);
    /// let card = Card::parse(r#"{"name":"A"}"#).unwrap();
    /// let text = card.with_signatures(&[signer.sign(&card).unwrap()], false);
    /// let card = Card::parse(&text).unwrap();
    ///
    /// let origin = Origin::of("https://agent.example/.well-known/agent-card.json").unwrap();
    /// assert_eq!(Verifier::key_urls(&card, &origin), [jku]);
    /// // The driver fetches it.
    /// let jwks = format!(r#"{{"keys":[{}]}}"#, key.public().to_jwk(Some("k")));
    /// let keys = KeySet::from_jwks(&jwks).unwrap();
    /// assert!(Verifier::fetched(origin, jku, &keys).verify(&card).is_ok());
    ///
    /// // The same card on another host: its keys are not asked for there.
    /// let elsewhere = Origin::of("https://evil.example/.well-known/agent-card.json").unwrap();
    /// assert!(Verifier::key_urls(&card, &elsewhere).is_empty());
    /// assert!(Verifier::fetched(elsewhere, jku, &keys).verify(&card).is_err());
    /// ```
    pub const fn fetched(origin: Origin<'t>, jku: &'t str, keys: &'t KeySet) -> Self {
        Self { keys, fetched: Some((origin, jku)), uncovering: false }
    }

    /// Accepts signatures over forms that leave parts of the card uncovered too: those that
    /// PyPI's `a2a-sdk` and npm's `@a2a-js/sdk` make of cards with empty values.
    ///
    /// What is vouched for then is [`Verified::payload`] and nothing else: read that in the place
    /// of the card.
    #[must_use]
    pub const fn accept_uncovering(self) -> Self {
        Self { uncovering: true, ..self }
    }

    /// The URLs on the card's own origin at which its signatures say that keys are, each once: at
    /// most [`MAX_SIGNATURES`](super::MAX_SIGNATURES).
    pub fn key_urls(card: &Card<'_>, origin: &Origin<'_>) -> Vec<String> {
        let mut urls: Vec<String> = Vec::new();
        for signature in card.signatures().flatten() {
            let url = signature.jku().filter(|url| origin.has_keys(url));
            if let Some(url) = url.filter(|url| urls.iter().all(|other| other != url)) {
                urls.push(url.into());
            }
        }
        urls
    }

    /// Checks a card: one signature that holds is enough.
    ///
    /// # Errors
    /// [`VerifyError`].
    pub fn verify(&self, card: &Card<'_>) -> Result<Verified, VerifyError> {
        let mut refusals = Vec::new();
        let mut payloads = Payloads { card, texts: [const { None }; Form::ALL.len()] };
        for (index, signature) in card.signatures().enumerate() {
            let checked = signature.and_then(|signature| {
                let form = self.check(&signature, &mut payloads)?;
                Ok((signature, form))
            });
            match checked {
                Ok((signature, form)) => {
                    let payload = payloads.take(form).map_err(VerifyError::Card)?;
                    return Ok(Verified { index, kid: signature.kid().into(), form, payload });
                }
                Err(refusal) => refusals.push(refusal),
            }
        }
        // A card without a canonical form cannot be signed, whatever else is wrong.
        payloads.get(Form::Spec).map_err(VerifyError::Card)?;
        if refusals.is_empty() {
            return Err(VerifyError::NotSigned);
        }
        Err(VerifyError::Refused(refusals))
    }

    /// Checks one signature: the form for which it holds.
    fn check(
        &self,
        signature: &CardSignature<'_>,
        payloads: &mut Payloads<'_, '_>,
    ) -> Result<Form, Refusal> {
        if let Some((origin, from)) = &self.fetched {
            let jku = signature.jku().ok_or(Refusal::NoKeyUrl)?;
            if !origin.has_keys(jku) {
                return Err(Refusal::KeyElsewhere);
            }
            if jku != *from {
                return Err(Refusal::OtherKeyUrl);
            }
        }
        let mut keys = self.keys.candidates(signature.kid()).peekable();
        if keys.peek().is_none() {
            return Err(Refusal::NoKey);
        }
        let keys: Vec<_> = keys.collect();
        for (place, form) in Form::ALL.into_iter().enumerate() {
            // A card without a canonical form in one way has none in another.
            payloads.get(form).map_err(|_| Refusal::Invalid)?;
            let Some(payload) = payloads.new_text(place) else { continue };
            let hash = hash(signature.protected, payload);
            if keys.iter().any(|key| key.holds(&hash, &signature.signature)) {
                let accepted = form.covers_all() || self.uncovering;
                return if accepted { Ok(form) } else { Err(Refusal::Form(form)) };
            }
        }
        Err(Refusal::Invalid)
    }
}

/// The canonical texts of a card, each made when it is asked for.
struct Payloads<'c, 'a> {
    card: &'c Card<'a>,
    texts: [Option<String>; Form::ALL.len()],
}

impl Payloads<'_, '_> {
    fn place(form: Form) -> usize {
        Form::ALL.iter().position(|other| *other == form).unwrap_or(0)
    }

    fn get(&mut self, form: Form) -> Result<&str, CardError> {
        let Some(slot) = self.texts.get_mut(Self::place(form)) else { return Ok("") };
        let text = match slot.take() {
            Some(text) => text,
            None => self.card.canonical(form)?,
        };
        Ok(slot.insert(text))
    }

    /// The text of the form at this place, unless a form before it has the same.
    fn new_text(&self, place: usize) -> Option<&str> {
        let text = self.texts.get(place)?.as_deref()?;
        let mut before = self.texts.iter().take(place);
        if before.any(|before| before.as_deref() == Some(text)) { None } else { Some(text) }
    }

    fn take(mut self, form: Form) -> Result<String, CardError> {
        self.get(form)?;
        Ok(self.texts.get_mut(Self::place(form)).and_then(Option::take).unwrap_or_default())
    }
}

/// A card that its owner's key vouches for.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// Which of the signatures holds, from 0.
    pub index: usize,
    /// The name of its key.
    pub kid: String,
    /// The form that it covers.
    pub form: Form,
    /// The text that it covers: the card in its canonical form. Of a card whose signature covers a
    /// form that does not [cover all](Form::covers_all), read this and not the card.
    pub payload: String,
}

impl fmt::Debug for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verified")
            .field("index", &self.index)
            .field("form", &self.form)
            .finish_non_exhaustive()
    }
}

/// Why nothing vouches for a card.
///
/// ```
/// use agentwire_core::card::{Card, KeySet, Verifier, VerifyError};
/// let card = Card::parse(r#"{"name":"A"}"#).unwrap();
/// let refused = Verifier::pinned(&KeySet::new()).verify(&card);
/// assert_eq!(refused, Err(VerifyError::NotSigned));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum VerifyError {
    /// The card has no canonical form.
    Card(CardError),
    /// It has no signature.
    NotSigned,
    /// Each of its signatures is refused: why, in their order.
    Refused(Vec<Refusal>),
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Card(error) => write!(f, "{error}"),
            Self::NotSigned => f.write_str("the card is not signed"),
            Self::Refused(refusals) => {
                for (index, refusal) in refusals.iter().enumerate() {
                    let separator = if index == 0 { "" } else { "; " };
                    write!(f, "{separator}signature {index}: {refusal}")?;
                }
                Ok(())
            }
        }
    }
}

impl core::error::Error for VerifyError {}
