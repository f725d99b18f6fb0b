//! Fetching `llms.txt`.

use core::error::Error;
use core::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode, Url};
use tokio_rustls::rustls::crypto::ring;

use crate::exit::{ExitCode, Failure};

/// The longest file that is read, in bytes: llms.txt is for people and small models.
const MOST: usize = 1024 * 1024;

/// How long it may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// How often a web site may send us elsewhere.
const REDIRECTS: usize = 5;

/// Where the llms.txt of a web address is: at the address itself if it is a text file, else at the
/// root of its site.
pub(super) fn llms_url(target: &str) -> Result<Url, Failure> {
    let wrong = |why: &str| {
        let problem = format!(
            "{target} is neither a web address nor a SimpleX link or name: {why}; agentwire \
             inspect link says what is wrong with a link"
        );
        Failure::new(ExitCode::Usage, problem)
    };
    let with_scheme =
        if target.contains("://") { target.to_owned() } else { format!("https://{target}") };
    let url = Url::parse(&with_scheme).map_err(|error| wrong(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("not http or https"));
    }
    if url.path().ends_with(".txt") {
        return Ok(url);
    }
    url.join("/llms.txt").map_err(|error| wrong(&error.to_string()))
}

/// Reads a text.
pub(super) async fn get(url: &Url) -> Result<String, Failure> {
    let site = url.host_str().unwrap_or_default();
    let failed = |error: reqwest::Error| {
        let code = if error.is_timeout() { ExitCode::Timeout } else { ExitCode::NoCore };
        let mut why = String::new();
        // What the connection says stands inside of what the client says.
        let mut error: Option<&dyn Error> = Some(&error.without_url());
        while let Some(outer) = error {
            why = format!("{why}: {outer}");
            error = outer.source();
        }
        Failure::new(code, format!("{site}{why}"))
    };
    // One provider for the whole process; an error means that there is one.
    let _ = ring::default_provider().install_default();
    let client = Client::builder()
        .user_agent(concat!("agentwire/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::limited(REDIRECTS))
        .timeout(PATIENCE)
        .build()
        .map_err(failed)?;
    let mut response = client.get(url.clone()).send().await.map_err(failed)?;
    match response.status() {
        StatusCode::OK => {}
        StatusCode::NOT_FOUND => {
            let problem = format!("{site} has no {}: it names nobody to call", url.path());
            return Err(Failure::new(ExitCode::Refused, problem));
        }
        status => {
            let problem = format!("{site} answers {status} to {}", url.path());
            return Err(Failure::new(ExitCode::Refused, problem));
        }
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(failed)? {
        if bytes.len() + chunk.len() > MOST {
            let problem = format!("{site}: {} is larger than {MOST} bytes", url.path());
            return Err(Failure::new(ExitCode::Refused, problem));
        }
        bytes.extend_from_slice(&chunk);
    }
    String::from_utf8(bytes).map_err(|_| {
        Failure::new(ExitCode::Refused, format!("{site}: {} is no UTF-8 text", url.path()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn llms_txt_stands_at_the_root_of_a_site() {
        let at = |target| llms_url(target).map(String::from).ok();
        let root = || Some(String::from("https://acme.example/llms.txt"));
        assert_eq!(at("acme.example"), root());
        assert_eq!(at("https://acme.example/a/b?c=d#e"), root());
        let own = "http://acme.example:8080/docs/llms.txt";
        assert_eq!(at(own).as_deref(), Some(own));
        for wrong in ["", "ftp://acme.example", "a b", "https://", "file:///etc/passwd"] {
            assert_eq!(at(wrong), None, "{wrong}");
        }
    }
}
