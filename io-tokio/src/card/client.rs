//! Fetching and checking: [`CardClient`].

use core::fmt;
use core::time::Duration;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use agentwire_core::card::{
    Card, CardError, KeySet, KeySetError, MAX_CARD_LEN, MAX_JWKS_LEN, Origin, OriginError, Refusal,
    Verified, Verifier, VerifyError,
};
use hyper::header::{ACCEPT, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, StatusCode, Uri};
use tokio::time::{Instant, timeout};

use super::keys::{Sets, freshness};
use crate::http::{HttpClient, HttpError, HttpOptions, Reach, is_local, read_text, read_url};

/// How cards are fetched.
///
/// ```
/// use agentwire_tokio::card::CardClientConfig;
/// assert!(!CardClientConfig::default().allow_local);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CardClientConfig {
    /// Trusts the certificates in this PEM file, and no others.
    pub ca_file: Option<PathBuf>,
    /// Whether URLs may lead to addresses that are not public, and plain HTTP to this machine.
    pub allow_local: bool,
    /// How long a card or a key set may take, from the name's resolution to the last byte. Default
    /// 15 s.
    pub timeout: Duration,
    /// How long a key set is used at most without being fetched again. Default 1 h.
    pub keys_for: Duration,
}

impl Default for CardClientConfig {
    fn default() -> Self {
        Self {
            ca_file: None,
            allow_local: false,
            timeout: Duration::from_secs(15),
            keys_for: Duration::from_secs(3600),
        }
    }
}

/// Why there is no card, or nobody who vouches for it.
///
/// ```
/// use agentwire_tokio::a2a::HttpError;
/// use agentwire_tokio::card::CardFetchError;
/// let error = CardFetchError::Http { url: "https://h/".into(), error: HttpError::Status(404) };
/// assert_eq!(error.to_string(), "https://h/: HTTP status 404");
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CardFetchError {
    /// What is at the URL could not be fetched.
    Http {
        /// The card's, or that of a key set.
        url: String,
        /// Why.
        error: HttpError,
    },
    /// It is no card.
    Card(CardError),
    /// The card was not fetched over HTTPS: its URL says nothing about whose it is.
    Origin(OriginError),
    /// What is at a signature's `jku` is no key set.
    Keys {
        /// The URL.
        url: String,
        /// Why.
        error: KeySetError,
    },
    /// No signature holds.
    Refused(VerifyError),
}

impl fmt::Display for CardFetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http { url, error: error @ HttpError::Status(300..=399) } => {
                write!(f, "{url}: {error}: it points elsewhere, where nothing is fetched from")
            }
            Self::Http { url, error } => write!(f, "{url}: {error}"),
            Self::Card(error) => write!(f, "no card: {error}"),
            Self::Origin(error) => {
                write!(f, "only a key given by other means can vouch for the card: {error}")
            }
            Self::Keys { url, error } => write!(f, "{url}: no key set: {error}"),
            Self::Refused(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for CardFetchError {}

/// A card as its host has sent it.
///
/// `Debug` shows no text.
///
/// ```
/// use agentwire_tokio::card::FetchedCard;
/// let card = FetchedCard::new("https://agent.example/card.json", r#"{"name":"A"}"#);
/// assert!(card.card().is_ok());
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct FetchedCard {
    /// Where it was.
    pub url: String,
    /// Its text.
    pub text: String,
}

impl FetchedCard {
    /// A card that somebody else has fetched: over HTTPS, without a redirect.
    pub fn new(url: impl Into<String>, text: impl Into<String>) -> Self {
        Self { url: url.into(), text: text.into() }
    }

    /// The card.
    ///
    /// # Errors
    /// [`CardFetchError::Card`]
    pub fn card(&self) -> Result<Card<'_>, CardFetchError> {
        Card::parse(&self.text).map_err(CardFetchError::Card)
    }
}

impl fmt::Debug for FetchedCard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FetchedCard({} bytes)", self.text.len())
    }
}

/// Fetches cards, and the keys that vouch for them.
///
/// ```no_run
/// use agentwire_tokio::card::{CardClient, CardClientConfig, CardFetchError};
///
/// # async fn find() -> Result<Option<String>, CardFetchError> {
/// let client = CardClient::new(CardClientConfig::default())?;
/// let fetched = client.fetch("https://agent.example/.well-known/agent-card.json").await?;
/// let verified = client.verify(&fetched).await?;
/// println!("vouched for by {}", verified.kid);
/// let interface = fetched.card()?.simplex_interfaces().next();
/// # Ok(interface.map(|interface| interface.url))
/// # }
/// ```
#[derive(Debug)]
pub struct CardClient {
    http: HttpClient,
    sets: Mutex<Sets>,
    config: CardClientConfig,
    uncovering: bool,
}

impl CardClient {
    /// A client that has fetched nothing yet.
    ///
    /// # Errors
    /// [`CardFetchError::Http`] with [`HttpError::Trust`] if there are no certificates to trust.
    pub fn new(config: CardClientConfig) -> Result<Self, CardFetchError> {
        let reach = if config.allow_local { Reach::Anywhere } else { Reach::Public };
        let options = HttpOptions { ca_file: config.ca_file.clone(), is_plain: false, reach };
        let http = HttpClient::new(&options);
        let http = http.map_err(|error| CardFetchError::Http { url: String::new(), error })?;
        Ok(Self { http, sets: Mutex::default(), config, uncovering: false })
    }

