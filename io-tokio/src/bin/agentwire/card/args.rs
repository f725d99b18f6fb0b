//! The command line of `agentwire card`.

use std::path::PathBuf;

use agentwire_core::card::Form;
use clap::{Args, Subcommand, ValueEnum};

use crate::web_card::{WebCardArgs, is_card_url};

/// Sign, check and lint A2A Agent Cards, and put a SimpleX address into them.
///
/// A card is read from a file, from standard input, or fetched from a URL. Exit code 6 if it is
/// refused.
#[derive(Debug, Args)]
pub(crate) struct CardArgs {
    #[command(subcommand)]
    pub(super) action: CardAction,
}

#[derive(Debug, Subcommand)]
pub(super) enum CardAction {
    Sign(SignArgs),
    Verify(VerifyArgs),
    Lint(LintArgs),
    #[command(subcommand)]
    Key(KeyAction),
    Canonical(CanonicalArgs),
    AddInterface(AddInterfaceArgs),
    Link(LinkArgs),
}

/// The card.
#[derive(Debug, Args)]
pub(super) struct Source {
    /// The card, or its https:// URL; standard input if it is absent or `-`.
    #[arg(value_name = "FILE|URL")]
    pub(super) file: Option<PathBuf>,

    #[command(flatten)]
    pub(super) web: WebCardArgs,
}

impl Source {
    /// The URL, if it is one.
    pub(super) fn url(&self) -> Option<&str> {
        self.file.as_deref()?.to_str().filter(|file| is_card_url(file))
    }
}

/// Whose signature it is.
#[derive(Debug, Args)]
pub(super) struct SignerArgs {
    /// The file with the private key: PEM (PKCS#8 or SEC1), or a JWK.
    #[arg(long, value_name = "FILE")]
    pub(super) key: Option<PathBuf>,

    /// The name of the key in its set; by default its thumbprint.
    #[arg(long, value_name = "KID", requires = "key")]
    pub(super) kid: Option<String>,

    /// Where the key set is published: https, on the host that serves the card.
    #[arg(long, value_name = "URL", requires = "key")]
    pub(super) jku: Option<String>,
}

/// Print the card with a signature.
///
/// Unless a form is named, a card is refused that some verifiers would refuse: see `lint`.
#[derive(Debug, Args)]
pub(super) struct SignArgs {
    #[command(flatten)]
    pub(super) signer: SignerArgs,

    /// Sign this form; more than one make a signature each.
    #[arg(long, value_name = "FORM")]
    pub(super) form: Vec<FormName>,

    /// Keep the signatures that are there.
    #[arg(long)]
    pub(super) keep: bool,

    #[command(flatten)]
    pub(super) source: Source,
}

/// Check whether a key vouches for the card.
///
/// For a card at a URL, without --key, the keys are fetched: from the URL in its signature, which
/// has to be on the card's own host.
#[derive(Debug, Args)]
pub(super) struct VerifyArgs {
    /// A key of the card's owner, given by other means: PEM, a JWK or a JWKS; may be repeated.
    #[arg(long, value_name = "FILE")]
    pub(super) key: Vec<PathBuf>,

    /// The key set that was fetched from the signature's jku.
    #[arg(long, value_name = "FILE", requires = "url", conflicts_with = "key")]
    pub(super) jwks: Option<PathBuf>,

    /// The URL from which the card was fetched.
    #[arg(long, value_name = "URL", requires = "jwks")]
    pub(super) url: Option<String>,

    /// Accept forms that leave parts of the card uncovered: the canonical text is then what counts.
    #[arg(long)]
    pub(super) any_form: bool,

    #[command(flatten)]
    pub(super) source: Source,
}

/// Say which verifiers would refuse the card, and why.
#[derive(Debug, Args)]
pub(super) struct LintArgs {
    /// The form that is signed.
    #[arg(long, value_name = "FORM", default_value = "spec")]
    pub(super) form: FormName,

    #[command(flatten)]
    pub(super) source: Source,
}

/// Make a key, or show the public part of one.
#[derive(Debug, Subcommand)]
pub(super) enum KeyAction {
    New(NewKeyArgs),
    Show(ShowKeyArgs),
}

/// Make a private key in a new file, and print its public key set.
#[derive(Debug, Args)]
pub(super) struct NewKeyArgs {
    /// The file to make; nobody else can read it.
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,

    /// The name of the key in its set; by default its thumbprint.
    #[arg(long, value_name = "KID")]
    pub(super) kid: Option<String>,
}

/// Print the public part of a key.
#[derive(Debug, Args)]
pub(super) struct ShowKeyArgs {
    /// A private or a public key: PEM or a JWK.
    #[arg(value_name = "FILE")]
    pub(super) file: PathBuf,

    /// The name of the key in its set; by default its thumbprint.
    #[arg(long, value_name = "KID")]
    pub(super) kid: Option<String>,

    /// How to print it.
    #[arg(long = "as", value_name = "FORMAT", default_value = "jwks")]
    pub(super) format: KeyFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum KeyFormat {
    /// A set of one key, to be published.
    Jwks,
    /// A JWK.
    Jwk,
    /// PEM.
    Pem,
}

/// Print the text that a signature covers, without a line feed.
#[derive(Debug, Args)]
pub(super) struct CanonicalArgs {
    /// In which form.
    #[arg(long, value_name = "FORM", default_value = "spec")]
    pub(super) form: FormName,

    #[command(flatten)]
    pub(super) source: Source,
}

/// Print the card with a SimpleX interface.
///
/// The rest stays as it is, but for the signatures: they are dropped, or with a key made anew. An
/// interface that is there is given the new link.
#[derive(Debug, Args)]
pub(super) struct AddInterfaceArgs {
    /// The bot's contact address.
    #[arg(long, value_name = "LINK")]
    pub(super) link: String,

    /// The version of A2A that it serves.
    #[arg(long, value_name = "VERSION", default_value = agentwire_core::a2a::VERSION)]
    pub(super) a2a_version: String,

    #[command(flatten)]
    pub(super) signer: SignerArgs,

    #[command(flatten)]
    pub(super) source: Source,
}

/// Print the SimpleX addresses in the card; nothing vouches for them, see `verify`.
#[derive(Debug, Args)]
pub(super) struct LinkArgs {
    #[command(flatten)]
    pub(super) source: Source,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum FormName {
    /// That of the A2A specification.
    Spec,
    /// The card as it is, without its signatures (a2a-go).
    Served,
    /// That of the specification, without unknown members.
    Known,
    /// Without unknown members and all that is empty (a2a-sdk, @a2a-js/sdk).
    Pruned,
    /// That of the specification, with required members added (proposed).
    Injected,
}

impl From<FormName> for Form {
    fn from(name: FormName) -> Self {
        match name {
            FormName::Spec => Self::Spec,
            FormName::Served => Self::Served,
            FormName::Known => Self::Known,
            FormName::Pruned => Self::Pruned,
            FormName::Injected => Self::Injected,
        }
    }
}
