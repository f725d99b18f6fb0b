//! `agentwire doctor`: every step of reaching a core and serving from it, each with its mend.

use core::time::Duration;
use std::net::ToSocketAddrs;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use agentwire_core::chat::Chat;
use agentwire_core::chat::size::{MAX_COMPRESSED_MSG_LEN, MAX_ENCODED_MSG_LEN};
use agentwire_core::discovery::link::Link;
use agentwire_core::simplex::command::{Command, Page, Start};
use agentwire_core::simplex::error::CoreErrorKind;
use agentwire_core::simplex::frame::Body;
use agentwire_core::simplex::journal::CLOCK_SKEW;
use agentwire_core::simplex::{MIN_CORE_VERSION, Support, TRIED_CORE_VERSION, UserId};
use agentwire_core::time::Timestamp;
use agentwire_tokio::journal::{self, OpenError};
use agentwire_tokio::link::{Link as CoreLink, LinkError};
use serde_json::json;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::args::DoctorArgs;
use crate::core_api::{CoreApi, core_of, mend, shown};
use crate::exit::{ExitCode, Failure};
use crate::journal_file;
use crate::output::Output;
use crate::signals::Shutdown;
use crate::terminal::{NAME, escape, wrap};

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(5);

/// How many conversations are asked for their newest message.
const CHATS: usize = 3;

/// How a check ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Pass,
    /// Not wrong, and perhaps not what is wanted.
    Note,
    Fail,
}

/// What was checked, one line each.
struct Checks<'o> {
    output: &'o mut Output,
    /// The code of the first one that failed.
    failed: Option<ExitCode>,
}

impl Checks<'_> {
    fn tell(
        &mut self,
        check: &str,
        verdict: Verdict,
        what: &str,
        mend: Option<&str>,
    ) -> Result<(), Failure> {
        let word = match verdict {
            Verdict::Pass => "pass",
            Verdict::Note => "note",
            Verdict::Fail => "FAIL",
        };
        if self.output.is_json() {
            let (word, mend) = (word.to_ascii_lowercase(), mend);
            return self
                .output
                .json(&json!({"check": check, "verdict": word, "detail": what, "mend": mend}));
        }
        let shown = escape(what);
        let name = self.output.terminal().paint(NAME, check);
        // The name is painted, so it is filled up by hand.
        let room = " ".repeat(17_usize.saturating_sub(check.len()));
        let columns = self.output.terminal().width().saturating_sub(23);
        // A link stays in one piece, however long it is.
        let is_sentence = shown.contains(' ');
        let mut lines = if is_sentence { wrap(&shown, columns) } else { vec![shown] }.into_iter();
        let first = lines.next().unwrap_or_default();
        self.output.line(format_args!("{word}  {name}{room}{first}"))?;
        let mend = mend.map(escape).unwrap_or_default();
        let mend = if mend.is_empty() { Vec::new() } else { wrap(&mend, columns) };
        for line in lines.chain(mend) {
            self.output.line(format_args!("{:23}{line}", ""))?;
        }
        Ok(())
    }

    fn pass(&mut self, check: &str, what: &str) -> Result<(), Failure> {
        self.tell(check, Verdict::Pass, what, None)
    }

    fn note(&mut self, check: &str, what: &str, mend: &str) -> Result<(), Failure> {
        self.tell(check, Verdict::Note, what, Some(mend))
    }

    fn fail(&mut self, check: &str, code: ExitCode, what: &str, mend: &str) -> Result<(), Failure> {
        self.failed = self.failed.or(Some(code));
        self.tell(check, Verdict::Fail, what, Some(mend))
    }
}

pub(crate) async fn run(
    args: &DoctorArgs,
    output: &mut Output,
    mut end: Shutdown,
) -> Result<(), Failure> {
    let mut checks = Checks { output, failed: None };
    let done = async {
        if let Some(mut core) = reach(args, &mut checks).await? {
            ask(args, &mut core, &mut checks).await?;
            core.close().await;
        } else {
            clock(None, &mut checks)?;
        }
        journal(args, &mut checks)
    };
    tokio::select! {
        biased;
        () = end.requested() => return Ok(()),
        result = done => result?,
    }
    match checks.failed {
        None => Ok(()),
        Some(code) => Err(Failure::new(code, "")),
    }
}