    /// Accepts signatures over forms that leave parts of the card uncovered too, as
    /// [`Verifier::accept_uncovering`] does.
    #[must_use]
    pub fn accept_uncovering(mut self) -> Self {
        self.uncovering = true;
        self
    }

    fn verifier<'t>(&self, origin: Origin<'t>, url: &'t str, keys: &'t KeySet) -> Verifier<'t> {
        let verifier = Verifier::fetched(origin, url, keys);
        if self.uncovering { verifier.accept_uncovering() } else { verifier }
    }

    /// Fetches a card. Nothing vouches for it yet but its host's certificate.
    ///
    /// # Errors
    /// [`CardFetchError::Http`], [`CardFetchError::Card`].
    pub async fn fetch(&self, url: &str) -> Result<FetchedCard, CardFetchError> {
        let (text, _) = self.get(url, MAX_CARD_LEN).await?;
        let fetched = FetchedCard::new(url, text);
        fetched.card()?;
        Ok(fetched)
    }

    /// Checks a card against the keys that its own host publishes.
    ///
    /// # Errors
    /// [`CardFetchError`]. Where several key sets are named, one that cannot be fetched is no error
    /// if a key of another one holds.
    pub async fn verify(&self, fetched: &FetchedCard) -> Result<Verified, CardFetchError> {
        let origin = Origin::of(&fetched.url).map_err(CardFetchError::Origin)?;
        let card = fetched.card()?;
        let mut failed = None;
        let mut refused = self.verifier(origin, "", &KeySet::new()).verify(&card);
        for url in Verifier::key_urls(&card, &origin) {
            match self.verify_with(&card, origin, &url).await {
                Ok(Ok(verified)) => return Ok(verified),
                Ok(Err(error)) => refused = merged(refused, error),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        match (failed, refused) {
            (Some(failed), _) => Err(failed),
            (None, Ok(verified)) => Ok(verified),
            (None, Err(error)) => Err(CardFetchError::Refused(error)),
        }
    }

    /// Checks a card against one key set: the one that is kept of it, and, if that does not know the
    /// key, the one that is there now.
    async fn verify_with(
        &self,
        card: &Card<'_>,
        origin: Origin<'_>,
        url: &str,
    ) -> Result<Result<Verified, VerifyError>, CardFetchError> {
        if let Some(keys) = self.sets().get(Instant::now(), url) {
            match self.verifier(origin, url, &keys).verify(card) {
                Err(VerifyError::Refused(refusals)) if refusals.contains(&Refusal::NoKey) => {}
                verified => return Ok(verified),
            }
        }
        let keys = self.fetch_keys(url).await?;
        Ok(self.verifier(origin, url, &keys).verify(card))
    }

    fn sets(&self) -> std::sync::MutexGuard<'_, Sets> {
        // Nothing that is done with them panics halfway.
        self.sets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn fetch_keys(&self, url: &str) -> Result<Arc<KeySet>, CardFetchError> {
        let (text, headers) = self.get(url, MAX_JWKS_LEN).await?;
        let keys = KeySet::from_jwks(&text);
        let keys = keys.map_err(|error| CardFetchError::Keys { url: url.to_owned(), error })?;
        let keys = Arc::new(keys);
        let until = Instant::now() + freshness(&headers, self.config.keys_for);
        self.sets().keep(url, Arc::clone(&keys), until);
        Ok(keys)
    }

    /// What is at a URL.
    async fn get(&self, url: &str, limit: usize) -> Result<(String, HeaderMap), CardFetchError> {
        let failed = |error| CardFetchError::Http { url: url.to_owned(), error };
        let uri = read_url(url, false).map_err(failed)?;
        let is_plain = uri.scheme_str() == Some("http");
        if is_plain && !(self.config.allow_local && is_local(uri.host().unwrap_or_default())) {
            return Err(failed(HttpError::PlainHttp));
        }
        let got = timeout(self.config.timeout, self.exchange(&uri, limit)).await;
        got.unwrap_or(Err(HttpError::TimedOut)).map_err(failed)
    }

    async fn exchange(&self, uri: &Uri, limit: usize) -> Result<(String, HeaderMap), HttpError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        // Agents of several versions show a card for each.
        let version = HeaderName::from_static("a2a-version");
        headers.insert(version, HeaderValue::from_static(agentwire_core::a2a::VERSION));
        let response = self.http.send(Method::GET, uri, headers, String::new()).await?;
        let (head, body) = response.into_parts();
        if head.status != StatusCode::OK {
            return Err(HttpError::Status(head.status.as_u16()));
        }
        Ok((read_text(body, limit).await?, head.headers))
    }
}

/// Why each signature is refused, after another key set has been asked: what is said of a signature
/// whose keys are elsewhere gives way to what is said where they are.
fn merged(
    before: Result<Verified, VerifyError>,
    error: VerifyError,
) -> Result<Verified, VerifyError> {
    Err(match (before, error) {
        (Err(VerifyError::Refused(mut before)), VerifyError::Refused(now)) => {
            for (before, now) in before.iter_mut().zip(now) {
                if *before == Refusal::OtherKeyUrl {
                    *before = now;
                }
            }
            VerifyError::Refused(before)
        }
        (_, error) => error,
    })
}
