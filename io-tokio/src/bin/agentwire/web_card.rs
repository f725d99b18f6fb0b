//! Agent Cards that are at a URL: how they are fetched, and the way from one to a SimpleX address.

use core::net::IpAddr;
use std::path::PathBuf;

use agentwire_core::card::{Refusal, SimplexInterface, VerifyError};
use agentwire_core::discovery::link::Link;
use agentwire_tokio::a2a::HttpError;
use agentwire_tokio::card::{CardClient, CardClientConfig, CardFetchError, FetchedCard};
use clap::Args;

use crate::exit::{ExitCode, Failure};
use crate::terminal::escape;

/// How cards are fetched.
#[derive(Clone, Debug, Args)]
pub(crate) struct WebCardArgs {
    /// For a card at a URL: trust the certificates in this PEM file and no others.
    #[arg(long, value_name = "FILE")]
    pub(crate) card_ca_file: Option<PathBuf>,

    /// For a card at a URL: reach addresses that are not public, and this machine by plain HTTP.
    #[arg(long)]
    pub(crate) card_allow_local: bool,
}

/// Whether somebody means a card on the web by this.
pub(crate) fn is_card_url(target: &str) -> bool {
    let starts = |scheme: &str| {
        target.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    (starts("https://") || starts("http://")) && Link::parse(target).is_err()
}

/// The same, where a web site may be meant as well: by the end of the path.
pub(crate) fn names_card(target: &str) -> bool {
    let path = target.split(['?', '#']).next().unwrap_or_default();
    is_card_url(target) && path.ends_with(".json")
}

impl WebCardArgs {
    pub(crate) fn client(&self) -> Result<CardClient, Failure> {
        let mut config = CardClientConfig::default();
        config.ca_file.clone_from(&self.card_ca_file);
        config.allow_local = self.card_allow_local;
        CardClient::new(config).map_err(|error| failed(&error))
    }

    /// The interface through which the agent of a card is called, whose card it is as far as can be
    /// known.
    pub(crate) async fn interface(&self, url: &str) -> Result<SimplexInterface, Failure> {
        let client = self.client()?;
        let fetched = client.fetch(url).await.map_err(|error| failed(&error))?;
        check(&client, &fetched).await?;
        let card = fetched.card().map_err(|error| failed(&error))?;
        card.simplex_interfaces().next().ok_or_else(|| {
            let problem = format!("{url}: the card has no SimpleX interface");
            Failure::new(ExitCode::Refused, problem)
        })
    }
}

/// Checks a card's signatures where it has any. Its host's certificate vouches for it all the same,
/// so what cannot be checked is said and no more; a signature that is wrong is another matter.
pub(crate) async fn check(client: &CardClient, fetched: &FetchedCard) -> Result<(), Failure> {
    match client.verify(fetched).await {
        Ok(_) | Err(CardFetchError::Refused(VerifyError::NotSigned)) => Ok(()),
        Err(CardFetchError::Origin(_)) if is_of_this_machine(&fetched.url) => Ok(()),
        Err(CardFetchError::Refused(VerifyError::Refused(refusals)))
            if refusals.contains(&Refusal::Invalid) =>
        {
            let problem = format!("{}: the card has been changed since it was signed", fetched.url);
            Err(Failure::new(ExitCode::Refused, problem))
        }
        Err(CardFetchError::Refused(error @ VerifyError::Card(_))) => {
            Err(Failure::new(ExitCode::Refused, format!("{}: {error}", fetched.url)))
        }
        Err(error) => {
            eprintln!(
                "agentwire: no signature vouches for the card: {}",
                escape(&error.to_string())
            );
            Ok(())
        }
    }
}

/// Whether a URL leads to this machine, and so nobody stands between.
fn is_of_this_machine(url: &str) -> bool {
    let host = url.split("://").nth(1).unwrap_or_default();
    let host = host.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host == "localhost" || address.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

/// How the program ends without a card.
pub(crate) fn failed(error: &CardFetchError) -> Failure {
    let code = match error {
        CardFetchError::Http { error: HttpError::Url | HttpError::PlainHttp, .. } => {
            ExitCode::Usage
        }
        CardFetchError::Http { error: HttpError::Trust(_), .. } => ExitCode::Config,
        CardFetchError::Http { error: HttpError::TimedOut, .. } => ExitCode::Timeout,
        CardFetchError::Http { error: HttpError::Connection(_), .. } => ExitCode::ToolError,
        _ => ExitCode::Refused,
    };
    let hint = match error {
        CardFetchError::Http { error: HttpError::NotPublic | HttpError::PlainHttp, .. } => {
            "; --card-allow-local reaches this machine and private networks"
        }
        _ => "",
    };
    Failure::new(code, format!("{error}{hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_told_from_a_link_and_from_a_web_site() {
        let link = "https://smp.example/a#MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY";
        assert!(!is_card_url(link) && !is_card_url("card.json") && !is_card_url("@4"));
        assert!(is_card_url("HTTPS://agent.example/.well-known/agent-card.json"));
        assert!(names_card("https://agent.example/.well-known/agent-card.json?v=1"));
        assert!(!names_card("https://agent.example/") && !names_card("agent.example/card.json"));
        assert!(!names_card("https://agent.example/llms.txt"));
    }

    #[test]
    fn this_machine_is_told_from_others() {
        for url in ["http://localhost/", "http://127.0.0.1:8080/card.json", "http://[::1]:1"] {
            assert!(is_of_this_machine(url), "{url}");
        }
        for url in ["http://agent.example/", "https://127.0.0.1.example/", "localhost"] {
            assert!(!is_of_this_machine(url), "{url}");
        }
    }
}