/// The way to the core, as far as it goes.
async fn reach(args: &DoctorArgs, checks: &mut Checks<'_>) -> Result<Option<CoreApi>, Failure> {
    let url = &args.core.url;
    let Some((host, port)) = place(url) else {
        checks.fail("address", ExitCode::Usage, shown(url), mend(&LinkError::Url))?;
        return Ok(None);
    };
    checks.pass("address", shown(url))?;
    let start = Instant::now();
    let found = (host.as_str(), port).to_socket_addrs();
    let tcp = match found.map(|mut found| found.next()) {
        Ok(Some(address)) => match timeout(CONNECT, TcpStream::connect(address)).await {
            Ok(Ok(_)) => Ok(format!("{address} in {:.0?}", start.elapsed())),
            Ok(Err(error)) => Err(format!("{address}: {error}")),
            Err(_) => Err(format!("{address}: no answer within {CONNECT:?}")),
        },
        Ok(None) => Err(format!("{host} has no address")),
        Err(error) => Err(format!("{host}: {error}")),
    };
    match tcp {
        Ok(what) => checks.pass("tcp", &what)?,
        Err(what) => {
            let refused = LinkError::TimedOut(CONNECT);
            checks.fail("tcp", ExitCode::NoCore, &what, mend(&refused))?;
            return Ok(None);
        }
    }
    let core = core_of(&args.core).connect_timeout(CONNECT);
    let start = Instant::now();
    match CoreLink::connect(&core).await {
        Ok(link) => {
            checks.pass("websocket", &format!("opened in {:.0?}", start.elapsed()))?;
            Ok(Some(CoreApi::over(link, url)))
        }
        Err(error) => {
            let problem = match &error {
                LinkError::TimedOut(_) => {
                    "something listens there and does not speak WebSocket, as it seems: is it \
                     the port that simplex-chat was started with (-p)?"
                }
                error => mend(error),
            };
            checks.fail("websocket", ExitCode::NoCore, &error.to_string(), problem)?;
            Ok(None)
        }
    }
}

fn place(url: &str) -> Option<(String, u16)> {
    let (is_tls, rest) = match url.split_once("://")? {
        ("ws", rest) => (false, rest),
        ("wss", rest) => (true, rest),
        _ => return None,
    };
    let authority = rest.split(['/', '?', '#']).next()?;
    let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    let default = if is_tls { 443 } else { 80 };
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        _ => (place, default),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    (!host.is_empty()).then(|| (host.to_owned(), port))
}

/// What the core says, as far as it can be used.
async fn ask(
    args: &DoctorArgs,
    core: &mut CoreApi,
    checks: &mut Checks<'_>,
) -> Result<(), Failure> {
    // Whatever fails from here on fails the check that asks for it, and ends the checks of the
    // core, not the others.
    match try_ask(args, core, checks).await {
        Ok(()) => {}
        Err((check, failure)) => {
            let code = failure.code();
            let what = failure.message().to_owned();
            let mend = "the core does not answer as one does: restart it, and look at its log";
            checks.fail(check, code, &what, mend)?;
        }
    }
    let events = core.events();
    if events > 0 {
        let what = format!("{events} events came here and to nobody else");
        let mend = "restart the bot that missed them: it looks for what it has not seen";
        checks.note("events", &what, mend)?;
    }
    Ok(())
}

