//! Which URLs are called.

use core::net::IpAddr;

use hyper::Uri;

use super::HttpError;

/// Reads a URL that may be called.
pub(crate) fn read_url(url: &str, allows_plain: bool) -> Result<Uri, HttpError> {
    let uri: Uri = url.parse().map_err(|_| HttpError::Url)?;
    let authority = uri.authority().ok_or(HttpError::Url)?;
    if authority.as_str().contains('@') || authority.host().is_empty() {
        return Err(HttpError::Url);
    }
    match uri.scheme_str() {
        Some("https") => Ok(uri),
        Some("http") if allows_plain || is_local(authority.host()) => Ok(uri),
        Some("http") => Err(HttpError::PlainHttp),
        _ => Err(HttpError::Url),
    }
}

/// Whether a host of a URL is this machine, by its name or its address.
pub(crate) fn is_local(host: &str) -> bool {
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.eq_ignore_ascii_case("localhost")
        || address.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

/// Whether two URLs have the same scheme, host and port.
#[cfg(feature = "a2a")]
pub(crate) fn same_origin(a: &Uri, b: &Uri) -> bool {
    let port = |uri: &Uri| {
        uri.port_u16().unwrap_or(if uri.scheme_str() == Some("https") { 443 } else { 80 })
    };
    let host = |uri: &Uri| uri.host().map(str::to_ascii_lowercase);
    a.scheme() == b.scheme() && host(a) == host(b) && port(a) == port(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_for_this_machine() {
        for url in [
            "https://agent.example/a2a",
            "http://127.0.0.1:8080",
            "http://127.9.9.9/",
            "http://localhost:1/x?y",
            "http://LOCALHOST/",
            "http://[::1]:8080/",
        ] {
            assert!(read_url(url, false).is_ok(), "{url}");
        }
        for url in ["http://agent.example/", "http://127.0.0.1.example/", "http://[::2]/"] {
            assert_eq!(read_url(url, false), Err(HttpError::PlainHttp), "{url}");
            assert!(read_url(url, true).is_ok(), "{url}");
        }
        for url in [
            "",
            "agent.example",
            "/a2a",
            "ftp://agent.example/",
            "file:///etc/passwd",
            "https://user:password@agent.example/",
            "http://127.0.0.1@agent.example/",
            "https:///x",
        ] {
            assert_eq!(read_url(url, true), Err(HttpError::Url), "{url}");
        }
    }

    #[cfg(feature = "a2a")]
    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let same = |a: &str, b: &str| same_origin(&a.parse().unwrap(), &b.parse().unwrap());
        assert!(same("https://h/a", "https://H:443/b?c"));
        assert!(same("http://h:80/", "http://h/"));
        assert!(!same("https://h/", "http://h/"));
        assert!(!same("https://h/", "https://h:8443/"));
        assert!(!same("https://h/", "https://h.example/"));
    }
}
