//! Which addresses of the internet protocol a URL from somebody else may lead to.
//!
//! A card, a key set and a webhook are at URLs that others choose. Whoever fetches them on a
//! machine inside of a network must not be made to fetch what only that machine can reach (A2A 1.0
//! section 13.2, server-side request forgery). The host's name proves nothing, since its owner
//! decides what it resolves to, each time anew: what counts is the address that is dialled.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address is one of the public internet, by the special-purpose registries of IANA
/// (RFC 6890).
///
/// | refused | |
/// |---|---|
/// | `0.0.0.0/8`, `127.0.0.0/8`, `::`, `::1` | this machine |
/// | `10.0.0.0/8`, `172.16.0.0/12`, `192.168.0.0/16`, `fc00::/7` | private networks |
/// | `100.64.0.0/10` | carriers' own |
/// | `169.254.0.0/16`, `fe80::/10` | the link, where clouds have their metadata |
/// | `192.0.0.0/24`, `192.0.2.0/24`, `192.88.99.0/24`, `198.18.0.0/15`, `198.51.100.0/24`, `203.0.113.0/24`, `2001::/23`, `2001:db8::/32`, `3fff::/20` | protocols, tests and documents |
/// | `224.0.0.0/4`, `240.0.0.0/4`, `ff00::/8` | many machines, or none |
/// | `::ffff:0:0/96`, `64:ff9b::/96`, `2002::/16` and all else outside of `2000::/3` | an address of version 4 in disguise, or nothing that is assigned |
///
/// ```
/// use agentwire_core::discovery::public::is_public;
/// assert!(is_public("8.8.8.8".parse().unwrap()));
/// assert!(!is_public("169.254.169.254".parse().unwrap()));
/// assert!(!is_public("::ffff:127.0.0.1".parse().unwrap()));
/// ```
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !matches!(
        (a, b, c),
        (0 | 10 | 127 | 224..=255, ..)
            | (100, 64..=127, _)
            | (169, 254, _)
            | (172, 16..=31, _)
            | (192, 0, 0 | 2)
            | (192, 88, 99)
            | (192, 168, _)
            | (198, 18 | 19, _)
            | (198, 51, 100)
            | (203, 0, 113)
    )
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, ..] = address.segments();
    match (a, b) {
        // Protocols' own, Teredo among them; documents; 6to4.
        (0x2001, 0..=0x1ff | 0xdb8) | (0x2002, _) | (0x3fff, 0..=0xfff) => false,
        (0x2000..=0x3fff, _) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_edges_of_each_range() {
        for address in [
            "1.0.0.0",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.0.3.0",
            "192.88.98.0",
            "192.88.100.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "198.51.99.255",
            "198.51.101.0",
            "203.0.112.255",
            "203.0.114.0",
            "223.255.255.255",
            "2000::",
            "2001:200::",
            "2001:db7::",
            "2001:db9::",
            "2003::",
            "3ffe::",
            "3fff:1000::",
            "2606:4700:4700::1111",
        ] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
        for address in [
            "0.0.0.0",
            "0.255.255.255",
            "10.0.0.0",
            "10.255.255.255",
            "100.64.0.0",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.255",
            "169.254.0.0",
            "169.254.169.254",
            "169.254.255.255",
            "172.16.0.0",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.0",
            "192.168.255.255",
            "198.18.0.0",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.0",
            "239.255.255.255",
            "240.0.0.0",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "64:ff9b::7f00:1",
            "64:ff9b:1::",
            "100::",
            "1fff:ffff::",
            "2001::",
            "2001:1ff::",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::",
            "3fff:fff::",
            "4000::",
            "fc00::",
            "fdff::",
            "fe80::1",
            "fec0::",
            "ff02::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
    }
}