type Asked<T> = Result<T, (&'static str, Failure)>;

async fn try_ask(args: &DoctorArgs, core: &mut CoreApi, checks: &mut Checks<'_>) -> Asked<()> {
    let at = |check: &'static str| move |failure: Failure| (check, failure);
    version(core, checks).await?;
    let Some(user) = user(core, checks).await? else { return Ok(()) };
    if !start(args, core, checks).await? {
        return Ok(());
    }
    address(core, user, checks).await?;
    let what = format!(
        "a message takes {MAX_ENCODED_MSG_LEN} bytes as JSON, {MAX_COMPRESSED_MSG_LEN} compressed; \
         agentwire inspect message counts one"
    );
    checks.pass("sizes", &what).map_err(at("sizes"))?;
    let newest = newest(core, user).await.map_err(at("clock"))?;
    clock(newest, checks).map_err(at("clock"))
}

async fn version(core: &mut CoreApi, checks: &mut Checks<'_>) -> Asked<()> {
    let at = |failure| ("version", failure);
    let answer = core.ask(&Command::Version).await.map_err(at)?;
    let version = match answer.body() {
        Some(Body::Version(info)) => info.version(),
        _ => None,
    };
    let newer =
        format!("agentwire was written for {TRIED_CORE_VERSION}; report what does not work");
    let told = match version {
        None => checks.note("version", "the core does not say its version", &newer),
        Some(version) => match version.support() {
            Support::TooOld => {
                let mend = format!("install version {MIN_CORE_VERSION} or later of simplex-chat");
                checks.fail("version", ExitCode::NoCore, &version.to_string(), &mend)
            }
            Support::Tried => checks.pass("version", &version.to_string()),
            _ => checks.note("version", &version.to_string(), &newer),
        },
    };
    told.map_err(at)
}

async fn user(core: &mut CoreApi, checks: &mut Checks<'_>) -> Asked<Option<UserId>> {
    let at = |failure| ("user", failure);
    let answer = core.try_ask(&Command::ActiveUser, CONNECT).await.map_err(at)?;
    match answer.body() {
        Some(Body::ActiveUser(user)) => {
            let name: String = user.name.chars().collect();
            let what = format!("{name} (user {})", user.id.0);
            checks.pass("user", &what).map_err(at)?;
            Ok(Some(user.id))
        }
        Some(Body::Error(error)) if error.kind() == CoreErrorKind::NoActiveUser => {
            let mend = "start simplex-chat once without -p and give the profile a name";
            let what = "the core has no profile yet";
            checks.fail("user", ExitCode::Config, what, mend).map_err(at)?;
            Ok(None)
        }
        _ => Err(at(core.unexpected("/u"))),
    }
}

/// Whether the chat runs, and lets Service RPC requests in.
async fn start(args: &DoctorArgs, core: &mut CoreApi, checks: &mut Checks<'_>) -> Asked<bool> {
    let at = |failure| ("start", failure);
    let with_requests = Start { service_requests: Some(true), ..Start::default() };
    let wait = Duration::from_secs(30);
    let mut answer = core.try_ask(&Command::Start(with_requests), wait).await.map_err(at)?;
    if args.restart_chat && matches!(answer.body(), Some(Body::ChatRunning)) {
        core.ask(&Command::Stop).await.map_err(at)?;
        answer = core.try_ask(&Command::Start(with_requests), wait).await.map_err(at)?;
    }
    let told = match answer.body() {
        Some(Body::ChatStarted) => {
            checks.pass("start", "started, and Service RPC requests are let in")
        }
        Some(Body::ChatRunning) if args.restart_chat => {
            let what = "something else starts the chat without service_requests=on";
            let mend = "start the core in maintenance mode (simplex-chat -m -p 5225)";
            checks.fail("start", ExitCode::Config, what, mend)
        }
        Some(Body::ChatRunning) => {
            let what = "the chat runs; whether Service RPC requests are let in, it does not say";
            let mend = "a bot restarts the chat to be sure, and so does agentwire doctor \
                        --restart-chat";
            checks.note("start", what, mend)
        }
        Some(Body::Error(error)) if error.kind() == CoreErrorKind::CommandError => {
            core.ask(&Command::Start(Start::default())).await.map_err(at)?;
            let what = "the chat runs without Service RPC, which this core does not know";
            checks.note("start", what, "install a newer simplex-chat for Service RPC")
        }
        Some(Body::Error(error)) => {
            let what = format!("the core refuses: {error}");
            let mend = "restart the core, and look at its log";
            checks.fail("start", ExitCode::Refused, &what, mend).map_err(at)?;
            return Ok(false);
        }
        _ => return Err(at(core.unexpected("/_start"))),
    };
    told.map_err(at).map(|()| true)
}

async fn address(core: &mut CoreApi, user: UserId, checks: &mut Checks<'_>) -> Asked<()> {
    let at = |failure| ("address of user", failure);
    let create =
        format!("agentwire bot makes one; so does the command /_address {} pq_ratchet=on", user.0);
    let answer = core.try_ask(&Command::ShowAddress(user), CONNECT).await.map_err(at)?;
    let told = match answer.body() {
        Some(Body::Address(address)) => {
            let full: String = address.links.full.chars().collect();
            let best: String = address.links.best().chars().collect();
            checks.pass("profile address", &best).map_err(at)?;
            let keys = Link::parse(&full).ok().and_then(|link| link.has_ratchet_keys());
            match keys {
                Some(false) => {
                    // Keys that came after the address are behind its short link alone.
                    let what = "the full link has no ratchet keys, so no Service RPC requests \
                                come by it; the short one has them if they were added later";
                    let mend = format!(
                        "hand out the short link; if it has no keys yet: /_rotate_address_keys {}",
                        user.0
                    );
                    checks.note("ratchet keys", what, &mend)
                }
                _ => checks.pass("ratchet keys", "the address has them"),
            }
        }
        Some(Body::Error(error)) if error.kind() == CoreErrorKind::NoAddress => {
            let what = "the profile has no address: only those can call who are connected";
            checks.note("profile address", what, &create)
        }
        _ => return Err(at(core.unexpected("/_show_address"))),
    };
    told.map_err(at)
}

/// When the newest message was sent of a few conversations.
async fn newest(core: &mut CoreApi, user: UserId) -> Result<Option<Timestamp>, Failure> {
    let answer = core.try_ask(&Command::Contacts(user), CONNECT).await?;
    let contacts = match answer.body() {
        Some(Body::Contacts(contacts)) => {
            contacts.filter_map(Result::ok).take(CHATS).map(|contact| contact.id).collect()
        }
        _ => Vec::new(),
    };
    let mut newest = None;
    for contact in contacts {
        let chat = Chat::Direct(contact).into();
        let command = Command::GetChat { chat, page: Page::Last { count: 1 } };
        let answer = core.try_ask(&command, CONNECT).await?;
        let Some(Body::Chat(page)) = answer.body() else { continue };
        for item in page.filter_map(Result::ok) {
            let time: Option<String> = item.time.map(|time| time.chars().collect());
            newest = newest.max(time.and_then(|time| Timestamp::parse(&time)));
        }
    }
    Ok(newest)
}

/// The time of day.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

fn clock(newest: Option<Timestamp>, checks: &mut Checks<'_>) -> Result<(), Failure> {
    let now = now();
    // Nobody had this program before then.
    let built = Timestamp::parse("2026-11-30T00:00:00Z").unwrap_or_default();
    let mend = "set the clock, by NTP for example: old commands are told from new ones by it";
    if now < built {
        return checks.fail("clock", ExitCode::Config, "the clock is years behind", mend);
    }
    match newest {
        Some(newest) if newest > now.saturating_add(CLOCK_SKEW) => {
            let ahead = newest.duration_since(now).as_secs();
            let what = format!("the newest message is {ahead} s ahead of the clock");
            checks.fail("clock", ExitCode::Config, &what, mend)
        }
        Some(_) => checks.pass("clock", "not behind the newest message"),
        None => checks.pass("clock", "there is no message to compare it with"),
    }
}

fn journal(args: &DoctorArgs, checks: &mut Checks<'_>) -> Result<(), Failure> {
    let path = match &args.journal {
        Some(path) => path.clone(),
        None => match journal_file::default_path(&args.core.url) {
            Ok(path) => path,
            Err(failure) => {
                let mend = "set HOME, or name a file with --journal";
                return checks.fail("journal", ExitCode::Config, failure.message(), mend);
            }
        },
    };
    let shown = path.display();
    if !path.exists() {
        return match writable(&path) {
            Ok(()) => checks.pass("journal", &format!("{shown}: a bot will make it")),
            Err(what) => {
                let mend = "let this user write there, or name another file with --journal";
                checks.fail("journal", ExitCode::Config, &what, mend)
            }
        };
    }
    match journal::check(&path) {
        Ok(health) => match health.damage {
            None => {
                let (known, open) = (health.known, health.open);
                let what = format!("{shown}: {known} commands known, {open} of them open");
                checks.pass("journal", &what)
            }
            Some(why) => {
                let what = format!("{shown} is damaged: {why}");
                let mend = "the next start of the bot moves it aside and begins a new one; \
                            commands sent before are answered with an unknown outcome";
                checks.fail("journal", ExitCode::Corrupt, &what, mend)
            }
        },
        Err(error @ OpenError::Locked { .. }) => {
            let mend = "that is the bot at work; a second one does not start";
            checks.note("journal", &error.to_string(), mend)
        }
        Err(error) => {
            let mend = "name another file with --journal";
            checks.fail("journal", ExitCode::Config, &error.to_string(), mend)
        }
    }
}

/// Whether a file can be made, in the nearest folder that there is.
fn writable(path: &Path) -> Result<(), String> {
    let folders = path.ancestors().skip(1).map(PathBuf::from);
    let folder = folders
        .map(|folder| if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder })
        .find(|folder| folder.exists())
        .ok_or_else(|| format!("{}: there is no folder for it", path.display()))?;
    let probe = folder.join(format!(".agentwire-{}", std::process::id()));
    match std::fs::File::create_new(&probe) {
        Ok(_) => {
            // What cannot be removed can be written.
            let _ = std::fs::remove_file(&probe);
            Ok(())
        }
        Err(error) => Err(format!("{}: {error}", folder.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_a_port() {
        let at = |host: &str, port| Some((host.to_owned(), port));
        assert_eq!(place("ws://127.0.0.1:5225"), at("127.0.0.1", 5225));
        assert_eq!(place("wss://me:secret@core.example/x"), at("core.example", 443));
        assert_eq!(place("ws://[::1]:5225"), at("::1", 5225));
        assert_eq!(place("ws://[::1]"), at("::1", 80));
        for wrong in ["", "core.example", "http://x", "ws://", "ws://x:y", "ws://:1"] {
            assert_eq!(place(wrong), None, "{wrong}");
        }
    }
}
